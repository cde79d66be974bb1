# SPDX-License-Identifier: Apache-2.0
"""Several pipelines as one: fb.mix, concat, round_robin, join and zip."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forebay as fb

FEATURES = {"id": fb.fixed("int64", []), "x": fb.fixed("float32", [2])}


@pytest.fixture
def branches(tmp_path: Path) -> list[fb.Pipeline]:
    out = []
    for number, records in enumerate((20, 9)):
        path = tmp_path / f"branch-{number}"
        fb.write_records(path, [fb.encode_example({"id": [1000 * number + i], "x": [float(i), 0.5]}) for i in range(records)])
        out.append(fb.tfrecord(path).example(FEATURES))
    return out


def ids(pipe: fb.Pipeline, **knobs: Any) -> list[int]:
    return [int(one) for batch in pipe.load(**knobs) for one in batch["id"]]


def test_each_kind_delivers_the_rows_of_all_branches(branches: list[fb.Pipeline]) -> None:
    every = [*range(20), *range(1000, 1009)]
    assert ids(fb.concat(branches).batch(size=8)) == every
    assert sorted(ids(fb.mix(branches, weights=[2, 1], until="all").batch(size=8))) == every
    assert ids(fb.join(branches).batch(size=8))[:4] == [0, 1000, 1, 1001]
    assert ids(fb.round_robin(branches, until=5).batch(size=8)) == [0, 1000, 1, 1001, 2]
    assert len(ids(fb.mix(branches, until=100, repeat=True).batch(size=8))) == 100


def test_the_knobs_of_a_run_do_not_change_the_stream(branches: list[fb.Pipeline]) -> None:
    pipe = fb.mix([branches[0].shuffle(buffer=5), branches[1]], until=50, repeat=[True, True]).shuffle(buffer=9).batch(size=8)
    assert ids(pipe, threads=1) == ids(pipe, threads=8) == ids(pipe, threads=2, prefetch=1, memory="8MiB")


def test_batches_say_which_branch_gave_each_row(branches: list[fb.Pipeline]) -> None:
    loader = fb.join(branches).batch(size=40).load()
    batch = next(iter(loader))
    assert batch.branch == [int(one) // 1000 for one in batch["id"]]
    assert [origin[1] for origin in batch.origins] == [int(one) % 1000 for one in batch["id"]]
    counts = loader.stats().branches
    assert [(one["rows"], one["records"]) for one in counts] == [(20, 20), (9, 9)]
    assert loader.stats().skipped == []


def test_a_restart_goes_on_exactly(branches: list[fb.Pipeline]) -> None:
    pipe = fb.mix(branches, until=17, repeat=True).shuffle(buffer=6).batch(size=4).epochs(5)
    whole = [batch["id"].tolist() for batch in pipe.load()]
    loader = pipe.load()
    for number, batch in enumerate(loader):
        assert batch["id"].tolist() == whole[number]
        again = pipe.load(threads=2)
        again.load_state_dict(loader.state_dict())
        assert [later["id"].tolist() for later in again] == whole[number + 1:]


def test_zip_has_an_origin_for_each_branch(branches: list[fb.Pipeline]) -> None:
    rows = fb.arrays({"y": np.arange(20) * 10})
    pipe = fb.zip([branches[0].select(tensors=["id"]), rows]).shuffle(buffer=8).batch(size=20)
    batch = next(iter(pipe.load()))
    assert (batch["y"] == 10 * batch["id"]).all()
    assert [[origin[1] for origin in row] for row in batch.origins] == [[one, one] for one in batch["id"].tolist()]
    with pytest.raises(fb.DataError, match="branch 0 of `zip` ends after 20 rows, and branch 1 goes on"):
        ids(fb.zip([branches[0], fb.arrays({"y": np.arange(21)})]).batch(size=8))


def test_fill_gives_a_value_where_a_branch_lacks_a_tensor(branches: list[fb.Pipeline]) -> None:
    pipe = fb.concat([branches[0], branches[1].select(tensors=["id"])], fill={"x": -1}).batch(size=40)
    assert next(iter(pipe.load()))["x"][20:].tolist() == [[-1, -1]] * 9


def test_a_plan_shows_its_branches(branches: list[fb.Pipeline]) -> None:
    text = str(fb.mix([branches[0].shuffle(buffer=5), branches[1]], weights=[2, 1]).batch(size=8).plan())
    assert "mix of 2 branches: weights [2,1]" in text
    assert text.count("tfrecord: 1 file") == 2 and 'shuffle {"buffer":5}' in text


@pytest.mark.parametrize("wrong, message", [
    (lambda a: fb.mix([a.epochs(2), a]), "branch 0: epochs belongs to the whole run"),
    (lambda a: fb.mix([a, 3]), "branch 1"),  # type: ignore[list-item]
    (lambda a: fb.mix([a, a], repeat=[True]), "repeat has 1 values for 2 branches"),
    (lambda a: fb.zip([fb.arrays({"y": [1]}), fb.arrays({"z": [1]})]), "a name of its own"),
    (lambda a: fb.mix([a.batch(size=2), a]).batch(size=2).plan(), "move it from the branch"),
    (lambda a: fb.mix([a.map(lambda batch: batch), a]), "mix: branch 0: map.*put it behind the batch"),
])
def test_what_does_not_fit_is_named(branches: list[fb.Pipeline], wrong: Any, message: str) -> None:
    with pytest.raises((fb.ConfigError, TypeError), match=message):
        wrong(branches[0])
