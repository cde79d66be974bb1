# SPDX-License-Identifier: Apache-2.0
"""Batches that branches of a combination make, and steps behind a function of batches."""
from __future__ import annotations

import itertools
import pathlib
from typing import Any

import numpy as np
import pytest

import forebay as fb

FEATURES = {"id": fb.fixed("int64", []), "x": fb.var_len("int64")}
BATCHERS: Any = {
    "batch": lambda pipe: pipe.batch(4, pad=True),
    "drop": lambda pipe: pipe.batch(4, pad=True, remainder="drop"),
    "buckets": lambda pipe: pipe.buckets("x", [2, 4], [3, 5, 4], longer="bucket"),
    "frames": lambda pipe: pipe.frames(["x"], batch_size=14),
    "token_budget": lambda pipe: pipe.token_budget(12, keys=["x"]),
    "packed": lambda pipe: pipe.packed(9, 2, keys=["x"], segment_ids="segments", cu_seqlens="ends"),
    "moved": lambda pipe: pipe.batch(3, pad=True).shuffle_batches(3).batch_slice(1),
}


@pytest.fixture
def branches(tmp_path: pathlib.Path) -> "list[fb.Pipeline]":
    out = []
    for name, first, count in (("a", 0, 31), ("b", 1000, 22)):
        rows = [{"id": [first + i], "x": [first + i] * ((i * 7) % 6 + 1)} for i in range(count)]
        fb.write_records(tmp_path / name, [fb.encode_example(row) for row in rows])
        out.append(fb.tfrecord(tmp_path / name).example(FEATURES))
    return out


def text(batch: Any) -> str:
    """All of a batch: values, rows, true lengths."""
    tensors = {name: value.tolist() if hasattr(value, "tolist") else [value.values.tolist(), value.row_splits.tolist()]
               for name, value in batch.items()}
    return repr((tensors, batch.valid_rows, {name: value.tolist() for name, value in batch.lengths.items()}))


def texts(loader: Any) -> "list[str]":
    return [text(batch) for batch in loader]


@pytest.mark.parametrize("first", BATCHERS)
@pytest.mark.parametrize("second", ["batch", "buckets"])
def test_batches_of_branches_come_as_they_are(first: str, second: str, branches: "list[fb.Pipeline]") -> None:
    if first == "packed":
        second = "packed"   # the others have no segments
    pipes = [BATCHERS[first](branches[0]), BATCHERS[second](branches[1])]
    own = [texts(pipe.load()) for pipe in pipes]
    if first != "moved":   # by a draw that belongs to the place of the branch
        assert texts(fb.concat(pipes).load()) == own[0] + own[1]
        turns = [one for pair in zip(*own) for one in pair]
        assert texts(fb.round_robin(pipes, until="all").load())[:len(turns)] == turns
    mixed = fb.mix(pipes, weights=[2, 1], until="all").seed(5).epochs(3)
    for boundary in ("straddle", "hard"):
        of_passes = texts(mixed.epoch_boundary(boundary).load())
        assert sorted(of_passes[:len(own[0] + own[1])]) == sorted(own[0] + own[1])
        for branch in own if first != "moved" else own[1:]:
            came = [one for one in of_passes[:len(own[0] + own[1])] if one in branch]
            assert came == branch
        for at in range(0, len(of_passes), 3):
            with mixed.epoch_boundary(boundary).load(threads=1) as loader:
                for _ in itertools.islice(loader, at):
                    pass
                state = loader.state_dict()
            with mixed.epoch_boundary(boundary).load(threads=4) as loader:
                loader.load_state_dict(state)
                assert texts(loader) == of_passes[at:]


@pytest.mark.parametrize("name", ["batch", "buckets", "token_budget", "packed"])
def test_shards_have_the_batches_of_the_run(name: str, branches: "list[fb.Pipeline]") -> None:
    pipe = fb.mix([BATCHERS[name](branch) for branch in branches], until="all").epochs(2)
    whole = list(pipe.load())
    by_batch = [texts(pipe.load(shard={"index": index, "count": 2, "by": "batch"})) for index in range(2)]
    assert [one for pair in itertools.zip_longest(*by_batch) for one in pair if one is not None] == [text(batch) for batch in whole]
    by_row = [list(pipe.load(shard={"index": index, "count": 2, "by": "row"})) for index in range(2)]
    assert len(by_row[0]) == len(by_row[1]) == len(whole)
    for one, *parts in zip(whole, *by_row):
        for tensor in one:
            if name == "batch" and tensor == "x":
                continue   # each shard pads to its own longest row, as it does behind one source
            assert np.array_equal(one[tensor], np.concatenate([part[tensor] for part in parts]))
    with pytest.raises(fb.ConfigError, match="say where these batches end"):
        pipe.load(shard={"index": 0, "count": 2, "by": "element"})


def test_a_pass_of_rows_is_a_pass_of_batches(branches: "list[fb.Pipeline]") -> None:
    pipe = fb.mix([branch.batch(4, pad=True) for branch in branches], until=7, repeat=True).epochs(3).epoch_boundary("hard")
    assert [batch.epoch for batch in pipe.load()] == [0] * 7 + [1] * 7 + [2] * 7


def test_a_batch_behind_the_combination_cuts_the_rows_of_those_before_it_anew(branches: "list[fb.Pipeline]") -> None:
    turns = [batch["id"].tolist() for batch in fb.round_robin([branch.batch(4, pad=True) for branch in branches], until="all").load()]
    ids = [number for batch in turns for number in batch]
    again = fb.round_robin([branch.batch(4, pad=True) for branch in branches], until="all").batch(5, pad=True)
    assert [batch["id"].tolist() for batch in again.load()] == [ids[at:at + 5] for at in range(0, len(ids), 5)]


def test_combinations_of_batches_nest_and_lie_side_by_side(branches: "list[fb.Pipeline]") -> None:
    a, b = (branch.batch(3, pad=True) for branch in branches)
    own = texts(a.load()) + texts(b.load())
    assert texts(fb.concat([fb.concat([a]), b]).load()) == own
    c = branches[0].rename("id", "id2").rename("x", "x2").batch(3, pad=True)
    for batch, one in zip(fb.zip([a, c]).load(), a.load()):
        assert batch["id"].tolist() == batch["id2"].tolist() == one["id"].tolist()
        assert np.array_equal(batch["x"], one["x"]) and np.array_equal(batch["x2"], one["x"])
    other = branches[0].rename("id", "id2").rename("x", "x2").batch(4, pad=True)
    with pytest.raises(fb.DataError, match="batches that lie side by side have equally many rows"):
        list(fb.zip([a, other]).load())
    with pytest.raises(fb.ConfigError, match="rows that belong together would be separated; put it behind the `zip`"):
        fb.zip([branches[0].buckets("x", [2, 4], [3, 5, 4], longer="bucket"), c]).plan()


def test_what_does_not_come_through_a_combination_is_named(branches: "list[fb.Pipeline]") -> None:
    a, b = branches
    for pipe, words in [
            (a.batch(4, seq_idx=True), "numbers the sequences of a pass, which does not come through a combination"),
            (a.batch(4, remainder="pad"), 'set `remainder` to "keep" or "drop"'),
            (a.batch(4, pad=True).cast("x", "int32"), "reads their padding, which they get behind the combination; put it before them"),
            (a.unroll(2, keys=["x"]).stateful(4), "put it behind the combination")]:
        with pytest.raises(fb.ConfigError) as refused:
            other = b.unroll(2, keys=["x"]).stateful(4) if "stateful" in words or "put it behind" in words else b.batch(4, pad="padding" in words)
            fb.mix([pipe, other]).plan()
        assert words in str(refused.value)
    with pytest.raises(fb.ConfigError, match="makes batches of the rows of all branches; move it from the branch"):
        fb.mix([a.batch(4), b]).plan()
    with pytest.raises(fb.ConfigError, match="move it from the branch"):
        fb.mix([a.batch(4), b.batch(4, pad=True)]).plan()


def longer(batch: Any) -> "dict[str, Any]":
    return {"id": batch["id"] * 2, "x": batch["x"], "size": np.full(batch.rows, batch["x"].shape[1])}


@pytest.mark.parametrize("name", ["batch", "buckets"])
@pytest.mark.parametrize("workers", [0, 2])
def test_steps_stand_behind_a_function_of_batches(name: str, workers: int, branches: "list[fb.Pipeline]") -> None:
    mapped = BATCHERS[name](branches[0]).map(longer, workers=workers).epochs(2).epoch_boundary("hard")
    pipe = mapped.cast("id", "float32").rename("size", "width")
    for whole, one in itertools.zip_longest(mapped.load(), pipe.load()):
        assert one["id"].dtype == np.float32 and one["id"].tolist() == whole["id"].tolist()
        assert np.array_equal(one["x"], whole["x"]) and one["width"].tolist() == whole["size"].tolist()
        assert one.lengths["x"].tolist() == whole.lengths["x"].tolist()
    whole = texts(pipe.load())
    for at in range(len(whole)):
        with pipe.load() as loader:
            for _ in itertools.islice(loader, at):
                pass
            state = loader.state_dict()
        with pipe.load(threads=4) as loader:
            loader.load_state_dict(state)
            assert texts(loader) == whole[at:]


def test_functions_of_batches_stand_in_branches(branches: "list[fb.Pipeline]") -> None:
    pipes = [branch.batch(4, pad=True).map(longer) for branch in branches]
    own = [[batch["id"].tolist() for batch in pipe.load()] for pipe in pipes]
    with pytest.raises(fb.ConfigError, match='say epoch_boundary."hard".'):
        pipes[0].rename("size", "width").epochs(2).load()
    assert [batch["id"].tolist() for batch in fb.concat(pipes).load()] == own[0] + own[1]


def test_a_function_that_returns_no_rows_for_steps_is_named(branches: "list[fb.Pipeline]") -> None:
    for returned, words in [({"n": np.float32(1)}, "returned a tensor without a batch axis"),
                            ({"a": np.zeros(2), "b": np.zeros(3)}, "returned tensors of 2 and 3 rows")]:
        with pytest.raises(fb.Error, match=words):
            list(branches[0].batch(4, pad=True).map(lambda batch, value=returned: value).cast("n", "int32").load())


@pytest.mark.parametrize("stage", ["filter", "take_while", "chunk", "unroll", "unbatch", "stack"])
def test_what_stands_before_interleave_acts_within_each_file(stage: str, tmp_path: pathlib.Path) -> None:
    for name, first in (("a", 0), ("b", 100), ("c", 200)):
        fb.write_records(tmp_path / name, [fb.encode_example({"id": [first + i], "x": [first + i] * (i % 3 + 1)}) for i in range(12)])
    stages: Any = {"filter": lambda pipe: pipe.filter("id % 3 != 0"), "take_while": lambda pipe: pipe.take_while("id % 100 < 7"),
                   "chunk": lambda pipe: pipe.chunk(2, keys=["x"]), "unroll": lambda pipe: pipe.unroll(2, keys=["x"]),
                   "unbatch": lambda pipe: pipe.unbatch(["x"]), "stack": lambda pipe: pipe.stack(["x"], window=3)}

    def ids(pipe: Any) -> "list[int]":
        return [number for batch in pipe.batch(4, pad=True).load() for number in batch["id"].tolist()]

    def of(*names: str) -> fb.Pipeline:
        return fb.tfrecord([str(tmp_path / name) for name in names]).example(FEATURES)

    streams = [ids(stages[stage](of(name))) for name in "abc"]
    expected: "list[int]" = []
    left = [list(stream) for stream in streams]
    slots, waiting = left[:2], left[2:]
    while slots:   # in turn, and a file that has ended is followed by the next one at its next turn
        for slot in list(slots):
            if slot:
                expected.append(slot.pop(0))
            elif waiting:
                slots[[each is slot for each in slots].index(True)] = waiting.pop(0)
            else:
                slots.remove(slot)
    pipe = stages[stage](of(*"abc")).interleave(2)
    assert ids(pipe) == expected
    batches = texts(pipe.batch(3, pad=True).epochs(2).load(threads=4))
    for at in range(0, len(batches), 3):
        with pipe.batch(3, pad=True).epochs(2).load() as loader:
            for _ in itertools.islice(loader, at):
                pass
            state = loader.state_dict()
        with pipe.batch(3, pad=True).epochs(2).load(threads=4) as loader:
            loader.load_state_dict(state)
            assert texts(loader) == batches[at:]


def test_batches_that_no_index_tells_are_counted_by_making_them(branches: "list[fb.Pipeline]") -> None:
    for pipe in (fb.mix([BATCHERS["buckets"](branch) for branch in branches], until="all"), fb.concat(branches).chunk(2, keys=["x"]).batch(4)):
        with pipe.load() as loader:
            with pytest.raises(TypeError, match=r"loader.plan.count\(\) counts them"):
                len(loader)
            assert loader.plan.count() == len(list(loader))
