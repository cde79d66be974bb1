# SPDX-License-Identifier: Apache-2.0
"""`batch`, `shuffle_batch`, their joins, and the four that leave rows out."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional, Sequence, Union

import numpy as np

from forebay._arguments import integer_of, wrong_type
from forebay.coordinator import QueueRunner
from forebay.queue import Queue
from forebay.tf1.alike import check_alike
from forebay.tf1.elements import Elements
from forebay.tf1.stream import LateQueues, Source, Stream, refused, source_of

__all__ = ["batch", "batch_join", "maybe_batch", "maybe_batch_join", "maybe_shuffle_batch", "maybe_shuffle_batch_join",
           "shuffle_batch", "shuffle_batch_join"]

#: A bool (with enqueue_many also one for each row), a function of the element that returns it, or the name of the component
#: that is it, which the batches leave out.
KeepInput = Union[bool, str, int, Callable[[Any], Any], Any]


class Shuffle(NamedTuple):
    """How a queue shuffles."""
    min_after_dequeue: int
    seed: Optional[int]


def batch(tensors: Any, batch_size: int, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False,
          shapes: Optional[Sequence[Any]] = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
          shared_name: Optional[str] = None, name: Optional[str] = None) -> Stream:
    """Batches of the elements of a source.

    tensors                     a function without arguments that returns an element (a dict, list or tuple of tensors), an
                                iterable of elements, a stream, or a dict or list of these. Batches have the structure of the
                                elements; a list of one tensor gives the tensor alone. Sparse tensors get a batch axis first
    num_threads                 threads that call the source; with several, the order is free. A function must allow it
    capacity                    elements that the queue holds
    enqueue_many                the first axis of the tensors counts elements, from 0 on
    shapes                      of an element, by component in the order of the names; None: those of the first element
    dynamic_pad                 sizes may differ: batches are padded with 0, False or b"" at the high side
    allow_smaller_final_batch   the last batch may have fewer elements; else they are left out

    The end of the source ends the batches. An exception of it comes out of `get`, after the batches before it.
    """
    return maybe_batch(tensors, True, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
                       allow_smaller_final_batch, shared_name, name)


def maybe_batch(tensors: Any, keep_input: KeepInput, batch_size: int, num_threads: int = 1, capacity: int = 32,
                enqueue_many: bool = False, shapes: Optional[Sequence[Any]] = None, dynamic_pad: bool = False,
                allow_smaller_final_batch: bool = False, shared_name: Optional[str] = None, name: Optional[str] = None) -> Stream:
    """`batch` of the elements, or with enqueue_many the rows, where `keep_input` is true: a bool, a function of the element, or
    the name of a component, which is left out of the batches."""
    return _batches([tensors], integer_of("num_threads", num_threads, "an integer"), batch_size, capacity, None,
                    Elements(many=enqueue_many, shapes=shapes, dynamic_pad=dynamic_pad), dynamic_pad, allow_smaller_final_batch,
                    keep_input, name or "batch")


def batch_join(tensors_list: Sequence[Any], batch_size: int, capacity: int = 32, enqueue_many: bool = False,
               shapes: Optional[Sequence[Any]] = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
               shared_name: Optional[str] = None, name: Optional[str] = None) -> Stream:
    """`batch` over several sources, with a thread for each. Sources that tell what they give before they give it (dicts and lists
    of sources, producers, queues, lists of elements) must tell the same; else ConfigError names two of them."""
    return maybe_batch_join(tensors_list, True, batch_size, capacity, enqueue_many, shapes, dynamic_pad,
                            allow_smaller_final_batch, shared_name, name)


def maybe_batch_join(tensors_list: Sequence[Any], keep_input: KeepInput, batch_size: int, capacity: int = 32,
                     enqueue_many: bool = False, shapes: Optional[Sequence[Any]] = None, dynamic_pad: bool = False,
                     allow_smaller_final_batch: bool = False, shared_name: Optional[str] = None,
                     name: Optional[str] = None) -> Stream:
    """`batch_join` of what `keep_input` keeps."""
    return _batches(_several(tensors_list, enqueue_many, dynamic_pad or shapes is not None), 1, batch_size, capacity, None,
                    Elements(many=enqueue_many, shapes=shapes, dynamic_pad=dynamic_pad), dynamic_pad, allow_smaller_final_batch,
                    keep_input, name or "batch_join")


def shuffle_batch(tensors: Any, batch_size: int, capacity: int, min_after_dequeue: int, num_threads: int = 1,
                  seed: Optional[int] = None, enqueue_many: bool = False, shapes: Optional[Sequence[Any]] = None,
                  allow_smaller_final_batch: bool = False, shared_name: Optional[str] = None, name: Optional[str] = None) -> Stream:
    """`batch` in random order: of the elements in the queue any may be next. While the source goes on, `min_after_dequeue` of them
    stay in the queue. A good capacity is min_after_dequeue + (num_threads + a few) * batch_size."""
    return maybe_shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, True, num_threads, seed, enqueue_many, shapes,
                               allow_smaller_final_batch, shared_name, name)


def maybe_shuffle_batch(tensors: Any, batch_size: int, capacity: int, min_after_dequeue: int, keep_input: KeepInput,
                        num_threads: int = 1, seed: Optional[int] = None, enqueue_many: bool = False,
                        shapes: Optional[Sequence[Any]] = None, allow_smaller_final_batch: bool = False,
                        shared_name: Optional[str] = None, name: Optional[str] = None) -> Stream:
    """`shuffle_batch` of what `keep_input` keeps."""
    return _batches([tensors], integer_of("num_threads", num_threads, "an integer"), batch_size, capacity,
                    Shuffle(min_after_dequeue, seed), Elements(many=enqueue_many, shapes=shapes), False,
                    allow_smaller_final_batch, keep_input, name or "shuffle_batch")


def shuffle_batch_join(tensors_list: Sequence[Any], batch_size: int, capacity: int, min_after_dequeue: int,
                       seed: Optional[int] = None, enqueue_many: bool = False, shapes: Optional[Sequence[Any]] = None,
                       allow_smaller_final_batch: bool = False, shared_name: Optional[str] = None,
                       name: Optional[str] = None) -> Stream:
    """`shuffle_batch` over several sources, with a thread for each."""
    return maybe_shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, True, seed, enqueue_many, shapes,
                                    allow_smaller_final_batch, shared_name, name)


def maybe_shuffle_batch_join(tensors_list: Sequence[Any], batch_size: int, capacity: int, min_after_dequeue: int,
                             keep_input: KeepInput, seed: Optional[int] = None, enqueue_many: bool = False,
                             shapes: Optional[Sequence[Any]] = None, allow_smaller_final_batch: bool = False,
                             shared_name: Optional[str] = None, name: Optional[str] = None) -> Stream:
    """`shuffle_batch_join` of what `keep_input` keeps."""
    return _batches(_several(tensors_list, enqueue_many, shapes is not None), 1, batch_size, capacity,
                    Shuffle(min_after_dequeue, seed), Elements(many=enqueue_many, shapes=shapes), False,
                    allow_smaller_final_batch, keep_input, name or "shuffle_batch_join")


def _several(tensors_list: Sequence[Any], many: bool, any_size: bool) -> "list[Any]":
    if isinstance(tensors_list, (str, bytes, dict)) or not hasattr(tensors_list, "__iter__") or callable(tensors_list):
        raise wrong_type("tensors_list", "a list of sources", tensors_list)
    out = list(tensors_list)
    if not out:
        raise refused("tensors_list: expected one source or more")
    check_alike(out, many, any_size)
    return out


def _batches(sources: "list[Any]", threads: int, batch_size: int, capacity: int, shuffle: Optional[Shuffle],
             elements: Elements, dynamic_pad: bool, smaller: bool, keep: KeepInput, name: str) -> Stream:
    size = at_least("batch_size", batch_size, 1)
    room = at_least("capacity", capacity, 1) if capacity >= 0 else -1
    at_least("num_threads", threads, 1)
    if shuffle is not None:
        floor = at_least("min_after_dequeue", shuffle.min_after_dequeue, 0)
        if 0 <= room <= floor:
            raise refused(f"capacity {room} must be bigger than min_after_dequeue {floor}")
    check_keep(keep, elements.many)

    def make(values: "list[Any]") -> "list[Queue]":
        components = elements.components(values)
        if shuffle is not None:
            return [Queue(components, room, kind="random_shuffle", name=name, min_after_dequeue=floor, seed=shuffle.seed)]
        return [Queue(components, room, kind="padding_fifo" if dynamic_pad else "fifo", name=name)]

    late = LateQueues(name, make)
    read: "list[tuple[Source, list[Stream]]]" = [source_of(source) for source in sources]
    ops = [enqueuer(source, keep, elements, late) for source, _ in read for _ in range(threads)]

    def take(queue: Queue, timeout: Optional[float]) -> Any:
        found = queue.dequeue_up_to(size, timeout=timeout) if smaller else queue.dequeue_many(size, timeout=timeout)
        return elements.put_together(found)

    return Stream(name, late, [QueueRunner([late], ops, name=name)], [one for _, streams in read for one in streams], take)


def enqueuer(source: Source, keep: KeepInput, elements: Elements, late: LateQueues,
             choose: "Callable[[Any], int]" = lambda element: 0, extra: "Callable[[Any], list[Any]]" = lambda element: []
             ) -> "Callable[[], None]":
    """A function that puts the next element into the queue that `choose` names, with `extra` tensors before its own."""

    def enqueue() -> None:
        element, kept = kept_part(source(), keep)
        if isinstance(kept, np.ndarray) and not elements.many:
            raise refused("keep_input: with one value for each row, set enqueue_many=True")
        if kept is False or isinstance(kept, np.ndarray) and not kept.any():
            return
        values = [*extra(element), *elements.take_apart(element)]
        if isinstance(kept, np.ndarray):
            values = [rows_of(value, kept) for value in values]
        queue = late.of(values)[choose(element)]
        queue.enqueue_many(values) if elements.many else queue.enqueue(values)

    return enqueue


def rows_of(value: Any, kept: "np.ndarray[Any, Any]") -> Any:
    array = np.asarray(value) if not isinstance(value, list) else np.array(value, dtype=None)
    if array.ndim == 0 or len(array) != len(kept):
        raise refused(f"keep_input: {len(kept)} values for {len(array) if array.ndim else 'no'} rows")
    return array[kept]


def check_keep(keep: KeepInput, many: bool) -> None:
    if callable(keep) or isinstance(keep, (str, int, np.bool_)):
        return
    array = np.asarray(keep)
    if array.dtype != np.bool_ or array.ndim > 1 or (array.ndim == 1 and not many):
        raise refused("keep_input: must be a bool, with enqueue_many also one for each row, a function of the element that "
                      f"returns it, or the name of a component; found {keep!r}")


def kept_part(element: Any, keep: KeepInput) -> "tuple[Any, Any]":
    """The element, and whether it is kept: a bool, or an array with one for each row."""
    if callable(keep):
        kept = keep(element)
    elif isinstance(keep, str) or (isinstance(keep, int) and not isinstance(keep, bool)):
        kept, element = element[keep], _without(element, keep)
    else:
        kept = keep
    array = np.asarray(kept)
    if array.dtype != np.bool_ or array.ndim > 1:
        raise refused(f"keep_input: must be a bool, or one for each row, found {array.dtype} of shape {list(array.shape)}")
    return element, bool(array) if array.ndim == 0 else array


def _without(element: Any, keep: Any) -> Any:
    if isinstance(element, dict):
        return {name: value for name, value in element.items() if name != keep}
    return type(element)(value for place, value in enumerate(element) if place != keep)


def at_least(name: str, value: Any, least: int) -> int:
    number = integer_of(name, value, "an integer")
    if number < least:
        raise refused(f"{name}: must be {least} or more, found {number}")
    return number
