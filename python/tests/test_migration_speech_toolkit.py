# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/migrate/speech-toolkit.md: every row runs, and every option of RETURNN's pipeline has one."""
from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from migration import check, names_of, plain, rows, show, without_row

import forebay as fb
from forebay import returnn  # noqa: F401 (rows use fb.returnn)

PAGE = "speech-toolkit.md"

# Options of data sets and batches, and the classes and methods of the queue pipeline.
NAMES = """seq_ordering fixed_random_seed random_seed_offset partition_epoch repeat_epoch _num_shards _shard_index seq_list_filter_file
unique_seq_tags seq_order_seq_lens_file chunking min_chunk_size chunking_variance context_window window chunk_size chunk_step
batch_size max_seqs max_seq_length min_seq_length seq_drop max_total_num_seqs max_pad_size packed_batch_size pruning weights recurrent
batch_slice shuffle_frames_of_nseqs estimated_num_seqs default reverse sorted sorted_reverse random random_sample laplace
sort_bin_shuffle sort_bin_shuffle_x2 default_every_n seq_tag seq_idx epoch_end complete_frac batch_dim gap align
with_seq_tag with_seq_idx with_epoch_end PipeBase PipeConnectorBase DatasetReader MakePlaceholders TFDataQueues
TFChunkingQueueRunner TFBatchingQueue QueueOutput CpuToDefaultDevStage FeedDictDataProvider QueueDataProvider
have_data_for_dequeue have_incoming_data is_running one_more_enqueue_is_enough start_threads stop_threads have_more_data
get_feed_dict have_reached_end get_dataset_name get_complete_frac get_num_frames get_next_batch init_dataset shuffle_train_seqs
enforce_min_len1 on_size_limit NumbersDict DataProviderBase get_threads loop thread_main make_dequeue_op have_more enqueue capacity
with_batch get_dtype_for_key get_shape_for_key get_queue_kwargs source_has_epoch_end_signal data_keys extern_data""".split()

LENGTHS = [5, 1, 4, 2, 3, 6, 2, 7, 1, 3]


class Two:
    """A data set of two sequences an epoch."""

    def init_seq_order(self, epoch: int) -> None:
        self.epoch = epoch

    def is_less_than_num_seqs(self, i: int) -> bool:
        return i < 2

    def get_data(self, i: int, key: str) -> Any:
        return np.arange(i + 1)

    def get_tag(self, i: int) -> str:
        return f"{self.epoch}-{i}"


def sequences(lengths: list[int], name: str) -> fb.Pipeline:
    data = fb.Ragged(np.concatenate([np.arange(length) for length in lengths]), np.cumsum([0, *lengths]))
    return fb.arrays({"data": data, "tag": list("abcdefghij")[:len(lengths)], "i": np.arange(len(lengths)),
                      "weight": np.ones(len(lengths), np.float32)}, name=name)


def lengths(pipe: fb.Pipeline) -> list[list[int]]:
    with pipe.load(threads=1) as loader:
        return [plain(batch.lengths["data"].reshape(-1)) for batch in loader]


def order(mode: str, size: int = 10, **options: Any) -> list[int]:
    return show(sequences(LENGTHS, "speech").sequence_order(mode, **options).batch(size, pad=True), "i")[0]


def make(folder: pathlib.Path) -> dict[str, Any]:
    """The files and names that the page speaks of."""
    (folder / "keep.txt").write_text("c\na\n")
    (folder / "lengths.json").write_text(json.dumps({tag: 10 - number for number, tag in enumerate("abcdefghij")}))
    return {"fb": fb, "np": np, "show": show, "order": order, "lengths": lengths, "Two": Two, "speech": sequences(LENGTHS, "speech"),
            "one": sequences([11], "one").select(["data"])}


names = names_of(make)


@pytest.mark.parametrize(("call", "gives"), rows(PAGE))
def test_a_row_gives_what_the_table_says(call: str, gives: str, names: dict[str, Any]) -> None:
    check(call, gives, names)


def test_every_option_has_a_row() -> None:
    assert without_row(PAGE, NAMES) == []
