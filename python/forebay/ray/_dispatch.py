# SPDX-License-Identifier: Apache-2.0
"""Has workers make the blocks of a trainer, a few ahead of the batch that it is at.

One thread asks workers and takes what they send; everything that happens elsewhere reaches it as a call in a queue. The loop of the
trainer only says which block it is at and waits for it, so an interrupt at any place loses nothing.
"""
from __future__ import annotations

import functools
import heapq
import itertools
import queue
import threading
import time
from types import MappingProxyType
from typing import Any, Callable, Mapping, NamedTuple, Optional, Protocol

from forebay._binding import Binding, Limits, Quarantined
from forebay._core import ReceivedMemory
from forebay.errors import Cancelled, DataError
from forebay.ray._wire import Block, Sent, received

#: Bytes of a block: as many batches as reach the first, or BLOCK_SECONDS of work, and never more than the second.
BLOCK_BYTES, MAX_BLOCK_BYTES = 16 << 20, 64 << 20
#: The smallest blocks that a small window makes of them.
MIN_BLOCK_BYTES = 4 << 20
BLOCK_SECONDS = 0.1
#: Seconds between two tries to reach a worker that died.
AGAIN = 0.5
#: Seconds without any worker after which the trainer says so.
ALONE = 30.0

Call = Callable[[], None]


class Lost(Exception):
    """The worker is gone, and with it what it made. for_ever: nobody starts it again."""

    def __init__(self, why: str, for_ever: bool) -> None:
        super().__init__(why)
        self.for_ever = for_ever


class Hand(Protocol):
    """A worker as the dispatcher sees it. `done` is called in any thread: with the answer, or with what was raised, Lost among it."""

    @property
    def name(self) -> str: ...

    def make(self, shard: Any, first: int, count: int, done: "Callable[[Any], None]") -> None: ...

    def hello(self, done: "Callable[[Any], None]") -> None: ...


class Figures(NamedTuple):
    """What a dispatcher has counted. stalled: seconds that the trainer waited. full: the part of the window that is made and not taken.
    by_worker: blocks, and seconds of them."""

    stalled: float = 0.0
    blocks: int = 0
    again: int = 0
    hedged: int = 0
    dropped: int = 0
    deaths: int = 0
    waiting: int = 0
    full: float = 0.0
    workers: int = 0
    refused: "Mapping[str, str]" = MappingProxyType({})
    by_worker: "Mapping[str, tuple[int, float]]" = MappingProxyType({})


class Dispatcher:
    """The blocks of one shard from batch `first` on. window: bytes of blocks that are made and not taken."""

    def __init__(self, shard: Any, first: int, window: int, memory: ReceivedMemory, tell: "Callable[[str], None]",
                 lost: "Callable[[str], None]") -> None:
        self._shard = shard
        self._window = window
        self._memory = memory
        self._tell = tell
        self._lost = lost
        self._binding = Binding(limits=Limits(bytes=window))
        self._calls: "queue.SimpleQueue[Optional[Call]]" = queue.SimpleQueue()
        self._timers: "list[tuple[float, int, Call]]" = []
        self._serial = itertools.count()
        self._hands: "dict[str, Hand]" = {}
        self._names: "dict[str, str]" = {}             # by worker of the binding: the name of its hand
        self._bounds: "dict[int, tuple[int, int]]" = {}   # by block: its first batch, and how many
        self._fresh = (0, first)                       # the first block without bounds, and its first batch
        self._batches = (0, 0, 0.0)                    # that were made: their number, bytes and seconds
        self._count = 1                                # batches of the next block
        self._deaths: "dict[int, str]" = {}
        self._refused: "dict[str, str]" = {}
        self._by_worker: "dict[str, tuple[int, float]]" = {}
        self._changed = threading.Condition()
        self._wanted = 0                               # the block that the trainer is at
        self._blocks: "dict[int, Any]" = {}            # that it may take: a Block, or what to raise
        self._failure: Optional[BaseException] = None
        self._closed = False
        self._stalled = 0.0
        self._full = 0.0
        self._alone_since: Optional[float] = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="forebay fleet", daemon=True)
        self._thread.start()

    # ---- of the trainer's thread
    def block(self, number: int) -> Block:
        """Block `number`, which stays until a later one is asked for. Raises what keeps it from being made."""
        found = self._blocks.get(number)
        if found is None:
            began = time.monotonic()
            self._wanted = max(self._wanted, number)
            self._calls.put(_nothing)
            with self._changed:
                while number not in self._blocks:
                    if self._failure is not None:
                        raise self._failure
                    self._changed.wait(0.5)
            self._stalled += time.monotonic() - began
            found = self._blocks[number]
        if self._wanted < number:
            self._wanted = number
            self._calls.put(_nothing)
        if isinstance(found, BaseException):
            raise found
        block: Block = found
        return block

    # ---- of any thread
    def staff(self, hands: "list[Hand]") -> None:
        """These are the workers now."""
        self._calls.put(lambda: self._staff(hands))

    def close(self) -> None:
        self._closed = True
        self._fail(Cancelled("the loader was closed while it waited for a batch", code="cancelled", detail="cancelled"))
        self._calls.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(2.0)

    def figures(self) -> Figures:
        stats = self._binding.stats
        return Figures(self._stalled, stats["made"], stats["again"], stats["hedged"], stats["dropped"], stats["deaths"], self._binding.waiting,
                       self._full, self._binding.workers, dict(self._refused), dict(self._by_worker))

    # ---- of the dispatcher's thread
    def _work(self) -> None:
        try:
            while not self._closed:
                self._step()
        except BaseException as failure:   # a fault of this class must not leave the trainer waiting
            self._fail(failure)

    def _step(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()
        self._hand_over()
        self._ask(now)
        self._full = self._binding.full
        waits = [1.0]
        if self._timers:
            waits.append(self._timers[0][0] - now)
        wake = self._binding.wake_at()
        if wake is not None:
            waits.append(wake - now)
        try:
            call = self._calls.get(timeout=max(min(waits), 0.001))
            while call is not None:
                call()
                call = self._calls.get_nowait()
        except queue.Empty:
            pass
        self._mind_loneliness(now)

    def _hand_over(self) -> None:
        """Gives the trainer the block that it is at, and the next one, which is copied while it uses the first."""
        while self._binding.next <= self._wanted + 1 and self._binding.ready:
            number = self._binding.next
            _, result = self._binding.take()
            if isinstance(result, Quarantined):
                result = self._quarantine(number, result)
            elif isinstance(result, Sent):
                try:
                    result = received(result, self._memory)
                except Exception as failure:
                    result = failure
            self._bounds.pop(number, None)
            with self._changed:
                self._blocks[number] = result
                for old in [block for block in self._blocks if block < self._wanted]:
                    del self._blocks[old]
                self._changed.notify_all()

    def _ask(self, now: float) -> None:
        for worker, block in self._binding.orders(now):
            if block not in self._bounds:
                assert block == self._fresh[0]
                self._bounds[block] = (self._fresh[1], self._count)
                self._fresh = (block + 1, self._fresh[1] + self._count)
            name = str(worker)
            hand = self._hands[self._names[name]]
            hand.make(self._shard, *self._bounds[block], self._later(functools.partial(self._made, name, block)))

    def _later(self, call: "Callable[[Any], None]") -> "Callable[[Any], None]":
        return lambda answer: self._calls.put(lambda: call(answer))

    def _made(self, worker: str, block: int, answer: Any) -> None:
        if isinstance(answer, Lost):
            self._left(worker, block, answer)
            return
        if isinstance(answer, Sent):
            made, size, seconds = self._batches
            self._batches = (made + answer.batches, size + answer.size, seconds + answer.seconds)
            blocks, took = self._by_worker.get(self._names.get(worker, worker), (0, 0.0))
            self._by_worker[self._names.get(worker, worker)] = (blocks + 1, took + answer.seconds)
            self._choose_count()
        self._binding.made(worker, block, answer, answer.size if isinstance(answer, Sent) else 0, time.monotonic())
        if not isinstance(answer, Sent) or answer.last:
            self._binding.ends(block + 1)

    def _choose_count(self) -> None:
        """How many batches the next blocks have: enough to be worth sending, few enough for the window, and at most twice as many as now,
        so that a block never takes much longer than those before."""
        made, size, seconds = self._batches
        if not made:
            return
        by_size, by_time = BLOCK_BYTES * made / max(size, 1), BLOCK_SECONDS * made / max(seconds, 1e-9)
        share = max(self._window / (self._binding.limits.blocks * max(self._binding.workers, 1)), MIN_BLOCK_BYTES)
        most = min(share, MAX_BLOCK_BYTES) * made / max(size, 1)
        self._count = max(1, min(int(min(by_size, by_time, most) + 1), 2 * self._count))

    def _quarantine(self, number: int, found: Quarantined) -> DataError:
        first, count = self._bounds[number]
        return DataError(f"{found.deaths} workers died while they made batches {first} to {first + count - 1}, so no other one tries. The last one: "
                         f"{self._deaths.get(number, 'killed')}. To see why, make them on one machine: `loader = fb.load(…)`, `loader.seek({first})`, "
                         f"`batch = next(loader)`, and `batch.origins` names the files of its rows", code="data", detail="data_loss")

    # ---- workers
    def _staff(self, hands: "list[Hand]") -> None:
        names = {hand.name for hand in hands}
        for hand in hands:
            if hand.name not in self._hands:
                self._hands[hand.name] = hand
                self._greet(hand)
        for name in [name for name in self._hands if name not in names]:
            self._dismiss(name, died=False)

    def _greet(self, hand: Hand) -> None:
        hand.hello(self._later(lambda answer: self._greeted(hand, answer)))

    def _greeted(self, hand: Hand, answer: Any) -> None:
        if hand.name not in self._hands:
            return
        if isinstance(answer, Lost):
            if answer.for_ever:
                self._dismiss(hand.name, died=True)
                self._lost(hand.name)
            else:
                heapq.heappush(self._timers, (time.monotonic() + AGAIN, next(self._serial), lambda: self._greet(hand)))
        elif isinstance(answer, BaseException):   # its batches are others
            self._refused[hand.name] = str(answer)
            self._tell(f"worker {hand.name} is left out: {answer}")
        else:
            worker = f"{hand.name}#{next(self._serial)}"
            self._names[worker] = hand.name
            self._binding.join(worker)

    def _left(self, worker: str, block: int, why: Lost) -> None:
        name = self._names.pop(worker, None)
        if name is None:   # known from another of its blocks
            return
        self._deaths[block] = str(why)
        self._binding.leave(worker)
        hand = self._hands.get(name)
        if hand is not None:
            self._greet(hand)

    def _dismiss(self, name: str, died: bool) -> None:
        self._hands.pop(name)
        for worker in [worker for worker, its in self._names.items() if its == name]:
            del self._names[worker]
            self._binding.leave(worker, died)

    def _mind_loneliness(self, now: float) -> None:
        if self._binding.workers:
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
        elif now - self._alone_since > ALONE:
            refused = "".join(f"; {name} was refused: {why}" for name, why in self._refused.items())
            self._tell(f"no worker of the fleet has been there for {ALONE:.0f} s; the loader waits for one{refused}")
            self._alone_since = now + 10 * ALONE

    def _fail(self, failure: BaseException) -> None:
        with self._changed:
            self._failure = self._failure or failure
            self._changed.notify_all()


def _nothing() -> None:
    """A call that wakes the dispatcher."""
