# SPDX-License-Identifier: Apache-2.0
"""Tensors of torch over our memory. torch is the one of this environment (python/requirements-torch.txt) or Debian's
(packages.txt), which runs in a process of its own: next to it are Debian's other packages, which must stay out of ours."""
from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
DEBIAN = pathlib.Path("/usr/lib/python3/dist-packages")


def torch_folder() -> list[str]:
    """What has to be added to the path so that torch can be imported."""
    if importlib.util.find_spec("torch"):
        return []
    if list(DEBIAN.glob(f"torch/_C.cpython-{sys.version_info.major}{sys.version_info.minor}-*.so")):
        return [str(DEBIAN)]
    pytest.skip("torch is not installed: apt-get install python3-torch, or pip install -r python/requirements-torch.txt")


def run_cases(module: str, cases: list[str], folder: pathlib.Path) -> None:
    """Runs the cases one after another in one process that has torch, each with a folder of its own."""
    code = f"""
import pathlib, traceback
import {module} as module
for case in {cases!r}:
    folder = pathlib.Path({str(folder)!r}, case)
    folder.mkdir()
    try:
        getattr(module, case)(folder)
        print(case)
    except Exception:
        traceback.print_exc()
"""
    done = subprocess.run([sys.executable, "-c", code, *torch_folder()], cwd=TESTS, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout.splitlines()) == (0, cases), done.stderr


def test_a_tensor(tmp_path: pathlib.Path) -> None:
    run_cases("dlpack_cases", ["shares_the_memory", "is_written_through", "outlives_batch_and_loader", "has_the_dtype",
                               "bfloat16_is_a_view_of_its_bits", "adaptor_converts_what_can_be_a_tensor",
                               "prefetch_gives_tensors_and_the_state_of_the_last_batch", "prefetch_refuses_what_it_cannot_reach"],
              tmp_path)
