# SPDX-License-Identifier: Apache-2.0
"""Attributes stored beside the index: a filter before and after a global shuffle, `sorted`, shards, restarts, corrupt stores."""
from __future__ import annotations

import os
import pathlib
import shutil

import numpy as np
import pytest
from command import forebay
from streams import SIZES, digests, examples, resumed, rows_of, write_parts

import forebay as fb

RECORDS = sum(SIZES)
STORE = pathlib.Path(".forebay") / "index-v1"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / "cache"))


def ids(loader) -> list[int]:
    return [int(i) for batch in loader for i in batch["id"]]


def tag_filter(pipe):
    """A condition over a string: `name` is the letter n, id % 5 times."""
    return pipe.filter("name == 'nn'")


PIPES = {
    "filter before a global shuffle": lambda p: p.filter("length(tokens) > 1").shuffle(global_=True),
    "filter after a global shuffle": lambda p: p.shuffle(global_=True).filter("length(tokens) > 1"),
    "filters on both sides": lambda p: p.filter("id % 3 != 1").shuffle(global_=True).filter("length(tokens) > 0"),
    "tag filter, sorted": lambda p: tag_filter(p).sorted("length(tokens)"),
    "sorted, then shuffled": lambda p: p.sorted("id % 7", descending=True).shuffle(30),
    "sorted, filter, shuffle": lambda p: p.sorted("-id").filter("id % 2 == 0").shuffle(20),
    "files in order": lambda p: p.filter("id % 3 != 1").shuffle(40),
    "interleaved": lambda p: p.interleave(3, block=2).filter("length(tokens) > 1"),
}


def kept_before_shuffle(where: str) -> list[int]:
    return {"length(tokens) > 1": [i for i in range(RECORDS) if i % 4 > 1]}[where]


# ---------------------------------------------------------------- what the orders give

@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("stored", [False, True])
def test_a_global_shuffle_after_a_filter_permutes_what_is_left(tmp_path, parts, threads, stored):
    where = "length(tokens) > 1"
    left = kept_before_shuffle(where)
    by_id = [record for part in parts for record in fb.read_records(part)]
    counts = np.cumsum([0, *SIZES])
    kept_parts = []
    for number, (begin, end) in enumerate(zip(counts, counts[1:])):
        kept_parts.append(str(tmp_path / f"kept-{number}"))
        fb.write_records(kept_parts[-1], [by_id[i] for i in left if begin <= i < end])
    pipe = examples(parts).filter(where).shuffle(global_=True).batch(9).epochs(2).seed(5)
    if stored:
        ids(pipe.load())
    wanted = ids(examples(kept_parts).shuffle(global_=True).batch(9).epochs(2).seed(5).load())
    assert ids(pipe.load(threads=threads)) == wanted
    assert sorted(wanted) == sorted(left * 2)


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("by, key", [("id", lambda i: i), ("-id", lambda i: -i), ("length(tokens)", lambda i: i % 4),
                                     ("id * id - 300 * id", lambda i: i * i - 300 * i), ("7", lambda i: 7),
                                     ("id * 4294967296 - 9000000", lambda i: (i << 32) - 9000000)])
def test_sorted_is_stable_in_both_directions(parts, by, key, threads):
    for descending in (False, True):
        pipe = examples(parts).sorted(by, descending=descending).batch(7).epochs(2)
        wanted = sorted(range(RECORDS), key=lambda i: -key(i) if descending else key(i))
        assert ids(pipe.load(threads=threads)) == wanted * 2


def test_sorted_sees_the_tensors_at_its_place_and_only_what_a_filter_leaves(parts):
    pipe = examples(parts).slice("x", "[0]").cast("x", "int64").filter("x % 2 == 1").sorted("-x").batch(5)
    assert ids(pipe.load()) == [i for half in range(RECORDS // 2, -1, -1) if half % 2 == 1
                                for i in (2 * half, 2 * half + 1) if i < RECORDS]


def test_faults_of_sorted_and_of_orders_before_it(parts):
    with pytest.raises(fb.ConfigError, match="/steps/0/sorted/by: .*there is no tensor 'idd'; did you mean 'id'"):
        examples(parts).sorted("idd").batch(3).plan()
    with pytest.raises(fb.ConfigError, match="the expression is a condition, but an integer is wanted|a boolean"):
        examples(parts).sorted("id > 3").batch(3).plan()
    with pytest.raises(fb.ConfigError, match="files are opened only once, by the first 'sorted'"):
        examples(parts).sorted("id").shuffle(global_=True).batch(3).plan()
    taken = [i for batch in examples(parts).filter("id > 3").take(5).shuffle(global_=True).batch(3).load() for i in batch["id"].tolist()]
    assert sorted(taken) == sorted(i for batch in examples(parts).filter("id > 3").take(5).batch(3).load() for i in batch["id"].tolist())


def test_a_plan_shows_the_filter_that_is_applied_to_the_index(parts):
    text = str(examples(parts).filter("id > 3").shuffle(global_=True).batch(3).plan())
    assert 'index     filter {"where":"id > 3"}' in text and "early     filter id > 3" in text


# ---------------------------------------------------------------- restarts and shards

@pytest.mark.parametrize("name", PIPES)
def test_a_restart_at_every_batch_is_exact_with_and_without_stored_attributes(parts, name):
    pipe = PIPES[name](examples(parts)).batch(13, remainder="drop").epochs(2).seed(1)
    loader = pipe.load(threads=2)
    states, seen = [loader.state_dict()], []
    for batch in loader:
        seen.append(digests([batch])[0])
        states.append(loader.state_dict())
    assert len(seen) > 5
    folder = pathlib.Path(parts[0]).parent
    for stored in (False, True):
        shutil.rmtree(folder / ".forebay", ignore_errors=True)
        if stored:
            (folder / "job.json").write_text(pipe.to_json())
            assert forebay("index", "--document", folder / "job.json").returncode == 0
            assert forebay("index", "--check", "--document", folder / "job.json").returncode == 0
        for number, state in enumerate(states):
            assert digests(resumed(pipe, state, threads=1 if number % 2 else 8)) == seen[number:]


@pytest.mark.parametrize("name", PIPES)
def test_row_shards_together_have_the_rows_of_the_whole(parts, name):
    pipe = PIPES[name](examples(parts)).batch(12, remainder="drop").epochs(2)
    whole = [rows_of(batch) for batch in pipe.load()]
    for ranks in (2, 3):
        shards = [[rows_of(b) for b in pipe.load(shard=(rank, ranks), threads=1 + rank)] for rank in range(ranks)]
        assert [sum(pieces, []) for pieces in zip(*shards, strict=True)] == whole


@pytest.mark.parametrize("remainder", ["drop", "repeat"])
@pytest.mark.parametrize("name", PIPES)
def test_shards_by_file_have_equally_many_batches_of_kept_records(tmp_path, name, remainder):
    parts = write_parts(tmp_path, [60, 50, 80, 70, 40], [None, "gzip", None, "zlib", "zstd"])
    pipe = PIPES[name](examples(parts)).batch(4, remainder=remainder).epochs(1)
    everything = set(ids(PIPES[name](examples(parts)).batch(1).load()))
    runs = [list(pipe.load(shard={"index": rank, "count": 2, "by": "file"}, threads=1 + 7 * rank)) for rank in range(2)]
    assert len(runs[0]) == len(runs[1]) > 3
    rows = [[int(i) for batch in run for i in batch["id"]] for run in runs]
    assert not set(rows[0]) & set(rows[1])
    if remainder == "repeat":
        assert set(rows[0]) | set(rows[1]) == everything
    else:
        assert set(rows[0]) | set(rows[1]) <= everything and len(set(rows[0])) == len(rows[0])


# ---------------------------------------------------------------- what is stored

def reads(pipe, **options) -> list[list[int]]:
    return [b["id"].tolist() for b in pipe.load(**options)]


def test_attributes_are_made_once_and_read_by_every_later_run(parts):
    folder = pathlib.Path(parts[0]).parent
    for make in PIPES.values():
        shutil.rmtree(folder / ".forebay", ignore_errors=True)
        pipe = make(examples(parts)).batch(8)
        first = reads(pipe)
        if not (folder / STORE).exists():
            continue  # files in order need no index
        store = (folder / STORE).read_bytes()
        assert reads(pipe, threads=8) == first
        assert (folder / STORE).read_bytes() == store, "nothing was made again"


def test_without_a_scan_a_run_does_not_meet_a_record_that_it_does_not_deliver(tmp_path):
    """A record that the filter refuses is spoiled after its attribute was stored: only a scan would find it."""
    path = pathlib.Path(write_parts(tmp_path, [300], [None])[0])
    pipe = examples([str(path)]).filter("id % 2 == 0").shuffle(global_=True).batch(4)
    wanted = reads(pipe)
    odd, records = 151, fb.read_records(path)
    data, time = bytearray(path.read_bytes()), path.stat()
    assert len(data) > 2 * 4096  # the ends tell one version of the file from another
    data[sum(16 + len(record) for record in records[:odd]) + 14] ^= 4
    path.write_bytes(data)
    os.utime(path, ns=(time.st_atime_ns, time.st_mtime_ns))
    assert reads(pipe) == wanted
    shutil.rmtree(path.parent / ".forebay")
    with pytest.raises(fb.DataError, match=f"record {odd}, byte"):
        reads(pipe)


def test_another_condition_decoder_or_step_has_attributes_of_its_own(parts):
    base = examples(parts)
    pipes = [base.filter("id % 2 == 0"), base.filter("id % 2 == 1"), base.filter("id   % 2  ==  1"),
             base.slice("tokens", "[:1]").filter("length(tokens) == 1"), base.filter("length(tokens) == 1")]
    wanted = [{i for i in range(RECORDS) if i % 2 == 0}, {i for i in range(RECORDS) if i % 2 == 1},
              {i for i in range(RECORDS) if i % 2 == 1}, {i for i in range(RECORDS) if i % 4 >= 1},
              {i for i in range(RECORDS) if i % 4 == 1}]
    for _ in range(2):
        for pipe, expected in zip(pipes, wanted):
            assert set(ids(pipe.shuffle(global_=True).batch(5).load())) == expected


@pytest.mark.parametrize("policy", ["skip_record", "skip_file"])
def test_the_trial_decode_is_stored_too(tmp_path, policy):
    paths = write_parts(tmp_path, [50] * 4, [None, None, "gzip", None])
    records = fb.read_records(paths[1])
    records[30] = fb.encode_example({"x": [1.0, 2.0], "name": b"", "tokens": np.zeros(2, np.int64)})  # no id
    fb.write_records(paths[1], records)
    for make in (lambda p: p.shuffle(global_=True), lambda p: p.shuffle(global_=True).filter("id % 3 != 0")):
        pipe = make(examples(paths)).batch(4).on_corrupt(policy)
        before = (tmp_path / STORE).stat().st_size if (tmp_path / STORE).exists() else 0
        first = pipe.load()
        wanted, stats = digests(first), first.stats()
        size = (tmp_path / STORE).stat().st_size
        assert size > before
        again = pipe.load(threads=8)
        assert digests(again) == wanted and (tmp_path / STORE).stat().st_size == size
        then = again.stats()
        assert (then.skipped_records, then.skipped_files, then.skipped_bytes) == \
            (stats.skipped_records, stats.skipped_files, stats.skipped_bytes)
        assert stats.skipped_records + stats.skipped_files == 1
        strict = examples(paths).shuffle(global_=True).batch(4)
        with pytest.raises(fb.DataError, match="record 30"):
            digests(strict.load())


def test_a_store_that_is_cut_or_flipped_never_changes_the_stream(tmp_path):
    paths = write_parts(tmp_path, [30, 20], [None, "gzip"])
    pipe = examples(paths).filter("id % 3 != 1").shuffle(global_=True).batch(6)
    wanted = digests(pipe.load())
    store = tmp_path / STORE
    good = store.read_bytes()
    for at in range(0, len(good), 37):
        for bad in (good[:at], good[:at] + bytes([good[at] ^ 16]) + good[at + 1:]):
            store.write_bytes(bad)
            assert digests(pipe.load(threads=1)) == wanted, at


# ---------------------------------------------------------------- where it is stored

def test_index_dir_is_the_only_place_for_runs_and_for_the_command(tmp_path, parts):
    shutil.rmtree(pathlib.Path(parts[0]).parent / ".forebay", ignore_errors=True)
    where = tmp_path / "indexes" / "deep"
    pipe = examples(parts).filter("id % 2 == 0").shuffle(global_=True).batch(8)
    wanted = digests(pipe.load(index_dir=where))
    folder = pathlib.Path(parts[0]).parent
    assert not (folder / ".forebay").exists() and not (tmp_path / "cache").exists()
    store, = where.glob("*/index-v1")
    before = store.read_bytes()
    assert digests(pipe.load(index_dir=str(where), threads=8)) == wanted
    assert store.read_bytes() == before
    (tmp_path / "job.json").write_text(pipe.to_json())
    for verb in (["index", "--check", "--document"], ["run"]):
        done = forebay(*verb, tmp_path / "job.json", "--index-dir", where)
        assert (done.returncode, done.stderr) == (0, "")
    assert [r.built for r in fb.index_files(parts, index_dir=where)] == [False] * len(parts)
    assert store.read_bytes() == before and not (folder / ".forebay").exists()
    with pytest.raises(TypeError, match="index_dir"):
        pipe.load(index_dir=3)  # type: ignore[arg-type]


def test_the_first_store_of_a_folder_is_announced_in_one_line(tmp_path, parts, capfd):
    folder = pathlib.Path(parts[0]).parent
    shutil.rmtree(folder / ".forebay", ignore_errors=True)
    pipe = examples(parts).shuffle(global_=True).batch(8)
    for said in (f"forebay: record indexes are stored in '{folder}/.forebay', which may be deleted at any time\n", ""):
        ids(pipe.load())
        assert capfd.readouterr().err == said
    shutil.rmtree(folder / ".forebay")
    (tmp_path / "job.json").write_text(pipe.to_json())
    assert forebay("run", tmp_path / "job.json").stderr.count("record indexes are stored in") == 1
    ids(pipe.load(index_dir=tmp_path / "job.json"))  # a file where a folder is wanted
    said = capfd.readouterr().err
    assert said.startswith("forebay: record indexes cannot be stored, so every run makes them again (") and "index_dir" in said
