# SPDX-License-Identifier: Apache-2.0
"""The order `take_while`: a pass ends before the first record for which a condition does not hold."""
from __future__ import annotations

import pytest
from conftest import write_counts

import forebay as fb

FEATURES = {"y": fb.fixed("int64"), "s": fb.fixed("string")}


def values(pipe: fb.Pipeline, threads: int = 2) -> list[int]:
    return [int(value) for batch in pipe.load(threads=threads) for value in batch["y"]]


@pytest.fixture
def source(tmp_path) -> fb.Pipeline:
    return fb.tfrecord(write_counts(tmp_path, 1000)).example(FEATURES)


@pytest.mark.parametrize("where, want", [
    ("y < 700", list(range(700))), ("y < 0", []), ("y >= 0", list(range(1000))), ("length(s) >= 0 and y != 256", list(range(256))),
])
def test_records_come_up_to_the_first_that_does_not_fit(source, where, want):
    pipe = source.take_while(where).batch(size=7, remainder="keep")
    assert values(pipe, 1) == values(pipe, 3) == want


def test_later_records_that_fit_again_do_not_come(source):
    assert values(source.take_while("y % 100 != 50").batch(size=5, remainder="keep")) == list(range(50))


def test_each_pass_ends_where_its_own_order_says(source):
    pipe = source.shuffle(buffer=1000).take_while("y % 10 != 3").batch(size=1).epochs(20).seed(4)
    epochs: dict[int, list[int]] = {}
    for batch in pipe.load():
        epochs.setdefault(batch.epoch, []).append(int(batch["y"][0]))
    whole = source.shuffle(buffer=1000).batch(size=1).epochs(20).seed(4)
    orders: dict[int, list[int]] = {}
    for batch in whole.load():
        orders.setdefault(batch.epoch, []).append(int(batch["y"][0]))
    for epoch, order in orders.items():
        first = next(place for place, value in enumerate(order) if value % 10 == 3)
        assert epochs.get(epoch, []) == order[:first]


def test_a_restart_goes_on_before_the_end_of_the_pass(source):
    pipe = source.shuffle(buffer=50).take_while("y < 930").batch(size=16, remainder="keep").epochs(3).seed(1)
    whole = values(pipe)
    for stop in (0, 1, 20, 60):
        loader, again = pipe.load(threads=2), pipe.load(threads=1)
        head = [int(value) for _ in range(stop) for value in next(loader)["y"]]
        again.load_state_dict(loader.state_dict())
        assert head + [int(value) for batch in again for value in batch["y"]] == whole


def test_an_endless_run_that_gives_nothing_is_an_error(source):
    with pytest.raises(fb.DataError, match=r"take_while: in 16 passes .* 'y < 0' did not hold"):
        next(source.take_while("y < 0").batch(size=2).epochs(None).load())


def test_a_wrong_condition_is_refused(source):
    with pytest.raises(fb.ConfigError, match="did you mean 'y'|no tensor 'z'"):
        source.take_while("z < 3").batch(size=2).plan()
