# SPDX-License-Identifier: Apache-2.0
"""The real command, run to its end or interrupted while it reads."""

import os
import pathlib
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(os.environ.get("FOREBAY_COMMAND", ROOT / "build" / "release" / "forebay"))


def forebay(*arguments, **options):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


def start(*arguments):
    return subprocess.Popen([COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def has_open(process, file):
    """Whether the process has that file open or mapped."""
    proc = pathlib.Path("/proc", str(process.pid))
    try:
        links = [os.readlink(link) for link in (proc / "fd").iterdir()]
    except OSError:  # closed meanwhile, or the process is at its end
        links = []
    return str(file) in links or str(file) in (proc / "maps").read_text()


def interrupt_while_reading(process, file):
    """Sends SIGINT once the process reads the file; returns its code, what it wrote and how many seconds it took."""
    deadline = time.monotonic() + 60
    while process.poll() is None and not has_open(process, file):
        assert time.monotonic() < deadline, f"{file} was not opened"
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, errors = process.communicate(timeout=60)
    return process.returncode, out, errors, time.monotonic() - began
