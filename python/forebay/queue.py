# SPDX-License-Identifier: Apache-2.0
"""`Queue`: elements of fixed types between threads."""
from __future__ import annotations

import copy as _copy
import threading
from typing import Any, Iterator, Mapping, NamedTuple, NoReturn, Optional, Sequence, Union

import numpy as np

from forebay import _core
from forebay._arguments import integer_of, wrong_type
from forebay.errors import ConfigError, EndOfData
from forebay.rows import _NUMBERS, _array
from forebay.state_saver import _milliseconds, _tensor

__all__ = ["Queue", "QueueStats"]

_KINDS = ("fifo", "random_shuffle", "padding_fifo", "priority")
_Shape = Optional["tuple[Optional[int], ...]"]


class QueueStats(NamedTuple):
    """A queue at one moment."""

    elements: int           # in the queue, without those that a waiting call has taken already
    waiting_enqueues: int   # calls that wait for room
    waiting_dequeues: int   # calls that wait for elements
    enqueued: int           # elements that ever went in
    dequeued: int           # elements that ever came out
    closed: bool
    fill_ratio: float       # elements / capacity; 0 without a limit
    fill_over_min: float    # max(0, elements - min_after_dequeue) / (capacity - min_after_dequeue)


class Queue:
    """Elements between threads; each is a fixed tuple, or dict, of typed tensors.

        queue = fb.Queue({"x": fb.fixed("float32", [40]), "text": fb.fixed("string")}, capacity=100)
        queue.enqueue({"x": x, "text": b"one"})          # in any thread; waits while 100 elements are in it
        queue.close()                                    # no more elements
        batch = queue.dequeue_many(32)                   # in any thread: {"x": [32, 40], "text": [32]}

    components          `fb.fixed(dtype, shape)` for each tensor: a dict by name, whose elements are dicts, or a list, whose
                        elements are tuples. A bare dtype ("int64") takes tensors of any shape, which come out one at a time.
                        `fb.var_len(dtype)`, or None in a shape: a size that differs, in a padding_fifo queue only
    capacity            elements that it holds; `enqueue` waits while it is full. None or a number below 0: no limit
    kind                "fifo": the oldest element comes first. "random_shuffle": any, with equal chances; while the queue is
                        open, `min_after_dequeue` elements stay in it. "padding_fifo": the oldest, and batches are padded with
                        0, False or b"" at the high side. "priority": the smallest value of the first component, an int64
    min_after_dequeue   of random_shuffle: from 0 to below the capacity
    seed                of random_shuffle: the same seed and the same calls give the same draws. None: drawn
    name                for messages and summaries

    Calls of one direction are served in the order in which they came. A call for many elements takes or gives them one by one,
    so it may be for more than `capacity`. Elements can be taken from a closed queue until it is empty; then `EndOfData` is raised,
    or, if `close` was given a reason, that exception.

    Any number of threads may use it; they wait without the interpreter's lock, and Ctrl-C ends a wait. A call that raises has
    taken nothing. In a child of fork, calls raise StateError. Raises ConfigError with every fault of the arguments.
    """

    def __init__(self, components: "Union[Mapping[str, Any], Sequence[Any]]", capacity: Optional[int] = 32, *,
                 kind: str = "fifo", min_after_dequeue: int = 0, seed: Optional[int] = None, name: str = "queue") -> None:
        if kind not in _KINDS:
            raise _refused(f"kind: must be one of {', '.join(_KINDS)}, found {kind!r}")
        if not isinstance(name, str):
            raise wrong_type("name", "a str", name)
        if isinstance(components, Mapping):
            self._names: "Optional[tuple[str, ...]]" = tuple(components)
            specs = [(str(key), *_component(str(key), item)) for key, item in components.items()]
        elif isinstance(components, Sequence) and not isinstance(components, (str, bytes)):
            self._names = None
            specs = [(str(place), *_component(str(place), item)) for place, item in enumerate(components)]
        else:
            raise wrong_type("components", "a dict or a list of fb.fixed(dtype, shape)", components)
        self.name, self.kind = name, kind
        self.capacity = -1 if capacity is None else integer_of("capacity", capacity)
        self.min_after_dequeue = integer_of("min_after_dequeue", min_after_dequeue, "an integer")
        self._specs = specs
        self._reason: Optional[BaseException] = None
        self._reason_lock = threading.Lock()
        self._queue = _core.make_queue(kind, name, specs, self.capacity, self.min_after_dequeue,
                                       None if seed is None else integer_of("seed", seed) % 2**64)

    def enqueue(self, element: Any, *, copy: bool = True, timeout: Optional[float] = None) -> None:
        """Adds an element, and waits while the queue is full.

        copy=False: arrays of numbers are shared, and must not change any more. timeout: seconds; None: no limit.
        Raises ConfigError for values that do not fit, Cancelled when the queue is closed or a cancelling `close` comes,
        TimeoutError when there was no room in time.
        """
        if not self._queue.enqueue(self._given(element), bool(copy), _milliseconds("timeout", timeout)):
            raise TimeoutError(f"queue '{self.name}' is full; dequeue elements, or wait longer")

    def enqueue_many(self, rows: Any, *, copy: bool = True, timeout: Optional[float] = None) -> None:
        """Adds the rows of arrays, whose first axis counts them, one by one. Rows that went in stay when the call raises, as
        `enqueue` does; the attribute `rows` of a TimeoutError is their number."""
        given = self._given(rows)
        inside = self._queue.enqueue_many(given, bool(copy), _milliseconds("timeout", timeout))
        wanted = _rows_of(given)
        if inside < wanted:
            error = TimeoutError(f"queue '{self.name}' is full; {inside} of {wanted} rows went in")
            error.rows = inside  # type: ignore[attr-defined]
            raise error

    def dequeue(self, *, timeout: Optional[float] = None) -> Any:
        """Takes an element, and waits while there is none. Raises EndOfData, or the reason of `close`, when the queue is closed
        and empty, TimeoutError when none came in time."""
        return self._taken(self._queue.dequeue(_milliseconds("timeout", timeout)), 1)

    def dequeue_many(self, count: int, *, timeout: Optional[float] = None) -> Any:
        """Takes `count` elements as arrays [count, …], and waits for all of them. When a closed queue has fewer, they stay in it,
        and the call raises as `dequeue` does."""
        wanted = integer_of("count", count, "an integer")
        return self._taken(self._queue.dequeue_many(wanted, False, _milliseconds("timeout", timeout)), wanted)

    def dequeue_up_to(self, count: int, *, timeout: Optional[float] = None) -> Any:
        """The same; of a closed queue it takes what is left, if anything is."""
        wanted = integer_of("count", count, "an integer")
        return self._taken(self._queue.dequeue_many(wanted, True, _milliseconds("timeout", timeout)), wanted)

    def __iter__(self) -> Iterator[Any]:
        """Elements until the end."""
        while True:
            try:
                element = self.dequeue()
            except EndOfData:
                return
            yield element

    def close(self, cancel: bool = False, reason: Optional[BaseException] = None) -> None:
        """No more elements come. Calls of `enqueue` that wait are served first, and `close` does not wait for that; with
        `cancel` they raise Cancelled. Closing again is harmless, and `cancel` may follow.

        reason: an exception that consumers get instead of EndOfData, when the queue is empty; the first one counts.
        """
        if reason is not None:
            if not isinstance(reason, BaseException):
                raise wrong_type("reason", "an exception, or None", reason)
            with self._reason_lock:
                self._reason = self._reason or reason
        self._queue.close(bool(cancel))

    @property
    def closed(self) -> bool:
        """Whether it takes no more elements."""
        return self.stats().closed

    @property
    def reason(self) -> Optional[BaseException]:
        """The exception that `close` was given first."""
        return self._reason

    @property
    def components(self) -> "list[tuple[str, str, _Shape]]":
        """(name, dtype, shape) of the tensors; a shape of None is any."""
        return list(self._specs)

    def __len__(self) -> int:
        """Elements in the queue now."""
        return self.stats().elements

    def __bool__(self) -> bool:
        return True

    def stats(self) -> QueueStats:
        """Its numbers at this moment."""
        return QueueStats(*self._queue.sizes)

    def summaries(self) -> "dict[str, float]":
        """The fullness by the names that TensorFlow's summaries have: `fraction_of_32_full`, and, of a queue that shuffles,
        `fraction_over_20_of_80_full`."""
        now = self.stats()
        out = {f"{self.name}/fraction_of_{self.capacity}_full": now.fill_ratio}
        if self.kind == "random_shuffle":
            room = self.capacity - self.min_after_dequeue
            out[f"{self.name}/fraction_over_{self.min_after_dequeue}_of_{room}_full"] = now.fill_over_min
        return out if self.capacity >= 0 else {}

    def __enter__(self) -> "Queue":
        return self

    def __exit__(self, kind: Any, problem: Optional[BaseException], trace: Any) -> None:
        """Closes; after an exception it also cancels, and the exception is the reason."""
        self.close(cancel=problem is not None, reason=problem)

    def __repr__(self) -> str:
        return f"Queue(name={self.name!r}, kind={self.kind!r}, elements={len(self)}, capacity={self.capacity})"

    def _given(self, element: Any) -> "list[object]":
        """The tensors as the core takes them."""
        if self._names is not None:
            if not isinstance(element, Mapping):
                raise wrong_type(f"an element of queue '{self.name}'", "a dict of tensors by name", element)
            if element.keys() != set(self._names):
                raise _refused(f"queue '{self.name}': found {sorted(map(str, element))}, expected {sorted(self._names)}")
            values: "Sequence[Any]" = [element[name] for name in self._names]
        elif isinstance(element, (list, tuple)):
            values = element
        else:
            raise wrong_type(f"an element of queue '{self.name}'", "a tuple or a list of tensors", element)
        if len(values) != len(self._specs):
            raise _refused(f"queue '{self.name}': found {len(values)} tensors, allowed is one for each of its "
                           f"{len(self._specs)} components")
        return [_tensor(spec[0], value, spec[1]) for spec, value in zip(self._specs, values)]

    def _taken(self, found: "Union[list[Any], int, None]", wanted: int) -> Any:
        if isinstance(found, list):
            return tuple(found) if self._names is None else dict(zip(self._names, found))
        if found is None:
            raise TimeoutError(f"queue '{self.name}': {wanted} elements did not come in time")
        self._end(wanted, found)

    def _end(self, wanted: int, left: int) -> NoReturn:
        if self._reason is not None:
            raise _copied(self._reason) from self._reason
        raise EndOfData(f"queue '{self.name}' is closed and has insufficient elements (requested {wanted}, current size {left})",
                        code="end")


def _copied(problem: BaseException) -> BaseException:
    """An exception that several threads may raise at once."""
    try:
        made = _copy.copy(problem)
    except Exception:  # noqa: BLE001 (an exception may need arguments that its class does not keep)
        return problem
    return made if isinstance(made, type(problem)) else problem


def _rows_of(given: "list[Any]") -> int:
    """The rows of the first tensor, which the core has checked."""
    first = given[0]
    return int(first[2][0] if isinstance(first, tuple) else np.shape(first)[0])


def _refused(text: str) -> ConfigError:
    return ConfigError(text, code="config", detail="invalid_argument")


def _component(name: str, feature: Any) -> "tuple[str, _Shape]":
    """(dtype, shape) of a component."""
    if isinstance(feature, str):
        dtype, shape = feature, None
    elif isinstance(feature, Mapping) and feature.get("kind", "fixed_len") in ("fixed_len", "var_len") and "dtype" in feature:
        dtype = feature["dtype"]
        shape = (None,) if feature.get("kind") == "var_len" else tuple(_size(name, size) for size in feature.get("shape", ()))
    else:
        raise wrong_type(f"component '{name}'", "fb.fixed(dtype, shape), fb.var_len(dtype) or a dtype", feature)
    if dtype not in (*_NUMBERS, "string"):
        raise _refused(f"component '{name}': dtype {dtype!r}; allowed are {', '.join(sorted(_NUMBERS))} and string")
    return dtype, shape


def _size(name: str, size: Any) -> Optional[int]:
    if size is None:
        return None
    whole = integer_of(f"a size of component '{name}'", size)
    if whole < 0:
        raise _refused(f"component '{name}': a size of {whole}; allowed is 0 or more, or None where elements differ")
    return whole


def spec_of(value: Any) -> "tuple[str, tuple[int, ...]]":
    """(dtype, shape) of a value that becomes a tensor."""
    array = _array("element", value)
    dtype = "string" if array.dtype.kind in "SUO" else array.dtype.name
    return dtype, array.shape
