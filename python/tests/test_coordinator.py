# SPDX-License-Identifier: Apache-2.0
"""forebay.Coordinator and forebay.QueueRunner."""
from __future__ import annotations

import sys
import threading
import time
from typing import Any

import pytest

import forebay as fb


def numbers(capacity: int = 32, **more: Any) -> fb.Queue:
    return fb.Queue([fb.fixed("int64")], capacity, **more)


def test_tf_19_the_first_error_wins() -> None:
    coord = fb.Coordinator()
    first = threading.Event()

    def one() -> None:
        with coord.stop_on_exception():
            try:
                raise RuntimeError("First")
            finally:
                first.set()

    def two() -> None:
        coord.wait_for_stop()
        with coord.stop_on_exception():
            raise RuntimeError("Too late")

    threads = [threading.Thread(target=one), threading.Thread(target=two)]
    for thread in threads:
        thread.start()
    with pytest.raises(RuntimeError, match="First"):
        coord.join(threads)
    assert first.is_set() and coord.joined


def test_tf_19_stragglers_are_named_or_ignored() -> None:
    coord, release = fb.Coordinator(), threading.Event()
    slow = threading.Thread(target=release.wait, name="slow-one", daemon=True)
    slow.start()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="threads still running: slow-one"):
        coord.join([slow], stop_grace_period_secs=0.02)
    coord.clear_stop()
    coord.register_thread(slow)
    coord.request_stop()
    coord.join(stop_grace_period_secs=0.02, ignore_live_threads=True)
    coord.clear_stop()
    coord.request_stop(ValueError("the cause"))
    with pytest.raises(ValueError, match="the cause"):   # it wins over stragglers
        coord.join([slow], stop_grace_period_secs=0.02)
    release.set()
    slow.join()


def test_the_end_of_the_data_is_no_error_and_an_error_after_join_is_raised_at_once() -> None:
    coord = fb.Coordinator()
    coord.request_stop(fb.EndOfData("the end", code="end"))
    assert coord.should_stop() and coord.wait_for_stop(0) and coord.exception is None
    coord.request_stop(ValueError("later, and ignored"))
    coord.join()
    with pytest.raises(ValueError, match="after"):
        coord.request_stop(ValueError("after"))
    coord.clear_stop()
    assert not coord.should_stop() and not coord.joined and not coord.wait_for_stop(0)
    try:
        raise KeyError("x")
    except KeyError:
        coord.request_stop(sys.exc_info())
    with pytest.raises(KeyError):
        coord.raise_requested_exception()
    own = fb.Coordinator(clean_stop_exception_types=(ValueError,))
    own.request_stop(ValueError("clean"))
    own.join()


def test_tf_20_a_runner_copies_to_the_end_and_closes_its_queue() -> None:
    first, second = numbers(3, name="q0"), numbers(30, name="q1")
    first.enqueue_many([[10, 20]])
    first.close()
    runner = fb.QueueRunner(second, [lambda: second.enqueue(first.dequeue())])
    for thread in runner.create_threads(start=True):
        thread.join()
    assert second.closed and [int(value[0]) for value in second] == [10, 20]
    with pytest.raises(fb.EndOfData, match="is closed"):
        second.dequeue()
    assert runner.exceptions_raised == []


def test_the_queue_is_closed_when_the_last_thread_has_ended() -> None:
    source, out, go = numbers(), numbers(), threading.Event()
    source.close()

    def slow() -> None:
        go.wait()
        raise fb.EndOfData("the end", code="end")

    runner = fb.QueueRunner(out, [source.dequeue, slow])
    threads = runner.create_threads(start=True)
    threads[0].join()
    assert not out.closed and runner.create_threads() == []   # one still runs
    go.set()
    threads[1].join()
    assert out.closed


def test_an_error_goes_to_the_coordinator_and_through_the_queue_to_the_consumer() -> None:
    coord, queue = fb.Coordinator(), numbers(2)
    values = iter([1, 2, 3])

    def fill() -> None:
        value = next(values)
        if value == 2:
            raise fb.DataError("record 2 is corrupt", code="data")
        queue.enqueue([value])

    threads = fb.start_queue_runners(fb.QueueRunner(queue, [fill]), coord=coord)
    assert int(queue.dequeue()[0]) == 1
    with pytest.raises(fb.DataError, match="record 2"):
        queue.dequeue()
    with pytest.raises(fb.DataError, match="record 2"):
        coord.join(threads)


def test_a_stop_frees_threads_that_wait() -> None:
    coord, queue = fb.Coordinator(), numbers(1)
    threads = fb.start_queue_runners([fb.QueueRunner(queue, [lambda: queue.enqueue([1])] * 3)], coord=coord)
    while queue.stats().waiting_enqueues < 3:
        time.sleep(0.001)
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=20)
    assert queue.closed and queue.reason is None and len(queue) == 1


def test_without_a_coordinator_errors_are_kept() -> None:
    queue = numbers()
    runner = fb.QueueRunner(queue, [lambda: 1 // 0])
    runner.create_threads(start=True)[0].join()
    assert [type(error) for error in runner.exceptions_raised] == [ZeroDivisionError]
    with pytest.raises(ZeroDivisionError):
        queue.dequeue()


def test_arguments_are_checked() -> None:
    with pytest.raises(fb.ConfigError):
        fb.QueueRunner(numbers(), [])
    with pytest.raises(TypeError):
        fb.start_queue_runners(3)
    with pytest.raises(TypeError):
        fb.start_queue_runners(coord=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        fb.Coordinator().request_stop("x")  # type: ignore[arg-type]
