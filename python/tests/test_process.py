# SPDX-License-Identifier: Apache-2.0
"""What a process does to a loader: Ctrl-C, exit, fork, neglect."""
from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from conftest import run_python, write_counts

START = """
import sys, os, signal, threading, time
import forebay as fb
pipe = (fb.tfrecord(sys.argv[1]).example({"x": fb.feature("float32", [2]), "y": fb.feature("int64")})
        .shuffle(buffer=64).batch(4).epochs(None))
"""


@pytest.fixture
def path(tmp_path):
    return write_counts(tmp_path, 2000)


def interrupted(code, path):
    """Runs the code, sends SIGINT when it has printed a line, and gives back its output and exit status."""
    process = subprocess.Popen([sys.executable, "-c", START + code, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    return output, process.returncode


def test_ctrl_c_ends_an_endless_loop_once_and_the_loader_goes_on(path):
    output, status = interrupted("""
loader = pipe.load(threads=2)
try:
    for batch in loader:
        if batch.number == 10: print("ready", flush=True)
except KeyboardInterrupt:
    print("interrupted", next(loader).rows)
loader.close()
""", path)
    assert (output, status) == ("interrupted 4\n", 0)


def test_ctrl_c_ends_a_function_that_takes_for_ever(path):
    output, status = interrupted("""
def slow(batch):
    print("ready", flush=True)
    time.sleep(60)
    return batch
try:
    next(pipe.map(slow).load())
except KeyboardInterrupt:
    print("interrupted")
""", path)
    assert (output, status) == ("interrupted\n", 0)


@pytest.mark.parametrize("end", ["pass", "sys.exit(0)", "batch = None", "kept = batch['x']",
                                 "threading.Thread(target=lambda: next(loader)).start()"])
def test_the_interpreter_ends_with_a_live_loader(path, end):
    done = run_python(START + f"loader = pipe.load(threads=3)\nbatch = next(loader)\n{end}", path, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_failing_program_ends_with_its_own_traceback(path):
    done = run_python(START + "loader = pipe.load(threads=3)\nnext(loader)\nraise RuntimeError('mine')", path, timeout=30)
    assert (done.returncode, done.stderr.strip().splitlines()[-1]) == (1, "RuntimeError: mine")


@pytest.mark.parametrize("child", ["os._exit(7)", "loader.close(); os._exit(7)", "del loader; os._exit(7)", "sys.exit(7)"])
def test_a_forked_child_ends_and_the_parent_goes_on(path, child):
    done = run_python(START + f"""
loader = pipe.load(threads=2)
next(loader)
pid = os.fork()
if pid == 0:
    {child}
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status), next(loader).number)
""", path, timeout=30)
    assert (done.stdout, done.returncode) == ("7 1\n", 0), done.stderr


def test_a_forked_child_that_uses_the_loader_gets_a_clear_error(path):
    done = run_python(START + """
loader = pipe.load(threads=2)
next(loader)
pid = os.fork()
if pid == 0:
    try:
        next(loader)
    except fb.Error as error:
        print(type(error).__name__, error, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
""", path, timeout=30)
    assert "before fork()" in done.stdout and done.returncode == 0, done.stdout + done.stderr


def test_a_thousand_abandoned_loaders_leave_nothing_behind(path):
    done = run_python(START + """
def threads_and_files():
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))
next(pipe.load(threads=2))
before = threads_and_files()
for turn in range(1000):
    loader = pipe.load(threads=2)
    for _ in range(turn % 3):
        next(loader)
    del loader
after = threads_and_files()
for _ in range(100):  # a thread that has been joined is listed for a moment longer
    if after != before:
        time.sleep(0.01)
        after = threads_and_files()
print(before == after, before, after)
""", path, timeout=60)
    assert (done.stdout.split()[:1], done.returncode) == (["True"], 0), done.stdout + done.stderr


def test_importing_brings_no_framework(path):
    done = run_python("import numpy, sys; before = set(sys.modules); import forebay\n"
                      "slow = {'torch', 'jax', 'tensorflow', 'json', 'ml_dtypes', 'dataclasses', 'difflib'}\n"
                      "print(sorted(slow & (set(sys.modules) - before)))")
    assert done.stdout == "[]\n", done.stderr


def test_a_missing_framework_is_named():
    done = run_python("import sys; sys.modules['jax'] = None\nimport forebay as fb\n"
                      "try: fb.jax\nexcept AttributeError as error: print(error)")
    assert done.stdout == "module 'forebay' has no attribute 'jax': forebay.jax needs the package jax\n"
