# SPDX-License-Identifier: Apache-2.0
"""Documents, lists and folders that cannot be: rows 54, 60, 64 and 65 of docs/bad-inputs.md."""
from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import numpy as np
import pytest

import forebay as fb


@pytest.fixture(name="folder")
def _folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A record, its manifest, a folder and a pipe."""
    fb.write_records(tmp_path / "a.tfrecords", [fb.encode_example({"x": 1})])
    feature = {"name": "x", "dtype": "int64", "shape": [], "deserialize_type": "int"}
    manifest = {"compression": None, "allow_var_len": False, "features": [feature]}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def loader_document(kind: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "independent", "args": {
        "dataset": {"type": kind, "args": arguments}, "target_batch_size": 4, "drop_remainder": False, "epochs": 1,
        "num_read_buffer_bytes": 0, "num_prefetch": 1, "primary_features": [{"from_name": "x", "to_name": "x"}]}}


def listed(folder: pathlib.Path, text: str, manifest: str = "manifest.json") -> dict[str, Any]:
    (folder / "list").write_text(text)
    return loader_document("list", {"list_file": str(folder / "list"), "manifest_file": str(folder / manifest)})


def test_numbers_that_cannot_be_are_all_named(folder: pathlib.Path) -> None:
    document = {"source": {"tfrecord": {"files": [str(folder / "a.tfrecords")]}},
                "decode": {"example": {"features": {"x": {"dtype": "int64", "shape": []}}}},
                "steps": [{"shuffle": {"buffer": "10"}}, {"shuffle": {}}, {"interleave": {"cycle": 0}}, {"batch": {"size": 2**63}}],
                "epochs": -1, "threads": 5000, "prefetch": -1, "shufle": True}
    with pytest.raises(fb.ConfigError) as caught:
        fb.load(document)
    found = str(caught.value).splitlines()
    assert found[0] == "8 faults:" and (caught.value.code, caught.value.detail) == ("config", "invalid_argument")
    for line, words in zip(found[1:], ["/shufle: unexpected option", "/epochs: 'epochs' must be from 0", "/threads: 'threads' must be from 0 to 1024",
                                       "/prefetch: 'prefetch' must be from 0", "/steps/0/shuffle/buffer: 'buffer' has the wrong type",
                                       "/steps/1/shuffle: give one of", "/steps/2/interleave/cycle: 'cycle' must be from 1",
                                       "/steps/3/batch/size: 'size' must be an integer of 64 bits"]):
        assert words in line


def test_a_sequence_above_the_limit_of_frames_is_a_batch_of_its_own(tmp_path: pathlib.Path) -> None:
    fb.write_records(tmp_path / "x", [fb.encode_example({"x": np.arange(size)}) for size in (2, 50, 3, 4)])
    pipe = fb.tfrecord(tmp_path / "x").example({"x": fb.var_len("int64")}).frames(batch_size=10)
    assert [batch["x"].shape for batch in pipe.load(threads=1)] == [(1, 2), (1, 50), (2, 4)]


@pytest.mark.parametrize("path, message", [
    ("{}/pipe", "it is a pipe, not a regular file"), ("{}/folder", "it is a folder, not a regular file"),
    ("/dev/zero", "it is a device, not a regular file"), ("/proc/self/mem", "cannot read '/proc/self/mem'")])
def test_special_files_of_a_list_are_refused(folder: pathlib.Path, path: str, message: str) -> None:
    with pytest.raises(fb.IoError, match=message):
        list(fb.load(listed(folder, path.format(folder))))


def test_a_folder_in_the_place_of_the_manifest_is_named(folder: pathlib.Path) -> None:
    with pytest.raises(fb.IoError, match=f"cannot read the manifest '{folder}/folder': it is a directory"):
        fb.load(listed(folder, "a.tfrecords", "folder"))
    with pytest.raises(fb.IoError, match="manifest"):
        fb.load(loader_document("dir", {"data_dir": str(folder)}))


def test_a_document_may_name_its_schema_for_editors(folder: pathlib.Path) -> None:
    document = fb.tfrecord(folder / "a.tfrecords").example({"x": fb.fixed("int64")}).batch(1).to_dict()
    named = {"$schema": "forebay.schema.json", **document}
    assert [batch["x"].tolist() for batch in fb.load(named)] == [[1]]
    with fb.load(named) as loader, fb.load(document) as other:
        assert loader.plan.hash == other.plan.hash
        loader.load_state_dict(other.state_dict())
    with pytest.raises(fb.ConfigError, match=r"unexpected option '\$schema'"):
        fb.load({**document, "$schema": 3})
