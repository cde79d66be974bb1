#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every fuzz target of a build folder for some seconds, from made seeds (corpus.py) and past findings (fuzz/corpus/NAME).

    fuzz/run.py BUILD_FOLDER [--seconds 30] [--jobs 2] [NAME...]
"""
from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import corpus

HERE = pathlib.Path(__file__).resolve().parent


def fuzz(program: pathlib.Path, build: pathlib.Path, seconds: int) -> tuple[bool, str]:
    name = program.name.removesuffix("_fuzz")
    found = build / "findings"
    found.mkdir(exist_ok=True)
    folders = [build / "corpus" / name, HERE / "corpus" / name]
    command = [str(program), f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-max_len=65536",
               "-print_final_stats=1", "-verbosity=1", f"-artifact_prefix={found}/{name}-", *[str(f) for f in folders if f.is_dir()]]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds + 120)
    runs = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    line = f"{name:10} {runs.group(1) if runs else '?':>10} inputs in {seconds} s"
    return done.returncode == 0, line if done.returncode == 0 else f"{line}\n{done.stderr[-6000:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_intermixed_args()
    corpus.write(options.build / "corpus", HERE.parent)
    programs = [p for p in sorted(options.build.glob("*_fuzz")) if not options.names or p.name.removesuffix("_fuzz") in options.names]
    if not programs:
        print(f"no fuzz target in {options.build}", file=sys.stderr)
        return 1
    failed = 0
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        for ok, text in pool.map(lambda p: fuzz(p, options.build, options.seconds), programs):
            print(("ok     " if ok else "FAILED ") + text, flush=True)
            failed += not ok
    print(f"{len(programs) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
