# SPDX-License-Identifier: Apache-2.0
"""Shards of whole files: nobody reads another's files, all have the same number of batches, restarts are exact."""
from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest
from streams import digest, digests, examples, write_parts
from command import COMMAND
from test_dlpack import TESTS
from test_shards import TOGETHER

import forebay as fb

SIZES = (60, 20, 151, 7, 88, 33, 45)
PACKINGS = (None, "gzip", None, None, "zlib", None, "gzip")


def by_file(index, count):
    return {"index": index, "count": count, "by": "file"}


def ids_of(batches):
    return [int(number) for batch in batches for number in batch["id"][:batch.valid_rows]]


def runs(pipe, count):
    out = []
    for index in range(count):
        with pipe.load(shard=by_file(index, count), threads=1 + index % 3) as loader:
            out.append(list(loader))
    return out


def files_of(sizes):
    """The ids of each file's records."""
    ends = [sum(sizes[:at + 1]) for at in range(len(sizes))]
    return [list(range(end - size, end)) for size, end in zip(sizes, ends)]


def parts_of(sizes, count):
    """What each shard's files hold, in the order of the list."""
    files = files_of(sizes)
    return [sum(files[index::count], []) for index in range(count)]


@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("remainder", ["drop", "repeat", "pad"])
def test_every_shard_reads_every_count_th_file_in_as_many_batches_as_the_others(tmp_path, remainder, count):
    size = 6 * count
    pipe = examples(write_parts(tmp_path, SIZES, PACKINGS)).batch(size, remainder=remainder)
    pipe = pipe.epochs(3).epoch_boundary("hard" if remainder == "pad" else "straddle")
    parts = parts_of(SIZES, count)
    lengths = [len(part) for part in parts]
    shards = runs(pipe, count)
    if remainder == "drop":
        taken = min(lengths)
        wanted = [(part[:taken] * 3)[:taken * 3 // 6 * 6] for part in parts]
        batches = taken * 3 // 6
    elif remainder == "repeat":
        taken = max(lengths)
        batches = -(-taken * 3 // 6)
        wanted = [(part * taken)[:taken] * 3 for part in parts]
        for each in wanted:  # the last batch is filled up with its own records
            last = each[len(each) // 6 * 6:]
            each.extend([last[i % len(last)] for i in range(-len(each) % 6)])
    else:
        wanted = [part * 3 for part in parts]
        batches = 3 * -(-max(lengths) // 6)
    assert [ids_of(shard) for shard in shards] == wanted
    assert [[batch.rows for batch in shard] for shard in shards] == [[6] * batches] * count
    assert [[batch.number for batch in shard] for shard in shards] == [list(range(batches))] * count
    epochs = [[batch.epoch for batch in shard] for shard in shards]
    assert epochs == [epochs[0]] * count


@pytest.mark.parametrize("sizes, size, count", [((0, 1), 2, 2), ((1, 1), 2, 2), ((5, 5, 5), 3, 3), ((0, 0), 4, 2), ((40, 1), 10, 2)])
def test_files_of_few_records_or_none_are_padded_to_the_same_number_of_batches(tmp_path, sizes, size, count):
    pipe = examples(write_parts(tmp_path, sizes, [None] * len(sizes))).batch(size, remainder="pad")
    shards = runs(pipe, count)
    parts, rows = parts_of(sizes, count), size // count
    assert [ids_of(shard) for shard in shards] == parts
    assert [len(shard) for shard in shards] == [-(-max(map(len, parts)) // rows)] * count


@pytest.mark.parametrize("order", ["global", "interleave", "files"])
def test_in_any_order_the_shards_of_a_pass_hold_different_files_and_together_all(tmp_path, order):
    pipe = examples(write_parts(tmp_path, SIZES, PACKINGS))
    if order == "global":
        pipe = pipe.shuffle(global_=True)
    elif order == "interleave":
        pipe = pipe.interleave(cycle=2).shuffle(buffer=30)
    else:
        pipe = pipe.shuffle(buffer=7).interleave(cycle=1).shuffle(buffer=20)
    pipe = pipe.batch(30, remainder="pad").epochs(3).epoch_boundary("hard").seed(9)
    shards = runs(pipe, 3)
    owner = {}
    for epoch in range(3):
        taken = [sorted(ids_of(batch for batch in shard if batch.epoch == epoch)) for shard in shards]
        assert sorted(sum(taken, [])) == list(range(sum(SIZES)))
        owner[epoch] = [[any(number in part for number in file) for file in files_of(SIZES)] for part in map(set, taken)]
        assert [sum(flags) for flags in zip(*owner[epoch])] == [1] * len(SIZES), "a file belongs to one shard"
    assert (owner[0] != owner[1]) == (order == "files"), "shuffled files change hands with every pass"
    assert len({len(shard) for shard in shards}) == 1


@pytest.mark.parametrize("remainder", ["drop", "repeat", "pad"])
@pytest.mark.parametrize("order", ["global", "files", "plain"])
def test_a_restart_at_any_batch_with_the_state_of_any_shard_goes_on_exactly(tmp_path, order, remainder):
    pipe = examples(write_parts(tmp_path, SIZES, PACKINGS))
    if order == "global":
        pipe = pipe.shuffle(global_=True)
    elif order == "files":
        pipe = pipe.shuffle(buffer=7).interleave(cycle=2).shuffle(buffer=20)
    pipe = pipe.batch(21, remainder=remainder).epochs(3).epoch_boundary("hard" if remainder == "pad" else "straddle").seed(3)
    whole = [digests(pipe.load(shard=by_file(index, 3))) for index in range(3)]
    draw = random.Random(5)
    for _ in range(12):
        state, seen = None, [[], [], []]
        for leg in range(4):
            take = len(whole[0]) if leg == 3 else draw.randrange(12)
            states = []
            for index in range(3):
                with pipe.load(shard=by_file(index, 3), threads=draw.choice([1, 2, 3])) as loader:
                    if state is not None:
                        loader.load_state_dict(state)
                    for _, batch in zip(range(take), loader):
                        seen[index].append(digest(batch))
                    states.append(loader.state_dict())
            state = draw.choice(states)
            places = [{**each["sections"]["order"], "done": None} for each in states]  # each has its own share of its own bytes
            assert places == places[:1] * 3, "all shards stand at the same place"
        assert seen == whole


def test_a_state_of_other_shards_is_refused_with_both(tmp_path):
    pipe = examples(write_parts(tmp_path, SIZES, PACKINGS)).batch(12, remainder="drop")
    states = {}
    for name, shard in {"rows": None, "2": by_file(0, 2), "3": by_file(1, 3)}.items():
        with pipe.load(shard=shard) as loader:
            next(loader)
            states[name] = loader.state_dict()
    words = {"rows": "rows of whole batches", "2": "2 shards by file", "3": "3 shards by file"}
    for name, shard in {"rows": (1, 4), "2": by_file(1, 2), "3": by_file(2, 3)}.items():
        with pipe.load(shard=shard) as loader:
            for saved, state in states.items():
                if saved == name:
                    loader.load_state_dict(state)
                    continue
                with pytest.raises(fb.StateError) as caught:
                    loader.load_state_dict(state)
                assert str(caught.value) == (f"the state was saved by a run of {words[saved]}, and this is one of {words[name]}: "
                                             "they deliver records in other orders; start it with the shards of the state")


def test_one_shard_by_file_is_the_whole_stream(tmp_path):
    pipe = examples(write_parts(tmp_path)).batch(12)
    assert digests(pipe.load(shard=by_file(0, 1))) == digests(pipe.load())


def test_what_is_skipped_is_not_counted(tmp_path):
    paths = write_parts(tmp_path, [50, 50], [None, None])
    fb.write_records(paths[0], [*fb.read_records(paths[0])[:20], b"no message", *fb.read_records(paths[0])[20:]])
    document = {**examples(paths).batch(10, remainder="drop").epochs(2).to_dict(), "on_corrupt": "skip_record"}
    loaders = [fb.load(document, shard=by_file(index, 2)) for index in range(2)]
    assert [ids_of(loader) for loader in loaders] == [list(range(50)) * 2, list(range(50, 100)) * 2]
    assert [loader.stats().skipped_records for loader in loaders] == [2, 0]


@pytest.mark.parametrize("sizes, empty", [((0, 8, 8, 8), None), ((0, 8), 0), ((8, 8, 0, 5), None), ((8, 0, 5, 0, 3, 0), 1)])
def test_with_repeat_a_shard_without_records_makes_every_shard_fail_with_the_same_words(tmp_path, sizes, empty):
    pipe = examples(write_parts(tmp_path, sizes, [None] * len(sizes))).batch(4, remainder="repeat")
    outcomes = []
    for index in range(2):
        try:
            outcomes.append(len(list(pipe.load(shard=by_file(index, 2)))))
        except fb.DataError as error:
            outcomes.append(str(error))
    words = f"shard: the files of shard {empty} have no record in epoch 0, so it has nothing to repeat; use `remainder: drop`"
    assert outcomes[0] == outcomes[1]
    assert isinstance(outcomes[0], int) if empty is None else outcomes[0].startswith(words)


def test_the_share_of_the_run_that_was_delivered_is_that_of_the_shard(tmp_path):
    pipe = examples(write_parts(tmp_path, [100] * 4, [None] * 4)).batch(20, remainder="drop")
    with pipe.load(shard=by_file(1, 2), threads=1, prefetch=1) as loader:
        shares = [loader.complete_frac for _ in loader]
    assert shares == sorted(shares) and shares[-1] == 1.0 and shares[len(shares) // 2 - 1] >= 0.45


@pytest.mark.parametrize("change, words", [
    ({}, "set the batch's `remainder` to drop, pad or repeat"),
    ({"remainder": "pad", "epochs": 2}, "set `epoch_boundary` to hard"),
    ({"remainder": "drop", "deterministic": False}, "set `deterministic` to true"),
    ({"remainder": "drop", "files": 2}, "a pass goes through 2 files, which cannot be shared out among 3 shards by file"),
    ({"remainder": "drop", "size": 10}, "a batch of 10 rows cannot be divided among 3 shards"),
])
def test_what_cannot_be_shared_out_by_file_is_refused_with_the_way_out(tmp_path, change, words):
    paths = write_parts(tmp_path, SIZES, PACKINGS)[:change.get("files", 7)]
    document = examples(paths).batch(change.get("size", 12), remainder=change.get("remainder", "keep")).to_dict()
    document |= {key: change[key] for key in ("epochs", "deterministic") if key in change}
    with pytest.raises(fb.ConfigError) as caught:
        fb.load(document, shard=by_file(0, 3))
    assert str(caught.value).startswith("shard: ") and words in str(caught.value)


@pytest.mark.parametrize("shard, words", [
    ({"index": 0, "by": "file"}, "'index' must be from 0 to 'count' - 1"), ({"index": 3, "count": 3}, "'index' must be from 0"),
    ({"index": 0, "count": 2, "by": "files"}, "did you mean 'file'?"), ({"count": 2}, "'index'"),
    ({"index": "auto", "count": 2}, "\"auto\" without a count"), ({"index": 0, "count": 2, "rank": 1}, "'rank'")])
def test_what_is_no_such_shard_is_refused(tmp_path, shard, words):
    with pytest.raises(fb.ConfigError) as caught:
        examples(write_parts(tmp_path)).batch(12).load(shard=shard)
    assert str(caught.value).startswith(("shard: ", "/shard/")) and words in str(caught.value)


def test_the_document_and_the_command_say_it_too(tmp_path):
    pipe = examples(write_parts(tmp_path, SIZES, PACKINGS)).batch(12, remainder="drop")
    wanted = ids_of(pipe.load(shard=by_file(1, 3)))
    assert ids_of(fb.load({**pipe.to_dict(), "shard": by_file(1, 3)})) == wanted
    assert "shard 1 of 3 by file" in str(fb.load({**pipe.to_dict(), "shard": by_file(1, 3)}).plan)
    (tmp_path / "document.json").write_text(pipe.to_json())
    done = subprocess.run([COMMAND, "run", tmp_path / "document.json", "--shard", "1/3", "--shard-by", "file", "--json"],
                          capture_output=True, text=True)
    assert (done.returncode, json.loads(done.stdout)["batches"]) == (0, len(wanted) // 4), done.stderr
    done = subprocess.run([COMMAND, "run", tmp_path / "document.json", "--shard-by", "files"], capture_output=True, text=True)
    assert done.returncode == 2 and "--shard-by: " in done.stderr and "did you mean 'file'?" in done.stderr


@pytest.mark.parametrize("remainder", ["drop", "pad", "repeat"])
def test_four_processes_that_wait_for_each_other_at_every_batch_all_end(tmp_path, remainder):
    paths = write_parts(tmp_path, [300, 100, 250, 150, 99], [None, "gzip", None, None, "zlib"])
    pipe = examples(paths).shuffle(buffer=5).interleave(cycle=1).shuffle(buffer=50)
    pipe = pipe.batch(40, remainder=remainder).epochs(2).epoch_boundary("hard")
    (tmp_path / "document.json").write_text(pipe.to_json())
    batches = len(list(pipe.load(shard=by_file(0, 4))))
    program = TOGETHER.replace("shard=(index, count)", "shard={'index': index, 'count': count, 'by': 'file'}")
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "document.json"], cwd=TESTS, capture_output=True, text=True,
                          timeout=60)
    assert (done.stdout, done.stderr) == (f"{[batches] * 4}\n", "")


def test_a_file_that_shrank_since_it_was_counted_is_an_error(tmp_path):
    paths = write_parts(tmp_path, [60, 60], [None, None])
    pipe = examples(paths).batch(20, remainder="drop").epochs(2)
    with pipe.load(shard=by_file(0, 2), threads=1, prefetch=1) as loader:
        next(loader)
        fb.write_records(paths[0], fb.read_records(paths[0])[:30])
        with pytest.raises(fb.DataError, match="changed"):
            list(loader)


@pytest.mark.parametrize("remainder", ["drop", "repeat"])
@pytest.mark.parametrize("behind", [lambda pipe: pipe, lambda pipe: pipe.filter("id % 2 == 0"), lambda pipe: pipe.shuffle(9)])
def test_filters_within_files_count(tmp_path, remainder, behind):
    """Where they stand, before the interleave or behind it, the shards have the same rows."""
    files = examples(write_parts(tmp_path, SIZES, PACKINGS))
    found = []
    for pipe in (files.filter("id % 3 == 1").interleave(2), files.interleave(2).filter("id % 3 == 1")):
        shards = runs(behind(pipe).batch(4, remainder=remainder), 2)
        assert len(shards[0]) == len(shards[1]) > 0
        found.append([ids_of(shard) for shard in shards])
    kept = [{number for number in part if number % 3 == 1} for part in parts_of(SIZES, 2)]
    for shards in found:
        assert all(set(ids) <= part for ids, part in zip(shards, kept))
    assert [len(ids) for ids in found[0]] == [len(ids) for ids in found[1]]
