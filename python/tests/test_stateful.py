# SPDX-License-Identifier: Apache-2.0
"""Rows that follow sequences, and the states that a program saves for them, against NumPy on whole sequences."""
from __future__ import annotations

import collections
import json
import pickle
from typing import Any, Iterator

import numpy as np
import pytest

import forebay as fb

LENGTHS = [1 + i * 7 % 11 for i in range(29)]
ROWS = 4
STATES: dict[str, Any] = {"sum": {"dtype": "float64", "shape": [2]}, "steps": {"dtype": "int32", "initial": 5}}


def sequences() -> list[Any]:
    random = np.random.default_rng(7)
    return [random.integers(-50, 50, (length, 2)).astype(np.float64) for length in LENGTHS]


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "sequences.tfrecord"
    fb.write_records(path, [fb.encode_example({"x": values.astype(np.int64).reshape(-1).tolist(), "id": i})
                            for i, values in enumerate(sequences())])
    return path


def pipeline(path: Any, **more: Any) -> fb.Pipeline:
    return (fb.tfrecord(path)
            .example({"x": fb.fixed_len_sequence("int64", [2]), "id": fb.fixed("int64", [])})
            .shuffle(9).cast("x", "float64").unroll(3, keys=["x"]).stateful(ROWS, states=STATES, **more).seed(4))


def step(batch: fb.Batch) -> tuple[Any, Any]:
    """A recurrent network that adds: the sums of the rows go on. Returns the sums at the end of each row's segment."""
    sums = batch.state("sum") + batch["x"].sum(axis=1)
    batch.save_state("sum", sums)
    batch.save_state("steps", batch.state("steps") + np.int32(1))
    return batch["id"], sums


def train(loader: fb.Loader) -> Iterator[list[Any]]:
    for batch in loader:
        steps = batch.state("steps")
        ids, sums = step(batch)
        yield [batch.number, ids.tolist(), sums.tolist(), steps.tolist(), batch["x"].tolist()]


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("epochs", [1, 3])
def test_the_sums_of_segments_are_those_of_whole_sequences(records, threads, epochs):
    last: dict[int, list[Any]] = collections.defaultdict(list)
    for batch in pipeline(records).epochs(epochs).load(threads=threads):
        ids, sums = step(batch)
        for row, spans in enumerate(batch.spans):
            if spans and spans[0].start + spans[0].length == LENGTHS[ids[row]]:
                last[int(ids[row])].append(sums[row])
    for number, values in enumerate(sequences()):
        assert len(last[number]) == epochs
        assert all(np.array_equal(total, values.sum(axis=0)) for total in last[number])


def test_rows_begin_with_the_initial_state(records):
    batch = next(pipeline(records).load())
    assert batch.state_names == ["sum", "steps"]
    steps = batch.state("steps")
    assert steps.dtype == np.int32 and steps.tolist() == [5] * ROWS
    assert batch.state("sum").tolist() == [[0.0, 0.0]] * ROWS
    steps += 1
    assert batch.state("steps").tolist() == [5] * ROWS, "each call gives an array of its own"


@pytest.mark.parametrize("boundary", ["straddle", "hard"])
def test_restart_at_every_batch_in_a_fresh_loader(records, boundary):
    document = pipeline(records).epochs(2).epoch_boundary(boundary)
    loader = document.load()
    states, seen = [json.dumps(loader.state_dict())], []
    for line in train(loader):
        seen.append(line)
        states.append(json.dumps(loader.state_dict()))
    for at, state in enumerate(states):
        again = document.load(threads=1 + at % 2)
        again.load_state_dict(json.loads(state))
        assert list(train(again)) == seen[at:]


def test_a_state_stands_before_a_batch_until_its_states_are_saved(records):
    document = pipeline(records)
    loader = document.load()
    seen = list(train(document.load()))
    step(next(loader))
    before = loader.state_dict()
    batch = next(loader)
    batch.save_state("sum", np.zeros((ROWS, 2)))
    assert loader.state_dict() == loader.state_dict(after=batch) == before
    again = document.load()
    again.load_state_dict(before)
    assert list(train(again)) == seen[1:]
    batch.save_state("steps", np.zeros(ROWS, np.int32))
    assert loader.state_dict() != before
    assert loader.state_dict() == loader.state_dict(after=pickle.loads(pickle.dumps(batch)))


def test_batches_may_be_read_two_ahead(records):
    document = pipeline(records)
    seen, ahead = [], collections.deque()
    for batch in document.load():
        ahead.append(batch)
        if len(ahead) == 3:
            seen.append(step(ahead.popleft())[1].tolist())
    seen += [step(batch)[1].tolist() for batch in ahead]
    assert seen == [line[2] for line in train(document.load())]


def test_a_state_that_nobody_saved_names_the_sequences(records):
    loader = pipeline(records).load()
    next(loader)
    with pytest.raises(fb.StateError, match=r"state 'sum' of batch 1: it was not saved after batch 0.*tfrecord:"):
        next(loader).state("sum")


def test_wrong_names_types_and_shapes(records):
    batch = next(pipeline(records).load())
    with pytest.raises(KeyError, match="no state 'sun', did you mean 'sum'"):
        batch.state("sun")
    with pytest.raises(KeyError, match="no state 'x'"):
        batch.save_state("x", np.zeros(ROWS))
    with pytest.raises(fb.ConfigError, match=r"found float32\[4,2\], allowed is float64\[4,2\]"):
        batch.save_state("sum", np.zeros((ROWS, 2), np.float32))
    with pytest.raises(fb.ConfigError, match=r"found float64\[4\], allowed is float64\[4,2\]"):
        batch.save_state("sum", np.zeros(ROWS))
    with pytest.raises(TypeError, match="an array of numbers is wanted"):
        batch.save_state("sum", np.array(["a"] * ROWS))
    batch.save_state("sum", np.ones((2, ROWS))[::-1].T)  # NumPy copies what is not contiguous
    with pytest.raises(fb.StateError, match="states do not travel with it"):
        pickle.loads(pickle.dumps(batch)).state("sum")


def test_a_batch_of_before_load_state_dict_saves_nothing(records):
    loader = pipeline(records).load()
    step(next(loader))
    state = loader.state_dict()
    old = next(loader)
    loader.load_state_dict(state)
    with pytest.raises(fb.StateError, match="has gone on from a saved state"):
        old.save_state("sum", np.zeros((ROWS, 2)))


def test_arrays_are_sequences_too():
    values = np.arange(5 * 7).reshape(5, 7)
    loader = (fb.arrays({"x": values}).unroll(3, keys=["x"]).stateful(2, states={"sum": {"dtype": "int64"}})).load()
    rows = []
    for batch in loader:
        sums = batch.state("sum") + batch["x"].sum(axis=1)
        batch.save_state("sum", sums)
        rows.append(sums.tolist())
    assert [row for batch in rows[2::3] for row in batch if row] == values.sum(axis=1).tolist()


def test_the_last_sequences_may_be_dropped(records):
    whole = [batch["id"].tolist() for batch in pipeline(records).load()]
    full = [batch for batch in pipeline(records, remainder="drop").load()]
    assert 0 < len(full) < len(whole)
    assert [batch["id"].tolist() for batch in full] == whole[:len(full)]
    assert all(batch.valid_rows == ROWS for batch in full)


def test_states_go_through_map(records):
    document = pipeline(records)
    seen = [line[2] for line in train(document.load())]
    mapped = document.map(lambda batch: {"x": batch["x"], "id": batch["id"]}).load()
    assert [step(batch)[1].tolist() for batch in mapped] == seen
    state = mapped.state_dict()
    assert state["sections"]["order"]["next"] == len(seen)


def test_shards_by_row_keep_their_sequences(records):
    document = pipeline(records).epochs(2)
    whole = list(train(document.load()))
    ranks = [list(train(document.load(shard=(rank, 2)))) for rank in range(2)]
    for all_rows, first, second in zip(whole, *ranks, strict=True):
        assert all_rows[1:] == [a + b for a, b in zip(first[1:], second[1:])]


def test_the_states_of_all_ranks_go_on_with_another_number_of_ranks(records):
    document = pipeline(records)
    ranks = [document.load(shard=(rank, 2)) for rank in range(2)]
    for _ in range(7):
        for rank in ranks:
            step(next(rank))
    states = [rank.state_dict() for rank in ranks]
    whole = document.load()
    with pytest.raises(fb.StateError, match="give the states of all shards as a list"):
        whole.load_state_dict(states[0])
    whole.load_state_dict(states)
    assert list(train(whole)) == list(train(document.load()))[7:]
    with pytest.raises(fb.StateError, match="the list of states is empty"):
        whole.load_state_dict([])


def test_states_of_every_dtype_come_back_as_they_were_saved():
    names = ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "float32", "complex64", "complex128"]
    pipe = (fb.arrays({"x": np.arange(12.0).reshape(2, 6)}).unroll(3, keys=["x"])
            .stateful(2, states={name: {"dtype": name, "shape": [3]} for name in names}))
    loader = pipe.load()
    first = next(loader)
    saved = {}
    for name in names:
        state = first.state(name)
        assert state.shape == (2, 3) and not state.any()
        saved[name] = np.arange(1, 7).reshape(2, 3).astype(state.dtype)
        first.save_state(name, saved[name])
    again = pipe.load()
    again.load_state_dict(json.loads(json.dumps(loader.state_dict())))
    for batch in (next(loader), next(again)):
        for name in names:
            assert batch.state(name).dtype == saved[name].dtype
            assert np.array_equal(batch.state(name), saved[name])


def test_states_that_stay_in_rows_of_the_program_equal_those_that_the_loader_keeps(records):
    """A tensor on a device has a row for each row of the batches, and the number of the segment is the reset mask."""
    source = (fb.tfrecord(records).example({"x": fb.fixed_len_sequence("int64", [2]), "id": fb.fixed("int64", [])})
              .shuffle(9).cast("x", "float64"))
    kept = source.unroll(3, keys=["x"]).stateful(ROWS, states=STATES).seed(4)
    own = source.unroll(3, keys=["x"], number="segment").stateful(ROWS).seed(4)
    loader, sums, found = own.load(threads=2), np.zeros((ROWS, 2)), []
    for done, batch in enumerate(loader):
        sums = np.where((batch["segment"] <= 0)[:, None], 0, sums) + batch["x"].sum(axis=1)
        found.append(sums.tolist())
        if done == 5:   # the program saves its tensor, the loader its place
            state = loader.state_dict()
            assert len(json.dumps(state)) < 2000
            loader.load_state_dict(state)
    assert found == [sums for _, _, sums, _, _ in train(kept.load(threads=1))]
