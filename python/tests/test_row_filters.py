# SPDX-License-Identifier: Apache-2.0
"""Filters over arrays, feeds and Python objects, and what a feed refuses."""
from __future__ import annotations

import itertools

import numpy as np
import pytest
from streams import digests

import forebay as fb

ROWS = {"n": np.arange(200), "name": np.array([f"{'ab'[n % 2]}{n}" for n in range(200)], dtype=object)}


def numbers(loader):
    return [int(n) for batch in loader for n in batch["n"][:batch.valid_rows]]


@pytest.mark.parametrize("threads", [1, 8])
def test_a_filter_of_arrays_before_or_after_a_shuffle(threads):
    keep = [n for n in range(200) if n % 2 == 0 and n > 20]
    where = "startswith(name, 'a') and n > 20"
    assert numbers(fb.arrays(ROWS).filter(where).batch(7).load(threads=threads)) == keep
    for pipe in (fb.arrays(ROWS).shuffle(global_=True).filter(where), fb.arrays(ROWS).filter(where).shuffle(buffer=30)):
        order = numbers(pipe.batch(7).load(threads=threads))
        assert order != keep and sorted(order) == keep


def test_a_filter_of_arrays_restarts_at_every_batch():
    pipe = fb.arrays(ROWS).shuffle(global_=True).filter("n % 3 != 0").shuffle(buffer=20).batch(8).epochs(2)
    whole = digests(pipe.load())
    with pipe.load() as loader:
        for at in range(len(whole)):
            with pipe.load(threads=2) as other:
                other.load_state_dict(loader.state_dict())
                assert digests(other) == whole[at:]
            next(loader)


def test_a_filter_of_an_iterable_and_of_a_feed():
    rows = ({"n": n, "name": f"row {n}"} for n in range(100))
    assert numbers(fb.python(rows).filter("startswith(name, 'row 7')").batch(4).load()) == [7, *range(70, 80)]
    feed = fb.Feed({"n": fb.fixed("int64")})
    feed.put_rows({"n": np.arange(50)})
    feed.close()
    assert numbers(fb.feed(feed).filter("n >= 45").batch(2).load()) == [45, 46, 47, 48, 49]


def test_a_row_for_which_the_condition_fails_is_named():
    with fb.arrays(ROWS, name="train").filter("100 // (n - 30) != 7").batch(16).load() as loader:
        with pytest.raises(fb.DataError, match="train.*record 30|record 30.*train"):
            list(loader)


def test_a_shuffle_of_many_small_blocks_stays_within_a_small_budget():
    pairs = ({"n": n, "x": np.full(64, n, np.float32)} for n in range(30_000))
    pipe = fb.python(pairs, capacity=512).shuffle(buffer=5000).batch(100)
    seen = []
    with pipe.load(memory="24MiB", threads=2) as loader:
        for batch in loader:
            assert (batch["x"] == batch["n"][:, None]).all()
            assert loader.stats().memory_used < 40 << 20
            seen += batch["n"].tolist()
    assert sorted(seen) == list(range(30_000))


@pytest.mark.parametrize("column, words", [
    (fb.fixed("int64") | {"dtype": "float128"}, r"columns\['t'\]: a feed takes elements of type .*, found 'float128'"),
    ({"dtype": 5, "shape": []}, r"columns\['t'\]: a feed takes elements of type .*, found 5"),
])
def test_an_element_type_that_a_feed_cannot_take_is_named_with_its_column(column, words):
    with pytest.raises(fb.ConfigError, match=words):
        fb.Feed({"n": fb.fixed("int64"), "t": column})


@pytest.mark.parametrize("shape", [[-2], ["a"], [1.5], [True]])
def test_a_size_that_a_feed_cannot_take_is_named_with_its_column(shape):
    with pytest.raises(TypeError, match=r"columns\['t'\].shape: must be sizes from 0 on"):
        fb.Feed({"t": {"dtype": "int64", "shape": shape}})


def test_a_first_row_of_a_type_that_cannot_be_fed_is_named_with_its_column():
    rows = iter([{"n": 1, "when": np.datetime64("2026-01-01")}])
    with pytest.raises(fb.ConfigError, match=r"columns\['when'\]: a feed takes elements of type .*, found 'datetime64"):
        fb.python(rows).batch(1).load()


def test_a_put_of_more_rows_than_the_capacity_is_taken_whole():
    feed = fb.Feed({"n": fb.fixed("int64")}, capacity=10)
    feed.put_rows({"n": np.arange(25)})
    assert len(feed) == 25
    feed.close()
    assert numbers(fb.feed(feed).batch(25).load()) == list(range(25))


def test_what_an_iterable_raises_comes_out_of_a_loop_over_epochs_too():
    class Broken(Exception):
        pass

    problem = Broken("no more")

    def rows():
        yield from ({"n": n} for n in range(10))
        raise problem

    for loop in (lambda loader: list(loader), lambda loader: [list(epoch) for epoch in loader.epochs()]):
        with fb.python(rows()).batch(4).load() as loader:
            with pytest.raises(Broken) as caught:
                loop(loader)
            assert caught.value is problem
    assert list(itertools.islice(fb.python(iter([{"n": 1}])).batch(1).load(), 2))
