# SPDX-License-Identifier: Apache-2.0
"""Parquet files whose pages or columns claim more than they have."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forebay as fb


def fault_and_memory(path: pathlib.Path, said: str) -> int:
    """Mebibytes that a process takes to read the file, which ends with a fault that says this."""
    program = ("import resource, sys, pyarrow.parquet, forebay as fb\n"
               "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
               "try:\n    list(fb.parquet(sys.argv[1]).batch(100).load(threads=1))\n"
               "except fb.DataError as problem:\n    print(sys.argv[2] in str(problem), end=' ')\n"
               "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)")
    done = subprocess.run([sys.executable, "-c", program, str(path), said], capture_output=True, text=True, check=True)
    told, mebibytes = done.stdout.split()
    assert told == "True"
    return int(mebibytes)


def varint(number: int) -> bytes:
    """As Thrift writes an i32 that is not negative."""
    number, out = 2 * number, b""
    while number >= 128:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


@pytest.mark.parametrize("claimed", [(None, 1 << 30), (1 << 30, 1 << 30), ((1 << 31) - 1, (1 << 31) - 1)])
def test_a_page_that_claims_gigabytes_takes_no_memory(tmp_path: Any, claimed: "tuple[int | None, int]") -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": np.arange(500)}), path, compression="none", use_dictionary=False, write_statistics=False)
    data, at = path.read_bytes(), pq.read_metadata(path).row_group(0).column(0).data_page_offset
    sizes = data[at + 3:at + 5]
    assert data[at:at + 8] == b"\x15\x00\x15" + sizes + b"\x15" + sizes  # before and after compression
    before = sizes if claimed[0] is None else varint(claimed[0])
    path.write_bytes(data[:at + 2] + b"\x15" + before + b"\x15" + varint(claimed[1]) + data[at + 8:])
    assert fault_and_memory(path, "row group 0 cannot be read") < 200


@pytest.mark.parametrize("compression, version", [("none", "1.0"), ("zstd", "2.0"), ("snappy", "1.0")])
def test_pages_of_any_writer_are_passed_and_those_that_claim_more_are_refused(tmp_path: Any, compression: Any, version: Any) -> None:
    """Every page of large row groups is looked at; one byte of a size that is another is enough."""
    from forebay._parquet_pages import check_pages
    path = tmp_path / "a.parquet"
    rows = np.arange(20_000)
    text = [f"{'ü' * (i % 90)}{i % 1000}" for i in rows.tolist()]
    table = pa.table({"x": rows, "t": text, "some": [None if i % 3 else i for i in rows.tolist()],
                      "list": [[i] * (i % 4) for i in rows.tolist()], "of": [{"a": i, "b": b"x" * 3000} for i in rows.tolist()]})
    pq.write_table(table, path, compression=compression, data_page_version=version, data_page_size=10_000, write_page_checksum=True,
                   row_group_size=7000, write_page_index=version == "2.0")
    footer = pq.read_metadata(path)
    for group in range(footer.num_row_groups):
        check_pages(str(path), group, map(footer.row_group(group).column, range(footer.num_columns)))

    column = footer.row_group(1).column(0)
    begin = column.dictionary_page_offset or column.data_page_offset
    good = path.read_bytes()
    noticed = 0
    for at in range(begin, begin + 12):   # of the first page
        for bit in range(8):
            path.write_bytes(good[:at] + bytes([good[at] ^ 1 << bit]) + good[at + 1:])
            try:
                check_pages(str(path), 1, [column])
            except fb.DataError as problem:
                assert "row group 1: column 'x': the page at byte" in str(problem)
                noticed += 1
    assert noticed > 30


@pytest.mark.parametrize("name", ["x", "of.x"])
def test_a_page_of_a_large_row_group_that_claims_gigabytes_takes_no_memory(tmp_path: Any, name: str) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({name: np.arange(2_000_000)}), path, compression="none", use_dictionary=False, write_statistics=False)
    data, at = path.read_bytes(), pq.read_metadata(path).row_group(0).column(0).data_page_offset
    assert data[at:at + 3] == b"\x15\x00\x15"
    sizes = data[at + 3:data.index(b"\x2c", at)]   # two varints of the same number, and the tag between
    claimed = varint((1 << 31) - 1)
    path.write_bytes(data[:at + 3] + claimed + b"\x15" + claimed + data[at + 3 + len(sizes):])
    assert fault_and_memory(path, "the page at byte") < 100


@pytest.mark.parametrize("by", [1, 100, 1 << 40])
def test_a_column_that_claims_more_than_its_file_has_is_refused(tmp_path: Any, by: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from forebay import _arrow_files
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": np.arange(500)}), path)
    footer = pq.read_metadata(path)

    class Column:
        path_in_schema, dictionary_page_offset = "x", None
        data_page_offset, total_compressed_size = 4, os.stat(path).st_size - 4 + by

    class Group:
        num_columns = 1
        column = staticmethod(lambda _: Column)

    class Footer:
        num_row_groups = 1
        row_group = staticmethod(lambda _: Group)
    assert _arrow_files._largest_group(str(path), footer) < os.stat(path).st_size
    with pytest.raises(fb.DataError, match=r"row group 0: column 'x' is said to have \d+ bytes from byte 4 on, and the file has \d+"):
        _arrow_files._largest_group(str(path), Footer)
