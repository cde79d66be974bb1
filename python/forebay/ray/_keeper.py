# SPDX-License-Identifier: Apache-2.0
"""The actor that keeps the workers of a fleet, and how other processes find it."""
from __future__ import annotations

import os
import socket
import time
from typing import Any, Dict, Optional, Tuple

from forebay.errors import ConfigError
from forebay.ray._api import exceptions, ray
from forebay.ray._scaling import Report, Scaling
from forebay.ray._worker import Job, Worker

NAMESPACE = "forebay"


#: Seconds after which a trainer that nobody hears of is gone.
FORGET = 15.0
#: Seconds that a worker has to say where it is.
ANSWER = 1.0


class ActorWorker(Worker):
    """A worker in an actor, which says where it is while it makes a block."""

    @ray.method(concurrency_group="control")   # type: ignore[untyped-decorator]
    def where(self) -> "Dict[str, Any]":
        context = ray.get_runtime_context()
        return {"host": socket.gethostname(), "node": context.get_node_id(), "pid": os.getpid(),
                "restarted": bool(context.was_current_actor_reconstructed)}


class Keeper:
    """Keeps the workers. After it died and was started again it finds those that are there by their names."""

    def __init__(self, name: str, job: Job, least: int, most: int, options: "Dict[str, Any]") -> None:
        self._name, self._job, self._least, self._most, self._options = name, job, least, most, options
        self._scaling = Scaling(least, most)
        self._next = 0
        self._workers: "Dict[str, Any]" = {}
        self._windows: "Dict[str, Tuple[str, int, float]]" = {}   # by trainer: its node, and when it was heard of last
        there = [actor["name"] for actor in ray.util.list_named_actors(all_namespaces=True)
                 if actor["namespace"] == NAMESPACE and actor["name"].startswith(f"{actor_name(name)}:")]
        for each in there:
            self._next = max(self._next, int(each.rpartition(":")[2]) + 1)
            self._workers[each] = ray.get_actor(each, namespace=NAMESPACE)
        self._fill(least)

    def job(self) -> Job:
        return self._job

    def members(self, trainer: str = "", node: str = "", window: int = 0, report: Optional[Report] = None) -> "Dict[str, Any]":
        """The workers. A trainer asks once a second, and says what its window is, of which there is a count for each machine, and how it fares."""
        now = time.monotonic()
        if trainer:
            self._windows[trainer] = (node, window, now)
        if report is not None:
            self._scaling.heard(trainer, report, now)
            self._set(self._scaling.wanted(len(self._workers), now))
        return self._workers

    def windows(self, node: str, but: str) -> int:
        """Bytes of the windows of the trainers on a machine, but for one."""
        recent = time.monotonic() - FORGET
        self._windows = {trainer: known for trainer, known in self._windows.items() if known[2] >= recent}
        return sum(window for trainer, (where, window, _) in self._windows.items() if where == node and trainer != but)

    def leave(self, trainer: str) -> None:
        self._windows.pop(trainer, None)

    def asked(self) -> "Dict[str, Any]":
        return self._options

    def lost(self, name: str) -> None:
        """A trainer could not reach this worker, which nobody starts again."""
        if self._workers.pop(name, None) is not None:
            self._fill(max(self._least, len(self._workers) + 1))

    def scale(self, workers: int) -> None:
        if not self._least <= workers <= self._most:
            raise ConfigError(f"workers: {workers} is not within {self._least} to {self._most}, which the fleet was started with", code="config",
                              detail="invalid_argument")
        self._set(workers)

    def drain(self, address: str) -> int:
        nodes = {node["NodeID"] for node in ray.nodes() if address in (node["NodeID"], node["NodeManagerAddress"], node["NodeManagerHostname"])}
        if not nodes:
            raise ConfigError(f"drain: no machine of the cluster is {address!r}; there are "
                              f"{', '.join(sorted(node['NodeManagerAddress'] for node in ray.nodes()))}", code="config", detail="not_found")
        gone = [name for name, worker in self.stats().items() if worker.get("node") in nodes]
        wanted = len(self._workers)
        for name in gone:
            ray.kill(self._workers.pop(name))
        self._fill(wanted)
        return len(gone)

    def stats(self) -> "Dict[str, Any]":
        asked = {actor.where.remote(): name for name, actor in self._workers.items()}
        ray.wait(list(asked), num_returns=len(asked), timeout=ANSWER)
        found: "Dict[str, Any]" = {}
        for answer, name in asked.items():
            try:
                found[name] = ray.get(answer, timeout=0)
            except (exceptions.RayError, exceptions.GetTimeoutError):
                found[name] = {}
        return found

    def end(self) -> None:
        while self._workers:
            ray.kill(self._workers.popitem()[1])

    def _set(self, workers: int) -> None:
        self._fill(workers)
        for name in list(self._workers)[workers:]:
            ray.kill(self._workers.pop(name))

    def _fill(self, wanted: int) -> None:
        while len(self._workers) < min(wanted, self._most):
            name = f"{actor_name(self._name)}:{self._next}"
            self._next += 1
            self._workers[name] = _worker_class().options(**{"num_cpus": 1, **self._options}, name=name, namespace=NAMESPACE, lifetime="detached",
                                                             get_if_exists=True, max_restarts=-1,
                                                             max_task_retries=0).remote(self._job, None, True)


def _worker_class() -> Any:
    return ray.remote(concurrency_groups={"control": 1})(ActorWorker)


def find(name: str) -> "tuple[Any, Job]":
    """The actor of a fleet, and its job."""
    if not ray.is_initialized():
        raise ConfigError("there is no Ray cluster: call ray.init(address=\"auto\") first, or start the trainer as a Ray task", code="config",
                          detail="failed_precondition")
    try:
        actor = ray.get_actor(actor_name(name), namespace=NAMESPACE)
    except ValueError:
        prefix = actor_name("")
        there = sorted({each["name"][len(prefix):].partition(":")[0] for each in ray.util.list_named_actors(all_namespaces=True)
                        if each["namespace"] == NAMESPACE and each["name"].startswith(prefix)})
        raise ConfigError(f"there is no fleet {name!r}; there {'are ' + ', '.join(there) if there else 'is none'}: start one with "
                          f"forebay.ray.Fleet(document, name={name!r})", code="config", detail="not_found") from None
    return actor, ray.get(actor.job.remote())


def shard_of_trainer() -> Any:
    """The part of this process: by the context of Ray Train where it runs in one, else what the launcher says."""
    try:
        from ray.train import get_context
        context = get_context()
        if context is not None and context.get_world_size() is not None:
            return (context.get_world_rank(), context.get_world_size())
    except Exception:   # no Ray Train here
        pass
    return "auto"


def actor_name(name: str) -> str:
    return f"forebay-fleet:{name}"
