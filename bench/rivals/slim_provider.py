#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TF-Slim: Dataset + TFExampleDecoder + DatasetDataProvider, then tf.train.batch (W1, W2, W12).

slim        one record per read, decoded alone (the only form the provider has); num_readers = threads
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol, queue_session  # noqa: E402
from harness.checksum import Dense  # noqa: E402

run = protocol.declare("slim_provider", {"slim": {"workloads": ["W1", "W2", "W12"], "group": "seed"}})

import numpy as np  # noqa: E402
import tensorflow as tf2  # noqa: E402

tf = tf2.compat.v1
tf.disable_eager_execution()
tf.logging.set_verbosity(tf.logging.ERROR)
from tf_slim.data import dataset as slim_dataset  # noqa: E402
from tf_slim.data import dataset_data_provider, tfexample_decoder  # noqa: E402

THREADS = run.args.threads
FLOATS = [f"I{i}" for i in range(1, 14)]
INTS = [f"C{i}" for i in range(1, 27)]


def pipeline(c, spec, names, tensors):
    def iterate(epochs):
        with tf.Graph().as_default():
            decoder = tfexample_decoder.TFExampleDecoder(spec, {k: tfexample_decoder.Tensor(k) for k in names})
            ds = slim_dataset.Dataset(c.files, tf.TFRecordReader, decoder, c.rows, {k: k for k in names})
            buffer = c.spec.get("shuffle_buffer", 0)
            provider = dataset_data_provider.DatasetDataProvider(
                ds, num_readers=THREADS, shuffle=buffer > 0, num_epochs=epochs,
                common_queue_capacity=buffer + 8 * c.batch if buffer else 8 * c.batch,
                common_queue_min=buffer if buffer else c.batch)
            out = tf.train.batch(provider.get(names), c.batch, num_threads=THREADS, capacity=8 * c.batch,
                                 allow_smaller_final_batch=True)
            yield from queue_session.batches(tf, out, THREADS)
    return protocol.Pipeline(iterate, lambda b: len(b[-1]), tensors)


@run.workload("W1", "W12")
def w1(c):
    spec = {"x": tf.FixedLenFeature([64], tf.float32), "label": tf.FixedLenFeature([], tf.int64)}
    return pipeline(c, spec, ["x", "label"], lambda b: [Dense("x", b[0]), Dense("label", b[1])])


@run.workload("W2")
def w2(c):
    spec = {k: tf.FixedLenFeature([], tf.float32) for k in FLOATS}
    spec.update({k: tf.FixedLenFeature([], tf.int64) for k in INTS + ["label"]})
    return pipeline(c, spec, FLOATS + INTS + ["label"], lambda b: [
        Dense("floats", np.stack(b[:13], 1)), Dense("ints", np.stack(b[13:39], 1)), Dense("label", b[39])])


run.main()
