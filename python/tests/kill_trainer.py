# SPDX-License-Identifier: Apache-2.0
"""A trainer that is killed: the program that test_kill.py runs.

The parent forks a child for every life, kills it after a random time, and looks at what it left. A child logs the digest
of each batch, and now and then writes a checkpoint: the loader's state and how long the log was. The next child cuts
the log back to the checkpoint and goes on, with other threads and prefetch.

Arguments: a folder with document.json and unbroken.log, the number of kills, a seed. Prints what it did as JSON.
"""
from __future__ import annotations

import json
import os
import pathlib
import random
import shutil
import signal
import sys
import time
import traceback

from streams import digest

import forebay as fb


def train(folder: pathlib.Path, generator: random.Random) -> None:
    loader = fb.load(folder / "document.json", threads=generator.choice([1, 2, 3, 5]),
                     prefetch=generator.choice([None, 1, 2, 7]), memory=generator.choice([None, "64MiB"]))
    log = os.open(folder / "run.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    length = 0
    if (folder / "checkpoint.json").exists():
        checkpoint = json.loads((folder / "checkpoint.json").read_text())
        loader.load_state_dict(checkpoint["loader"])
        length = checkpoint["log"]
    os.ftruncate(log, length)
    for batch in loader:
        length += os.write(log, f"{batch.number} {digest(batch)}\n".encode())
        if generator.random() < 0.25:
            with fb.atomic_file(folder / "checkpoint.json") as file:
                file.write(json.dumps({"loader": loader.state_dict(), "log": length}).encode())
        time.sleep(generator.random() * 1e-3)
    loader.close()


def child(folder: pathlib.Path, seed: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        train(folder, random.Random(seed))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def live(folder: pathlib.Path, seed: int, seconds: float) -> bool:
    """One life. Whether it was killed; otherwise the run is at its end."""
    pid = child(folder, seed)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)  # of one that has ended, nothing
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status not in (0, -signal.SIGKILL):
        raise SystemExit(f"the trainer ended with {status}")
    return status != 0


def check(folder: pathlib.Path, unbroken: bytes) -> int:
    """That what the killed one left is a beginning of the unbroken run. The length of the log at the checkpoint."""
    path = folder / "run.log"
    left = path.read_bytes() if path.exists() else b""
    whole = left[:left.rfind(b"\n") + 1]
    if not unbroken.startswith(whole):
        raise SystemExit("the log is not a beginning of the unbroken run")
    if not (folder / "checkpoint.json").exists():
        return 0
    length: int = json.loads((folder / "checkpoint.json").read_text())["log"]
    if length > len(whole):
        raise SystemExit("the checkpoint is ahead of the log")
    return length


def run(folder: pathlib.Path, unbroken: bytes, generator: random.Random) -> int:
    """A run from its first life to its end. The number of kills."""
    for left in [folder / "run.log", folder / "checkpoint.json"]:
        left.unlink(missing_ok=True)
    shutil.rmtree(folder / ".forebay", ignore_errors=True)
    kills, reached, most = 0, 0, 0.03
    while live(folder, generator.getrandbits(32), generator.uniform(0, most)):
        kills += 1
        length = check(folder, unbroken)
        # A machine that is busy must get on, too.
        most = 0.03 if length > reached else most * 1.2
        reached = length
    if (folder / "run.log").read_bytes() != unbroken:
        raise SystemExit("the run is not the unbroken one")
    return kills


def main() -> None:
    folder, kills, generator = pathlib.Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    unbroken = (folder / "unbroken.log").read_bytes()
    done = runs = 0
    while done < kills:
        done += run(folder, unbroken, generator)
        runs += 1
    print(json.dumps({"kills": done, "runs": runs}))


if __name__ == "__main__":
    main()
