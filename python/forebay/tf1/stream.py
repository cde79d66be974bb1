# SPDX-License-Identifier: Apache-2.0
"""`Stream`: elements that threads make ahead. The base of the producers and of the functions that batch."""
from __future__ import annotations

import threading
import weakref
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from forebay._arguments import wrong_type
from forebay.coordinator import QueueRunner
from forebay.errors import ConfigError, EndOfData
from forebay.queue import Queue, QueueStats, _copied

__all__ = ["Stream"]

Source = Callable[[], Any]


class Tensor(NamedTuple):
    """What is known of a tensor before there is an element; None: it is open."""

    dtype: Optional[str]
    shape: "Optional[tuple[Optional[int], ...]]"


def refused(text: str) -> ConfigError:
    return ConfigError(text, code="config", detail="invalid_argument")


class LateQueues:
    """Queues that are made for the first element, whose types and shapes they take. Closed before that, they stay unmade."""

    def __init__(self, name: str, make: "Callable[[list[Any]], list[Queue]]") -> None:
        self.name = name
        self._make = make
        self._lock = threading.RLock()    # a collected stream closes its queues on any thread, also inside `of`
        self._known = threading.Event()   # the queues are made, or closed
        self._queues: "list[Queue]" = []
        self._closed = False
        self._reason: Optional[BaseException] = None

    def of(self, values: "list[Any]") -> "list[Queue]":
        """The queues, made for these values if there are none yet."""
        if not self._queues:
            with self._lock:
                if not self._queues:
                    self._queues = self._make(values)
                    if self._closed:
                        self.close(cancel=True, reason=self._reason)
                    self._known.set()
        return self._queues

    def wait(self, timeout: Optional[float] = None) -> "list[Queue]":
        """The queues. Raises EndOfData, or the reason, when they were closed before there was an element."""
        if not self._known.wait(timeout):
            raise TimeoutError(f"queue '{self.name}': no element came in time")
        if not self._queues:
            if self._reason is not None:
                raise _copied(self._reason) from self._reason
            raise EndOfData(f"queue '{self.name}' is closed and has insufficient elements (requested 1, current size 0)",
                            code="end")
        return self._queues

    def close(self, cancel: bool = False, reason: Optional[BaseException] = None) -> None:
        with self._lock:
            for queue in self._queues:
                queue.close(cancel=cancel, reason=reason)
            self._closed = True
            self._reason = self._reason or reason
            self._known.set()

    @property
    def closed(self) -> bool:
        return self._closed

    def stats(self) -> QueueStats:
        """Of all together."""
        with self._lock:
            parts = [queue.stats() for queue in self._queues]
        if not parts:
            return QueueStats(0, 0, 0, 0, 0, self._closed, 0.0, 0.0)
        count = len(parts)
        return QueueStats(elements=sum(part.elements for part in parts),
                          waiting_enqueues=sum(part.waiting_enqueues for part in parts),
                          waiting_dequeues=sum(part.waiting_dequeues for part in parts),
                          enqueued=sum(part.enqueued for part in parts), dequeued=sum(part.dequeued for part in parts),
                          closed=all(part.closed for part in parts),
                          fill_ratio=sum(part.fill_ratio for part in parts) / count,
                          fill_over_min=sum(part.fill_over_min for part in parts) / count)

    def summaries(self) -> "dict[str, float]":
        with self._lock:
            return {name: value for queue in self._queues for name, value in queue.summaries().items()}


class Stream:
    """Elements that threads make ahead, in a queue. `get` takes the next one; a loop over the stream goes to its end.

    The threads start with the first `get`, or with `fb.start_queue_runners`. An error of one of them comes out of `get` after
    the elements that were made before. `close` stops them; so does dropping the stream.
    """

    def __init__(self, name: str, queues: LateQueues, runners: "Sequence[QueueRunner]", sources: "Sequence[Stream]",
                 take: "Callable[[Queue, Optional[float]], Any]") -> None:
        self.name = name
        self._queues = queues
        self._own = tuple(runners)
        self._sources = tuple(sources)
        self._take = take
        self._lock = threading.Lock()
        self._started = False
        #: Its elements are single tensors like this, or lists of tensors like those; None: only an element tells.
        self.tensor: Optional[Tensor] = None
        self.tensors: "Optional[list[Tensor]]" = None
        for runner in self._own:
            self._finalizer = weakref.finalize(self, runner.close, True)

    @property
    def runners(self) -> "list[QueueRunner]":
        """Its QueueRunners; those of the streams that it reads come first."""
        out = [runner for source in self._sources for runner in source.runners]
        return list(dict.fromkeys([*out, *self._own]))

    def start(self) -> None:
        """Starts the threads that were never started. `get` does it."""
        if self._started:
            return
        with self._lock:
            for source in self._sources:
                source.start()
            for runner in self._own:
                if not runner.started:
                    runner.create_threads(start=True)
            self._started = True

    def get(self, timeout: Optional[float] = None) -> Any:
        """The next element. Raises EndOfData at the end, the error of a thread that failed, or TimeoutError after `timeout`
        seconds."""
        self.start()
        return self._take(self._queues.wait(timeout)[0], timeout)

    def __iter__(self) -> Iterator[Any]:
        while True:
            try:
                element = self.get()
            except EndOfData:
                return
            yield element

    def stats(self) -> QueueStats:
        """The numbers of its queue at this moment."""
        return self._queues.stats()

    def summaries(self) -> "dict[str, float]":
        """The fullness of its queue by the names of TensorFlow's summaries."""
        return self._queues.summaries()

    def close(self) -> None:
        """Stops its threads. Elements that were made can still be taken."""
        for runner in self._own:
            runner.close(cancel=True)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, kind: Any, problem: Optional[BaseException], trace: Any) -> None:
        for source in (*self._sources, self):
            source.close()


def is_structure(value: Any) -> bool:
    """Whether it is a list or tuple of functions and streams, and not of elements."""
    return isinstance(value, (list, tuple)) and bool(value) and all(
        callable(each) or hasattr(each, "get") and not isinstance(each, Mapping) for each in value)


def source_of(value: Any, name: str = "tensors") -> "tuple[Source, list[Stream]]":
    """A function that gives the next element, and the streams that it reads.

    A dict, and a list or tuple of functions and streams, is a structure of sources: an element is what all of them give.
    """
    if isinstance(value, Mapping):
        parts = {key: source_of(value[key], f"{name}[{key!r}]") for key in sorted(value, key=str)}
        return lambda: {key: part[0]() for key, part in parts.items()}, [one for part in parts.values() for one in part[1]]
    if is_structure(value):
        several = [source_of(each, f"{name}[{place}]") for place, each in enumerate(value)]
        kind = tuple if isinstance(value, tuple) else list
        return lambda: kind(part[0]() for part in several), [one for part in several for one in part[1]]
    if hasattr(value, "get"):
        return value.get, [value] if isinstance(value, Stream) else []
    if isinstance(value, Queue):
        return value.dequeue, []
    if callable(value):
        return value, []
    if isinstance(value, (str, bytes, np.ndarray)) or not hasattr(value, "__iter__"):
        raise wrong_type(name, "a function without arguments, an iterable of elements, a stream, or a dict or list of these", value)
    return _Shared(iter(value)), []


class _Shared:
    """The elements of an iterator, for several threads."""

    def __init__(self, elements: "Iterator[Any]") -> None:
        self._elements = elements
        self._lock = threading.Lock()

    def __call__(self) -> Any:
        with self._lock:
            return next(self._elements)
