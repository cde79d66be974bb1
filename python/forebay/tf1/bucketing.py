# SPDX-License-Identifier: Apache-2.0
"""`bucket` and `bucket_by_sequence_length`: batches of elements that belong together."""
from __future__ import annotations

from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from forebay.coordinator import QueueRunner
from forebay.queue import Queue
from forebay.tf1.batching import KeepInput, at_least, check_keep, enqueuer
from forebay.tf1.elements import Elements
from forebay.tf1.stream import LateQueues, Stream, refused, source_of

__all__ = ["bucket", "bucket_by_sequence_length"]

_Number = Union[Callable[[Any], Any], str, int]


def bucket(tensors: Any, which_bucket: _Number, batch_size: "Union[int, Sequence[int]]", num_buckets: int, num_threads: int = 1,
           capacity: int = 32, bucket_capacities: Optional[Sequence[int]] = None, shapes: Optional[Sequence[Any]] = None,
           dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, keep_input: KeepInput = True,
           shared_name: Optional[str] = None, name: Optional[str] = None) -> Stream:
    """Batches whose elements are of one bucket: (number of the bucket, batch).

    which_bucket        a function of the element, or the name of a component: 0 … num_buckets - 1
    batch_size          elements of a batch, or a number for each bucket
    capacity            batches that wait, and elements of each bucket
    bucket_capacities   elements of each bucket, one number for each
    """
    return _buckets(tensors, lambda element: _number(element, which_bucket), None, batch_size, num_buckets, num_threads, capacity,
                    bucket_capacities, Elements(shapes=shapes, dynamic_pad=dynamic_pad), dynamic_pad,
                    allow_smaller_final_batch, keep_input, name or "bucket")


def bucket_by_sequence_length(input_length: _Number, tensors: Any, batch_size: "Union[int, Sequence[int]]",
                              bucket_boundaries: Sequence[int], num_threads: int = 1, capacity: int = 32,
                              bucket_capacities: Optional[Sequence[int]] = None, shapes: Optional[Sequence[Any]] = None,
                              dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, keep_input: KeepInput = True,
                              shared_name: Optional[str] = None, name: Optional[str] = None) -> Stream:
    """Batches of elements of similar length: (lengths, batch). Padding is within a batch only.

    input_length        a function of the element, or the name of a component
    bucket_boundaries   b0 < b1 < …: the buckets are below b0, b0 … b1 - 1, …, and from the last one on
    """
    limits = [at_least("bucket_boundaries", limit, -2**63) for limit in bucket_boundaries]
    if not limits:
        raise refused("bucket_boundaries: the list is empty; allowed is 1 boundary or more")
    if any(b <= a for a, b in zip(limits, limits[1:])):
        raise refused(f"bucket_boundaries: must increase, found {limits}")
    length = lambda element: _number(element, input_length)  # noqa: E731
    which = lambda element: int(np.searchsorted(limits, length(element), side="right"))  # noqa: E731
    return _buckets(tensors, which, length, batch_size, len(limits) + 1, num_threads, capacity, bucket_capacities,
                    Elements(shapes=shapes, dynamic_pad=dynamic_pad), dynamic_pad, allow_smaller_final_batch, keep_input,
                    name or "bucket_by_sequence_length")


def _number(element: Any, how: _Number) -> int:
    value = np.asarray(how(element) if callable(how) else element[how])
    if value.ndim != 0 or value.dtype.kind not in "iu":
        raise refused(f"the bucket or the length of an element must be an integer, found {value.dtype} of shape {list(value.shape)}")
    return int(value)


def _for_each(name: str, values: "Union[int, Sequence[int]]", count: int, least: int) -> "list[int]":
    if isinstance(values, (list, tuple, np.ndarray)):
        if len(values) != count:
            raise refused(f"{name}: found {len(values)} numbers, allowed is one for each of the {count} buckets")
        return [at_least(name, value, least) for value in values]
    return [at_least(name, values, least)] * count


def _buckets(tensors: Any, which: "Callable[[Any], int]", length: "Optional[Callable[[Any], int]]",
             batch_size: "Union[int, Sequence[int]]", num_buckets: int, threads: int, capacity: int,
             bucket_capacities: Optional[Sequence[int]], elements: Elements, dynamic_pad: bool, smaller: bool, keep: KeepInput,
             name: str) -> Stream:
    count = at_least("num_buckets", num_buckets, 1)
    sizes = _for_each("batch_size", batch_size, count, 1)
    room = at_least("capacity", capacity, 1)
    rooms = _for_each("bucket_capacities", room if bucket_capacities is None else bucket_capacities, count, 1)
    check_keep(keep, False)
    own = [] if length is None else [{"kind": "fixed_len", "dtype": "int32", "shape": []}]

    def make(values: "list[Any]") -> "list[Queue]":
        components = [*own, *elements.components(values[len(own):])]
        kind = "padding_fifo" if dynamic_pad else "fifo"
        return [Queue(components, rooms[i], kind=kind, name=f"{name}-{i}") for i in range(count)]

    def choose(element: Any) -> int:
        number = which(element)
        if not 0 <= number < count:
            raise refused(f"which_bucket: {number}, allowed is 0 … {count - 1}")
        return number

    buckets = LateQueues(name, make)
    top = LateQueues(f"{name}-batches", lambda values: [Queue(
        ["int64", *(spec[1] for spec in buckets.wait()[0].components)], room, name=f"{name}-batches")])

    def mover(number: int) -> "Callable[[], None]":
        def move() -> None:
            queue = buckets.wait()[number]
            found = queue.dequeue_up_to(sizes[number]) if smaller else queue.dequeue_many(sizes[number])
            top.of([])[0].enqueue([np.int64(number), *found])
        return move

    source, streams = source_of(tensors)
    lengths = (lambda element: []) if length is None else (lambda element: [np.int32(length(element))])
    fill = [enqueuer(source, keep, elements, buckets, choose, lengths)] * at_least("num_threads", threads, 1)
    runners = [QueueRunner([buckets], fill, name=name),
               QueueRunner([top, buckets], [mover(number) for number in range(count)], name=f"{name}-batches")]

    def take(queue: Queue, timeout: Optional[float]) -> Any:
        number, *found = queue.dequeue(timeout=timeout)
        batch = elements.put_together(found[len(own):])
        return (found[0], batch) if own else (int(number), batch)

    return Stream(name, top, runners, streams, take)
