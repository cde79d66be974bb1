#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes random pipelines and checks what must hold of each (claims.py). Prints every failure as the Python that shows it.

    tests/pipelines/run.py [--runs 300] [--first 0] [--jobs 2] [--preload LIBRARY...]

A pipeline that ends its process costs the rest of no other one: processes work off stretches of numbers, and one that died is
replaced. `--preload` is for a module that is built with a sanitizer. One case: `tests/pipelines/run.py --runs 1 --first NUMBER`.
"""
from __future__ import annotations

import argparse
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import traceback

STRETCH = 50      # pipelines of a process
LONGEST = 600     # seconds of a process; then a pipeline hangs


def work(first: int, count: int, clean: pathlib.Path) -> None:
    """In a process of its own: a line for each pipeline before it begins, and one behind it."""
    import warnings

    import claims
    from pipelines import case
    warnings.simplefilter("ignore")
    for seed in range(first, first + count):
        print("begin", seed, case(seed).code, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            claims.copied(clean, folder)
            os.chdir(folder)
            try:
                claims.check(seed, clean)
                print("passed", flush=True)
            except claims.Refused as error:
                print("refused", str(error).replace("\n", " "), flush=True)
            except BaseException as error:  # noqa: BLE001: whatever it is, it is reported with its pipeline
                where = traceback.extract_tb(error.__traceback__)[-1]
                print("failed", f"{type(error).__name__}: {error} ({pathlib.Path(where.filename).name}:{where.lineno})".replace("\n", " "), flush=True)
            os.chdir(clean)


class Report:
    def __init__(self) -> None:
        self.counts: "collections.Counter[str]" = collections.Counter()

    def add(self, seed: int, code: str, outcome: str, text: str) -> None:
        self.counts[outcome] += 1
        if outcome == "failed":
            print(f"\npipeline {seed}: {text}\n    {code}", flush=True)


def child(options: argparse.Namespace, *arguments: object) -> "subprocess.Popen[str]":
    environment = {**os.environ, **({"LD_PRELOAD": " ".join(options.preload)} if options.preload else {})}
    return subprocess.Popen([sys.executable, __file__, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment)


def stretch(first: int, count: int, clean: pathlib.Path, options: argparse.Namespace, report: Report) -> None:
    """Works off pipelines `first` and so on in processes, a new one after each that died."""
    end = first + count
    while first < end:
        worker = child(options, "--child", first, end - first, clean)
        begun, code, began = first - 1, "", time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(1) as reader:
            text = reader.submit(worker.stderr.read)  # type: ignore[union-attr]
            alarm = threading.Timer(LONGEST, worker.kill)
            alarm.start()
            for line in worker.stdout:  # type: ignore[union-attr]
                word, _, rest = line.rstrip("\n").partition(" ")
                if word == "begin":
                    begun, code = int(rest.partition(" ")[0]), rest.partition(" ")[2]
                elif word in ("passed", "refused", "failed"):
                    report.add(begun, code, word, rest)
                    first = begun + 1
            worker.wait()
            alarm.cancel()
            errors = text.result()
        if first <= begun or worker.returncode:
            lines = [line for line in errors.splitlines() if "rror" in line or line.lstrip().startswith(("#1 ", "#2 ", "#3 "))]
            report.add(begun, code, "failed", f"its process ended with {worker.returncode} after {time.monotonic() - began:.0f} s: "
                                              f"{' | '.join(lines[-8:])}")
            first = max(begun, first) + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--preload", nargs="+", default=[])
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        writer = child(options, "--write", folder)
        errors = writer.communicate()[1]
        if writer.returncode:
            print(errors)
            return 1
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            starts = range(options.first, options.first + options.runs, STRETCH)
            for _ in pool.map(lambda first: stretch(first, min(STRETCH, options.first + options.runs - first), pathlib.Path(folder), options,
                                                    report), starts):
                pass
    counts = report.counts
    print(f"{options.runs} random pipelines: {counts['passed']} hold, {counts['refused']} refused, {counts['failed']} failed")
    if counts["passed"] * 5 < options.runs:
        print("fewer than a fifth of them can run: nothing was shown")
        return 1
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        import data
        data.write(pathlib.Path(sys.argv[2]))
    elif sys.argv[1:2] == ["--child"]:
        work(int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4]))
    else:
        sys.exit(main())
