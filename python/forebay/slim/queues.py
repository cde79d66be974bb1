# SPDX-License-Identifier: Apache-2.0
"""Queues of whole batches, and the scope in which their threads run."""
from __future__ import annotations

import itertools
import threading
from contextlib import contextmanager
from typing import Any, Iterable, Iterator, Mapping, Optional

import numpy as np

from forebay.coordinator import Coordinator, QueueRunner
from forebay.errors import ConfigError
from forebay.queue import Queue

__all__ = ["NestedQueueRunnerError", "PrefetchQueue", "QueueRunners", "prefetch_queue"]


class NestedQueueRunnerError(Exception):
    """A QueueRunners scope inside another one."""


class PrefetchQueue:
    """A queue of whole batches that threads fill ahead; see `prefetch_queue`. Any number of threads may take from it."""

    def __init__(self, batches: Iterable[Any], capacity: int, num_threads: int, dynamic_pad: bool, name: str) -> None:
        if num_threads < 1:
            raise ConfigError(f"num_threads must be 1 or more, found {num_threads}", code="config", detail="invalid_argument")
        self._batches = iter(batches)
        self._lock = threading.Lock()
        first = next(self._batches)
        self._single = not isinstance(first, (Mapping, list, tuple))
        self._batches = itertools.chain([first], self._batches)
        whole = self._element(first)
        components: Any = {key: _component(value, dynamic_pad) for key, value in whole.items()} if isinstance(whole, Mapping) \
            else [_component(value, dynamic_pad) for value in whole]
        #: The fb.Queue.
        self.queue = Queue(components, capacity, kind="padding_fifo" if dynamic_pad else "fifo", name=name)
        #: The fb.QueueRunner of its threads.
        self.runner = QueueRunner(self.queue, [self._enqueue] * num_threads, name=name)
        self._started = False

    def start(self, coord: Optional[Coordinator] = None) -> None:
        """Starts its threads, once. The first call of `dequeue` does the same."""
        with self._lock:
            if self._started:
                return
            self._started = True
        self.runner.create_threads(coord=coord, start=True)

    def dequeue(self) -> Any:
        """The next batch. Raises fb.EndOfData after the last one."""
        self.start()
        return self._given(self.queue.dequeue())

    def dequeue_many(self, count: int) -> Any:
        """So many batches, each tensor with one more axis in front."""
        self.start()
        return self._given(self.queue.dequeue_many(count))

    def summaries(self) -> dict[str, float]:
        """The fullness, as TF-Slim names it: fraction_of_8_full."""
        return self.queue.summaries()

    def __iter__(self) -> Iterator[Any]:
        self.start()
        for element in self.queue:
            yield self._given(element)

    def close(self) -> None:
        """Ends its threads."""
        self.queue.close(cancel=True)

    def _enqueue(self) -> None:
        with self._lock:
            batch = next(self._batches)
        self.queue.enqueue(self._element(batch))

    def _element(self, batch: Any) -> Any:
        if isinstance(batch, Mapping):
            return {key: batch[key] for key in sorted(batch)}
        return [batch] if self._single else list(batch)

    def _given(self, element: Any) -> Any:
        return element[0] if self._single else element


def prefetch_queue(batches: Iterable[Any], capacity: int = 8, num_threads: int = 1, dynamic_pad: bool = False,
                   name: str = "prefetch_queue") -> PrefetchQueue:
    """Fills a queue with whole batches ahead of their use.

    batches        a loader, a provider's `each`, or another iterable of dicts (in the order of their names), lists or arrays
    capacity       batches that wait in it
    num_threads    threads that fill it; the order is kept with one
    dynamic_pad    the shapes of the batches may differ; `dequeue_many` pads them with 0, False or b"". Without it all have the
                   shapes of the first one, and a batch of another shape is an error
    """
    return PrefetchQueue(batches, capacity, num_threads, dynamic_pad, name)


_scope = threading.local()


@contextmanager
def QueueRunners(*queues: PrefetchQueue, grace_period: float = 120.0) -> Iterator[Coordinator]:
    """A scope in which the threads of queues run: started at its begin, stopped and joined at its end.

        with slim.QueueRunners(batches):
            for batch in batches: ...

    grace_period: seconds that the threads have to end. Raises NestedQueueRunnerError inside another such scope.
    """
    if getattr(_scope, "inside", False):
        raise NestedQueueRunnerError("QueueRunners scopes do not nest; list all queues in the outer one")
    coord = Coordinator()
    _scope.inside = True
    try:
        for queue in queues:
            queue.start(coord)
        yield coord
    finally:
        _scope.inside = False
        coord.request_stop()
        for queue in queues:
            queue.close()
        coord.join(stop_grace_period_secs=grace_period)


def _component(value: Any, dynamic_pad: bool) -> dict[str, Any]:
    array = np.asarray(value)
    dtype = "string" if array.dtype.kind in "SUO" else array.dtype.name
    return {"dtype": dtype, "shape": [None] * array.ndim if dynamic_pad else list(array.shape)}
