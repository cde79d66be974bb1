# SPDX-License-Identifier: Apache-2.0
"""The workers of a fleet as one trainer sees them."""
from __future__ import annotations

import concurrent.futures
import threading
import uuid
from typing import Any, Callable, Optional

from forebay._core import PinnedMemory, ReceivedMemory
from forebay._notices import inform
from forebay.errors import ConfigError, Error
from forebay.ray._api import exceptions, ray
from forebay.ray._dispatch import MAX_BLOCK_BYTES, Dispatcher, Hand, Lost
from forebay.ray._scaling import Report
from forebay.ray._worker import Job, Worker

#: Seconds between two requests for the members of the fleet.
LOOK = 1.0
#: The share of an object store that the windows of a machine may have.
SHARE = 0.5
#: Bytes of memory of blocks that a trainer has done with, and that the next ones are copied to.
KEPT_BYTES = 4 * MAX_BLOCK_BYTES
_GONE = (exceptions.RayActorError, exceptions.ObjectLostError, exceptions.WorkerCrashedError, exceptions.NodeDiedError)


class RayHand:
    """A worker in an actor."""

    def __init__(self, name: str, actor: Any) -> None:
        self.name = name
        self._actor = actor

    def make(self, shard: Any, first: int, count: int, done: "Callable[[Any], None]") -> None:
        self._call("make", done, shard, first, count)

    def hello(self, done: "Callable[[Any], None]") -> None:
        self._call("hello", done)

    def _call(self, method: str, done: "Callable[[Any], None]", *arguments: Any) -> None:
        try:
            future = getattr(self._actor, method).remote(*arguments).future()
        except Exception as failure:
            done(_found(failure))
            return
        future.add_done_callback(lambda ended: done(_answer(ended)))


class LocalHand:
    """A worker in a thread of this process."""

    name = "local"

    def __init__(self, job: Job, threads: int) -> None:
        self._worker = Worker(job, threads)
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "forebay local worker")

    def make(self, shard: Any, first: int, count: int, done: "Callable[[Any], None]") -> None:
        self._thread.submit(self._worker.make, shard, first, count).add_done_callback(lambda ended: done(_answer(ended)))

    def hello(self, done: "Callable[[Any], None]") -> None:
        done(None)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._worker.close()


class Crew:
    """Who makes the blocks of one trainer: the fleet's workers, who come and go, and one in this process."""

    def __init__(self, name: str, fleet: Any, job: Job, local_threads: int, window: int, pinned: "Optional[PinnedMemory]") -> None:
        self._name = name
        self._fleet = fleet
        self._window = window
        self._memory = ReceivedMemory(KEPT_BYTES, pinned)
        self._trainer = uuid.uuid4().hex
        self._node: str = ray.get_runtime_context().get_node_id()
        self._local = LocalHand(job, local_threads) if local_threads else None
        self._hands: "dict[str, RayHand]" = {}
        self._dispatcher: Optional[Dispatcher] = None
        self._told: "set[str]" = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="forebay fleet members", daemon=True)
        self._thread.start()

    def check_window(self) -> None:
        """Raises ConfigError when the windows of all trainers of this machine would fill more than their share of its object store, which
        would then write to disk."""
        store = next((node["Resources"].get("object_store_memory", 0.0) for node in ray.nodes() if node["Alive"] and node["NodeID"] == self._node), 0.0)
        others: int = ray.get(self._fleet.windows.remote(self._node, self._trainer))
        room = int(SHARE * store) - others
        if self._window > room:
            beside = f", of which other trainers of this machine have {others}" if others else ""
            raise ConfigError(f"window: {self._window} bytes are more than half of the object store of this machine, which has {int(store)} bytes"
                              f"{beside}; pass window={max(room, 0)} at most, divided by the trainers of the machine, or start Ray with a larger "
                              "object_store_memory", code="config", detail="invalid_argument")

    def _members(self) -> Any:
        dispatcher = self._dispatcher
        figures = None if dispatcher is None else dispatcher.figures()
        report = None if figures is None else Report(figures.stalled, figures.full)
        return self._fleet.members.remote(self._trainer, self._node, self._window, report)

    def begin(self, shard: Any, first: int) -> Dispatcher:
        self._dispatcher = Dispatcher(shard, first, self._window, self._memory, self._tell, self._lost)
        self._dispatcher.staff(self._all())
        return self._dispatcher

    @property
    def pinned(self) -> int:
        """Bytes that are page-locked."""
        return self._memory.pinned

    def end(self, dispatcher: Dispatcher) -> None:
        if self._dispatcher is dispatcher:
            self._dispatcher = None
        dispatcher.close()

    def close(self) -> None:
        self._ended.set()
        if self._local is not None:
            self._local.close()

    def _all(self) -> "list[Hand]":
        return [*self._hands.values(), *([self._local] if self._local is not None else [])]

    def _look(self) -> None:
        """Follows the members of the fleet. While its actor is away, everybody stays."""
        while True:
            try:
                members = ray.get(self._members(), timeout=30.0)
            except Exception:
                members = None
            if members is not None and set(members) != set(self._hands):
                self._hands = {name: self._hands.get(name) or RayHand(name, actor) for name, actor in members.items()}
                dispatcher = self._dispatcher
                if dispatcher is not None:
                    dispatcher.staff(self._all())
            if self._ended.wait(LOOK):
                break
        try:
            self._fleet.leave.options(max_task_retries=0).remote(self._trainer)
        except Exception:
            pass   # it forgets a trainer that it does not hear of

    def _lost(self, name: str) -> None:
        """A worker is gone for ever: the fleet replaces it."""
        try:
            self._fleet.lost.remote(name)
        except Exception:
            pass   # the fleet's actor finds out by itself when it is back

    def _tell(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            inform(f"fleet {self._name}: {line}")


def _answer(ended: "concurrent.futures.Future[Any]") -> Any:
    try:
        return ended.result()
    except concurrent.futures.CancelledError:
        return Lost("the loader was closed", for_ever=True)
    except Exception as failure:
        return _found(failure)


def _found(failure: Exception) -> BaseException:
    """What a call to a worker raised, without Ray's wrapping."""
    if isinstance(failure, _GONE):
        return Lost(" ".join(str(failure).split())[:300], for_ever=isinstance(failure, exceptions.ActorDiedError))
    cause = getattr(failure, "cause", None)
    return cause if isinstance(cause, Error) else failure
