# SPDX-License-Identifier: Apache-2.0
"""Batches by frames and by buckets, and orders on batches: whole streams against plain Python, restarts and shards."""
from __future__ import annotations

import itertools
from typing import Any, Iterator

import pytest
from streams import SIZES, digests, examples, resumed

import forebay as fb

RECORDS = sum(SIZES)
LIMITS: list[dict[str, Any]] = [
    {"batch_size": 12}, {"packed_batch_size": 9, "max_seqs": 7}, {"max_seqs": 5, "max_pad_size": 3},
    {"batch_size": {"tokens": 20}, "max_seq_length": 2, "min_seq_length": 1, "max_total_num_seqs": 77}]
PIPELINES = {
    "frames": lambda p: p.shuffle(40).frames(batch_size=20, max_seqs=12),
    "buckets": lambda p: p.shuffle(40).buckets("tokens", boundaries=[1, 2], sizes=[6, 4, 5], longer="bucket"),
    "shuffle_batches": lambda p: p.batch(12).shuffle_batches(5).batch_slice(index=0, count=2)}


def length(number: int) -> int:
    return number % 4


def by_frames(numbers: Iterator[int], limits: dict[str, Any]) -> Iterator[list[int]]:
    """The batches of one pass, by the rules that docs/batches.md states."""
    none = 10**9
    size = limits.get("batch_size", none)
    size = size["tokens"] if isinstance(size, dict) else size
    batch: list[int] = []
    wanted = (n for n in numbers if limits.get("min_seq_length", 0) <= length(n) <= limits.get("max_seq_length", none))
    for number in itertools.islice(wanted, limits.get("max_total_num_seqs", none)):
        more = [*batch, number]
        frames, padded = sum(map(length, more)), max(map(length, more)) * len(more)
        full = (padded > size or frames > limits.get("packed_batch_size", none)
                or len(more) > limits.get("max_seqs", none) or padded - frames > limits.get("max_pad_size", none))
        if batch and full:
            yield batch
            more = [number]
        batch = more
    if batch:
        yield batch


def ids(loader: fb.Loader) -> list[list[int]]:
    return [batch["id"].tolist() for batch in loader]


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_frames_are_cut_as_in_plain_python(parts, limits, threads):
    got = ids(examples(parts).frames(keys=["tokens"], **limits).load(threads=threads))
    wanted = by_frames(iter(range(RECORDS)), limits)
    assert got == [batch for batch in wanted if any(map(length, batch))]
    for batch in examples(parts).frames(keys=["tokens"], **limits).load(threads=threads):
        rows = batch["id"].tolist()
        assert batch["tokens"].shape == (len(rows), max(map(length, rows)))
        assert batch.lengths["tokens"].tolist() == [length(row) for row in rows]


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("boundary", ["straddle", "hard"])
@pytest.mark.parametrize("name", PIPELINES)
def test_a_restart_at_every_batch_is_exact(parts, name, boundary, threads):
    pipe = PIPELINES[name](examples(parts)).epochs(3).epoch_boundary(boundary).seed(5)
    unbroken = digests(pipe.load(threads=2))
    assert len(unbroken) > 12
    with pipe.load(threads=threads) as loader:
        for at in range(len(unbroken) + 1):
            state = loader.state_dict()
            if at % 3 == 0:
                assert digests(resumed(pipe, state, threads=threads)) == unbroken[at:]
            next(iter(loader), None)


@pytest.mark.parametrize("name", PIPELINES)
def test_shards_by_row_make_up_each_batch(parts, name):
    pipe = PIPELINES[name](examples(parts)).epochs(2).seed(1)
    shards = [pipe.load(threads=1, shard=(rank, 3)) for rank in range(3)]
    for whole, *of_shards in zip(pipe.load(threads=2), *shards, strict=True):
        assert sum((batch["id"].tolist() for batch in of_shards), []) == whole["id"].tolist()
        if name != "shuffle_batches":
            assert {batch["tokens"].shape[1] for batch in of_shards} == {whole["tokens"].shape[1]}


def test_slices_of_all_processes_have_each_batch_once(parts):
    slices = [ids(examples(parts).batch(10).batch_slice(index=index, count=3).load(threads=1)) for index in range(3)]
    assert sorted(sum(slices, [])) == ids(examples(parts).batch(10).load(threads=1))


def test_the_progress_of_shuffled_batches_only_grows(parts):
    loader = examples(parts).batch(10).shuffle_batches(8).epochs(2).seed(2).load(threads=1)
    seen = [(batch.epoch, loader.complete_frac) for batch in loader]
    assert seen == sorted(seen)
    assert seen[-1][0] == 1


@pytest.mark.parametrize("boundary", ["straddle", "hard"])
def test_orders_on_batches_of_arrays_restart_exactly_and_have_a_length(boundary):
    pipe = (fb.arrays({"x": list(range(23))}).shuffle(5).batch(4).shuffle_batches(3).batch_slice(stop=9).epochs(3)
            .epoch_boundary(boundary).seed(1))
    unbroken = digests(pipe.load(threads=2))
    assert len(unbroken) == len(pipe.load()) == {"straddle": 9, "hard": 18}[boundary]
    with pipe.load(threads=1) as loader:
        for at in range(len(unbroken) + 1):
            assert digests(resumed(pipe, loader.state_dict(), threads=3)) == unbroken[at:]
            next(iter(loader), None)


def test_batches_of_an_iterable_are_shuffled_within_blocks():
    rows = fb.python({"id": number} for number in range(10))
    batches = ids(rows.batch(2).shuffle_batches(3).load(threads=2))
    assert [sorted(batches[:3]), sorted(batches[3:])] == [[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9]]]


def test_rows_that_come_ready_have_lengths():
    rows = fb.arrays({"x": [[1, 2], [3, 4], [5, 6]], "id": [0, 1, 2]})
    assert ids(rows.frames(["x"], batch_size=4).load(threads=2)) == [[0, 1], [2]]
    assert ids(rows.buckets("x", boundaries=[2], sizes=[2]).epochs(2).load(threads=2)) == [[0, 1], [2, 0], [1, 2]]
