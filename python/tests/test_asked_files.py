# SPDX-License-Identifier: Apache-2.0
"""No data file is asked anything before it is opened, and a run opens each once.

A preloaded library lists the calls about each file: stat (also lstat, fstatat, statx), access, readlink and realpath by path,
open, and fstat of a descriptor. A run over a plain file calls fstat twice, at the opening and after the last byte was read, and
a third time where the consumer has opened it and a worker reads it. A mapped file is looked at by path once more (stat), when
all batches of the run are made (docs/adr/0009).
"""
from __future__ import annotations

import collections
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from typing import Any

import pytest
from command import COMMAND
from conftest import preloaded_library

import forebay as fb

READ = ("open", "fstat", "stat")  # the calls about a file that is read; fstat stands for two or three
MANY = 1001                       # one more than the names that are checked with a document
FILES = {"a short list": MANY - 1, "a long list": MANY, "a pattern": MANY}

# Takes options of `load`, delivers everything, and saves a state after the batches whose numbers are given.
RUN = """
import json, sys, time
import forebay as fb
asked = json.loads(sys.argv[1])
states = []
with fb.load(asked["document"], threads=2, prefetch=1, **asked["options"]) as loader:
    if asked.get("state") is not None:
        loader.load_state_dict(asked["state"])
    for number, _ in enumerate(loader, 1):
        if number in asked["states"]:
            time.sleep(0.3 if not states else 0)  # until no worker opens a file: one that is being opened may be asked for, too
            states.append(loader.state_dict())
    if "end" in asked["states"]:
        states.append(loader.state_dict())
print(json.dumps(states))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return preloaded_library("asked_files", tmp_path_factory)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """MANY files of two records each."""
    out = tmp_path_factory.mktemp("many")
    fb.write_records(out / "part-0000.tfrecord", [fb.encode_example({"x": number}) for number in range(2)])
    for number in range(1, MANY):
        shutil.copyfile(out / "part-0000.tfrecord", out / f"part-{number:04}.tfrecord")
    time.sleep(0.1)  # a file that was written a moment ago is looked at again
    return out


def document(folder: pathlib.Path, kind: str) -> dict[str, Any]:
    names = sorted(map(str, folder.glob("part-*.tfrecord")))[:FILES[kind]]
    return {"source": {"tfrecord": {"files": [str(folder / "part-*")] if kind == "a pattern" else names}},
            "decode": {"example": {"features": {"x": {"dtype": "int64", "shape": []}}}},
            "steps": [{"batch": {"size": 20, "remainder": "drop"}}]}


def calls_by_file(library: pathlib.Path, log: pathlib.Path, command: list[Any]) -> tuple[str, collections.Counter[tuple[str, ...]]]:
    """What the command prints, and how many files have had which calls, in their order."""
    env = os.environ | {"LD_PRELOAD": str(library), "ASKED_LOG": str(log), "ASKED_FILES": ".tfrecord"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode in (0, 4), done.stderr
    calls: dict[str, list[str]] = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        call, path = line.split(" ", 1)
        calls.setdefault(path, []).append(call)
    return done.stdout, collections.Counter(map(with_one_fstat, calls.values()))


def with_one_fstat(calls: list[str]) -> tuple[str, ...]:
    """The calls with "fstat" for two or three fstat in a row, and with "fstat 1" for one."""
    out: list[str] = []
    for call, same in itertools.groupby(calls):
        count = len(list(same))
        out += [call] * count if call != "fstat" else ["fstat" if count in (2, 3) else f"fstat {count}"]
    return tuple(out)


def run(library: pathlib.Path, tmp_path: pathlib.Path, asked: dict[str, Any], states: Any = (), state: Any = None,
        **options: Any) -> tuple[list[Any], collections.Counter[tuple[str, ...]]]:
    wanted = {"document": asked, "states": states, "state": state, "options": options}
    out, calls = calls_by_file(library, tmp_path / f"calls-{len(list(tmp_path.iterdir()))}",
                               [sys.executable, "-c", RUN, json.dumps(wanted)])
    return json.loads(out), calls


def expected(kind: str, *before: str) -> collections.Counter[tuple[str, ...]]:
    """A short list is checked with the document: one stat more for each file."""
    checked = ("stat",) if kind == "a short list" else ()
    return collections.Counter({(*checked, *before, *READ): FILES[kind]})


@pytest.mark.parametrize("kind", FILES)
def test_a_run_asks_for_no_file_before_it_opens_it(library: pathlib.Path, folder: pathlib.Path, tmp_path: pathlib.Path, kind: str) -> None:
    assert run(library, tmp_path, document(folder, kind))[1] == expected(kind)


@pytest.mark.parametrize("kind", FILES)
def test_a_shard_of_rows_asks_for_no_file_before_it_opens_it(
        library: pathlib.Path, folder: pathlib.Path, tmp_path: pathlib.Path, kind: str) -> None:
    calls = run(library, tmp_path, document(folder, kind), shard=[1, 2])[1]
    (read, count), = expected(kind).items()
    # The first file that is read whole is opened twice more, to say why (docs/shards.md).
    before = read[:-len(READ)]
    assert calls == {read: count - 1, (*before, "open", "fstat 1", "open", "fstat 1", *READ): 1}


@pytest.mark.parametrize("kind", FILES)
def test_shuffled_and_interleaved_files_are_not_asked_for_before_they_are_opened(
        library: pathlib.Path, folder: pathlib.Path, tmp_path: pathlib.Path, kind: str) -> None:
    asked = document(folder, kind)
    asked["steps"] = [{"shuffle": {"buffer": 2000}}, {"interleave": {"cycle": 7}}, {"shuffle": {"buffer": 100}}, *asked["steps"]]
    assert run(library, tmp_path, asked)[1] == expected(kind)


@pytest.mark.parametrize("kind", FILES)
def test_a_state_asks_once_for_the_files_that_are_not_open_yet(
        library: pathlib.Path, folder: pathlib.Path, tmp_path: pathlib.Path, kind: str) -> None:
    states, calls = run(library, tmp_path, document(folder, kind), states=[1, 2, 50, "end"])
    assert len({json.dumps(state["data"]) for state in states}) == 1
    read, asked = expected(kind), expected(kind, "stat")
    assert set(calls) == {*read, *asked} and sum(calls.values()) == FILES[kind]
    assert calls[next(iter(read))] >= 10  # the files of the first batch
    after, calls = run(library, tmp_path, document(folder, kind), states=["end"])
    assert (after[0]["data"], calls) == (states[0]["data"], read)


@pytest.mark.parametrize("kind", FILES)
def test_a_restart_asks_once_for_every_file(library: pathlib.Path, folder: pathlib.Path, tmp_path: pathlib.Path, kind: str) -> None:
    states, _ = run(library, tmp_path, document(folder, kind), states=[1])
    again, calls = run(library, tmp_path, document(folder, kind), state={**states[0]}, states=[1, "end"])
    assert [state["data"] for state in again] == [states[0]["data"]] * 2
    # While it catches up, the run looks for stored indexes of the files before its place.
    assert all(tuple(call for call in each if call != "realpath")[:2] in (("stat", "open"), ("stat", "stat")) for each in calls)


def test_a_shard_of_files_opens_a_file_before_it_asks_for_it(library: pathlib.Path, folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in sorted(folder.glob("part-*"))[:20]:
        shutil.copyfile(path, copy / path.name)
    time.sleep(0.1)
    asked = document(folder, "a pattern")
    asked["source"]["tfrecord"]["files"] = [str(copy / "part-*.tfrecord")]
    for _ in range(2):  # the first run stores the indexes
        calls = run(library, tmp_path, asked, shard={"index": 1, "count": 2, "by": "file"})[1]
        # Every shard counts the records of all files: a file is opened to look for its index, to make and store the index, and
        # to be read, if it is the shard's. The pattern is asked for as the name of a file.
        assert calls.pop(("stat",)) == 1
        assert sum(calls.values()) == 20 and {each[0] for each in calls} == {"open"}


def test_check_asks_for_every_file_of_any_list(library: pathlib.Path, folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for kind in FILES:
        (tmp_path / "document.json").write_text(json.dumps(document(folder, kind)))
        _, calls = calls_by_file(library, tmp_path / kind, [COMMAND, "check", tmp_path / "document.json"])
        assert calls == collections.Counter({("stat",): FILES[kind]})


def test_check_names_the_missing_file_of_a_long_list_and_a_run_does_so_when_it_gets_there(
        folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    asked = document(folder, "a long list")
    missing = str(tmp_path / "missing.tfrecord")
    asked["source"]["tfrecord"]["files"].insert(800, missing)
    (tmp_path / "document.json").write_text(json.dumps(asked))
    done = subprocess.run([COMMAND, "check", tmp_path / "document.json", "--json"], capture_output=True, text=True, timeout=60)
    fault = json.loads(done.stdout)["faults"][0]
    assert (done.returncode, fault["code"], fault["pointer"]) == (4, "io", "/source/tfrecord/files/800")
    assert fault["message"] == f"cannot open '{missing}': No such file or directory"
    with fb.load(asked) as loader, pytest.raises(fb.IoError, match="No such file") as failed:
        for number, _ in enumerate(loader, 1):
            pass
    assert (number, failed.value.file) == (80, missing)  # 800 files of 2 records before it
