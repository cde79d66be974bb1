# SPDX-License-Identifier: Apache-2.0
"""The stages of a run: what `Loader` has when its pipeline has a `map`."""
from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any, Callable, Optional, Sequence, Union

from forebay import _core
from forebay._map.call import Call
from forebay._map.pool import Caller, Pool, ThreadCaller
from forebay._map.stages import InlineStage, Item, PooledStage, Position, Source, Stage, position_of
from forebay._map.step import MapStep
from forebay.errors import StateError
from forebay.mapped import MappedStats


class MapRun:
    """Every `map` of a run, one after the other. `next` is for one thread at a time; `close` is for any thread."""

    def __init__(self, run: _core.Run, steps: Sequence[MapStep]) -> None:
        self._run = run
        self._steps = steps
        self._stages: list[Union[InlineStage, PooledStage]] = []
        self._pooled: list[PooledStage] = []
        self._source = Source(run, positions=any(step.workers for step in steps))
        stage: Stage = self._source
        seed = json.loads(run.plan.lowered).get("seed", 0)
        for place, step in enumerate(steps):
            call = Call(step.function, step.name, step.per, step.with_rng, step.output, f"{seed}/{place}")
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

    def next(self) -> Any:
        """The next result. An interrupt at any place loses none: the next call gives it."""
        me = threading.get_ident()
        self._refuse(me)
        self._user, self._calling = me, True
        try:
            if self._position is None and self._pooled:
                self._position = position_of(self._run)
            if self._taken is None:
                self._taken = self._last.peek()
            item = self._taken
            self._last.advance(item.serial)
            value = item.value
            # No calls from here on, so that no interrupt comes after the batch was given up.
            self._position = item.position
            self._taken = None
            return value
        except StopIteration:
            if self._pooled:
                self._position = position_of(self._run)
            raise
        finally:
            self._user, self._calling = None, False

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
        if self._position is not None and self._position.state is not None:
            return self._position.state
        return self._run.state(self._taken is not None or self._source.holds())

    def complete_frac(self) -> float:
        return self._run.complete_frac if self._position is None else self._position.complete_frac

    def restored(self) -> None:
        """The run stands at another place."""
        for stage in (self._source, *self._stages):
            stage.reset()
        self._taken = None
        self._position = None

    def close(self) -> None:
        for stage in self._pooled:
            stage.close()

    def stats(self) -> MappedStats:
        waits = [(step.name, step.workers, stage.waited) for step, stage in zip(self._steps, self._stages)]
        return MappedStats(self._run.stats, waits)


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
