# SPDX-License-Identifier: Apache-2.0
"""Programs with `map`: how they start, are interrupted, fork and end."""
from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import sys
import time
from typing import Any

import pytest
from conftest import run_python
from map_checks import KINDS, TESTS, WORKERS, gone
from streams import example

import forebay as fb
from forebay import _worker
from forebay._map.processes import MESSAGE, SETUP
from forebay._map.wire import Region

PROGRAM = """
import os, signal, sys, threading, time
import forebay as fb
pipe = (fb.tfrecord(sys.argv[1]).example({"id": fb.fixed("int64"), "name": fb.fixed("string")}).shuffle(buffer=64).batch(4)
        .epochs(None).seed(3))
"""


@pytest.fixture
def path(tmp_path: pathlib.Path) -> str:
    file = tmp_path / "data.tfrecord"
    fb.write_records(file, [example(i) for i in range(300)])
    return str(file)


def run_program(code: str, path: str, *, how: str = "file", folder: pathlib.Path | None = None) -> Any:
    """Runs PROGRAM and the code, as a file or from standard input, with this folder's modules to import."""
    where = folder or pathlib.Path(path).parent
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    if how == "file":
        (where / "program.py").write_text(PROGRAM + code)
        command, given = [sys.executable, str(where / "program.py"), path], None
    else:
        command, given = [sys.executable, "-", path], PROGRAM + code
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, env=environment, cwd=where)


@pytest.mark.parametrize("how", ["file", "stdin"])
@pytest.mark.parametrize("function", ["module", "own", "lambda"])
def test_a_program_needs_no_guard(path: str, how: str, function: str) -> None:
    (pathlib.Path(path).parent / "beside.py").write_text("def twice(batch):\n    return {'id': batch['id'] * 2}\n")
    # A folder with a module of a standard name must not disturb the processes.
    (pathlib.Path(path).parent / "elsewhere").mkdir()
    given = {"module": "import beside\nf = beside.twice", "own": "def f(batch): return {'id': batch['id'] * 2}",
             "lambda": "f = lambda batch: {'id': batch['id'] * 2}"}[function]
    done = run_program(f"{given}\nprint('once')\n" + """
with pipe.map(f, workers=2, inside="processes").load() as loader, pipe.load() as other:
    for _ in range(20):
        assert next(loader)["id"].tolist() == (next(other)["id"] * 2).tolist()
print("done")
""", path, how=how)
    assert (done.returncode, done.stdout, done.stderr) == (0, "once\ndone\n", "")


def test_modules_of_the_working_folder_do_not_get_in_the_way(path: str, tmp_path: pathlib.Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (tmp_path / "program.py").write_text(PROGRAM + """
import map_functions
with pipe.map(map_functions.pid, workers=1, inside="processes").load() as loader:
    print(next(loader)["folder"])
""")
    for name in ("numpy", "random", "socket", "forebay"):
        (other / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    done = subprocess.run([sys.executable, str(tmp_path / "program.py"), path], capture_output=True, text=True, cwd=other,
                          env={**os.environ, "PYTHONPATH": str(TESTS)}, timeout=60)
    assert (done.stdout, done.stderr) == (f"{other}\n", "")


@pytest.mark.parametrize("workers, inside", KINDS)
def test_a_hundred_interrupts_cost_no_batch_and_leave_no_process(path: str, workers: int, inside: str) -> None:
    done = run_program(f"""
import map_functions, random
draw = random.Random(1)
loader = pipe.map(map_functions.uneven, workers={workers}, inside="{inside}").load()
numbers, interrupts, armed = [], 0, threading.Event()
def send():
    for _ in range(100):
        armed.wait()
        armed.clear()
        time.sleep(draw.random() * 0.01)
        os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=send, daemon=True).start()
while interrupts < 100:
    try:
        armed.set()
        while True:
            batch = None
            batch = next(loader)
            numbers.append(batch.number)
            batch = None
    except KeyboardInterrupt:
        interrupts += 1
        if batch is not None and numbers[-1:] != [batch.number]:
            numbers.append(batch.number)  # the interrupt came between the two lines
for _ in range(10):
    numbers.append(next(loader).number)
missing = set(range(len(numbers))) - set(numbers)
print(len(numbers) - len(set(numbers)), len(missing))
loader.close()
""", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0\n", ""), done.stderr


@pytest.mark.parametrize("function", ["same", "endless", "busy"])
def test_processes_end_when_the_program_is_killed(path: str, function: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM + f"""
import map_functions
loader = pipe.map(map_functions.{function}, workers=2, inside="processes").load()
next(loader), next(loader)
time.sleep(0.2)
# A child of fork outlives the program and must not keep the processes.
if os.fork() == 0:
    time.sleep(30)
    os._exit(0)
print(*[p for p in os.listdir("/proc") if p.isdigit() and os.path.exists(f"/proc/{{p}}/stat")
        and open(f"/proc/{{p}}/stat").read().rpartition(")")[2].split()[1] == str(os.getpid())
        and b"\\0forebay._worker\\0" in open(f"/proc/{{p}}/cmdline", "rb").read()], flush=True)
time.sleep(60)
""", path], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(TESTS)})
    assert process.stdout is not None
    found = process.stdout.readline().split()
    process.kill()
    process.wait()
    process.stdout.close()
    assert len(found) == 2

    def ended() -> bool:
        def state(pid: str) -> str:
            try:
                return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                return "Z"
        return all(state(pid) == "Z" for pid in found)
    assert gone(ended)


@pytest.mark.parametrize("workers, inside", WORKERS)
def test_a_forked_child_is_told_and_the_program_goes_on(path: str, workers: int, inside: str) -> None:
    done = run_program(f"""
import map_functions
loader = pipe.map(map_functions.same, workers={workers}, inside="{inside}").load()
next(loader)
pid = os.fork()
if pid == 0:
    try:
        next(loader)
    except fb.Error as error:
        print(type(error).__name__, "before fork()" in str(error), flush=True)
    loader.close()
    del loader
    os._exit(0)
os.waitpid(pid, 0)
print([next(loader).number for _ in range(20)] == list(range(1, 21)))
""", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "StateError True\nTrue\n", ""), done.stderr


@pytest.mark.parametrize("workers, inside", WORKERS)
@pytest.mark.parametrize("end", ["pass", "sys.exit(0)", "raise RuntimeError('mine')"])
def test_the_interpreter_ends_with_a_live_loader(path: str, workers: int, inside: str, end: str) -> None:
    began = time.monotonic()
    done = run_program(f"""
import map_functions
loader = pipe.map(map_functions.uneven, workers={workers}, inside="{inside}").load()
next(loader)
{end}
""", path)
    assert time.monotonic() - began < 20
    last = done.stderr.strip().splitlines()[-1:]
    assert (done.returncode, last) == ((1, ["RuntimeError: mine"]) if "mine" in end else (0, []))


def test_a_process_ends_with_the_program_where_the_kernel_does_not_see_to_it() -> None:
    done = run_python("""
import fcntl, os, time
import forebay._worker as worker
def refuse(*arguments): raise OSError("not here")
fcntl.fcntl = refuse
pipe, program = os.pipe()
worker.end_with_program(pipe)
print("runs", flush=True)
os.close(program)
time.sleep(10)
print("still runs")
""")
    assert (done.stdout, done.returncode) == ("runs\n", 1), done.stderr


def test_a_module_that_runs_its_loader_when_it_is_imported_is_told(tmp_path: pathlib.Path) -> None:
    (tmp_path / "running.py").write_text("""
import numpy as np
import forebay as fb

def same(batch):
    return batch

print([b["n"].tolist() for b in fb.arrays({"n": np.arange(4)}).batch(size=2).map(same, workers=1, inside="processes").load()])
""")
    done = subprocess.run([sys.executable, "-c", "import running"], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert "in map: the function cannot be loaded in a process" in done.stderr
    assert 'put what the module runs below `if __name__ == "__main__":`' in done.stderr


@pytest.mark.parametrize("messages", [[], [MESSAGE.pack(SETUP, 0, 0)]], ids=["before its set-up", "before its answer"])
def test_a_process_whose_loader_is_closed_at_once_ends_quietly(messages: "list[bytes]") -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    region = Region(os.memfd_create("test"))
    with ours, theirs:
        for message in messages:
            ours.send(message)
        ours.shutdown(socket.SHUT_RDWR)
        _worker.main(theirs, region)
    region.close()
