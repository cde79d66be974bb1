# SPDX-License-Identifier: Apache-2.0
"""Weights of a mixture by pass, and other ones at a restart."""
from __future__ import annotations

import collections
import pathlib
from typing import Any

import pytest

import forebay as fb

STAGES: Any = {
    "batch": lambda pipe: pipe.batch(4),
    "shuffle": lambda pipe: pipe.shuffle(buffer=5).batch(8),
    "filter": lambda pipe: pipe.filter("id % 2 == 0").batch(4),
    "hard": lambda pipe: pipe.batch(6).epoch_boundary("hard"),
    "packed": lambda pipe: pipe.packed(6, 2, keys=["x"]).epoch_boundary("hard"),
    "blocks": lambda pipe: pipe.batch(4).shuffle_batches(3).epoch_boundary("hard"),
}


@pytest.fixture
def branches(tmp_path: pathlib.Path) -> "list[fb.Pipeline]":
    features = {"id": fb.fixed("int64", []), "x": fb.var_len("int64")}
    for name, first in (("a", 0), ("b", 1000)):
        fb.write_records(tmp_path / name, [fb.encode_example({"id": [first + i], "x": [first + i] * (i % 3 + 1)}) for i in range(40)])
    return [fb.tfrecord(tmp_path / name).example(features) for name in "ab"]


def tensors(loader: Any) -> "list[str]":
    return [repr({name: value.tolist() if hasattr(value, "tolist") else [value.values.tolist(), value.row_splits.tolist()]
                  for name, value in batch.items()}) for batch in loader]


@pytest.mark.parametrize("stages", STAGES)
def test_a_run_goes_on_with_other_weights_for_later_passes_alone(stages: str, branches: "list[fb.Pipeline]") -> None:
    def pipe(weights: Any) -> Any:
        return STAGES[stages](fb.mix(branches, weights=weights, until=20, repeat=True)).epochs(5).seed(3)

    whole = tensors(pipe([2, 1]).load())
    others = {later: tensors(pipe([(0, [2, 1]), (later, [1, 9])]).load(threads=4)) for later in range(1, 5)}
    assert all(other != whole for other in others.values())
    for done in range(0, len(whole), 2):
        with pipe([2, 1]).load() as loader:
            epoch = max([next(loader).epoch for _ in range(done)], default=0)
            state = loader.state_dict()
        with pipe([1, 9]).load() as loader, pytest.raises(fb.StateError, match="keep those and say from which later pass on"):
            loader.load_state_dict(state)
        for later, other in others.items():
            with pipe([(0, [2, 1]), (later, [1, 9])]).load() as loader:
                try:
                    loader.load_state_dict(state)
                except fb.StateError:
                    assert later <= epoch + 1   # a batch may have rows of the next pass
                    continue
                assert later > epoch
                assert tensors(loader) == other[done:] and other[:done] == whole[:done]


def test_where_rows_of_several_passes_are_held_weights_stay(branches: "list[fb.Pipeline]") -> None:
    def pipe(weights: Any) -> fb.Pipeline:
        return fb.mix(branches, weights=weights, until=20, repeat=True).packed(6, 2, keys=["x"]).epochs(5)

    refused = 0
    whole = tensors(pipe([2, 1]).load())
    other = tensors(pipe([(0, [2, 1]), (4, [1, 9])]).load())
    for done in range(len(whole)):
        with pipe([2, 1]).load() as loader:
            for _ in range(done):
                next(loader)
            state = loader.state_dict()
        with pipe([(0, [2, 1]), (4, [1, 9])]).load() as loader:
            try:
                loader.load_state_dict(state)
            except fb.StateError as error:
                refused += "accept 'weights'" in str(error)
                continue
            assert tensors(loader) == other[done:]
    assert 0 < refused < len(whole)


@pytest.mark.parametrize("weights, message", [
    ([[1, [1, 2]]], "the first weights are those from pass 0 on; found pass 1"),
    ([[0, [1, 2]], [0, [2, 1]]], "passes must rise; found 0 after 0"),
    ([[0, [1, 2]], [2, [1]]], "1 weights for 2 branches from pass 2 on"),
    ([[0, [1, 2]], 3], "expected a pass and the weights from it on"),
    ([[0, [1, -2]]], "a weight must be 0, which leaves the branch out, or a number up to 1e9; found -2"),
    ([[0, [1, 1]], [1, [0, 0]]], "all weights are 0 from pass 1 on"),
])
def test_what_is_no_schedule_is_named(weights: Any, message: str, branches: "list[fb.Pipeline]") -> None:
    with pytest.raises(fb.ConfigError, match=message):
        fb.mix(branches, weights=weights).batch(4).plan()


BEHIND: Any = {"shuffle": lambda pipe: pipe.shuffle(buffer=5), "laplace": lambda pipe: pipe.laplace(buffer=5, by="id"), "two": lambda pipe: pipe.shuffle(3).shuffle(4),
               "made": lambda pipe: pipe.shuffle(4).filter("id != 7"), "repeat": lambda pipe: pipe.shuffle(4).repeat(2)}


@pytest.mark.parametrize("boundary", ["hard", "straddle"])
@pytest.mark.parametrize("behind", BEHIND)
def test_a_pass_that_was_seen_to_end_stays_over(behind: str, boundary: str, branches: "list[fb.Pipeline]") -> None:
    """What fills a buffer sees the end of a pass before the last rows of it are given. Weights by which the pass would go on come too late for it then."""
    def pipe(weights: Any) -> Any:
        return BEHIND[behind](fb.mix([branches[0].take(9), branches[1].take(12)], weights=weights, until="all")).batch(1).epochs(2).epoch_boundary(boundary).seed(5)

    with pipe([1, 0]).load() as loader:
        states = [loader.state_dict()]
        before = [batch["id"].tolist() for batch in loader if states.append(loader.state_dict()) is None]
    for done, state in enumerate(states):
        with pipe([1, 3]).load() as loader:
            loader.load_state_dict(state, accept=["weights"])
            run = before[:done] + [batch["id"].tolist() for batch in loader]
            loader.begin_anew()
            assert [batch["id"].tolist() for batch in loader] == run, f"from batch {done} on"
        found = collections.Counter(row[0] for row in run)
        passes = 4 if behind == "repeat" else 2
        assert max(found.values()) <= passes and all(found[id] == passes for id in range(9) if id != 7), f"from batch {done} on: {found}"
