#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Google Grain.

grain          W13: ArrayRecord holding the serialized Example, parsed by the protobuf runtime per record
               W1: TFRecordIterDataset (no CRC check) + the same parser
grain_raw      W13: ArrayRecord holding 264 raw bytes per row, np.frombuffer per record (Grain's cheapest form)
               W8: ArrayRecord of 3 073-byte records
W4: `grain`, ArrayRecord of JPEG bytes + label, decoded by Pillow per record.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol  # noqa: E402
from harness.checksum import Dense, Ragged  # noqa: E402

run = protocol.declare("grain_loader", {"grain": {"workloads": ["W1", "W4a", "W4b", "W13"], "tune": [0, 1, 2]},
                                       "grain_raw": {"workloads": ["W8", "W13"], "tune": [0, 1, 2]}})

import logging  # noqa: E402

logging.disable(logging.WARNING)
import grain  # noqa: E402
import numpy as np  # noqa: E402
from absl import flags  # noqa: E402
from array_record.python.array_record_module import ArrayRecordWriter  # noqa: E402

flags.FLAGS(["grain"])


def pipeline(c, make, rows, tensors, extra=None):
    def iterate(epochs):
        for e in range(epochs):
            ds = make(e)
            if c.tune:
                ds = ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=c.tune, per_worker_buffer_size=2))
            yield from ds
    return protocol.Pipeline(iterate, rows, tensors, extra=extra)


def write(c, kind, records):
    for e in c.all_entries:
        path = array_path(c, kind, e)
        if not os.path.exists(path):
            w = ArrayRecordWriter(path, "group_size:1,uncompressed")
            for r in records(e):
                w.write(bytes(r))
            w.close()


def array_path(c, kind, e):
    return os.path.join(c.native("arrayrecord"), f"{kind}-" + os.path.basename(e["path"]) + ".array_record")


@run.prepare("W13", "W4?", "W8")
def prepare(c):
    from harness import convert
    if c.workload == "W13":
        write(c, "example", lambda e: convert.tfrecords(os.path.join(c.data, e["path"])))

        def raw(e):
            x, y = convert.dense_rows(c, e)
            return (a.tobytes() + b.tobytes() for a, b in zip(x, y))
        write(c, "raw", raw)
    elif c.workload == "W8":
        def fixed(e):
            return np.fromfile(os.path.join(c.data, e["path"]), np.uint8).reshape(-1, c.spec["record_bytes"])
        write(c, "fixed", fixed)
    else:
        def jpeg(e):
            for r in convert.tfrecords(os.path.join(c.data, e["path"])):
                f = convert.example(r)
                yield f["label"][0].to_bytes(8, "little") + f["image/encoded"]
        write(c, "jpeg", jpeg)


def parse_example(b):
    from tfrecord import example_pb2  # any generated module of example.proto does
    f = example_pb2.Example.FromString(b).features.feature
    return {"x": np.array(f["x"].float_list.value, np.float32), "label": np.int64(f["label"].int64_list.value[0])}


def parse_raw(b):
    return {"x": np.frombuffer(b, np.float32, 64), "label": np.frombuffer(b, np.int64, 1, 256)[0]}


def parse_fixed(b):
    a = np.frombuffer(b, np.uint8)
    return {"image": a[1:].reshape(3, 32, 32), "label": a[0]}


def parse_jpeg_bytes(b):
    return {"image": b[8:], "label": np.frombuffer(b, np.int64, 1)[0]}


def parse_jpeg(b):
    import io

    from PIL import Image
    return {"image": np.asarray(Image.open(io.BytesIO(b[8:]))), "label": np.frombuffer(b, np.int64, 1)[0]}


def as_list(items):
    return {"image": [x["image"] for x in items], "label": np.array([x["label"] for x in items])}


def array_dataset(c, kind, parse, epoch):
    source = grain.sources.ArrayRecordDataSource([array_path(c, kind, e) for e in c.entries])
    ds = grain.MapDataset.source(source).shuffle(seed=1 + epoch).map(parse)
    return ds.to_iter_dataset(grain.ReadOptions(num_threads=run.args.threads, prefetch_buffer_size=500))


@run.workload("W1")
def w1(c):
    def make(epoch):
        parts = [grain.experimental.TFRecordIterDataset(f) for f in c.files]
        ds = grain.experimental.InterleaveIterDataset(parts, cycle_length=2)
        return ds.map(parse_example).batch(c.batch, drop_remainder=False)
    return pipeline(c, make, lambda b: len(b["label"]), lambda b: [Dense("x", b["x"]), Dense("label", b["label"])])


@run.workload("W13")
def w13(c):
    raw = c.variant == "grain_raw"

    def make(epoch):
        return array_dataset(c, "raw" if raw else "example", parse_raw if raw else parse_example, epoch).batch(
            c.batch, drop_remainder=False)
    return pipeline(c, make, lambda b: len(b["label"]), lambda b: [Dense("x", b["x"]), Dense("label", b["label"])])


@run.workload("W8")
def w8(c):
    return pipeline(c, lambda e: array_dataset(c, "fixed", parse_fixed, e).batch(c.batch, drop_remainder=False),
                    lambda b: len(b["label"]), lambda b: [Dense("image", b["image"]), Dense("label", b["label"])])


@run.workload("W4?")
def w4(c):
    only_bytes = c.workload == "W4a"
    seen = {"pixels": 0.0, "images": 0}

    def make(epoch):
        ds = array_dataset(c, "jpeg", parse_jpeg_bytes if only_bytes else parse_jpeg, epoch)
        return ds.batch(c.batch, drop_remainder=False, batch_fn=as_list if only_bytes else None)

    def tensors(b):
        if only_bytes:
            return [Ragged("image/encoded", np.frombuffer(b"".join(b["image"]), np.uint8), [len(x) for x in b["image"]]),
                    Dense("label", b["label"])]
        seen["pixels"] += float(b["image"].mean()) * len(b["label"])
        seen["images"] += len(b["label"])
        return [Dense("label", b["label"])]
    return pipeline(c, make, lambda b: len(b["label"]), tensors,
                    lambda: {"mean_pixel": seen["pixels"] / seen["images"]} if seen["images"] else {})


if __name__ == "__main__":
    run.main()
