# SPDX-License-Identifier: Apache-2.0
"""Labels of whole files: the numbers of their folders, in an order of one's own, with their names."""
from __future__ import annotations

import pathlib

import pytest

import forebay as fb


@pytest.fixture
def folders(tmp_path: pathlib.Path) -> pathlib.Path:
    for name in ("b/1", "b/2", "c/1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def labels(pipe: fb.Pipeline) -> list[int]:
    return [int(label) for batch in pipe.load(threads=1) for label in batch["label"]]


def test_classes_number_the_folders_also_those_without_files(folders: pathlib.Path) -> None:
    pipe = fb.whole_file(f"{folders}/*/*", label_from="folder", classes=["c", "a", "b"]).record("x").batch(2, remainder="keep")
    assert labels(pipe) == [2, 2, 0]
    assert pipe.load().schema["label"].categories == (b"c", b"a", b"b")
    assert pipe.load().schema["label"].logical == "category"


def test_without_classes_they_are_the_sorted_names_of_the_folders(folders: pathlib.Path) -> None:
    pipe = fb.whole_file(f"{folders}/*/*", label_from="folder").record("x").batch(2, remainder="keep")
    assert labels(pipe) == [0, 0, 1] and pipe.load().schema["label"].categories == (b"b", b"c")


@pytest.mark.parametrize("options, message", [
    ({"label_from": "folder", "classes": ["b", "d"]}, "the folder 'c' of '.*/c/1' is no class; did you mean 'b'\\? the classes are: b, d; name it"),
    ({"label_from": "folder", "classes": ["b", "b"]}, "'b' is there twice; every class has one number"),
    ({"classes": ["b"]}, "classes are the names of folders; set label_from to folder")])
def test_wrong_classes_are_refused(folders: pathlib.Path, options: "dict[str, list[str]]", message: str) -> None:
    with pytest.raises(fb.ConfigError, match=message):
        fb.whole_file(f"{folders}/*/*", **options).record("x").batch(2).load()


def test_record_keys_begin_as_the_pattern_does(folders: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders)
    keys = {pattern: fb.whole_file(pattern, record_key="k").record("x").batch(3, remainder="keep").load(threads=1).peek()["k"].tolist()
            for pattern in ("*/*", "./*/*", "b/1", "**/1")}
    assert keys == {"*/*": [b"b/1", b"b/2", b"c/1"], "./*/*": [b"b/1", b"b/2", b"c/1"], "b/1": [b"b/1"],
                    "**/1": [b"b/1", b"c/1"]}
