# SPDX-License-Identifier: Apache-2.0
"""`fb.inspect` and `forebay head` of Parquet and Arrow files."""
from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest
from command import forebay
from test_inspect import PYTHON_ON_PATH, rows_of, run_text

import forebay as fb


def test_tables_of_parquet_and_arrow_are_inspected_with_their_nulls(tmp_path: pathlib.Path) -> None:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet as pq
    pairs = pa.array([[1.0, 2.0], None, [3.0, None]], pa.list_(pa.float32(), 2))
    table = pa.table({"n": pa.array([4, None, 6], pa.int64()), "s": ["a", "b", "a"], "l": [[1], [], [2, 3]], "m": [["x"], None, ["y", None]],
                      "f": pairs})
    pq.write_table(table, tmp_path / "a.parquet")
    pyarrow.feather.write_feather(table, str(tmp_path / "a.arrow"), compression="uncompressed")
    for name in ("a.parquet", "a.arrow"):
        found = fb.inspect(tmp_path / name)
        assert found.document is None and found.records == 3
        number = found.features["n"]
        assert (number["missing"], number["integers"]["min"], number["integers"]["max"]) == (1, 4, 6)
        assert found.features["l"]["lengths"] == {"min": 0, "max": 2, "mean": 1.0}
        assert "present(n)" not in found.features
        rows = rows_of(run_text(found.python))
        assert (found.features["m"]["missing"], found.features["f"]["missing"]) == (1, 1)
        there = [{"present(n)": here, "present(m)": here, "present(f)": here} for here in (True, False, True)]
        assert rows == [{"n": 4, "s": b"a", "l": [1], "m": [b"x"], "f": [1.0, 2.0], **there[0]},
                        {"n": 0, "s": b"b", "l": [], "m": [], "f": [0.0, 0.0], **there[1]},
                        {"n": 6, "s": b"a", "l": [2, 3], "m": [b"y", b""], "f": [3.0, 0.0], **there[2]}]
    head = forebay("head", tmp_path / "a.parquet", "--json", env=PYTHON_ON_PATH)
    assert [row["values"]["l"] for row in json.loads(head.stdout)] == [[1], [], [2, 3]]


@pytest.mark.parametrize("verb", ["head", "schema"])
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: pathlib.Path, verb: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    table = pa.table({f"column_with_a_long_name_{number}": ["x" * 300] * 200 for number in range(40)})
    pq.write_table(table, tmp_path / "a.parquet")
    done = subprocess.run(["bash", "-c", f'"$0" -m forebay {verb} "$1" {"--rows 200" if verb == "head" else ""} | head -n 1; echo "${{PIPESTATUS[0]}}"',
                           sys.executable, str(tmp_path / "a.parquet")], capture_output=True, text=True)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("0", "")
