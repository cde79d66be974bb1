# SPDX-License-Identifier: Apache-2.0
"""The steps of a plan that do what `batch` and `shuffle_batch` do."""
from __future__ import annotations

from typing import Any, Optional

from forebay.tf1.batching import at_least
from forebay.tf1.stream import refused

__all__ = ["batch_steps", "shuffle_batch_steps"]


def batch_steps(batch_size: int, *, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
                keep_input: Optional[str] = None) -> "list[dict[str, Any]]":
    """The steps of a document for `batch`. keep_input: an expression (docs/expressions.md) that keeps a record where it is true."""
    options: "dict[str, Any]" = {"size": at_least("batch_size", batch_size, 1),
                                 "remainder": "keep" if allow_smaller_final_batch else "drop"}
    if dynamic_pad:
        options["pad"] = True
    kept = [] if keep_input is None else [{"filter": {"where": keep_input}}]
    return [*kept, {"batch": options}]


def shuffle_batch_steps(batch_size: int, capacity: int, min_after_dequeue: int, *, allow_smaller_final_batch: bool = False,
                        keep_input: Optional[str] = None) -> "list[dict[str, Any]]":
    """The steps of a document for `shuffle_batch`: a shuffle with a buffer of `capacity`, which is as good as the queue is when it is
    full. `min_after_dequeue` is checked, and needs no setting: the buffer is always full until the data ends. The seed is
    that of the document."""
    room, floor = at_least("capacity", capacity, 1), at_least("min_after_dequeue", min_after_dequeue, 0)
    if room <= floor:
        raise refused(f"capacity {room} must be bigger than min_after_dequeue {floor}")
    *kept, batch = batch_steps(batch_size, allow_smaller_final_batch=allow_smaller_final_batch, keep_input=keep_input)
    return [*kept, {"shuffle": {"buffer": room}}, batch]
