# SPDX-License-Identifier: Apache-2.0
"""Rows of Python objects: iterables, which a thread puts into a feed, and sequences, whose items `map` looks up."""
from __future__ import annotations

import contextlib
import itertools
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Iterable, Iterator, Literal, Mapping, Optional, Sequence

import numpy as np

from forebay.errors import Cancelled, ConfigError, DataError

if TYPE_CHECKING:
    from forebay._map.step import MapStep

#: Seconds that `join` waits for the iterable, which may take any time for its next row.
TIMEOUT = 2.0


class Pump:
    """Goes through an iterable in a thread of its own and puts its rows into a feed.

    feed      the feed; the thread closes it at the end
    failure   what the iterable raised, after the rows before it; None: nothing
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]], feed: Any, name: str) -> None:
        self.feed = feed
        self.failure: Optional[BaseException] = None
        self._rows = rows
        self._thread = threading.Thread(target=self._run, name=f"forebay {name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            for row in self._rows:
                self.feed.put(row)
        except Cancelled:
            return
        except BaseException as failure:
            self.failure = failure
            self.feed._feed.fail(f"the iterable failed: {type(failure).__name__}: {failure}")
        else:
            self.feed.close()

    def join(self) -> None:
        """Called when the loader is closed. Warns when the iterable does not come back."""
        if not self._thread.is_alive() or self._thread is threading.current_thread():
            return
        began = time.monotonic()
        while self._thread.is_alive() and time.monotonic() - began < TIMEOUT:
            self._thread.join(0.05)
        if self._thread.is_alive():
            warnings.warn(f"the thread '{self._thread.name}' still waits for the next row of its iterable; it ends with the "
                          "program", RuntimeWarning, stacklevel=3)


class Rows:
    """An iterable of rows, and the columns that they have."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], columns: Optional[Mapping[str, Any]], capacity: int) -> None:
        self._rows = rows
        self._columns = columns
        self._capacity = capacity

    def pump(self, name: str) -> Pump:
        """A pump for one run. Looks at the first row when the columns are not given."""
        from forebay.rows import Feed
        rows: Iterable[Mapping[str, Any]] = self._rows
        if self._columns is None:
            iterator: Iterator[Mapping[str, Any]] = iter(self._rows)
            first = next(iterator, None)
            if first is None:
                raise ConfigError(f"the iterable of '{name}' has no row, so its columns are not known; give columns={{…}}",
                                  code="config", detail="invalid_argument")
            if not isinstance(first, Mapping):
                raise TypeError(f"a row of '{name}' is a dict of values by column, found {type(first).__name__}")
            self._columns = {column: _column_of(value) for column, value in first.items()}
            rows = itertools.chain([first], iterator)
        return Pump(rows, Feed(self._columns, self._capacity), name)


def _column_of(value: Any) -> Mapping[str, Any]:
    """The column that holds a value like this one, with its shape."""
    array = np.asarray(value)
    if array.dtype.kind in "SUO":
        return {"dtype": "string", "shape": list(array.shape)}
    return {"dtype": array.dtype.name, "shape": list(array.shape)}


class PumpedRun:
    """A run that reads iterables: the core's Run, whose failures are those of the iterables, and which ends their threads."""

    def __init__(self, run: Any, pumps: Sequence[Pump]) -> None:
        self._run = run
        self._pumps = pumps
        for pump in pumps:
            pump.start()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)

    def advance(self, given: bool) -> Any:
        with self._failures():
            return self._run.advance(given)

    def epochs(self) -> "PumpedEpochs":
        return PumpedEpochs(self._run.epochs(), self._failures)

    def close(self) -> None:
        self._run.close()
        for pump in self._pumps:
            pump.join()

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """Instead of the core's error raises what an iterable raised: the same object, with its traceback."""
        try:
            yield
        except DataError:
            for pump in self._pumps:
                if pump.failure is not None:
                    raise pump.failure
            raise


class PumpedEpochs:
    """The epochs of a PumpedRun."""

    def __init__(self, epochs: Any, failures: Callable[[], ContextManager[None]]) -> None:
        self._epochs = epochs
        self._failures = failures

    def next(self) -> int:
        with self._failures():
            return int(self._epochs.next())

    def advance(self, number: int, given: bool) -> Any:
        with self._failures():
            return self._epochs.advance(number, given)


class Items:
    """A sequence of rows. The engine orders the numbers of its items; `map` looks the items up."""

    def __init__(self, items: Sequence[Mapping[str, Any]], workers: int, inside: Literal["threads", "processes"]) -> None:
        self._items = items
        self._workers = workers
        self._inside = inside

    def columns(self) -> Mapping[str, Any]:
        return {"index": np.arange(len(self._items))}

    def step(self) -> "MapStep":
        from forebay._map.step import step_of
        return step_of(Lookup(self._items), "row", self._workers, self._inside, None)


class Lookup:
    """Gives the item of a row's number."""

    __name__ = "the sequence's items"

    def __init__(self, items: Sequence[Mapping[str, Any]]) -> None:
        self._items = items

    def __call__(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        item = self._items[int(row["index"])]
        if not isinstance(item, Mapping):
            raise TypeError(f"item {int(row['index'])} of the sequence is {type(item).__name__}; a row is a dict of values by "
                            "column")
        return item
