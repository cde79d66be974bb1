# SPDX-License-Identifier: Apache-2.0
"""Functions of the program that orders and batches ask."""
from __future__ import annotations

import subprocess
import sys
import threading
import time
import traceback
from typing import Any, Callable

import numpy as np
import pytest

import forebay as fb

Function = Callable[..., Any]


def shifted(epoch: int, n: int) -> Any:
    """Epoch e begins with row e."""
    return (np.arange(n) + epoch) % n


def ordered(function: Function, rows: int = 10, epochs: int = 2, size: int = 4) -> fb.Pipeline:
    return fb.arrays({"n": np.arange(rows)}).reorder("order").batch(size=size).epochs(epochs).bind({"order": function})


def rows_of(loader: fb.Loader) -> "list[list[int]]":
    return [batch["n"].tolist() for batch in loader]


def test_an_order_is_that_of_the_function_for_every_epoch() -> None:
    for threads in (1, 8):
        assert rows_of(ordered(shifted).load(threads=threads)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 1, 2], [3, 4, 5, 6],
                                                                   [7, 8, 9, 0]]


@pytest.mark.parametrize("answer", [[3, 3, 0], (3, 3, 0), np.array([3, 3, 0], np.uint8), range(3, 0, -3)])
def test_an_answer_is_any_list_of_integers(answer: Any) -> None:
    got = [row for batch in rows_of(ordered(lambda epoch, n: answer, epochs=1).load()) for row in batch]
    assert got == list(answer)


def test_an_empty_order_is_an_empty_epoch() -> None:
    assert rows_of(ordered(lambda epoch, n: [] if epoch == 0 else [1]).load()) == [[1]]


def test_the_size_of_each_batch_is_that_of_the_function() -> None:
    pipe = fb.arrays({"n": np.arange(12)}).batch(size=8, size_function="size").bind({"size": lambda number: 2 ** number})
    assert rows_of(pipe.load()) == [[0], [1, 2], [3, 4, 5, 6], [7, 8, 9, 10, 11]]


def test_what_a_function_says_about_a_batch_that_does_not_come_does_not_matter() -> None:
    sizes = [3, 1]
    pipe = fb.arrays({"n": np.arange(4)}).batch(size=3, size_function="size").bind({"size": lambda number: sizes[number]})
    assert rows_of(pipe.load()) == [[0, 1, 2], [3]]
    with pytest.raises(IndexError, match="list index out of range"):
        rows_of(pipe.epochs(2).load())


def test_a_document_names_functions_and_load_binds_them() -> None:
    document = {"source": {"arrays": {"bind": "data"}}, "steps": [{"reorder": {"bind": "order"}}, {"batch": {"size": 4}}]}
    bind = {"data": {"n": np.arange(4)}, "order": lambda epoch, n: range(n - 1, -1, -1)}
    assert rows_of(fb.load(document, bind=bind)) == [[3, 2, 1, 0]]


def test_a_restart_at_every_batch_asks_again() -> None:
    pipe = ordered(shifted, rows=23, epochs=3)
    loader = pipe.load(threads=2)
    states, batches = [loader.state_dict()], []
    for batch in loader:
        batches.append(batch["n"].tolist())
        states.append(loader.state_dict())
    assert len(batches) == 18
    again = pipe.load(threads=1)
    for number, state in enumerate(states):
        again.load_state_dict(state)
        assert rows_of(again) == batches[number:]


def test_an_exception_is_raised_as_the_same_object_after_the_batches_before_it_and_a_restart_goes_on() -> None:
    failure = KeyError("the box is empty\nand the second line, ü\udcff")
    fails = True

    def order(epoch: int, n: int) -> Any:
        if epoch == 1 and fails:
            raise failure
        return range(n)

    loader = ordered(order, rows=4, epochs=2).load(threads=2)
    assert next(loader)["n"].tolist() == [0, 1, 2, 3]
    state = loader.state_dict()
    for _ in range(2):
        with pytest.raises(KeyError) as raised:
            next(loader)
        assert raised.value is failure
    assert "in order" in "".join(traceback.format_tb(failure.__traceback__))
    fails = False
    loader.load_state_dict(state)
    assert rows_of(loader) == [[0, 1, 2, 3]]


@pytest.mark.parametrize("answer, found", [("abc", "str 'abc'"), (None, "NoneType None"), ([1.5], r"list \[1\.5\]"),
                                           ([True], r"list \[True\]"), ([[1]], r"list \[\[1\]\]"),
                                           (np.array([2**63], np.uint64), "ndarray")])
def test_an_answer_that_is_no_list_of_integers_names_the_function_and_what_it_returned(answer: Any, found: str) -> None:
    loader = ordered(lambda epoch, n: answer).load()
    with pytest.raises(fb.ConfigError, match=rf"the function 'order', called with \(0, 10\), returned {found}.*; it must "
                                             "return an integer, or a list or array of integers"):
        next(loader)


@pytest.mark.parametrize("answer, told", [([0, 10], "item 1 is 10, and there are 10 records"), ([-1], "item 0 is -1")])
def test_a_number_that_no_row_has_is_a_data_error(answer: Any, told: str) -> None:
    with pytest.raises(fb.DataError, match=f"the order of epoch 0 that function 'order' gives: {told}"):
        next(ordered(lambda epoch, n: answer).load())


@pytest.mark.parametrize("size", [-1, 9])
def test_a_size_out_of_range_is_a_data_error(size: int) -> None:
    pipe = fb.arrays({"n": np.arange(12)}).batch(size=8, size_function="size").bind({"size": lambda number: size})
    with pytest.raises(fb.DataError, match=f"the size of batch 0 that function 'size' gives: must be from 0 to `size`, 8, "
                                           f"found {size}"):
        next(pipe.load())


def test_a_name_without_a_function_is_a_fault_of_the_document() -> None:
    pipe = fb.arrays({"n": np.arange(4)}).reorder("odrer").batch(size=4)
    with pytest.raises(fb.ConfigError, match="the program binds no function 'odrer'; did you mean 'order'"):
        pipe.bind({"order": shifted}).plan()
    with pytest.raises(fb.ConfigError, match="'arrays' is bound to rows, and a function is needed here"):
        fb.arrays({"n": np.arange(4)}).reorder("arrays").batch(size=4).plan()
    with pytest.raises(TypeError, match="objects: must be a dict of objects by name"):
        pipe.bind(shifted)  # type: ignore[arg-type]


def test_closing_ends_the_thread_of_a_function() -> None:
    def threads() -> int:
        return sum(thread.name == "forebay ends" for thread in threading.enumerate())

    pipe = fb.arrays({"n": np.arange(10)}).reorder("ends").batch(size=4).bind({"ends": shifted})
    loader = pipe.load()
    next(loader)
    assert threads() == 1
    loader.close()
    assert threads() == 0
    loader = pipe.load()
    next(loader)
    del loader  # a loader that is dropped is closed
    for _ in range(100):
        if threads() == 0:
            break
        time.sleep(0.02)
    assert threads() == 0


def test_closing_does_not_wait_for_a_function_that_hangs() -> None:
    going = threading.Event()

    def hang(epoch: int, n: int) -> Any:
        if epoch == 1:
            going.wait(60)
        return range(n)

    loader = ordered(hang, rows=4, epochs=2).load()
    assert next(loader)["n"].tolist() == [0, 1, 2, 3]
    time.sleep(0.2)  # the order of epoch 1 is asked for ahead
    began = time.monotonic()
    with pytest.warns(RuntimeWarning, match="the thread 'forebay order' still waits for an answer of its function"):
        loader.close()
    assert 1.5 < time.monotonic() - began < 20
    going.set()


def test_ctrl_c_while_a_function_hangs_interrupts_and_costs_no_batch() -> None:
    program = """
import os, signal, threading, time
import numpy as np
import forebay as fb
def slow(epoch, n):
    going.wait()
    return range(n)
going = threading.Event()
loader = fb.arrays({"n": np.arange(3)}).reorder("slow").batch(size=3).bind({"slow": slow}).load()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    next(loader)
except KeyboardInterrupt:
    print("interrupted")
going.set()
print(next(loader)["n"].tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("interrupted\n[0, 1, 2]\n", "")


def test_a_program_ends_while_a_function_hangs() -> None:
    program = """
import time
import numpy as np
import forebay as fb
loader = fb.arrays({"n": np.arange(3)}).reorder("f").batch(size=3).bind({"f": lambda epoch, n: time.sleep(60)}).load()
import threading
threading.Thread(target=lambda: next(loader), daemon=True).start()
time.sleep(0.3)
"""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 30


def test_functions_are_asked_in_branches_and_for_shards() -> None:
    left = fb.arrays({"n": np.arange(4)}, name="left").reorder("order").bind({"order": lambda epoch, n: [3, 2, 1, 0]})
    right = fb.arrays({"n": np.arange(10, 12)}, name="right")
    pipe = fb.concat([left, right]).batch(size=3, size_function="size").bind({"size": lambda number: 3 - number % 2})
    assert rows_of(pipe.load()) == [[3, 2, 1], [0, 10], [11]]
    parts = [rows_of(pipe.load(shard=(rank, 2))) for rank in range(2)]
    assert [a + b for a, b in zip(*parts)] == [[3, 2, 1], [0, 10], [11]]


def chunks_of(epoch: int, file: int, record: int, frames: int) -> list[tuple[int, int]]:
    if epoch == 1:
        return [(0, frames)]
    return [(begin, min(begin + 7, frames)) for begin in range(record % 3, frames, 5)]


def test_a_function_says_where_sequences_are_cut_and_a_restart_asks_again() -> None:
    lengths = np.random.default_rng(0).integers(1, 30, 50)
    splits = np.concatenate([[0], np.cumsum(lengths)])
    data = {"x": fb.Ragged(np.arange(splits[-1]), splits), "n": np.arange(50)}
    pipe = (fb.arrays(data).shuffle(global_=True).chunk_function("cut", keys=["x"], number="k").batch(size=4, pad=True)
            .epochs(3).seed(3).bind({"cut": chunks_of}))

    def pieces(batch: fb.Batch) -> list[list[int]]:
        return [[int(n), int(k), *row[:length]] for n, k, row, length in
                zip(batch["n"], batch["k"], batch["x"].tolist(), batch.lengths["x"])]

    expected = sorted([n, k, *range(splits[n] + begin, splits[n] + end)] for epoch in range(3) for n in range(50)
                      for k, (begin, end) in enumerate(chunks_of(epoch, 0, n, int(lengths[n]))))
    whole = [pieces(batch) for batch in pipe.load(threads=1)]
    assert sorted(piece for batch in whole for piece in batch) == expected
    with pipe.load() as loader:
        for at in range(len(whole)):
            with pipe.load(threads=8) as again:
                again.load_state_dict(loader.state_dict())
                assert pieces(next(again)) == whole[at]
                if at % 9 == 0:
                    assert [pieces(batch) for batch in again] == whole[at + 1:]
            next(loader)


@pytest.mark.parametrize("answer, words", [
    ([0, 1, 2], "function 'cut' gave 3 integers; a chunk is two of them, its first frame and the end after its last one"),
    ([(0, 3), (2, 9)], "function 'cut' gave chunk 1 from 2 to 9, and the record has 5 frames; a chunk has at least one of them"),
    ([(3, 3)], "gave chunk 0 from 3 to 3"), ([(-1, 2)], "gave chunk 0 from -1 to 2")])
def test_chunks_that_do_not_fit_are_an_error_of_their_record(answer: list[Any], words: str) -> None:
    def cut(epoch: int, file: int, record: int, frames: int) -> list[Any]:
        return [(0, frames)] if record == 0 else answer
    pipe = fb.arrays({"x": fb.Ragged(np.arange(10), [0, 5, 10])}).chunk_function("cut").batch(size=1).bind({"cut": cut})
    with pipe.load() as loader:
        assert next(loader)["x"][0].tolist() == [0, 1, 2, 3, 4]
        with pytest.raises(fb.DataError) as failure:
            next(loader)
    assert str(failure.value).startswith("arrays, record 1: ") and words in str(failure.value)
