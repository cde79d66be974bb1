# SPDX-License-Identifier: Apache-2.0
"""`Reader`: the records of files that come one after the other."""
from __future__ import annotations

import os
import threading
from typing import Any, Iterator, NamedTuple, Union

import numpy as np

from forebay import _core
from forebay._arguments import integer_of, wrong_type
from forebay.errors import ConfigError, EndOfData
from forebay.queue import Queue

__all__ = ["Reader", "ReaderCounters"]

_ON_CORRUPT = ("fail", "skip_record", "skip_file")


class ReaderCounters(NamedTuple):
    """What a reader has done since its beginning, or since `reset`."""

    records_produced: int
    work_units_completed: int   # files, or work items, that were read to their end
    records_skipped: int        # corrupt records, and ranges of bytes without an intact one
    files_skipped: int          # corrupt files, with on_corrupt="skip_file", and missing ones, with on_missing="skip_file"


class Reader:
    """Reads the records of files that it takes one after the other out of a queue or a list.

        reader = fb.Reader("lines", skip_header_lines=1)
        for key, line in reader.records(["a.csv", "b.csv"]):
            ...

    kind         a source of files: "tfrecord", "lines", "fixed_length", "whole_file", …; or "identity": each work item is a
                 record, key and value in one
    on_corrupt   "fail": DataError, once; the next read goes on with the next file. "skip_record": corrupt records are left out and
                 counted. "skip_file": the rest of the file is left out
    on_missing   "fail": IoError, once. "skip_file": the file is left out and counted
    options      those of the source, as in a document, without `files`

    Reads take files from a Queue, whose first component is a string, from an object with `get` (a producer of forebay.tf1), from
    an iterator, or from a list; the same list object goes on where the read before stopped. Keys are "path:offset" (tfrecord),
    "path:line", "path:record" (fixed_length) or the path; values are bytes.

    For programs that read by themselves; a training job uses a loader. Any number of threads may read; they take turns.
    """

    def __init__(self, kind: str = "tfrecord", *, on_corrupt: str = "fail", on_missing: str = "fail", **options: Any) -> None:
        if not isinstance(kind, str):
            raise wrong_type("kind", "the name of a source of files, or 'identity'", kind)
        if on_corrupt not in _ON_CORRUPT:
            raise _refused(f"on_corrupt: must be one of {', '.join(_ON_CORRUPT)}, found {on_corrupt!r}")
        if on_missing not in ("fail", "skip_file"):
            raise _refused(f"on_missing: must be one of fail, skip_file, found {on_missing!r}")
        self.kind = kind
        import json
        self._reader = _core.make_reader(kind, json.dumps(options, default=_plain), on_corrupt, on_missing == "skip_file")
        self._lock = threading.Lock()
        self._counters = ReaderCounters(0, 0, 0, 0)
        self._list: "tuple[Any, Iterator[Any]]" = (None, iter(()))

    def read(self, works: Any) -> "tuple[str, bytes]":
        """The next record as (key, value). Skips to the next file at the end of one. Raises EndOfData when no file is left; what
        the queue raises goes on. Raises IoError and DataError as `on_corrupt` and `on_missing` say."""
        return self.read_up_to(works, 1)[0]

    def read_up_to(self, works: Any, count: int) -> "list[tuple[str, bytes]]":
        """The next records of one file, `count` or, at its end, fewer, but at least 1. Raises as `read` does."""
        wanted = integer_of("count", count, "an integer")
        with self._lock:
            while True:
                if self._reader.needs_work:
                    self._reader.start(_path(self._next(works)))
                try:
                    records = self._reader.read(wanted)
                finally:
                    self._count()
                if records:
                    return records

    def records(self, works: Any) -> "Iterator[tuple[str, bytes]]":
        """All records, to the end."""
        while True:
            try:
                record = self.read(works)
            except EndOfData:
                return
            yield record

    def reset(self) -> None:
        """Sets the counters to 0 and forgets the open file. The queue stays as it is."""
        with self._lock:
            self._reader.reset()
            self._count()

    def _count(self) -> None:
        self._counters = ReaderCounters(*self._reader.counters)

    @property
    def counters(self) -> ReaderCounters:
        """What it has done, after the last read that has ended."""
        return self._counters

    def num_records_produced(self) -> int:
        """Records that were read."""
        return self.counters.records_produced

    def num_work_units_completed(self) -> int:
        """Files that were read to their end."""
        return self.counters.work_units_completed

    def serialize_state(self) -> bytes:
        """The open file, the place in it and the counters; not the queue."""
        with self._lock:
            return self._reader.state().encode("utf-8", "surrogateescape")

    def restore_state(self, state: "Union[bytes, str]") -> None:
        """Goes on where the state was taken. Raises StateError for a state of another kind of reader, and when the file has
        fewer records now; the reader stays as it was then."""
        if not isinstance(state, (bytes, str)):
            raise wrong_type("state", "the bytes of serialize_state", state)
        with self._lock:
            self._reader.restore(state.decode("utf-8", "surrogateescape") if isinstance(state, bytes) else state)
            self._count()

    def _next(self, works: Any) -> Any:
        """The next work item."""
        if isinstance(works, Queue):
            return works.dequeue()
        if hasattr(works, "get") and not isinstance(works, dict):
            return works.get()
        if isinstance(works, (str, bytes, os.PathLike)) or not hasattr(works, "__iter__"):
            raise wrong_type("works", "a Queue, a producer, or a list of paths", works)
        if self._list[0] is not works:
            self._list = (works, iter(works))
        for work in self._list[1]:
            return work
        raise EndOfData("no file is left in the list", code="end")


def _path(work: Any) -> str:
    """The path in an element of a queue."""
    while isinstance(work, (dict, tuple, list)):
        if not work:
            raise _refused("an element of the queue of a reader has no path")
        work = next(iter(work.values())) if isinstance(work, dict) else work[0]
    if isinstance(work, (np.ndarray, np.generic)):
        work = work.item()
    if not isinstance(work, (str, bytes, os.PathLike)):
        raise wrong_type("a work item of a reader", "a path: str, bytes or a path object", work)
    path = os.fspath(work)
    return path.decode("utf-8", "surrogateescape") if isinstance(path, bytes) else path


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise wrong_type("an option of a reader", "text, a number, a bool or a list", value)


def _refused(text: str) -> ConfigError:
    return ConfigError(text, code="config", detail="invalid_argument")
