#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the processes of `map` at random times, and compares every batch with that of a run without processes.

    tests/killed_workers.py [--kills 30] [--seed 1]
"""
from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import forebay as fb

MAX_GAP = 0.5  # seconds between two kills


def work(batch: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Takes some milliseconds, and depends on every byte and on the draws."""
    noise = rng.random(batch["x"].shape)
    for _ in range(20):
        noise = np.sort(noise + batch["x"], axis=1)
    return {"noise": noise, "y": batch["y"], "places": batch.origins}


def digest(batch: Any) -> str:
    return hashlib.blake2b(batch["noise"].tobytes() + batch["y"].tobytes() + repr(batch["places"]).encode()).hexdigest()


def children() -> list[int]:
    """The processes of `map` that this program started."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                status = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(status[1]) == os.getpid() and status[0] != "Z":
                found.append(int(entry))
    return found


class Killer(threading.Thread):
    """Kills one process after the other. After three kills without a batch it waits for one."""

    def __init__(self, kills: int, draw: random.Random) -> None:
        super().__init__(daemon=True)
        self.left, self.draw, self.batches = kills, draw, 0

    def run(self) -> None:
        without, seen = 0, 0
        while self.left:
            time.sleep(self.draw.uniform(0, MAX_GAP))
            without, seen = (0, self.batches) if self.batches > seen else (without, seen)
            found = children()
            if found and without < 3:
                os.kill(self.draw.choice(found), signal.SIGKILL)
                self.left -= 1
                without += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    import killed_workers  # a process imports this file as a module
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.tfrecord"
        fb.write_records(path, [fb.encode_example({"x": np.full(64, i / 7), "y": i}) for i in range(2000)])
        pipe = (fb.tfrecord(path).example({"x": fb.fixed("float32", [64]), "y": fb.fixed("int64")})
                .shuffle(buffer=500).batch(32).epochs(None).seed(options.seed))
        killer = Killer(options.kills, random.Random(options.seed))
        killer.start()
        with pipe.map(killed_workers.work, workers=2, inside="processes").load(threads=1) as killed, \
                pipe.map(killed_workers.work).load(threads=1) as whole:
            while killer.is_alive():
                if digest(next(killed)) != digest(next(whole)):
                    print(f"batch {killer.batches} is another one")
                    return 1
                killer.batches += 1
        if children():
            print("a process is left")
            return 1
    print(f"{options.kills} kills, {killer.batches} batches, all equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
