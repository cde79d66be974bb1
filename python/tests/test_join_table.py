# SPDX-License-Identifier: Apache-2.0
"""Columns of a table beside the data, by key."""
from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import forebay as fb

COLUMNS: "dict[str, Any]" = {"label": {"dtype": "int64"}, "name": {"dtype": "string"}}


@pytest.fixture()
def pictures(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Eight files in two folders; the content of each is its number."""
    monkeypatch.chdir(tmp_path)
    for number in range(8):
        path = tmp_path / "train" / "ab"[number % 2] / f"{number}.tar.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([number]))
    return tmp_path


def table(path: pathlib.Path, keys: "list[str]", numbers: "list[int]") -> None:
    """In an order of its own, with quotes, an empty line, CR LF, a byte order mark, and a column that nobody asks for."""
    rows = [f'"{key}",x{number},{number}\r\n' for key, number in zip(keys, numbers)]
    path.write_bytes(("\ufefffile,name,label\r\n" + "\r\n".join(rows[::-1])).encode())


def source() -> fb.Pipeline:
    return fb.whole_file("train/*/*", record_key="path").raw("uint8", name="n", shape=[])


@pytest.mark.parametrize("match, key", [("exact", "train/{folder}/{n}.tar.bin"), ("exact", "./train/{folder}/{n}.tar.bin"),
                                        ("path", "{folder}/{n}.tar.bin"), ("path", "{n}.tar.bin"),
                                        ("path", "train/{folder}/{n}.tar.bin"), ("stem", "{n}.tar")])
def test_each_row_has_the_values_of_its_key(pictures: pathlib.Path, match: Any, key: str) -> None:
    table(pictures / "labels.csv", [key.format(n=n, folder="ab"[n % 2]) for n in range(8)], [10 + n for n in range(8)])
    pipe = (source().shuffle("global").join_table("path", file="labels.csv", key="file", columns=COLUMNS, match=match)
            .batch(3).epochs(2).seed(4))
    for threads in (1, 4):
        batches = list(pipe.load(threads=threads))
        assert sorted(n for batch in batches for n in batch["n"].tolist()) == sorted(2 * list(range(8)))
        for batch in batches:
            assert batch["label"].tolist() == [10 + n for n in batch["n"].tolist()] and batch["label"].dtype == np.int64
            assert batch["name"].tolist() == [f"x{10 + n}".encode() for n in batch["n"].tolist()]
            assert list(batch) == ["n", "path", "label", "name"]


def test_the_longest_end_of_a_path_counts(pictures: pathlib.Path) -> None:
    (pictures / "labels.csv").write_text("file;label\n0.tar.bin;1\na/0.tar.bin;2\nb/0.tar.bin;3\n")
    pipe = source().take(1).join_table("path", file="labels.csv", key="file", columns={"label": {"dtype": "int8"}}, match="path", field_delim=";")
    assert [batch["label"].tolist() for batch in pipe.batch(1).load()] == [[2]]


def test_a_key_that_the_table_has_not(pictures: pathlib.Path) -> None:
    table(pictures / "labels.csv", [f"train/{'ab'[n % 2]}/{n}.tar.bin" for n in range(8) if n != 2], [n for n in range(8) if n != 2])

    def joined(columns: "dict[str, Any]" = COLUMNS, **options: Any) -> fb.Pipeline:
        return source().join_table("path", file="labels.csv", key="file", columns=columns, **options)
    with pytest.raises(fb.DataError, match=r"train/a/2.tar.bin, record 0, byte 0, feature 'path': join_table: 'labels.csv' has no line with the "
                                           r"key 'train/a/2.tar.bin'; match=.path. compares ends of paths"):
        list(joined().batch(2).load())
    loader = joined().on_corrupt("skip_row").batch(8).load()
    assert [(batch["n"].tolist()[:batch.valid_rows], batch["label"].tolist()[:batch.valid_rows]) for batch in loader] == [
        ([0, 4, 6, 1, 3, 5, 7], [0, 4, 6, 1, 3, 5, 7])]
    columns = {"label": {"dtype": "int64", "default": -1}, "name": {"dtype": "string", "default": "none"}}
    batch, = joined(columns, missing="default").batch(8).load()
    assert batch["label"].tolist() == [0, -1, 4, 6, 1, 3, 5, 7] and batch["name"].tolist()[:2] == [b"x0", b"none"]
    with pytest.raises(fb.ConfigError, match="columns.name.default: has no default; with missing=\"default\" every column has one"):
        joined({**columns, "name": {"dtype": "string"}}, missing="default").batch(8).plan()


@pytest.mark.parametrize("content, message", [
    ("", "has no header row"),
    ("file\nx\n", "columns.label: the header row of '.*labels.csv' has no column 'label'; it has: file"),
    ("path,label\nx,1\n", "key: the header row of '.*labels.csv' has no column 'file'"),
    ("file,label,label\n", "has 'label' twice"),
    ("file,label\nx,1\ny,2\n./x,3\n", r"labels.csv:4:1: the key 'x' stands in line 2, too; every key has one line"),
    ("file,label\n\n\"x\ny\",1\nz,one\n", r"labels.csv:5:1: column 'label': field 0 is not a valid int64: 'one'"),
    ("file,label\nx,1,2\n", "labels.csv:2:1: expected 2 fields, found 3"),
    ("file,label\nx\n", "labels.csv:2:1: expected 2 fields, found 1"),
    ("file,label\nx,\n", "labels.csv:2:1: column 'label': field 0 is required but missing; give the column a default"),
    ("file,label\nx,1\n\"y,2\n", r"labels.csv:3:1: the file ends in a quoted field of this line"),
])
def test_a_table_that_cannot_be_read(pictures: pathlib.Path, content: str, message: str) -> None:
    (pictures / "labels.csv").write_text(content)
    pipe = source().join_table("path", file="labels.csv", key="file", columns={"label": {"dtype": "int64"}}).batch(1)
    with pytest.raises(fb.ConfigError, match=message):
        pipe.plan()


@pytest.mark.parametrize("options, message", [
    ({"tensor": "n"}, "tensor: keys are one string a row; 'n' is uint8"),
    ({"tensor": "paht"}, "tensor: .*'paht'"),
    ({"columns": {}}, "columns: names no column"),
    ({"columns": {"n": {"dtype": "int64"}}}, "columns.n: "),
    ({"columns": {"file": {"dtype": "string"}}}, "columns.file: is the column of keys"),
    ({"columns": {"label": {"dtype": "complex64"}}}, "columns.label.dtype: "),
    ({"columns": {"label": {"dtype": "int8", "default": 300}}}, "columns.label.default: "),
    ({"field_delim": ""}, "field_delim: has 1 character"),
    ({"match": "stems"}, "match: .*stem"),
    ({"file": "none.csv"}, "file: .*none.csv"),
])
def test_options_that_are_refused(pictures: pathlib.Path, options: "dict[str, Any]", message: str) -> None:
    (pictures / "labels.csv").write_text("file,label\n")
    given = {"tensor": "path", "file": "labels.csv", "key": "file", "columns": {"label": {"dtype": "int64"}}, **options}
    with pytest.raises(fb.Error, match=message):
        source().join_table(given.pop("tensor"), **given).batch(1).plan()


def test_the_content_of_a_table_is_part_of_the_plan(pictures: pathlib.Path) -> None:
    pipe = source().join_table("path", file="labels.csv", key="file", columns={"label": {"dtype": "int64"}}).batch(1)
    table(pictures / "labels.csv", [f"train/{'ab'[n % 2]}/{n}.tar.bin" for n in range(8)], list(range(8)))
    with pipe.load() as loader:
        next(loader)
        state = loader.state_dict()
    with pipe.load() as loader:
        loader.load_state_dict(state)
        assert [batch["label"].tolist() for batch in loader] == [[2], [4], [6], [1], [3], [5], [7]]
    table(pictures / "labels.csv", [f"train/{'ab'[n % 2]}/{n}.tar.bin" for n in range(8)], list(range(1, 9)))
    with pytest.raises(fb.StateError), pipe.load() as loader:
        loader.load_state_dict(state)


def test_keys_of_other_sources(tmp_path: pathlib.Path) -> None:
    (tmp_path / "t.csv").write_text("k,v\none,1\ntwo,2\n")
    pipe = fb.arrays({"k": np.array([b"two", b"one", b"two"], object)}).join_table(
        "k", file=str(tmp_path / "t.csv"), key="k", columns={"v": {"dtype": "float32"}})
    assert [batch["v"].tolist() for batch in pipe.batch(2).load()] == [[2.0, 1.0], [2.0]]
    with pytest.raises(fb.ConfigError, match="columns.k: "):
        fb.arrays({"k": np.array([b"two"], object)}).join_table(
            "k", file=str(tmp_path / "t.csv"), key="v", columns={"k": {"dtype": "string"}}).batch(1).plan()
