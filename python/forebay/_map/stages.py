# SPDX-License-Identifier: Apache-2.0
"""The order of batches through `map`: errors in their place, restarts, and interrupts at any place.

A stage gives its head with `peek` until `advance` has named it, and both may be repeated: Ctrl-C can end any of these
calls at any place, and the next call goes on with the same batch. All of it runs on the consumer's thread.
"""
from __future__ import annotations

import os
import threading
import time
import warnings
import weakref
from itertools import islice
from typing import Any, NamedTuple, NoReturn, Optional, Protocol, Union

from forebay import _core
from forebay._core import Batch
from forebay._map.call import Call, Fault, delivered
from forebay._map.pool import Pool, Task, closed
from forebay.mapped import Made

#: Batches that are out beside one for every worker.
AHEAD = 2


class Position(NamedTuple):
    """Where the run is after a batch, and the share of the run that was delivered.

    at       the engine's batch, which knows its position, or what a `map` elsewhere made of it; or the position itself as JSON text
    """

    at: Union[Batch, Made, str]
    complete_frac: float

    def text(self) -> str:
        if isinstance(self.at, str):
            return self.at
        return _core.position_of(self.at) if isinstance(self.at, Batch) else self.at._position()


class Item(NamedTuple):
    """A batch on its way, the engine's batch that it is made of, and the share of the run up to it."""

    serial: int
    value: Any
    batch: Batch
    complete_frac: float


class Stage(Protocol):
    def peek(self) -> Item:
        """The head. Raises what the head failed with, again at every call, and StopIteration at the end."""

    def advance(self, serial: int) -> None:
        """The head of that number was taken."""

    def head(self) -> Batch:
        """The engine's batch of the head, while its result may not be there yet. Raises as the engine does."""

    def skip_to(self, epoch: int) -> int:
        """Takes the batches of earlier epochs that the engine has given. Returns the number of the last one taken. May be
        repeated, like `advance`."""

    def reset(self) -> None:
        """Forgets all batches, and what failed: the run goes on at another place."""


class Source:
    """The batches that the engine delivers."""

    def __init__(self, run: _core.Run) -> None:
        self._run = run
        self.reset()

    def reset(self) -> None:
        self._batches = iter(self._run.next, None)
        # The number of the last batch that was taken, and the batch after it if the engine has given it, with its share.
        self._at: tuple[int, list[Any], list[float]] = (0, [], [])

    def peek(self) -> Item:
        given, batch, share = self._at
        if not batch:
            # One call without bytecode inside: no interrupt comes between the engine and the list.
            batch.extend(islice(self._batches, 1))
        if not batch:
            raise StopIteration
        if not share:
            share.append(self._run.complete_frac)
        return Item(given + 1, batch[0], batch[0], share[0])

    def head(self) -> Batch:
        return self.peek().batch

    def advance(self, serial: int) -> None:
        if serial > self._at[0]:
            self._at = (serial, [], [])

    def skip_to(self, epoch: int) -> int:
        taken, batch, _ = self._at
        if batch and batch[0].epoch < epoch:
            self.advance(taken + 1)
        return self._at[0]


class InlineStage:
    """Calls the function on the consumer's thread."""

    def __init__(self, before: Stage, call: Call) -> None:
        self._before = before
        self._call = call
        self.waited = 0.0
        self.reset()

    def reset(self) -> None:
        self._made: Optional[Item] = None
        self._failure: Optional[_Failure] = None

    def peek(self) -> Item:
        if self._failure is not None:
            self._failure.throw()
        item = self._before.peek()
        if self._made is None or self._made.serial != item.serial:
            began = time.perf_counter()
            try:
                self._made = Item(item.serial, delivered(self._call(item.value), item.value), item.batch,
                                  item.complete_frac)
            except Fault as fault:
                self._failure = _Failure(fault)
            self.waited += time.perf_counter() - began
        if self._failure is not None:
            self._failure.throw()
        assert self._made is not None
        return self._made

    def head(self) -> Batch:
        return self._before.head()

    def advance(self, serial: int) -> None:
        self._before.advance(serial)
        self._made = None

    def skip_to(self, epoch: int) -> int:
        return self._before.skip_to(epoch)


class PooledStage:
    """Has workers call the function, and gives the results in order."""

    def __init__(self, before: Stage, call: Call, pool: Pool, workers: int) -> None:
        self._before = before
        self._call = call
        self._pool = pool
        self._max_out = workers + AHEAD
        self._process = os.getpid()
        self._stall = _stall_seconds()
        self.waited = 0.0
        self._finalizer = weakref.finalize(self, Pool.abandon, pool)
        self._finalizer.atexit = False
        self.reset()

    def reset(self) -> None:
        if self._process == os.getpid():
            self._pool.forget()
        self._out: dict[int, tuple[Item, Task]] = {}
        self._given = 0
        self._pulled = 0
        self._end: Optional[Exception] = None
        self._failure: Optional[_Failure] = None

    def peek(self) -> Item:
        if self._failure is not None:
            self._failure.throw()
        self._fill()
        found = self._out.get(self._given + 1)
        if found is None:
            assert self._end is not None
            raise self._end
        item, task = found
        self._wait(item, task)
        if task.fault is not None:
            self._failure = _Failure(task.fault)
            self._failure.throw()
        return item._replace(value=task.value)

    def head(self) -> Batch:
        found = self._out.get(self._given + 1)
        return self._before.head() if found is None else found[0].batch

    def _fill(self) -> None:
        """Asks for one batch for every one that was given, and for more while the head is not finished."""
        asked = False
        while self._end is None and self._pulled - self._given < self._max_out:
            head = self._out.get(self._given + 1)
            if asked and head is not None and head[1].finished:
                return
            try:
                item = self._before.peek()
            except Exception as end:
                self._end = end
                return
            if item.serial > self._given:
                task = self._out.setdefault(item.serial, (item, Task(self._call, item.value)))[1]
                if not task.submitted:
                    self._pool.submit(task)
                    task.submitted = True
            self._pulled = item.serial
            self._before.advance(item.serial)
            asked = True

    def _wait(self, item: Item, task: Task) -> None:
        if task.finished:
            return
        began = time.perf_counter()
        while not task.wait(self._stall):
            waited = time.perf_counter() - began
            warnings.warn(f"batch {item.value.number} has been waited for {waited:.1f} s: it is in {self._pool.name}, "
                          f"given to map", RuntimeWarning, stacklevel=5)
        self.waited += time.perf_counter() - began

    def advance(self, serial: int) -> None:
        if serial > self._given:
            self._given = serial
        self._out.pop(serial, None)

    def skip_to(self, epoch: int) -> int:
        taken = self._before.skip_to(epoch)
        for serial, (item, _) in sorted(self._out.items()):
            if item.batch.epoch < epoch:
                self.advance(serial)
        if not self._out:
            self._given = self._pulled = max(self._pulled, taken)
        return self._given

    def fullness(self) -> tuple[int, int]:
        """Batches that were given to workers and not to the loop yet, and how many may."""
        return len(self._out), self._max_out

    def close(self) -> None:
        """For any thread: a consumer that waits gets Cancelled."""
        self._pool.close()
        if self._process == os.getpid():
            for _, task in list(self._out.values()):
                task.finish(fault=Fault(closed(), ""))

    def has_thread(self, ident: int) -> bool:
        return self._pool.has_thread(ident)


class _Failure:
    """What a function raised. Thrown any number of times, with the traceback of the function."""

    def __init__(self, fault: Fault) -> None:
        self._failure = fault.failure
        self._traceback = fault.failure.__traceback__
        if fault.where:
            annotate(self._failure, fault.where)

    def throw(self) -> NoReturn:
        raise self._failure.with_traceback(self._traceback)


def annotate(failure: BaseException, note: str) -> None:
    """Adds a note to an exception. Before Python 3.11 the note is its cause."""
    if note in getattr(failure, "__notes__", ()):
        return
    if hasattr(failure, "add_note"):
        failure.add_note(note)
    elif failure.__cause__ is None:
        failure.__cause__ = RuntimeError(note)


def _stall_seconds() -> float:
    try:
        seconds = float(os.environ.get("FOREBAY_STALL_SECONDS", ""))
    except ValueError:
        seconds = 0.0
    return seconds if 0 < seconds < threading.TIMEOUT_MAX else 30.0
