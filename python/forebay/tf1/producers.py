# SPDX-License-Identifier: Apache-2.0
"""Producers: lists whose elements come epoch after epoch."""
from __future__ import annotations

import fnmatch
import os
import secrets
import threading
from typing import Any, Iterator, Optional, Sequence, Union

import numpy as np

from forebay._arguments import integer_of, wrong_type
from forebay.coordinator import QueueRunner
from forebay.errors import EndOfData
from forebay.queue import Queue, spec_of
from forebay.rows import _array
from forebay.tf1.stream import LateQueues, Stream, Tensor, refused, source_of

__all__ = ["input_producer", "limit_epochs", "match_filenames_once", "range_input_producer", "slice_input_producer",
           "string_input_producer"]

_Pattern = Union[str, bytes, "os.PathLike[Any]"]


def match_filenames_once(pattern: "Union[_Pattern, Sequence[_Pattern]]", name: Optional[str] = None) -> "list[str]":
    """The paths that match a pattern or several, sorted by their bytes; a path that several match comes as often. `*`, `?` and
    `[a-z]` do not match `/`; `*` matches names that begin with a dot, and folders. No match: an empty list."""
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else list(pattern)
    found = [path for each in patterns for path in _matches(os.fsdecode(each))]
    return sorted(found, key=os.fsencode)


def _matches(pattern: str) -> "Iterator[str]":
    head, tail = os.path.split(pattern)
    if not any(sign in pattern for sign in "*?["):
        if os.path.lexists(pattern):
            yield pattern
        return
    folders = _matches(head) if any(sign in head for sign in "*?[") else [head]
    for folder in folders:
        try:
            names = os.listdir(folder or ".")
        except (FileNotFoundError, NotADirectoryError):
            continue
        for name in names:
            if fnmatch.fnmatchcase(name, tail) and name != ".forebay":
                yield os.path.join(folder, name)


class _Limited:
    """A source that ends after so many elements."""

    def __init__(self, source: Any, epochs: Optional[int]) -> None:
        self._source = source
        self._left = epochs
        self._lock = threading.Lock()

    def get(self) -> Any:
        """The next element. Raises EndOfData after the last one."""
        with self._lock:
            if self._left is not None:
                if self._left == 0:
                    raise EndOfData("the limit of epochs is reached", code="end")
                self._left -= 1
        return self._source()

    __call__ = get

    def __iter__(self) -> "Iterator[Any]":
        while True:
            try:
                element = self.get()
            except EndOfData:
                return
            yield element


def limit_epochs(tensor: Any, num_epochs: Optional[int] = None, name: Optional[str] = None) -> _Limited:
    """Gives a tensor, or what a function without arguments returns, `num_epochs` times; then EndOfData. None: no limit."""
    _check_epochs(num_epochs)
    source = source_of(tensor)[0] if callable(tensor) or hasattr(tensor, "get") else lambda: tensor
    return _Limited(source, num_epochs)


def input_producer(input_tensor: Any, element_shape: Optional[Sequence[int]] = None, num_epochs: Optional[int] = None,
                   shuffle: bool = True, seed: Optional[int] = None, capacity: int = 32, shared_name: Optional[str] = None,
                   summary_name: Optional[str] = None, name: Optional[str] = None) -> Stream:
    """The rows of an array, epoch after epoch; epochs never mix.

    num_epochs   ends after so many; None: never
    shuffle      another order in each epoch, drawn from `seed`; None: drawn
    """
    rows = _bytes(_array("input_tensor", input_tensor))
    if rows.ndim == 0:
        raise refused("input_tensor: a scalar has no rows; allowed is an array with one axis or more")
    if element_shape is not None and tuple(element_shape) != rows.shape[1:]:
        raise refused(f"element_shape: {list(element_shape)}, but the rows have the shape {list(rows.shape[1:])}")
    return _producer(rows, num_epochs, shuffle, seed, capacity, name or "input_producer")


def string_input_producer(string_tensor: Any, num_epochs: Optional[int] = None, shuffle: bool = True, seed: Optional[int] = None,
                          capacity: int = 32, shared_name: Optional[str] = None, name: Optional[str] = None) -> Stream:
    """The strings of a list, such as the names of files, epoch after epoch. Elements are bytes."""
    if isinstance(string_tensor, (str, bytes)):
        raise wrong_type("string_tensor", "a list of strings", string_tensor)
    texts = [os.fsencode(text) if isinstance(text, (str, os.PathLike)) else text for text in string_tensor]
    if not texts:
        raise refused("string_input_producer: the list is empty; allowed is 1 string or more")
    rows = np.empty(len(texts), object)
    rows[:] = texts
    return _producer(rows, num_epochs, shuffle, seed, capacity, name or "input_producer")


def range_input_producer(limit: int, num_epochs: Optional[int] = None, shuffle: bool = True, seed: Optional[int] = None,
                         capacity: int = 32, shared_name: Optional[str] = None, name: Optional[str] = None) -> Stream:
    """The numbers 0 … limit - 1, int32, epoch after epoch."""
    count = integer_of("limit", limit, "an integer")
    if not 0 <= count < 2**31:
        raise refused(f"limit: must be from 0 to {2**31 - 1}, found {count}")
    return _producer(np.arange(count, dtype=np.int32), num_epochs, shuffle, seed, capacity, name or "input_producer")


def slice_input_producer(tensor_list: Sequence[Any], num_epochs: Optional[int] = None, shuffle: bool = True,
                         seed: Optional[int] = None, capacity: int = 32, shared_name: Optional[str] = None,
                         name: Optional[str] = None) -> Stream:
    """Row i of each of several arrays, which have as many rows, epoch after epoch. Elements are lists."""
    arrays = [_bytes(_array(f"tensor_list[{place}]", tensor)) for place, tensor in enumerate(tensor_list)]
    if not arrays:
        raise refused("tensor_list: expected at least one array in slice_input_producer")
    if any(array.ndim == 0 for array in arrays):
        raise refused("tensor_list: a scalar has no rows; allowed are arrays with one axis or more")
    sizes = [len(array) for array in arrays]
    if len(set(sizes)) > 1:
        raise refused(f"tensor_list: the arrays have {', '.join(map(str, sizes))} rows; all must have as many")
    numbers = _producer(np.arange(sizes[0], dtype=np.int32), num_epochs, shuffle, seed, capacity, name or "input_producer")
    plain = numbers._take
    numbers._take = lambda queue, timeout: (lambda row: [_plain(array[row]) for array in arrays])(int(plain(queue, timeout)))
    numbers.tensor = None
    numbers.tensors = [Tensor(dtype, shape[1:]) for dtype, shape in map(spec_of, arrays)]
    return numbers


def _producer(rows: Any, num_epochs: Optional[int], shuffle: bool, seed: Optional[int], capacity: int, name: str) -> Stream:
    """An endless or limited repetition of rows."""
    _check_epochs(num_epochs)
    if integer_of("capacity", capacity, "an integer") == 0:
        raise refused("capacity: 0 elements; nothing would ever come out. Allowed is 1 or more, or below 0 for no limit")
    dtype, shape = spec_of(rows)
    queue = Queue([{"kind": "fixed_len", "dtype": dtype, "shape": list(shape[1:])}], capacity, name=name)
    drawn = secrets.randbits(64) if seed is None else integer_of("seed", seed, "an integer or None") % 2**64
    epochs = iter(range(num_epochs)) if num_epochs is not None else _count()

    def enqueue() -> None:
        epoch = next(epochs)   # the end is StopIteration
        if len(rows) == 0:
            raise EndOfData("there is no row", code="end")
        order = np.random.default_rng([drawn, epoch]).permutation(len(rows)) if shuffle else None
        queue.enqueue_many([rows if order is None else rows[order]])

    late = LateQueues(name, lambda _: [queue])
    late.of([])
    stream = Stream(name, late, [QueueRunner(queue, [enqueue], name=name)], [], _take_one)
    stream.tensor = Tensor(dtype, shape[1:])
    return stream


def _bytes(array: Any) -> Any:
    """Strings as bytes, as queues give them."""
    if array.dtype.kind not in "SUO":
        return array
    out = np.empty(array.shape, object)
    out.reshape(-1)[:] = [text.encode() if isinstance(text, str) else text for text in array.reshape(-1).tolist()]
    return out


def _count() -> "Iterator[int]":
    epoch = 0
    while True:
        yield epoch
        epoch += 1


def _take_one(queue: Queue, timeout: Optional[float]) -> Any:
    return _plain(queue.dequeue(timeout=timeout)[0])


def _plain(value: Any) -> Any:
    """A scalar instead of an array without axes."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _check_epochs(num_epochs: Optional[int]) -> None:
    if num_epochs is not None and integer_of("num_epochs", num_epochs) <= 0:
        raise refused(f"num_epochs must be > 0, found {num_epochs}; None is no limit")
