# SPDX-License-Identifier: Apache-2.0
"""The workers of one `map`: a queue, and one thread for each worker, which calls the function or has a process call it."""
from __future__ import annotations

import _thread
import os
import queue
import threading
import time
import warnings
from typing import Any, Callable, Optional, Protocol

from forebay._map.call import Call, Fault, batch_text, delivered
from forebay.errors import Cancelled

#: Seconds in which `close` ends.
CLOSE_SECONDS = 1.8


def closed() -> Cancelled:
    """The error of a loader that was closed."""
    return Cancelled("the pipeline was closed", code="cancelled")


class Task:
    """One batch that is out. It may be submitted several times; one worker begins it and finishes it."""

    __slots__ = ("call", "batch", "value", "fault", "submitted", "finished", "_begun", "_done")

    def __init__(self, call: Call, batch: Any) -> None:
        self.call = call
        self.batch = batch
        self.value: Any = None
        self.fault: Optional[Fault] = None
        self.submitted = False
        self.finished = False
        self._begun = threading.Lock()
        self._done = threading.Lock()
        self._done.acquire()

    def begin(self) -> bool:
        """Whether the worker that asks is the first one."""
        return not self.finished and self._begun.acquire(blocking=False)

    def finish(self, value: Any = None, fault: Optional[Fault] = None) -> None:
        if self.finished:
            return
        self.value, self.fault = value, fault
        self.finished = True
        try:
            self._done.release()
        except RuntimeError:  # two threads at once: one of them was `close`
            pass

    def wait(self, seconds: float) -> bool:
        """Whether the task is finished. An interrupt of the wait loses nothing."""
        return self.finished or self._done.acquire(timeout=seconds) or self.finished


class Caller(Protocol):
    """The side of one worker that its thread has."""

    def call(self, task: Task) -> Any: ...

    def stop(self) -> None:
        """Called by `close`, on another thread: the call that is running ends if that is possible."""

    def join(self, deadline: float) -> None:
        """Called by `close` after `stop`: what still runs at the deadline is killed if that is possible."""

    def finished(self) -> None:
        """Called by the thread of the worker, at its end."""


class ThreadCaller:
    """Calls the function on the thread itself."""

    def call(self, task: Task) -> Any:
        return delivered(task.call(task.batch), task.batch)

    def stop(self) -> None:
        pass

    def join(self, deadline: float) -> None:
        pass

    def finished(self) -> None:
        pass


class Pool:
    """Threads that finish tasks in the order in which they are submitted. Methods are for the consumer's thread;
    `close` is for any thread.

    The threads own the queue and their Caller, not the pool or the function, so an abandoned loader is collected.
    """

    def __init__(self, name: str, workers: int, make_caller: Callable[[], Caller]) -> None:
        self.name = name
        self._workers = workers
        self._make_caller = make_caller
        self._queue: "queue.SimpleQueue[Optional[Task]]" = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._callers: list[Caller] = []
        self._lock = threading.Lock()
        self._started = False
        self._broken: Optional[Fault] = None
        self._closed = False
        self._process = os.getpid()

    def submit(self, task: Task) -> None:
        """May be interrupted at any place, and then called again with the same task."""
        self._queue.put(task)
        if not self._started:
            _thread.start_new_thread(self._start, ())  # Ctrl-C does not come there
        elif self._broken is not None:
            task.finish(fault=self._broken)

    def _start(self) -> None:
        with self._lock:
            if self._started or self._closed:
                return
            try:
                for number in range(self._workers):
                    caller = self._make_caller()
                    thread = threading.Thread(target=_work, args=(self._queue, caller), daemon=True,
                                              name=f"forebay-map-{number}")
                    self._callers.append(caller)
                    self._threads.append(thread)
                    thread.start()
            except RuntimeError as failure:  # no more threads: fewer will do
                self._threads.pop()
                if not self._threads:
                    self._broken = Fault(failure, f"in map: starting a worker of {self.name}")
            self._started = True
            while self._broken is not None and (task := self._take()) is not None:
                task.finish(fault=self._broken)

    def _take(self) -> Optional[Task]:
        try:
            return self._queue.get_nowait()
        except queue.Empty:
            return None

    def has_thread(self, ident: int) -> bool:
        return any(thread.ident == ident for thread in self._threads)

    def forget(self) -> None:
        """No worker begins with a task that was submitted and is still in the queue."""
        while self._take() is not None:
            pass

    def _end(self) -> None:
        self._closed = True
        self.forget()
        self._queue.put(None)

    def abandon(self) -> None:
        """Ends the workers without waiting for a function that runs in a thread. For finalizers."""
        if self._process == os.getpid():
            self._end()
            for caller in self._callers:
                caller.stop()
            for caller in self._callers:
                caller.join(0)

    def close(self) -> None:
        """Ends the workers within CLOSE_SECONDS. Warns of threads whose function does not return; they are daemons."""
        if self._process != os.getpid():
            return
        with self._lock:
            self._end()
        deadline = time.monotonic() + CLOSE_SECONDS
        for caller in self._callers:
            caller.stop()
        for caller in self._callers:
            caller.join(deadline - 0.5)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        running = [thread for thread in self._threads if thread.is_alive() and thread is not threading.current_thread()]
        self._threads = []
        if running:
            warnings.warn(f"close: {self.name}, given to map, has not returned; it still runs in "
                          f"{', '.join(thread.name for thread in running)}, which ends with the process",
                          RuntimeWarning, stacklevel=3)


def _work(tasks: "queue.SimpleQueue[Optional[Task]]", caller: Caller) -> None:
    while True:
        task = tasks.get()
        if task is None:
            tasks.put(None)  # for the next worker
            caller.finished()
            return
        if not task.begin():
            continue
        try:
            task.finish(caller.call(task))
        except Fault as fault:
            task.finish(fault=fault)
        except Cancelled:
            task.finish(fault=Fault(closed(), ""))
        except BaseException as failure:  # SystemExit or KeyboardInterrupt of the function: the consumer raises it
            task.finish(fault=Fault(failure, batch_text(task.call.name, task.batch)))
        task = None
