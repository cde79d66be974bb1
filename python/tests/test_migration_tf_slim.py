# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/migrate/tf-slim.md and the programs of docs/slim.md and docs/decode.md: every row and every block runs."""
from __future__ import annotations

import pathlib
import re
from typing import Any

import numpy as np
import pytest
from migration import DOCS, check, rows
from test_slim import png

import forebay as fb
from forebay import slim

PAGE = "tf-slim.md"


def decode(handler: slim.ItemHandler, features: dict[str, Any], row: dict[str, Any]) -> Any:
    return slim.TFExampleDecoder(features, {"v": handler}).decode(fb.encode_example(row))[0]


def lists(handler: slim.ItemHandler, row: dict[str, Any]) -> Any:
    decoder = slim.TFSequenceExampleDecoder({}, {key: fb.var_len("float32") for key in row}, {"v": handler})
    return decoder.decode(fb.encode_sequence_example({}, row))[0]


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    fb.write_records(tmp_path / "d-00000-of-00002", [fb.encode_example({"id": number}) for number in (0, 1)])
    fb.write_records(tmp_path / "d-00001-of-00002", [fb.encode_example({"id": 2})])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("call", "gives"), rows(PAGE))
def test_a_row_gives_what_the_table_says(call: str, gives: str, folder: pathlib.Path) -> None:
    decoder = slim.TFExampleDecoder({"id": fb.fixed("int64")}, {"id": slim.Tensor("id")})
    names = {"fb": fb, "slim": slim, "decode": decode, "lists": lists, "decoder": decoder,
             "png": png(np.array([[[7], [9]]], np.uint8))}
    check(call, gives, names)


def test_every_name_has_a_row() -> None:
    calls = " ".join(call for call, _ in rows(PAGE))
    assert [name for name in slim.__all__ if f"slim.{name}" not in calls] == []


@pytest.mark.parametrize("page", ["decode.md", "slim.md"])
def test_the_blocks_of_a_page_run(page: str, folder: pathlib.Path) -> None:
    names: dict[str, Any] = {"fb": fb, "np": np, "slim": slim}
    blocks = re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S)
    assert blocks
    for block in blocks:
        exec(block, names)  # noqa: S102 (a block of our own page)
