# SPDX-License-Identifier: Apache-2.0
"""The matrix of compositions notices what is wrong (tests/compositions; the matrix itself is a phase of `make test`)."""
from __future__ import annotations

import pathlib
import subprocess
import sys

MATRIX = pathlib.Path(__file__).resolve().parents[2] / "tests/compositions/run.py"


def test_the_models_notice_values_that_are_lost() -> None:
    done = subprocess.run([sys.executable, str(MATRIX), "--jobs", "2", "--only", "source: arrays", "--spoiled"], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "35 of 37 spoiled cells are noticed", done.stderr


def test_a_cell_that_is_refused_and_was_not_is_told(tmp_path: pathlib.Path) -> None:
    copy = tmp_path / "compositions"
    copy.mkdir()
    for path in MATRIX.parent.glob("*.py"):
        (copy / path.name).write_text(path.read_text())
    (copy / "classes.txt").write_text("limitation\tsource\tarrays > take\n")
    done = subprocess.run([sys.executable, str(copy / "run.py"), "--only", "source: arrays > ta"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-2:] == ["limitation -> works: source: arrays > take: ",
                                             "2 cells: 0 wrong, 1 of another class than in classes.txt"]
