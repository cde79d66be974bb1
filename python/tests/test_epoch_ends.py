# SPDX-License-Identifier: Apache-2.0
"""What batches know of their sequences and of the epoch: numbers, progress, the row that ends an epoch."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest
from sequence_rows import LENGTHS, sequences
from streams import resumed

import forebay as fb


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


def test_rows_that_are_skipped_have_no_number_and_the_last_row_still_ends_the_epoch(tmp_path):
    good = [fb.encode_example({"x": [number] * 2}) for number in range(6)]
    good[1] = fb.encode_example({"x": [b"no number"]})
    fb.write_records(tmp_path / "a", good)
    pipe = fb.tfrecord(tmp_path / "a").example({"x": fb.fixed("int64", [2])}).on_corrupt("skip_row")
    batches = list(pipe.batch(4, seq_idx=True, epoch_end=True).load(threads=1))
    assert [batch.seq_idx.tolist() for batch in batches] == [[0, 2, 3, -1], [4, 5, 6]]
    assert [batch["x"][:, 0].tolist() for batch in batches] == [[0, 2, 3, 0], [4, 5, 0]]
    whole = list(pipe.on_corrupt("skip_record").frames(["x"], batch_size=5, recurrent=False, seq_idx=True).load(threads=2))
    assert [batch["x"].tolist() for batch in whole] == [[[0, 0, 2, 2, 3]], [[3, 4, 4, 5, 5]]]
    assert [batch.seq_idx.tolist() for batch in whole] == [[0], [2]]


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
    padded = next(iter(sequences([3, 1]).batch(2, pad=True).load(threads=1)))
    assert fb.returnn.collate(padded, lengths="{}/size0")["y/size0"].tolist() == [3, 1]
    ragged = next(iter(sequences([3]).batch(1).load(threads=1)))
    assert ragged.frames == {"x": 3, "y": 3}
    with pytest.raises(TypeError, match="tensor 'x' is Ragged; use a batcher with pad=True"):
        fb.returnn.collate(ragged)


def test_the_frames_of_a_batch_are_counted_without_padding():
    assert [batch.frames for batch in sequences([3, 1, 2]).batch(2, pad=True).load(threads=1)] == [
        {"x": 4, "y": 4}, {"x": 2, "y": 2}]
