# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import collections.abc
import gc

import numpy as np
import pytest

import forebay as fb


def first(document):
    with fb.load(document, threads=1) as loader:
        return next(loader)


def test_a_batch_holds_the_values_of_its_records(counts):
    batch = first(counts(3))
    np.testing.assert_array_equal(batch["x"], np.array([[0, 0.5], [1, 1.5], [2, 2.5]], np.float32), strict=True)
    np.testing.assert_array_equal(batch["y"], np.array([0, 1, 2]), strict=True)
    assert batch["s"].tolist() == [b"", b"s", b"ss"]
    assert batch["v"].to_list() == [[], [1], [2, 2]]


def test_a_batch_is_a_mapping_in_schema_order(counts):
    batch = first(counts(3))
    assert isinstance(batch, collections.abc.Mapping)
    assert list(batch) == list(batch.keys()) == list(dict(batch)) == ["x", "y", "s", "v"]
    assert len(batch) == 4 and "x" in batch and "z" not in batch
    assert [name for name, _ in batch.items()] == list(batch) and list(batch.values())[1] is batch["y"]
    assert batch.keys() == {"x", "y", "s", "v"} and isinstance(batch.keys(), collections.abc.KeysView)
    assert batch.get("z") is None and batch.get("y") is batch["y"]


def test_an_unknown_name_is_a_key_error_that_names_the_nearest(tmp_path):
    path = tmp_path / "a.tfrecord"
    fb.write_records(path, [fb.encode_example({"pixels": 1.0})])
    batch = next(fb.tfrecord(path).example({"pixels": fb.feature("float32")}).batch(1).load())
    with pytest.raises(KeyError, match="pixels"):
        batch["pixel"]


def test_the_same_name_gives_the_same_array(counts):
    batch = first(counts(3))
    assert all(batch[name] is batch[name] for name in batch)


def test_arrays_are_writable_and_outlive_loader_and_batch(counts):
    loader = fb.load(counts(1000, 100), threads=2)
    arrays = [batch["x"] for batch in loader]
    loader.close()
    del loader
    gc.collect()
    assert all(array.flags.writeable and array.flags.c_contiguous for array in arrays)
    arrays[0][...] = -1
    expected = np.arange(1000, dtype=np.float32)[:, None] + np.array([0, 0.5], np.float32)
    np.testing.assert_array_equal(np.concatenate(arrays[1:]), expected[100:])


def test_raw_shows_the_memory_of_the_strings(counts):
    batch = first(counts(3))
    offsets, data = batch.raw("s")
    again, _ = batch.raw("s")
    assert (offsets.dtype, offsets.tolist()) == (np.int64, [0, 0, 1, 3])
    assert (data.dtype, data.tobytes()) == (np.uint8, b"sss")
    assert offsets.ctypes.data == again.ctypes.data and not offsets.flags.writeable
    with pytest.raises(TypeError, match="int64"):
        batch.raw("y")


def test_keys_and_origins_say_where_each_row_came_from(counts):
    document = counts(3)
    path = document["source"]["tfrecord"]["files"][0]
    batch = first(document)
    files, records, offsets = zip(*batch.origins)
    assert (set(files), records, offsets[0]) == ({path}, (0, 1, 2), 0)
    assert batch.record_keys == [f"{path}:{offset}" for offset in offsets]
    assert batch.record_keys is batch.record_keys


def test_counters_of_a_batch(counts):
    batches = list(fb.load(counts(5, 2, epochs=2), threads=1))
    assert [(batch.number, batch.rows, batch.valid_rows) for batch in batches] == [(i, 2, 2) for i in range(5)]
    assert [batch.epoch for batch in batches] == [0, 0, 0, 1, 1]


def test_rows_that_fill_up_a_batch_have_no_key(counts):
    document = counts(3)
    document["steps"] = [{"select": {"tensors": ["x", "y"]}}, {"batch": {"size": 4, "remainder": "pad"}}]
    batch = first(document)
    assert (batch.rows, batch.valid_rows, len(batch.record_keys), len(batch.origins)) == (4, 3, 3, 3)


def test_lengths_are_those_before_padding(counts):
    document = counts(4)
    document["steps"] = [{"batch": {"size": 4, "pad": True}}]
    batch = first(document)
    assert batch["v"].tolist() == [[0, 0, 0], [1, 0, 0], [2, 2, 0], [3, 3, 3]]
    assert {name: sizes.tolist() for name, sizes in batch.lengths.items()} == {"v": [0, 1, 2, 3]}


def test_inputs_are_all_that_are_no_targets(counts):
    batch = first(counts(2, targets=["y"]))
    assert list(batch.inputs) == ["x", "s", "v"] and list(batch.targets) == ["y"]
    assert batch.targets["y"] is batch["y"]


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                                   "float16", "float32", "float64", "bfloat16"])
def test_every_dtype_has_its_numpy_type(tmp_path, dtype):
    path = tmp_path / "a.tfrecord"
    fb.write_records(path, [fb.encode_example({"a": 1}), fb.encode_example({"a": 0})])
    document = fb.tfrecord(path).example({"a": fb.feature("int64")}).cast("a", dtype).batch(2)
    array = next(document.load())["a"]
    assert array.dtype == (fb.bfloat16 if dtype == "bfloat16" else np.dtype(dtype))
    if dtype == "bfloat16":
        array = (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    assert array.astype(np.float64).tolist() == [1.0, 0.0]
