# SPDX-License-Identifier: Apache-2.0
"""Threads that are inside a call of the package when the interpreter ends."""
from __future__ import annotations

import os

import pytest
from conftest import run_python, write_counts

RUNS = 6 if os.environ.get("FOREBAY_LONG_TESTS") else 2

PROGRAM = """
import sys, threading, time
import forebay as fb
path = sys.argv[1]
pipe = fb.tfrecord(path).example({"y": fb.feature("int64")}).batch(4).epochs(None)
started = threading.Event()
def call(): CALL
def work():
    while True:
        started.set()
        call()
for _ in range(2): threading.Thread(target=work, daemon=True).start()
started.wait()
time.sleep(0.02)
"""

CALLS = {
    "next": "[started.set() for batch in pipe.load(threads=2)]",
    "map": "[batch for epoch in pipe.map(dict, workers=2).load().epochs() for batch in epoch]",
    "state_dict": "loader = pipe.load(threads=1); [loader.state_dict() for batch in loader]",
    "plan": "pipe.plan()",
    "read_records": "fb.read_records(path)",
    "write_records": "fb.write_records(path + threading.current_thread().name, [b'record'] * 10000)",
    "index_files": "fb.index_files(path, force=True)",
    "verify": "fb.verify([path] * 4, threads=2)",
}


@pytest.mark.parametrize("call", CALLS)
def test_a_daemon_thread_inside_a_call_ends_with_the_program_without_a_word(tmp_path, call):
    path = write_counts(tmp_path, 2000)
    ends = [run_python(PROGRAM.replace("CALL", CALLS[call]), path, timeout=30) for _ in range(RUNS)]
    assert [(end.returncode, end.stderr) for end in ends] == [(0, "")] * RUNS


def test_other_errors_of_daemon_threads_are_told_as_ever(tmp_path):
    after_ours = ("import atexit, threading\n"  # registered first, so it runs last
                  "atexit.register(lambda: threading.excepthook(threading.ExceptHookArgs((ZeroDivisionError, ZeroDivisionError('late'),"
                  " None, None))))\n")
    done = run_python(after_ours + PROGRAM.replace("CALL", CALLS["next"]), write_counts(tmp_path, 2000), timeout=30)
    assert done.returncode == 0 and "ZeroDivisionError: late" in done.stderr and "Cancelled" not in done.stderr
