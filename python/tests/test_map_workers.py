# SPDX-License-Identifier: Apache-2.0
"""`map` with workers: the same results as without, the same state, the same draws."""
from __future__ import annotations

import gc
import os
import pathlib
import pickle
import re
import sys
import time
from typing import Any, Iterator

import map_functions
import pytest
from map_checks import KINDS, WORKERS, children, gone, threads, whole
from streams import example, examples, write_parts

import forebay as fb


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    gc.collect()
    assert gone(lambda: not children() and not threads()), (children(), threads())


@pytest.fixture
def small(parts: list[str]) -> fb.Pipeline:
    return examples(parts).shuffle(buffer=40).batch(25, remainder="pad", pad=True).epochs(2).seed(5)


@pytest.mark.parametrize("per, function", [("batch", map_functions.every_kind), ("row", map_functions.one_row)])
def test_results_are_the_same_for_any_number_of_workers(small: fb.Pipeline, per: Any, function: Any) -> None:
    seen = []
    for workers, inside in KINDS:
        with small.map(function, per=per, workers=workers, inside=inside).load(threads=1 + workers % 2) as loader:
            seen.append([whole(batch) for batch in loader])
            assert next(loader, None) is None
    assert len(seen[0]) == 25 and seen[0][-1][4] == 12  # valid rows of the last batch
    for kind, one in zip(KINDS[1:], seen[1:]):
        assert one == seen[0], kind


def test_a_batch_in_a_process_is_the_batch_itself(pipe: fb.Pipeline) -> None:
    """Values, lengths, keys and origins of an identity, and the groups, arrive unchanged."""
    with pipe.load() as loader, pipe.map(map_functions.same, workers=2, inside="processes").load() as mapped:
        for one, other in zip(loader, mapped):
            assert whole(one) == whole(other)
            assert (sorted(one.inputs), sorted(one.targets)) == (sorted(other.inputs), sorted(other.targets))
            assert [part.tolist() for part in one.raw("name")] == [part.tolist() for part in other.raw("name")]


def test_draws_of_rows_differ_by_row_epoch_and_seed_and_not_by_place(tmp_path: pathlib.Path) -> None:
    def draws(folder: str, seed: int) -> dict[tuple[int, int], list[tuple[float, ...]]]:
        (tmp_path / folder).mkdir(exist_ok=True)
        paths = write_parts(tmp_path / folder, sizes=(20, 11), packings=(None, None))
        pipeline = examples(paths).shuffle(buffer=9).batch(7).epochs(3).seed(seed)  # some batches have rows of two epochs
        found: dict[Any, list[tuple[float, ...]]] = {}
        with pipeline.map(map_functions.one_row, per="row", workers=2).load() as loader:
            for batch in loader:
                for number, draw in zip(batch["id"].tolist(), batch["draw"].tolist()):
                    found.setdefault(number, []).append(tuple(draw))
        return found

    first = draws("a", 1)
    flat = [draw for each in first.values() for draw in each]
    assert (len(first), len(flat), len(set(flat))) == (31, 93, 93)
    assert draws("b", 1) == first
    assert not set(flat) & {draw for each in draws("a", 2).values() for draw in each}


def test_a_shard_draws_what_the_whole_batch_draws(pipe: fb.Pipeline) -> None:
    def rows(shard: Any) -> list[list[Any]]:
        with pipe.map(map_functions.one_row, per="row", workers=1).load(shard=shard) as loader:
            return [batch["draw"].tolist() for batch in loader]
    assert [a + b + c for a, b, c in zip(*(rows((index, 3)) for index in range(3)))] == rows(None)


@pytest.mark.parametrize("workers, inside", WORKERS)
def test_a_restart_at_every_batch_is_exact_while_batches_are_out(parts: list[str], workers: int, inside: Any) -> None:
    pipeline = examples(parts).shuffle(buffer=40).batch(24).epochs(1).seed(5)
    mapped = pipeline.map(map_functions.uneven, workers=workers, inside=inside)
    with pipeline.map(map_functions.uneven).load() as loader, pipeline.load() as bare:
        states, batches = [loader.state_dict()], []
        assert states[0] == bare.state_dict()
        for batch in loader:
            batches.append(whole(batch))
            next(bare)
            states.append(loader.state_dict())
            assert states[-1] == bare.state_dict()
    with mapped.load() as loader:
        assert loader.state_dict() == states[0]
        for number, batch in enumerate(loader):
            assert loader.state_dict() == states[number + 1]
        for place in range(len(states)):
            loader.load_state_dict(states[place])
            assert loader.state_dict() == states[place]
            rest = [whole(batch) for _, batch in zip(range(3), loader)]
            assert rest == batches[place:place + 3], place
    with mapped.load(threads=1) as loader:
        loader.load_state_dict(states[5])
        assert [whole(batch) for batch in loader] == batches[5:]


def test_no_more_batches_are_out_than_workers_and_two(pipe: fb.Pipeline) -> None:
    seen, given = [], []
    with pipe.epochs(None).map(lambda batch: seen.append(batch.number) or batch, workers=3).load() as loader:
        for batch in loader:
            given.append(batch.number)
            time.sleep(0.002)
            assert max(seen) - len(given) < 3 + 2
            if len(given) == 30:
                break
    assert max(seen) >= 30  # workers were ahead


@pytest.mark.parametrize("workers, inside", WORKERS)
def test_one_map_after_the_other_with_workers_in_both(pipe: fb.Pipeline, workers: int, inside: Any) -> None:
    whole_thing = (pipe.map(map_functions.every_kind, workers=workers, inside=inside)
                   .map(map_functions.same, workers=2, inside="processes").map(lambda batch: {"n": batch["noise"]}))
    expected = pipe.map(map_functions.every_kind).map(lambda batch: {"n": batch["noise"]})
    with whole_thing.load() as loader, expected.load() as other:
        for _ in range(9):
            assert whole(next(loader)) == whole(next(other))
            assert loader.state_dict() == other.state_dict()


def test_a_lambda_is_for_threads_and_with_cloudpickle_for_processes(pipe: fb.Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    factor = 3
    for workers, inside in KINDS:
        with pipe.map(lambda batch: {"id": batch["id"] * factor}, workers=workers, inside=inside).load() as loader, \
                pipe.load() as other:
            assert next(loader)["id"].tolist() == (next(other)["id"] * 3).tolist()
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(TypeError, match="(?s)lambda.*module that can be imported.*cloudpickle.*threads"):
        pipe.map(lambda batch: batch, workers=1, inside="processes")
    pipe.map(lambda batch: batch, inside="processes")  # without workers none is sent
    with pytest.raises(TypeError, match="cannot be sent"), pipe.load() as loader:
        monkeypatch.undo()
        pipe.map(lambda batch: loader, workers=1, inside="processes")


def test_a_process_is_no_copy_of_the_program(pipe: fb.Pipeline) -> None:
    with pipe.map(map_functions.pid, workers=2, inside="processes").load() as loader:
        seen = [dict(next(loader)) for _ in range(12)]
    assert {(one["main"], one["memfd"], one["shm"], one["interrupt"], one["folder"]) for one in seen} == \
        {("forebay._worker", True, False, True, os.getcwd())}
    assert os.getpid() not in {one["pid"] for one in seen}


def test_a_mapped_batch_is_a_dict_with_the_facts_of_its_batch(pipe: fb.Pipeline) -> None:
    with pipe.targets("id").map(lambda batch: {"id": batch["id"], "new": 3}).load() as loader, pipe.load() as other:
        batch, source = next(loader), next(other)
    assert type(batch) is fb.MappedBatch and isinstance(batch, dict)
    for one in (batch, pickle.loads(pickle.dumps(batch))):
        assert (one.number, one.epoch, one.rows, one.valid_rows, one.origins, one.record_keys) == \
            (source.number, source.epoch, source.rows, source.valid_rows, source.origins, source.record_keys)
        assert (list(one.inputs), list(one.targets), one["new"]) == (["new"], ["id"], 3)
    made = fb.MappedBatch({"a": 1})
    made["b"] = 2
    assert made == {"a": 1, "b": 2}
    with pytest.raises(AttributeError, match="made of values only"):
        made.number


def test_bytes_of_records_are_never_unpickled(tmp_path: pathlib.Path) -> None:
    trap = tmp_path / "trap"

    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return pathlib.Path.touch, (trap,)

    hostile = pickle.dumps(Trap())
    path = tmp_path / "a.tfrecord"
    fb.write_records(path, [fb.encode_example({"s": hostile})] * 4)
    pipeline = fb.tfrecord(path).example({"s": fb.fixed("string")}).batch(2)
    with pipeline.map(map_functions.same, workers=1, inside="processes").load() as loader:
        assert [batch["s"].tolist() for batch in loader] == [[hostile] * 2] * 2
    assert not trap.exists()
    pickle.loads(hostile)
    assert trap.exists()


@pytest.mark.parametrize("workers", [0, 2])
def test_stats_name_map_as_the_bottleneck_when_it_is(pipe: fb.Pipeline, workers: int) -> None:
    def slow(batch: Any) -> Any:
        time.sleep(0.01)
        return batch

    with pipe.load() as loader:
        expected = [loader.complete_frac for _ in loader]
    with pipe.map(slow, workers=workers).load() as loader:
        shares = [loader.complete_frac for _ in loader]
        assert (shares, loader.complete_frac) == (expected, 1.0)
        stats = loader.stats()
    assert re.fullmatch(rf"map is the bottleneck: the loop waited \d+ % of the time for slow \(workers={workers}\)\.",
                        stats.bottleneck)
    assert str(stats).splitlines()[-1] == stats.bottleneck and stats.batches == len(shares)
    with pipe.map(map_functions.same, workers=workers).load() as loader:
        for batch in loader:
            time.sleep(0.03)
        assert "consumer is the bottleneck" in loader.stats().bottleneck


def test_a_run_without_states_has_workers_and_says_why_it_has_no_state(pipe: fb.Pipeline) -> None:
    with pipe.deterministic(False).map(map_functions.same, workers=2).load() as loader:
        assert sum(batch.rows for batch in loader) == 918
        with pytest.raises(fb.StateError, match="deterministic"):
            loader.state_dict()


def test_names_of_files_that_are_not_utf_8_arrive(tmp_path: pathlib.Path) -> None:
    fb.write_records(tmp_path / "a", [example(i) for i in range(5)])
    os.rename(tmp_path / "a", os.fsencode(tmp_path) + b"/\xff\xe9 a.tfrecord")
    pipeline = examples([str(tmp_path / "*")]).batch(2)
    facts = pipeline.map(map_functions.facts, workers=1, inside="processes")
    with facts.load() as loader, pipeline.load() as other:
        assert [dict(batch) for batch in loader] == [{"origins": batch.origins, "keys": batch.record_keys} for batch in other]


# ---------------------------------------------------------------- epochs, positions and peek

def left_out_early(loader: fb.Loader, given: int) -> tuple[list[tuple[int, int]], list[Any]]:
    """A loop that leaves every other epoch after `given` batches: (epoch, number) of the batches, and every state."""
    seen, states = [], []
    for epoch in loader.epochs():
        states.append(loader.state_dict())
        for count, batch in enumerate(epoch):
            assert batch.epoch == epoch.number
            seen.append((epoch.number, batch.number))
            states.append(loader.state_dict())
            if epoch.number % 2 == 0 and count + 1 == given:
                break
        states.append(loader.state_dict())
    return seen, states


@pytest.mark.parametrize("boundary", ["straddle", "hard"])
@pytest.mark.parametrize("workers, inside", [(0, "threads"), *WORKERS])
def test_epochs_are_those_of_a_loader_without_map(parts: list[str], workers: int, inside: Any, boundary: Any) -> None:
    pipe = examples(parts).shuffle(buffer=40).batch(24).epochs(5).seed(5).epoch_boundary(boundary)
    mapped = pipe.map(map_functions.uneven, workers=workers, inside=inside)
    for given in (1, 4, 1000):
        with pipe.load() as bare, mapped.load() as loader:
            expected = left_out_early(bare, given)
            assert left_out_early(loader, given) == expected
            assert [epoch.number for epoch in loader.epochs()] == [epoch.number for epoch in bare.epochs()]
            rest, expected = iter(loader.__next__, None), iter(bare.__next__, None)
            assert [batch.number for batch in rest] == [batch.number for batch in expected]
    with mapped.load() as loader, mapped.load() as again:
        next(next(loader.epochs()))
        again.load_state_dict(loader.state_dict())
        assert left_out_early(again, 4)[0] == left_out_early(loader, 4)[0]


def test_epochs_shorter_than_a_batch_and_endless_ones_have_map_too(parts: list[str]) -> None:
    short = examples(parts).take(5).batch(12).epochs(6)
    assert left_out_early(short.map(map_functions.same, workers=2).load(), 1) == left_out_early(short.load(), 1)
    seen = []
    with examples(parts).batch(24).epochs(None).map(map_functions.same, workers=2).load() as loader:
        for epoch in loader.epochs():
            if epoch.number == 9:
                break
            seen += [(epoch.number, next(epoch).epoch) for _ in range(2)]
    assert seen == [(number, number) for number in range(9) for _ in range(2)]


@pytest.mark.parametrize("workers, inside", [(0, "threads"), *WORKERS])
def test_a_mapped_batch_has_the_state_of_its_batch(pipe: fb.Pipeline, workers: int, inside: Any) -> None:
    with pipe.map(map_functions.one_row, per="row", workers=workers, inside=inside).load() as loader, pipe.load() as bare:
        for batch, source in zip(loader, bare):
            assert isinstance(batch, fb.MappedBatch)
            ahead = loader.peek()
            assert ahead is None or ahead.number == batch.number + 1
            state = bare.state_dict(after=source)
            assert loader.state_dict() == state == loader.state_dict(after=batch) == bare.state_dict(after=batch)
            assert state == bare.state_dict(after=pickle.loads(pickle.dumps(batch)))
        for wrong in (fb.MappedBatch({"x": 1}), dict(batch)):
            with pytest.raises(TypeError, match="after: must be a batch of this loader"):
                loader.state_dict(after=wrong)


def test_peek_asks_for_no_result(pipe: fb.Pipeline) -> None:
    calls: list[int] = []
    with pipe.map(lambda batch: calls.append(batch.number) or batch).load() as loader, pipe.load() as bare:
        assert whole(loader.peek()) == whole(loader.peek()) == whole(next(bare)) and calls == []
        assert next(loader).number == 0 and calls == [0]
        assert [batch.number for batch in loader][-1] == calls[-1] and loader.peek() is None
