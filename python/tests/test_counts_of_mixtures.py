# SPDX-License-Identifier: Apache-2.0
"""The number of batches of a run over several branches, before it has run."""
from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import forebay as fb

FEATURES = {"id": fb.fixed("int64", [])}
COMBINED: Any = {
    "mix, all": lambda one, other: fb.mix([one, other], until="all"),
    "mix, first": lambda one, other: fb.mix([one, other], weights=[3, 1]),
    "mix, first that does not repeat": lambda one, other: fb.mix([one, other], repeat=[False, True]),
    "mix, rows": lambda one, other: fb.mix([one, other], until=17, repeat=True),
    "concat": lambda one, other: fb.concat([one, other]),
    "join": lambda one, other: fb.join([one, other]),
    "round_robin, first": lambda one, other: fb.round_robin([one, other]),
    "round_robin, all": lambda one, other: fb.round_robin([one, other], until="all"),
    "zip, first": lambda one, other: fb.zip([one, fb.arrays({"j": np.arange(11)}, name="j")], until="first"),
    "zip, equal": lambda one, other: fb.zip([one.take(5), fb.arrays({"j": np.arange(5)}, name="j")]),
    "nested": lambda one, other: fb.concat([fb.mix([one, other]), one]),
    "nested, in a mixture": lambda one, other: fb.mix([fb.mix([one, other], until=7, repeat=True), one], until="all"),
}
AFTER: Any = {
    "": lambda pipe: pipe,
    "shuffle": lambda pipe: pipe.shuffle(buffer=3),
    "take": lambda pipe: pipe.take(11),
    "global shuffle": lambda pipe: pipe.shuffle("global"),
    "repeat": lambda pipe: pipe.repeat(2),
}
#: Where the next pass begins depends on how a stage cuts or repeats one.
UNKNOWN = {"take", "repeat"}


def files(folder: pathlib.Path, *counts: int) -> "list[fb.Pipeline]":
    for records in counts:
        fb.write_records(folder / f"of-{records}", [fb.encode_example({"id": [i]}) for i in range(records)])
    return [fb.tfrecord(folder / f"of-{records}").example(FEATURES) for records in counts]


@pytest.mark.parametrize("boundary", ["hard", "straddle"])
@pytest.mark.parametrize("combined", COMBINED)
def test_is_known_and_that_of_the_run(combined: str, boundary: Any, tmp_path: pathlib.Path) -> None:
    long, short, none = files(tmp_path, 20, 9, 0)
    for branches in ((long, short), (short, long.shuffle("global")), (long.take(5), none)):
        for after, stage in AFTER.items():
            for epochs in (1, 3):
                for options in ({}, {"pad": True}, {"remainder": "drop"}):
                    pipe = stage(COMBINED[combined](*branches)).batch(4, **options).epochs(epochs).epoch_boundary(boundary)
                    with pipe.load() as loader:
                        numbers = [batch.epoch for batch in loader]
                    with pipe.load() as loader:
                        try:
                            known = len(loader)
                        except TypeError:
                            assert after in UNKNOWN
                            continue
                    assert known == len(numbers), (after, epochs, options)


def test_of_the_first_epoch_and_of_shards(tmp_path: pathlib.Path) -> None:
    long, short = files(tmp_path, 20, 9)
    pipe = fb.mix([long, short], weights=[3, 1]).batch(4).epochs(3).epoch_boundary("hard")
    with pipe.load() as loader:
        epochs = [batch.epoch for batch in loader]
        assert loader.steps_per_epoch == epochs.count(0)
    for index in range(3):
        with pipe.load(shard={"index": index, "count": 3, "by": "batch"}) as loader:
            assert len(loader) == sum(1 for _ in loader)


def test_is_not_known_where_records_may_be_skipped(tmp_path: pathlib.Path) -> None:
    long, short = files(tmp_path, 20, 9)
    with fb.mix([long, short], until="all").batch(4).on_corrupt("skip_record").load() as loader, pytest.raises(TypeError):
        len(loader)


def test_an_order_of_parts_before_a_global_shuffle_counts_for_rows_that_are_made(tmp_path: pathlib.Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(13))
    pipe = fb.npy({"x": str(tmp_path / "x.npy")}).take(20).shuffle(16).repeat(3).shuffle("global").batch(2, remainder="drop").epochs(3)
    batches = [batch["x"].tolist() for batch in pipe.epoch_boundary("hard").load()]
    assert len(batches) == 57 and sorted(sum(batches[:19], []))[:3] in ([0, 0, 0], [0, 0, 1])
    with pipe.epoch_boundary("hard").load() as loader:
        try:
            assert len(loader) == 57
        except TypeError:
            pass
        loader.seek(39)
        assert next(loader)["x"].tolist() == batches[39]
