# SPDX-License-Identifier: Apache-2.0
"""Paths that are no UTF-8, as os.listdir gives them."""
from __future__ import annotations

import json
import os
import pathlib

import pytest

import forebay as fb


def test_files_are_written_read_indexed_and_loaded(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / os.fsdecode(b"d\xff")
    folder.mkdir()
    path = str(folder / os.fsdecode(b"a\xfe.tfrecord"))
    fb.write_records(path, [b"one", b"two"])
    assert fb.read_records(path) == [b"one", b"two"]
    (report,) = fb.index_files(path, index_dir=str(tmp_path / os.fsdecode(b"i\xfd")))
    assert (report.file, report.records) == (path, 2)
    pipe = fb.tfrecord(path).record().batch(2)
    with pipe.load(index_dir=folder) as loader:
        assert [batch["record"].tolist() for batch in loader] == [[b"one", b"two"]]
    document = folder / "doc.json"
    (folder / "plain.tfrecord").write_bytes(pathlib.Path(path).read_bytes())
    source = {"tfrecord": {"files": ["plain.tfrecord"]}}
    document.write_text(json.dumps({"source": source, "decode": {"record": {}}, "steps": [{"batch": {"size": 2}}]}))
    assert len(list(fb.load(document))) == 1


def test_an_error_has_the_name(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / os.fsdecode(b"none\xff"))
    for call in (fb.read_records, fb.load):
        with pytest.raises(FileNotFoundError) as caught:
            call(path)
        assert caught.value.filename == path


def test_the_lowered_document_names_the_same_file(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / os.fsdecode(b"a\xfe.tfrecord"))
    fb.write_records(path, [b"one", b"two"])
    pipe = fb.tfrecord(path).record().batch(2)
    plan = pipe.plan()
    (tmp_path / "lowered.json").write_text(plan.lowered)
    for again in (json.loads(plan.lowered), tmp_path / "lowered.json"):
        with fb.load(again) as loader:
            assert loader.plan.hash == plan.hash
            assert [batch["record"].tolist() for batch in loader] == [[b"one", b"two"]]
    with pipe.load() as loader:
        state = json.loads(json.dumps(loader.state_dict()))
    loader = fb.load(json.loads(plan.lowered))
    loader.load_state_dict(state)
    assert len(list(loader)) == 1
