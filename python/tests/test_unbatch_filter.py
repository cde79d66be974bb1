# SPDX-License-Identifier: Apache-2.0
"""Filters on the values of the rows that `unbatch` makes, against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from streams import digests

import forebay as fb

Row = tuple[int, float, bytes, int, bytes]
FEATURES = {"x": fb.var_len("int64"), "y": fb.var_len("float32"), "w": fb.var_len("string"), "z": fb.var_len("int64"),
            "id": fb.fixed("int64", []), "name": fb.fixed("string", [])}
KEYS = ["x", "y", "w"]
COUNTS = [3, 0, 7, 1, 40, 0, 2, 5, 12, 1, 1, 9, 30, 4]


def _records() -> list[dict[str, Any]]:
    draw = np.random.default_rng(5)
    return [{"x": draw.integers(-5, 20, count), "y": draw.normal(size=count).astype(np.float32),
             "w": np.array(b"ab cd abc x".split(), dtype=object)[draw.integers(0, 4, count)], "z": np.arange(number % 4),
             "id": number, "name": b"record %d" % number} for number, count in enumerate(COUNTS * 6)]


def _rows(records: list[dict[str, Any]]) -> list[Row]:
    return [(int(x), float(y), w, record["id"], record["name"])
            for record in records for x, y, w in zip(record["x"], record["y"], record["w"], strict=True)]


def _got(loader: Any) -> list[Row]:
    return [row for batch in loader for row in zip(batch["x"].tolist(), batch["y"].tolist(), list(batch["w"]),
                                                   batch["id"].tolist(), list(batch["name"]), strict=True)]


def _files(folder: Path, records: list[dict[str, Any]], compressed: bool = False) -> fb.Pipeline:
    """Three files of the records, in their order."""
    paths = []
    for file in range(3):
        path = str(folder / f"part-{file}.tfrecord{'.gz' if compressed else ''}")
        share = records[file * len(records) // 3:(file + 1) * len(records) // 3]
        fb.write_records(path, [fb.encode_example({name: np.array([value]) if name == "id" else [value] if name == "name" else value
                                                   for name, value in record.items() if name in ("id", "name") or len(value)})
                                for record in share])
        paths.append(path)
    return fb.tfrecord(paths).example(FEATURES)


def _fed(records: list[dict[str, Any]]) -> fb.Pipeline:
    return fb.python(iter(records), FEATURES)


CONDITIONS: list[tuple[str, Callable[[Row, int, int], bool]]] = [
    ("x > 3", lambda row, at, z: row[0] > 3),
    ("y < 0.25 and x != 7", lambda row, at, z: row[1] < 0.25 and row[0] != 7),
    ("w == 'ab' or startswith(w, 'c')", lambda row, at, z: row[2] == b"ab" or row[2].startswith(b"c")),
    ("w in ['x', 'abc'] and length(w) == 1", lambda row, at, z: row[2] == b"x"),
    ("x % 3 == id % 3 and n < 20", lambda row, at, z: row[0] % 3 == row[3] % 3 and at < 20),
    ("x > length(z) and present(z)", lambda row, at, z: row[0] > z > 0),
    ("name != 'record 4' and y > -1", lambda row, at, z: row[4] != b"record 4" and row[1] > -1),
    ("n + id < 30", lambda row, at, z: at + row[3] < 30),
    ("id % 2 == 0 and length(w) > 1 and n >= 1", lambda row, at, z: row[3] % 2 == 0 and len(row[2]) > 1 and at >= 1),
]


def _wanted(records: list[dict[str, Any]], keeps: Callable[[Row, int, int], bool]) -> list[Row]:
    return [row for record in records for at, row in enumerate(_rows([record])) if keeps(row, at, len(record["z"]))]


@pytest.mark.parametrize(("where", "keeps"), CONDITIONS, ids=[where for where, _ in CONDITIONS])
def test_the_rows_are_those_of_numpy(tmp_path: Path, where: str, keeps: Callable[[Row, int, int], bool]) -> None:
    records = _records()
    want = _wanted(records, keeps)
    assert 0 < len(want) < len(_rows(records))
    for compressed in (False, True):
        pipe = _files(tmp_path, records, compressed).unbatch(KEYS, number="n").filter(where).batch(size=7)
        for threads in (1, 8):
            assert _got(pipe.load(threads=threads)) == want
    assert _got(_fed(records).unbatch(KEYS, number="n").filter(where).batch(size=7).load()) == want


def test_the_plan_says_what_is_computed_for_each_frame(tmp_path: Path) -> None:
    text = str(_files(tmp_path, _records()).unbatch(KEYS).filter("x > id").batch(size=7).plan())
    assert "filter x > id, for each frame" in text
    assert "decode" in text and "unbatch" in text


@pytest.mark.parametrize("dtype", ["<i8", ">i8", "<f4", ">f4", "<u2", "|b1"])
def test_arrays_of_every_layout_are_filtered_by_their_values(dtype: str) -> None:
    x = (np.arange(60).reshape(12, 5) % 7).astype(dtype)
    label = np.arange(12)
    where, keeps = ("x or label > 9", x.astype(bool) | (label > 9)[:, None]) if dtype == "|b1" else (
        "x >= 3 and label != 4", (x >= 3) & (label != 4)[:, None])
    want = [(value, row) for row in range(12) for value, kept in zip(x[row].tolist(), keeps[row], strict=True) if kept]
    for columns in ({"x": x, "label": label}, {"x": np.asfortranarray(x), "label": label[::-1].copy()[::-1]}):
        pipe = fb.arrays(columns).unbatch(keys=["x"]).filter(where).batch(size=4)
        for threads in (1, 8):
            got = [pair for batch in pipe.load(threads=threads) for pair in zip(batch["x"].tolist(), batch["label"].tolist(), strict=True)]
            assert got == want
    shuffled = fb.arrays({"x": x, "label": label}).shuffle(global_=True).unbatch(keys=["x"]).shuffle(buffer=9).filter(where)
    for threads in (1, 8):
        batches = list(shuffled.batch(size=4).seed(2).load(threads=threads))
        got = [pair for batch in batches for pair in zip(batch["x"].tolist(), batch["label"].tolist(), strict=True)]
        assert got != want and sorted(got) == sorted(want)


def test_rows_of_a_feed_are_filtered_as_they_come() -> None:
    with fb.Feed({"x": fb.var_len("int64"), "id": fb.fixed("int64", [])}) as rows:
        for count in (2, 0, 5):
            rows.put({"x": np.arange(count) + 10 * count, "id": count})
    got = fb.feed(rows).unbatch().filter("x % 2 == 1 and id > 2").batch(size=1).load(threads=2)
    assert [(int(batch["x"][0]), int(batch["id"][0])) for batch in got] == [(51, 5), (53, 5)]


def test_a_step_before_the_rows_is_done_for_the_filter_too(tmp_path: Path) -> None:
    records = _records()
    want = [int(x) for record in records for x in record["x"] if x > 3]
    pipe = _files(tmp_path, records).cast("x", dtype="int32").unbatch(["x"]).filter("x > 3").batch(size=9)
    batches = list(pipe.load(threads=2))
    assert batches[0]["x"].dtype == np.int32
    assert np.concatenate([batch["x"] for batch in batches]).tolist() == want
    x = np.arange(60).reshape(12, 5) % 7
    loader = fb.arrays({"x": x}).cast("x", dtype="float32").unbatch(["x"]).filter("x / 2 > 1.25").batch(size=4).load()
    assert np.concatenate([batch["x"] for batch in loader]).tolist() == x[x > 2.5].tolist()
    half = [int(x) for record in records for x in record["x"] if x > record["id"] / 2]
    loader = _fed(records).cast("id", dtype="float32").unbatch(KEYS).filter("x > id / 2").batch(size=9).load()
    assert np.concatenate([batch["x"] for batch in loader]).tolist() == half


ORDERS: list[Callable[[fb.Pipeline], fb.Pipeline]] = [
    lambda pipe: pipe.unbatch(KEYS, number="n").filter("x > 3"),
    lambda pipe: pipe.shuffle(buffer=5).unbatch(KEYS, number="n").filter("w != 'ab' and x + n > id % 5").shuffle(buffer=30),
    lambda pipe: pipe.filter("id % 5 != 0").unbatch(KEYS, number="n").shuffle(buffer=50).filter("y > 0").filter("n < 20"),
    lambda pipe: pipe.interleave(cycle=3).unbatch(KEYS, number="n").filter("y > 0").filter("startswith(w, 'a')").take(40),
]


@pytest.mark.parametrize("order", ORDERS)
def test_threads_and_a_restart_at_every_batch_give_the_same_rows(tmp_path: Path, order: Callable[[fb.Pipeline], fb.Pipeline]) -> None:
    records = _records()
    for source in (_files(tmp_path, records), _files(tmp_path, records, compressed=True)):
        pipe = order(source).batch(size=11).epochs(2).seed(4)
        whole = digests(pipe.load())
        assert len(whole) > 4 and digests(pipe.load(threads=8)) == whole
        loader = pipe.load(threads=2)
        for at in range(len(whole) + 1):
            again = pipe.load(threads=1 + 7 * (at % 2))
            again.load_state_dict(loader.state_dict())
            assert digests(again) == whole[at:]
            next(loader, None)


def test_a_restart_does_not_name_records_by_a_stored_index(tmp_path: Path) -> None:
    records = _records()
    source = _files(tmp_path, records)
    assert len(list(source.shuffle(global_=True).batch(size=50).load()))   # stores the indexes
    pipe = source.unbatch(KEYS).filter("x > 3").batch(size=11)
    whole = digests(pipe.load())
    loader = pipe.load()
    for _ in range(len(whole) - 1):
        next(loader)
    again = pipe.load()
    again.load_state_dict(loader.state_dict())
    assert digests(again) == whole[-1:]


def test_shards_deal_the_rows_that_are_left(tmp_path: Path) -> None:
    records = _records()
    want = _wanted(records, lambda row, at, z: row[0] > 3)
    pipe = _files(tmp_path, records).unbatch(KEYS).filter("x > 3").batch(size=6)
    ranks = [[_got([batch]) for batch in pipe.load(shard=(rank, 2))] for rank in range(2)]
    assert [row for pair in zip(*ranks, strict=True) for rows in pair for row in rows] == want
    workers = [[_got([batch]) for batch in pipe.load(shard={"index": index, "count": 2, "by": "batch"})] for index in range(2)]
    dealt = [rows for pair in zip(workers[0], workers[1] + [[]]) for rows in pair]
    assert [row for rows in dealt for row in rows] == want
    shuffled = _files(tmp_path, records).unbatch(KEYS).filter("x > 3").shuffle(buffer=9).batch(size=6, remainder="drop")
    parts = [_got(shuffled.load(shard={"index": index, "count": 3, "by": "element"}, threads=1 + index)) for index in range(3)]
    assert len(set(map(len, parts))) == 1
    got = [row for part in parts for row in part]
    assert len(got) > len(want) - 18 and set(got) <= set(want)


def test_many_frames_of_one_record(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    x = [np.arange(30_001) % 1000, np.zeros(0, np.int64), np.arange(9000) % 77]
    fb.write_records(path, [fb.encode_example({"x": one} if len(one) else {}) for one in x])
    pipe = fb.tfrecord(path).example({"x": fb.var_len("int64")}).unbatch().filter("x in [76, 999]").batch(size=50)
    want = np.concatenate([one[(one == 76) | (one == 999)] for one in x]).tolist()
    for threads in (1, 8):
        assert np.concatenate([batch["x"] for batch in pipe.load(threads=threads)]).tolist() == want


def _with_a_corrupt_record(tmp_path: Path) -> fb.Pipeline:
    path = tmp_path / "a.tfrecord"
    fb.write_records(str(path), [fb.encode_example({"x": np.arange(4) + 10 * at}) for at in range(5)])
    data = bytearray(path.read_bytes())
    data[2 * (len(data) // 5) + 20] ^= 1
    path.write_bytes(data)
    return fb.tfrecord(str(path)).example({"x": fb.var_len("int64")}).unbatch().filter("x % 2 == 1").batch(size=2)


def test_a_corrupt_record_is_handled_as_asked(tmp_path: Path) -> None:
    pipe = _with_a_corrupt_record(tmp_path)
    for threads in (1, 8):
        loader = pipe.load(threads=threads)
        assert [next(loader)["x"].tolist() for _ in range(2)] == [[1, 3], [11, 13]]
        with pytest.raises(fb.DataError, match="record 2.*checksum"):
            next(loader)
        got = np.concatenate([batch["x"] for batch in pipe.on_corrupt("skip_record").load(threads=threads)])
        assert got.tolist() == [1, 3, 11, 13, 31, 33, 41, 43]


@pytest.mark.parametrize("threads", [1, 8])
def test_a_frame_without_a_value_is_a_fault_of_its_record(tmp_path: Path, threads: int) -> None:
    values = [[1, 2], [3], [], [4, 0, 5], [6, 4]]
    path = str(tmp_path / "a.tfrecord")
    fb.write_records(path, [fb.encode_example({"x": np.array(one)} if one else {}) for one in values])
    pipe = fb.tfrecord(path).example({"x": fb.var_len("int64")}).unbatch().filter("12 // x > 2").batch(size=1)
    loader = pipe.load(threads=threads)
    assert [next(loader)["x"].tolist() for _ in range(3)] == [[1], [2], [3]]
    with pytest.raises(fb.DataError, match=r"a.tfrecord, record 3.*filter: character 4, '//': the divisor is zero"):
        next(loader)
    rest = pipe.on_corrupt("skip_record").load(threads=threads)
    assert [batch["x"].tolist() for batch in rest] == [[1], [2], [3], [4]]
    guarded = fb.tfrecord(path).example({"x": fb.var_len("int64")}).unbatch().filter("x != 0 and 12 // x > 2").batch(size=9).load()
    assert [batch["x"].tolist() for batch in guarded] == [[1, 2, 3, 4, 4]]
    rows = [{"x": np.array(one, np.int64)} for one in values]
    loader = fb.python(iter(rows), {"x": fb.var_len("int64")}).unbatch().filter("12 // x > 2").batch(size=1).load(threads=threads)
    with pytest.raises(fb.DataError, match="record 3.*the divisor is zero"):
        list(loader)


def test_records_whose_keys_differ_in_length_are_a_fault_as_without_a_filter(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    fb.write_records(path, [fb.encode_example({"x": np.arange(3), "y": np.arange(count)}) for count in (3, 3, 2, 9)])
    pipe = fb.tfrecord(path).example({"x": fb.var_len("int64"), "y": fb.var_len("int64")})
    loader = pipe.unbatch().filter("x + y >= 0").batch(size=3).load()
    assert [next(loader)["x"].tolist() for _ in range(2)] == [[0, 1, 2]] * 2
    with pytest.raises(fb.DataError, match=r"a.tfrecord, record 2: 'x' has 3 frames and 'y' has 2"):
        next(loader)


def test_faults_of_the_document_name_the_way_out(tmp_path: Path) -> None:
    source = _files(tmp_path, _records())
    for pipe, fault in (
            (source.unbatch(["x"]).filter("w == 'a'"), r"/steps/1/filter/where: character 1, 'w': the tensor has shape \[\?\]"),
            (source.unbatch(KEYS).filter("x"), "the expression is an integer, but a condition"),
            (source.unbatch(KEYS).filter("xx > 1"), "did you mean")):
        with pytest.raises(fb.ConfigError, match=fault):
            pipe.batch(size=2).plan()


def test_rows_are_made_where_a_filter_needs_them(tmp_path: Path) -> None:
    source = _files(tmp_path, _records())
    def values(pipe: Any) -> "list[int]":
        return [x for batch in pipe.batch(size=2).load() for x in batch["x"].tolist()]
    wanted = [x for x in values(source.unbatch(KEYS)) if x > 1]
    assert values(source.unbatch(KEYS).cast("x", dtype="int32").filter("x > 1")) == wanted
    assert sorted(values(source.shuffle(global_=True).unbatch(KEYS).filter("x > 1"))) == sorted(wanted)
