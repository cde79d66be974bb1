# SPDX-License-Identifier: Apache-2.0
"""fb.json_lines and the decoder `json`, against Python's json module."""
from __future__ import annotations

import gzip
import io
import json
import math
import pathlib
import random
import tarfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb

FIELDS: "dict[str, Any]" = {"id": "int64", "text": {"dtype": "string", "default": "none"}, "box": {"dtype": "float32", "shape": [2, 2]},
                            "tokens": {"dtype": "int32", "shape": [None]}, "pairs": {"dtype": "float64", "shape": [-1, 2], "default": 0},
                            "ok": {"dtype": "bool", "path": ["user", "ok"], "default": False},
                            "said": {"dtype": "string", "shape": [-1], "path": ["messages", "content"], "default": ""}}


def record(i: int) -> "dict[str, Any]":
    draw = random.Random(i)
    out: "dict[str, Any]" = {
        "extra": {"a": [1, {"b": None}], "id": "not this"}, "box": [[i, i + 0.5], [-1e3, 1e-3]], "tokens": list(range(i % 5)), "id": i,
        "messages": [{"role": "user", "content": f"über {k}\n\u2028\U0001f600"} if k % 3 else {"role": "none"} for k in range(draw.randrange(4))]}
    if i % 2:
        out |= {"text": 'a "quoted" \\ text\t', "user": {"ok": i % 4 == 1, "name": "x"}, "pairs": [[draw.random(), -i]] * (i % 3)}
    elif i % 3:
        out |= {"text": None, "user": None, "pairs": None}
    keys = list(out)
    draw.shuffle(keys)
    return {key: out[key] for key in keys}


def expected(record: "dict[str, Any]") -> "dict[str, Any]":
    return {"id": record["id"], "text": (record.get("text") or "none").encode(), "box": np.array(record["box"], np.float32).tolist(),
            "tokens": record["tokens"], "pairs": record.get("pairs") or [], "ok": (record.get("user") or {}).get("ok", False),
            "said": [message.get("content", "").encode() for message in record["messages"]]}


def rows_of(batch: fb.Batch) -> "list[dict[str, Any]]":
    columns = {name: batch[name].to_list() if isinstance(batch[name], fb.Ragged) else batch[name].tolist() for name in FIELDS}
    return [{name: columns[name][row] for name in FIELDS} for row in range(len(columns["id"]))]


@pytest.fixture
def files(tmp_path: pathlib.Path) -> "list[pathlib.Path]":
    """200 records in three files, one of them compressed, with line ends of both kinds."""
    lines = [json.dumps(record(i), ensure_ascii=i % 4 == 0).encode() for i in range(200)]
    (tmp_path / "0.jsonl").write_bytes(b"\n".join(lines[:70]))
    (tmp_path / "1.jsonl.gz").write_bytes(gzip.compress(b"\n".join(lines[70:130]) + b"\n"))
    (tmp_path / "2.jsonl").write_bytes(b"\r\n".join(lines[130:]) + b"\r\n")
    return sorted(tmp_path.iterdir())


@pytest.mark.parametrize("threads", [1, 4])
def test_every_value_is_what_python_reads(files: "list[pathlib.Path]", threads: int) -> None:
    found = [row for batch in fb.json_lines(files, FIELDS).batch(16).load(threads=threads) for row in rows_of(batch)]
    assert found == [expected(record(i)) for i in range(200)]


def test_orders_filters_shards_and_restarts_are_those_of_lines(files: "list[pathlib.Path]") -> None:
    pipe = (fb.json_lines(files, FIELDS).filter("length(tokens) > 0").shuffle(global_=True).batch(8, remainder="drop").epochs(2).seed(4))
    whole = [batch["id"].tolist() for batch in pipe.load(threads=1)]
    kept = [i for i in range(200) if i % 5]
    assert len(whole) == 40 and all(sorted(sum(whole[first:first + 20], [])) == kept for first in (0, 20)) and whole[:20] != whole[20:]
    loader = pipe.load(threads=4)
    for number in range(40):
        again = pipe.load(threads=2)
        again.load_state_dict(loader.state_dict())
        assert [batch["id"].tolist() for batch in again] == whole[number:]
        assert next(loader)["id"].tolist() == whole[number]
    ranks = [[batch["id"].tolist() for batch in pipe.load(shard=(rank, 2))] for rank in range(2)]
    assert sorted(sum(sum(ranks, []), [])) == sorted(sum(whole, []))


def test_members_of_archives_are_decoded(tmp_path: pathlib.Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for i in range(5):
            content = json.dumps(record(i), indent=1).encode()
            member = tarfile.TarInfo(f"{i}.json")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    fields = {"n": {"dtype": "int64", "path": ["id"]}, "tokens": {"dtype": "int32", "shape": [-1]}}
    pipe = fb.tar(tmp_path / "a.tar").tar({"json": "json"}).decode("json", {"json": {"fields": fields}})
    (batch,) = pipe.batch(5).load()
    assert batch["n"].tolist() == [0, 1, 2, 3, 4] and batch["tokens"].to_list() == [record(i)["tokens"] for i in range(5)]


def test_errors_name_line_and_column_and_rows_can_be_skipped(files: "list[pathlib.Path]", tmp_path: pathlib.Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"id": 1}\n{"id": 2, "x": [}\n{"id": "3"}\n{"id": 4}\n')
    with pytest.raises(fb.DataError, match=r"bad.jsonl, line 2, record 1, .*JSON, column 17: Invalid value") as caught:
        list(fb.json_lines(path, {"id": "int64"}).batch(4).load())
    assert caught.value.line == 2
    (batch,) = fb.json_lines(path, {"id": "int64"}).on_corrupt("skip_row").batch(4).load()
    assert batch.valid_rows == 2 and batch["id"][:2].tolist() == [1, 4] and len(batch.skipped) == 2


@pytest.mark.parametrize(("text", "field", "words"), [
    ('{"x": "1"}', {"dtype": "int64"}, "column 10: 'x': found a string, expected one int64"),
    ('{"x": 1}', {"dtype": "string"}, "'x': found the number 1, expected one string"),
    ('{"x": 1}', {"dtype": "bool"}, "found the number 1, expected one bool"),
    ('{"x": true}', {"dtype": "int64"}, "found true, expected one int64"),
    ('{"x": 300}', {"dtype": "uint8"}, "found the number 300, expected one uint8"),
    ('{"x": 1.5}', {"dtype": "int64"}, "found the number 1.5, expected one int64"),
    ('{"x": {}}', {"dtype": "int64"}, "found an object"), ('{"x": [1]}', {"dtype": "int64"}, "found a list, expected one int64"),
    ('{"x": 1}', {"dtype": "int64", "shape": [-1]}, r"found a number, expected a list of shape \[\?\]"),
    ('{"x": [1, 2]}', {"dtype": "int64", "shape": [3]}, r"found a list of 2, expected a list of shape \[3\]"),
    ('{"x": [1, 2, 3, 4]}', {"dtype": "int64", "shape": [3]}, "found a list of more than 3"),
    ('{"x": [[1, 2], [3]]}', {"dtype": "int64", "shape": [-1, 2]}, "found a list of 1"),
    ('{"x": [1, [2]]}', {"dtype": "int64", "shape": [-1]}, "found a list in a list"),
    ('{"x": [[1], 2]}', {"dtype": "int64", "shape": [-1, 1]}, "found a number in a list of lists"),
    ('{"x": null}', {"dtype": "int64"}, "'x': found null, expected one int64; where records may lack it, give it a `default`"),
    ('{"x": [1, null]}', {"dtype": "int64", "shape": [2]}, "found null, expected a int64"),
    ('{"y": 1}', {"dtype": "int64"}, r"'x' is required \(one int64\) but the record does not have it; give it a `default`"),
    ('{"x": 1, "x": 1}', {"dtype": "int64"}, "'x' is there twice"),
    ('{"a": [{"x": 1}, {}]}', {"dtype": "int64", "path": ["a", "x"], "shape": [-1]}, "'a.x': found nothing, expected a int64"),
    ('{"a": [{"x": 1}]}', {"dtype": "int64", "path": ["a", "x"]}, r"found a list of objects on the way.*give it the shape \[-1\]"),
    ('{"a": [{"x": 1}, {"x": 2}]}', {"dtype": "int64", "path": ["a", "x"], "shape": [1]}, "found a list of more than 1"),
    ('{"a": [[{"x": 1}]]}', {"dtype": "int64", "path": ["a", "x"], "shape": [-1]}, "found a list in a list of objects"),
    ('{"a": 5}', {"dtype": "int64", "path": ["a", "x"], "default": 1}, "'a.x': found a number on the way, expected an object"),
    ("[1]", {"dtype": "int64"}, "found a list, expected an object"), ("7", {"dtype": "int64"}, "found a number, expected an object"),
    ("", {"dtype": "int64"}, "the record is empty"), ('{"x": 1} 2', {"dtype": "int64"}, "column 10: .*"),
    ('{"x": "\\ud800"}', {"dtype": "string"}, "column 8: The surrogate pair"), ('{"x": 01}', {"dtype": "int64"}, "column 8: .*")])
def test_what_is_no_value_of_a_field_is_an_error(text: str, field: "dict[str, Any]", words: str) -> None:
    with pytest.raises(fb.DataError, match=words):
        fb.decode("json", {"fields": {"x": field}}, [text.encode()])


def test_invalid_utf8_is_an_error() -> None:
    with pytest.raises(fb.DataError, match="column 8: Invalid encoding"):
        fb.decode("json", {"fields": {"x": {"dtype": "string"}}}, [b'{"x": "\xff"}'])


def test_numbers_that_json_lacks_and_whole_floats_are_read() -> None:
    texts = [b'{"x": NaN, "n": 1e3}', b'{"x": -Infinity, "n": 2.0}', b'{"x": Infinity, "n": -0}']
    values = fb.decode("json", {"fields": {"x": {"dtype": "float32"}, "n": {"dtype": "int16"}}}, texts)
    assert math.isnan(values["x"][0]) and values["x"][1:].tolist() == [-math.inf, math.inf] and values["n"].tolist() == [1000, 2, 0]


@pytest.mark.parametrize(("fields", "words"), [
    ({}, "names 1 to 100000 tensors, found 0"), ({"x": {"dtype": "complex64"}}, "an integer, float32, float64, bool or string, not complex64"),
    ({"x": {"dtype": "int64", "shape": [2, -1]}}, "the first may be -1 or 0"), ({"x": {"dtype": "int64", "default": "a"}}, "default"),
    ({"x": {"dtype": "int64"}, "y": {"dtype": "int64", "path": ["x"]}}, "'x' is already the path of another tensor"),
    ({"x": {"dtype": "int64"}, "y": {"dtype": "int64", "path": ["x", "y"]}}, "leads through 'x', whose value is a tensor")])
def test_wrong_options_name_their_place(fields: "dict[str, Any]", words: str) -> None:
    with pytest.raises(fb.ConfigError, match=words):
        fb.decode("json", {"fields": fields}, [b"{}"])
    with pytest.raises(TypeError, match=r"fields\['x'\]: path must be a list of names, found 'a.b'; give \['a', 'b'\]"):
        fb.json_lines("a", {"x": {"dtype": "int64", "path": "a.b"}})


VALUES = st.recursive(st.none() | st.booleans() | st.integers(-2**63, 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
                      lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcx"), inner, max_size=3), max_leaves=12)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b", "x", "é"]), VALUES, max_size=4), st.booleans())
def test_any_object_gives_its_values_or_an_error(value: "dict[str, Any]", ascii_only: bool) -> None:
    """Three fields read what Python reads there; what is of another kind is an error, and never another value."""
    text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    wanted = {"n": (value.get("x"), int, -7), "s": (value.get("é"), str, "?")}
    for name, (found, kind, default) in wanted.items():
        field = {"dtype": "int64" if kind is int else "string", "path": ["x" if kind is int else "é"], "default": default}
        whole = kind is int and isinstance(found, float) and found == int(found) if isinstance(found, float) and math.isfinite(found) else False
        right = found is None or (isinstance(found, kind) and not isinstance(found, bool)) or (whole and -2**63 <= found < 2**63)
        if kind is str and isinstance(found, str) and any("\ud800" <= c <= "\udfff" for c in found):
            continue
        try:
            got = fb.decode("json", {"fields": {name: field}}, [text])[name][0]
        except fb.DataError:
            assert not right or any("\ud800" <= c <= "\udfff" for c in str(value)), text
            continue
        assert right, text
        assert (got.decode() if kind is str else int(got)) == (default if found is None else kind(found)), text
