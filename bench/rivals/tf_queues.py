#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow 1.x queue pipelines through tf.compat.v1 (string_input_producer, readers, batch / shuffle_batch).

tf1_queue_tutorial  read one record, parse_single_example / decode it, enqueue it alone (the form of the guide)
tf1_queue           enqueue the serialized record alone, parse the whole batch (parse_example)
tf1_queue_many      read_up_to + enqueue_many, parse the whole batch: the fastest documented form
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol, queue_session  # noqa: E402
from harness.checksum import Dense  # noqa: E402

WORKLOADS = ["W1", "W2", "W3b", "W6", "W7", "W8", "W12"]
run = protocol.declare("tf_queues", {
    "tf1_queue_many": {"workloads": WORKLOADS, "group": "seed", "tune": [0, 1, 2]},
    "tf1_queue": {"workloads": WORKLOADS, "group": "seed"},
    "tf1_queue_tutorial": {"workloads": WORKLOADS, "group": "seed"}})

import numpy as np  # noqa: E402
import tensorflow as tf2  # noqa: E402

tf = tf2.compat.v1
tf.disable_eager_execution()
tf.logging.set_verbosity(tf.logging.ERROR)
THREADS = run.args.threads
READ = [256, 1024, 4096]  # records per read_up_to, by --tune
FLOATS = [f"I{i}" for i in range(1, 14)]
INTS = [f"C{i}" for i in range(1, 27)]


def pipeline(c, reader, decode_batch, decode_one, rows, tensors, shuffle=0):
    """decode_batch: serialized [B] -> tensors; decode_one: serialized [] -> list of tensors (in the same order)."""
    many = c.variant == "tf1_queue_many"
    tutorial = c.variant == "tf1_queue_tutorial"
    read = READ[c.tune]

    def build(epochs):
        names = tf.train.string_input_producer(c.files, num_epochs=epochs, shuffle=False)
        per_thread = []
        for _ in range(THREADS):  # one reader per thread: *_join, as the guide recommends for several files
            r = reader()
            if many:
                per_thread.append([r.read_up_to(names, read)[1]])
            else:
                value = r.read(names)[1]
                per_thread.append(decode_one(value) if tutorial else [value])
        if not many and not tutorial:
            for p in per_thread:
                p[0].set_shape([])
        if shuffle:
            out = tf.train.shuffle_batch_join(per_thread, c.batch, capacity=shuffle + 4 * max(read if many else 1, c.batch),
                                              min_after_dequeue=shuffle, enqueue_many=many,
                                              allow_smaller_final_batch=True)
        else:
            out = tf.train.batch_join(per_thread, c.batch, capacity=8 * max(read if many else 1, c.batch), enqueue_many=many,
                                      allow_smaller_final_batch=True)
        if tutorial:
            return out
        return decode_batch(out[0] if isinstance(out, (list, tuple)) else out)

    def iterate(epochs):
        with tf.Graph().as_default():
            fetch = build(epochs)
            yield from queue_session.batches(tf, fetch, THREADS)

    return protocol.Pipeline(iterate, rows, tensors)


def records(gzip=False):
    kind = tf.python_io.TFRecordCompressionType.GZIP if gzip else tf.python_io.TFRecordCompressionType.NONE
    return lambda: tf.TFRecordReader(options=tf.python_io.TFRecordOptions(kind))


@run.workload("W1", "W12", "W6")
def w1(c):
    spec = {"x": tf.FixedLenFeature([64], tf.float32), "label": tf.FixedLenFeature([], tf.int64)}

    def many(s):
        f = tf.parse_example(s, spec)
        return [f["x"], f["label"]]

    def one(s):
        f = tf.parse_single_example(s, spec)
        return [f["x"], f["label"]]
    return pipeline(c, records(c.workload == "W6"), many, one, lambda b: len(b[1]),
                    lambda b: [Dense("x", b[0]), Dense("label", b[1])], c.spec.get("shuffle_buffer", 0))


@run.workload("W2")
def w2(c):
    spec = {k: tf.FixedLenFeature([], tf.float32) for k in FLOATS}
    spec.update({k: tf.FixedLenFeature([], tf.int64) for k in INTS + ["label"]})

    def many(s):
        f = tf.parse_example(s, spec)
        return [f[k] for k in FLOATS + INTS + ["label"]]

    def one(s):
        f = tf.parse_single_example(s, spec)
        return [f[k] for k in FLOATS + INTS + ["label"]]
    return pipeline(c, records(), many, one, lambda b: len(b[-1]), lambda b: [
        Dense("floats", np.stack(b[:13], 1)), Dense("ints", np.stack(b[13:39], 1)), Dense("label", b[39])])


@run.workload("W3b")
def w3(c):
    spec = {"ids": tf.FixedLenFeature([512], tf.int64)}
    return pipeline(c, records(), lambda s: [tf.parse_example(s, spec)["ids"]],
                    lambda s: [tf.parse_single_example(s, spec)["ids"]],
                    lambda b: len(b[0] if isinstance(b, list) else b),
                    lambda b: [Dense("ids", b[0] if isinstance(b, list) else b)])


@run.workload("W7")
def w7(c):

    def decode(s):
        return tf.decode_csv(s, [tf.constant([0.0])] * 10 + [tf.constant([0], tf.int64)] * 10)
    return pipeline(c, tf.TextLineReader, decode, decode, lambda b: len(b[0]), lambda b: [
        Dense("floats", np.stack(b[:10], 1)), Dense("ints", np.stack(b[10:], 1))])


@run.workload("W8")
def w8(c):
    n = c.spec["record_bytes"]

    def many(s):
        raw = tf.decode_raw(s, tf.uint8)
        raw.set_shape([None, n])
        return [raw[:, 1:], raw[:, 0]]

    def one(s):
        raw = tf.decode_raw(s, tf.uint8)
        raw.set_shape([n])
        return [raw[1:], raw[0]]
    return pipeline(c, lambda: tf.FixedLengthRecordReader(record_bytes=n), many, one, lambda b: len(b[1]),
                    lambda b: [Dense("image", b[0]), Dense("label", b[1])], 10_000)


run.main()
