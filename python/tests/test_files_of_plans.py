# SPDX-License-Identifier: Apache-2.0
"""`verify` and `index` find the files of a document wherever they stand in it: in branches of branches, and below rows that are made first."""
from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any, Callable

import numpy as np
import pytest
from command import COMMAND

import forebay as fb
from forebay import _core

FILES = 5
RECORDS = 40


@pytest.fixture
def branch(tmp_path: pathlib.Path) -> Callable[[int], Any]:
    """Branch i reads file i, in which x counts on from 40 i."""
    for i in range(FILES):
        fb.write_records(tmp_path / f"{i}.tfrecord", [fb.encode_example({"x": RECORDS * i + j}) for j in range(RECORDS)])
    return lambda i: fb.tfrecord([str(tmp_path / f"{i}.tfrecord")]).example({"x": fb.fixed("int64")})


def nested(branch: Callable[[int], Any]) -> Any:
    return fb.mix([fb.mix([branch(0), fb.concat([branch(1), branch(2)])], weights=[1, 1]), branch(3), branch(4)], weights=[1, 2, 1])


def made(branch: Callable[[int], Any]) -> Any:
    """Rows of a mixture in an order of their own, which are made first; one branch needs an index of its own, too."""
    return fb.concat([nested(branch).filter("x % 2 == 0"), branch(4).filter("x % 3 == 0").shuffle("global")]).shuffle("global")


def output(verb: str, pipe: Any, folder: pathlib.Path, *options: str) -> Any:
    document = folder / "plan.json"
    document.write_text(json.dumps(pipe.batch(4).to_dict()))
    done = subprocess.run([COMMAND, verb, "--document", str(document), "--json", *options], capture_output=True, text=True, timeout=60)
    assert done.stderr == "" or not done.stderr.startswith("forebay: error"), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("pipe, files", [(nested, [0, 1, 2, 3, 4]), (made, [0, 1, 2, 3, 4, 4])])
def test_verify_reads_the_files_of_all_branches(branch: Callable[[int], Any], tmp_path: pathlib.Path, pipe: Any, files: "list[int]") -> None:
    wanted = [str(tmp_path / f"{i}.tfrecord") for i in files]
    found = output("verify", pipe(branch), tmp_path)["files"]
    assert [(each["file"], each["records"], each["intact"]) for each in found] == [(file, RECORDS, True) for file in wanted]
    data = bytearray((tmp_path / "2.tfrecord").read_bytes())
    data[-1] ^= 1
    (tmp_path / "2.tfrecord").write_bytes(data)
    found = output("verify", pipe(branch), tmp_path)["files"]
    assert [each["corrupt_records"] for each in found] == [int(i == 2) for i in files]


def stored(folder: pathlib.Path) -> "dict[str, bytes]":
    return {path.name: path.read_bytes() for path in (folder / "indexes").rglob("*") if path.is_file()}


@pytest.mark.parametrize("pipe", [nested, made])
def test_indexes_of_all_branches_are_those_that_a_run_makes(branch: Callable[[int], Any], tmp_path: pathlib.Path, pipe: Any) -> None:
    (tmp_path / "indexes").mkdir()
    options = ("--index-dir", str(tmp_path / "indexes"))
    reports = output("index", pipe(branch), tmp_path, *options)["files"]
    assert {each["file"] for each in reports} == {str(tmp_path / f"{i}.tfrecord") for i in range(FILES)} and all(each["built"] for each in reports)
    assert all(each["found"] == "good" for each in output("index", pipe(branch), tmp_path, "--check", *options)["files"])
    before = stored(tmp_path)
    with pipe(branch).batch(4).load(index_dir=tmp_path / "indexes") as loader:
        assert sum(batch.valid_rows for batch in loader) > 0
    assert stored(tmp_path) == before


def test_a_part_of_the_files_and_only_those_that_orders_need(branch: Callable[[int], Any], tmp_path: pathlib.Path) -> None:
    (tmp_path / "indexes").mkdir()
    pipe = fb.mix([branch(0), branch(1).shuffle("global"), fb.mix([branch(2).shuffle("global"), branch(3)], weights=[1, 1]),
                   branch(4).shuffle("global"), fb.arrays({"x": np.arange(5)})], weights=[1, 1, 1, 1, 1])
    plan = pipe.batch(4).plan()

    def indexed(part: int, parts: int, only_check: bool = False) -> "list[tuple[str, bool]]":
        found = _core.index_plan(plan, part, parts, only_check, str(tmp_path / "indexes"))
        return [(pathlib.Path(file).name[0], good) for file, good in found]

    assert indexed(0, 1, only_check=True) == [("1", False), ("2", False), ("4", False)]
    assert indexed(1, 2) == [("2", True)]
    assert indexed(0, 1, only_check=True) == [("1", False), ("2", True), ("4", False)]
    assert indexed(0, 2) == [("1", True), ("4", True)] and indexed(5, 6) == []
    with pytest.raises(fb.ConfigError, match="part must be 0 or more and below parts, found part 2 of 2"):
        indexed(2, 2)
    assert _core.index_plan(fb.arrays({"x": np.arange(4)}).batch(2).plan(), 0, 1, False, "") == []


def test_the_hash_of_a_plan_knows_its_files_and_that_of_its_stream_does_not(branch: Callable[[int], Any]) -> None:
    for pipe in (branch, lambda i: nested(lambda j: branch(i if j == 0 else j)), lambda i: made(lambda j: branch(i if j == 0 else j)),
                 lambda i: branch(i).filter("x > 0").shuffle("global").shuffle(3)):
        one, other = (pipe(i).batch(4).plan() for i in (0, 1))
        assert one.hash != other.hash and one.stream == other.stream and one.hash == pipe(0).batch(4).plan().hash


def test_a_lowered_document_names_the_files_of_all_branches(branch: Callable[[int], Any], tmp_path: pathlib.Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    relative: "Callable[[int], Any]" = lambda i: fb.tfrecord([f"{i}.tfr*"]).example({"x": fb.fixed("int64")})
    for pipe in (relative, nested, made):
        pipeline = relative(0).batch(4) if pipe is relative else pipe(relative).batch(4)
        lowered = pipeline.plan().lowered
        assert "tfr*" not in lowered and str(tmp_path / "0.tfrecord") in lowered
        with pipeline.load() as loader, fb.load(json.loads(lowered)) as other:
            assert [batch["x"].tolist() for batch in loader] == [batch["x"].tolist() for batch in other]
            loader.load_state_dict(other.state_dict())   # a state fits wherever the files lie
