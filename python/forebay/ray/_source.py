# SPDX-License-Identifier: Apache-2.0
"""A Loader whose batches come from a fleet: the loader of `map` with another source of batches."""
from __future__ import annotations

import weakref
from typing import Any, Mapping, Optional, Sequence, Union

from forebay._core import Batch
from forebay._map.pool import closed
from forebay._map.run import MapRun
from forebay._map.stages import Item
from forebay._progress import batches_before
from forebay.errors import StateError
from forebay.loader import Loader
from forebay.ray._crew import Crew
from forebay.ray._dispatch import Dispatcher
from forebay.ray._stats import FleetStats


class FleetSource:
    """The batches that a fleet makes, from where the run of this process stands: a Stage of `map`."""

    def __init__(self, local: Loader, crew: Crew, shard: Any) -> None:
        self._local = local
        self._crew = crew
        self._shard = shard
        self._dispatcher: Optional[Dispatcher] = None
        self._at = (0, 0, 0)   # batches that were taken; the block of the next one, and its place there
        self._from: Optional[int] = None
        self._closed = False

    def reset(self) -> None:
        dispatcher, self._dispatcher = self._dispatcher, None
        if dispatcher is not None:
            self._crew.end(dispatcher)
        self._from = None
        self._at = (0, 0, 0)

    def close(self) -> None:
        self._closed = True
        self.reset()

    def peek(self) -> Item:
        if self._closed:
            raise closed()
        dispatcher = self._started()
        while True:
            taken, block, place = self._at
            made = dispatcher.block(block)
            if place < len(made.batches):
                batch, share = made.batches[place]
                return Item(taken + 1, batch, batch, share)
            if made.failure is not None:
                raise made.failure.with_traceback(None)
            if made.ended:
                raise StopIteration
            self._at = (taken, block + 1, 0)

    def head(self) -> Batch:
        return self.peek().batch

    def advance(self, serial: int) -> None:
        taken, block, place = self._at
        if serial > taken:
            self._at = (serial, block, place + 1)

    def skip_to(self, epoch: int) -> int:
        return self._at[0]   # FleetRun has gone there

    def go_to(self, number: int) -> None:
        """The next batch is the one of this number."""
        self.reset()
        self._from = number

    @property
    def dispatcher(self) -> Optional[Dispatcher]:
        return self._dispatcher

    def _started(self) -> Dispatcher:
        if self._dispatcher is None:
            first = batches_before(self._local._run.position()) if self._from is None else self._from
            self._dispatcher = self._crew.begin(self._shard, first)
        return self._dispatcher


class FleetRun(MapRun):
    """The run of a loader whose batches others make. The engine of this process counts, plans and keeps states; it makes no batch."""

    def __init__(self, local: Loader, source: FleetSource, crew: Crew) -> None:
        super().__init__(local._run, (), source)
        self._fleet_source = source
        self._crew = crew

    def _skip_in_engine(self, epoch: int) -> None:
        self._taken = None
        self._run.restore(self._run.state_at(self._begin().text()))
        super()._skip_in_engine(epoch)
        try:
            self._fleet_source.go_to(self._run.advance(False).number)
        except StopIteration:
            self._fleet_source.go_to(batches_before(self._run.position()))

    def stats(self) -> "FleetStats":
        dispatcher = self._fleet_source.dispatcher
        return FleetStats(super().stats(), None if dispatcher is None else dispatcher.figures(), self._fleet_source._at[0],
                          self._crew.pinned)

    def close(self) -> None:
        _end(self._fleet_source, self._crew)
        super().close()


class FleetLoader(Loader):
    """A Loader whose batches a fleet makes."""

    __slots__ = ()

    def __init__(self, local: Loader, source: FleetSource, crew: Crew) -> None:
        super().__init__(local._run)
        self._maps = local._maps
        self._mapped = FleetRun(local, source, crew)
        weakref.finalize(self, _end, source, crew).atexit = False   # of a loader that is dropped

    def load_state_dict(self, state: Union[Mapping[str, Any], Sequence[Mapping[str, Any]]], accept: Sequence[str] = ()) -> None:
        """As `Loader.load_state_dict`. Raises StateError for `accept`, and for the state of a run whose mixture was changed by it:
        workers make batches of the plan alone."""
        every = [state] if isinstance(state, Mapping) else list(state) if isinstance(state, (list, tuple)) else []
        if accept or any("mixture/0" in one.get("sections", ()) for one in every if isinstance(one, Mapping)):
            raise StateError("a fleet makes batches of the plan alone, and does not know from which row a mixture is another; go on "
                             "with a local loader (fb.load), or say weights by pass: weights=[(0, [those so far]), (later pass, "
                             "[others])]", code="state", detail="failed_precondition")
        super().load_state_dict(state)

    set_state = load_state_dict


def _end(source: FleetSource, crew: Crew) -> None:
    source.close()
    crew.close()
