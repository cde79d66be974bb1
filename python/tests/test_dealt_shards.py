# SPDX-License-Identifier: Apache-2.0
"""Shards by batch and by element, from Python and the command line."""
from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from command import COMMAND
from streams import digest, digests, examples, write_parts

import forebay as fb


def by(kind, index, count):
    return {"index": index, "count": count, "by": kind}


def ids_of(batches):
    return [int(number) for batch in batches for number in batch["id"][:batch.valid_rows]]


def test_workers_in_turn_give_the_rows_of_their_rank(tmp_path):
    pipe = examples(write_parts(tmp_path)).shuffle(buffer=40).batch(12, remainder="drop").epochs(2).seed(3)
    for rank in range(2):
        whole = digests(pipe.load(shard=(rank, 2)))
        together = [None] * len(whole)
        for worker in range(3):
            for shard in ([(rank, 2), by("batch", worker, 3)], [by("batch", worker, 3), f"{rank}/2"]):
                together[worker::3] = digests(pipe.load(shard=shard, threads=1 + worker))
        assert together == whole


def test_a_state_after_a_batch_of_a_worker_fits_any_number_of_workers(tmp_path):
    pipe = examples(write_parts(tmp_path)).shuffle(global_=True).batch(12).epochs(2).seed(3)
    whole = digests(pipe.load())
    workers = [pipe.load(shard=by("batch", worker, 4)) for worker in range(4)]
    main = pipe.load()
    for at in range(len(whole)):
        batch = next(workers[at % 4])
        assert digest(batch) == whole[at] and batch.number == at
        state = main.state_dict(after=batch)
        for worker in range(2):
            with pipe.load(shard=by("batch", worker, 2)) as other:
                other.load_state_dict(state)
                first = next((number for number in range(at + 1, len(whole)) if number % 2 == worker), None)
                assert [digest(one) for _, one in zip(range(1), other)] == ([] if first is None else [whole[first]])


def test_elements_are_dealt_after_all_orders_and_filters(tmp_path):
    pipe = examples(write_parts(tmp_path)).filter("id % 3 != 0").shuffle(buffer=30).seed(1)
    order = ids_of(pipe.batch(1).load())
    shards = [ids_of(pipe.batch(15, remainder="drop").load(shard=by("element", index, 5))) for index in range(5)]
    each = len(order) // 5 // 3 * 3
    assert shards == [order[index::5][:each] for index in range(5)]


def test_the_length_is_that_of_the_shard():
    pipe = fb.arrays({"n": np.arange(103)}).batch(12, remainder="drop").epochs(2)
    for shard in (by("batch", 1, 4), by("element", 2, 4), [(1, 2), by("batch", 4, 5)], (0, 3), None):
        with pipe.load(shard=shard) as loader:
            assert len(loader) == len(list(loader))


def test_the_run_says_its_shard(tmp_path):
    pipe = examples(write_parts(tmp_path)).batch(12, remainder="drop")
    assert pipe.load(shard=by("batch", 1, 4))._run.shard == (1, 4, "batch")
    assert pipe.load(shard=by("element", 1, 4))._run.shard == (1, 4, "element")
    assert pipe.load(shard=[(1, 2), by("batch", 1, 4)])._run.shard == (5, 8, "row and batch")
    plan = pipe.shard([by("element", 1, 4), by("batch", 2, 3)]).plan()
    assert "shard 1 of 4 by element, batches 2, 5, …" in str(plan)


@pytest.mark.parametrize("shard", [[(0, 2), (1, 2)], [by("batch", 0, 2), by("batch", 1, 2)], [by("row", 0, 2), by("file", 1, 2)],
                                   [by("batch", 0, 2)], [(0, 2), by("batch", 0, 2), (0, 2)]])
def test_two_shards_of_one_kind_are_refused(tmp_path, shard):
    with pytest.raises(fb.ConfigError, match="shard"):
        examples(write_parts(tmp_path)).batch(12).load(shard=shard)


def test_a_shard_in_a_list_is_checked_like_one_alone(tmp_path):
    with pytest.raises(fb.ConfigError, match="index.*from 0 to .count. - 1"):
        examples(write_parts(tmp_path)).batch(12).load(shard=[(0, 2), by("batch", 2, 2)])


def test_the_command_deals_batches_and_elements(tmp_path):
    pipe = examples(write_parts(tmp_path)).batch(12, remainder="drop")
    (tmp_path / "document.json").write_text(pipe.to_json())

    def batches(*arguments):
        done = subprocess.run([COMMAND, "run", tmp_path / "document.json", "--json", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["batches"]

    whole = batches()
    assert [batches("--shard", f"{index}/3", "--shard-by", "batch") for index in range(3)] == \
        [len(range(index, whole, 3)) for index in range(3)]
    assert batches("--shard", "1/2", "--batch-shard", "0/5") == -(-whole // 5)
    assert batches("--shard", "1/2", "--shard-by", "element") == whole
    done = subprocess.run([COMMAND, "run", tmp_path / "document.json", "--shard", "0/2", "--shard-by", "batch", "--batch-shard", "0/2"],
                          capture_output=True, text=True)
    assert done.returncode == 2 and "--batch-shard: the shard is by batch" in done.stderr
