# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/migrate/tf-data.md: every row runs, and every method of tf.data.Dataset has one."""
from __future__ import annotations

import itertools
import pathlib
import sqlite3
from typing import Any

import numpy as np
import pytest
from migration import check, names_of, rows, usual, without_row

import forebay as fb

PAGE = "tf-data.md"

# The methods of tf.data.Dataset in TensorFlow 2.16.
METHODS = """__bool__ __iter__ __len__ apply as_numpy_iterator batch bucket_by_sequence_length cache cardinality choose_from_datasets
concatenate counter element_spec enumerate filter fingerprint flat_map from_generator from_tensor_slices from_tensors
get_single_element group_by_window ignore_errors interleave list_files load map options padded_batch prefetch ragged_batch random
range rebatch reduce rejection_resample repeat sample_from_datasets save scan shard shuffle skip snapshot sparse_batch take
take_while unbatch unique window with_options zip""".split()


def noise(row: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {"n": row["n"] + rng.random()}


def make(folder: pathlib.Path) -> dict[str, Any]:
    """The files and names that the page speaks of."""
    (folder / "a.txt").write_text("one\ntwo\n")
    (folder / "b.txt").write_text("six\n")
    (folder / "d.csv").write_text("x,y\n1,2\n3,4\n")
    fb.write_records(folder / "r.tfrecord", [fb.encode_example({"n": number}) for number in (0, 1)])
    return {**usual(), "itertools": itertools, "sqlite3": sqlite3, "noise": noise}


names = names_of(make)


@pytest.mark.parametrize(("call", "gives"), rows(PAGE))
def test_a_row_gives_what_the_table_says(call: str, gives: str, names: dict[str, Any]) -> None:
    check(call, gives, names)


def test_every_method_has_a_row() -> None:
    assert without_row(PAGE, METHODS) == []
