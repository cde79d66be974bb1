# SPDX-License-Identifier: Apache-2.0
"""Real text files read whole, against independent readers: pyarrow.csv and Python."""
from __future__ import annotations

import bz2
import pathlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from conftest import DATA, ROOT

import forebay as fb

CSVS = sorted(path.name for path in (DATA / "csv").glob("*.csv"))


def with_pyarrow(path: pathlib.Path, types: "dict[str, Any]") -> pa.Table:
    """The columns of these types; an empty number is NaN or 0, and an empty text is one."""
    return pyarrow.csv.read_csv(
        path, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[""],
                                                   strings_can_be_null=False, quoted_strings_can_be_null=False))


@pytest.mark.parametrize("name", CSVS)
def test_every_field_of_every_csv_is_that_of_pyarrow(name: str) -> None:
    inferred = pyarrow.csv.read_csv(DATA / "csv" / name, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True)).schema
    kinds = {"double": "float64", "int64": "int64"}
    dtypes = {field.name: kinds.get(str(field.type), "string") for field in inferred}
    arrow = {"float64": pa.float64(), "int64": pa.int64(), "string": pa.binary()}
    expected = with_pyarrow(DATA / "csv" / name, {column: arrow[dtype] for column, dtype in dtypes.items()})
    missing: "dict[str, Any]" = {"float64": -1.0, "int64": -1, "string": ""}
    columns = {column: {"dtype": dtype, "default": missing[dtype]} for column, dtype in dtypes.items()}
    batches = list(fb.csv(DATA / "csv" / name, header=True).csv(columns).batch(97).load(threads=3))
    assert "float64" in dtypes.values() or name == "multi_line_string.csv"
    for column, dtype in dtypes.items():
        found = np.concatenate([batch[column] for batch in batches])
        wanted = expected[column] if dtype == "string" else expected[column].fill_null(missing[dtype])
        if dtype == "string":
            assert found.tolist() == wanted.to_pylist(), column
        else:
            np.testing.assert_array_equal(found, wanted.to_numpy(), err_msg=column)


def test_a_text_is_the_lines_that_python_reads(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(bz2.decompress((ROOT / "examples/text/tinyshakespeare.txt.bz2").read_bytes()))
    expected = path.read_bytes().removesuffix(b"\n").split(b"\n")
    found = [line for batch in fb.lines(path).record("line").batch(4096).load(threads=3) for line in batch["line"]]
    assert found == expected and len(found) > 10_000
    shuffled = fb.lines(path).record("line").shuffle(global_=True).seed(1).batch(4096).load()
    numbered = {int(key.rpartition(":")[2]): line for batch in shuffled for key, line in zip(batch.record_keys, batch["line"])}
    assert [numbered[number + 1] for number in range(len(expected))] == expected
