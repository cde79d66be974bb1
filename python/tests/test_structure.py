# SPDX-License-Identifier: Apache-2.0
"""Nested dicts and tuples go in, and batches have the same structure."""
from __future__ import annotations

import pickle
from typing import Any, Iterator, NamedTuple

import numpy as np
import pytest

import forebay as fb


def row(i: int) -> "dict[str, Any]":
    return {"obs": {"image": np.full((2, 2), i, np.uint8), "pose": (np.float32(i), np.arange(3) + i)}, "name": f"r{i}".encode()}


def plain(value: Any) -> Any:
    """The structure and its values, to compare."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return tuple(map(plain, value)) if isinstance(value, tuple) else value.tolist()


BATCH = {"obs": {"image": [[[i, i], [i, i]] for i in range(2)], "pose": ([0.0, 1.0], [[0, 1, 2], [1, 2, 3]])},
         "name": [b"r0", b"r1"]}
STACKED = {"obs": {"image": np.array(BATCH["obs"]["image"], np.uint8),  # type: ignore[index]
                   "pose": (np.arange(4, dtype=np.float32)[:2], np.array([[0, 1, 2], [1, 2, 3]]))},
           "name": np.array([b"r0", b"r1"], object)}
COLUMNS = {"obs": {"image": fb.fixed("uint8", [2, 2]), "pose": (fb.fixed("float32", []), fb.fixed("int64", [3]))},
           "name": fb.fixed("string", [])}


class Rows:
    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> "dict[str, Any]":
        return row(i)


def fed() -> fb.Loader:
    rows = fb.Feed(COLUMNS)
    loader = fb.feed(rows).batch(size=2).load(threads=1)
    rows.put(row(0))
    rows.put_rows(plain_arrays(row(1)))
    rows.close()
    return loader


def plain_arrays(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: plain_arrays(each) for name, each in value.items()}
    return tuple(map(plain_arrays, value)) if isinstance(value, tuple) else np.array([value])


def rows_of_epoch(epoch: int, start: int) -> Iterator[Any]:
    return (row(i) for i in range(start, 4))


@pytest.mark.parametrize("source", ["a sequence", "an iterable", "a function", "arrays", "a feed"])
def test_batches_have_the_structure_of_the_rows(source: str) -> None:
    if source == "a feed":
        loader = fed()
    else:
        pipe = {"a sequence": lambda: fb.python(Rows()), "an iterable": lambda: fb.python(row(i) for i in range(4)),
                "a function": lambda: fb.python(open=rows_of_epoch), "arrays": lambda: fb.arrays(STACKED)}[source]()
        loader = pipe.batch(size=2).load(threads=2)
    batch = next(loader)
    assert plain(batch) == BATCH
    assert (batch.rows, batch["obs.pose.1"].tolist(), len(batch.record_keys)) == (2, [[0, 1, 2], [1, 2, 3]], 2)


def test_a_restart_and_a_pickled_batch_keep_the_structure() -> None:
    def loader() -> fb.Loader:
        return fb.arrays({"p": (np.arange(8), {"x": np.arange(8) * 2})}).shuffle(global_=True).batch(size=2).load(threads=1)
    with loader() as whole, loader() as again:
        batches = list(whole)
        again.load_state_dict(whole.state_dict(after=pickle.loads(pickle.dumps(batches[1]))))
        assert [plain(batch) for batch in again] == [plain(batch) for batch in batches[2:]]
        assert list(whole.schema) == ["p.0", "p.1.x"] and whole.schema.known


def test_rows_that_are_tuples_become_batches_that_unpack() -> None:
    pairs = [(np.full(2, i), i * i) for i in range(4)]
    for pipe in (fb.python(pairs), fb.python(iter(pairs)), fb.arrays((np.repeat(np.arange(4), 2).reshape(4, 2), np.arange(4) ** 2))):
        loader: Any = pipe.batch(size=2).load(threads=1)
        (first, squares), last = loader
        assert (first.tolist(), squares.tolist(), last[1].tolist(), last.number) == ([[0, 0], [1, 1]], [0, 1], [4, 9], 1)
        assert isinstance(last, fb.TupleBatch)


class Pair(NamedTuple):
    x: Any
    y: Any


def test_named_tuples_keep_their_names() -> None:
    pipe = fb.arrays({"pair": Pair(np.arange(4), np.arange(4) + 10)}).filter(where="`pair.x` >= 2").batch(size=2)
    assert next(pipe.load(threads=1))["pair"].y.tolist() == [12, 13]
    whole: Any = next(fb.arrays(Pair(np.arange(2), np.arange(2) + 10)).batch(size=2).load(threads=1))
    assert (whole.y.tolist(), pickle.loads(pickle.dumps(whole)).x.tolist()) == ([10, 11], [0, 1])


def doubled(row: Any) -> Any:
    return {"obs": {"twice": row["obs"]["image"] * 2}, "pair": (row["name"], row["obs"]["pose"][1])}


def swapped(batch: Any) -> Any:
    return batch["pair"][1], {"twice": batch["obs"]["twice"]}


DOUBLED = {"obs": {"twice": [[[2 * i, 2 * i], [2 * i, 2 * i]] for i in range(2)]}, "pair": ([b"r0", b"r1"], [[0, 1, 2], [1, 2, 3]])}


def test_what_map_returns_keeps_its_structure_in_threads_and_processes() -> None:
    pipe = fb.arrays(STACKED).batch(size=2).map(doubled, per="row", workers=1, inside="processes")
    assert plain(next(pipe.load(threads=1))) == DOUBLED
    for inside in ("threads", "processes"):
        mapped = pipe.map(swapped, workers=1, inside=inside).map(lambda batch: tuple(batch), per="batch")
        assert plain(next(mapped.load(threads=1))) == (DOUBLED["pair"][1], DOUBLED["obs"])  # type: ignore[index]


def test_output_of_map_may_be_nested() -> None:
    output = {"obs": {"twice": fb.fixed("uint8", [2, 2])}, "pair": (fb.fixed("string", []), fb.var_len("int64"))}
    pipe = fb.arrays(STACKED).batch(size=2)
    loader = pipe.map(doubled, per="row", output=output).load(threads=1)
    assert next(loader)["pair"][1].to_list() == [[0, 1, 2], [1, 2, 3]]
    assert list(loader.schema) == ["obs.twice", "pair.0", "pair.1"]
    with pytest.raises(fb.ConfigError, match=r"for row 0, returned at 'obs' has the columns \['once'\], expected \['twice'\]"):
        next(pipe.map(lambda row: {**doubled(row), "obs": {"once": 1}}, per="row", output=output).load(threads=1))


def test_columns_that_the_plan_leaves_out_and_adds() -> None:
    arrays = {"a": {"x": np.arange(4), "y": np.arange(4)}, "p": (np.arange(4), np.arange(4))}
    pipe = fb.arrays(arrays).batch(size=4)
    assert plain(next(pipe.select(["a.y", "p.0", "p.1"]).load(threads=1))) == {"a": {"y": [0, 1, 2, 3]}, "p": ([0, 1, 2, 3],) * 2}
    with pytest.raises(fb.ConfigError, match="the tuple 'p' has no tensor 'p.1'"):
        pipe.select(["p.0"]).load()
    mixed = fb.mix([fb.arrays({"a": {"x": np.zeros(2)}}), fb.arrays({"a": {"x": np.ones(2)}}, name="ones")], weights=[1, 1])
    assert next(mixed.batch(size=2).load(threads=1))["a"]["x"].shape == (2,)


def test_rows_that_do_not_fit_are_refused_with_their_place() -> None:
    feed = fb.Feed(COLUMNS)
    with pytest.raises(fb.ConfigError, match=r"a row at 'obs' has the columns \['image'\], expected \['image', 'pose'\]"):
        feed.put({"obs": {"image": 1}, "name": ""})
    with pytest.raises(fb.ConfigError, match="a row at 'obs.pose' is 1 values, expected a tuple of 2"):
        feed.put({"obs": {"image": 1, "pose": (1,)}, "name": ""})
    with pytest.raises(fb.ConfigError, match="two tensors would have the name 'a.b'"):
        fb.arrays({"a": {"b": np.zeros(2)}, "a.b": np.zeros(2)}).batch(size=1).load()
    with pytest.raises(fb.ConfigError, match="'a' is an empty dict"):
        fb.arrays({"a": {}, "b": np.zeros(2)}).batch(size=1).load()
