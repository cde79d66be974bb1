# SPDX-License-Identifier: Apache-2.0
"""Batches of sequences against plain Python: rows of several sequences, random choices, token budgets, epoch ends."""
from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import digests, resumed

import forebay as fb

LENGTHS = [1 + i * 7 % 13 if i % 9 else 0 for i in range(61)]


def sequences(lengths: Iterable[int] = LENGTHS, **more: Any) -> fb.Pipeline:
    """Frame t of sequence s is 1000 s + t + 1, in `x` and, negative, in `y`."""
    sizes = list(lengths)
    splits = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    frames = np.concatenate([1000 * i + 1 + np.arange(size) for i, size in enumerate(sizes)] or [[]]).astype(np.int64)
    return fb.arrays({"x": fb.Ragged(frames, splits), "y": fb.Ragged(-frames, splits),
                      "id": np.arange(len(sizes)), **more})


def frames_of(sequence: int, lengths: "list[int]") -> "list[int]":
    return [1000 * sequence + 1 + t for t in range(lengths[sequence])]


def ids(loader: Iterable[fb.Batch]) -> "list[list[int]]":
    return [batch["id"][:batch.valid_rows].tolist() for batch in loader]


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


# ---- numbers of sequences, progress, ends of epochs

def test_sequences_are_numbered_as_they_come():
    pipe = sequences([3, 0, 2, 5, 1]).epochs(2)
    assert [batch.seq_idx.tolist() for batch in pipe.batch(3, seq_idx=True, pad=True).load(threads=1)] == [
        [0, 1, 2], [3, 4, 0], [1, 2, 3], [4]]
    assert [batch.seq_idx.tolist() for batch in pipe.frames(["x"], max_seqs=2, min_seq_length=2, seq_idx=True)
            .epoch_boundary("hard").load(threads=1)] == [[0, 2], [3]] * 2
    chunks = sequences([3, 1, 5]).chunk(2).batch(4, seq_idx=True, pad=True)
    assert [batch.seq_idx.tolist() for batch in chunks.load(threads=1)] == [[0, 0, 1, 2], [2, 2]]
    assert next(iter(pipe.batch(3).load(threads=1))).seq_idx is None


def test_the_progress_of_an_epoch_is_counted_where_its_sequences_are_known():
    pipe = sequences([1] * 8).epochs(2).epoch_boundary("hard")
    counted = [batch.complete_frac for batch in pipe.batch(3, seq_idx=True).load(threads=1)]
    assert counted == [(3 / 8, True), (6 / 8, True), (1, True)] * 2
    guessed = [batch.complete_frac for batch in pipe.filter("id != 5").batch(3, seq_idx=True).load(threads=1)]
    assert guessed == [fb.complete_frac(2), fb.complete_frac(5), (1, True)] * 2
    read = [batch.complete_frac.value for batch in pipe.batch(3).load(threads=1)]
    assert read[:3] == sorted(read[:3]) and read[2] == read[-1] == 1


ENDING: "dict[str, Callable[[fb.Pipeline], fb.Pipeline]]" = {
    "batch": lambda p: p.batch(6, epoch_end=True, pad=True),
    "short": lambda p: p.batch(9, epoch_end=True, remainder="drop", pad=True),
    "shuffled": lambda p: p.batch(6, epoch_end=True, pad=True).shuffle_batches(3),
    "chunks": lambda p: p.chunk(5).frames(["x"], batch_size=20, epoch_end=True),
    "row": lambda p: p.frames(["x", "y"], batch_size=20, recurrent=False, epoch_end=True),
    "buckets": lambda p: p.buckets("x", boundaries=[4, 13], sizes=[5, 3], epoch_end=True),
    "tokens": lambda p: p.token_budget(26, epoch_end=True),
    "packed": lambda p: p.packed(16, 2, epoch_end=True)}


@pytest.mark.parametrize("name", ENDING)
def test_an_epoch_ends_with_an_empty_row_that_has_the_number_of_sequences(name):
    pipe = ENDING[name](sequences()).epochs(2).epoch_boundary("hard").seed(1)
    batches = list(pipe.load(threads=2))
    count = len(LENGTHS) - (LENGTHS.count(0) if name == "chunks" else 0)    # without a frame there is no chunk
    for epoch in range(2):
        of_epoch = [batch for batch in batches if batch.epoch == epoch]
        assert [batch.epoch_end for batch in of_epoch] == [False] * (len(of_epoch) - 1) + [True]
        last = of_epoch[-1]
        assert last.ends_epoch and last.seq_idx[-1] == count and max(last.seq_idx[:-1]) < count
        assert not np.any(last["x"][-1]) and last.rows > last.valid_rows
    with pytest.raises(fb.ConfigError, match="marks where an epoch ends, and these batches mix epochs"):
        ENDING[name](sequences()).epochs(2).plan()
    shards = [list(pipe.load(threads=1, shard=(rank, 3))) for rank in range(3)]
    for whole, *parts in zip(batches, *shards, strict=True):
        assert [part.epoch_end for part in parts] == [False, False, whole.epoch_end]
        assert sum((part.seq_idx.tolist() for part in parts), []) == whole.seq_idx.tolist()
        if name not in ("batch", "short", "shuffled"):    # these pad each shard by itself
            assert np.concatenate([part["x"] for part in parts]).tolist() == whole["x"].tolist()


def test_an_epoch_without_a_batch_has_one_of_the_last_row_alone():
    for pipe in (sequences([2, 3]).batch(3, remainder="drop", epoch_end=True, pad=True), sequences([]).batch(3, epoch_end=True),
                 sequences([2, 3]).frames(["x"], max_seqs=3, min_seq_length=9, epoch_end=True),
                 sequences([2, 3]).packed(4, 3, remainder="drop", epoch_end=True),
                 sequences([2, 3]).frames(["x", "y"], batch_size=3, min_seq_length=9, recurrent=False, epoch_end=True)):
        batches = list(pipe.epochs(3).epoch_boundary("hard").load(threads=1))
        assert [(batch.rows, batch.valid_rows, batch.epoch, batch.epoch_end) for batch in batches] == [
            (1, 0, epoch, True) for epoch in range(3)]
        assert len({tuple(batch.seq_idx) for batch in batches}) == 1


def test_rows_that_the_program_gives_have_no_known_end():
    with pytest.raises(fb.ConfigError, match="rows that the program gives while the run goes on"):
        fb.python(({"id": number} for number in range(5)), {"id": fb.fixed("int64")}).batch(2, epoch_end=True).load()


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


@pytest.mark.parametrize("name", ENDING)
def test_a_restart_knows_where_epochs_end(name):
    pipe = ENDING[name](sequences(LENGTHS[:20])).epochs(3).epoch_boundary("hard").seed(5)
    def facts(loader: fb.Loader) -> "list[Any]":
        return [(batch.number, batch.epoch, batch.epoch_end, batch.seq_idx.tolist(), batch.complete_frac,
                 batch["x"].tolist()) for batch in loader]
    unbroken = facts(pipe.load(threads=2))
    with pipe.load(threads=1) as loader:
        for at in range(len(unbroken) + 1):
            assert facts(resumed(pipe, loader.state_dict(), threads=1)) == unbroken[at:]
            next(iter(loader), None)


def test_a_restart_of_a_shard_of_elements_is_exact():
    pipe = sequences().shuffle(9).token_budget(40).epochs(3).seed(5)
    for rank in range(2):
        shard = {"index": rank, "count": 2, "by": "element"}
        unbroken = digests(pipe.load(threads=2, shard=shard))
        with pipe.load(threads=1, shard=shard) as loader:
            for at in range(len(unbroken) + 1):
                assert digests(resumed(pipe, loader.state_dict(), threads=2, shard=shard)) == unbroken[at:]
                next(iter(loader), None)


# ---- the form of RETURNN

def test_batches_in_the_form_of_returnn():
    pipe = sequences([3, 1, 2]).batch(2, epoch_end=True, pad=True)
    first, last = (fb.returnn.collate(batch, facts=True) for batch in pipe.load(threads=1))
    assert first["x"].tolist() == [[1, 2, 3], [1001, 0, 0]] and first["x:seq_len"].tolist() == [3, 1]
    assert first["x:seq_len"].dtype == np.int32 and "id:seq_len" not in first
    assert (first["epoch"], first["batch_dim"], first["complete_frac"]) == (1, 2, 2 / 3)
    assert first["seq_tag"].tolist() == [b"arrays:0", b"arrays:1"] and last["seq_tag"].tolist() == [b"arrays:2", b""]
    assert first["epoch_end"].tolist() == [False, False] and last["epoch_end"].tolist() == [False, True]
    assert last["seq_idx"].tolist() == [2, 3] and last["x:seq_len"].tolist() == [2, 0]
    ragged = next(iter(sequences([3]).batch(1).load(threads=1)))
    assert ragged.frames == {"x": 3, "y": 3}
    with pytest.raises(TypeError, match="tensor 'x' is Ragged; use a batcher with pad=True"):
        fb.returnn.collate(ragged)


def test_the_frames_of_a_batch_are_counted_without_padding():
    assert [batch.frames for batch in sequences([3, 1, 2]).batch(2, pad=True).load(threads=1)] == [
        {"x": 4, "y": 4}, {"x": 2, "y": 2}]
