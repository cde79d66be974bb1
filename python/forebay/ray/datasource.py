# SPDX-License-Identifier: Apache-2.0
"""A data source of Ray Data: inference and conversion over all batches of a run, each made once."""
from __future__ import annotations

import os
from typing import Any, Iterator, List, Optional

import numpy as np
import ray.data as _data
import ray.data.block as _block
import ray.data.datasource as _tasks

from forebay._arguments import integer_of
from forebay.errors import ConfigError
from forebay.loader import Loader
from forebay.ray._worker import Job, job_of

__all__ = ["Datasource"]

#: The column that tells rows apart: the number of the batch times 2**32, and the row's place in it.
ROW = "_forebay_row"


#: Whose types differ from one version to the next.
_base: Any = _data.Datasource
_blocks: Any = _block
_read_task: Any = _tasks.ReadTask


class Datasource(_base):   # type: ignore[misc]
    """The batches of a document as a dataset of Ray Data, in any order of its tasks; a task makes batches by number.

        ds = ray.data.read_datasource(fr.Datasource("eval.json"))
        ds.map_batches(Model).write_parquet("predictions")

    doc                a Pipeline, a document, or the path of one; its run has an end. Files are found by the same paths on every machine
    batches_per_task   of one read task; None: what gives as many tasks as Ray Data asks for
    threads            of one task

    A column for each tensor: one of a fixed shape or padded is a tensor column, a ragged one a list; strings are binary. `_forebay_row` is unique, and
    the same in every run over the same files: the id of checkpoints of Ray Data. Rows that only fill up a last batch are left out.
    """

    def __init__(self, doc: Any, batches_per_task: Optional[int] = None, threads: Optional[int] = None) -> None:
        super().__init__()
        self._job = job_of(doc, threads or 1).planned()
        self._each = integer_of("batches_per_task", batches_per_task)
        with self._job.load() as loader:
            self._batches = _length(loader)

    def estimate_inmemory_data_size(self) -> Optional[int]:
        return None

    def get_read_tasks(self, parallelism: int, per_task_row_limit: Optional[int] = None, data_context: Any = None) -> "List[Any]":
        each = self._each or max(1, -(-self._batches // max(parallelism, 1)))
        job, tasks = self._job, []
        for first in range(0, self._batches, each):
            end = min(first + each, self._batches)

            def read(first: int = first, end: int = end) -> "Iterator[Any]":
                return _tables(job, first, end)

            tasks.append(_read_task(read, _blocks.BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None),
                                  per_task_row_limit=per_task_row_limit))
        return tasks


def _length(loader: Loader) -> int:
    try:
        return len(loader)
    except TypeError as problem:
        raise ConfigError(f"the number of batches is not known, so they cannot be divided among tasks: {problem}", code="config",
                          detail="failed_precondition") from None


def _tables(job: Job, first: int, end: int) -> "Iterator[Any]":
    """The batches from `first` on, below `end`, each a table."""
    with job.in_its_folder(), job.load() as loader:
        loader.seek(first)
        for number in range(first, end):
            yield _table(next(loader), number)


def _table(batch: Any, number: int) -> Any:
    import pyarrow
    kept = np.flatnonzero(batch.mask)
    columns = {name: np.asarray(value)[kept] if isinstance(value, np.ndarray) else [value[int(row)] for row in kept] for name, value in batch.items()}
    block = _blocks.BlockAccessor.batch_to_arrow_block(columns)
    return block.append_column(ROW, pyarrow.array((np.int64(number) << 32) + kept.astype(np.int64)))
