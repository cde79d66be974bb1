# SPDX-License-Identifier: Apache-2.0
"""Calls of a queue that wait, against a model of the rules in plain Python: which call is served when, and with which elements."""
from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import Any, Optional

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb


class Call:
    """A call of the model. `result`: None while it waits."""

    def __init__(self, kind: str, value: Any) -> None:
        self.kind, self.value = kind, value
        self.left: "list[int]" = list(value) if kind == "enqueue" else []
        self.taken: "list[int]" = []
        self.wanted = value if kind in ("many", "up_to") else 0
        self.result: "Optional[tuple[str, Any]]" = None


class Model:
    """A FIFO queue whose calls wait in two lines; the first of each line goes on as far as it can."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.items: "deque[int]" = deque()
        self.lines: "dict[str, deque[Call]]" = {"in": deque(), "out": deque()}
        self.closed = False

    def begin(self, call: Call) -> None:
        if call.kind == "cancel":
            self.closed, call.result = True, ("ok", None)
        elif call.kind == "enqueue":
            self.lines["in"].append(call)
        elif call.kind == "close":
            call.result = ("ok", None)   # it takes effect after the calls that wait
            self.lines["in"].append(call)
        else:
            self.lines["out"].append(call)
        before = None
        while before != (before := self.seen()):
            self.serve("in", self.put)
            self.serve("out", self.take)

    def seen(self) -> Any:
        return [self.closed, [[(len(call.left), len(call.taken)) for call in line] for line in self.lines.values()]]

    def serve(self, name: str, step: Any) -> None:
        line = self.lines[name]
        while line and step(line[0]):
            line.popleft()

    def put(self, call: Call) -> bool:
        if call.kind == "close":
            self.closed = True
            return True
        if self.closed and call.left:
            call.result = ("cancelled", None)
        while not self.closed and call.left and (self.capacity < 0 or len(self.items) < self.capacity):
            self.items.append(call.left.pop(0))
        if not call.left:
            call.result = ("ok", None)
        return call.result is not None

    def take(self, call: Call) -> bool:
        if self.closed and len(self.items) < call.wanted:
            self.items.extendleft(reversed(call.taken))
            call.wanted += len(call.taken)
            call.taken = []
            if call.kind == "many" and len(self.items) < call.wanted or not self.items:
                call.result = ("end", None)
                return True
            call.wanted = min(call.wanted, len(self.items))
        while self.items and call.wanted:
            call.taken.append(self.items.popleft())
            call.wanted -= 1
        if not call.wanted:
            call.result = ("ok", call.taken)
        return call.result is not None


class Waiting(threading.Thread):
    """The same call in a thread."""

    def __init__(self, queue: fb.Queue, kind: str, value: Any) -> None:
        super().__init__(daemon=True)
        self.queue, self.kind, self.value = queue, kind, value
        self.result: "Optional[tuple[str, Any]]" = None

    def run(self) -> None:
        try:
            self.result = "ok", self.called()
        except fb.EndOfData:
            self.result = "end", None
        except fb.Cancelled:
            self.result = "cancelled", None

    def called(self) -> Any:
        if self.kind == "enqueue":
            return self.queue.enqueue_many([np.array(self.value, np.int64)])
        if self.kind in ("many", "up_to"):
            take = self.queue.dequeue_many if self.kind == "many" else self.queue.dequeue_up_to
            return take(self.value)[0].tolist()
        return self.queue.close(cancel=self.kind == "cancel")


scripts = st.lists(st.one_of(st.tuples(st.just("enqueue"), st.lists(st.integers(0, 99), max_size=4)),
                             st.tuples(st.sampled_from(["many", "up_to"]), st.integers(0, 4)),
                             st.tuples(st.sampled_from(["close", "cancel"]), st.none())), max_size=14)


@settings(max_examples=2000 if os.environ.get("FOREBAY_LONG_TESTS") else 60, deadline=None)
@given(capacity=st.integers(-1, 4), script=scripts)
def test_calls_wait_and_are_served_as_in_the_model(capacity: int, script: "list[tuple[str, Any]]") -> None:
    queue, model = fb.Queue([fb.fixed("int64")], capacity), Model(capacity)
    threads: "list[Waiting]" = []
    calls: "list[Call]" = []
    try:
        for kind, value in script:
            threads.append(Waiting(queue, kind, value))
            calls.append(Call(kind, value))
            if value in ([], 0):   # calls for nothing do not wait, also behind others
                calls[-1].result = ("ok", None if kind == "enqueue" else [])
            else:
                model.begin(calls[-1])
            threads[-1].start()
            while True:
                stats = queue.stats()
                if sum(thread.is_alive() for thread in threads) == stats.waiting_enqueues + stats.waiting_dequeues:
                    break
                time.sleep(0)
            assert [thread.result for thread in threads] == [call.result for call in calls]
            assert (len(queue), queue.closed) == (len(model.items), model.closed)
    finally:
        queue.close(cancel=True)
        for thread in threads:
            thread.join()
