# SPDX-License-Identifier: Apache-2.0
"""The fault of the earliest record is told, found by the reader of the file or by the decoder."""
from __future__ import annotations

import gzip
import pathlib
from typing import Any

import pytest

import forebay as fb


def corrupt_file(folder: pathlib.Path, feature: "int | None", length: "int | None", suffix: str = "") -> str:
    """Ten records: one lacks a feature, and one has a wrong checksum of its length."""
    path = str(folder / "d.tfrecord")
    fb.write_records(path, [fb.encode_example({"y" if n == feature else "x": [n]}) for n in range(10)])
    data = bytearray(pathlib.Path(path).read_bytes())
    at = 0
    for _ in range(0 if length is None else length):
        at += 16 + int.from_bytes(data[at:at + 8], "little")
    if length is not None:
        data[at + 8] ^= 1
    whole = bytes(data)
    pathlib.Path(path + suffix).write_bytes(gzip.compress(whole) if suffix else whole)
    return path + suffix


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("size", range(1, 12))
@pytest.mark.parametrize("boundary", ["straddle", "hard"])
def test_the_first_fault_does_not_depend_on_the_size_of_batches(tmp_path: pathlib.Path, suffix: str, threads: int, size: int,
                                                                boundary: Any) -> None:
    for feature, length, expected in ((1, 3, 1), (3, 1, 1), (3, 4, 3), (None, 4, 4), (6, None, 6), (0, 1, 0)):
        path = corrupt_file(tmp_path, feature, length, suffix)
        pipe = fb.tfrecord(path).example({"x": fb.fixed("int64", [1])}).batch(size, remainder="keep").epoch_boundary(boundary)
        given: list[int] = []
        with pipe.load(threads=threads) as loader, pytest.raises(fb.DataError, match=rf"record {expected}\b"):
            for batch in loader:
                given += batch["x"].ravel().tolist()
        assert given == list(range(expected // size * size))


def test_rows_that_are_skipped_do_not_hide_the_fault_of_the_file(tmp_path: pathlib.Path) -> None:
    path = corrupt_file(tmp_path, 1, 3)
    pipe = fb.tfrecord(path).example({"x": fb.fixed("int64", [1])}).batch(8, remainder="keep").on_corrupt("skip_row")
    with pipe.load(threads=1) as loader, pytest.raises(fb.DataError, match=r"record 3\b"):
        next(loader)


@pytest.mark.parametrize("rank", [0, 1])
def test_every_shard_by_row_tells_the_first_fault(tmp_path: pathlib.Path, rank: int) -> None:
    path = corrupt_file(tmp_path, 1, 3)
    pipe = fb.tfrecord(path).example({"x": fb.fixed("int64", [1])}).batch(4, remainder="keep")
    with pipe.load(threads=1, shard=(rank, 2)) as loader, pytest.raises(fb.DataError, match=r"record 1\b"):
        next(loader)
