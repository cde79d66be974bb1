# SPDX-License-Identifier: Apache-2.0
"""The number of batches of a run, before it has run."""
from __future__ import annotations

import os
import pathlib
from typing import Any, Callable

import pytest
from streams import examples

import forebay as fb

COUNTED = {
    "batches": lambda pipe: pipe.batch(12),
    "batches_that_straddle": lambda pipe: pipe.shuffle(buffer=40).batch(12).epochs(3),
    "hard_epochs": lambda pipe: pipe.batch(7, remainder="drop").epochs(2).epoch_boundary(),
    "part_of_a_pass": lambda pipe: pipe.take(50).batch(12).epochs(2),
    "rows_of_an_order_drawn_again": lambda pipe: pipe.take(9).random_sample(27).batch(5).epochs(3).epoch_boundary(),
    "rows_of_an_order_shuffled_again": lambda pipe: pipe.random_sample(27).shuffle(8).random_sample(22).batch(5),
    "functions": lambda pipe: pipe.batch(12).map(dict),
}
DECODED = {
    "filters": lambda pipe: pipe.filter("id % 3 == 0").batch(5).epochs(2),
    "frames": lambda pipe: pipe.frames(batch_size=30, keys=["tokens"]).epochs(2),
}


def delivered(loader: Any) -> tuple[int, int]:
    numbers = [batch.epoch for batch in iter(loader.__next__, None)]
    return len(numbers), numbers.count(0)


@pytest.mark.parametrize("case", COUNTED)
def test_the_length_is_counted_without_decoding_and_stored(parts: list[str], case: str) -> None:
    pipe: fb.Pipeline = COUNTED[case](examples(parts))
    loader = pipe.load()
    length, steps = len(loader), loader.steps_per_epoch
    assert (length, steps) == (pipe.plan().batches, pipe.plan().steps_per_epoch) == delivered(loader)
    assert (length, steps) == (pipe.plan().count(), pipe.plan().count(per_epoch=True))
    assert len(loader) == length      # after the run, too


@pytest.mark.parametrize("case", DECODED)
def test_where_counting_decodes_only_count_does_it(parts: list[str], case: str) -> None:
    pipe: fb.Pipeline = DECODED[case](examples(parts))
    loader = pipe.load()
    for asked in (len, lambda one: one.steps_per_epoch):
        with pytest.raises(TypeError, match=r"without decoding the records; loader\.plan\.count\("):
            asked(loader)
    assert pipe.plan().batches is None
    assert (pipe.plan().count(), pipe.plan().count(per_epoch=True)) == delivered(loader)


def test_what_a_filter_keeps_is_stored_and_counts_for_the_next_loader(parts: list[str]) -> None:
    pipe = examples(parts).filter("id % 5 == 1").batch(4)
    count = pipe.plan().count()
    assert len(pipe.load()) == pipe.plan().batches == count


def test_an_endless_run_has_steps_and_no_length(parts: list[str]) -> None:
    pipe = examples(parts).batch(12).epochs(None)
    with pytest.raises(TypeError, match="steps_per_epoch"):
        len(pipe.load())
    with pytest.raises(TypeError, match="per_epoch=True"):
        pipe.plan().count()
    assert pipe.load().steps_per_epoch == pipe.plan().count(per_epoch=True) == 26 and pipe.plan().batches is None


@pytest.mark.parametrize("shard", [(1, 3), {"index": 1, "count": 4, "by": "batch"}, {"index": 0, "count": 3, "by": "element"}])
def test_a_shard_has_its_own_number(parts: list[str], shard: Any) -> None:
    loader = examples(parts).batch(12, remainder="drop").epochs(2).epoch_boundary().load(shard=shard)
    assert (len(loader), loader.steps_per_epoch) == delivered(loader)


SHARDS: "dict[str, Any]" = {"all": None, "row": (1, 3), "batch": {"index": 1, "count": 4, "by": "batch"},
                            "row and batch": [(0, 3), {"index": 1, "count": 2, "by": "batch"}]}


@pytest.mark.parametrize("shard", SHARDS)
@pytest.mark.parametrize("case", ["batches", "batches_that_straddle", "part_of_a_pass", "functions"])
def test_an_epoch_has_a_length_also_when_only_its_rest_is_left(parts: list[str], case: str, shard: str) -> None:
    loader = COUNTED[case](examples(parts)).load(shard=SHARDS[shard])
    states = []
    for epoch in loader.epochs():
        length = len(epoch)
        states.append((loader.state_dict(), epoch.number, length))
        for given, _ in enumerate(epoch, 1):
            states.append((loader.state_dict(), epoch.number, length - given))
            assert len(epoch) == length      # a progress bar asks once, at any time
        assert given == length
    for state, number, left in states[::3]:
        loader.load_state_dict(state)
        if left:
            rest = next(loader.epochs())
            assert (rest.number, len(rest), len(list(rest))) == (number, left, left)


def test_the_length_of_an_epoch_after_one_that_was_left(parts: list[str]) -> None:
    loader = examples(parts).batch(12).epochs(None).load()
    epochs = loader.epochs()
    next(next(epochs))
    second = next(epochs)
    assert (len(second), len(list(second))) == (25, 25) and bool(second)


def test_an_epoch_whose_batches_are_counted_by_decoding_has_no_length(parts: list[str]) -> None:
    epoch = next(DECODED["frames"](examples(parts)).load().epochs())
    with pytest.raises(TypeError, match="without decoding the records"):
        len(epoch)
    assert bool(epoch)


def test_the_length_is_the_same_after_a_restart(pipe: fb.Pipeline) -> None:
    loader, again = pipe.load(), pipe.load()
    for _ in range(5):
        next(loader)
    again.load_state_dict(loader.state_dict())
    assert len(again) == len(pipe.load()) and sum(1 for _ in again) == len(again) - 5


def test_indexes_go_where_the_loader_keeps_its_own(counts: Callable[..., Any], tmp_path: pathlib.Path) -> None:
    assert len(fb.load(counts(9), index_dir=tmp_path / "indexes")) == 3
    assert os.listdir(tmp_path / "indexes") and ".forebay" not in os.listdir(tmp_path)


def test_a_list_of_a_corrupt_file_fails_as_its_run_does(counts: Callable[..., Any]) -> None:
    document = counts(9)
    path = pathlib.Path(document["source"]["tfrecord"]["files"][0])
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(TypeError, match="cannot be counted"):
        len(fb.load(document))
    with pytest.raises(fb.DataError):
        list(fb.load(document))
