# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/migrate/grain.md: every row runs, and every sampler, argument, method and transformation of Grain has one."""
from __future__ import annotations

import json
import pathlib
from typing import Any

import pyarrow.parquet
import pytest
from migration import check, names_of, rows, usual, without_row

import forebay as fb

PAGE = "grain.md"

# The public names of Grain 0.2.18, with the arguments of DataLoader and load.
NAMES = """SequentialSampler IndexSampler Sampler num_records num_epochs ShardOptions ShardByJaxProcess NoSharding shard_index shard_count
drop_remainder DataLoader data_source sampler operations worker_count worker_buffer_size shard_options read_options enable_profiling
load shuffle seed transformations batch_size ReadOptions num_threads prefetch_buffer_size MultiprocessingOptions
ArrayRecordDataSource RangeDataSource SharedMemoryDataSource InMemoryDataSource RandomAccessDataSource ParquetIterDataset
TFRecordIterDataset Batch Filter Map MapWithIndex RandomMap TfRandomMap FilterTransform MapTransform MapWithIndexTransform
RandomMapTransform FlatMapTransform BatchOperation FilterOperation MapOperation RandomMapOperation DatasetSelectionMap
MapDataset IterDataset DatasetIterator source range mix select_from_datasets concatenate pipe apply batch filter map map_with_index
slice random_map repeat reseed_each_epoch to_iter_dataset prefetch mp_prefetch get_state set_state start_prefetch close
apply_transformations WithOptionsIterDataset DatasetOptions ElasticIterator batch_and_pad CacheIterDataset FlatMapMapDataset
FlatMapIterDataset InterleaveIterDataset LimitIterDataset RngPool FirstFitPackIterDataset BestFitPackIterDataset BOSHandling
ConcatThenSplitIterDataset multithread_prefetch ThreadPrefetchIterDataset RebatchIterDataset RepeatIterDataset
WindowShuffleMapDataset WindowShuffleIterDataset ZipMapDataset ZipIterDataset PackAndBatchOperation index_shuffle device_put
pick_performance_config PerformanceConfig get_element_spec set_next_index get_next_index CheckpointHandler CheckpointSave
CheckpointRestore PyGrainCheckpointHandler PyGrainDatasetIterator DataLoaderIterator Record RecordMetadata""".split()


def make(folder: pathlib.Path) -> dict[str, Any]:
    """The files and names that the page speaks of."""
    fb.write_records(folder / "r.tfrecord", [fb.encode_example({"n": number}) for number in (0, 1)])
    pyarrow.parquet.write_table(pyarrow.table({"n": [0, 1]}), folder / "r.parquet")
    return {**usual(), "json": json}


names = names_of(make)


@pytest.mark.parametrize(("call", "gives"), rows(PAGE))
def test_a_row_gives_what_the_table_says(call: str, gives: str, names: dict[str, Any]) -> None:
    check(call, gives, names)


def test_every_name_has_a_row() -> None:
    assert without_row(PAGE, NAMES) == []
