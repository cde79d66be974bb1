# SPDX-License-Identifier: Apache-2.0
"""fb.arrow: tables and streams in the memory layout of Apache Arrow."""
from __future__ import annotations

import datetime
import decimal
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb


def rows_of(pipe: fb.Pipeline, size: int = 4, **run: Any) -> "list[dict[str, Any]]":
    """All rows that a pipeline delivers, as Python values."""
    out: "list[dict[str, Any]]" = []
    for batch in pipe.batch(size=size).load(**run):
        for row in range(batch.valid_rows):
            out.append({name: plain(batch[name], row) for name in batch})
    return out


def plain(values: Any, row: int) -> Any:
    if isinstance(values, fb.Ragged):
        first, end = values.row_splits[row:row + 2]
        return values.values[first:end].tolist()
    value = values[row]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


CHUNKS = pa.table({
    "x": pa.chunked_array([pa.array([1, 2, 3], pa.int32()), pa.array([], pa.int32()), pa.array([4, 5], pa.int32()).slice(1)]),
    "s": pa.chunked_array([["a", "", "c"], pa.array([], pa.string()), ["e"]]),
})

day = datetime.date(2024, 2, 29)
moment = datetime.datetime(2024, 2, 29, 12, 30, 1, 500)
TYPES: "list[tuple[pa.DataType, list[Any], list[Any], str]]" = [
    *[(kind, [0, 1, 100], [0, 1, 100], "") for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(),
                                                        pa.uint32(), pa.uint64())],
    (pa.float16(), [np.float16(0.5), np.float16(-2), np.float16(3)], [0.5, -2.0, 3.0], ""),
    (pa.float32(), [0.5, -1.5, 3.25], [0.5, -1.5, 3.25], ""),
    (pa.float64(), [0.1, -1e300, 3.0], [0.1, -1e300, 3.0], ""),
    (pa.bool_(), [True, False, True], [True, False, True], ""),
    *[(kind, ["a", "", "a string of more than twelve bytes"], [b"a", b"", b"a string of more than twelve bytes"], "")
      for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())],
    (pa.binary(3), [b"abc", b"\0\0\0", b"xyz"], [b"abc", b"\0\0\0", b"xyz"], ""),
    (pa.date32(), [day, day, day], [19782] * 3, "date[days]"),
    (pa.date64(), [day, day, day], [19782 * 86_400_000] * 3, "date[ms]"),
    (pa.time32("s"), [datetime.time(1, 0, 1)] * 3, [3601] * 3, "time[s]"),
    (pa.time64("us"), [datetime.time(0, 0, 1, 5)] * 3, [1_000_005] * 3, "time[us]"),
    (pa.timestamp("us"), [moment] * 3, [1_709_209_801_000_500] * 3, "timestamp[us]"),
    (pa.timestamp("ns", "Europe/Berlin"), [0, 1, 2], [0, 1, 2], "timestamp[ns, Europe/Berlin]"),
    (pa.duration("ms"), [datetime.timedelta(seconds=1)] * 3, [1000] * 3, "duration[ms]"),
    (pa.list_(pa.float32()), [[1.0, 2.0], [], [3.0]], [[1.0, 2.0], [], [3.0]], ""),
    (pa.large_list(pa.string()), [["a"], [], ["b", ""]], [[b"a"], [], [b"b", b""]], ""),
    (pa.list_(pa.bool_()), [[True], [], [False, True]], [[True], [], [False, True]], ""),
    (pa.list_(pa.int16(), 2), [[1, 2], [3, 4], [5, 6]], [[1, 2], [3, 4], [5, 6]], ""),
    (pa.list_(pa.list_(pa.int8(), 2)), [[[1, 2]], [], [[3, 4], [5, 6]]], [[[1, 2]], [], [[3, 4], [5, 6]]], ""),
    (pa.dictionary(pa.int8(), pa.int64()), [7, 8, 7], [7, 8, 7], ""),
    (pa.dictionary(pa.uint16(), pa.string()), ["u", "v", "u"], [0, 1, 0], "category"),
]


@pytest.mark.parametrize("kind, given, expected, logical", TYPES, ids=[str(kind) for kind, *_ in TYPES])
def test_every_type_whole_and_sliced(kind: pa.DataType, given: "list[Any]", expected: "list[Any]", logical: str) -> None:
    array = pa.array(given, kind)
    assert rows_of(fb.arrow(pa.table({"v": array}))) == [{"v": value} for value in expected]
    behind = pa.concat_arrays([array, array, array]) if not pa.types.is_dictionary(kind) else pa.array(given * 3, kind)
    sliced = pa.table({"v": behind.slice(4, 4)})
    assert [row["v"] for row in rows_of(fb.arrow(sliced))] == [*expected[1:], *expected[:2]]
    with fb.arrow(sliced).batch(size=2).load() as loader:
        assert loader.schema["v"].logical == logical


@pytest.mark.parametrize("kind, given", [(kind, given) for kind, given, *_ in TYPES if not pa.types.is_fixed_size_list(kind)],
                         ids=[str(kind) for kind, *_ in TYPES if not pa.types.is_fixed_size_list(kind)])
def test_nulls_of_every_type(kind: pa.DataType, given: "list[Any]") -> None:
    array = pa.array([given[0], None, given[2], None], kind)
    whole = rows_of(fb.arrow(pa.table({"v": pa.array([given[0], given[2]], kind)}), dictionaries="values"))
    got = rows_of(fb.arrow(pa.table({"v": array}), present="v", dictionaries="values"))
    assert [row[fb.present("v")] for row in got] == [True, False, True, False]
    assert [got[0]["v"], got[2]["v"]] == [row["v"] for row in whole]
    assert got[1]["v"] in (0, False, b"", [])
    with pytest.raises(fb.ConfigError, match="row 1 of the table: column 'v' has a null; give its nulls a value"):
        fb.arrow(pa.table({"v": array})).batch(size=1).load()


def test_values_of_nulls() -> None:
    table = pa.table({"x": [1, None], "s": [None, "b"], "l": [[1, None], None], "f": pa.array([[1, 2], None], pa.list_(pa.int8(), 2)),
                      "c": pa.array([None, "k"]).dictionary_encode()})
    pipe = fb.arrow(table, nulls={"x": -1, "s": "?", "l": 9, "f": 7, "c": "none"})
    assert rows_of(pipe) == [{"x": 1, "s": b"?", "l": [1, 9], "f": [1, 2], "c": 1}, {"x": -1, "s": b"b", "l": [], "f": [7, 7], "c": 0}]
    with pipe.batch(size=1).load() as loader:
        assert loader.schema["c"].categories == (b"k", b"none")


def test_lists_that_are_null_and_have_items() -> None:
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 4, 5], pa.int32()), pa.array([1, 2, 3, 4, 5]),
                                     mask=pa.array([False, True, False]))
    assert rows_of(fb.arrow(pa.table({"l": lists}), present="l")) == [
        {"l": [1, 2], "present(l)": True}, {"l": [], "present(l)": False}, {"l": [5], "present(l)": True}]


def test_structs_become_names_with_a_dot() -> None:
    inner = pa.array([{"a": 1, "b": {"c": "x"}}, None, {"a": 3, "b": None}, {"a": 4, "b": {"c": "y"}}]).slice(1)
    assert rows_of(fb.arrow(pa.table({"s": inner}), nulls={"s.a": 0, "s.b.c": "-"})) == [
        {"s.a": 0, "s.b.c": b"-"}, {"s.a": 3, "s.b.c": b"-"}, {"s.a": 4, "s.b.c": b"y"}]


def test_batches_of_a_table_are_one_part() -> None:
    assert rows_of(fb.arrow(CHUNKS.combine_chunks())) == rows_of(fb.arrow(CHUNKS, name="other"))
    loader = fb.arrow(CHUNKS, name="t").batch(size=4).load()
    assert next(loader).record_keys == ["t:0", "t:1", "t:2", "t:3"]
    assert len(fb.arrow(CHUNKS).batch(size=3).load()) == 2
    assert rows_of(fb.arrow(CHUNKS.slice(0, 0))) == []
    assert rows_of(fb.arrow(pa.Table.from_batches([], CHUNKS.schema))) == []


def test_dictionaries_of_several_batches_have_one_list_of_categories() -> None:
    table = pa.table({"c": pa.chunked_array([pa.array(["a", "b"]).dictionary_encode(), pa.array(["b", "c"]).dictionary_encode()])})
    assert [row["c"] for row in rows_of(fb.arrow(table))] == [0, 1, 1, 2]
    assert [row["c"] for row in rows_of(fb.arrow(table, dictionaries="values"))] == [b"a", b"b", b"b", b"c"]
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert [row["c"] for row in rows_of(fb.arrow(stream))] == [b"a", b"b", b"b", b"c"]


@pytest.mark.parametrize("table, options, words", [
    ({"m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8()))}, {}, "column 'm': a column of maps cannot be delivered"),
    ({"d": pa.array([decimal.Decimal("1.5")])}, {}, "column 'd': a column of decimals"),
    ({"l": pa.array([[[1]]])}, {}, "column 'l': a list of lists cannot be delivered"),
    ({"l": pa.array([[{"a": 1}]])}, {}, "column 'l': a list of structs"),
    ({"n": pa.nulls(1)}, {}, "column 'n': a column of type null"),
    ({"u": pa.array([1]), "x": pa.array([1])}, {"columns": ["y"]}, "the table has no column 'y'"),
    ({"x": pa.array([1])}, {"nulls": {"z": 1}}, "there is no tensor 'z'"),
    ({"x": pa.array([1])}, {"nulls": {"x": "no"}}, "nulls"),
    ({"x": pa.array([1])}, {"present": ["z"]}, "there is no tensor 'z'"),
    ({"x": pa.array([1]), "present(x)": pa.array([1])}, {"present": ["x"]}, "the table has a column 'present\\(x\\)'"),
    ({"c": pa.array([1]).dictionary_encode()}, {"dictionaries": "codes"}, "only dictionaries of strings"),
])
def test_what_cannot_be_delivered_is_refused_by_name(table: "dict[str, Any]", options: "dict[str, Any]", words: str) -> None:
    with pytest.raises(fb.ConfigError, match=words):
        fb.arrow(pa.table(table), **options).batch(size=1).load()


def test_columns_that_are_not_read_may_be_of_any_type() -> None:
    table = pa.table({"m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())), "x": [5]})
    assert rows_of(fb.arrow(table, columns="x")) == [{"x": 5}]


def test_numbers_are_not_copied() -> None:
    numbers = np.arange(6, dtype=np.float32)
    table = pa.table({"x": pa.array(numbers)})
    loader = fb.arrow(table).batch(size=3).load(prefetch=1)
    del table
    numbers[:] += 10  # nobody should do this; it shows where the rows are
    assert next(loader)["x"].tolist() == [10, 11, 12]


def test_a_stream_is_read_once() -> None:
    def stream() -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(CHUNKS.schema, CHUNKS.to_batches())
    assert rows_of(fb.arrow(stream())) == rows_of(fb.arrow(CHUNKS))
    with pytest.raises(fb.ConfigError, match="'epochs' must be 1"):
        fb.arrow(stream()).batch(size=1).epochs(2).load()
    with pytest.raises(fb.ConfigError, match="give 'shuffle' a buffer"):
        fb.arrow(stream()).shuffle(global_=True).batch(size=1).load()
    with pytest.raises(fb.StateError, match="cannot be read again"):
        fb.arrow(stream()).batch(size=1).load().state_dict()


def test_a_fault_of_a_stream_comes_after_the_rows_before_it() -> None:
    def batches() -> Any:
        yield CHUNKS.to_batches()[0]
        raise ValueError("the disk is full")
    loader = fb.arrow(pa.RecordBatchReader.from_batches(CHUNKS.schema, batches())).batch(size=3).load()
    assert next(loader)["x"].tolist() == [1, 2, 3]
    with pytest.raises(fb.DataError, match="the stream of record batches failed: .*the disk is full"):
        next(loader)


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("order", ["global", "buffer", "plain"])
def test_a_restart_at_every_batch(threads: int, order: str) -> None:
    table = pa.Table.from_batches([batch for start in range(0, 30, 10)
                                   for batch in pa.table({"x": list(range(start, start + 10))}).to_batches()])
    pipe = fb.arrow(table)
    pipe = pipe.shuffle(global_=True) if order == "global" else pipe.shuffle(buffer=7) if order == "buffer" else pipe
    pipe = pipe.batch(size=4).epochs(2)
    whole = [batch["x"].tolist() for batch in pipe.load(threads=threads)]
    assert sorted(sum(whole, [])) == sorted([*range(30)] * 2)
    with pipe.load(threads=threads) as loader:
        for at in range(len(whole)):
            again = pipe.load(threads=9 - threads)
            again.load_state_dict(loader.state_dict())
            assert [batch["x"].tolist() for batch in again] == whole[at:]
            next(loader)


def test_shards_take_their_rows_of_every_batch() -> None:
    pipe = fb.arrow(CHUNKS).batch(size=2)
    both = [list(pipe.load(shard=(rank, 2))) for rank in (0, 1)]
    assert [(one["x"].tolist(), two["x"].tolist()) for one, two in zip(*both)] == [([1], [2]), ([3], [5])]


def test_a_document_names_a_table_and_its_options() -> None:
    document = {"source": {"arrow": {"bind": "train", "columns": ["x"], "present": ["x"]}}, "steps": [{"batch": {"size": 9}}]}
    (batch,) = fb.load(document, bind={"train": CHUNKS})
    assert batch["x"].tolist() == [1, 2, 3, 5] and batch["present(x)"].all()
    with pytest.raises(fb.ConfigError, match="which the source 'arrow' takes"):
        fb.load({"source": {"arrays": {"bind": "train"}}, "steps": [{"batch": {"size": 9}}]}, bind={"train": CHUNKS})


def test_ctrl_c_while_a_stream_keeps_the_consumer_waiting() -> None:
    program = """
import os, signal, threading, time
import pyarrow as pa
import pyarrow.parquet
import forebay as fb
def batches():
    yield pa.record_batch({"x": [1]})
    time.sleep(1.5)
    yield pa.record_batch({"x": [2]})
stream = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.int64()}), batches())
loader = fb.arrow(stream).batch(size=2).load()
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    next(loader)
except KeyboardInterrupt:
    print("interrupted")
print(next(loader)["x"].tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("interrupted\n[1, 2]\n", "")


kinds = st.sampled_from([pa.int32(), pa.float64(), pa.bool_(), pa.string(), pa.string_view(), pa.list_(pa.int16()),
                         pa.large_list(pa.string()), pa.struct({"a": pa.int8(), "b": pa.bool_()}),
                         pa.dictionary(pa.int16(), pa.string())])


@settings(max_examples=300 if os.environ.get("FOREBAY_LONG_TESTS") else 15, deadline=None)
@given(st.lists(kinds, min_size=1, max_size=4), st.data())
def test_random_tables_give_the_values_of_pyarrow(types: "list[pa.DataType]", data: Any) -> None:
    rows = data.draw(st.integers(0, 20))
    table = pa.table({f"c{i}": pa.array([data.draw(value_of(kind)) for _ in range(rows)], kind) for i, kind in enumerate(types)})
    first = data.draw(st.integers(0, rows))
    table = table.slice(first, data.draw(st.integers(0, rows)))
    pieces = [table.slice(at, 3) for at in range(0, table.num_rows, 3)]
    table = pa.concat_tables(pieces) if pieces else table
    flat = table.flatten()
    filled = {name: 0 if pa.types.is_integer(kind) or pa.types.is_floating(kind) else False if pa.types.is_boolean(kind) else
              0 if pa.types.is_list(kind) else "" for name, kind in zip(flat.column_names, flat.schema.types)}
    got = rows_of(fb.arrow(table, nulls=filled, dictionaries="values"))
    assert got == [{name: expected_of(value, filled[name], kind) for (name, value), kind in zip(row.items(), flat.schema.types)}
                   for row in flat.to_pylist()]


def value_of(kind: pa.DataType) -> Any:
    if pa.types.is_struct(kind):
        return st.none() | st.fixed_dictionaries({"a": st.none() | st.integers(-128, 127), "b": st.none() | st.booleans()})
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return st.none() | st.lists(value_of(kind.value_type), max_size=4)
    if pa.types.is_boolean(kind):
        return st.none() | st.booleans()
    if pa.types.is_floating(kind):
        return st.none() | st.floats(allow_nan=False)
    return st.none() | (st.integers(-1000, 1000) if pa.types.is_integer(kind) else st.text(max_size=20))


def expected_of(value: Any, filled: Any, kind: pa.DataType) -> Any:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [] if value is None else [expected_of(item, filled, kind.value_type) for item in value]
    value = filled if value is None else value
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize("shape", [(2, 3), (4,), (2, 1, 3)])
def test_tensors_of_a_fixed_shape_keep_it(tmp_path: Any, shape: "tuple[int, ...]") -> None:
    values = np.arange(5 * int(np.prod(shape)), dtype="f4").reshape(5, *shape)
    table = pa.table({"t": pa.FixedShapeTensorArray.from_numpy_ndarray(values)})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    for pipe in (fb.arrow(table), fb.parquet(tmp_path / "t.parquet"), fb.arrow_file(tmp_path / "t.arrow")):
        with pipe.batch(5).load() as loader:
            assert loader.schema["t"].shape == shape
            assert (next(loader)["t"] == values).all()


def test_tensors_whose_axes_lie_in_another_order_are_refused() -> None:
    kind = pa.fixed_shape_tensor(pa.int8(), [2, 3], permutation=[1, 0])
    table = pa.table({"t": pa.ExtensionArray.from_storage(kind, pa.array([[1] * 6], pa.list_(pa.int8(), 6)))})
    with pytest.raises(fb.ConfigError, match="column 't': the axes of its tensors lie in another order in memory"):
        fb.arrow(table).batch(1).load()


def test_bool8_is_bool() -> None:
    storage = pa.array([0, 1, 5, -1, None], pa.int8())
    table = pa.table({"b": pa.ExtensionArray.from_storage(pa.bool8(), storage)})
    values = next(fb.arrow(table, nulls={"b": True}).batch(5).load())["b"]
    assert values.dtype == bool and values.tolist() == [False, True, True, True, True]


def test_one_field_of_a_struct_is_read_by_its_name(tmp_path: Any) -> None:
    table = pa.table({"image": [{"bytes": b"a", "path": None, "size": {"w": 1, "h": 2}}] * 3, "label": [1, 2, 3]})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    for columns, names in ((["image.bytes", "label"], ["image.bytes", "label"]), (["image.size"], ["image.size.w", "image.size.h"]),
                           (["image.size.h", "label"], ["image.size.h", "label"])):
        for pipe in (fb.arrow(table, columns=columns), fb.parquet(tmp_path / "t.parquet", columns=columns)):
            batch = next(pipe.batch(3).load())
            assert sorted(batch) == sorted(names)
    assert batch["image.size.h"].tolist() == [2, 2, 2]
    with pytest.raises(fb.ConfigError, match="the table has no column 'image.byte'"):
        fb.arrow(table, columns=["image.byte"]).batch(1).load()
