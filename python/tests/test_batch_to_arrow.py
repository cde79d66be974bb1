# SPDX-License-Identifier: Apache-2.0
"""Batches as record batches of Arrow."""
from __future__ import annotations

import gc
import pathlib
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import forebay as fb


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("arrow") / "all.tfrecord"
    fb.write_records(path, [fb.encode_example({
        "x": np.arange(6, dtype=np.float32) + row, "y": row, "flag": row % 2, "s": f"s{row}", "ss": ["a", "bc"],
        "list": np.arange(row % 4), "words": [b"w"] * (row % 3) or None}) for row in range(10)])
    return str(path)


def pipe_of(path: str) -> fb.Pipeline:
    return fb.tfrecord(path).example({
        "x": fb.fixed("float32", [2, 3]), "y": fb.fixed("int16", []), "flag": fb.fixed("bool", []),
        "s": fb.fixed("string", []), "ss": fb.fixed("string", [2]), "list": fb.var_len("int64"),
        "words": fb.var_len("string"), "sparse": fb.feature("int64", kind="var_len", as_="sparse", key="list")}).batch(4)


def addresses(array: Any) -> "list[int]":
    """Where the buffers of an array and its children lie."""
    return [buffer.address for buffer in array.buffers() if buffer is not None]


def test_every_kind_of_tensor_has_its_values_as_a_column(records: str) -> None:
    rows = [row for batch in pipe_of(records).load() for row in batch.to_arrow(utf8=["s"]).to_pylist()]
    assert rows == [{
        "x": [[row, row + 1.0, row + 2.0], [row + 3.0, row + 4.0, row + 5.0]], "y": row, "flag": row % 2 == 1, "s": f"s{row}",
        "ss": [b"a", b"bc"], "list": list(range(row % 4)), "words": [b"w"] * (row % 3),
        "sparse": {"indices": [[row % 4, i] for i in range(row % 4)], "values": list(range(row % 4))}} for row in range(10)]


def test_columns_have_the_types_of_the_table_in_the_docs(records: str) -> None:
    batch = next(pipe_of(records).load())
    large = pa.large_list
    sparse = pa.struct([("indices", large(pa.list_(pa.int64(), 2))), ("values", large(pa.int64()))])
    assert dict(zip(pa.schema(batch).names, pa.schema(batch).types)) == {
        "x": pa.list_(pa.list_(pa.float32(), 3), 2), "y": pa.int16(), "flag": pa.bool_(), "s": pa.large_binary(),
        "ss": pa.list_(pa.large_binary(), 2), "list": large(pa.int64()), "words": large(pa.large_binary()), "sparse": sparse}
    assert batch.to_arrow(utf8=["ss"]).schema.field("ss").type == pa.list_(pa.large_string(), 2)
    assert batch.to_arrow().schema.field("sparse").metadata == {b"forebay.dense_shape": b"[4,3]"}
    assert pa.table(batch).schema.field("sparse").metadata == {b"forebay.dense_shape": b"[4,3]"}


def test_nothing_but_bits_is_copied(records: str) -> None:
    batch = next(pipe_of(records).load())
    columns = batch.to_arrow()
    columns.validate(full=True)
    offsets, data = batch.raw("s")
    ragged = batch["list"]
    assert addresses(columns["x"]) == [batch["x"].ctypes.data]
    assert addresses(columns["y"]) == [batch["y"].ctypes.data]
    assert addresses(columns["s"]) == [offsets.ctypes.data, data.ctypes.data]
    assert addresses(columns["list"]) == [ragged.row_splits.ctypes.data, ragged.values.ctypes.data]
    assert addresses(pa.table(batch)["x"].chunk(0)) == [batch["x"].ctypes.data]


def test_columns_outlive_batch_and_loader_and_count_against_the_budget() -> None:
    rows = np.arange(1 << 18, dtype=np.float64).reshape(-1, 1 << 10)
    loader = fb.arrays({"x": rows}).batch(size=len(rows)).load(threads=1)
    batch = next(loader)
    column = batch.to_arrow()["x"]
    del batch
    gc.collect()
    held = loader.stats().memory_used
    assert column.flatten().to_numpy()[-1] == rows[-1, -1]
    part = column.slice(0, 1)
    del column
    gc.collect()
    assert loader.stats().memory_used == held >= rows.nbytes
    loader.close()
    assert part.to_pylist() == [rows[0].tolist()]
    del part
    gc.collect()
    assert loader.stats().memory_used <= held - rows.nbytes


def test_present_tensors_are_the_nulls_of_their_column() -> None:
    table = pa.table({"x": [1, None, 3], "s": ["a", None, "c"], "l": [[1], None, []]})
    batch = next(fb.arrow(table, present=["x", "s", "l"]).batch(size=3).load())
    assert batch.to_arrow(utf8=["s"]).to_pydict() == table.to_pydict()
    assert batch.to_arrow()["x"].null_count == 1


def test_a_capsule_that_nobody_takes_frees_its_columns(records: str) -> None:
    batch = next(pipe_of(records).load())
    for _ in range(100):
        batch.__arrow_c_array__(), batch.__arrow_c_schema__(), batch.__arrow_c_stream__()
    assert pa.record_batch(batch).num_rows == batch.rows


def test_what_arrow_has_not_is_an_error_that_names_the_tensor() -> None:
    batch = next(fb.arrays({"z": np.zeros(4, np.complex64), "s": [b"\xff"] * 4}).batch(size=2).load())
    with pytest.raises(fb.ConfigError, match="'z': Arrow has no type for complex64"):
        batch.to_arrow()
    batch = next(fb.arrays({"x": np.zeros(4, np.float32), "s": [b"\xff"] * 4}).cast("x", "bfloat16").batch(size=2).load())
    with pytest.raises(fb.ConfigError, match="'x': Arrow has no type for bfloat16; `cast` it to float32"):
        batch.__arrow_c_array__()
    batch = next(fb.arrays({"s": [b"\xff"] * 4}).batch(size=2).load())
    with pytest.raises(fb.ConfigError, match="'s': string 0 is not UTF-8; leave the tensor out of `utf8`"):
        batch.to_arrow(utf8=["s"])
    with pytest.raises(fb.ConfigError, match="utf8: the batch has no tensor of strings 't'"):
        batch.to_arrow(utf8=["t"])


def test_a_batch_of_another_process_says_why_it_has_no_columns(records: str, tmp_path: pathlib.Path) -> None:
    batch = pickle.loads(pickle.dumps(next(pipe_of(records).load())))
    with pytest.raises(fb.StateError, match="pickled in another process, and columns of Arrow do not travel with it"):
        batch.to_arrow()
