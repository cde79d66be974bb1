# SPDX-License-Identifier: Apache-2.0
"""forebay.StateSaver: segments in batches, and the states that follow them."""
from __future__ import annotations

import collections
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import forebay as fb


def numbers(batch_size: int = 2, num_unroll: int = 3, **more: Any) -> fb.StateSaver:
    """One sequence "x" of int32 and one state "h" of one int32."""
    return fb.StateSaver(batch_size, num_unroll, {"x": fb.fixed("int32")}, {"h": np.zeros(1, np.int32)}, **more)


def test_every_frame_comes_once_in_order_and_states_add_up_to_whole_sequences() -> None:
    random = np.random.default_rng(3)
    given = {f"k{i}": random.standard_normal((random.integers(1, 40), 2)) for i in range(60)}
    saver = fb.StateSaver.padded(5, 4, {"x": fb.fixed("float64", [2])},
                                 {"sum": np.zeros(2), "steps": fb.fixed("int64", default=3)})
    for key, frames in given.items():
        saver.insert(key, {"x": frames})
    saver.close()
    parts: "dict[str, list[Any]]" = collections.defaultdict(list)
    for batch in saver:
        sums = batch.state("sum") + batch.sequences["x"].sum(axis=1)
        steps = batch.state("steps")
        assert steps.tolist() == (batch.sequence + 3).tolist()
        assert batch.insertion_index.tolist() == sorted(batch.insertion_index)
        for row, key in enumerate(batch.key):
            name = key.partition(":")[2]
            parts[name].append(batch.sequences["x"][row, :batch.length[row]])
            if batch.next_key[row] == f"STOP:{name}":
                np.testing.assert_allclose(sums[row], given[name].sum(axis=0), rtol=0, atol=1e-12)
        batch.save_state("sum", sums)
        batch.save_state("steps", steps + 1)
    assert {name: np.concatenate(pieces).tolist() for name, pieces in parts.items()} == {
        key: frames.tolist() for key, frames in given.items()}
    assert saver.sizes == fb.SaverSizes(0, 0, 0, 0, 0)


def test_the_fields_of_a_batch() -> None:
    saver = fb.StateSaver(2, 2, {"x": fb.fixed("float32", [1]), "w": fb.fixed("string")},
                          {"h": fb.fixed("float32", [2]), "s": "begin"}, {"c": fb.fixed("int64", [2])}, pad=True)
    saver.insert("a", {"x": [[1], [2], [3]], "w": ["p", "q", b"r\0"]}, 2, {"c": [7, 8]})
    saver.insert(b"\xff", {"x": np.ones((1, 1), np.float32), "w": ["z"]}, context={"c": [9, 9]},
                 initial_states={"h": [5, 6]}, epoch=4)
    batch = saver.take()
    assert batch is not None and (batch.rows, len(batch)) == (2, 2)
    assert batch.key == ["00000_of_00002:a", "00000_of_00001:\udcff"]
    assert batch.next_key == ["00001_of_00002:a", "STOP:\udcff"]
    assert batch.sequences["x"].tolist() == [[[1], [2]], [[1], [0]]] and batch.sequences["x"].dtype == np.float32
    assert batch.sequences["w"].tolist() == [[b"p", b"q"], [b"z", b""]]
    assert batch.context["c"].tolist() == [[7, 8], [9, 9]]
    assert batch.state("h").tolist() == [[0, 0], [5, 6]]
    assert batch.state("s").tolist() == [b"begin", b"begin"]
    for name, values, dtype in [("sequence", [0, 0], "int32"), ("sequence_count", [2, 1], "int32"), ("length", [2, 1], "int32"),
                                ("total_length", [2, 1], "int32"), ("insertion_index", [-2**63, 1 - 2**63], "int64"),
                                ("epoch", [0, 4], "int64"), ("reset", [True, True], "bool")]:
        array = getattr(batch, name)
        assert (array.tolist(), array.dtype.name) == (values, dtype), name
    batch.save_state("h", np.ones((2, 2), np.float32))
    batch.save_state("s", np.array([b"later", b""], dtype=object))
    after = saver.take(1)
    assert after is not None and after.sequences["w"].tolist() == [[b"r\0", b""]] and after.length.tolist() == [0]
    assert after.state("s").tolist() == [b"later"] and after.reset.tolist() == [False]


def test_arrays_outlive_the_batch_and_the_saver_and_inserted_arrays_may_change() -> None:
    saver = numbers(1, 2)
    frames = np.array([1, 2], np.int32)
    saver.insert("a", {"x": frames}, 2)
    frames[:] = 9
    batch = saver.take()
    assert batch is not None
    x = batch.sequences["x"]
    del batch, saver
    assert x.tolist() == [[1, 2]]


def test_shared_arrays_live_as_long_as_their_example() -> None:
    saver = numbers(1, 2, capacity=2)
    frames = np.array([1, 2, 3, 4], np.int32)
    gone = weakref.ref(frames)
    saver.insert("a", {"x": frames}, 4, copy=False)
    frames[3] = 9
    del frames
    first = saver.take()
    assert first is not None and gone() is not None
    first.save_state("h", first.state("h"))
    last = saver.take()
    assert last is not None and gone() is None
    assert (first.sequences["x"].tolist(), last.sequences["x"].tolist()) == ([[1, 2]], [[3, 9]])
    frames = np.array([1, 2], np.int32)
    gone = weakref.ref(frames)
    saver.insert("b", {"x": frames}, 2, copy=False)
    del frames, saver
    assert gone() is not None, "the batches keep the saver alive"
    del first, last
    assert gone() is None


def test_sizes_take_and_timeouts() -> None:
    saver = numbers(2, 1, capacity=3)
    saver.insert("a", {"x": [1, 2]}, 2)
    with pytest.raises(TimeoutError, match="too few segments are ready"):
        saver.take(timeout=0)
    saver.insert("b", {"x": [1, 2, 3]}, 3), saver.insert("c", {"x": [1]}, 1)
    assert saver.sizes == fb.SaverSizes(ready_segments=3, ready_batches=1, waiting_segments=3, live_examples=3,
                                        undelivered_segments=0)
    began = time.monotonic()
    with pytest.raises(TimeoutError, match="capacity"):
        saver.insert("d", {"x": [1]}, 1, timeout=0.05)
    assert time.monotonic() - began > 0.04
    empty = saver.take(0)
    assert empty is not None and empty.rows == 0 and empty.sequences["x"].shape == (0, 1)
    saver.close(cancel=True)
    assert saver.sizes.undelivered_segments == 3


@pytest.mark.parametrize("call, kind, words", [
    (lambda: numbers(-1), fb.ConfigError, "batch_size: must be 1 … 16777216, found -1"),
    (lambda: numbers(num_unroll=2.5), TypeError, "num_unroll: must be an integer; found 2.5"),
    (lambda: numbers(capacity=1), fb.ConfigError, "capacity: 1 live examples never fill a batch; must be batch_size, 2"),
    (lambda: numbers(save_timeout="1"), TypeError, "save_timeout: must be seconds, or None"),
    (lambda: numbers(save_timeout=float("nan")), fb.ConfigError, "save_timeout: must be 0 seconds or more"),
    (lambda: fb.StateSaver(1, 1, {}, {}), fb.ConfigError, "sequences: there is no sequence"),
    (lambda: fb.StateSaver(1, 1, {"x": fb.var_len("int32")}, {}), fb.ConfigError,
     "sequences['x']: allowed is fb.fixed(dtype, shape)"),
    (lambda: fb.StateSaver(1, 1, {"x": fb.fixed("int32")}, {"h": object()}), fb.ConfigError,
     "initial_states: array 'h': element 0 is object"),
    (lambda: fb.StateSaver(1, 1, {"x": "int32"}, {}), TypeError,
     "sequences['x']: must be fb.fixed(dtype, shape); found 'int32'"),
    (lambda: numbers().insert(5, {"x": [1]}), TypeError, "key: must be str or bytes; found 5"),
    (lambda: numbers().insert("a", {"y": [1]}), fb.ConfigError, "sequences of example 'a': found ['y'], expected ['x']"),
    (lambda: numbers().insert("a", {"x": [1.5] * 3}, 3), fb.ConfigError,
     "sequences of example 'a': array 'x': values of type float64 do not fit"),
    (lambda: numbers().insert("a", {"x": [1] * 4}, 4), fb.ConfigError,
     "example 'a': sequence 'x' has 4 frames, which should be a multiple of num_unroll, 3"),
    (lambda: numbers().insert("a", {"x": [1] * 3}), fb.ConfigError, "example 'a': it has no length"),
    (lambda: numbers().insert("a", {"x": [1] * 3}, np.ones(2, int)), TypeError, "length: must be an integer"),
    (lambda: numbers().insert("a", {"x": [1] * 3}, 3, initial_states={"g": 1}), fb.ConfigError,
     "initial_states of example 'a': found ['g', 'h'], expected ['h']"),
    (lambda: numbers().take("2"), TypeError, "size: must be an integer or None; found '2'"),
    (lambda: numbers().take(-2), fb.ConfigError, "size: -2 segments, allowed is 0 or more"),
    (lambda: numbers().take(timeout=-1), fb.ConfigError, "timeout: must be 0 seconds or more, found -1"),
])
def test_wrong_arguments_are_named(call: Any, kind: "type[Exception]", words: str) -> None:
    with pytest.raises(kind) as failure:
        call()
    assert words in str(failure.value)


def test_unknown_names_and_wrong_values_of_a_batch() -> None:
    saver = numbers(1, 1)
    saver.insert("a", {"x": [1, 2]}, 2)
    batch = saver.take()
    assert batch is not None
    for call in (lambda: batch.state("g"), lambda: batch.save_state("g", [[1]])):
        with pytest.raises(KeyError, match="states: none is named 'g'"):
            call()
    with pytest.raises(KeyError, match="no sequence 'y'; there are x"):
        batch.sequences["y"]
    with pytest.raises(fb.ConfigError, match=r"state 'h': found int64\[1,1\], allowed is int32\[1,1\]"):
        batch.save_state("h", np.zeros((1, 1), np.int64))
    batch.save_state("h", np.ones((1, 1), np.int32))
    with pytest.raises(fb.StateError, match="'h': it was saved for this batch before"):
        batch.save_state("h", np.ones((1, 1), np.int32))


def test_a_state_that_nobody_saves_is_an_error_and_not_a_hang() -> None:
    saver = numbers(1, 1, save_timeout=0.05)
    saver.insert("a", {"x": [1, 2]}, 2)
    held = saver.take()
    with pytest.raises(fb.StateError, match="no batch in 50 ms: 0 segments are ready; a batch has the examples 'a', and its "
                                               "states 'h'"):
        saver.take()
    assert held is not None
    held.save_state("h", [[np.int32(4)]])
    after = saver.take()
    assert after is not None and after.state("h").tolist() == [[4]]


def test_rows_stay_where_they_are_with_sticky_rows() -> None:
    saver = numbers(2, 1, sticky_rows=True, allow_small_batch=True)
    for key, count in (("a", 1), ("b", 3), ("c", 1)):
        saver.insert(key, {"x": list(range(count))}, count)
    saver.close()
    seen = []
    for batch in saver:
        seen.append([key.partition(":")[2] for key in batch.key])
        assert batch.reset.tolist() == [sequence <= 0 for sequence in batch.sequence]
        batch.save_state("h", batch.state("h") + np.int32(1))
    assert seen == [["a", "b"], ["c", "b"], ["", "b"]]


def test_a_with_block_closes_and_cancels_after_an_exception() -> None:
    with numbers() as saver:
        saver.insert("a", {"x": [1] * 3}, 3)
    assert saver.closed and saver.sizes.ready_segments == 1
    with pytest.raises(ZeroDivisionError), numbers(1, 1) as saver:
        saver.insert("a", {"x": [1, 2]}, 2)
        1 / 0
    assert saver.sizes.waiting_segments == 0
    with pytest.raises(fb.Cancelled, match="already closed, and cancelled"):
        saver.close()


def test_producers_and_consumers_in_threads() -> None:
    saver = numbers(3, 2, capacity=8, allow_small_batch=True, pad=True)
    seen: "list[str]" = []
    wrong: "list[str]" = []

    def consume() -> None:
        for batch in saver:
            wrong.extend(key for key, state, number in zip(batch.key, batch.state("h")[:, 0], batch.sequence) if state != number)
            seen.extend(batch.key)
            batch.save_state("h", batch.state("h") + np.int32(1))

    def produce(first: int) -> None:
        for i in range(first, first + 20):
            saver.insert(str(i), {"x": np.arange(1 + i % 9)})

    consumers = [threading.Thread(target=consume) for _ in range(6)]
    producers = [threading.Thread(target=produce, args=(100 * i,)) for i in range(4)]
    for thread in consumers + producers:
        thread.start()
    for thread in producers:
        thread.join()
    saver.close()
    for thread in consumers:
        thread.join()
    segments = sum((2 + i % 9) // 2 for first in range(4) for i in range(100 * first, 100 * first + 20))
    assert (len(seen), len(set(seen)), wrong) == (segments, segments, [])


@pytest.mark.parametrize("call", ["saver.take()", "saver.insert('b', {'x': [1]}, 1)"])
def test_ctrl_c_ends_a_wait_at_once(call: str) -> None:
    program = f"""
import os, signal, threading, time
import numpy as np
import forebay as fb
saver = fb.StateSaver(1, 1, {{"x": fb.fixed("int32")}}, {{"h": np.zeros(1)}}, capacity=1)
{"saver.insert('a', {'x': [1]}, 1)" if "insert" in call else ""}
before, sent = saver.sizes, []
def send():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.2, send).start()
try:
    {call}
except KeyboardInterrupt:
    print(time.monotonic() - sent[0] < 1, saver.sizes == before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True True\n", "")
