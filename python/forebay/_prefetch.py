# SPDX-License-Identifier: Apache-2.0
"""Batches that are brought to a device before they are used. forebay.torch.prefetch makes tensors of them."""
from __future__ import annotations

import threading
import weakref
from collections import deque
from itertools import islice
from typing import Any, Callable, Iterator, Mapping, NamedTuple, NoReturn, Optional, Sequence

from forebay import _core
from forebay._arguments import wrong_type
from forebay._core import Stats
from forebay._map.draws import share_libraries
from forebay.errors import Cancelled
from forebay.loader import Loader, Plan, Schema
from forebay.mapped import by_name, with_tensors

#: Gives the arrays of a batch that are staged, by name, in types that the device takes.
Carriers = Callable[[Mapping[str, Any]], "dict[str, Any]"]
#: Makes tensors of the staged ones, in the order of the names: (batch, names, staged) → tensors.
Handover = Callable[[Mapping[str, Any], "list[str]", _core.StagedTensors], "list[Any]"]


class Staged(NamedTuple):
    """A batch whose copies were begun, or what `next` raises in its place."""

    serial: int
    batch: Any
    names: list[str]
    tensors: Optional[_core.StagedTensors]
    failure: Optional[BaseException] = None


class Prefetch:
    """The batches of a loader as mappings to tensors of a device, whose copies were begun before they are asked for.

    An iterator and a context manager. A batch has the tensors on the device by name; strings, ragged and sparse values stay
    as they are; `number`, `epoch`, `lengths`, `origins` and so on are those of the loader's batch. It takes the loader's
    place: nothing else may take batches from it. An error is raised where its batch would be, and again at every further `next`.
    """

    __slots__ = ("_loader", "_ahead", "_line", "_handover", "_at", "_begin", "__weakref__")

    def __init__(self, loader: Loader, staging: _core.Staging, carriers: Carriers, handover: Handover, ahead: int) -> None:
        if not isinstance(loader, Loader):
            raise wrong_type("loader", "a forebay Loader; of a Switch, its `loader`", loader)
        self._loader = loader
        self._ahead = ahead
        self._handover = handover
        self._line = _Line(loader, staging, carriers, ahead)
        self._begin = loader._position()
        # The number of the last batch that the loop got, and that batch. One assignment, so that an interrupt loses none.
        self._at: tuple[int, Any] = (0, None)
        weakref.finalize(self, _Line.abandon, self._line)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """The next batch. Its copies may go on: work that is put into the current stream of the device waits for them."""
        item = self._line.head(self._at[0])
        if item.failure is not None:
            raise item.failure
        assert item.tensors is not None
        batch = item.batch
        staged = dict(zip(item.names, self._handover(by_name(batch), item.names, item.tensors)))
        out = with_tensors(batch, staged)
        at = (item.serial, batch)
        # No calls from here on.
        self._at = at
        return out

    def __len__(self) -> int:
        return len(self._loader)

    @property
    def waiting(self) -> int:
        """Batches whose copies were begun and that the loop did not get yet."""
        return self._line.waiting(self._at[0])

    @property
    def loader(self) -> Loader:
        """The loader, for its schema, plan and counters."""
        return self._loader

    @property
    def schema(self) -> Schema:
        return self._loader.schema

    @property
    def plan(self) -> Plan:
        return self._loader.plan

    def stats(self) -> Stats:
        return self._loader.stats()

    def state_dict(self) -> dict[str, Any]:
        """The state of the last batch that the loop got, not of those ahead; a state of the loader."""
        if self._at[1] is not None:
            return self._loader.state_dict(after=self._at[1])
        import json
        state: dict[str, Any] = json.loads(self._loader._run.state_at(self._begin))
        return state

    def load_state_dict(self, state: Mapping[str, Any], accept: Sequence[str] = ()) -> None:
        """Goes on from a state of the loader, as `Loader.load_state_dict`. Raises StateError, and changes nothing, when it does not
        fit."""
        self.state_dict()  # without one there is nothing to load, and the loader may wait for rows for ever
        self._line.rest()
        self._loader.load_state_dict(state, accept)
        self._line.clear()
        self._at = (0, None)
        self._begin = self._loader._position()

    get_state = state_dict
    set_state = load_state_dict

    def close(self) -> None:
        """Closes the loader, and ends the thread. Tensors stay valid. May be called any number of times, from any thread."""
        self._line.stop()
        self._loader.close()
        self._line.join()

    def __enter__(self) -> "Prefetch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Prefetch({self._line.device}, ahead={self._ahead}):\n{self._loader.plan}"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Prefetch cannot be pickled or copied: its thread is in this process; send its state_dict")


class _Line:
    """The batches that are ahead, and the thread that gets them from the loader. Without `ahead` there is no thread.

        thread    room? ─► next(loader) ─► staging.begin ─► items ─► the consumer
    """

    def __init__(self, loader: Loader, staging: _core.Staging, carriers: Carriers, ahead: int) -> None:
        self.device = staging.device
        self._loader = loader
        self._staging = staging
        self._carriers = carriers
        self._ahead = ahead
        self._changed = threading.Condition()
        self._items: deque[Staged] = deque()  # the first one may be the batch that the consumer got last
        self._made = 0  # by the thread
        # The batch of that number, which was taken from the loader and is not staged yet. An interrupt leaves it here.
        self._taken: tuple[int, list[Any]] = (0, [])
        self._resting = False
        self._closed = False
        self._thread: Optional[threading.Thread] = None

    def head(self, given: int) -> Staged:
        """The item after number `given`. Waits for it; an interrupt changes nothing."""
        with self._changed:
            if self._closed:
                raise Cancelled("the prefetch is closed", code="cancelled", detail="failed_precondition")
            while self._items and self._items[0].serial <= given:
                self._items.popleft()
            self._changed.notify_all()
            if self._items:
                return self._items[0]
        if self._ahead == 0:
            self._add(self._make(given + 1))
        else:
            self._work()
        with self._changed:
            while not self._items and not self._closed:
                self._changed.wait()
            if not self._items:
                raise Cancelled("the prefetch was closed", code="cancelled", detail="failed_precondition")
            return self._items[0]

    def waiting(self, given: int) -> int:
        with self._changed:
            return sum(item.serial > given and item.failure is None for item in self._items)

    def _work(self) -> None:
        """Starts the thread, unless it is at work."""
        with self._changed:
            self._resting = False
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="forebay prefetch", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        share_libraries()
        while True:
            with self._changed:
                while len(self._items) > self._ahead and not (self._resting or self._closed):
                    self._changed.wait()
                if self._resting or self._closed or self._over():
                    return
            try:
                item = self._make(self._made + 1)
            except BaseException as failure:
                item = Staged(self._made + 1, None, [], None, failure)
            self._made += 1
            self._add(item)

    def _over(self) -> bool:
        return bool(self._items) and self._items[-1].failure is not None

    def _make(self, serial: int) -> Staged:
        """Takes a batch from the loader, and begins its copies. May be interrupted and repeated."""
        if self._taken[0] != serial:
            self._taken = (serial, [])
        taken = self._taken[1]
        if not taken:
            # One call without bytecode inside: no interrupt comes between the loader and the list.
            taken.extend(islice(iter(self._loader.__next__, None), 1))
        if not taken:
            raise StopIteration
        arrays = self._carriers(by_name(taken[0]))
        return Staged(serial, taken[0], list(arrays), self._staging.begin(list(arrays.values())))

    def _add(self, item: Staged) -> None:
        with self._changed:
            self._items.append(item)
            self._changed.notify_all()

    def rest(self) -> None:
        """Ends the thread. Its items stay; the next `head` starts another one."""
        with self._changed:
            self._resting = True
            self._changed.notify_all()
        self.join()

    def clear(self) -> None:
        with self._changed:
            self._items.clear()
            self._made = 0
            self._taken = (0, [])

    def stop(self) -> None:
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()

    def abandon(self) -> None:
        """Called when the Prefetch is dropped."""
        self.stop()

    def join(self) -> None:
        thread = self._thread
        while thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(0.05)
