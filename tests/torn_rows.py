#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes plain record files while they are read, and looks at every row that is delivered.

    tests/torn_rows.py [--runs 300] [--seed 1]

All 256 values of a record are equal and name the version of its file. Each run reads one file of version 1. After the
first batch another thread writes version 2 in place once or over and over, cuts the file, or renames version 2 over it;
in half of the runs it then puts the modification time back. Runs differ in order, threads, policy and passes.

Fails when a row has values of two versions, or when a run ends without an error although its rows are of two versions
or too few.
"""
from __future__ import annotations

import argparse
import collections
import itertools
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import SimpleQueue

import numpy as np

import forebay as fb

RECORDS, VALUES, BATCH = 1000, 256, 50
FILES = 16  # used in turn, so that most files are older than a tick of the file system's clock
CHANGES = ("rewrite", "rewrite over and over", "cut", "swap")
STEPS = {"in order": [], "shuffled": [{"shuffle": {"buffer": 300}}]}


def content(folder: Path, version: int) -> bytes:
    path = folder / "content"
    fb.write_records(path, [fb.encode_example({"x": np.full(VALUES, float(version))})] * RECORDS)
    return path.read_bytes()


class Changer:
    """A thread that changes one file at a time."""

    def __init__(self, folder: Path) -> None:
        self.old, self.new = content(folder, 1), content(folder, 2)
        self.orders: SimpleQueue[tuple[str, Path, bool, float] | None] = SimpleQueue()
        self.done, self.stop = threading.Event(), threading.Event()
        threading.Thread(target=self.work, daemon=True).start()

    def restore(self, path: Path) -> None:
        """The file as a run finds it: always another write than the last one."""
        with open(path, "r+b" if path.exists() else "wb") as file:
            file.write(self.old)
            file.truncate()

    def begin(self, *order: object) -> None:
        self.done.clear()
        self.stop.clear()
        self.orders.put(order)

    def end(self) -> None:
        self.stop.set()
        self.done.wait()

    def work(self) -> None:
        while order := self.orders.get():
            how, path, put_back, delay = order
            before = os.stat(path)
            time.sleep(delay)
            if how == "swap":
                other = path.with_suffix(".new")
                other.write_bytes(self.new)
                os.rename(other, path)
            elif how == "cut":
                os.truncate(path, len(self.old) * 3 // 5)
            else:
                self.rewrite(path, how != "rewrite")
            if put_back:
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            self.done.set()

    def rewrite(self, path: Path, often: bool) -> None:
        descriptor = os.open(path, os.O_WRONLY)
        for data in itertools.cycle((self.new, self.old)):
            os.pwrite(descriptor, data, 0)
            if not often or self.stop.is_set():
                break
        os.close(descriptor)


def run(changer: Changer, path: Path, setting: tuple[str, bool, str, int, str, int], draw: random.Random) -> tuple[str, str]:
    """How the run ended, and what is wrong with that."""
    how, put_back, order, threads, policy, epochs = setting
    document = {"source": {"tfrecord": {"files": [str(path)], "compression": "none"}},
                "decode": {"example": {"features": {"x": {"dtype": "float32", "shape": [VALUES]}}}},
                "steps": [*STEPS[order], {"batch": {"size": BATCH}}],
                "epochs": epochs, "seed": draw.randrange(1 << 30), "on_corrupt": policy}
    rows, versions, torn, end, began = 0, set(), 0, "clean", False
    try:
        with fb.load(document, threads=threads, prefetch=draw.choice((1, 2, 4))) as loader:
            for batch in loader:
                if not began:
                    changer.begin(how, path, put_back, draw.random() * 0.001)
                    began = True
                low, high = batch["x"].min(axis=1), batch["x"].max(axis=1)
                torn += int((low != high).sum())
                versions |= set(low.tolist()) | set(high.tolist())
                rows += len(low)
    except fb.DataError as error:
        end = "changed" if "changed" in str(error) or "cut short" in str(error) else "other error"
        if end == "other error":
            print(error, file=sys.stderr)
    if began:
        changer.end()
    if torn:
        return end, f"{torn} torn rows"
    if end == "clean" and len(versions) > 1:
        return end, "rows of two versions and no error"
    return end, "" if end != "clean" or rows == RECORDS * epochs else f"{rows} rows and no error"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    settings = list(itertools.product(CHANGES, (False, True), STEPS, (1, 2), ("fail", "skip_record"), (1, 3)))
    ends: collections.Counter[tuple[str, str]] = collections.Counter()
    faults: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        changer = Changer(Path(name))
        paths = [Path(name) / f"{i}.tfrecord" for i in range(FILES)]
        for path in paths:
            changer.restore(path)
        for i in range(options.runs):
            if i % len(settings) == 0:
                draw.shuffle(settings)
            setting, path = settings[i % len(settings)], paths[i % FILES]
            end, fault = run(changer, path, setting, draw)
            ends[setting[0], end] += 1
            if fault:
                faults["torn" if "torn" in fault else "mixed" if "two" in fault else "short"] += 1
                print(f"run {i} {setting}: {fault}", file=sys.stderr)
            changer.restore(path)
    for (how, end), count in sorted(ends.items()):
        print(f"{how}: {end} {count}")
    print(f"{options.runs} runs, {sum(faults.values())} failed {dict(faults)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
