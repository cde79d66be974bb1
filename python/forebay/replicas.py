# SPDX-License-Identifier: Apache-2.0
"""Checks that the processes of a job share one stream. A wrong shard raises no error, but the training gets worse."""
from __future__ import annotations

import warnings
from typing import Any, Callable, Optional

import numpy as np

from forebay.errors import StateError
from forebay.loader import Loader
from forebay.values import Ragged

__all__ = ["verify_replicas"]


def verify_replicas(loader: Loader, allgather: Callable[[Any], list[Any]], batches: int = 2,
                    replicas: Optional[int] = None) -> None:
    """Compares the next batches of all processes of a job, and leaves the loader where it is.

    Every process calls it at the same place. `allgather` takes a small dict and returns those of all processes, as
    `torch.distributed.all_gather_object` does (fb.torch.verify_replicas brings it). StateError is raised everywhere
    when plans differ, a shard is missing, shards are read by unequally many processes (or not by `replicas` of them),
    processes of one shard have different batches, two shards the same records, or one process could not read. A warning
    says when several processes read the same shard and `replicas` does not say that this is meant.
    """
    every = allgather(_look_ahead(loader, batches))
    found = _disagreement(every, replicas)
    if found:
        raise StateError(f"the processes do not share the stream: {found}", code="state", detail="failed_precondition")
    number = len(every) // every[0]["shard"][1]
    if number > 1 and replicas is None:
        warnings.warn(f"each of the {every[0]['shard'][1]} shards is read by {number} processes, which get the same batches; "
                      f"say replicas={number} if this is meant", stacklevel=2)


def _look_ahead(loader: Loader, batches: int) -> dict[str, Any]:
    run = loader._run
    report: dict[str, Any] = {"shard": run.shard, "plan": {}, "batches": [], "keys": [], "error": None}
    try:
        state = loader.state_dict()
        report["plan"] = loader.identity()
        try:
            for _ in range(batches):
                batch = run.next()
                report["batches"].append(_digest(batch))
                report["keys"] += list(batch.record_keys)
        except StopIteration:
            pass
        finally:
            loader.load_state_dict(state)
    except Exception as problem:  # the others wait in allgather: they have to be told
        report["error"] = f"{type(problem).__name__}: {problem}"
    return report


def _disagreement(every: list[dict[str, Any]], replicas: Optional[int]) -> str:
    for rank, each in enumerate(every):
        if each["error"]:
            return f"rank {rank} cannot read: {each['error']}"
        if every[0]["shard"][1:] != each["shard"][1:]:
            return f"rank 0 has a shard of {_text(every[0])}, rank {rank} one of {_text(each)}"
        ours, theirs = every[0]["plan"], each["plan"]
        differing = sorted(part for part in ours.keys() | theirs.keys() if ours.get(part) != theirs.get(part))
        if differing:
            named = [part for part in differing if part != "stream"] or ["weights of a mixture"]
            return f"ranks 0 and {rank} have other plans or files; what differs: {', '.join(named)}"
    count = every[0]["shard"][1]
    ranks = [[rank for rank, each in enumerate(every) if each["shard"][0] == index] for index in range(count)]
    for index, readers in enumerate(ranks):
        wanted = len(every) / count if replicas is None else replicas
        if len(readers) != wanted:
            return f"shard {index} of {count} is read by {len(readers)} processes{_list(readers)}, not by {wanted:g}"
        for rank in readers[1:]:
            if every[rank]["batches"] != every[readers[0]]["batches"]:
                return f"ranks {readers[0]} and {rank} read shard {index}, and have different batches"
    owner: dict[Any, int] = {}
    for index, readers in enumerate(ranks):
        for key in every[readers[0]]["keys"]:
            if owner.setdefault(key, index) != index and every[0]["shard"][2] == "file":
                return f"shards {owner[key]} and {index} both have record {key}"
    return ""


def _text(report: dict[str, Any]) -> str:
    return f"{report['shard'][1]} by {report['shard'][2]}"


def _list(ranks: list[int]) -> str:
    return f" (ranks {', '.join(map(str, ranks))})" if ranks else ""


def _digest(batch: Any) -> str:
    """A digest of every byte of every tensor, and of the place of every row."""
    import hashlib  # takes 3 ms, which `import forebay` has no need of
    sums = hashlib.blake2b(repr((batch.number, batch.epoch, batch.rows, list(batch.record_keys))).encode(), digest_size=16)
    for name, value in batch.items():
        if isinstance(value, Ragged):
            arrays = [value.values, *value.nested_row_splits]
        elif isinstance(value, np.ndarray):
            arrays = [np.array(value.shape), *batch.raw(name)] if value.dtype == object else [value]
        else:
            arrays = [value.values, value.indices]
        for array in arrays:
            sums.update(f"{name} {array.dtype} {array.shape}".encode())
            sums.update(np.ascontiguousarray(array).tobytes() if array.dtype != object else repr(array.tolist()).encode())
    return sums.hexdigest()
