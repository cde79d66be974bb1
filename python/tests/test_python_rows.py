# SPDX-License-Identifier: Apache-2.0
"""forebay.python: iterables and sequences of Python objects as sources."""
from __future__ import annotations

import subprocess
import sys
import threading
import time
import traceback
from typing import Any, Callable, Iterable, Iterator

import numpy as np
import pytest

import forebay as fb


def counted(rows: int) -> Iterator[dict[str, Any]]:
    for i in range(rows):
        yield {"n": i, "x": np.full(3, i, np.float32), "name": f"row {i}"}


class Squares:
    """A sequence that knows which items were asked for."""

    def __len__(self) -> int:
        return 100

    def __getitem__(self, i: int) -> dict[str, Any]:
        return {"n": i, "square": np.array([i * i, -i])}


def test_an_iterable_gives_its_rows_in_order_for_any_number_of_threads() -> None:
    for threads in (1, 8):
        got = list(fb.python(counted(500)).batch(size=64).load(threads=threads))
        assert np.concatenate([batch["n"] for batch in got]).tolist() == list(range(500))
        assert np.concatenate([batch["x"] for batch in got]).tolist() == [[i, i, i] for i in range(500)]
        assert [name for batch in got for name in batch["name"]] == [f"row {i}".encode() for i in range(500)]


def test_a_list_of_columns_may_be_given_and_rows_shuffled_by_a_buffer() -> None:
    pipe = fb.python(({"ids": list(range(i % 4))} for i in range(100)), {"ids": fb.var_len("int32")}, capacity=3)
    lengths = [len(row) for batch in pipe.shuffle(buffer=10).batch(size=8).load() for row in batch["ids"].to_list()]
    assert sorted(lengths) == sorted(i % 4 for i in range(100))


def test_an_exception_of_an_iterable_is_raised_as_the_same_object_after_the_rows_before_it() -> None:
    failure = KeyError("the box is empty")

    def rows() -> Iterator[dict[str, Any]]:
        yield {"n": 1}
        yield {"n": 2}
        raise failure

    loader = fb.python(rows()).batch(size=1).load()
    assert [int(next(loader)["n"][0]) for _ in range(2)] == [1, 2]
    for _ in range(2):
        with pytest.raises(KeyError) as raised:
            next(loader)
        assert raised.value is failure
    assert "in rows" in "".join(traceback.format_tb(failure.__traceback__))


def test_closing_ends_the_thread_of_an_iterable() -> None:
    def endless() -> Iterator[dict[str, Any]]:
        while True:
            yield {"n": 1}

    loader = fb.python(endless()).batch(size=10).load()
    next(loader)
    assert any(thread.name == "forebay python" for thread in threading.enumerate())
    loader.close()
    assert not any(thread.name == "forebay python" for thread in threading.enumerate())


def test_closing_does_not_wait_for_an_iterable_that_does_not_come_back() -> None:
    going = threading.Event()

    def stuck() -> Iterator[dict[str, Any]]:
        yield {"n": 1}
        going.wait(60)

    loader = fb.python(stuck(), name="stuck").batch(size=1).load()
    next(loader)
    began = time.monotonic()
    with pytest.warns(RuntimeWarning, match="the thread 'forebay stuck' still waits for the next row of its iterable"):
        loader.close()
    assert 1.5 < time.monotonic() - began < 20
    going.set()


def test_ctrl_c_while_an_iterable_is_slow_costs_no_row() -> None:
    program = """
import os, signal, threading, time
import forebay as fb
def slow():
    for i in range(3):
        time.sleep(0.2)
        yield {"n": i}
loader = fb.python(slow()).batch(size=3).load()
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    next(loader)
except KeyboardInterrupt:
    print("interrupted")
print(next(loader)["n"].tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("interrupted\n[0, 1, 2]\n", "")


@pytest.mark.parametrize("workers, inside", [(0, "threads"), (2, "threads"), (2, "processes")])
def test_a_sequence_is_shuffled_sharded_and_restarted_like_files(workers: int, inside: Any) -> None:
    pipe = fb.python(Squares(), workers=workers, inside=inside).shuffle(global_=True).batch(size=20).epochs(2).seed(4)

    def numbers(loader: fb.Loader) -> list[int]:
        out: list[int] = []
        for batch in loader:
            assert batch["square"].tolist() == [[n * n, -n] for n in batch["n"].tolist()]
            out += batch["n"].tolist()
        return out

    with pipe.load(threads=1) as loader:
        whole = numbers(loader)
    assert sorted(whole) == sorted([*range(100), *range(100)]) and whole[:100] != whole[100:]
    with pipe.load(threads=2) as loader, pipe.load(threads=1) as other:
        for _ in range(3):
            next(loader)
        other.load_state_dict(loader.state_dict())
        assert numbers(other) == whole[60:]
    with pipe.load(shard=(1, 2)) as loader:
        assert numbers(loader) == np.array(whole).reshape(10, 20)[:, 10:].reshape(-1).tolist()


class Clips:
    """A sequence of tuples, as data sets of torch are: features of any number of frames, and a label."""

    def __len__(self) -> int:
        return 7

    def __getitem__(self, i: int) -> Any:
        return np.full((i % 3, 2), i, np.float32), i


@pytest.mark.parametrize("workers, inside", [(0, "threads"), (2, "threads"), (2, "processes")])
def test_items_of_different_lengths_are_padded_or_ragged(workers: int, inside: Any) -> None:
    padded = fb.python(Clips(), output=(fb.fixed_len_sequence("float32", [2]), fb.fixed("int64")), workers=workers, inside=inside).batch(size=3)
    with padded.load() as loader:
        got = [(x.tolist(), y.tolist()) for x, y in loader]
    assert got == [([[[0, 0], [0, 0]], [[1, 1], [0, 0]], [[2, 2], [2, 2]]], [0, 1, 2]),
                   ([[[0, 0], [0, 0]], [[4, 4], [0, 0]], [[5, 5], [5, 5]]], [3, 4, 5]), ([[]], [6])]
    ragged = fb.python(Clips(), output=(fb.fixed("float32", [-1, 2]), fb.fixed("int64")), workers=workers, inside=inside).batch(size=3)
    with ragged.load() as loader:
        assert [x.to_list() for x, _ in loader] == [[[], [[1, 1]], [[2, 2], [2, 2]]], [[], [[4, 4]], [[5, 5], [5, 5]]], [[]]]
    with pytest.raises(ValueError, match=r"rows of different lengths are a Ragged with \{'0': fb.fixed_len_sequence\(\"float32\", \[2\], "
                                         r"as_=\"ragged\"\)\}, and padded with .* or of fb.python"):
        next(fb.python(Clips()).batch(size=3).load())


def test_output_is_for_sequences_and_columns_for_all_others() -> None:
    with pytest.raises(fb.ConfigError, match=r"^columns: the items of a sequence say .* `output` states them"):
        fb.python(Clips(), {"x": fb.var_len("int64")})
    for others in ({"rows": iter([{"n": 1}])}, {"open": lambda epoch, start: iter([{"n": 1}])}):
        with pytest.raises(fb.ConfigError, match="^output: only a sequence has it; `columns` states"):
            fb.python(**others, output={"n": fb.fixed("int64")})


def test_a_map_may_follow_a_sequence() -> None:
    pipe = fb.python(Squares()).take(4).batch(size=3).map(lambda batch: {"sum": batch["square"].sum(axis=1)})
    assert [batch["sum"].tolist() for batch in pipe.load()] == [[0, 0, 2], [6]]


@pytest.mark.parametrize("rows, kind, words", [
    ({"n": [1]}, TypeError, "an iterable or a sequence of dicts"),
    (3, TypeError, "an iterable or a sequence of dicts"),
    (iter([]), fb.ConfigError, "the iterable of 'python' has no row, so its columns are not known"),
    (iter([1]), TypeError, "a row of 'python' is a dict of values by column, or a tuple of values, found int"),
])
def test_what_is_no_source_of_rows_is_refused(rows: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        fb.python(rows).batch(size=1).load()


def test_a_row_that_does_not_fit_is_the_failure_of_the_loader() -> None:
    loader = fb.python(iter([{"n": 1}, {"n": "x"}])).batch(size=1).load()
    assert next(loader)["n"].tolist() == [1]
    with pytest.raises(fb.ConfigError, match="column 'n' is string"):
        next(loader)


def test_items_of_a_sequence_must_be_dicts() -> None:
    with pytest.raises(TypeError, match="item 0 of the sequence is int; a row is a dict of values by column"):
        next(fb.python([1, 2]).batch(size=1).load())


def opened(asked: "list[tuple[int, int]]", rows: int = 10) -> "Callable[[int, int], Iterable[dict[str, int]]]":
    def rows_of_epoch(epoch: int, start: int) -> "Iterable[dict[str, int]]":
        asked.append((epoch, start))
        return ({"n": 100 * epoch + i} for i in range(start, rows))
    return rows_of_epoch


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_function_that_opens_epochs_restarts_exactly_at_every_batch(threads: int, shuffle: bool) -> None:
    def pipe() -> fb.Pipeline:
        rows = fb.python(open=opened([]))
        return (rows.shuffle(buffer=4) if shuffle else rows).batch(size=3).epochs(3)

    whole = [batch["n"].tolist() for batch in pipe().load(threads=threads)]
    assert sorted(sum(whole, [])) == [100 * epoch + i for epoch in range(3) for i in range(10)]
    with pipe().load(threads=threads) as loader:
        for at in range(len(whole)):
            with pipe().load(threads=9 - threads) as again:
                again.load_state_dict(loader.state_dict())
                assert [batch["n"].tolist() for batch in again] == whole[at:]
            next(loader)


@pytest.mark.parametrize("orders", [".repeat(6)", ".repeat(3).repeat(2)", ".skip(2).repeat(3)", ".take(7).repeat(2)",
                                    ".shuffle(4).repeat(3)", ".repeat(2).skip(13)", ".random_sample(25, buffer=3)"])
@pytest.mark.parametrize("boundary", ["straddle", "hard"])
def test_rounds_over_a_function_that_opens_epochs_restart_exactly(orders: str, boundary: str) -> None:
    pipe = eval(f"fb.python(open=opened([])){orders}.batch(size=4).epochs(2).epoch_boundary(boundary)",
                {"fb": fb, "opened": opened, "boundary": boundary})
    with pipe.load(threads=2) as loader:
        states, whole = [loader.state_dict()], []
        for batch in loader:
            whole.append(batch["n"].tolist())
            states.append(loader.state_dict())
    for done, state in enumerate(states):
        with pipe.load(threads=1) as again:
            again.load_state_dict(state)
            assert [batch["n"].tolist() for batch in again] == whole[done:]


def test_a_restart_opens_the_epoch_at_its_row() -> None:
    asked: "list[tuple[int, int]]" = []
    pipe = fb.python(open=opened(asked), columns={"n": fb.fixed("int64")}).batch(size=2).epochs(3)
    with pipe.load() as loader:
        for _ in range(8):
            next(loader)
        state = loader.state_dict()
    asked.clear()
    with pipe.load() as loader:
        loader.load_state_dict(state)
        assert next(loader)["n"].tolist() == [106, 107]
    assert asked[0] == (1, 4)  # the batch before it is decided again


def test_an_iterable_that_can_be_iterated_again_has_epochs_and_no_state() -> None:
    class Again:
        def __iter__(self) -> "Iterator[dict[str, int]]":
            return iter([{"n": 1}, {"n": 2}])

    loader = fb.python(Again()).batch(size=4).epochs(2).load()
    assert [batch["n"].tolist() for batch in loader] == [[1, 2, 1, 2]]
    with pytest.raises(fb.StateError, match="cannot be read again"):
        loader.state_dict()
    with pytest.raises(fb.ConfigError, match="'epochs' must be 1"):
        fb.python(iter([{"n": 1}])).batch(size=1).epochs(2).load()


def test_an_exception_of_open_is_raised_by_the_loader() -> None:
    problem = RuntimeError("no such epoch")

    def fails(epoch: int, start: int) -> "Iterable[dict[str, int]]":
        raise problem

    with pytest.raises(RuntimeError) as raised:
        list(fb.python(open=fails, columns={"n": fb.fixed("int64")}).batch(size=1).load())
    assert raised.value is problem
    with pytest.raises(fb.ConfigError, match="give either rows or open"):
        fb.python([{"n": 1}], open=fails)
    with pytest.raises(fb.ConfigError, match="give either rows or open"):
        fb.python()


def test_a_loader_may_give_the_rows_of_another(counts: Callable[..., Any]) -> None:
    document = counts(8)  # in batches of 4
    document["decode"]["example"]["features"] = {"y": {"dtype": "int64"}}
    with fb.load(document) as batches:
        rows = [batch["y"].tolist() for batch in fb.python(batches, {"y": fb.fixed("int64", [4])}).batch(1).load()]
    assert rows == [[[0, 1, 2, 3]], [[4, 5, 6, 7]]]


def test_rows_that_are_made_of_sequences_go_on_within_a_pass() -> None:
    """The branches go on across passes, so a restart begins in the middle of a pass of each."""
    def numbers(rows: int, first: int) -> fb.Pipeline:
        return fb.python([{"id": np.int64(first + row)} for row in range(rows)], name=f"from {first}")

    rows = fb.round_robin([numbers(20, 0).sorted("id", descending=True), numbers(20, 100).take_while("id % 6 != 0").shuffle(8)])
    pipe = rows.random_sample(22, buffer=4).batch(7, remainder="pad", pad=True).epochs(2)
    with pipe.load() as loader:
        whole = [batch["id"].tolist() for batch in loader]
    for done in range(len(whole) + 1):
        with pipe.load() as loader:
            for _ in range(done):
                next(loader)
            state = loader.state_dict()
        with pipe.load() as loader:
            loader.load_state_dict(state)
            assert [batch["id"].tolist() for batch in loader] == whole[done:]
