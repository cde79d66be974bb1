# SPDX-License-Identifier: Apache-2.0
"""Where we choose to differ from what the original systems did, and what we promise instead.

Each rule looks at the content of a vector, never at its id, and puts another expectation (or another way to ask) in
its place. D-numbers are those of the decisions page of the specification, F-numbers those of its features, numbers with
a dot its sections; B-numbers are those of the list of bad inputs. Where there is none of these, the comment says why.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import batching_departures as batches
import csv_departures as csvs
import example_departures as examples
import loader_departures as loaders
import queue_departures as queues
import record_departures as files
import sequence_departures as sequences
import slim_departures as items
import source_departures as sources
import state_saver_departures as savers
import text_departures as texts

Vector = dict[str, Any]


@dataclass(frozen=True)
class Departure:
    decision: str
    what: str
    ops: tuple[str, ...]
    applies: Callable[[Vector], bool]
    change: Callable[[Vector], None]


_LOAD = ("load",)
_READ = ("tfrecord_read",)
_PARSE = ("parse_example", "parse_single_example")
_BATCH = ("batch", "maybe_batch", "batch_join", "shuffle_batch", "shuffle_batch_join")
_SEQUENCE = ("parse_sequence_example", "parse_single_sequence_example")

DEPARTURES: list[Departure] = [
    # Comma-separated values.
    Departure("D38", "one line end after a record is left out", ("decode_csv",), csvs.ends_with_a_line_end, csvs.line_end_left_out),
    # Columns of bool and of all integer types exist.
    Departure("F131", "a field may become a bool or a small integer", ("decode_csv",), csvs.has_newer_types, csvs.newer_types_read),
    # The JSON loader.
    Departure("D6", "`name` may be left out", _LOAD, loaders.lacks_only_a_name, loaders.works),
    Departure("D7", "secondary features of type `const` exist",
              _LOAD, loaders.has_const, loaders.works),
    Departure("D7", "the documented list form of a shape works",
              _LOAD, loaders.has_shape_list, loaders.works),
    Departure("B55", "a repeated to_name is an error",
              _LOAD, loaders.repeats_a_name, loaders.refused_repeat),
    Departure("B55", "a wanted tensor that nobody makes is an error",
              _LOAD, loaders.lacks_a_tensor, loaders.refused_lack),
    Departure("D74", "a negative number of epochs is an error",
              _LOAD, loaders.has_negative_epochs, loaders.refused_epochs),
    Departure("D9", "padding counts in statistics only when asked for",
              _LOAD, loaders.normalizes_padding, loaders.include_padding),
    Departure("D73", "a negative axis counts from the end",
              _LOAD, loaders.has_negative_axis, loaders.normalized),
    Departure("D73", "integer tensors are normalised as float32",
              _LOAD, loaders.normalizes_integers, loaders.normalized),
    Departure("D10", "multi_load delivers short batches of raw features",
              _LOAD, loaders.loads_short_raw_batches, loaders.works),
    Departure("D11", "raw features of variable length keep their time axis",
              _LOAD, loaders.has_raw_steps, loaders.works_or_differs),
    Departure("D12", "raw features of several strings can be padded",
              _LOAD, loaders.pads_raw_strings, loaders.works),
    # Option types, JSON and slices.
    Departure("D71", "an integer may be off by 1e-6 on either side",
              ("type_rule",), texts.is_nearly_integer, texts.rounded),
    Departure("D71", "integers have 64 bits",
              ("type_rule",), texts.is_huge_integer, texts.not_accepted),
    Departure("D13, B53", "comments end outside strings; no repeated keys, no NaN",
              ("read_config",), texts.reads_otherwise, texts.strict),
    Departure("D13", "the last line of a manifest is whole",
              ("read_manifest",), texts.lost_last_character, texts.manifest_works),
    Departure("B56", "slices are written in ASCII digits",
              ("parse_slice",), texts.has_odd_digits, texts.slice_refused),
    # Record files.
    Departure("D69, D82", "a file that ends inside a header or a compressed stream is corrupt",
              _READ, files.ends_too_early, files.end_refused),
    Departure("D82", "all compressed streams of a file are read",
              _READ, files.has_unread_stream, files.all_read),
    # Lines and fixed-length records.
    Departure("D37", "one carriage return belongs to the end of a line",
              ("text_lines",), sources.has_older_cr_rule, sources.newer_cr_rule),
    Departure("D85", "records of no bytes are refused",
              ("fixed_length",), sources.has_empty_records, sources.empty_records_refused),
    Departure("D85", "a file that is shorter than its header is an error",
              ("fixed_length",), sources.is_short_of_its_header, sources.header_missing),
    Departure("D82", "a compressed stream that is cut short is corrupt",
              ("fixed_length",), sources.is_cut, sources.cut_refused),
    Departure("3.2", "a source that names no file is refused",
              ("text_lines", "fixed_length", "whole_file"), sources.names_no_file, sources.no_file_refused),
    # Examples.
    Departure("D35", "errors name file and record, not example names",
              _PARSE, examples.names_examples, examples.name_records),
    Departure("D33, D34, D35", "of several faults any is named, and only what is one by the protobuf rules",
              _PARSE, examples.has_faults, examples.name_any_fault),
    Departure("B21", "keys are bytes: they need not be UTF-8", _PARSE, examples.has_raw_keys, examples.as_original),
    Departure("3.7", "features that nobody asks for are not decoded",
              _PARSE, examples.has_unasked_fault, examples.as_original),
    Departure("B33", "row splits begin with 0, also of a single record and when there are no rows",
              _PARSE, examples.has_other_splits, examples.from_zero),
    Departure("B33", "a partition that is validated fits its own record, not only the batch",
              _PARSE, examples.fits_the_batch_only, examples.refused),
    Departure("D35", "there are no example names to count",
              _PARSE, examples.has_wrong_names, examples.plainly_parsed),
    Departure("F10", "features may have any dtype: values are cast",
              _PARSE, examples.casts, examples.plainly_parsed),
    # The original takes no other value of `allow_missing` here, so it says nothing: there is no such option.
    Departure("", "sequences need no leave to be missing",
              _PARSE, examples.leaves_sequences_out, examples.plainly_parsed),
    Departure("D70", "a default of no elements is a default",
              _PARSE, examples.has_empty_default, examples.empty_default),
    Departure("D84", "sparse indices lie inside the size, one for each value",
              _PARSE, examples.has_index_outside, examples.refused),
    Departure("D25", "no records make no batch",
              _PARSE, examples.has_no_records, examples.nothing),
    # SequenceExamples.
    Departure("D25", "no records make no batch", _SEQUENCE, sequences.has_no_records, sequences.nothing),
    Departure("D33, D34, D35", "of several faults any is named, with its record and without example names",
              _SEQUENCE, sequences.names_a_fault, sequences.name_any_fault),
    Departure("D33, D34, D84, D87", "what is no fault by the protobuf rules is read; a context feature without a kind is missing",
              _SEQUENCE, sequences.is_right_by_protobuf, sequences.parsed),
    # The original drops values of steps that the partition does not have.
    Departure("B33", "the partitions of a list have as many steps as its values",
              _SEQUENCE, sequences.partitions_lack_steps, sequences.refused),
    # Raw bytes.
    Departure("B31", "every numeric dtype can be read from bytes",
              ("decode_raw",), examples.is_new_raw, examples.raw_values),
    # The layer of TF-Slim.
    Departure("D52", "a sparse item without a shape is as large as its largest id needs",
              ("slim_decode",), items.lacks_sparse_shape, items.largest_id_is_the_shape),
    Departure("D51", "a raw image needs a shape", ("slim_decode",), items.has_raw_image_without_shape, items.raw_needs_shape),
    Departure("D50", "a PNG of 16 bits keeps them where the dtype holds them",
              ("slim_decode",), items.has_deep_png, items.keeps_16_bits),
    # Batches by frames.
    Departure("D76", "no batch is without a frame",
              ("batch_dataset", "batch_pipe"), batches.has_empty_batches, batches.no_empty_batches),
    # The original ignores a limit of a key that no sequence has: a slip of the pen limits nothing.
    Departure("", "a limit is of a tensor that there is",
              ("batch_dataset", "batch_pipe"), batches.limits_no_tensor, batches.refused_limit),
    # The original of S2 has a bucket of sequences without elements, that of S1 refuses it.
    Departure("", "a bucket may be of empty sequences",
              ("bucket_batch",), batches.has_empty_bucket, batches.nothing_fits),
    # Buckets grow as their rows come, within the budget of the run.
    Departure("", "buckets have no capacities",
              ("bucket_by_sequence_length",), batches.has_wrong_capacities, batches.no_full_bucket),
    Departure("D26", "`max_total_num_seqs` is exact",
              ("batch_dataset",), batches.lets_one_more_in, batches.exactly_so_many),
    # The state saver.
    Departure("D54", "a closed state saver whose examples do not fill a batch has ended",
              ("script",), savers.blocks_after_close, savers.ends_instead),
    Departure("D80", "a length below 0 is an error",
              ("script",), savers.has_negative_length, savers.refused_length),
    Departure("D80", "a live key is unique, also with another number of segments",
              ("script",), savers.reuses_a_live_key, savers.refused_key),
    Departure("D80", "a saved value of another type is refused at once",
              ("use_batch",), savers.saves_another_type, savers.refused_type),
    # The original counts an example that waits for room by the parts of it that it has stored already.
    Departure("", "segments of an insert that waits for room are not counted",
              ("script",), savers.counts_inserts_that_wait, savers.only_what_was_inserted),
    # Python's integers have no width; the range is checked.
    Departure("", "a length may be an integer of any width",
              ("construct",), savers.has_long_length, savers.accepted),
    Departure("D77", "`max_seqs` is exact in batches of one row",
              ("batch_dataset",), batches.has_one_sequence_too_many, batches.no_sequence_too_many),
    # Queues, producers and batches of queues.
    Departure("D88", "closing twice is harmless",
              ("queue_script",), queues.closes_again, queues.harmless),
    Departure("D43", "the arrays of a slice producer have as many rows",
              ("slice_input_producer",), queues.has_unequal_arrays, queues.arrays_refused),
    Departure("D68", "the consumer gets the error of the producer", _BATCH, queues.hides_an_error, queues.error_shown),
    Departure("D90", "a batch has rows", _BATCH, queues.has_no_batch_size, queues.batch_size_refused),
    Departure("D90", "where nothing is kept, the batches end with the input",
              _BATCH, queues.never_ends, queues.ends_with_the_input),
    Departure("D74", "a floor below 0 is an error at once", _BATCH, queues.has_negative_floor, queues.floor_refused),
    Departure("D89", "sources that are joined have as many tensors",
              _BATCH, queues.has_other_components, queues.components_refused),
    # The original knows shapes before there is an element; here only `shapes` says that a size must not differ.
    Departure("", "dynamic_pad pads any size", _BATCH, queues.pads_known_sizes, queues.padded),
    Departure("D25", "no rows make no batch",
              ("collate",), batches.has_no_rows, batches.no_batch),
]


def promised(vector: Vector) -> Vector:
    """The vector with our expectation. `alt` is the careful reading of corrupt bytes: D33, D34, D69, D82, D84."""
    vector = deepcopy(vector)
    if "alt" in vector:
        vector["original"], vector["expect"] = vector["expect"], vector.pop("alt")
    for departure in DEPARTURES:
        if vector["op"] in departure.ops and departure.applies(vector):
            departure.change(vector)
    return vector
