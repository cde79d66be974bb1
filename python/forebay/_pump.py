# SPDX-License-Identifier: Apache-2.0
"""Objects of Python that a run uses: iterables, which a thread puts into a feed, functions, which a thread calls, and
sequences, whose items `map` looks up."""
from __future__ import annotations

import atexit
import contextlib
import itertools
import threading
import time
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Iterable, Iterator, Literal, Mapping, Optional, Sequence

import numpy as np

from forebay import _core
from forebay._map.draws import share_libraries
from forebay._structure import filled, flat, tree_of
from forebay.errors import Cancelled, ConfigError, DataError

if TYPE_CHECKING:
    from forebay._core import Stats
    from forebay._map.step import MapStep

#: Seconds that `join` waits for the iterable, which may take any time for its next row.
TIMEOUT = 2.0


class Pump:
    """A thread of its own that works for a run.

    bound     what the document names
    failure   what the program's object raised; None: nothing
    told      what the run says about it
    """

    #: Whether the program waits for the thread before it ends. Python ends threads that are left over wherever they next want its
    #: lock, and pyarrow's destructors, which want it, must not be left in that way.
    joined_at_exit = False

    def __init__(self, name: str, awaited: str) -> None:
        self.bound: Any = None
        self.failure: Optional[BaseException] = None
        self.told = ""
        self._awaited = awaited
        self._thread = threading.Thread(target=self._work, name=f"forebay {name}", daemon=True)

    def start(self) -> None:
        if self.joined_at_exit:
            _AT_EXIT.add(self)
        self._thread.start()

    def _work(self) -> None:
        share_libraries()
        self._run()

    def _run(self) -> None:
        raise NotImplementedError

    def counted(self, stats: "Stats") -> "Stats":
        """With what was skipped by a run that makes the rows."""
        return stats

    def failed(self, failure: BaseException, what: str) -> str:
        """Keeps the failure. Returns what to tell the run."""
        told = f"{what} failed: {type(failure).__name__}: {failure}"
        self.told = told.encode("utf-8", "backslashreplace").decode()
        self.failure = failure
        return self.told

    def begin_anew(self) -> None:
        """Called when the run is restored."""
        self.failure = None

    def unused(self) -> None:
        """Called when no run was started of the plan that the pump was made for."""

    def stop(self) -> None:
        """Called when the run is closed: lets the thread end."""

    def join(self) -> None:
        """Called when the loader is closed. Warns when the program's object does not come back."""
        self.stop()
        if not self._thread.is_alive() or self._thread is threading.current_thread():
            return
        began = time.monotonic()
        while self._thread.is_alive() and time.monotonic() - began < TIMEOUT:
            self._thread.join(0.05)
        if self._thread.is_alive():
            warnings.warn(f"the thread '{self._thread.name}' still waits for {self._awaited}; it ends with the program",
                          RuntimeWarning, stacklevel=3)


_AT_EXIT: "weakref.WeakSet[Pump]" = weakref.WeakSet()


@atexit.register
def _end_threads() -> None:
    """Ends the threads that must not outlive the program, for at most TIMEOUT seconds."""
    left = [pump for pump in _AT_EXIT if pump._thread.is_alive()]
    for pump in left:
        pump.stop()
    until = time.monotonic() + TIMEOUT
    for pump in left:
        pump._thread.join(max(0.0, until - time.monotonic()))


class RowPump(Pump):
    """Goes through an iterable and puts its rows into a feed.

    bound     the rows of the feed, as the core takes them; the thread closes the feed at the end
    tree      the structure of the rows
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]], feed: Any, name: str) -> None:
        super().__init__(name, "the next row of its iterable")
        self.bound: Any = feed._feed.rows(name)
        self.tree = feed._tree
        self._feed = feed
        self._rows = rows

    def _run(self) -> None:
        try:
            for row in self._rows:
                self._feed.put(row)
        except Cancelled:
            return
        except BaseException as failure:
            self._feed._feed.fail(self.failed(failure, "the iterable"))
        else:
            self._feed.close()


class AnswerPump(Pump):
    """Calls a function of the program with the questions of a run, one after the other.

    bound     the function, as the core takes it
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        super().__init__(name, "an answer of its function")
        self.bound: Any = _core.Function()
        self._function = function
        self._name = name

    def _run(self) -> None:
        while True:
            try:
                question = self.bound.next()
            except Cancelled:
                return
            if question is None:
                continue
            try:
                answer = integers_of(self._name, question, self._function(*question))
            except BaseException as failure:
                self.bound.fail(question, self.failed(failure, f"the call ({_listed(question)})"))
            else:
                self.bound.answer(question, answer)

    def stop(self) -> None:
        self.bound.close()


def integers_of(name: str, question: Sequence[int], answer: Any) -> bytes:
    """What a function returned, as the bytes of 64-bit integers; one integer is a list of one."""
    array = np.asarray(answer)
    if array.size == 0 and array.ndim == 1:
        return b""
    if array.ndim == 2 and array.shape[1] == 2:  # pairs, such as the bounds of chunks
        array = array.reshape(-1)
    if array.dtype.kind not in "iu" or array.ndim > 1 or (array.dtype.kind == "u" and int(array.max()) >= 2**63):
        found = f"{type(answer).__name__} {_short(answer)}"
        raise ConfigError(f"the function '{name}', called with ({_listed(question)}), returned {found}; it must return an "
                          "integer, or a list or array of integers", code="config", detail="invalid_argument")
    return array.astype(np.int64).tobytes()


def _listed(question: Sequence[int]) -> str:
    return ", ".join(map(str, question))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


class Rows:
    """An iterable of rows, and the columns that they have."""

    def __init__(self, rows: Iterable[Any], columns: Any, capacity: int) -> None:
        self._rows = rows
        self._columns = columns
        self._capacity = capacity

    def pump(self, name: str) -> RowPump:
        """A pump for one run. Looks at the first row when the columns are not given."""
        from forebay.rows import Feed
        rows: Iterable[Any] = self._rows
        if self._columns is None:
            iterator: Iterator[Any] = iter(self._rows)
            first = next(iterator, None)
            self._columns = columns_of_row(first, name)
            rows = itertools.chain([first], iterator)
        return RowPump(rows, Feed(self._columns, self._capacity), name)


def columns_of_row(row: Any, name: str) -> Any:
    """The columns of rows like this one, the first of an iterable; None: it has no row."""
    if row is None:
        raise ConfigError(f"the iterable of '{name}' has no row, so its columns are not known; give columns={{…}}",
                          code="config", detail="invalid_argument")
    if not isinstance(row, (Mapping, tuple)):
        raise TypeError(f"a row of '{name}' is a dict of values by column, or a tuple of values, found {type(row).__name__}")
    what = f"the first row of '{name}'"
    tree = tree_of(row, what)
    return filled(tree, {column: _column_of(value) for column, value in flat(tree, row, what).items()})


def _column_of(value: Any) -> Mapping[str, Any]:
    """The column that holds a value like this one, with its shape."""
    array = np.asarray(value)
    if array.dtype.kind in "SUO":
        return {"dtype": "string", "shape": list(array.shape)}
    return {"dtype": array.dtype.name, "shape": list(array.shape)}


class PumpedRun:
    """A run that uses iterables and functions: the core's Run, whose failures are theirs, and which ends their threads."""

    def __init__(self, run: Any, pumps: Sequence[Pump]) -> None:
        self._run = run
        self._pumps = pumps
        for pump in pumps:
            pump.start()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)

    @property
    def stats(self) -> "Stats":
        stats: "Stats" = self._run.stats
        for pump in self._pumps:
            stats = pump.counted(stats)
        return stats

    def advance(self, given: bool) -> Any:
        with self._failures():
            return self._run.advance(given)

    def epochs(self) -> "PumpedEpochs":
        return PumpedEpochs(self._run.epochs(), self._failures)

    def restore(self, text: str, accept: Sequence[str] = ()) -> Any:
        for pump in self._pumps:
            pump.begin_anew()
        return self._run.restore(text, list(accept))

    def begin_anew(self) -> None:
        self._run.begin_anew()
        for pump in self._pumps:
            pump.begin_anew()

    def seek(self, number: int) -> None:
        for pump in self._pumps:
            pump.begin_anew()
        with self._failures():
            self._run.seek(number)

    def __del__(self) -> None:
        for pump in self._pumps:
            pump.stop()

    def close(self) -> None:
        self._run.close()
        for pump in self._pumps:
            pump.join()

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """Instead of the core's error raises what the iterable or function raised: the same object, with its traceback."""
        try:
            yield
        except DataError as problem:
            for pump in self._pumps:
                if pump.failure is not None and pump.told in str(problem):
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

    def __init__(self, items: Sequence[Any], workers: int, inside: Literal["threads", "processes"], stated: Any = None) -> None:
        self._items = items
        self._stated = stated
        self._workers = workers
        self._inside = inside

    def columns(self) -> Mapping[str, Any]:
        return {"index": np.arange(len(self._items))}

    def step(self) -> "MapStep":
        from forebay._map.step import step_of
        return step_of(Lookup(self._items), "row", self._workers, self._inside, self._stated)


class Lookup:
    """Gives the item of a row's number."""

    __name__ = "the sequence's items"

    def __init__(self, items: Sequence[Any]) -> None:
        self._items = items

    def __call__(self, row: Mapping[str, Any]) -> Any:
        item = self._items[int(row["index"])]
        if not isinstance(item, (Mapping, tuple)):
            raise TypeError(f"item {int(row['index'])} of the sequence is {type(item).__name__}; a row is a dict of values by "
                            "column, or a tuple of values")
        return item
