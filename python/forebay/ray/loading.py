# SPDX-License-Identifier: Apache-2.0
"""`load`: the batches of a fleet, as a Loader."""
from __future__ import annotations

from typing import Any, Optional, Union

from forebay._arguments import flag_of, integer_of
from forebay._core import bytes_of, cuda_pinned_memory
from forebay.loader import Loader, Shard
from forebay.ray._crew import Crew
from forebay.ray._keeper import find, shard_of_trainer
from forebay.ray._source import FleetLoader, FleetSource

__all__ = ["load"]

#: Shards that an index and a count say all of.
_KINDS = ("row", "file", "element", "batch")


def load(name: str, shard: Optional[Shard] = "auto", window: Union[int, str] = "2GiB", local_threads: int = 4,
         pin_memory: bool = False) -> Loader:
    """The batches of fleet `name`, which its workers make: a Loader like that of forebay.load, with the same batches.

    shard           as in forebay.load; "auto" inside a train_loop of Ray Train: the rank and world size of its context
    window          bytes of batches that are made ahead, at most; "2GiB" or a number
    local_threads   threads of this process that make batches, too, as one more worker; 0: none
    pin_memory      copies blocks into page-locked memory, as in forebay.load

    State and position are those of a loader without a fleet: `state_dict` of the one loads into the other, with any number of workers and
    trainers. `next` waits while no worker is there, and says so after 30 s. A batch is a copy of its own, with values, lengths, numbers, mask
    and position; origins and record keys stay with the worker.

    Raises ConfigError when there is no fleet of that name, when this machine has not the fleet's files (StateError), when the window is more than
    half of what the object store of this machine has, when `pin_memory` finds no GPU, and where batches cannot be made by number: rows of an iterable,
    `deterministic: false`, states saved by the program.
    """
    limit = bytes_of(window)
    threads = integer_of("local_threads", local_threads)
    pinned = cuda_pinned_memory(-1, "") if flag_of("pin_memory", pin_memory) else None
    fleet, job = find(name)
    shard = shard_of_trainer() if shard == "auto" else shard
    local = job.load(shard)
    crew = Crew(name, fleet, job, threads, limit, pinned)
    try:
        crew.check_window()
        return FleetLoader(local, FleetSource(local, crew, _shard_for_workers(shard, local)), crew)
    except BaseException:
        crew.close()
        local.close()
        raise


def _shard_for_workers(shard: Any, local: Loader) -> Any:
    """The shard of this process as other processes understand it, whose launcher says something else."""
    index, count, by = local._run.shard
    if count == 1:
        return None
    return {"index": index, "count": count, "by": by} if by in _KINDS else shard
