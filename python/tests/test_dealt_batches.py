# SPDX-License-Identifier: Apache-2.0
"""Shards by element of batches that have no fixed number of rows: every process has whole batches, and as many as the others."""
from __future__ import annotations

import itertools
from typing import Any, Callable

import numpy as np
import pytest

import forebay as fb

ROWS = 61
LENGTHS = [1 + i * 7 % 6 for i in range(ROWS)]
BATCHERS: "dict[str, Callable[[fb.Pipeline], fb.Pipeline]]" = {
    "frames": lambda p: p.frames(["x"], batch_size=11),
    "frames of one row": lambda p: p.frames(["x"], batch_size=9, recurrent=False),
    "buckets": lambda p: p.buckets("x", [2, 4, 6], [3, 2, 4]),
    "packed": lambda p: p.packed(8, 2, keys=["x"]),
    "packed, split": lambda p: p.packed(4, 3, keys=["x"], longer="split", remainder="pad"),
}


def rows(order: str = "") -> fb.Pipeline:
    splits = np.cumsum([0, *LENGTHS])
    x = np.concatenate([100 * i + 1 + np.arange(length) for i, length in enumerate(LENGTHS)])
    pipe = fb.arrays({"x": fb.Ragged(x, splits)})
    return pipe.shuffle(9) if order == "shuffle" else pipe.shuffle("global") if order == "global" else pipe


def frames(batches: "list[Any]") -> "list[int]":
    arrays = [np.asarray(getattr(batch["x"], "values", batch["x"])).ravel() for batch in batches]
    return sorted(value for array in arrays for value in array.tolist() if value)


def content(batch: Any) -> Any:
    return batch.number, batch.epoch, np.asarray(getattr(batch["x"], "values", batch["x"])).tolist()


def shard(index: int, count: int) -> "dict[str, Any]":
    return {"index": index, "count": count, "by": "element"}


@pytest.mark.parametrize("batcher", BATCHERS)
@pytest.mark.parametrize("boundary", ["straddle", "hard"])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("order", ["", "shuffle", "global"])
def test_each_element_comes_once_and_every_shard_has_as_many_batches(batcher: str, boundary: str, count: int, order: str) -> None:
    pipe = BATCHERS[batcher](rows(order)).epochs(2).epoch_boundary(boundary)
    shares = [list(pipe.load(shard=shard(index, count), threads=1)) for index in range(count)]
    assert len({len(share) for share in shares}) == 1
    assert [batch.epoch for batch in shares[0]] == [batch.epoch for batch in shares[-1]]
    wanted = sorted([100 * i + 1 + j for i, length in enumerate(LENGTHS) for j in range(length)] * 2)
    assert frames(list(itertools.chain(*shares))) == wanted
    for index, share in enumerate(shares):
        assert [content(batch) for batch in pipe.load(shard=shard(index, count), threads=4)] == [content(batch) for batch in share]


@pytest.mark.parametrize("batcher", BATCHERS)
@pytest.mark.parametrize("boundary", ["straddle", "hard"])
def test_a_restart_with_the_state_of_another_shard_is_exact(batcher: str, boundary: str) -> None:
    pipe = BATCHERS[batcher](rows("shuffle")).epochs(2).epoch_boundary(boundary)
    whole = [[content(batch) for batch in pipe.load(shard=shard(index, 2))] for index in range(2)]
    saver = pipe.load(shard=shard(1, 2))
    for at in range(len(whole[0]) + 1):
        state = saver.state_dict()
        loader = pipe.load(shard=shard(0, 2), threads=1)
        loader.load_state_dict(state)
        assert [content(batch) for batch in loader] == whole[0][at:], at
        if at < len(whole[0]):
            next(saver)


def test_a_shard_has_the_elements_of_its_turn() -> None:
    share = list(rows().frames(["x"], batch_size=11).load(shard=shard(1, 3)))
    wanted = [100 * i + 1 + j for i, length in enumerate(LENGTHS) for j in range(length) if i % 3 == 1]
    assert frames(share) == sorted(wanted)


def test_padded_rows_keep_the_shape_of_all_batches() -> None:
    shapes = {batch["x"].shape for index in range(2)
              for batch in rows().packed(8, 4, keys=["x"], remainder="pad").load(shard=shard(index, 2))}
    assert shapes == {(4, 8)}


def test_what_cannot_be_dealt_is_refused() -> None:
    with pytest.raises(fb.ConfigError, match="count the sequences of a pass, and a shard by element has its own only"):
        rows().frames(["x"], batch_size=11, seq_idx=True).load(shard=shard(0, 2))
    with pytest.raises(fb.ConfigError, match="at most 6 shards by element, found 8"):
        rows().packed(8, 600, keys=["x"]).load(shard=shard(0, 8))
