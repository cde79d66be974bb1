# SPDX-License-Identifier: Apache-2.0
"""Runs the conformance vectors against the installed package; see README.md."""

from __future__ import annotations

import argparse
import fnmatch
import json
import lzma
import multiprocessing as mp
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from skipped import SKIPPED

_TIMEOUT = 30.0   # seconds for one vector: a hang is a failure like any other
Vector = dict[str, Any]


def vectors(folder: Path, only: str) -> Iterator[Vector]:
    """Every line whose id fits, of `*.jsonl.xz` in the folder and of `*.jsonl` in the folders in it."""
    for path in [*sorted(folder.glob("*.jsonl.xz")), *sorted(folder.glob("*/*.jsonl"))]:
        with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                vector = json.loads(line)
                if fnmatch.fnmatchcase(vector["id"], only):
                    yield vector


def _check(vector: Vector) -> list[str]:
    """What is wrong with one vector; nothing when it passes."""
    import departures  # here, not above: only the working processes load the package
    import ops

    check = ops.OPS.get(vector["op"])
    if check is None:
        return [f"nothing here runs `{vector['op']}`"]
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fb", dir=shared if shared.is_dir() else None) as folder:
        return check(departures.promised(vector), Path(folder))


def _work(questions: Connection) -> None:
    """One process: a vector comes, what is wrong with it goes back."""
    while (vector := questions.recv()) is not None:
        try:
            answer = _check(vector)
        except Exception as error:  # noqa: BLE001 (a failure of this vector, whatever it is)
            answer = [f"raised {type(error).__name__}: {str(error)[:200]}"]
        questions.send(answer)


class Worker:
    """A process that may die or hang without taking the run with it."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self.pipe, theirs = mp.Pipe()
        self.process = mp.get_context("spawn").Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, index: int, vector: Vector) -> None:
        self.index, self.since = index, time.monotonic()
        self.pipe.send(vector)

    def answer(self) -> list[str]:
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            self._start()
            return [f"the process died ({code})"]

    def overdue(self) -> bool:
        return time.monotonic() - self.since > _TIMEOUT

    def replace(self) -> list[str]:
        self.process.kill()
        self.process.join()
        self._start()
        return [f"no answer within {_TIMEOUT:.0f} s"]


def check_all(todo: list[Vector], jobs: int) -> dict[int, list[str]]:
    """What is wrong with each vector, by its place in the list."""
    waiting = list(enumerate(todo))[::-1]
    idle = [Worker() for _ in range(min(jobs, len(todo)))]
    busy: list[Worker] = []
    results: dict[int, list[str]] = {}
    while waiting or busy:
        while waiting and idle:
            busy.append(idle.pop())
            busy[-1].ask(*waiting.pop())
        ready = wait([worker.pipe for worker in busy], timeout=1)
        for worker in list(busy):
            if worker.pipe in ready or worker.overdue():
                results[worker.index] = worker.answer() if worker.pipe in ready else worker.replace()
                busy.remove(worker)
                idle.append(worker)
    for worker in idle:
        worker.pipe.send(None)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*", help="run only the vectors whose id fits this pattern")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    folder = Path(os.environ.get("FOREBAY_CONFORMANCE", Path(__file__).parent / "vectors"))
    found = list(vectors(folder, options.only))
    if not found:
        print(f"no vectors in {folder}" + (f" whose id fits {options.only}" if options.only != "*" else ""))
        return 1
    todo = [vector for vector in found if vector["op"] not in SKIPPED]
    failed = {i: differences for i, differences in check_all(todo, options.jobs).items() if differences}
    for i, differences in sorted(failed.items()):
        print(f"{todo[i]['id']}: {' '.join('; '.join(differences).split())}")
    print(f"{len(todo) - len(failed)} passed, {len(failed)} failed, {len(found) - len(todo)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
