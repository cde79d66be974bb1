# SPDX-License-Identifier: Apache-2.0
"""The input functions of TensorFlow 1, by their names, over queues of Forebay.

    files = tf1.string_input_producer(["a.txt", "b.txt"], num_epochs=1)
    reader = tf1.TextLineReader()
    lines = tf1.batch(lambda: reader.read(files), batch_size=32, allow_smaller_final_batch=True)
    for keys, values in lines:
        ...

They are eager: where TensorFlow has a tensor that is evaluated again and again, these functions take a source: a function
without arguments, an iterable, or what another of these functions returned. docs/migrate/tensorflow1.md has every name.
"""
from __future__ import annotations

from forebay.coordinator import Coordinator, QueueRunner, start_queue_runners
from forebay.errors import Cancelled as CancelledError
from forebay.errors import EndOfData as OutOfRangeError
from forebay.tf1.batching import (batch, batch_join, maybe_batch, maybe_batch_join, maybe_shuffle_batch, maybe_shuffle_batch_join,
                                  shuffle_batch, shuffle_batch_join)
from forebay.tf1.bucketing import bucket, bucket_by_sequence_length
from forebay.tf1.plans import batch_steps, shuffle_batch_steps
from forebay.tf1.producers import (input_producer, limit_epochs, match_filenames_once, range_input_producer,
                                   slice_input_producer, string_input_producer)
from forebay.tf1.queues import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue
from forebay.tf1.readers import FixedLengthRecordReader, IdentityReader, TextLineReader, TFRecordReader, WholeFileReader
from forebay.tf1.stream import Stream

__all__ = ["CancelledError", "Coordinator", "FIFOQueue", "FixedLengthRecordReader", "IdentityReader", "OutOfRangeError",
           "PaddingFIFOQueue", "PriorityQueue", "QueueRunner", "RandomShuffleQueue", "Stream", "TFRecordReader",
           "TextLineReader", "WholeFileReader", "batch", "batch_join", "batch_steps", "bucket", "bucket_by_sequence_length", "input_producer",
           "limit_epochs", "match_filenames_once", "maybe_batch", "maybe_batch_join", "maybe_shuffle_batch",
           "maybe_shuffle_batch_join", "range_input_producer", "shuffle_batch", "shuffle_batch_join", "shuffle_batch_steps",
           "slice_input_producer",
           "start_queue_runners", "string_input_producer"]
