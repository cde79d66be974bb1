# SPDX-License-Identifier: Apache-2.0
"""Which function runs which `op`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ops_batching
import ops_collate
import ops_csv
import ops_example
import ops_loader
import ops_orders
import ops_pieces
import ops_probe
import ops_producers
import ops_queues
import ops_readers
import ops_records
import ops_sequence
import ops_slim
import ops_sources
import ops_state_saver
import ops_windows

OPS: dict[str, Callable[[dict[str, Any], Path], list[str]]] = {
    "load": ops_loader.load,
    "load_shuffled": ops_loader.load_shuffled,
    "load_random_windows": ops_windows.load_random_windows,
    "chunk_dataset": ops_windows.chunk,
    "chunk_pipe": ops_windows.chunk,
    "chunk_pipe_data": ops_windows.chunk_data,
    "parse_chunking": ops_windows.parse_chunking,
    "context_window": ops_windows.context_window,
    "batch_dataset": ops_batching.frames,
    "batch_dataset_drop": ops_batching.dropped,
    "batch_pipe": ops_batching.frames,
    "len_filter": ops_batching.len_filter,
    "bucket_batch": ops_batching.bucket_batch,
    "seq_order": ops_orders.seq_order,
    "seq_order_cycle": ops_orders.seq_order_cycle,
    "bucket_by_sequence_length": ops_batching.bucket_by_sequence_length,
    "block_shuffle": ops_batching.block_shuffle,
    "collate": ops_collate.collate,
    "decode_csv": ops_csv.decode_csv,
    "complete_frac": ops_collate.complete_frac,
    "any_greater": ops_collate.any_greater,
    "per_key_max": ops_collate.per_key,
    "per_key_min": ops_collate.per_key,
    "interleave": ops_pieces.interleave,
    "onehot": ops_pieces.onehot,
    "reshape": ops_pieces.reshape,
    "slice": ops_pieces.slice_,
    "parse_slice": ops_probe.parse_slice,
    "read_config": ops_probe.read_config,
    "read_manifest": ops_probe.read_manifest,
    "type_rule": ops_probe.type_rule,
    "crc32c": ops_probe.crc32c,
    "tfrecord_read": ops_records.tfrecord_read,
    "tfrecord_write": ops_records.tfrecord_write,
    "text_lines": ops_sources.text_lines,
    "fixed_length": ops_sources.fixed_length,
    "whole_file": ops_sources.whole_file,
    "decode_raw": ops_example.decode_raw,
    "slim_decode": ops_slim.decode,
    "slim_decode_sequence": ops_slim.decode_sequence,
    "slim_provider": ops_slim.provider,
    "slim_single_pass": ops_slim.single_pass,
    "parse_example": ops_example.parse_example,
    "parse_single_example": ops_example.parse_single_example,
    "identity": ops_readers.identity,
    "queue_script": ops_queues.queue_script,
    "string_input_producer": ops_producers.producer,
    "range_input_producer": ops_producers.producer,
    "slice_input_producer": ops_producers.producer,
    "input_producer": ops_producers.producer,
    "limit_epochs": ops_producers.producer,
    "batch": ops_producers.batch,
    "maybe_batch": ops_producers.batch,
    "batch_join": ops_producers.join,
    "shuffle_batch": ops_producers.join,
    "shuffle_batch_join": ops_producers.join,
    "script": ops_state_saver.script,
    "schedule_table": ops_state_saver.schedule_table,
    "script_unique_keys": ops_state_saver.script_unique_keys,
    "construct": ops_state_saver.construct,
    "construct_wrapper": ops_state_saver.construct_wrapper,
    "use_batch": ops_state_saver.use_batch,
    "parse_sequence_example": ops_sequence.parse_sequence_example,
    "parse_single_sequence_example": ops_sequence.parse_single_sequence_example,
}
