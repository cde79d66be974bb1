# SPDX-License-Identifier: Apache-2.0
"""Reads that the system cuts short, interrupts or fails: the stream is the same, or the error has its place."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import counts_document, preloaded_library, write_counts
from command import COMMAND

ROWS = 30_000


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return preloaded_library("hindered_reads", tmp_path_factory)


@pytest.fixture(scope="module", params=[None, "gzip", "zlib"], ids=["plain", "gzip", "zlib"])
def document(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("hindered")
    files = [write_counts(folder, ROWS, f"part-{i}.tfrecord", request.param) for i in range(2)]
    document = counts_document(files[0], 100)
    document["source"]["tfrecord"]["files"] = files
    (folder / "document.json").write_text(json.dumps(document))
    return folder / "document.json"


def run(document: pathlib.Path, library: pathlib.Path, *arguments: str, **hinder: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"LD_PRELOAD": str(library)} | {f"HINDER_{name.upper()}": value for name, value in hinder.items()}
    return subprocess.run([COMMAND, "run", document, "--digest", "--json", *arguments], capture_output=True, text=True, timeout=60, env=env)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_short_and_interrupted_reads_lose_nothing(document: pathlib.Path, library: pathlib.Path, threads: str) -> None:
    free = run(document, library, "--threads", threads)
    assert json.loads(free.stdout)["rows"] == 2 * ROWS
    short = run(document, library, "--threads", threads, files="part-", short="5000")
    assert (short.returncode, short.stdout) == (0, free.stdout)


@pytest.mark.parametrize("policy", ["fail", "skip_record", "skip_file"])
def test_a_failed_read_is_an_error_with_its_place_under_every_policy(document: pathlib.Path, library: pathlib.Path, policy: str) -> None:
    place = (document.parent / "part-1.tfrecord").stat().st_size // 2
    asked = json.loads(document.read_text()) | {"on_corrupt": policy}
    changed = document.with_name(f"{policy}.json")
    changed.write_text(json.dumps(asked))
    failed = run(changed, library, files="part-1", at=str(place))
    path = str(document.parent / "part-1.tfrecord")
    fault = json.loads(failed.stdout)["faults"][0]
    assert failed.returncode == 4
    assert (fault["code"], fault["message"], fault["file"]) == ("io", f"cannot read '{path}': Input/output error", path)
    assert fault["offset"] == place


def test_what_is_before_a_failed_read_is_delivered(document: pathlib.Path, library: pathlib.Path) -> None:
    place = (document.parent / "part-1.tfrecord").stat().st_size // 2
    code = """
import sys
import forebay as fb
rows = 0
try:
    for batch in fb.load(sys.argv[1]):
        rows += len(batch["y"])
except fb.IoError as error:
    print(rows, type(error).__mro__[1].__name__, "Input/output error" in str(error))
"""
    env = os.environ | {"LD_PRELOAD": str(library), "HINDER_FILES": "part-1", "HINDER_AT": str(place)}
    done = subprocess.run([sys.executable, "-c", code, document], capture_output=True, text=True, timeout=60, env=env)
    rows, kind, told = done.stdout.split()
    assert (kind, told) == ("Error", "True")
    assert ROWS * 1.3 < int(rows) < ROWS * 1.6 and int(rows) % 100 == 0
