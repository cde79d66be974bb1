# SPDX-License-Identifier: Apache-2.0
"""forebay.Feed: rows that a program gives while a loader runs."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import forebay as fb


def numbers(loader: fb.Loader) -> list[int]:
    return [int(n) for batch in loader for n in batch["n"]]


def test_rows_of_two_producers_come_each_in_its_order() -> None:
    rows = fb.Feed({"n": fb.fixed("int64")}, capacity=10)

    def produce(first: int) -> None:
        for i in range(first, first + 300):
            rows.put({"n": i})

    threads = [threading.Thread(target=produce, args=(first,)) for first in (0, 1000)]
    for thread in threads:
        thread.start()
    threading.Thread(target=lambda: ([thread.join() for thread in threads], rows.close())).start()
    got = numbers(fb.feed(rows).batch(size=7).load(threads=2))
    assert [n for n in got if n < 1000] == list(range(300))
    assert [n for n in got if n >= 1000] == list(range(1000, 1300))


def test_every_kind_of_column() -> None:
    with fb.Feed({"x": fb.fixed("float32", [2]), "ids": fb.var_len("int32"), "name": fb.fixed("string")}) as rows:
        rows.put({"x": [1, 2], "ids": [3], "name": "a"})
        rows.put({"name": b"\0", "ids": [], "x": np.array([0.5, 1.5])})
        rows.put_rows({"x": np.ones((2, 2)), "ids": [[1, 2], [3, 4]], "name": ["c", "d"]})
    (batch,) = fb.feed(rows).batch(size=4).load()
    np.testing.assert_array_equal(batch["x"], np.array([[1, 2], [0.5, 1.5], [1, 1], [1, 1]], np.float32))
    assert batch["ids"].values.tolist() == [3, 1, 2, 3, 4] and batch["ids"].row_splits.tolist() == [0, 1, 1, 3, 5]
    assert batch["ids"].values.dtype == np.int32
    assert batch["name"].tolist() == [b"a", b"\0", b"c", b"d"]
    assert batch.record_keys == [f"feed:{i}" for i in range(4)]


def test_a_batch_comes_as_soon_as_its_rows_are_there() -> None:
    rows = fb.Feed({"n": fb.fixed("int64")})
    loader = fb.feed(rows).batch(size=2).load()
    for i in range(20):
        rows.put_rows({"n": [i, -i]})
        assert next(loader)["n"].tolist() == [i, -i]
    assert len(rows) == 0


def test_an_exception_of_the_producer_ends_the_loader_after_the_rows_before_it() -> None:
    rows = fb.Feed({"n": fb.fixed("int64")})
    with pytest.raises(ZeroDivisionError), rows:
        rows.put({"n": 1})
        rows.put({"n": 1 // 0})
    loader = fb.feed(rows).batch(size=1).load()
    assert next(loader)["n"].tolist() == [1]
    for _ in range(2):
        with pytest.raises(fb.DataError, match="the producer failed: ZeroDivisionError"):
            next(loader)


def test_close_frees_a_producer_that_waits_and_a_consumer_that_waits() -> None:
    rows = fb.Feed({"n": fb.fixed("int64")}, capacity=1)
    loader = fb.feed(rows).batch(size=1000).load()
    ended: list[object] = []

    def produce() -> None:
        try:
            while True:
                rows.put({"n": 1})
        except fb.Cancelled as closed:
            ended.append(closed)

    producer = threading.Thread(target=produce)
    producer.start()
    threading.Timer(0.3, loader.close).start()
    began = time.monotonic()
    with pytest.raises(fb.Cancelled):
        list(loader)
    producer.join(5)
    assert not producer.is_alive() and len(ended) == 1 and rows.closed
    assert time.monotonic() - began < 20


def test_ctrl_c_ends_a_wait_for_rows_and_loses_no_row() -> None:
    program = """
import os, signal, threading
import forebay as fb
rows = fb.Feed({"n": fb.fixed("int64")})
loader = fb.feed(rows).batch(size=3).load()
rows.put({"n": 1})
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    next(loader)
except KeyboardInterrupt:
    print("interrupted")
rows.put({"n": 2}), rows.put({"n": 3})
print(next(loader)["n"].tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("interrupted\n[1, 2, 3]\n", "")


@pytest.mark.parametrize("row, words", [
    ({"n": 1.5}, "array 'n': values of type float64 do not fit int32"),
    ({"n": 2**40}, "array 'n': values of type int64 do not fit int32"),
    ({"n": [1, 2]}, "column 'n' is int32[2], expected int32[]"),
    ({"n": "x"}, "column 'n' is string[], expected int32[]"),
    ({"m": 1}, "a row has the columns ['m'], expected ['n']"),
])
def test_rows_that_do_not_fit_are_refused(row: dict[str, object], words: str) -> None:
    rows = fb.Feed({"n": fb.fixed("int32")})
    with pytest.raises(fb.ConfigError) as failure:
        rows.put(row)
    assert words in str(failure.value)
    assert len(rows) == 0


def test_what_a_feed_cannot_do_is_refused() -> None:
    rows = fb.Feed({"n": fb.fixed("int64")})
    with pytest.raises(fb.ConfigError, match="can be read once, so 'epochs' must be 1"):
        fb.feed(rows).batch(size=1).epochs(2).load()
    with pytest.raises(fb.ConfigError, match="cannot be reached in any order; give 'shuffle' a buffer"):
        fb.feed(rows).shuffle(global_=True).batch(size=1).load()
    with pytest.raises(fb.StateError, match="cannot be read again, so this run has no state"):
        fb.feed(rows).batch(size=1).load().state_dict()
    with pytest.raises(TypeError, match="a forebay.Feed"):
        fb.feed({"n": [1]})  # type: ignore[arg-type]
    with pytest.raises(fb.ConfigError, match="a feed takes fb.fixed"):
        fb.Feed({"n": fb.fixed("int64", default=1)})
    with pytest.raises(fb.ConfigError, match="capacity: must be 1 or more rows, found 0"):
        fb.Feed({"n": fb.fixed("int64")}, capacity=0)


def test_a_document_names_a_feed() -> None:
    with fb.Feed({"n": fb.fixed("int64")}) as rows:
        rows.put_rows({"n": [1, 2, 3]})
    document = {"source": {"feed": {"bind": "queue"}}, "steps": [{"batch": {"size": 2}}]}
    assert numbers(fb.load(document, bind={"queue": rows})) == [1, 2, 3]


def test_put_rows_takes_rows_of_different_lengths() -> None:
    rows = fb.Feed({"x": fb.var_len("int64")})
    rows.put_rows({"x": fb.Ragged(np.arange(5, dtype=np.int32), [0, 2, 2, 5])})
    rows.put({"x": [9]})
    rows.close()
    (batch,) = fb.feed(rows).batch(size=4).load()
    assert [row.tolist() for row in batch["x"]] == [[0, 1], [], [2, 3, 4], [9]]


def test_a_pull_without_rows_and_without_an_open_handle_is_an_error() -> None:
    rows = fb.Feed({"n": fb.fixed("int64")})
    with rows.producer() as producer:
        producer.put({"n": 1})
        producer.put_many({"n": [2, 3]})
    loader = fb.feed(rows).batch(size=1).load()
    assert [next(loader)["n"].tolist() for _ in range(3)] == [[1], [2], [3]]
    with pytest.raises(fb.DataError, match="no producer's handle is open"):
        next(loader)


def test_a_pull_waits_while_a_handle_is_open_and_close_ends_the_rows() -> None:
    rows = fb.Feed({"n": fb.fixed("int64")})
    handles = [rows.producer(), rows.producer()]
    handles[0].close()
    handles[0].close()

    def produce() -> None:
        time.sleep(0.2)
        with handles[1]:
            handles[1].put({"n": 7})
            rows.close()

    threading.Thread(target=produce).start()
    assert numbers(fb.feed(rows).batch(size=2).load()) == [7]


def test_a_producer_that_fails_ends_the_loader() -> None:
    rows = fb.Feed({"n": fb.fixed("int64")})
    with pytest.raises(ZeroDivisionError), rows.producer():
        raise ZeroDivisionError("no rows")
    with pytest.raises(fb.DataError, match="the producer failed: ZeroDivisionError: no rows"):
        list(fb.feed(rows).batch(size=1).load())
    other = fb.Feed({"n": fb.fixed("int64")})
    other.fail("the sensor is broken")
    with pytest.raises(fb.DataError, match="the sensor is broken"):
        list(fb.feed(other).batch(size=1).load())
    with pytest.raises(fb.ConfigError, match=r"columns\['t'\]: a feed takes elements of type .*'datetime64'"):
        fb.Feed({"t": {"dtype": "datetime64", "shape": []}})  # type: ignore[dict-item]
