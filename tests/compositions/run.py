#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts everything behind and beside everything: small pipelines, each planned, run with 1 and 4 threads, saved and resumed, and shared out.

    tests/compositions/run.py [--jobs 2] [--only TEXT] [--show CLASS] [--update] [--spoiled]

A cell works; or it is refused, and `meaning.py` says why its words have no meaning; or it is refused although they have one, which is a
limitation; or it is wrong, or its process ends. Exit 1 if a cell is wrong or crashes, or if its class is not the one of classes.txt.
A cell may leave `limitation` only by working. --update writes classes.txt and docs/composition-table.md, which must be that of the classes. --spoiled checks the models: values are taken out, and it tells
of how many working cells that is noticed; the others know only of which rows theirs must be.
"""
from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import queue
import select
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import data
import page
from cells import Cell, cells
from meaning import reason

HERE = pathlib.Path(__file__).resolve().parent
STORED = HERE / "classes.txt"
CLASSES = ["works", "meaningless", "limitation", "wrong", "crash"]
LONGEST = 60.0   # seconds of a cell


def work(folder: pathlib.Path, spoiled: bool) -> None:
    """In a process of its own: a line in for the number of each cell, a line out for what it did."""
    import claims
    import doors
    every = cells()
    for line in sys.stdin:
        cell = every[int(line)]
        try:
            outcome = doors.check(cell, folder) if cell.door else claims.check(cell, folder, spoiled)
        except Exception as error:  # noqa: BLE001: whatever it is, it belongs to the cell
            at = traceback.extract_tb(error.__traceback__)[-1]
            outcome = claims.wrong(f"{type(error).__name__}: {error} ({pathlib.Path(at.filename).name}:{at.lineno})")
        print("@" + json.dumps(outcome), flush=True)


class Worker:
    """A process that checks cells, and another one after it when it ends."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._start()

    def _start(self) -> None:
        command = [sys.executable, __file__, "--child", str(self._folder), *["--spoiled"] * ARGUMENTS.spoiled]
        self._process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def check(self, number: int) -> "tuple[str, str, bool, bool]":
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{number}\n")
        self._process.stdin.flush()
        end = time.monotonic() + LONGEST
        while select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
            line = self._process.stdout.readline()
            if line.startswith("@"):
                what, message, counted, restarted = json.loads(line[1:])
                return what, message, counted, restarted
            if not line:
                return self._crash(f"the process ended with {self._process.wait()}")
        self._process.kill()
        return self._crash(f"no answer within {LONGEST:.0f} s")

    def _crash(self, message: str) -> "tuple[str, str, bool, bool]":
        self.end()
        self._start()
        return "crash", message, False, False

    def end(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()


class Checked:
    """What the cells did, by number."""

    def __init__(self, every: "list[Cell]") -> None:
        self._every = every
        self.outcomes: "dict[int, tuple[str, str, bool, bool]]" = {}

    def run(self, chosen: "list[int]", folder: pathlib.Path) -> None:
        waiting: "queue.SimpleQueue[int]" = queue.SimpleQueue()
        for number in chosen:
            waiting.put(number)

        def loop(worker: Worker) -> None:
            while True:
                try:
                    number = waiting.get_nowait()
                except queue.Empty:
                    return worker.end()
                self.outcomes[number] = worker.check(number)

        threads = [threading.Thread(target=loop, args=[Worker(folder)]) for _ in range(ARGUMENTS.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def class_of(self, number: int) -> str:
        what = self.outcomes[number][0]
        if what != "refused":
            return what
        cell = self._every[number]
        return "meaningless" if not cell.door and reason(cell) else "limitation"

    def report(self) -> None:
        by_area: "dict[str, collections.Counter[str]]" = {}
        for number in sorted(self.outcomes):
            by_area.setdefault(self._every[number].area, collections.Counter())[self.class_of(number)] += 1
        print(f"{'area':9}" + "".join(f"{name:>13}" for name in CLASSES))
        for area, counts in [*by_area.items(), ("all", sum(by_area.values(), collections.Counter()))]:
            print(f"{area:9}" + "".join(f"{counts[name]:13}" for name in CLASSES))
        works = [self.outcomes[number] for number in self.outcomes if self.class_of(number) == "works"]
        print(f"of those that work, len is known in {sum(counted for _, _, counted, _ in works)}, and restarts were tried in "
              f"{sum(restarted for *_, restarted in works)}")

    def show(self, name: str) -> None:
        for number in sorted(self.outcomes):
            if self.class_of(number) == name:
                cell = self._every[number]
                print(f"{name}: {cell.area}: {cell.name}: {' '.join(self.outcomes[number][1].split())[:200]}")


def stored() -> "dict[tuple[str, str], str]":
    """The classes of the cells that are refused."""
    lines = STORED.read_text().splitlines() if STORED.exists() else []
    return {(area, name): kind for kind, area, name in (line.split("\t") for line in lines)}


def main() -> int:
    if ARGUMENTS.child:
        work(ARGUMENTS.child, ARGUMENTS.spoiled)
        return 0
    every = cells()
    chosen = [number for number, cell in enumerate(every) if ARGUMENTS.only in f"{cell.area}: {cell.name}"]
    checked = Checked(every)
    with tempfile.TemporaryDirectory(prefix="compositions-") as name:
        data.write(pathlib.Path(name))
        checked.run(chosen, pathlib.Path(name))
    checked.report()
    if ARGUMENTS.spoiled:
        working = [number for number in chosen if (every[number].area, every[number].name) not in stored() and not every[number].shard
                   and not every[number].elastic and not every[number].door]
        noticed = sum(checked.class_of(number) == "wrong" for number in working)
        print(f"{noticed} of {len(working)} spoiled cells are noticed")
        return 0
    for name in ("wrong", "crash", *ARGUMENTS.show):
        checked.show(name)
    before = stored()
    changed = 0
    for number in chosen:
        cell, now = every[number], checked.class_of(number)
        was = before.get((cell.area, cell.name), "works")
        if was != now:
            changed += 1
            print(f"{was} -> {now}: {cell.area}: {cell.name}: {' '.join(checked.outcomes[number][1].split())[:200]}")
    if ARGUMENTS.update:
        for number in chosen:
            before[(every[number].area, every[number].name)] = checked.class_of(number)
        lines = [(before.get((cell.area, cell.name), "works"), cell.area, cell.name) for cell in every]
        STORED.write_text("".join("\t".join(line) + "\n" for line in lines if line[0] in ("meaningless", "limitation")))
        page.PAGE.write_text(page.text(stored()))
        changed = 0
    elif not ARGUMENTS.only and page.PAGE.read_text() != page.text(stored()):
        changed += 1
        print(f"{page.PAGE.name} is not the page of {STORED.name}: tests/compositions/run.py --update writes it")
    bad = sum(checked.class_of(number) in ("wrong", "crash") for number in chosen)
    print(f"{len(chosen)} cells: {bad} wrong, {changed} of another class than in {STORED.name}")
    return 1 if bad or changed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="a part of area and name, as `combine: mix[`")
    parser.add_argument("--show", action="append", default=[], choices=CLASSES, help="print the cells of a class, with their messages")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--spoiled", action="store_true")
    parser.add_argument("--child", type=pathlib.Path, help=argparse.SUPPRESS)
    ARGUMENTS = parser.parse_args()
    sys.exit(main())
