#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Apple MLX Data (C++ core): buffers, streams, shuffle, windows, dynamic batching, images, CSV.

It has no TFRecord reader, so W1..W3, W5, W6 are not possible.  Operations that run in C++ are used wherever they exist;
`--threads` is the number of prefetch threads.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol  # noqa: E402
from harness.checksum import Dense, Padded  # noqa: E402

run = protocol.declare("mlx_data", {"mlx_data": {
    "workloads": ["W4b", "W4c", "W7", "W8", "W9", "W10", "W12", "W13"]}})

import mlx.data as dx  # noqa: E402
import numpy as np  # noqa: E402

THREADS = run.args.threads


def pipeline(make, rows, tensors, extra=None):
    def iterate(epochs):
        for _ in range(epochs):
            yield from make()
    return protocol.Pipeline(iterate, rows, tensors, extra=extra)


@run.prepare("W4?")
def w4_prepare(c):
    from harness import convert
    convert.image_files(c)


@run.workload("W4?")
def w4(c):
    from harness import convert
    buf = dx.buffer_from_vector([{"image": p.encode(), "label": y} for p, y in convert.image_list(c)])
    seen = {"pixels": 0.0, "images": 0}

    def make():
        s = buf.shuffle().to_stream().load_image("image")
        if c.workload == "W4c":  # the library has no crop-while-decoding; full decode, random area crop, resize
            s = s.image_random_area_crop("image", (0.08, 1.0), (3 / 4, 4 / 3)).image_resize("image", 224, 224)
        return s.prefetch(2 * c.batch, THREADS).batch(c.batch).prefetch(2, 1) if THREADS > 1 \
            else s.batch(c.batch).prefetch(2, 1)

    def tensors(b):
        seen["pixels"] += float(b["image"].mean()) * len(b["label"])
        seen["images"] += len(b["label"])
        return [Dense("label", b["label"])]
    return pipeline(make, lambda b: len(b["label"]), tensors,
                    lambda: {"mean_pixel": seen["pixels"] / seen["images"]} if seen["images"] else {})


@run.prepare("W7")
def w7_prepare(c):
    from harness import convert
    convert.csv_with_header(c)


@run.workload("W7")
def w7(c):
    """The reader takes its keys from a header line (conversion adds one) and yields text cells; no C++ operation turns
    them into numbers, so NumPy converts each batch, one call per column."""
    from harness import convert
    files = convert.csv_files(c)
    names = [f"f{i}" for i in range(10)] + [f"i{i}" for i in range(10)]

    def column(b, k):
        text = np.ascontiguousarray(b[k])
        return text.view(f"S{text.shape[1]}")[:, 0].astype(np.float32 if k[0] == "f" else np.int64)

    def make():
        for f in files:
            for b in dx.stream_csv_reader(f).batch(c.batch).prefetch(4, THREADS):
                yield {k: column(b, k) for k in names}
    return pipeline(make, lambda b: len(b["f0"]), lambda b: [
        Dense("floats", np.stack([b[k] for k in names[:10]], 1)), Dense("ints", np.stack([b[k] for k in names[10:]], 1))])


@run.workload("W8")
def w8(c):
    data = np.concatenate([np.fromfile(f, np.uint8).reshape(-1, c.spec["record_bytes"]) for f in c.files])
    buf = dx.buffer_from_vector([{"image": r[1:].reshape(3, 32, 32), "label": r[:1]} for r in data])

    def make():
        return buf.shuffle().to_stream().batch(c.batch).prefetch(4, THREADS)
    return pipeline(make, lambda b: len(b["label"]),
                    lambda b: [Dense("image", b["image"]), Dense("label", b["label"])])


@run.workload("W9")
def w9(c):
    """A window slides over one key only: the int32 target travels as 41st column (same bits) of the features.
    The window operation emits one short window per sequence even where the last full one ends with it: filtered out."""
    samples = []
    for f in c.files:
        x = np.fromfile(f + ".x.f32", np.float32).reshape(-1, 40)
        y = np.fromfile(f + ".y.i32", np.int32)
        n = np.fromfile(f + ".len.i64", np.int64)
        xy = np.concatenate([x, y.view(np.float32)[:, None]], 1)
        samples += [{"xy": s} for s in np.split(xy, np.cumsum(n)[:-1])]
    buf = dx.buffer_from_vector(samples)

    def make():
        return buf.to_stream().sliding_window("xy", 64, 32, 0).filter_by_shape("xy", 0, 64, 64).batch(128).prefetch(4, THREADS)

    def tensors(b):
        return [Dense("x", b["xy"][:, :, :40]), Dense("y", np.ascontiguousarray(b["xy"][:, :, 40]).view(np.int32))]
    return pipeline(make, lambda b: len(b["xy"]), tensors)


@run.workload("W10")
def w10(c):
    """dynamic_batch of 0.1.0 hangs within a few passes on two or more CPUs, with any number of threads; on one CPU it works."""
    samples = []
    for f in c.files:
        ids = np.fromfile(f + ".ids.i64", np.int64)
        samples += [{"ids": s} for s in np.split(ids, np.cumsum(np.fromfile(f + ".len.i64", np.int64))[:-1])]
    buf = dx.buffer_from_vector(samples)
    seen = {"valid": 0, "padded": 0}

    def make():
        return buf.shuffle().to_stream().dynamic_batch(4096, "ids", c.spec["tokens_per_batch"], pad={"ids": 0},
                                                       shuffle=True, num_threads=1).prefetch(4, 1)

    def tensors(b):
        lens = (b["ids"] != 0).sum(axis=1)
        seen["valid"] += int(lens.sum())
        seen["padded"] += b["ids"].size
        return [Padded("ids", b["ids"], lens)]
    return pipeline(make, lambda b: len(b["ids"]), tensors,
                    lambda: {"pad_efficiency": seen["valid"] / seen["padded"]} if seen["padded"] else {})


def dense_buffer(c):
    from harness import convert
    samples = []
    for p in convert.npy_parts(c):
        x, y = np.load(p + ".x.npy"), np.load(p + ".y.npy")
        samples += [{"x": a, "label": b} for a, b in zip(x, y)]
    return dx.buffer_from_vector(samples)


@run.prepare("W12", "W13")
def dense_prepare(c):
    from harness import convert
    convert.npy(c)


@run.workload("W12", "W13")
def dense(c):
    """Rows preloaded in a Buffer (no TFRecord reader): only shuffle + batch are measured."""
    buf = dense_buffer(c)

    def make():
        s = buf.shuffle().to_stream() if c.workload == "W13" else buf.to_stream().shuffle(c.spec["shuffle_buffer"])
        return s.batch(c.batch).prefetch(4, THREADS)
    return pipeline(make, lambda b: len(b["label"]), lambda b: [Dense("x", b["x"]), Dense("label", b["label"])])


run.main()
