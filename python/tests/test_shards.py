# SPDX-License-Identifier: Apache-2.0
"""Processes that share a stream: the same batches everywhere, every row once, in order."""
from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from conftest import run_python
from streams import examples, rows_of, write_parts
from command import COMMAND
from test_dlpack import TESTS

import forebay as fb


def shards_of(pipe, count):
    """batches[shard] = rows of each batch, and the numbers and valid rows next to them."""
    out = []
    for shard in range(count):
        with pipe.load(shard=(shard, count), threads=1 + shard % 3) as loader:
            out.append([(batch.number, batch.epoch, rows_of(batch), batch.valid_rows) for batch in loader])
    return out


# Records, rows of a batch, shards: no records, fewer than a batch, than shards, just one, one more, one less, many.
SIZES = [(0, 4, 2), (1, 4, 4), (3, 4, 2), (3, 12, 12), (4, 4, 1), (5, 4, 4), (7, 4, 2), (11, 12, 6), (12, 12, 12), (13, 12, 3),
         (23, 12, 4), (25, 5, 5), (50, 6, 3), (97, 12, 2), (100, 1, 1), (101, 8, 8), (240, 60, 20)]


@pytest.mark.parametrize("remainder", ["keep", "drop", "pad", "repeat"])
@pytest.mark.parametrize("records, size, count", SIZES)
def test_shards_put_together_are_the_whole_stream(tmp_path, records, size, count, remainder):
    paths = write_parts(tmp_path, [records // 3, records - records // 3], [None, "gzip"])
    for boundary in ("straddle", "hard"):
        pipe = examples(paths).shuffle(buffer=10).batch(size, remainder=remainder).epochs(2).epoch_boundary(boundary)
        with pipe.load() as loader:
            whole = [(batch.number, batch.epoch, rows_of(batch), batch.valid_rows) for batch in loader]
        shards = shards_of(pipe, count)
        assert [len(shard) for shard in shards] == [len(whole)] * count, "the same number of batches everywhere"
        for at, (number, epoch, rows, valid) in enumerate(whole):
            parts = [shard[at] for shard in shards]
            assert all(part[:2] == (number, epoch) for part in parts)
            assert [row for part in parts for row in part[2]] == rows
            assert sum(part[3] for part in parts) == valid
            sizes = [len(part[2]) for part in parts]
            assert max(sizes) - min(sizes) <= 1, "a short batch is divided as evenly as it goes"
            if remainder != "keep":
                assert sizes == [size // count] * count
            # Empty rows come last: after a shard with one, all shards have only empty rows.
            valids = [part[3] for part in parts]
            assert [min(max(valid - sum(sizes[:i]), 0), sizes[i]) for i in range(count)] == valids


@pytest.mark.parametrize("order", ["global", "interleave"])
def test_shards_of_other_orders_are_the_whole_stream(tmp_path, order):
    pipe = examples(write_parts(tmp_path))
    pipe = pipe.shuffle(global_=True) if order == "global" else pipe.interleave(cycle=3).shuffle(buffer=30)
    pipe = pipe.batch(24).epochs(3).seed(4)
    whole = [rows_of(batch) for batch in pipe.load()]
    for count in (2, 3, 8, 24):
        shards = shards_of(pipe, count)
        assert [sum((shard[at][2] for shard in shards), []) for at in range(len(whole))] == whole


def test_padded_shards_are_each_padded_to_what_they_hold(tmp_path):
    pipe = examples(write_parts(tmp_path)).batch(12, pad=True)
    whole = [[row[:row_length].tolist() for row, row_length in zip(batch["tokens"], batch.lengths["tokens"])]
             for batch in pipe.load()]
    parts = [list(pipe.load(shard=(shard, 4))) for shard in range(4)]
    together = [[row[:length].tolist() for part in batches for row, length in zip(part["tokens"], part.lengths["tokens"])]
                for batches in zip(*parts)]
    assert together == whole


def test_a_corrupt_record_is_skipped_by_all_shards_alike(tmp_path):
    paths = write_parts(tmp_path, [100, 100], [None, None])
    data = bytearray(open(paths[0], "rb").read())
    data[len(data) // 2] ^= 1
    open(paths[0], "wb").write(data)
    fb.write_records(paths[1], [*fb.read_records(paths[1])[:50], b"no message", *fb.read_records(paths[1])[50:]])
    document = {**examples(paths).shuffle(buffer=30).batch(12).epochs(2).to_dict(), "on_corrupt": "skip_record"}
    whole = [rows_of(batch) for batch in fb.load(document)]
    shards = [[rows_of(batch) for batch in fb.load(document, shard=(shard, 3))] for shard in range(3)]
    assert sum(map(len, whole)) == 2 * 199
    assert [a + b + c for a, b, c in zip(*shards)] == whole and {len(shard) for shard in shards} == {len(whole)}


TOGETHER = """
import multiprocessing, os, sys
from streams import digest
import forebay as fb

document, count, seconds = sys.argv[1], 4, 10
context = multiprocessing.get_context("fork")
barrier = context.Barrier(count, timeout=seconds)

def rank(index):
    with fb.load(document, shard=(index, count), threads=1 + index) as loader:
        for batch in loader:
            barrier.wait()
    # One more turn: nobody may still be at a batch.
    barrier.wait()
    sys.exit(loader.stats().batches)

ranks = [context.Process(target=rank, args=(index,)) for index in range(count)]
for each in ranks: each.start()
for each in ranks: each.join(2 * seconds)
print([each.exitcode for each in ranks])
"""


@pytest.mark.parametrize("remainder, records", [("keep", 1201), ("keep", 1205), ("drop", 1213), ("pad", 1201), ("repeat", 1202)])
def test_four_processes_that_wait_for_each_other_at_every_batch_all_end(tmp_path, remainder, records):
    write_parts(tmp_path, [records - 300, 0, 300], [None, None, "gzip"])
    pipe = examples([str(tmp_path / f"part-{i}.tfrecord") for i in range(3)])
    pipe = pipe.shuffle(global_=True).batch(12, remainder=remainder).epochs(2).epoch_boundary("hard")
    (tmp_path / "document.json").write_text(pipe.to_json())
    batches = len(list(pipe.load()))
    assert batches == 2 * (records // 12 + (remainder != "drop" and records % 12 > 0)) < 256  # a status is a byte
    done = subprocess.run([sys.executable, "-c", TOGETHER, tmp_path / "document.json"], cwd=TESTS, capture_output=True,
                          text=True, timeout=60)
    assert done.stdout == f"{[batches] * 4}\n"
    without = "batch 100 has fewer rows than there are row shards (4), so this shard has none of them"   # said by three of the four
    assert done.stderr.count(without) == done.stderr.count("batch") // 4 == (3 if (remainder, records) == ("keep", 1201) else 0)


# ---------------------------------------------------------------- what may be asked for

@pytest.mark.parametrize("size, count, fit", [(12, 5, "1, 2, 3, 4, 6, 12"), (12, 24, "1, 2, 3, 4, 6, 12"), (7, 2, "1, 7"),
                                              (1, 2, "1"), (256, 3, "1, 2, 4, 8, 16, 32, 64, 128, 256")])
def test_a_count_that_does_not_divide_the_batch_is_refused_with_those_that_do(tmp_path, size, count, fit):
    pipe = examples(write_parts(tmp_path)).batch(size)
    words = f"shard: a batch of {size} rows cannot be divided among {count} shards; counts that fit: {fit}"
    for shard in ((0, count), f"{count - 1}/{count}"):
        with pytest.raises(fb.ConfigError) as caught:
            pipe.load(shard=shard)
        assert str(caught.value) == words
    (tmp_path / "document.json").write_text(pipe.to_json())
    done = subprocess.run([COMMAND, "run", tmp_path / "document.json", "--shard", f"0/{count}"], capture_output=True, text=True)
    assert done.returncode == 2 and words in done.stderr


@pytest.mark.parametrize("shard", [(4, 4), (-1, 4), (0, 0), (0, -1), (0,), (0, 1, 2), (0.0, 2), ("0", "2"), "4/4", "-1/4", "0/0",
                                   "1", "", "0/4/8", "AUTO", " 0/4", 3, {"index": 2, "count": 2}, (0, 2**70)])
def test_what_is_no_shard_is_refused(tmp_path, shard):
    with pytest.raises(fb.ConfigError, match="^shard: "):
        examples(write_parts(tmp_path)).batch(12).load(shard=shard)


def test_a_shard_of_the_document_gives_way_to_that_of_the_call(tmp_path):
    document = {**examples(write_parts(tmp_path)).batch(12).to_dict(), "shard": [1, 3]}
    ids = next(fb.load({**document, "shard": None}))["id"].tolist()
    assert next(fb.load(document))["id"].tolist() == ids[4:8]
    assert next(fb.load(document, shard="0/2"))["id"].tolist() == ids[:6]
    assert next(fb.load(document, shard=(0, 1)))["id"].tolist() == ids


# ---------------------------------------------------------------- what the launcher says

VARIABLES = ["RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID",
             "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_STEP_ID", "SLURM_STEPID", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES",
             "TORCHELASTIC_RUN_ID"]
AUTO = """
import json, sys
import forebay as fb
try:
    loader = fb.load(sys.argv[1], shard="auto")
    print(json.dumps(next(loader)["id"].tolist()))
except fb.ConfigError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    folder = tmp_path_factory.mktemp("auto")
    (folder / "document.json").write_text(examples(write_parts(folder)).batch(12).to_json())
    return folder / "document.json"


def asked(document, environment, program=(sys.executable, "-c", AUTO)):
    clean = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return subprocess.run([*program, document], capture_output=True, text=True, timeout=60, env={**clean, **environment})


def keys_of(document):
    """Of the rows of the first batch, without their folder."""
    return [os.path.basename(key) for key in next(fb.load(document)).record_keys]


@pytest.mark.parametrize("environment, index, count, source", [
    ({"RANK": "1", "WORLD_SIZE": "4"}, 1, 4, "torchrun"),
    ({"RANK": "3", "WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "x", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1",
      "SLURM_STEP_NUM_TASKS": "2"}, 3, 4, "torchrun"),
    ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "3"}, 2, 3, "Open MPI"),
    ({"SLURM_STEP_ID": "0", "SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "6"}, 5, 6, "SLURM"),
    ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_NTASKS": "8"}, 0, 1, "single"),
    ({"JAX_PROCESS_ID": "1", "JAX_NUM_PROCESSES": "2"}, 1, 2, "JAX"),
    ({}, 0, 1, "single"),
])
def test_auto_takes_the_rank_of_the_launcher_and_says_so(document, environment, index, count, source):
    done = asked(document, environment)
    rows = 12 // count
    assert (done.returncode, json.loads(done.stdout)) == (0, list(range(index * rows, (index + 1) * rows)))
    keys = ", ".join(keys_of(document)[index * rows:(index + 1) * rows][:3])
    assert done.stderr == f"forebay: rank {index} of {count} ({source}): shard {index} of {count}, first keys {keys}\n"


@pytest.mark.parametrize("shard, environment, told", [
    ("None", {"RANK": "1", "WORLD_SIZE": "4"}, "forebay: torchrun runs 4 processes, and this run has no shard: each process reads everything; "
                                               "`load(shard=\"auto\")` takes the part of this one\n"),
    ("(0, 1)", {"RANK": "1", "WORLD_SIZE": "4"}, ""), ("(1, 4)", {"RANK": "1", "WORLD_SIZE": "4"}, ""),
    ("None", {"RANK": "0", "WORLD_SIZE": "1"}, ""), ("None", {"WORLD_SIZE": "4"}, ""), ("None", {}, ""),
])
def test_a_run_without_a_shard_under_torchrun_says_so_once(document, shard, environment, told):
    program = f"import sys, forebay as fb\nfor _ in range(2): next(fb.load(sys.argv[1], shard={shard}))"
    done = asked(document, environment, (sys.executable, "-c", program))
    assert (done.returncode, done.stderr) == (0, told)


@pytest.mark.parametrize("setting, told", [
    ("logging.getLogger('forebay').setLevel('ERROR')", ""),
    ("logging.disable(); logging.getLogger('forebay').setLevel('INFO')", ""),
    ("logging.getLogger('forebay').setLevel('INFO'); logging.basicConfig(format='%(levelname)s %(name)s %(message)s')", "INFO forebay rank 1 of 4"),
    ("logging.getLogger('forebay').addHandler(logging.StreamHandler()); logging.getLogger('forebay').setLevel('INFO')", "rank 1 of 4"),
    ("logging.basicConfig(level='ERROR')", "forebay: rank 1 of 4"),
])
def test_the_line_goes_where_the_program_has_set_up_the_logger(document, setting, told):
    done = asked(document, {"RANK": "1", "WORLD_SIZE": "4"}, (sys.executable, "-c", f"import logging; {setting}\n{AUTO}"))
    assert done.returncode == 0 and (done.stderr.startswith(told + " (torchrun)") and done.stderr.count("\n") == 1 if told else done.stderr == "")


def test_auto_says_how_many_batches_there_are_where_indexes_tell(tmp_path):
    paths = write_parts(tmp_path)
    fb.index_files(paths)
    for change, words in [({}, "26 batches"), ({"epochs": 3}, "77 batches"), ({"epochs": 3, "epoch_boundary": "hard"}, "78 batches"),
                          ({"epochs": None}, "26 batches an epoch")]:
        (tmp_path / "document.json").write_text(json.dumps(examples(paths).batch(12).to_dict() | change))
        done = asked(tmp_path / "document.json", {"RANK": "1", "WORLD_SIZE": "4"})
        keys = ", ".join(keys_of(tmp_path / "document.json")[3:6])
        assert done.stderr == f"forebay: rank 1 of 4 (torchrun): shard 1 of 4, {words}, first keys {keys}\n"


def test_ranks_of_one_model_may_share_a_shard(document):
    program = AUTO.replace('"auto"', '{"index": "auto", "replicas": 2}')
    for rank in range(4):
        done = asked(document, {"RANK": str(rank), "WORLD_SIZE": "4"}, (sys.executable, "-c", program))
        assert json.loads(done.stdout) == list(range(rank // 2 * 6, rank // 2 * 6 + 6))
        assert done.stderr.startswith(f"forebay: rank {rank} of 4 (torchrun): shard {rank // 2} of 2, first keys ")
    done = asked(document, {"RANK": "0", "WORLD_SIZE": "3"}, (sys.executable, "-c", program))
    assert "3 ranks cannot be divided into groups of 2 'replicas'" in done.stdout


def test_auto_is_told_of_before_a_fault_of_the_first_batch(tmp_path):
    (tmp_path / "document.json").write_text(examples(write_parts(tmp_path, [5], [None])).batch(4).to_json())
    (tmp_path / "part-0.tfrecord").write_bytes(b"no record at all")
    done = asked(tmp_path / "document.json", {"RANK": "1", "WORLD_SIZE": "4"})
    assert "forebay: rank 1 of 4 (torchrun): shard 1 of 4\n" in done.stderr and "DataError" in done.stderr


@pytest.mark.parametrize("environment, words", [
    ({"RANK": "1", "WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"},
     ["torchrun says 1 of 4, and Open MPI says 2 of 4", "RANK='1'", "OMPI_COMM_WORLD_RANK='2'"]),
    ({"RANK": "1"}, ["RANK is set, but WORLD_SIZE is not"]),
    ({"RANK": "4", "WORLD_SIZE": "4"}, ["RANK must be from 0 to WORLD_SIZE - 1 = 3, and is 4"]),
    ({"RANK": "0", "WORLD_SIZE": "0"}, ["WORLD_SIZE must be at least 1"]),
    ({"RANK": "-1", "WORLD_SIZE": "4"}, ["RANK must be a whole number from 0 on, and is '-1'"]),
    ({"RANK": "", "WORLD_SIZE": "4"}, ["RANK must be a whole number"]),
    ({"RANK": "0", "WORLD_SIZE": "1", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"},
     ["torchrun says 0 of 1, and SLURM says 0 of 2"]),
])
def test_what_contradicts_itself_is_refused_with_all_that_was_seen(document, environment, words):
    done = asked(document, environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("shard: cannot determine the rank of this process: "), done.stdout
    assert all(word in done.stdout for word in words) and done.stdout.endswith("or name the shard, as 0/4\n"), done.stdout


def test_a_rank_whose_count_does_not_fit_is_refused_as_any(document):
    done = asked(document, {"RANK": "1", "WORLD_SIZE": "5"})
    assert "cannot be divided among 5 shards; counts that fit: 1, 2, 3, 4, 6, 12" in done.stdout


def test_the_command_asks_the_launcher_too(document):
    done = asked(document, {"RANK": "1", "WORLD_SIZE": "4"}, (COMMAND, "run", "--json", "--shard", "auto"))
    assert done.returncode == 0 and "forebay: rank 1 of 4 (torchrun): shard 1 of 4, first keys " + keys_of(document)[3] in done.stderr
    assert json.loads(done.stdout)["batches"] == 26


def test_nothing_is_said_where_nothing_was_asked(document):
    done = run_python("import forebay as fb, sys; next(fb.load(sys.argv[1], shard='1/4'))", str(document))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_rank_reads_its_own_records_only_and_says_so(tmp_path):
    paths = [str(tmp_path / f"part-{i}.tfrecord") for i in range(3)]
    for number, path in enumerate(paths):
        fb.write_records(path, [bytes([number]) * (17_000 + n) for n in range(10)])
    pipe = fb.tfrecord(paths).record().filter("length(record) > 17001").shuffle(20).batch(6)
    document = tmp_path / "doc.json"
    document.write_text(pipe.to_json())

    def said(*arguments):
        return subprocess.run([COMMAND, *arguments, str(document), "--shard", "0/3"], check=True, capture_output=True, text=True).stdout

    def run(rank):
        with pipe.load(shard=(rank, 3), threads=2) as loader:
            rows = [bytes(row) for batch in loader for row in batch["record"]]
            return rows, loader.stats()

    whole = [run(rank) for rank in range(3)]
    assert all(stats.shard_files == (0, 3) and stats.read_amplification > 2.9 for _, stats in whole)
    reason = f"3 files: read whole ({paths[0]}: it has no index; `forebay index` makes one)"
    assert reason in str(whole[0][1]) and reason in said("check") and reason in said("explain")
    subprocess.run([COMMAND, "index", "--document", str(document)], check=True, capture_output=True)
    own = [run(rank) for rank in range(3)]
    assert [rows for rows, _ in own] == [rows for rows, _ in whole]
    for rows, stats in own:
        assert stats.bytes_read == stats.row_bytes == sum(map(len, rows))
        assert (stats.shard_files, stats.read_amplification) == ((3, 0), 1)
    line = "3 files: own records only; 1.00 bytes read for each byte of own rows"
    assert own[0][1].shard_reading == line
    assert f"shard: {line}\n" in said("check") and f"shard: {line}\n" in said("run") and f"shard: {line}\n" in said("explain")


def test_a_rank_leaves_out_what_the_index_says_is_corrupt(tmp_path):
    path = tmp_path / "part.tfrecord"
    fb.write_records(path, [bytes([number]) * 17_000 for number in range(30)])
    corrupted = bytearray(path.read_bytes())
    for number in (0, 11, 12):
        corrupted[number * 17_016 + 500] ^= 1
    path.write_bytes(corrupted)
    pipe = fb.tfrecord([str(path)]).record().shuffle(20).batch(6)
    document = tmp_path / "doc.json"
    document.write_text(json.dumps({**json.loads(pipe.to_json()), "on_corrupt": "skip_record"}))

    def run(rank):
        with fb.load(document, shard=(rank, 3)) as loader:
            rows = [row[0] for batch in loader for row in batch["record"]]
            return rows, loader.stats()

    def said(verb):
        return subprocess.run([COMMAND, verb, str(document), "--shard", "0/3"], check=True, capture_output=True, text=True).stdout

    whole = [run(rank) for rank in range(3)]
    reason = f"1 file: read whole ({path}: which of its records are corrupt is not stored; `forebay index --document` stores that)"
    assert reason in whole[0][1].shard_reading and reason in said("check")
    subprocess.run([COMMAND, "index", "--document", str(document)], check=True, capture_output=True)
    own = [run(rank) for rank in range(3)]
    assert [rows for rows, _ in own] == [rows for rows, _ in whole]
    assert sorted(row for rows, _ in own for row in rows) == [*range(1, 11), *range(13, 30)]
    assert [stats.skipped_records for _, stats in own] == [stats.skipped_records for _, stats in whole] == [3, 3, 3]
    assert [stats.bytes_read for _, stats in own] == [len(rows) * 17_000 for rows, _ in own]
    assert "1 file: own records only; 1.00 bytes read for each byte of own rows" in said("check")
