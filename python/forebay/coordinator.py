# SPDX-License-Identifier: Apache-2.0
"""`Coordinator` and `QueueRunner`: threads that fill queues, stop together, and hand on the first error."""
from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any, Callable, Iterable, Iterator, Optional, Sequence, Union

from forebay._arguments import wrong_type
from forebay.errors import Cancelled, ConfigError, EndOfData
from forebay.queue import Queue

__all__ = ["Coordinator", "QueueRunner", "start_queue_runners"]

_Types = "tuple[type[BaseException], ...]"


class Coordinator:
    """Stops several threads together, and raises the first error of any of them.

        coord = fb.Coordinator()
        threads = fb.start_queue_runners(batches, coord=coord)
        with coord.stop_on_exception():
            while not coord.should_stop():
                train(batches.get())
        coord.join(threads)                    # raises what went wrong first, if that was not the end of the data

    clean_stop_exception_types   exceptions that mean the end of the data, and no error
    """

    def __init__(self, clean_stop_exception_types: "Optional[Sequence[type[BaseException]]]" = None) -> None:
        self._clean = (EndOfData,) if clean_stop_exception_types is None else tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._registered: "set[threading.Thread]" = set()
        self._exception: Optional[BaseException] = None
        self._joined = False

    def request_stop(self, ex: "Union[BaseException, tuple[Any, ...], None]" = None) -> None:
        """Asks the threads to stop. The first call decides: its exception, if any that is not of a clean type, is the one that `join`
        raises. After `join` an exception is raised here."""
        problem = ex[1] if isinstance(ex, tuple) else ex
        if problem is not None and not isinstance(problem, BaseException):
            raise wrong_type("ex", "an exception, the tuple of sys.exc_info(), or None", ex)
        if isinstance(problem, self._clean):
            problem = None
        with self._lock:
            if problem is not None and self._joined:
                raise problem
            if not self._stop.is_set():
                self._exception = problem
                self._stop.set()

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._stop.is_set()

    def wait_for_stop(self, timeout: Optional[float] = None) -> bool:
        """Waits until a stop is requested. False: `timeout` seconds were over before."""
        return self._stop.wait(timeout)

    def clear_stop(self) -> None:
        """Forgets the stop, its exception and the join, so that threads can be started again."""
        with self._lock:
            self._joined = False
            self._exception = None
            self._stop.clear()

    @property
    def joined(self) -> bool:
        """Whether `join` has returned or raised since the last `clear_stop`."""
        return self._joined

    @property
    def exception(self) -> Optional[BaseException]:
        """The exception that `join` will raise."""
        return self._exception

    def register_thread(self, thread: threading.Thread) -> None:
        """`join` waits for this thread, too."""
        with self._lock:
            self._registered.add(thread)

    def stop_on_exception(self) -> "_StopOnException":
        """A scope: an exception in it becomes `request_stop(exception)` and goes no further."""
        return _StopOnException(self)

    def raise_requested_exception(self) -> None:
        """Raises the exception of the stop, if there is one."""
        with self._lock:
            problem = self._exception
        if problem is not None:
            raise problem

    def join(self, threads: "Optional[Iterable[threading.Thread]]" = None, stop_grace_period_secs: float = 120.0,
             ignore_live_threads: bool = False) -> None:
        """Waits until all threads have ended, these and the registered ones, or until a stop is requested; then for at most
        `stop_grace_period_secs` more.

        Raises the exception of the stop. Without one it raises RuntimeError with the names of the threads that still run, unless
        `ignore_live_threads`.
        """
        with self._lock:
            waiting = list(dict.fromkeys([*self._registered, *(threads or ())]))
        while any(thread.is_alive() for thread in waiting) and not self.wait_for_stop(0):
            _first_alive(waiting).join(0.02)
        limit = time.monotonic() + stop_grace_period_secs
        for thread in waiting:
            while thread.is_alive() and time.monotonic() < limit:
                thread.join(min(0.1, max(0.0, limit - time.monotonic())))
        running = [thread.name for thread in waiting if thread.is_alive()]
        with self._lock:
            self._joined = True
            self._registered.clear()
            problem = self._exception
        if problem is not None:
            raise problem
        if running and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(running)}")


def _first_alive(threads: "list[threading.Thread]") -> threading.Thread:
    return next((thread for thread in threads if thread.is_alive()), threads[0])


class _StopOnException:
    def __init__(self, coord: Coordinator) -> None:
        self._coord = coord

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: "Optional[type[BaseException]]", problem: Optional[BaseException],
                 trace: Optional[TracebackType]) -> bool:
        if problem is None:
            return False
        self._coord.request_stop(problem)
        return True


class QueueRunner:
    """Threads that fill a queue: each calls one function again and again, until it raises or the coordinator stops.

        runner = fb.QueueRunner(queue, [lambda: queue.enqueue(next_element())] * 4)
        threads = runner.create_threads(coord=coord, start=True)

    queue                           the queue, or several, to close at the end
    enqueue_ops                     functions without arguments, one for each thread
    queue_closed_exception_types    exceptions of these types end their thread; when the last thread ended so, the queues are closed
    name                            for the names of threads

    Any other exception goes to the coordinator, which stops all, and is the reason with which the queues are closed: consumers
    get it instead of EndOfData. Without a coordinator it is kept in `exceptions_raised`, too, and the queues are closed at once.
    """

    def __init__(self, queue: "Union[Queue, Sequence[Any], Any]", enqueue_ops: "Sequence[Callable[[], Any]]", *,
                 queue_closed_exception_types: "Sequence[type[BaseException]]" = (EndOfData, StopIteration),
                 name: Optional[str] = None) -> None:
        self.queues = (queue,) if hasattr(queue, "close") else tuple(queue)
        if not self.queues or not enqueue_ops:
            raise ConfigError("a QueueRunner needs a queue and one function or more that fill it", code="config",
                              detail="invalid_argument")
        self.enqueue_ops = list(enqueue_ops)
        self.queue_closed_exception_types = tuple(queue_closed_exception_types)
        self.name = name or self.queues[0].name
        self._lock = threading.Lock()
        self._raised: "list[BaseException]" = []
        self._running = 0
        self._threads: "list[threading.Thread]" = []

    @property
    def queue(self) -> Queue:
        """The first queue."""
        return self.queues[0]

    @property
    def started(self) -> bool:
        """Whether threads were ever made."""
        return bool(self._threads)

    @property
    def exceptions_raised(self) -> "list[BaseException]":
        """Exceptions of threads that had no coordinator."""
        with self._lock:
            return list(self._raised)

    def create_threads(self, coord: Optional[Coordinator] = None, daemon: bool = True,
                       start: bool = False) -> "list[threading.Thread]":
        """Makes a thread for each function, and with a coordinator one more, which closes the queues when it stops. While threads
        of an earlier call run, it makes none and returns an empty list."""
        with self._lock:
            if any(thread.is_alive() for thread in self._threads) or self._running > 0:
                return []
            self._running = len(self.enqueue_ops)
            self._raised = []
            threads = [threading.Thread(target=self._run, args=(op, coord), daemon=daemon, name=f"{self.name}-{number}")
                       for number, op in enumerate(self.enqueue_ops)]
            if coord is not None:
                threads.append(threading.Thread(target=self._close_on_stop, args=(coord,), daemon=daemon,
                                                name=f"{self.name}-close"))
            self._threads = list(threads)
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def _run(self, op: Callable[[], Any], coord: Optional[Coordinator]) -> None:
        ended = False
        try:
            while coord is None or not coord.should_stop():
                op()
        except self.queue_closed_exception_types:
            ended = True
        except Cancelled as problem:
            if not any(queue.closed for queue in self.queues):   # else it was closed with cancel, and nothing is wrong
                self._failed(problem, coord)
        except BaseException as problem:  # noqa: B036 (whatever it is, the consumers get it)
            self._failed(problem, coord)
        finally:
            with self._lock:
                self._running -= 1
                last = self._running == 0
            if ended and last:
                self.close()

    def _failed(self, problem: BaseException, coord: Optional[Coordinator]) -> None:
        if coord is None:
            with self._lock:
                self._raised.append(problem)
        else:
            coord.request_stop(problem)
        self.close(cancel=True, reason=problem)

    def _close_on_stop(self, coord: Coordinator) -> None:
        while not coord.wait_for_stop(0.05):
            with self._lock:
                if self._running == 0:
                    break
        else:
            self.close(cancel=True, reason=coord.exception)

    def close(self, cancel: bool = False, reason: Optional[BaseException] = None) -> None:
        """Closes its queues."""
        for queue in self.queues:
            queue.close(cancel=cancel, reason=reason)


def start_queue_runners(*sources: Any, coord: Optional[Coordinator] = None, daemon: bool = True,
                        start: bool = True) -> "list[threading.Thread]":
    """Makes, and with `start` starts, the threads of QueueRunners, and returns them.

    sources: QueueRunners, objects with `runners` (what the functions of forebay.tf1 return; those before them come first), and
    lists of these.
    """
    if coord is not None and not isinstance(coord, Coordinator):
        raise wrong_type("coord", "a Coordinator, or None", coord)
    threads: "list[threading.Thread]" = []
    for runner in dict.fromkeys(_runners(sources)):
        threads += runner.create_threads(coord=coord, daemon=daemon, start=start)
    return threads


def _runners(sources: "Iterable[Any]") -> Iterator[QueueRunner]:
    for source in sources:
        if isinstance(source, QueueRunner):
            yield source
        elif hasattr(source, "runners"):
            yield from source.runners
        elif isinstance(source, (list, tuple)):
            yield from _runners(source)
        else:
            raise wrong_type("sources", "QueueRunners, and objects that have some", source)
