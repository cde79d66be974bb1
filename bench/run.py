#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make bench`: Forebay against other pipelines and the physical floors, interleaved in one run (bench/README.md).

    bench/run.py [--rivals PYTHON] [--scale 0.05] [--workloads W1,W2] [--contestants 'tf_*'] [--threads 1,2] [--rounds 7]
                 [--target SECONDS] [--data DIR] [--results DIR]

Installs the rivals into build/rivals, generates the data into build/bench-data-SCALE, both once, and writes a table and a
plot to bench/results. `--rivals` names an interpreter that has the rivals' packages, and then nothing is installed.
Exit status 1: Forebay itself failed in a workload.
"""
from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path

import rivals_environment

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
RIVALS = ROOT / "build/rivals"
WORKLOADS = "W1,W2,W3a,W3b,W3c,W4a,W4b,W4c,W5,W6,W6b,W7,W8,W9,W10,W12,W13"


def generate(folder: Path, scale: str) -> None:
    """The data of all workloads, unless they are there."""
    if not (folder / "manifest.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.check_call([sys.executable, str(BENCH / "harness/generate.py"), str(folder), "--scale", scale])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rivals", help="a Python that has the rivals' packages")
    parser.add_argument("--scale", default="0.05", help="1.0 is 1.2 GB of data, 0.001 the least that makes sense")
    parser.add_argument("--workloads", default=WORKLOADS)
    parser.add_argument("--contestants", default="", help="names or patterns of rivals, default all")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", default="7")
    parser.add_argument("--target", default="1.0", help="seconds a timed pass takes at least, by more epochs")
    parser.add_argument("--data", type=Path, help="default: build/bench-data-SCALE")
    parser.add_argument("--results", type=Path, default=BENCH / "results", help="folder of the table and the plot")
    options = parser.parse_args()
    rivals = options.rivals or rivals_environment.install(RIVALS)
    data = options.data or ROOT / f"build/bench-data-{options.scale}"
    generate(data, options.scale)
    numbers = ROOT / "build/bench-results.json"
    missing = ROOT / "build/bench-not-installed.json"
    missing.write_text(json.dumps({} if options.rivals else rivals_environment.not_installed(RIVALS)))
    contestant = (f"forebay={shlex.quote(sys.executable)} {shlex.quote(str(BENCH / 'contestant.py'))} "
                  "--workload {workload} --data {data} --threads {threads} --batch {batch}")
    numbers.unlink(missing_ok=True)
    status = subprocess.call([
        sys.executable, str(BENCH / "harness/compare.py"), "--data", str(data), "--workloads", options.workloads,
        "--contestants", options.contestants, "--threads", options.threads, "--rounds", options.rounds,
        "--target", options.target, "--out", str(numbers), "--logs", str(ROOT / "build/bench-logs"), "--python", f"*={rivals}",
        "--contestant", contestant])
    if not numbers.exists():
        return status or 1
    # Of a comparison that ended early, too: the workloads before are complete.
    return subprocess.call([rivals, str(BENCH / "report.py"), str(numbers), str(options.results), str(missing)]) or status


if __name__ == "__main__":
    sys.exit(main())
