# SPDX-License-Identifier: Apache-2.0
"""Files that change while they are read: no row is of two versions, nor is a run that ends without an error."""
from __future__ import annotations

import subprocess
import sys

from conftest import ROOT


def test_no_row_and_no_clean_run_mixes_two_versions_of_a_file() -> None:
    done = subprocess.run([sys.executable, ROOT / "tests/torn_rows.py", "--runs", "300"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "300 runs, 0 failed" in done.stdout
