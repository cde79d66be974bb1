# SPDX-License-Identifier: Apache-2.0
"""The examples that train a network, run by an interpreter that has torch: this one or Debian's (packages.txt). They take
30 steps; with FOREBAY_LONG_TESTS=1 (`make test-all`) all their steps, and the results must be good."""
from __future__ import annotations

import math
import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT

import forebay as fb

LONG = os.environ.get("FOREBAY_LONG_TESTS") == "1"
FIND_TORCH = "import importlib.util, sys; print(sys.version_info[:2], importlib.util.find_spec('torch') is not None)"


def python_with_torch() -> tuple[str, dict[str, str]]:
    """An interpreter that has torch and the version that our module is built for, and its environment."""
    package = {**os.environ, "PYTHONPATH": str(pathlib.Path(fb.__file__).parents[1])}
    for python, environment in ((sys.executable, dict(os.environ)), ("/usr/bin/python3", package)):
        if pathlib.Path(python).exists():
            done = subprocess.run([python, "-c", FIND_TORCH], capture_output=True, text=True)
            if done.stdout == f"{sys.version_info[:2]} True\n":
                return python, environment
    pytest.skip("torch is not installed: apt-get install python3-torch, or pip install -r python/requirements-torch.txt")


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    python, environment = python_with_torch()
    return subprocess.run([python, str(ROOT / "examples" / name), *arguments], env=environment, capture_output=True,
                          text=True, timeout=3600 if LONG else 300)


def lines_of(name: str) -> list[str]:
    done = run(name, *([] if LONG else ["--steps", "30"]))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def number(pattern: str, line: str) -> float:
    """The number in a line: the only group of the pattern."""
    match = re.fullmatch(pattern, line)
    assert match, line
    return float(match[1])


def falling_losses(lines: list[str], steps: int) -> list[float]:
    """The losses of five lines, each the mean of a fifth of the steps. The last one is below the first."""
    losses = [number(rf"  step {(steps if LONG else 30) * part // 5}: loss (\d+\.\d{{3}})", line)
              for part, line in enumerate(lines, 1)]
    assert len(losses) == 5 and all(map(math.isfinite, losses)) and losses[-1] < losses[0]
    return losses


def test_truncated_back_propagation():
    lines = lines_of("05_truncated_bptt.py")
    assert (lines[0], lines[7], len(lines)) == ("training with states", "training without states", 15)
    for first, name in ((1, "with"), (8, "without")):
        losses = falling_losses(lines[first:first + 5], 2000)
        assert losses[0] < math.log(100)
        assert 1 < number(rf"  held out: loss (\d+\.\d{{3}}) {name} states", lines[first + 5]) < losses[0]
    saved = number(r"states save (-?\d+\.\d{3}) nats a character", lines[14])
    assert saved > (0.07 if LONG else -0.5)


def test_spoken_digits():
    lines = lines_of("06_spoken_digits.py")
    assert (lines[:2], len(lines)) == (["training.tfrecord: 40 recordings", "held_out.tfrecord: 30 recordings"], 9)
    assert falling_losses(lines[2:7], 400)[0] < 2 * math.log(10)
    assert number(r"  padding: (\d+) % of the frames", lines[7]) < 20
    assert number(r"held out: (\d+) of 30 digits are right \(\d+ %\)", lines[8]) > (22 if LONG else 5)


def test_packed_rows():
    lines = lines_of("07_packed_transformer.py")
    assert falling_losses(lines[:5], 600)[0] < 2 * math.log(100) and len(lines) == 7
    filled = re.fullmatch(r"(\d+) % of the rows is text; with a row of (\d+) characters for each of the (\d+) lines it would be "
                          r"(\d+) %", lines[5])
    assert filled, lines[5]
    packed, longest, segments, padded = map(int, filled.groups())
    assert packed > max(85, padded) and longest <= 128
    steps = 600 if LONG else 30
    assert padded * longest * segments == pytest.approx(packed * steps * 8 * 128, rel=0.03)  # both are 100 * characters
    assert number(r"largest difference to the logits of a segment alone: (\d\.\de-\d\d)", lines[6]) < 1e-4


def test_missing_data_is_an_error_that_says_where_it_is(tmp_path):
    done = run("06_spoken_digits.py", "--recordings", str(tmp_path / "nothing"))
    assert done.returncode == 2
    assert f"there is no folder {tmp_path / 'nothing'}; without --recordings, the example takes {ROOT / 'examples' / 'digits'}" in done.stderr
