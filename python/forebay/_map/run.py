# SPDX-License-Identifier: Apache-2.0
"""The stages of a run: what `Loader` has when its pipeline has a `map`."""
from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any, Callable, Optional, Sequence, Union

from forebay import _core
from forebay._core import Batch
from forebay._map.call import Call
from forebay._map.pool import Caller, Pool, ThreadCaller
from forebay._map.stages import InlineStage, Item, PooledStage, Position, Source, Stage
from forebay._map.step import MapStep, libraries_of
from forebay.errors import StateError
from forebay.mapped import MappedStats


class MapRun:
    """Every `map` of a run, one after the other. `next` is for one thread at a time; `close` is for any thread."""

    def __init__(self, run: _core.Run, steps: Sequence[MapStep], source: Optional[Stage] = None) -> None:
        """source: what gives the batches; None: the engine."""
        self._run = run
        self._steps = steps
        self._stages: list[Union[InlineStage, PooledStage]] = []
        self._pooled: list[PooledStage] = []
        self._source: Stage = Source(run) if source is None else source
        stage = self._source
        seed = json.loads(run.plan.lowered).get("seed", 0)
        for place, step in enumerate(steps):
            call = Call(step.function, step.name, step.per, step.with_rng, step.output, f"{seed}/{place}", libraries_of(step))
            if step.workers:
                stage = PooledStage(stage, call, Pool(step.name, step.workers, _caller_of(step, call.seed)), step.workers)
                self._pooled.append(stage)
            else:
                stage = InlineStage(stage, call)
            self._stages.append(stage)
        self._last = stage
        self._process = os.getpid()
        self._user: Optional[int] = None
        self._calling = False
        self._taken: Optional[Item] = None
        self._position: Optional[Position] = None
        self._ended = False

    def next(self, epoch: Optional[int] = None) -> Batch:
        """The next result; of that epoch, and StopIteration at its end and when the loop is in another one. An interrupt
        at any place loses none: the next call gives it."""
        me = threading.get_ident()
        self._refuse(me)
        self._user, self._calling = me, True
        try:
            position = self._begin()
            if epoch is not None and self.epoch()[0] != epoch:
                raise StopIteration
            try:
                if self._taken is None:
                    self._taken = self._last.peek()
                item = self._taken
            except StopIteration:
                self._position = position._replace(complete_frac=self._run.complete_frac)
                self._ended = True
                self._end(epoch)
                raise
            if epoch is not None and item.batch.epoch > epoch:
                self._end(epoch)
                raise StopIteration
            self._last.advance(item.serial)
            value: Batch = item.value  # or a MappedBatch
            after = Position(item.batch, item.complete_frac)
            # No calls from here on, so that no interrupt comes after the batch was given up.
            self._position = after
            self._taken = None
            return value
        finally:
            self._user, self._calling = None, False

    def peek(self) -> Batch:
        """The engine's batch of the next result. Raises StopIteration at the end."""
        self._refuse(threading.get_ident())
        self._begin()
        return self._last.head() if self._taken is None else self._taken.batch

    def ended(self) -> bool:
        """Whether `next` came to the end of the run."""
        return self._ended

    def _begin(self) -> Position:
        """Where the loop is. To be called before the engine is asked for a batch."""
        if self._position is None:
            self._position = Position(self._run.position(), self._run.complete_frac)
        return self._position

    def epochs(self) -> "MapEpochs":
        return MapEpochs(self, self._run.plan.epochs)

    def epoch(self) -> tuple[int, bool]:
        """The epoch that the loop is in, and whether a batch of it was given, or it has none."""
        order = json.loads(self._begin().text())["sections"]["order"]
        return order["from"], order["begun"] != 0

    def _end(self, epoch: Optional[int]) -> None:
        if epoch is not None:
            self._move_to(epoch, begun=True)

    def _move_to(self, epoch: int, begun: bool) -> None:
        """The loop is before the first batch of that epoch, or has begun with it."""
        place = self._begin()
        at = json.loads(place.text())
        at["sections"]["order"].update({"from": epoch, "begun": int(begun)})
        self._position = place._replace(at=json.dumps(at))

    def skip_to(self, epoch: int) -> None:
        """Leaves out all batches of earlier epochs. May be interrupted at any place, and repeated."""
        if self._taken is None or self._taken.batch.epoch < epoch:
            self._skip_in_engine(epoch)
            taken = self._last.skip_to(epoch)
            if self._taken is not None and self._taken.serial <= taken:
                self._taken = None
        self._move_to(epoch, begun=False)

    def _skip_in_engine(self, epoch: int) -> None:
        ahead = self._run.epochs()  # from the batch that the engine has given last, which may be of a later epoch
        try:
            while ahead.next() < epoch:
                pass
        except StopIteration:
            pass

    def _refuse(self, me: int) -> None:
        """Raises StateError where `next` would not be called by one thread at a time."""
        if self._process != os.getpid():
            self._run.next()  # raises that the loader is one of before fork
        if (self._calling and self._user == me) or any(stage.has_thread(me) for stage in self._pooled):
            raise StateError("next was called from inside a function given to map", code="state",
                             detail="failed_precondition")
        if self._calling:
            raise StateError("next is running in another thread; one thread at a time may call it", code="state",
                             detail="failed_precondition")

    def state(self) -> str:
        """The state after the batch that `next` gave last, while later ones are out."""
        return self._run.state() if self._position is None else self._run.state_at(self._position.text())

    def position(self) -> str:
        """Where the loop is, as JSON text."""
        return self._begin().text()

    def complete_frac(self) -> float:
        return self._run.complete_frac if self._position is None else self._position.complete_frac

    def restored(self) -> None:
        """The run stands at another place."""
        for stage in (self._source, *self._stages):
            stage.reset()
        self._taken = None
        self._position = None
        self._ended = False

    def close(self) -> None:
        for stage in self._pooled:
            stage.close()

    def stats(self) -> MappedStats:
        waits = [(step.name, step.workers, stage.waited) for step, stage in zip(self._steps, self._stages)]
        out = {f"map {number}": stage.fullness() for number, stage in enumerate(self._pooled)}
        return MappedStats(self._run.stats, waits, out)


class MapEpochs:
    """The epochs of a run with `map`, with the rules of the engine's RunEpochs: asking for an epoch leaves out the batches
    of earlier ones. Where the loop is, the position of MapRun says."""

    def __init__(self, maps: MapRun, epochs: Optional[int]) -> None:
        self._maps = maps
        self._epochs = epochs
        self._number: Optional[int] = None

    def next(self) -> int:
        """The number of the next epoch; StopIteration after the last one."""
        at, begun = self._maps.epoch()
        ended = False
        following = at + 1
        if self._number != at:
            try:
                if not begun or self._maps.peek().epoch <= at:
                    following = at
            except StopIteration:
                ended = True
        elif self._epochs is None:
            ended = self._maps.ended()
        if ended if self._epochs is None else following >= self._epochs:
            raise StopIteration
        if following > at:
            self._maps.skip_to(following)
        self._number = following
        return following

    def advance(self, number: int, taken: bool) -> Batch:
        """The next result of that epoch; StopIteration at its end. MapRun takes it itself."""
        return self._maps.next(number)


def _caller_of(step: MapStep, seed: str) -> Callable[[], Caller]:
    if step.sent is None:
        return ThreadCaller
    from forebay._map.processes import ProcessCaller
    try:
        folder = os.getcwd()
    except OSError:
        folder = "/"
    setup = {"path": list(sys.path), "python_path": os.environ.get("PYTHONPATH"), "folder": folder, "name": step.name,
             "per": step.per, "with_rng": step.with_rng, "output": step.stated, "seed": seed}
    sent = step.sent
    return lambda: ProcessCaller(setup, sent)
