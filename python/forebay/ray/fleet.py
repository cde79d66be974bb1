# SPDX-License-Identifier: Apache-2.0
"""`Fleet`: the workers of a job, which an actor of its own keeps alive."""
from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Optional, Tuple, Union

from forebay._arguments import integer_of, memory_of
from forebay._paths import Cache
from forebay.builder import Pipeline
from forebay.errors import ConfigError
from forebay.loader import Document
from forebay.ray._api import exceptions, ray
from forebay.ray._indexes import make_indexes
from forebay.ray._keeper import NAMESPACE, Keeper, actor_name
from forebay.ray._security import check_cluster
from forebay.ray._worker import job_of

__all__ = ["Fleet"]

#: Seconds in which the first workers must have planned.
START = 300.0


class Fleet:
    """Workers on a Ray cluster that make the batches of one job, by number, for `forebay.ray.load`.

        ray.init()
        with fr.Fleet("train.json", name="train", workers=(2, 8)) as fleet:
            …

    doc           a Pipeline, a document, or the path of one. Files are found by the same paths on every machine
    name          by which trainers find it, in any process of the cluster
    workers       (fewest, most), or a number. Between them there are a quarter more when a trainer waits for more than 2 % of its time through
                  30 s, and a quarter fewer when the windows of all are full through 60 s
    threads       of one worker; None: the CPUs that Ray gives it (`worker={"num_cpus": 8}`), else every CPU of its machine
    memory        budget of one worker, "8GiB"; None: a quarter of its machine's
    index_dir     as in forebay.load
    cache         as in forebay.load: a folder on each machine, which its workers share
    worker        Ray's options of a worker's actor: num_cpus, memory, resources, label_selector, runtime_env, …
    insecure      allows a cluster that other machines may send code to without a token

    First, tasks on all machines make the indexes that the orders of the job need and that are missing: beside the files, or below `index_dir`,
    which is then a folder that all machines see. Then this process plans, once; a worker whose plan, files or version differ is refused, and the
    message names the difference. The fleet lives until `close`, the end of its `with` block, or the end of the cluster, also when this process
    ends: trainers do not need it. Workers that die are started again. Raises ConfigError for a job whose batches cannot be made by number, whose
    functions cannot be pickled, or for a name that is taken.
    """

    def __init__(self, doc: "Union[Document, Pipeline]", name: str, workers: "Union[int, Tuple[int, int]]" = 1, *, threads: Optional[int] = None,
                 memory: "Union[int, str, None]" = None, index_dir: "Union[str, os.PathLike[str], None]" = None,
                 cache: "Optional[Cache]" = None,
                 worker: Optional[Mapping[str, Any]] = None, insecure: bool = False) -> None:
        least, most = _range_of(workers)
        if not ray.is_initialized():
            raise ConfigError("there is no Ray cluster: call ray.init() first, or ray.init(address=\"auto\") in a cluster", code="config",
                              detail="failed_precondition")
        check_cluster(insecure)
        options = dict(worker or {})
        threads = threads or (int(options["num_cpus"]) or None if "num_cpus" in options else None)
        self._name = name
        job = job_of(doc, threads, None if memory is None else memory_of(memory), index_dir, cache)
        try:
            ray.cloudpickle.dumps(job.document)
        except Exception as problem:
            raise ConfigError(f"the pipeline cannot be sent to workers: {problem}", code="config", detail="invalid_argument") from problem
        make_indexes(job)
        self._job = job.planned()
        try:
            self._actor = ray.remote(Keeper).options(name=actor_name(name), namespace=NAMESPACE, lifetime="detached", max_restarts=-1,
                                                 max_task_retries=-1, num_cpus=0).remote(name, self._job, least, most, options)
        except ValueError as problem:
            raise ConfigError(f"name: a fleet {name!r} runs already ({problem}); close it, or take another name", code="config",
                              detail="already_exists") from None
        try:
            self._await_workers()
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        return self._name

    def scale(self, workers: int) -> None:
        """Has so many workers from now on, between fewest and most. Blocks that one makes while it is taken away are made by others."""
        ray.get(self._actor.scale.remote(integer_of("workers", workers)))

    def drain(self, address: str) -> int:
        """Takes the workers away from the machine with this address, or node id, and starts as many elsewhere. Returns how many."""
        moved: int = ray.get(self._actor.drain.remote(address))
        return moved

    def stats(self) -> "Dict[str, Any]":
        """By worker: its host, node of Ray and process, and whether it was started again; nothing for one that does not answer now."""
        found: "Dict[str, Any]" = ray.get(self._actor.stats.remote())
        return found

    def close(self) -> None:
        """Ends the workers. Loaders of this fleet wait from then on, or raise when there is no worker in their own process."""
        try:
            ray.get(self._actor.end.remote(), timeout=30.0)
        except (exceptions.RayError, exceptions.GetTimeoutError):
            pass
        ray.kill(self._actor)

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Fleet({self._name!r})"

    def _await_workers(self) -> None:
        members: "Dict[str, Any]" = ray.get(self._actor.members.remote())
        hellos = {actor.hello.remote(): name for name, actor in members.items()}
        ready, _ = ray.wait(list(hellos), num_returns=1, timeout=START)
        if not ready:
            raise ConfigError(f"no worker has started within {START:.0f} s; the cluster has {ray.available_resources()}, and a worker asks for "
                              f"{ray.get(self._actor.asked.remote())}", code="config", detail="resource_exhausted")
        for hello in ready:
            try:
                ray.get(hello)
            except exceptions.RayTaskError as problem:
                raise problem.cause if isinstance(problem.cause, Exception) else problem


def _range_of(workers: "Union[int, Tuple[int, int]]") -> "tuple[int, int]":
    least, most = workers if isinstance(workers, (tuple, list)) and len(workers) == 2 else (workers, workers)
    least, most = integer_of("workers", least), integer_of("workers", most)
    if not 1 <= least <= most:
        raise ConfigError(f"workers: ({least}, {most}) must be (fewest, most), with at least 1", code="config", detail="invalid_argument")
    return least, most
