# SPDX-License-Identifier: Apache-2.0
"""Conversions of pipelines, of folders, and of files that only a pipeline reads."""
from __future__ import annotations

import json
import os
import pathlib
import struct
import subprocess
import sys
import zlib
from typing import Any

import numpy as np
import pytest
from command import COMMAND

import forebay as fb

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.ipc")


def png(value: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    lines = zlib.compress(b"".join(b"\0" + bytes([value]) * 6 for _ in range(3)))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 3, 8, 2, 0, 0, 0)) + chunk(b"IDAT", lines) + chunk(b"IEND", b""))


@pytest.fixture(name="pictures")
def _pictures(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.chdir(tmp_path)
    for number in range(9):
        path = tmp_path / "img" / "abc"[number % 3] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(number))
    return tmp_path


def rows_of(pipe: fb.Pipeline) -> "list[Any]":
    return [{name: np.asarray(batch[name]).tolist()[0] for name in batch} for batch in pipe.batch(1).load()]


@pytest.mark.parametrize("files", [1, 4])
@pytest.mark.parametrize("ending", ["parquet", "tfrecord", "arrow", "npz"])
def test_what_a_pipeline_makes_is_stored(tmp_path: pathlib.Path, ending: str, files: int) -> None:
    pipe = (fb.arrays({"id": np.arange(50), "x": np.arange(100, dtype="float32").reshape(50, 2)})
            .shuffle("global").filter("id % 5 != 0").slice("x", "[:1]").cast("id", "int32").seed(7).epochs(3))
    made = fb.convert(pipe, tmp_path / f"a.{ending}", files=files)
    assert len(made) == files and sum(file.rows for file in made) == 40
    paths = [file.path for file in made]
    back: "dict[str, Any]" = {"parquet": lambda: fb.parquet(paths), "arrow": lambda: fb.arrow(pyarrow.concat_tables([pyarrow.ipc.open_file(path).read_all() for path in paths])), "npz": lambda: fb.npz(paths),
                              "tfrecord": lambda: fb.tfrecord(paths).example({"id": fb.fixed("int64"), "x": fb.fixed("float32", [1])})}
    assert rows_of(back[ending]()) == rows_of(pipe.epochs(1))


def test_pictures_are_decoded_once_and_stored(pictures: pathlib.Path) -> None:
    pipe = fb.whole_file("img/*/*.png", label_from="folder").record("image").decode_image("image", resize=[3, 2])
    fb.convert(pipe, "train.npz", drop="label")
    fb.convert(pipe, "train.tfrecord", files=2)
    with np.load("train.npz") as stored:
        assert stored["image"].shape == (9, 3, 2, 3) and stored["image"][:, 0, 0, 0].tolist() == [0, 3, 6, 1, 4, 7, 2, 5, 8]
        assert list(stored) == ["image"]
    back = fb.tfrecord("train-*.tfrecord").example({"label": fb.fixed("int64"), "image": fb.fixed("int64", [18])})
    assert [row["label"] for row in rows_of(back)] == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_a_folder_becomes_archives(pictures: pathlib.Path) -> None:
    done = subprocess.run([COMMAND, "convert", "img", "shards.tar", "--files", "2"], capture_output=True, text=True,
                          env={**os.environ, "PATH": os.path.dirname(sys.executable)})
    assert done.returncode == 0, done.stderr
    rows = rows_of(fb.tar("shards-*.tar").tar({"content": "content", "label": "label.cls"}))
    assert [(row["content"], row["label"]) for row in rows] == [(png(number), str(label).encode()) for label in range(3)
                                                                for number in range(label, 9, 3)]


def test_a_folder_of_tables_is_its_files(tmp_path: pathlib.Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        fb.write_records(tmp_path / "in" / f"{number}.tfrecord", [fb.encode_example({"n": 10 * number + row}) for row in range(4)])
    fb.convert(tmp_path / "in", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "n\n" + "".join(f"{10 * number + row}\n" for number in range(3) for row in range(4))
    (tmp_path / "lines.txt").write_text("one\nzwei ü\n")
    fb.convert(tmp_path / "lines.txt", tmp_path / "lines.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "lines.parquet")
    assert table.column("line").to_pylist() == ["one", "zwei ü"]


@pytest.mark.parametrize("content, text", [("a,b\nü,1\nx,2\n", True), (b"a,b\n\xff,1\nx,2\n", False)])
def test_text_of_csv_is_text_where_all_of_it_is(tmp_path: pathlib.Path, content: Any, text: bool) -> None:
    (tmp_path / "a.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    fb.convert(tmp_path / "a.csv", tmp_path / "a.parquet")
    schema = pyarrow.parquet.read_schema(tmp_path / "a.parquet")
    assert ("string" in str(schema.field("a").type)) == text and ("binary" in str(schema.field("a").type)) != text


CALLS: "list[int]" = []


def tokens(row: Any) -> "dict[str, Any]":
    CALLS.append(int(row["x"]))
    return {"x": row["x"], "ids": np.arange(row["x"] % 4)}


def twice(row: Any) -> "dict[str, Any]":
    return {"x": row["x"] * 2, "ids": row["ids"]}


@pytest.mark.parametrize("options", [{}, {"files": 3}, {"files": 3, "threads": 2}, {"files": 2, "shuffle": True, "seed": 4}])
@pytest.mark.parametrize("name", ["last", "filter", "mixture", "two"])
def test_what_functions_make_of_rows_is_stored(tmp_path: pathlib.Path, name: str, options: "dict[str, Any]") -> None:
    def rows(first: int) -> fb.Pipeline:
        return fb.arrays({"x": np.arange(first, first + 40)}, name=f"from {first}").map(tokens, per="row", workers=0)

    pipe = {"last": lambda: rows(0), "filter": lambda: rows(0).filter("x % 2 == 0"), "two": lambda: rows(0).map(twice, per="row", workers=0),
            "mixture": lambda: fb.mix([rows(0), rows(100)], weights=[1, 2]).shuffle("global").seed(3)}[name]()
    CALLS.clear()
    made = fb.convert(pipe, tmp_path / "a.parquet", **options)
    if name == "last" and not options:
        assert len(CALLS) <= 40 + 2 * 264 and set(CALLS) == set(range(40))
    back = fb.parquet([file.path for file in made])
    wanted = pipe.shuffle("global").seed(4) if "shuffle" in options else pipe
    assert rows_of(back) == rows_of(wanted) and len(rows_of(back)) >= {"last": 40, "two": 40, "filter": 20, "mixture": 50}[name]


@pytest.mark.parametrize("batch", [True, False])
def test_the_rows_of_a_document_are_written_by_the_command(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, batch: bool) -> None:
    (tmp_path / "data").mkdir()
    fb.write_records(tmp_path / "data" / "a.tfrecord", [fb.encode_example({"x": i}) for i in range(20)])
    pipe = fb.mix([fb.tfrecord(["a.tf*"]).example({"x": fb.fixed("int64")}).filter("x % 3 == 0")], weights=[1]).shuffle("global").seed(5)
    document = tmp_path / "data" / "train.json"   # whose files count from its folder
    document.write_text(json.dumps((pipe.batch(4) if batch else pipe).to_dict()))

    def command(*arguments: Any) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
        return subprocess.run([COMMAND, "convert", *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60)

    out = tmp_path / "out.parquet"
    done = command("--document", document, out)
    assert (done.returncode, done.stdout) == (0, f"{out}: 7 rows\n"), done.stderr
    monkeypatch.chdir(tmp_path / "data")
    assert rows_of(fb.parquet([str(out)])) == rows_of(pipe)
    assert "--document names the inputs; give only the output beside it" in command("--document", document, "a.tfrecord", out).stderr
    document.write_text(json.dumps(pipe.batch(4).cast("x", "float32").to_dict()))
    assert "convert writes rows, without the batches of" in command("--document", document, "other.parquet").stderr
    document.write_text('{"source": ')
    for name, words in ((document, "train.json"), (tmp_path / "none.json", "No such file")):
        done = command("--document", name, "other.parquet")
        assert done.returncode in (2, 4) and words in done.stderr and done.stderr.startswith("forebay: error: ") and done.stderr.count("\n") == 1
    assert not (tmp_path / "other.parquet").exists()


def test_a_conversion_of_a_pipeline_goes_on_and_refuses_another(pictures: pathlib.Path) -> None:
    pipe = fb.whole_file("img/*/*.png", label_from="folder").record("image")
    fb.convert(pipe, "a.tfrecord", files=3)
    first = pathlib.Path("a-00001-of-00003.tfrecord")
    content = first.read_bytes()
    first.unlink()
    made = fb.convert(pipe, "a.tfrecord", files=3, existing="resume")
    assert [file.made for file in made] == [False, True, False] and first.read_bytes() == content
    with pytest.raises(fb.Error, match="another|other"):
        fb.convert(pipe.constant("one", [], "int64", value=1), "a.tfrecord", files=3, existing="resume")


@pytest.mark.parametrize("pipe, words", [
    ("rows.batch(4)", "makes batches, and convert writes rows; leave its batch out"),
    ("rows.batch(4).map(dict)", "makes batches, and convert writes rows; leave its batch out"),
    ("rows.map(dict)", r"map\(dict\) is given batches and stands before convert; put it behind the batch, or say map\(dict, per=\"row\"\)"),
    ("rows", "from_: is for files; the inputs are a pipeline"),
])
def test_what_is_refused(tmp_path: pathlib.Path, pipe: str, words: str) -> None:
    rows = fb.arrays({"x": np.arange(10)})
    with pytest.raises(fb.ConfigError, match=words):
        fb.convert(eval(pipe, {"rows": rows, "dict": dict}), tmp_path / "a.tfrecord", from_="csv" if pipe == "rows" else None)
    with pytest.raises(fb.ConfigError, match="unknown|no tensor|'y'"):
        fb.convert(rows, tmp_path / "a.tfrecord", select="y")
    assert list(tmp_path.iterdir()) == []
