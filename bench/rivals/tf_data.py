#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow tf.data, with the documented performance advice: batch before parse, parallel reads, prefetch.

--tune selects how files are read; run.py takes the fastest:
  0  files one after the other, batch, parallel map (the only form without a hand-off per record)
  1  interleave over files, each already batched and parsed
  2  num_parallel_reads (record-level interleave)
  3  W7 only: CsvDataset
  4, 5  like 0 and 1, autotuning off and parallelism fixed to the number of threads

tf_data         batches converted to NumPy with as_numpy_iterator()
tf_data_native  the same pipeline, iterated as eager tensors (no conversion)
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol  # noqa: E402
from harness.checksum import Dense, Padded, Ragged  # noqa: E402

WORKLOADS = ["W1", "W2", "W3a", "W3b", "W3c", "W4a", "W4b", "W4c", "W5", "W6", "W6b", "W7", "W8", "W9", "W10", "W12"]
FORMS = [0, 1, 2, 3, 4, 5]
run = protocol.declare("tf_data", {
    "tf_data": {"workloads": WORKLOADS, "tune": FORMS},
    "tf_data_native": {"workloads": ["W1", "W3b", "W4b", "W8"], "tune": FORMS}})

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

THREADS = run.args.threads
tf.config.threading.set_intra_op_parallelism_threads(THREADS)
tf.config.threading.set_inter_op_parallelism_threads(THREADS)
AUTO = tf.data.AUTOTUNE
FLOATS = [f"I{i}" for i in range(1, 14)]
INTS = [f"C{i}" for i in range(1, 27)]


def form(c):
    return c.tune % 4


def auto(c, fixed=THREADS):
    return AUTO if c.tune < 4 else fixed


def options(c, ds):
    o = tf.data.Options()
    o.threading.private_threadpool_size = THREADS
    o.deterministic = False  # order is not part of the workloads
    o.autotune.enabled = c.tune < 4
    return ds.with_options(o)


def pipeline(c, ds, rows, tensors, extra=None):
    ds = options(c, ds)
    native = c.variant.endswith("_native")

    def iterate(epochs):
        # repeat(), not one iterator per epoch: with autotuning on, destroying an iterator waits for the next wake-up of the
        # tuning thread (10 ms doubling: 0.63 s, 1.27 s, 2.55 s ... after its start), seen in 2.21
        repeated = ds.repeat(epochs)
        yield from (iter(repeated) if native else repeated.as_numpy_iterator())

    if not native:
        return protocol.Pipeline(iterate, rows, tensors, extra=extra)

    def to_numpy(b):
        return tf.nest.map_structure(lambda t: t if isinstance(t, (tf.RaggedTensor, tf.SparseTensor)) else t.numpy(), b)

    return protocol.Pipeline(iterate, rows, lambda b: tensors(to_numpy(b)), extra=extra)


def tfrecord(compression=None):
    def make(files, reads=None):
        return tf.data.TFRecordDataset(files, compression_type=compression, num_parallel_reads=reads, buffer_size=1 << 20)
    return make


def rows_of(c, make):
    """Single records, for shuffling and per-record maps (form 1 would batch too early)."""
    if form(c) not in (0, 2):
        raise protocol.Unsupported(f"form {c.tune}")
    return make(c.files, THREADS if form(c) else None)


def parsed(c, make, parse):
    """Batches, parsed: forms 0 to 2 of the module docstring."""
    if form(c) == 1:
        ds = tf.data.Dataset.from_tensor_slices(c.files).interleave(
            lambda f: make(f).batch(c.batch).map(parse), cycle_length=2 * THREADS, num_parallel_calls=auto(c))
        return ds.prefetch(auto(c, 2))
    if form(c) not in (0, 2):
        raise protocol.Unsupported(f"form {c.tune}")
    return make(c.files, THREADS if form(c) else None).batch(c.batch).map(parse, auto(c)).prefetch(auto(c, 2))


def first(key):
    return lambda b: b[key].shape[0]


DENSE = {"x": tf.io.FixedLenFeature([64], tf.float32), "label": tf.io.FixedLenFeature([], tf.int64)}


def parse_dense(s):
    return tf.io.parse_example(s, DENSE)


def dense(c, ds):
    return pipeline(c, ds, first("label"), lambda b: [Dense("x", b["x"]), Dense("label", b["label"])])


@run.workload("W1", "W6")
def w1(c):
    return dense(c, parsed(c, tfrecord("GZIP" if c.workload == "W6" else None), parse_dense))


@run.workload("W12")
def w12(c):
    ds = rows_of(c, tfrecord()).shuffle(c.spec["shuffle_buffer"], seed=1, reshuffle_each_iteration=True)
    return dense(c, ds.batch(c.batch).map(parse_dense, auto(c)).prefetch(auto(c, 2)))


@run.workload("W2", "W6b")
def w2(c):
    spec = {k: tf.io.FixedLenFeature([], tf.float32) for k in FLOATS}
    spec.update({k: tf.io.FixedLenFeature([], tf.int64) for k in INTS + ["label"]})
    ds = parsed(c, tfrecord("GZIP" if c.workload == "W6b" else None), lambda s: tf.io.parse_example(s, spec))
    return pipeline(c, ds, first("label"), lambda b: [
        Dense("floats", np.stack([b[k] for k in FLOATS], 1)), Dense("ints", np.stack([b[k] for k in INTS], 1)),
        Dense("label", b["label"])])


@run.workload("W3?")
def w3(c):
    spec = {"ids": tf.io.FixedLenFeature([512], tf.int64)}
    ds = parsed(c, tfrecord(), lambda s: tf.io.parse_example(s, spec))
    return pipeline(c, ds, first("ids"), lambda b: [Dense("ids", b["ids"])])


@run.workload("W4?")
def w4(c):
    spec = {"image/encoded": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    if c.workload == "W4a":
        ds = parsed(c, tfrecord(), lambda s: tf.io.parse_example(s, spec))

        def tensors(b):
            return [Ragged("image/encoded", np.frombuffer(b"".join(b["image/encoded"]), np.uint8),
                           [len(x) for x in b["image/encoded"]]), Dense("label", b["label"])]
        return pipeline(c, ds, first("label"), tensors)

    def decode(s):
        f = tf.io.parse_single_example(s, spec)
        data = f["image/encoded"]
        if c.workload == "W4b":
            return tf.ensure_shape(tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE"), (375, 500, 3)), f["label"]
        shape = tf.io.extract_jpeg_shape(data)
        box = tf.constant([0.0, 0.0, 1.0, 1.0], shape=[1, 1, 4])
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            shape, box, aspect_ratio_range=(3 / 4, 4 / 3), area_range=(0.08, 1.0), max_attempts=10,
            use_image_if_no_bounding_boxes=True)
        y, x, _ = tf.unstack(begin)
        h, w, _ = tf.unstack(size)
        image = tf.image.decode_and_crop_jpeg(data, tf.stack([y, x, h, w]), channels=3)
        image = tf.cast(tf.image.resize(image, (224, 224)), tf.uint8)
        return image, f["label"]

    ds = rows_of(c, tfrecord()).map(decode, auto(c)).batch(c.batch, num_parallel_calls=auto(c)).prefetch(2)
    seen = {"pixels": 0.0, "images": 0}

    def tensors(b):
        seen["pixels"] += float(b[0].mean()) * len(b[1])
        seen["images"] += len(b[1])
        return [Dense("label", b[1])]
    return pipeline(c, ds, lambda b: b[1].shape[0], tensors,
                    lambda: {"mean_pixel": seen["pixels"] / seen["images"]} if seen["images"] else {})


@run.workload("W5")
def w5(c):
    ctx = {"labels": tf.io.RaggedFeature(tf.int64)}
    seq = {"mel": tf.io.FixedLenSequenceFeature([80], tf.float32)}

    def parse(s):
        context, lists, lengths = tf.io.parse_sequence_example(s, ctx, seq)
        labels = context["labels"]
        return {"mel": lists["mel"], "mel_len": lengths["mel"], "labels": labels.to_tensor(),
                "labels_len": labels.row_lengths()}

    ds = parsed(c, tfrecord(), parse)
    return pipeline(c, ds, first("mel_len"), lambda b: [Padded("mel", b["mel"], b["mel_len"]),
                                                        Padded("labels", b["labels"], b["labels_len"])])


@run.workload("W7")
def w7(c):
    defaults = [tf.constant([0.0])] * 10 + [tf.constant([0], tf.int64)] * 10
    if form(c) == 3:
        ds = tf.data.experimental.CsvDataset(c.files, defaults, buffer_size=1 << 20).batch(c.batch).prefetch(AUTO)
    else:
        ds = parsed(c, lambda f, reads=None: tf.data.TextLineDataset(f, num_parallel_reads=reads, buffer_size=1 << 20),
                    lambda s: tuple(tf.io.decode_csv(s, defaults)))
    return pipeline(c, ds, lambda b: b[0].shape[0],
                    lambda b: [Dense("floats", np.stack(b[:10], 1)), Dense("ints", np.stack(b[10:], 1))])


@run.workload("W8")
def w8(c):
    n = c.spec["record_bytes"]
    ds = rows_of(c, lambda f, reads: tf.data.FixedLengthRecordDataset(f, n, num_parallel_reads=reads, buffer_size=1 << 20))

    def decode(s):
        raw = tf.io.decode_raw(s, tf.uint8)
        raw = tf.ensure_shape(raw, (None, n))
        return raw[:, 1:], raw[:, 0]
    ds = ds.shuffle(10_000, seed=1).batch(c.batch).map(decode, auto(c)).prefetch(auto(c, 2))
    return pipeline(c, ds, lambda b: b[1].shape[0], lambda b: [Dense("image", b[0]), Dense("label", b[1])])


@run.workload("W9")
def w9(c):
    if form(c):
        raise protocol.Unsupported("no files")
    xs, ys, lens = [], [], []
    for f in c.files:
        xs.append(np.fromfile(f + ".x.f32", np.float32).reshape(-1, 40))
        ys.append(np.fromfile(f + ".y.i32", np.int32))
        lens.append(np.fromfile(f + ".len.i64", np.int64))
    x, y, length = np.concatenate(xs), np.concatenate(ys), np.concatenate(lens)
    rx = tf.RaggedTensor.from_row_lengths(x, length)
    ry = tf.RaggedTensor.from_row_lengths(y, length)

    def windows(a, b):
        a = a.to_tensor() if isinstance(a, tf.RaggedTensor) else a
        return tf.signal.frame(a, 64, 32, axis=0), tf.signal.frame(b, 64, 32, axis=0)
    ds = tf.data.Dataset.from_tensor_slices((rx, ry)).map(windows, auto(c)).rebatch(128) \
        if hasattr(tf.data.Dataset, "rebatch") else \
        tf.data.Dataset.from_tensor_slices((rx, ry)).map(windows, auto(c)).unbatch().batch(128)
    ds = ds.prefetch(auto(c, 2))
    return pipeline(c, ds, lambda b: b[0].shape[0], lambda b: [Dense("x", b[0]), Dense("y", b[1])])


@run.workload("W10")
def w10(c):
    if form(c):
        raise protocol.Unsupported("no files")
    ids = np.concatenate([np.fromfile(f + ".ids.i64", np.int64) for f in c.files])
    length = np.concatenate([np.fromfile(f + ".len.i64", np.int64) for f in c.files])
    ragged = tf.RaggedTensor.from_row_lengths(ids, length)
    bounds = [32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536]
    sizes = [max(1, c.spec["tokens_per_batch"] // b) for b in bounds + [2000]]
    ds = tf.data.Dataset.from_tensor_slices(ragged)  # elements are typed as ragged of rank 0: make them plain tensors
    ds = ds.map(lambda r: tf.ensure_shape(r.values if isinstance(r, tf.RaggedTensor) else r, (None,)))
    ds = ds.bucket_by_sequence_length(lambda r: tf.shape(r)[0], [b + 1 for b in bounds], sizes)
    ds = ds.prefetch(auto(c, 2))
    seen = {"valid": 0, "padded": 0}

    def tensors(b):
        lens = (b != 0).sum(axis=1)  # ids start at 1
        seen["valid"] += int(lens.sum())
        seen["padded"] += b.size
        return [Padded("ids", b, lens)]
    return pipeline(c, ds, lambda b: b.shape[0], tensors,
                    lambda: {"pad_efficiency": seen["valid"] / seen["padded"]} if seen["padded"] else {})


run.main()
