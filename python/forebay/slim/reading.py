# SPDX-License-Identifier: Apache-2.0
"""Records of a data set one after the other, through an engine loader: exact, checked and restartable."""
from __future__ import annotations

import glob as _glob
import os
import warnings
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

import forebay
from forebay._paths import Paths, paths_of
from forebay.errors import StateError

__all__ = ["ParallelReader", "Record", "get_data_files", "parallel_read", "single_pass_read"]


class Record(NamedTuple):
    """The bytes of a record, and its key, "path:offset"."""
    key: str
    value: bytes


def get_data_files(data_sources: Union[Paths, Sequence[Any]]) -> list[str]:
    """The files of data sources, in their order: a list is flattened, an entry with *, ? or [ stands for its matches, and any
    other entry for itself, whether there is such a file or not; path@N stands for its N shards, all of which must exist.
    Raises ValueError when nothing is found."""
    if isinstance(data_sources, (list, tuple)):
        files = [file for source in data_sources for file in get_data_files(source)]
    else:
        files = _matches(paths_of(data_sources, "data_sources")[0])
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files


def _matches(source: str) -> list[str]:
    if any(mark in source for mark in "*?["):
        return sorted(_glob.glob(source))
    path, at, number = source.rpartition("@")
    if not at or not number.isdecimal():
        return [source]
    shards = [f"{path}-{shard:05d}-of-{int(number):05d}" for shard in range(int(number))]
    for shard in shards:
        if not os.path.exists(shard):
            raise ValueError(f"{source}: there is no {shard}")
    return shards


class ParallelReader:
    """Reads records of several files at once; an iterator of (key, value).

    Each file is read by one reader in an epoch, and `num_readers` files are open at a time. Records come in the order of the
    files with one reader, and one from each open file in turn with several; shuffled, the order is drawn from `seed`.
    The state of `state_dict` continues exactly, whatever the number of threads.

    data_sources    files and patterns
    reader_class    the function that reads them: fb.tfrecord (left out), fb.lines
    shuffle         the files are shuffled in each epoch, and each record is drawn from a buffer of `min_after_dequeue`
    capacity        checked only: the memory of a run says how much is read ahead
    num_epochs      None: for ever
    dtypes          kept for the callers of the original: text for key and value is what there is
    """

    _ROWS = 64   # records that come from the engine at once

    def __init__(self, data_sources: Any, reader_class: Optional[Callable[..., Any]] = None, *, num_epochs: Optional[int] = None,
                 num_readers: int = 4, reader_kwargs: Optional[Mapping[str, Any]] = None, shuffle: bool = True,
                 dtypes: Sequence[Any] = (bytes, bytes), capacity: int = 256, min_after_dequeue: int = 128,
                 seed: Optional[int] = None) -> None:
        _check_types(dtypes)
        if num_readers < 1:
            raise ValueError(f"num_readers must be 1 or more, found {num_readers}")
        if shuffle and not 0 <= min_after_dequeue < capacity:
            raise ValueError(f"min_after_dequeue must be from 0 to capacity - 1 ({capacity - 1}), found {min_after_dequeue}")
        files = get_data_files(data_sources)
        if num_readers > len(files):
            warnings.warn(f"num_readers is {num_readers}, but there {'is 1 file' if len(files) == 1 else f'are {len(files)} files'}, "
                          "and one reader reads a file; the others have nothing to read", RuntimeWarning, stacklevel=2)
        pipe = (reader_class or forebay.tfrecord)(files, **dict(reader_kwargs or {})).record("value")
        if shuffle:
            pipe = pipe.shuffle(buffer=len(files))
        if num_readers > 1:
            pipe = pipe.interleave(cycle=num_readers)
        if shuffle:
            pipe = pipe.interleave(cycle=1) if num_readers == 1 else pipe
            pipe = pipe.shuffle(buffer=max(min_after_dequeue, 1))
        pipe = pipe.batch(size=self._ROWS).epochs(num_epochs)
        self._loader = (pipe if seed is None else pipe.seed(seed)).load()
        self._bare = not any(file.startswith("./") for file in files)
        self._num_readers, self._begun, self._ended = num_readers, 0, False
        self._start = self._loader.state_dict()
        self._before: Any = None     # the batch before the present one
        self._batch: Any = None
        self._row = 0
        self.num_records_produced = 0

    def __iter__(self) -> Iterator[Record]:
        return self

    def __next__(self) -> Record:
        while self._batch is None or self._row == self._batch.valid_rows:
            try:
                batch = next(self._loader)
            except StopIteration:
                self._ended = True
                raise
            self._before, self._batch, self._row = self._batch, batch, 0
        row, self._row = self._row, self._row + 1
        self.num_records_produced += 1
        self._begun += self._batch.origins[row][1] == 0
        key = self._batch.record_keys[row]   # a run names files of the working directory ./name
        return Record(key[2:] if self._bare and key.startswith("./") else key, self._batch["value"][row])

    def read_up_to(self, num_records: int) -> list[Record]:
        """The next records, at most so many; fewer at the end only. An empty list: there are no more."""
        out = []
        for record in self:
            out.append(record)
            if len(out) >= num_records:
                break
        return out

    def num_work_units_completed(self) -> int:
        """The number of files that were read to their end, over all epochs. A file counts when the next one has taken its
        place."""
        return self._begun if self._ended else max(0, self._begun - self._num_readers)

    def state_dict(self) -> dict[str, Any]:
        """Where the reader stands."""
        after = self._start if self._before is None else self._loader.state_dict(after=self._before)
        return {"loader": after, "row": self._row, "records": self.num_records_produced, "files": self._begun}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to a place of `state_dict`."""
        if set(state) != {"loader", "row", "records", "files"}:
            raise StateError(f"not a state of a reader: it has {sorted(state)}", code="state", detail="invalid_argument")
        self._loader.load_state_dict(state["loader"])
        self._start, self._before, self._batch, self._row = state["loader"], None, None, 0
        if state["row"]:
            self._batch = next(self._loader)
        self._row, self.num_records_produced = state["row"], state["records"]
        self._begun, self._ended = state["files"], False

    def close(self) -> None:
        self._loader.close()

    def __enter__(self) -> "ParallelReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def parallel_read(data_sources: Any, reader_class: Optional[Callable[..., Any]] = None, num_epochs: Optional[int] = None,
                  num_readers: int = 4, reader_kwargs: Optional[Mapping[str, Any]] = None, shuffle: bool = True,
                  dtypes: Sequence[Any] = (bytes, bytes), capacity: int = 256, min_after_dequeue: int = 128,
                  seed: Optional[int] = None) -> ParallelReader:
    """Reads records of several files at once: a ParallelReader, which is an iterator of (key, value)."""
    return ParallelReader(data_sources, reader_class, num_epochs=num_epochs, num_readers=num_readers,
                          reader_kwargs=reader_kwargs, shuffle=shuffle, dtypes=dtypes, capacity=capacity,
                          min_after_dequeue=min_after_dequeue, seed=seed)


def single_pass_read(data_sources: Any, reader_class: Optional[Callable[..., Any]] = None,
                     reader_kwargs: Optional[Mapping[str, Any]] = None) -> ParallelReader:
    """Reads every record once, in the order of the files."""
    return ParallelReader(data_sources, reader_class, num_epochs=1, num_readers=1, reader_kwargs=reader_kwargs, shuffle=False)


def _check_types(dtypes: Sequence[Any]) -> None:
    text = (bytes, str, "string", "bytes", "str")
    if len(dtypes) != 2 or any(dtype not in text for dtype in dtypes):
        raise TypeError(f"the key and the value of a record are text: dtypes must be (bytes, bytes), found {tuple(dtypes)!r}")
