# SPDX-License-Identifier: Apache-2.0
"""Sub-interpreters: refused, and the main interpreter goes on."""
from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

IN_SUB = """
try:
    import forebay
except ImportError as error:
    said = str(error)
else:
    said = "imported"
open(PATH, "a").write(said[:47] + chr(10))
"""
PROGRAM = """
import importlib, sys
try:
    interpreters = importlib.import_module("_interpreters")
except ImportError:
    interpreters = importlib.import_module("_xxsubinterpreters")

def sub():
    one = interpreters.create()
    problem = interpreters.run_string(one, sys.argv[1])
    if problem is not None:
        print(problem)
    interpreters.destroy(one)

if sys.argv[2] == "first":
    sub()
import numpy as np
import forebay as fb
rows = fb.arrays({"x": np.arange(6)}).batch(4)
sub()
print([batch["x"].tolist() for batch in rows.load()])
"""


@pytest.mark.parametrize("order", ["first", "after"])
def test_it_is_refused_and_the_main_interpreter_goes_on(tmp_path: pathlib.Path, order: str) -> None:
    said = tmp_path / "said"
    done = subprocess.run([sys.executable, "-c", PROGRAM, IN_SUB.replace("PATH", repr(str(said))), order], capture_output=True, text=True,
                          timeout=120)
    assert (done.stdout, done.stderr) == ("[[0, 1, 2, 3], [4, 5]]\n", "")
    assert said.read_text().splitlines() == ["forebay works in the main interpreter of a proc"] * (2 if order == "first" else 1)
