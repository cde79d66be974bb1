# SPDX-License-Identifier: Apache-2.0
"""`unbatch`, and the columns that say where windows lie, against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from streams import digests
from test_windows import LENGTHS, _equal, _pipeline, _records, _rows

import forebay as fb

Row = tuple[Any, ...]


def _unbatched(folder: Path) -> list[Row]:
    """The rows of all frames in the order of the files: x, t, id, number of the frame."""
    return [(frame, frame[0], 100 * file + record, at)
            for file, records in enumerate(_records(folder))
            for record, frames in enumerate(records)
            for at, frame in enumerate(frames)]


@pytest.mark.parametrize("size", [1, 3, 50, 1000])
def test_every_frame_of_a_record_becomes_a_row(tmp_path: Path, size: int) -> None:
    want = _unbatched(tmp_path)
    pipe = _pipeline(tmp_path).unbatch(number="n", start="s").batch(size=size)
    for threads in (1, 8):
        batches = list(pipe.load(threads=threads))
        assert [len(batch["x"]) for batch in batches[:-1]] == [size] * (len(batches) - 1)
        assert all(batch["x"].shape[1:] == (2,) and batch["t"].ndim == 1 for batch in batches)
        _equal(_rows(batches, "x", "t", "id", "n"), want)
        _equal(_rows(batches, "s"), [(row[3],) for row in want])


def test_the_plan_knows_the_rows(tmp_path: Path) -> None:
    _records(tmp_path)
    plan = _pipeline(tmp_path).unbatch(number="n").batch(size=4).plan()
    text = str(plan)
    assert plan.columns == [("id", "int64", (), "equal", "", ()), ("x", "float32", (2,), "equal", "", ()),
                            ("t", "float32", (), "equal", "", ()), ("n", "int64", (), "equal", "", ())]
    assert "unbatch" in text and "take windows -> x float32 [2], t float32 [], n int64 []" in text


def test_values_of_every_kind_lose_their_first_axis(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    counts = [2, 0, 5, 1]
    rows = [(np.arange(count) + 10 * at, [f"w{at}.{i}".encode() for i in range(count)]) for at, count in enumerate(counts)]
    fb.write_records(path, [fb.encode_example({"x": x.astype(np.int64), "w": w} if w else {"x": x.astype(np.int64)})
                            for x, w in rows])
    pipe = fb.tfrecord(path).example({"x": fb.var_len("int64"), "w": fb.var_len("string")}).unbatch().batch(size=3)
    want = [(int(value), word) for x, w in rows for value, word in zip(x, w, strict=True)]
    for threads in (1, 8):
        assert [(int(x), w) for x, w in _rows(pipe.load(threads=threads), "x", "w")] == want


def test_arrays_and_iterables_are_unbatched() -> None:
    x = np.arange(4 * 5 * 3, dtype=">f4").reshape(4, 5, 3)
    label = np.arange(4)
    want = [(x[row, at], label[row]) for row in range(4) for at in range(5)]
    for size in (2, 7):
        pipe = fb.arrays({"x": x, "label": label}).unbatch(keys=["x"]).batch(size=size)
        for threads in (1, 8):
            _equal(_rows(pipe.load(threads=threads), "x", "label"), want)
    rows = [{"x": np.arange(count, dtype=np.int64) + 10 * count, "y": np.float32(count)} for count in (3, 0, 8, 1)]
    features = {"x": fb.var_len("int64"), "y": fb.fixed("float32", [])}
    loader = fb.python(iter(rows), features).unbatch().batch(size=5).load()
    _equal(_rows(loader, "x", "y"), [(value, row["y"]) for row in rows for value in row["x"]])


def test_rows_whose_other_sizes_vary_keep_these() -> None:
    shapes = [(2, 3), (0, 4), (3, 1), (1, 5)]
    rows = [{"x": np.arange(a * b, dtype=np.int64).reshape(a, b) + 100 * a} for a, b in shapes]
    pipe = fb.python(iter(rows), {"x": fb.feature("int64", [None, None])}).unbatch(keys=["x"]).batch(size=4, pad=True)
    _equal(_rows(pipe.load(), "x"), [(line,) for row in rows for line in row["x"]])


def test_shuffles_before_and_after_give_every_row_once(tmp_path: Path) -> None:
    want = sorted(tuple(row[0]) for row in _unbatched(tmp_path))
    for order in (lambda pipe: pipe.unbatch().shuffle(buffer=17),
                  lambda pipe: pipe.shuffle(global_=True).unbatch(),
                  lambda pipe: pipe.interleave(cycle=3).shuffle(buffer=2).unbatch().shuffle(buffer=1000)):
        pipe = order(_pipeline(tmp_path)).batch(size=7).seed(3)
        streams = [digests(pipe.load(threads=threads)) for threads in (1, 8)]
        assert streams[0] == streams[1]
        assert sorted(tuple(row[0]) for row in _rows(pipe.load(), "x")) == want


@pytest.mark.parametrize("order", [
    lambda pipe: pipe.unbatch(number="n"),
    lambda pipe: pipe.shuffle(buffer=4).unbatch(number="n").filter("id > 3 and id != 204").shuffle(buffer=9),
    lambda pipe: pipe.shuffle(global_=True).unbatch(number="n").filter("n % 2 == 0"),
])
@pytest.mark.parametrize("size", [3, 40])
def test_a_restart_at_every_batch_gives_the_rest(tmp_path: Path, order: Callable[[fb.Pipeline], fb.Pipeline], size: int) -> None:
    _records(tmp_path)
    pipe = order(_pipeline(tmp_path)).batch(size=size).epochs(2).seed(4)
    whole = digests(pipe.load())
    loader = pipe.load(threads=2)
    for at in range(len(whole) + 1):
        again = pipe.load(threads=1 + 7 * (at % 2))
        again.load_state_dict(loader.state_dict())
        assert digests(again) == whole[at:]
        next(loader, None)


def test_a_filter_asks_for_the_number_of_a_row_and_for_tensors_that_are_not_divided(tmp_path: Path) -> None:
    rows = _unbatched(tmp_path)
    pipe = _pipeline(tmp_path).unbatch(number="n")
    _equal(_rows(pipe.filter("n >= 2 and n < 5").batch(size=4).load(), "x", "t", "id", "n"),
           [row for row in rows if 2 <= row[3] < 5])
    _equal(_rows(pipe.filter("id >= 100").batch(size=4).load(), "x", "t", "id", "n"), [row for row in rows if row[2] >= 100])


def test_shards_deal_the_rows(tmp_path: Path) -> None:
    want = _unbatched(tmp_path)
    pipe = _pipeline(tmp_path).unbatch(number="n").batch(size=6)
    names = ("x", "t", "id", "n")
    ranks = [[_rows([batch], *names) for batch in pipe.load(shard=(rank, 2))] for rank in range(2)]
    _equal([row for pair in zip(*ranks, strict=True) for batch in pair for row in batch], want)
    workers = [[_rows([batch], *names) for batch in pipe.load(shard={"index": index, "count": 2, "by": "batch"})] for index in range(2)]
    dealt = [batch for pair in zip(workers[0], workers[1] + [[]]) for batch in pair]
    _equal([row for batch in dealt for row in batch], want)


def test_a_shard_by_element_deals_the_rows_of_all_records(tmp_path: Path) -> None:
    want = sorted(tuple(row[0]) for row in _unbatched(tmp_path))
    pipe = _pipeline(tmp_path).unbatch().shuffle(buffer=9).batch(size=6, remainder="drop").seed(2)
    ranks = [list(pipe.load(shard={"index": index, "count": 3, "by": "element"}, threads=1 + index)) for index in range(3)]
    assert [len(batches) for batches in ranks] == [len(want) // 6] * 3
    got = [tuple(row[0]) for batches in ranks for row in _rows(batches, "x")]
    assert len(set(got)) == len(got) == len(want) // 6 * 6 and set(got) <= set(want)


def test_arrays_restart_at_every_batch() -> None:
    pipe = (fb.arrays({"x": np.arange(60).reshape(12, 5), "label": np.arange(12)}).shuffle(global_=True)
            .unbatch(keys=["x"], start="at").shuffle(buffer=7).batch(size=8).epochs(2).seed(9))
    whole = digests(pipe.load())
    assert len(whole) == 15
    loader = pipe.load(threads=8)
    for at in range(len(whole) + 1):
        again = pipe.load(threads=1)
        again.load_state_dict(loader.state_dict())
        assert digests(again) == whole[at:]
        next(loader, None)


def test_rows_of_a_feed_are_unbatched_as_they_come() -> None:
    with fb.Feed({"x": fb.var_len("int64"), "id": fb.fixed("int64", [])}) as rows:
        for count in (2, 0, 3):
            rows.put({"x": np.arange(count) + 10 * count, "id": count})
    got = _rows(fb.feed(rows).unbatch().batch(size=2).load(threads=2), "x", "id")
    assert [(int(x), int(number)) for x, number in got] == [(20, 2), (21, 2), (30, 3), (31, 3), (32, 3)]


def test_records_without_frames_give_no_batch(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    fb.write_records(path, [fb.encode_example({"x": np.zeros(0, np.int64)})] * 3)
    pipe = fb.tfrecord(path).example({"x": fb.var_len("int64")}).unbatch().batch(size=2).epochs(2)
    assert list(pipe.load()) == []


def test_a_corrupt_record_gives_no_rows_where_it_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    fb.write_records(str(path), [fb.encode_example({"x": np.arange(2) + 10 * at}) for at in range(4)])
    data = bytearray(path.read_bytes())
    size = len(data) // 4
    data[2 * size + 20] ^= 1
    path.write_bytes(data)
    pipe = fb.tfrecord(str(path)).example({"x": fb.var_len("int64")}).unbatch().batch(size=3)
    loader = pipe.load()
    assert next(loader)["x"].tolist() == [0, 1, 10]
    with pytest.raises(fb.DataError, match="record 2.*checksum"):
        list(loader)
    got = np.concatenate([batch["x"] for batch in pipe.on_corrupt("skip_record").load(threads=8)])
    assert got.tolist() == [0, 1, 10, 11, 30, 31]


def test_windows_say_where_they_lie(tmp_path: Path) -> None:
    _records(tmp_path)
    pipe = _pipeline(tmp_path).chunk(4, keys=["x"], step=3, number="n", start="s").context(window={"x": 3})
    (batch,) = pipe.batch(size=100, remainder="pad", pad=True).load()
    want = [(at, max(3 * at - 1, 0)) for lengths in LENGTHS for length in lengths for at in range(-(-length // 3))]
    rows = list(zip(batch["n"].tolist(), batch["s"].tolist(), strict=True))
    assert rows == want + [(-1, -1)] * (100 - len(want))
    assert batch["n"].dtype == batch["s"].dtype == np.int64


def test_faults_name_the_record_and_the_option(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    fb.write_records(path, [fb.encode_example({"x": np.arange(3), "y": np.arange(count), "id": np.array([7])}) for count in (3, 3, 2)])
    source = fb.tfrecord(path).example({"x": fb.var_len("int64"), "y": fb.var_len("int64"), "id": fb.fixed("int64", [])})
    loader = source.unbatch().batch(size=3).load()
    assert [next(loader)["x"].tolist() for _ in range(2)] == [[0, 1, 2]] * 2
    with pytest.raises(fb.DataError, match=r"a.tfrecord, record 2: 'x' has 3 frames and 'y' has 2; .*the same first size"):
        next(loader)
    for pipe, fault in (
            (source.unbatch(keys=["id"]), r"/steps/0/unbatch/keys/0: tensor 'id' has the shape \[\], so it has no time axis"),
            (source.unbatch(number="id"), "/steps/0/unbatch/number: there is already a tensor 'id'"),
            (source.unbatch().context(window=3), "the step before leaves it out")):
        with pytest.raises(fb.ConfigError, match=fault):
            pipe.batch(size=2).plan()
