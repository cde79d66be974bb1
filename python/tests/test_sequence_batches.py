# SPDX-License-Identifier: Apache-2.0
"""Batches of sequences against plain Python: rows of several sequences, token budgets, random choices, restarts."""
from __future__ import annotations

from typing import Any, Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sequence_rows import LENGTHS, frames_of, ids, sequences
from streams import digests, resumed

import forebay as fb


# ---- rows of several sequences

def cut_rows(lengths: "list[int]", size: int, most: int) -> "Iterator[list[int]]":
    """The rows of `frames(recurrent=False)`: one frame after the other, at most `most` sequences in a row."""
    row: "list[int]" = []
    for sequence in range(len(lengths)):
        for frame in frames_of(sequence, lengths):
            if len(row) == size or len({value // 1000 for value in [*row, frame - 1]}) > most:
                yield row
                row = []
            row.append(frame)
    if row:
        yield row


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 12), st.integers(1, 4), st.integers(1, 3))
def test_rows_of_many_sequences_have_every_frame_once_and_in_order(lengths, size, most, threads):
    pipe = sequences(lengths).frames(["x", "y"], batch_size=size, max_seqs=most, recurrent=False)
    batches = [(batch["x"].tolist(), batch["y"].tolist()) for batch in pipe.load(threads=threads)]
    rows = list(cut_rows([*lengths], size, most))
    assert batches == [([row], [[-frame for frame in row]]) for row in rows]


def test_tensors_that_share_a_row_are_equally_long():
    rows = {"x": fb.Ragged([1, 2, 3], [0, 2, 3]), "y": fb.Ragged([1, 2, 3], [0, 1, 3])}
    with pytest.raises(fb.DataError, match="arrays, record 0: 'x' has 2 frames and 'y' has 1; tensors that share a row"):
        list(fb.arrays(rows).frames(batch_size=2, recurrent=False).load(threads=1))
    with pytest.raises(fb.DataError, match="record 0"):
        list(fb.arrays(rows).packed(4, 2).load(threads=1))


# ---- packed rows

def pack(lengths: "list[int]", length: int, rows: int, fit: str, gap: int, align: int) -> "Iterator[list[list[Any]]]":
    """The rows of each batch: lists of (sequence, first frame in the row)."""
    def begin(row: "list[Any]") -> int:
        if not row:
            return 0
        sequence, at = row[-1]
        return -(-(at + lengths[sequence] + gap) // align) * align
    batch: "list[list[Any]]" = []
    for sequence, frames in enumerate(lengths):
        if not 0 < frames <= length:
            continue
        fits = [row for row in batch if begin(row) + frames <= length]
        if not fits and len(batch) == rows:
            yield batch
            batch = []
        if not fits:
            batch.append([])
            fits = [batch[-1]]
        row = fits[0] if fit == "first" else max(fits, key=begin)   # of equals the first one
        row.append((sequence, begin(row)))
    if batch:
        yield batch


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 11), max_size=25), st.integers(1, 10), st.integers(1, 4),
       st.sampled_from(["first", "best"]), st.integers(0, 2), st.integers(1, 4), st.integers(1, 3))
def test_packed_rows_are_those_of_plain_python(lengths, length, rows, fit, gap, align, threads):
    pipe = sequences(lengths).packed(length, rows, keys=["x", "y"], fit=fit, gap=gap, align=align, longer="drop",
                                     segment_ids="segments", positions="positions", cu_seqlens="cu",
                                     pad=[{"tensor": "x", "value": -7}])
    got = [{name: batch[name].tolist() for name in ("x", "y", "segments", "positions", "cu")} |
           {"counts": batch.lengths["cu"].tolist()} for batch in pipe.load(threads=threads)]
    want = []
    for batch in pack(list(lengths), length, rows, fit, gap, align):
        x = np.full((len(batch), length), -7)
        y, segments, positions = (np.zeros((len(batch), length), int) for _ in range(3))
        cu = np.full((len(batch), 1 + max(map(len, batch))), length)
        for i, row in enumerate(batch):
            for number, (sequence, at) in enumerate(row):
                span = slice(at, at + lengths[sequence])
                x[i, span] = frames_of(sequence, lengths)
                y[i, span] = -x[i, span]
                segments[i, span] = number + 1
                positions[i, span] = range(lengths[sequence])
            cu[i, :len(row)] = [at for _, at in row]
            cu[i, len(row)] = row[-1][1] + lengths[row[-1][0]]
        want.append({"x": x.tolist(), "y": y.tolist(), "segments": segments.tolist(), "positions": positions.tolist(),
                     "cu": cu.tolist(), "counts": [len(row) + 1 for row in batch]})
    assert got == want


def test_packed_rows_have_a_static_shape_and_say_what_does_not_fit():
    pipe = sequences().packed(16, 4, segment_ids="segments", remainder="pad")
    assert {batch["x"].shape for batch in pipe.load(threads=1)} == {(4, 16)}
    with pytest.raises(fb.DataError, match="arrays, record 1: a sequence of 8 frames is longer than a row of 5"):
        list(sequences([3, 8]).packed(5, 2).load(threads=1))
    split = [batch["x"].tolist() for batch in sequences([3, 8]).packed(5, 4, longer="split").load(threads=1)]
    assert split == [[[1, 2, 3, 0, 0], [1001, 1002, 1003, 1004, 1005], [1006, 1007, 1008, 0, 0]]]
    with pytest.raises(fb.ConfigError, match="packed rows have one length, so they are padded"):
        sequences().packed(5, 2, pad=False).plan()
    with pytest.raises(fb.ConfigError, match="there is already a tensor 'id'"):
        sequences().packed(5, 2, positions="id").plan()


# ---- token budget

def budget(lengths: "list[int]", tokens: int, ranks: int, most: int) -> "Iterator[list[list[int]]]":
    """The rows of every rank in each batch."""
    shares: "list[list[int]]" = [[] for _ in range(ranks)]
    def cost(rank: int, sequence: int) -> int:
        rows = [*shares[rank], sequence]
        return max(max(lengths[row] for row in rows), 1) * len(rows)
    for sequence in range(len(lengths)):
        fits = [rank for rank in range(ranks) if cost(rank, sequence) <= tokens and len(shares[rank]) < most]
        if not fits:
            yield shares
            shares = [[] for _ in range(ranks)]
            fits = list(range(ranks))
        shares[min(fits, key=lambda rank: cost(rank, sequence))].append(sequence)
    if any(shares):
        yield shares


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=20), st.integers(9, 40), st.integers(1, 3), st.integers(1, 6))
def test_a_token_budget_is_never_exceeded_and_ranks_have_as_many_batches(lengths, tokens, ranks, most):
    pipe = sequences(lengths).token_budget(tokens, keys=["x"], max_rows=most)
    assert ids(pipe.load(threads=2)) == [shares[0] for shares in budget(lengths, tokens, 1, most)]
    for batch in pipe.load(threads=1):
        assert batch["x"].size <= tokens
    wanted = list(budget(lengths, tokens, ranks, most))
    for rank in range(ranks):
        shard = (rank, ranks) if ranks == 1 else {"index": rank, "count": ranks, "by": "element"}
        batches = list(pipe.load(threads=1, shard=shard))
        assert ids(batches) == [shares[rank] for shares in wanted]
        assert all(batch["x"].size <= tokens for batch in batches)


def test_a_sequence_above_the_budget_is_an_error_or_left_out():
    with pytest.raises(fb.DataError, match="arrays, record 1: a sequence of 9 elements exceeds the budget of 8"):
        list(sequences([3, 9]).token_budget(8).load(threads=1))
    assert ids(sequences([3, 9, 4]).token_budget(8, longer="drop").load(threads=1)) == [[0, 2]]


def test_the_statistics_count_the_padding():
    with sequences([3, 1, 4]).token_budget(8, keys=["x"]).load(threads=1) as loader:
        shapes = [batch["x"].shape for batch in loader]
        stats = loader.stats()
    assert shapes == [(2, 3), (1, 4)]
    assert (stats.frames, stats.padded_frames) == (2 * 8, 2 * 10)     # of x and y
    assert "padding 20.0 % of 20 frames" in str(stats)


# ---- random choices

def kept(pipe: fb.Pipeline, threads: int = 2) -> "list[set[int]]":
    """By epoch."""
    out: "dict[int, set[int]]" = {}
    for batch in pipe.load(threads=threads):
        out.setdefault(batch.epoch, set()).update(batch["id"].tolist())
    return [out[epoch] for epoch in sorted(out)]


def test_sequences_are_dropped_by_themselves_in_each_epoch():
    pipe = sequences([2] * 400).epochs(3).epoch_boundary("hard").seed(3)
    plain = kept(pipe.frames(["x"], max_seqs=7, seq_drop=0.3))
    assert plain == kept(pipe.shuffle(buffer=50).frames(["x"], max_seqs=3, seq_drop=0.3), threads=1)
    assert all(250 < len(some) < 310 for some in plain)
    assert plain[0] != plain[1] != plain[2]
    assert kept(pipe.frames(["x"], max_seqs=7, seq_drop=1)) == []
    with pytest.raises(fb.ConfigError, match="seq_drop is a probability, a number from 0 to 1, found 1.5"):
        pipe.frames(["x"], max_seqs=7, seq_drop=1.5).plan()


def test_small_weights_are_left_out_more_often():
    weights = np.where(np.arange(600) % 3 == 0, 3.0, np.where(np.arange(600) % 3 == 1, 0.25, 0.0)).astype(np.float32)
    pipe = sequences([1] * 600, w=weights).seed(5)
    left = np.array(sorted(*kept(pipe.frames(["x"], max_seqs=50, weight="w", mean_weight=1.0, pruning=2.0))))
    counts = [int((left % 3 == kind).sum()) for kind in range(3)]
    assert counts[0] == 200 and 50 < counts[1] < 100 and counts[2] == 0     # 0.25 * 3 >= 2 u: 3 of 8
    with pytest.raises(fb.ConfigError, match="tensor 'x' is int64 of shape .*; a weight is one number"):
        pipe.frames(["x"], max_seqs=5, weight="x", pruning=1.0).plan()
    with pytest.raises(fb.ConfigError, match="name its tensor in `weight`"):
        pipe.frames(["x"], max_seqs=5, pruning=1.0).plan()


def test_a_limit_of_sequences_counts_those_of_chunks_once():
    pipe = sequences([11, 4, 2, 9, 9]).chunk(5).frames(["x"], max_seqs=4, min_seq_length=3, max_total_num_seqs=3)
    assert ids(pipe.load(threads=2)) == [[0, 0, 1, 3], [3]]       # a chunk of 1 and a sequence of 2 are too short


@pytest.mark.parametrize("threads", [1, 8])
def test_random_buckets_fit_and_do_not_depend_on_threads(threads):
    pipe = sequences([1 + i % 8 for i in range(200)]).buckets(
        "x", boundaries=[2, 4, 8], sizes=[3, 4, 5], random_bucket=0.5, remainder="drop").seed(8)
    batches = ids(pipe.load(threads=threads))
    assert batches == ids(pipe.load(threads=2))
    by_size = {3: 2, 4: 4, 5: 8}
    assert all(1 + row % 8 <= by_size[len(batch)] for batch in batches for row in batch)
    short = [len(batch) for batch in batches for row in batch if 1 + row % 8 <= 2]
    assert 8 < sum(size > 3 for size in short) < 28     # half of 50, and a third of these stay in the first bucket


# ---- restarts

RESTARTED: "dict[str, Callable[[fb.Pipeline], fb.Pipeline]]" = {
    "rows": lambda p: p.shuffle(9).frames(["x", "y"], batch_size=17, max_seqs=4, recurrent=False),
    "chunk rows": lambda p: p.chunk(5, keys=["x", "y"]).shuffle(9).frames(["x", "y"], batch_size=17, recurrent=False),
    "dropped": lambda p: p.chunk(4).frames(["x"], batch_size=24, seq_drop=0.4, max_total_num_seqs=20),
    "random buckets": lambda p: p.shuffle(9).buckets("x", boundaries=[3, 8, 13], sizes=[4, 3, 2], random_bucket=0.5),
    "tokens": lambda p: p.shuffle(9).token_budget(40, max_rows=6),
    "packed": lambda p: p.shuffle(9).packed(16, 2, fit="best", gap=1, align=2, segment_ids="s", cu_seqlens="c"),
    "split": lambda p: p.shuffle(9).packed(5, 3, longer="split", remainder="drop", positions="p")}


@pytest.mark.parametrize("boundary", ["straddle", "hard"])
@pytest.mark.parametrize("name", RESTARTED)
def test_a_restart_at_every_batch_is_exact(name, boundary):
    pipe = RESTARTED[name](sequences()).epochs(3).epoch_boundary(boundary).seed(5)
    unbroken = digests(pipe.load(threads=2))
    assert len(unbroken) > 12
    with pipe.load(threads=1) as loader:
        for at in range(len(unbroken) + 1):
            assert digests(resumed(pipe, loader.state_dict(), threads=1 + at % 8)) == unbroken[at:]
            next(iter(loader), None)


@pytest.mark.parametrize("seed", [3, 8, 11])
def test_draws_of_rows_that_begin_in_an_earlier_pass_are_those_of_the_unbroken_run(seed):
    lengths = [1 + i * 7 % 6 for i in range(24)]
    x = fb.Ragged(np.arange(sum(lengths)), np.cumsum([0, *lengths]))
    pipe = fb.arrays({"x": x}).repeat(6).shuffle(14).packed(16, 8, keys=["x"]).epochs(3).seed(seed)
    pipe = pipe.map(lambda batch, rng: {"noise": rng.random(1)})
    whole = [batch["noise"][0] for batch in pipe.load()]
    saver = pipe.load()
    for at in range(len(whole)):
        assert [batch["noise"][0] for batch in resumed(pipe, saver.state_dict(), threads=2)] == whole[at:]
        next(saver)


@pytest.mark.parametrize("name", RESTARTED)
def test_shards_by_row_and_by_batch_make_up_the_stream(name):
    pipe = RESTARTED[name](sequences()).epochs(2).seed(5)
    whole = list(pipe.load(threads=8))
    by_row = [list(pipe.load(threads=1, shard=(rank, 3))) for rank in range(3)]
    for batch, *parts in zip(whole, *by_row, strict=True):
        for tensor in batch:
            if tensor not in ("y", "c"):    # `y` is no key in some, and padded in each shard by itself
                assert np.concatenate([part[tensor] for part in parts]).tolist() == batch[tensor].tolist()
    by_batch = [list(pipe.load(threads=1, shard={"index": i, "count": 2, "by": "batch"})) for i in range(2)]
    assert [by_batch[i % 2][i // 2]["x"].tolist() for i in range(len(whole))] == [batch["x"].tolist() for batch in whole]
    if name == "dropped":
        with pytest.raises(fb.ConfigError, match="`max_total_num_seqs` count the sequences of a pass"):
            pipe.load(shard={"index": 0, "count": 2, "by": "element"})


@pytest.mark.parametrize("name", [name for name in RESTARTED if name != "dropped"])
def test_a_restart_of_a_shard_of_elements_is_exact(name):
    pipe = RESTARTED[name](sequences()).epochs(3).seed(5)
    for rank in range(2):
        shard = {"index": rank, "count": 2, "by": "element"}
        unbroken = digests(pipe.load(threads=2, shard=shard))
        with pipe.load(threads=1, shard=shard) as loader:
            for at in range(len(unbroken) + 1):
                assert digests(resumed(pipe, loader.state_dict(), threads=2, shard=shard)) == unbroken[at:]
                next(iter(loader), None)
