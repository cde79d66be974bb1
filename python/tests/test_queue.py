# SPDX-License-Identifier: Apache-2.0
"""forebay.Queue: elements of fixed types between threads."""
from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from typing import Any, Optional

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb


def numbers(capacity: Optional[int] = 32, **more: Any) -> fb.Queue:
    """A queue of int64 scalars."""
    return fb.Queue([fb.fixed("int64")], capacity, **more)


def test_dicts_and_tuples_come_out_as_they_went_in() -> None:
    queue = fb.Queue({"x": fb.fixed("float32", [2]), "text": fb.fixed("string"), "b": fb.fixed("bool")})
    queue.enqueue({"x": [1, 2], "text": "one", "b": True})
    queue.enqueue_many({"x": np.ones((2, 2)), "text": ["two", b"\0"], "b": [False, True]})
    first = queue.dequeue()
    assert (first["x"].tolist(), first["x"].dtype, first["text"].item(), bool(first["b"])) == ([1, 2], np.float32, b"one", True)
    rest = queue.dequeue_many(2)
    assert (rest["x"].tolist(), rest["text"].tolist(), rest["b"].tolist()) == ([[1, 1]] * 2, [b"two", b"\0"], [False, True])
    other = fb.Queue([fb.fixed("int8"), fb.fixed("bfloat16", [1])])
    other.enqueue((3, np.array([0x3f80], np.uint16)))
    small, wide = other.dequeue_many(1)
    assert small.dtype == np.int8 and wide.shape == (1, 1)


def test_arrays_are_copied_unless_they_are_lent() -> None:
    queue = fb.Queue([fb.fixed("int64", [2])])
    array = np.array([1, 2])
    queue.enqueue([array])
    queue.enqueue([array], copy=False)
    array[0] = 9
    assert [queue.dequeue()[0].tolist() for _ in range(2)] == [[1, 2], [9, 2]]


def test_tf_15_batches_and_the_end() -> None:
    queue = numbers(-1)
    queue.enqueue_many([np.arange(35)])
    queue.close()
    assert [queue.dequeue_many(10)[0][0] for _ in range(3)] == [0, 10, 20]
    with pytest.raises(fb.EndOfData, match=r"queue 'queue' is closed and has insufficient elements \(requested 10, current size 5\)"):
        queue.dequeue_many(10)
    assert queue.dequeue_up_to(10)[0].tolist() == [30, 31, 32, 33, 34]


def test_tf_17_the_floor_of_a_shuffling_queue() -> None:
    queue = numbers(10, kind="random_shuffle", min_after_dequeue=4)
    queue.enqueue_many([np.arange(4)])
    with pytest.raises(TimeoutError):
        queue.dequeue(timeout=0)
    queue.enqueue([4])
    first = int(queue.dequeue(timeout=0)[0])
    queue.close()
    rest = sorted(queue.dequeue_many(2)[0].tolist() + [first])
    with pytest.raises(fb.EndOfData):
        queue.dequeue_many(3)
    assert sorted(rest + queue.dequeue_up_to(3)[0].tolist()) == [0, 1, 2, 3, 4]


def test_tf_21_fullness_and_its_names() -> None:
    queue = numbers(32, name="files")
    queue.enqueue_many([np.arange(8)])
    assert (queue.stats().fill_ratio, queue.summaries()) == (0.25, {"files/fraction_of_32_full": 0.25})
    mixed = numbers(100, kind="random_shuffle", min_after_dequeue=20, name="m")
    mixed.enqueue_many([np.arange(60)])
    assert mixed.summaries() == {"m/fraction_of_100_full": 0.6, "m/fraction_over_20_of_80_full": 0.5}
    fewer = numbers(100, kind="random_shuffle", min_after_dequeue=20)
    fewer.enqueue_many([np.arange(10)])
    assert fewer.stats().fill_over_min == 0
    assert numbers(None).summaries() == {}


def test_rows_of_a_call_that_runs_out_of_time_are_counted() -> None:
    queue = numbers(3)
    with pytest.raises(TimeoutError, match="3 of 5 rows") as caught:
        queue.enqueue_many([np.arange(5)], timeout=0)
    assert caught.value.rows == 3 and len(queue) == 3  # type: ignore[attr-defined]
    with pytest.raises(TimeoutError):
        queue.enqueue([1], timeout=0.001)


def test_consumers_get_the_reason_of_a_close_after_the_elements() -> None:
    reason = fb.DataError("a.tfrecord, record 7: its checksum is wrong", code="data", file="a.tfrecord", record=7)
    queue = numbers()
    queue.enqueue([1])
    queue.close(cancel=True, reason=reason)
    queue.close(reason=ValueError("later"))
    assert int(queue.dequeue()[0]) == 1
    for _ in range(2):
        with pytest.raises(fb.DataError, match="record 7") as caught:
            queue.dequeue()
        assert caught.value.record == 7 and caught.value is not reason and caught.value.__cause__ is reason
    with pytest.raises(fb.Cancelled):
        queue.enqueue([2])


def test_a_scope_closes_and_hands_on_its_exception() -> None:
    with numbers() as queue:
        queue.enqueue([1])
    assert queue.closed and list(queue) == [(1,)]
    with pytest.raises(KeyError), numbers() as other:
        raise KeyError("x")
    with pytest.raises(KeyError, match="x"):
        other.dequeue()


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(fb.ConfigError, match="component 'x': found int64\\[3\\], allowed is int64\\[2\\]"):
        fb.Queue({"x": fb.fixed("int64", [2])}).enqueue({"x": [1, 2, 3]})
    with pytest.raises(fb.ConfigError, match="found \\['y'\\], expected \\['x'\\]"):
        fb.Queue({"x": fb.fixed("int64")}).enqueue({"y": 1})
    with pytest.raises(fb.ConfigError, match="found 2 tensors, allowed is one for each of its 1"):
        numbers().enqueue([1, 2])
    with pytest.raises(fb.ConfigError, match="float64 do not fit int64"):
        numbers().enqueue([1.5])
    with pytest.raises(fb.ConfigError, match="capacity 4 must be bigger than min_after_dequeue 4"):
        numbers(4, kind="random_shuffle", min_after_dequeue=4)
    with pytest.raises(fb.ConfigError, match="kind: must be one of fifo, random_shuffle"):
        numbers(kind="lifo")
    with pytest.raises(TypeError, match="components"):
        fb.Queue("int64")
    with pytest.raises(fb.ConfigError, match="only a padding_fifo queue has unknown sizes"):
        fb.Queue([fb.var_len("int64")])
    with pytest.raises(fb.ConfigError, match="component '0' has no shape"):
        fb.Queue(["int64"]).dequeue_many(1)
    with pytest.raises(fb.ConfigError, match="-1 elements"):
        numbers().dequeue_up_to(-1)
    with pytest.raises(fb.ConfigError, match="timeout"):
        numbers().dequeue(timeout=-1)


def test_the_end_survives_pickling() -> None:
    queue = numbers()
    queue.close()
    with pytest.raises(fb.EndOfData) as caught:
        queue.dequeue()
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.code) == (fb.EndOfData, str(caught.value), "end")


class Model:
    """A queue of numbers in plain Python, for calls that do not wait."""

    def __init__(self, kind: str, capacity: int, floor: int) -> None:
        self.kind, self.capacity, self.floor = kind, capacity, floor
        self.items: "deque[int]" = deque()
        self.closed = False

    def enqueue_many(self, values: "list[int]") -> "tuple[str, Any]":
        if not values:
            return "ok", None
        if self.closed:
            return "cancelled", None
        room = len(values) if self.capacity < 0 else min(len(values), self.capacity - len(self.items))
        self.items.extend(values[:room])
        return ("ok", None) if room == len(values) else ("timeout", room)

    def dequeue(self, count: int, up_to: bool) -> "tuple[str, Any]":
        have = len(self.items) if self.closed else max(0, len(self.items) - self.floor)
        if self.closed and have < count:
            if not up_to or have == 0:
                return "end", None
            count = have
        if have < count:
            return "timeout", None
        if self.kind == "priority":
            self.items = deque(sorted(self.items))
        return "ok", [self.items.popleft() for _ in range(count)]


def found(call: Any) -> "tuple[str, Any]":
    try:
        return "ok", call()
    except TimeoutError as error:
        return "timeout", getattr(error, "rows", None)
    except fb.Cancelled:
        return "cancelled", None
    except fb.EndOfData:
        return "end", None


calls = st.one_of(st.tuples(st.just("enqueue"), st.lists(st.integers(0, 9), max_size=5)),
                  st.tuples(st.sampled_from(["many", "up_to"]), st.integers(0, 4)),
                  st.tuples(st.just("close"), st.booleans()))


@settings(max_examples=4000 if os.environ.get("FOREBAY_LONG_TESTS") else 150, deadline=None)
@given(kind=st.sampled_from(["fifo", "random_shuffle", "padding_fifo", "priority"]), capacity=st.integers(-1, 6),
       floor=st.integers(0, 3), script=st.lists(calls, max_size=25))
def test_any_script_gives_what_a_plain_queue_gives(kind: str, capacity: int, floor: int,
                                                    script: "list[tuple[str, Any]]") -> None:
    floor = floor if kind == "random_shuffle" and (capacity < 0 or floor < capacity) else 0
    if kind == "random_shuffle" and capacity == 0:
        capacity = 1
        floor = 0
    queue, model = numbers(capacity, kind=kind, min_after_dequeue=floor), Model(kind, capacity, floor)
    for call, value in script:
        if call == "enqueue":
            got = found(lambda: queue.enqueue_many([np.array(value, np.int64)], timeout=0))
            assert got == model.enqueue_many(value)
        elif call == "close":
            queue.close(cancel=value)
            model.closed = True
        else:
            take = queue.dequeue_many if call == "many" else queue.dequeue_up_to
            got = found(lambda: take(value, timeout=0)[0].tolist())
            want = model.dequeue(value, call == "up_to")
            if kind == "random_shuffle" and want[0] == "ok":
                held = [*want[1], *model.items]
                for one in got[1]:
                    held.remove(one)
                model.items, want = deque(held), ("ok", got[1] if len(got[1]) == len(want[1]) else want[1])
            assert got == want
        assert len(queue) == len(model.items)


def test_many_threads_move_every_element_once_and_leave_the_interpreter_free() -> None:
    queue, seen, lock = numbers(5), [], threading.Lock()

    def take() -> None:
        for (value,) in queue:
            with lock:
                seen.append(int(value))

    takers = [threading.Thread(target=take) for _ in range(4)]
    givers = [threading.Thread(target=lambda i=i: [queue.enqueue([i * 100 + k]) for k in range(100)]) for i in range(4)]
    for thread in takers + givers:
        thread.start()
    for thread in givers:
        thread.join()
    queue.close()
    for thread in takers:
        thread.join()
    assert sorted(seen) == list(range(400))


@pytest.mark.own_process
@pytest.mark.parametrize("call", ["dequeue", "dequeue_many", "enqueue"])
def test_ctrl_c_ends_a_wait_and_nothing_is_lost(call: str) -> None:
    queue = numbers(2)
    queue.enqueue_many([[1, 2]] if call == "enqueue" else [[1]])
    if call == "dequeue":
        queue.dequeue()
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        {"dequeue": queue.dequeue, "dequeue_many": lambda: queue.dequeue_many(2), "enqueue": lambda: queue.enqueue([3])}[call]()
    assert len(queue) == {"dequeue": 0, "dequeue_many": 1, "enqueue": 2}[call]


PROGRAM = """
import os, sys, threading, time
import forebay as fb
queue = fb.Queue([fb.fixed("int64")], 2)
queue.enqueue([1])
threading.Thread(target=lambda: queue.dequeue_many(3), daemon=True).start()
while queue.stats().waiting_dequeues == 0: time.sleep(0.001)
child = os.fork()
if child == 0:
    try:
        queue.enqueue([2])
    except fb.StateError as error:
        os._exit(0 if "before fork" in str(error) else 2)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
print("ended")
"""


def test_a_child_of_fork_is_told_and_a_program_ends_with_a_thread_that_waits() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


def test_a_waiting_call_lets_other_threads_run() -> None:
    queue = numbers()
    thread = threading.Thread(target=queue.dequeue)
    thread.start()
    count, until = 0, time.monotonic() + 0.02
    while time.monotonic() < until:
        count += 1
    queue.enqueue([1])
    thread.join()
    assert count > 100
