# SPDX-License-Identifier: Apache-2.0
"""Which worker makes which block of batches, so that blocks come in order although workers are slow, freeze and die.

    blocks      0  1  2  3 │ 4  5  6  7  8 │ 9 …
                taken      │ the window    │ nobody makes them yet
                           │ 4 made, 5 runs at a, 6 at b, 7 and 8 are wanted

A block is a function of its number, so any worker may make it, and again. Workers are bound late: each has the block that it makes,
and one more where blocks are short. A block that takes much longer than others is given to another worker, too, and the first
result counts. Nothing here makes or sends anything, and nothing reads a clock: callers say what has happened, and when.
"""
from __future__ import annotations

import bisect
import collections
import itertools
from typing import Any, Hashable, NamedTuple, Optional

__all__ = ["Binding", "Limits", "Order", "Quarantined"]

Worker = Hashable


class Limits(NamedTuple):
    """What a binding keeps to.

    blocks     of the window for each worker: so many blocks are asked for ahead of the one that is taken next
    bytes      of blocks that are made and not taken, and of those that are asked for, by the mean size; None: no limit
    hedge      a block is given to another worker when it has taken so many times the median
    copies     workers that make one block at a time, at most
    deaths     of workers on one block, after which it is not made again
    short      seconds: where the median is below, a worker has a second block, so that it never waits for one
    """

    blocks: int = 8
    bytes: Optional[int] = None
    hedge: float = 3.0
    copies: int = 3
    deaths: int = 3
    short: float = 0.25


class Order(NamedTuple):
    """Worker `worker` is to make block `block`."""

    worker: Worker
    block: int


class Quarantined(Exception):
    """A block whose workers died again and again."""

    def __init__(self, block: int, deaths: int) -> None:
        super().__init__(f"{deaths} workers died while they made block {block}, so it is not tried again")
        self.block, self.deaths = block, deaths


class _Block:
    """A block of the window. workers: those that make it, with the time at which they were asked."""

    __slots__ = ("result", "made", "size", "workers", "deaths")

    def __init__(self) -> None:
        self.result: Any = None
        self.made = False
        self.size = 0
        self.workers: "dict[Worker, float]" = {}
        self.deaths = 0


class Binding:
    """The blocks of one consumer from block `first` on. blocks: their number in all; None: they never end.

    One thread at a time may call. Times are seconds of any clock that does not go back.
    """

    _samples = 64   # durations that the median is of
    _enough = 5     # of them, before a block is given twice

    def __init__(self, first: int = 0, blocks: Optional[int] = None, limits: Limits = Limits()) -> None:
        self.limits = limits
        self.next = first                      # the block that is taken next
        self._end = blocks
        self._window: "dict[int, _Block]" = {}
        self._begin = first                    # the first block that nobody was asked for
        self._wanted: "list[int]" = []         # ascending: asked for once, and nobody makes them
        self._asked: "dict[int, float]" = {}   # blocks that may have one worker more, and when one was asked last, ascending
        self._held: "dict[Worker, list[int]]" = {}   # by worker: the blocks that it has, in their order
        self._recent: "collections.deque[float]" = collections.deque(maxlen=self._samples)
        self._sorted: "list[float]" = []       # the same, ascending
        self._finished: "dict[Worker, float]" = {}   # when each worker was done last
        self._sizes = (0, 0)                   # blocks that were made, and their bytes
        self._ready = 0                        # blocks that are made and not taken
        self.waiting = 0                       # bytes that are made and not taken
        self.stats = collections.Counter(made=0, again=0, hedged=0, dropped=0, deaths=0)

    # ---- workers
    def join(self, worker: Worker) -> None:
        """A worker is there and has nothing to do. One that died joins under a name of its own."""
        if worker in self._held:
            raise ValueError(f"worker {worker!r} is there already")
        self._held[worker] = []

    def leave(self, worker: Worker, died: bool = True) -> None:
        """A worker is gone. Blocks that nobody else makes are wanted again. One that died may have died of the block that it made."""
        held = self._held.pop(worker, [])
        self._finished.pop(worker, None)
        if died:
            self.stats["deaths"] += 1
        for place, number in enumerate(held):
            block = self._window.get(number)
            if block is None or block.made or worker not in block.workers:
                continue
            del block.workers[worker]
            if died and place == 0:
                block.deaths += 1
            if block.deaths >= self.limits.deaths and died and place == 0:
                self._finish(number, block, Quarantined(number, block.deaths), 0)
            elif block.workers:
                self._asked.setdefault(number, max(block.workers.values()))
            else:
                self.stats["again"] += 1
                self._asked.pop(number, None)
                bisect.insort(self._wanted, number)

    @property
    def workers(self) -> int:
        return len(self._held)

    # ---- work
    def orders(self, now: float) -> "list[Order]":
        """What to ask workers for now: the earliest block for the next free worker."""
        out: "list[Order]" = []
        free = sorted((worker for worker in self._held if not self._held[worker]), key=self._since)
        short = self.median is not None and self.median < self.limits.short
        free.extend(worker for worker in self._held if short and len(self._held[worker]) == 1)
        slow = self._slow(now) if free else []
        for worker in free:
            number, hedged = self._candidate(worker, slow)
            if number is None:
                continue
            self._window[number].workers[worker] = now
            self._held[worker].append(number)
            self._asked.pop(number, None)
            if len(self._window[number].workers) < self.limits.copies:
                self._asked[number] = now
            self.stats["hedged"] += hedged
            out.append(Order(worker, number))
        return out

    def made(self, worker: Worker, number: int, result: Any, size: int, now: float) -> bool:
        """A worker has made a block of `size` bytes. False: another one was earlier, and the result is dropped."""
        held = self._held.get(worker)
        if held is not None and number in held:
            held.remove(number)
            block = self._window.get(number)
            if block is not None and worker in block.workers:
                self._learn(now - max(block.workers[worker], self._finished.get(worker, 0.0)))
            self._finished[worker] = now
        block = self._window.get(number)
        if block is None or block.made:
            self.stats["dropped"] += 1
            return False
        self._sizes = (self._sizes[0] + 1, self._sizes[1] + size)
        self.stats["made"] += 1
        if not block.workers:   # its worker was thought to be gone
            self._wanted.remove(number)
        self._finish(number, block, result, size)
        return True

    @property
    def ready(self) -> bool:
        """Whether the next block is there."""
        block = self._window.get(self.next)
        return block is not None and block.made

    def take(self) -> "tuple[bool, Any]":
        """Whether the next block is there, and what was made of it: Quarantined for one that is not made."""
        if not self.ready:
            return False, None
        block = self._window.pop(self.next)
        self.next += 1
        self.waiting -= block.size
        self._ready -= 1
        return True, block.result

    def ends(self, blocks: int) -> None:
        """The run turns out to have at most so many blocks: nobody is asked for others."""
        if self._end is None or blocks < self._end:
            self._end = blocks
            self._wanted = [number for number in self._wanted if number < blocks]
            self._asked = {number: asked for number, asked in self._asked.items() if number < blocks}

    @property
    def over(self) -> bool:
        """Whether all blocks were taken."""
        return self._end is not None and self.next >= self._end

    @property
    def full(self) -> float:
        """The part of the window that is made and not taken, by blocks or bytes."""
        made = self._ready / max(1, self.limits.blocks * len(self._held))
        return min(1.0, max(made, self.waiting / self.limits.bytes if self.limits.bytes else 0.0))

    @property
    def median(self) -> Optional[float]:
        """Seconds of a block; None: too few were made."""
        return self._sorted[len(self._sorted) // 2] if len(self._sorted) >= self._enough else None

    def wake_at(self) -> Optional[float]:
        """When a block becomes one that is given to another worker; None: none does before something else happens."""
        if self.median is None or not self._asked:
            return None
        return next(iter(self._asked.values())) + self.limits.hedge * self.median

    # ---- inside
    def _since(self, worker: Worker) -> float:
        return self._finished.get(worker, 0.0)

    def _finish(self, number: int, block: _Block, result: Any, size: int) -> None:
        self._asked.pop(number, None)
        block.made, block.result, block.size = True, result, size
        block.workers.clear()
        self.waiting += size
        self._ready += 1

    def _learn(self, seconds: float) -> None:
        if len(self._recent) == self._samples:
            self._sorted.pop(bisect.bisect_left(self._sorted, self._recent[0]))
        self._recent.append(seconds)
        bisect.insort(self._sorted, seconds)

    def _slow(self, now: float) -> "list[int]":
        """The blocks that take too long, ascending, that may have one worker more."""
        if self.median is None:
            return []
        latest = now - self.limits.hedge * self.median
        return sorted(itertools.takewhile(lambda number: self._asked[number] <= latest, self._asked))

    def _candidate(self, worker: Worker, slow: "list[int]") -> "tuple[Optional[int], bool]":
        """The earliest block for this worker, and whether others make it, too."""
        wanted = self._wanted[0] if self._wanted else self._fresh()
        while slow and (wanted is None or slow[0] < wanted):
            number = slow.pop(0)
            if worker not in self._window[number].workers:
                return number, True
        if wanted is None:
            return None, False
        if self._wanted:
            self._wanted.pop(0)
        else:
            self._window[wanted] = _Block()
            self._begin += 1
        return wanted, False

    def _fresh(self) -> Optional[int]:
        """The next block of the window that nobody was asked for; None: the window is full, or at its end."""
        number = self._begin
        if self._end is not None and number >= self._end:
            return None
        ahead = number - self.next
        if ahead >= max(1, self.limits.blocks * len(self._held)):
            return None
        blocks, size = self._sizes
        if self.limits.bytes is not None and blocks and ahead:
            asked = len(self._window) - self._ready
            if self.waiting + (asked + 1) * (size // blocks) > self.limits.bytes:
                return None
        return number
