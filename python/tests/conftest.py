# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
from typing import Any, Callable, Optional

import numpy as np
import pytest
from streams import examples, write_parts

import forebay as fb

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"  # its README says what is there, and from where

# A shell's background job begins with interrupts ignored, and so would the processes that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def write_counts(folder: pathlib.Path, rows: int, name: str = "counts.tfrecord", compression: str | None = None) -> str:
    """Record i: x = [i, i + 0.5], y = i, s = b"s" * (i % 3), v = i % 4 times i."""
    path = folder / name
    fb.write_records(path, [fb.encode_example({"x": [i + 0.0, i + 0.5], "y": i, "s": b"s" * (i % 3),
                                               "v": np.full(i % 4, i)}) for i in range(rows)], compression)
    return str(path)


def preloaded_library(name: str, folders: pytest.TempPathFactory) -> pathlib.Path:
    """The library of NAME.c beside the tests, for LD_PRELOAD."""
    out = folders.mktemp("library") / f"{name}.so"
    source = pathlib.Path(__file__).with_name(f"{name}.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", out, source, "-ldl"], check=True)
    return out


def counts_document(path: str, size: int = 4, **members: Any) -> dict[str, Any]:
    return {"source": {"tfrecord": {"files": [path]}},
            "decode": {"example": {"features": {"x": {"dtype": "float32", "shape": [2]},
                                                "y": {"dtype": "int64", "shape": []},
                                                "s": {"dtype": "string", "shape": []},
                                                "v": {"kind": "var_len", "dtype": "int64"}}}},
            "steps": [{"batch": {"size": size}}], **members}


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Optional[bool]:
    """Runs a test with the mark `own_process` in a child that runs this test alone: a signal that it sends to its process, however
    late it arrives, never reaches the process that runs the other tests."""
    if pyfuncitem.get_closest_marker("own_process") is None or os.environ.get("FOREBAY_OWN_PROCESS") == pyfuncitem.nodeid:
        return None
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", pyfuncitem.nodeid]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=pyfuncitem.config.rootpath, env={**environment, "FOREBAY_OWN_PROCESS": pyfuncitem.nodeid},
                          capture_output=True, text=True, timeout=600)
    if done.returncode != 0 or "1 passed" not in done.stdout:
        pytest.fail(f"exit {done.returncode}\n{done.stdout}{done.stderr}", pytrace=False)
    return True


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The files of streams.write_parts, made once for the tests of a module."""
    return write_parts(tmp_path_factory.mktemp("parts"))


@pytest.fixture
def pipe(parts: list[str]) -> fb.Pipeline:
    return examples(parts).shuffle(buffer=40).batch(12).epochs(3).seed(5)


@pytest.fixture
def counts(tmp_path: pathlib.Path) -> Callable[..., dict[str, Any]]:
    """counts(rows, size, …): a document over a fresh file."""
    def make(rows: int, size: int = 4, **members: Any) -> dict[str, Any]:
        return counts_document(write_counts(tmp_path, rows), size, **members)
    return make


def run_python(code: str, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=timeout)
