# SPDX-License-Identifier: Apache-2.0
"""Servers of http that do what servers do wrong: the stream is that of local files, or ends with an error."""
from __future__ import annotations

import os
import re
import subprocess
import sys

from conftest import ROOT


def test_no_fault_of_a_server_changes_a_row(tmp_path: "os.PathLike[str]") -> None:
    done = subprocess.run([sys.executable, ROOT / "tests/web_faults.py", "--runs", "440"], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "FOREBAY_CACHE": os.fspath(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.search(r"440 runs with (\d+) faults of (\d+) kinds, 0 failed", done.stdout)
    assert said and int(said[1]) >= 400 and int(said[2]) >= 30, done.stdout
