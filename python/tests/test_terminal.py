# SPDX-License-Identifier: Apache-2.0
"""Names of files, columns and features that would act on a terminal."""
from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

import forebay as fb

EVIL = "a\x1b]0;title\x07\x1b[31m\x9b1m\u202eb\r"
ACTS = set("\x1b\x07\x9b\u202e\r")


def command(*arguments: object) -> str:
    done = subprocess.run([sys.executable, "-m", "forebay", *map(str, arguments)], capture_output=True, text=True)
    return done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    out = tmp_path / EVIL
    out.mkdir()
    return out


def test_columns_of_a_csv(tmp_path: pathlib.Path) -> None:
    (tmp_path / "t.csv").write_text(f'"{EVIL}",b\n1,2\n', newline="")
    with pytest.raises((fb.ConfigError, fb.DataError)) as found:
        fb.csv(tmp_path / "t.csv", header=True).csv({"zz": {"dtype": "int64"}}).batch(1).plan()
    assert "\\x1b]0;title" in str(found.value) and not ACTS & set(str(found.value))


def test_tensors_and_pointers() -> None:
    with pytest.raises(fb.ConfigError) as found:
        fb.arrays({EVIL: [1, 2]}).slice("x", "[0]").rename(EVIL, EVIL).batch(1).plan()
    assert not ACTS & set(str(found.value)) and "\\x1b" in str(found.value)


def test_paths_of_files(folder: pathlib.Path) -> None:
    path = folder / "t.tfrecord"
    fb.write_records(path, [fb.encode_example({"x": i}) for i in range(3)])
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    with pytest.raises(fb.DataError) as found:
        list(fb.tfrecord(path).example({"x": fb.fixed("int64")}).batch(1).load())
    assert not ACTS & set(str(found.value)) and found.value.file == str(path), "the attribute is the path itself"
    for text in (command("verify", path), command("head", path), command("head", folder / "none.tfrecord")):
        assert not ACTS & set(text) and "\\x1b" in text, text
