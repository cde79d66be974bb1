# SPDX-License-Identifier: Apache-2.0
"""Several pipelines as one: fb.mix, concat, round_robin, join and zip."""
from __future__ import annotations

import time
from collections.abc import Iterator
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


def test_a_pass_goes_on_where_take_cut_the_last_one_however_fast_rows_come(branches: list[fb.Pipeline]) -> None:
    def rows(first: int) -> Any:
        def read(_epoch: int, start: int) -> Iterator[dict[str, Any]]:
            for number in range(first + start, first + 40):
                if number % 3 == 0:
                    time.sleep(0.0005)  # so that the pipeline takes a few rows at a time
                yield {"id": number}

        return read

    def one_by_one(first: int) -> fb.Pipeline:
        return fb.python(open=rows(first), columns={"id": fb.fixed("int64", [])}, name=f"rows-{first}")

    pipe = fb.round_robin([one_by_one(0), one_by_one(1000)], until="all").shuffle(buffer=4).take(13).batch(size=8).epochs(3)
    streams = [ids(pipe, threads=threads) for threads in (1, 4, 1, 4, 1, 4)]
    assert all(stream == streams[0] for stream in streams)
    for number in range(3):  # each pass takes 13 elements and leaves 3 in the buffer
        places = [2 * (one % 1000) + one // 1000 for one in streams[0][13 * number : 13 * (number + 1)]]
        assert set(places) < set(range(16 * number, 16 * number + 16))


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


def numbers(name: str, first: int, last: int) -> fb.Source:
    return fb.arrays({name: np.arange(first, last)}, name=f"{name}-{first}")


def made(pipe: fb.Pipeline) -> fb.Pipeline:
    def same(row: dict[str, Any]) -> dict[str, Any]:
        return row

    return pipe.map(same, per="row")


SEPARATED: Any = {
    "in a branch of a branch": lambda: [fb.concat([numbers("i", 0, 10).shuffle("global"), numbers("i", 10, 20)]), numbers("j", 0, 20)],
    "in a zip": lambda: [fb.zip([numbers("i", 0, 20).shuffle("global"), numbers("k", 0, 20).shuffle("global")]), numbers("j", 0, 20)],
    "before a function": lambda: [made(numbers("i", 0, 20).shuffle(buffer=4)), numbers("j", 0, 20)],
    "before one of two functions": lambda: [made(numbers("i", 0, 20).shuffle("global")), made(numbers("j", 0, 20))],
    "other orders before functions": lambda: [made(numbers("i", 0, 20).shuffle("global")), made(numbers("j", 0, 20).shuffle(buffer=4))],
    "of files, before functions": lambda: [made(numbers("i", 0, 20).interleave(2)), made(numbers("j", 0, 20).interleave(2))],
    "behind a filter, before functions": lambda: [made(numbers(name, 0, 20).filter(f"{name} > 3").shuffle(buffer=4)) for name in "ij"],
    "of items": lambda: [fb.python([{"i": i} for i in range(20)], name="items").shuffle("global"), numbers("j", 0, 20)],
    "of items, and of rows": lambda: [fb.python([{"i": i} for i in range(20)], name="items").shuffle("global"),
                                      numbers("j", 0, 20).shuffle("global")],
}
TOGETHER: Any = {
    "before functions": lambda: [made(numbers("i", 0, 20).shuffle("global")), made(numbers("j", 0, 20).shuffle("global"))],
    "behind functions": lambda: [made(numbers("i", 0, 20)).shuffle(buffer=4), made(numbers("j", 0, 20)).shuffle(buffer=4)],
    "behind one function": lambda: [made(numbers("i", 0, 20)).shuffle("global"), numbers("j", 0, 20).shuffle("global")],
    "of items": lambda: [fb.python([{name: i} for i in range(20)], name=name).shuffle("global") for name in ("i", "j")],
    "none": lambda: [made(numbers("i", 0, 20)), fb.concat([numbers("j", 0, 10), numbers("j", 10, 20)])],
}


@pytest.mark.parametrize("case", SEPARATED)
def test_an_order_that_would_separate_rows_of_a_zip_is_refused_wherever_it_stands(case: str) -> None:
    with pytest.raises(fb.ConfigError, match="rows that belong together would be separated"):
        fb.zip(SEPARATED[case]()).batch(size=20).plan()


@pytest.mark.parametrize("case", TOGETHER)
def test_rows_of_a_zip_stay_together(case: str) -> None:
    batch = next(iter(fb.zip(TOGETHER[case]()).batch(size=20).seed(5).load()))
    assert batch["i"].tolist() == batch["j"].tolist() and sorted(batch["i"].tolist()) == list(range(20))


@pytest.mark.parametrize("branch", [{}, {"source": {}}, {"source": 3}, {"source": {"a": 1, "b": 2}}, 7])
def test_a_branch_that_is_none_is_named_beside_bound_rows(branch: Any) -> None:
    pipe = fb.zip([made(numbers("i", 0, 20)), made(numbers("j", 0, 20))]).batch(size=4)
    document = pipe.to_dict()
    document["source"]["zip"]["branches"][1] = branch
    with pytest.raises(fb.ConfigError, match="/source/zip/branches/1"):
        fb.load(document, bind=pipe._bindings)


@pytest.mark.parametrize(("combination", "steps", "places"), [
    ({"untill": "all"}, [{"filter": {"where": "x > 2"}}], ["/source/mix/untill"]),
    ({"untill": "all"}, [{"filter": {"where": "x > 2"}}, {"shuffle": {"global": True}}], ["/source/mix/untill"]),
    ({"weights": [1]}, [{"chunk": {"size": 2}}], ["/source/mix/weights"]),
    ({}, [{"filter": {"where": "y > 2"}}, {"shuffle": {"global": True}}], ["/steps/0/filter/where"]),
    ({}, [{"filter": {"wher": "x > 2"}}, {"shuffle": {"global": True}}], ["/steps/0/filter/wher", "/steps/0/filter"]),
    ({"until": "al"}, [{"filter": {"where": "x > 2"}}, {"shuffle": {"buffers": 3}}], ["/steps/1/shuffle/buffers", "/source/mix/until"])])
def test_a_typo_is_told_alone(combination: dict[str, Any], steps: list[Any], places: list[str]) -> None:
    """What stands behind a combination is complained about when nothing else is wrong: rows could be made for it."""
    branches = [{"source": {"arrays": {"bind": name}}} for name in ("a", "b")]
    document = {"source": {"mix": {**combination, "branches": branches}}, "steps": [*steps, {"batch": {"size": 8}}]}
    with pytest.raises(fb.ConfigError) as refused:
        fb.load(document, bind={name: {"x": np.arange(9)} for name in ("a", "b")})
    found = [error.pointer for error in refused.value.faults] or [refused.value.pointer]
    assert sorted(found) == sorted(places), str(refused.value)
