#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make bench`: Forebay against other pipelines and the physical floors, interleaved in one run.

    bench/run.py [--rivals PYTHON] [--scale 0.05] [--workloads W1,W2] [--threads 1,2] [--rounds 7] [--data DIR] [--out FILE]

Uses the benchmark harness in ../shared/bench; data is generated once, into build/bench-data. `--rivals` names an interpreter
that has the rivals' packages; without it only those importable here take part.
"""
from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HARNESS = ROOT.parent / "shared" / "bench"
WORKLOADS = "W1,W2,W3a,W3b,W3c,W6,W6b,W12,W13"
# Alias workloads are views of another one's files.
GENERATED = "W1,W2,W3,W6"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rivals", default=sys.executable, help="a Python that has the rivals' packages")
    parser.add_argument("--scale", default="0.05")
    parser.add_argument("--workloads", default=WORKLOADS)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", default="7")
    parser.add_argument("--data", type=Path, default=ROOT / "build/bench-data")
    parser.add_argument("--out", type=Path, default=ROOT / "build/bench-results.json")
    options = parser.parse_args()
    if not HARNESS.is_dir():
        print(f"The benchmark harness is not in {HARNESS.parent.name}/{HARNESS.name} beside this repository; "
              "counting instructions instead.")
        return subprocess.call([sys.executable, str(ROOT / "bench/instructions.py")])
    if not (options.data / "manifest.json").exists():
        options.data.mkdir(parents=True, exist_ok=True)
        subprocess.check_call([sys.executable, str(HARNESS / "generate.py"), str(options.data), "--scale", options.scale,
                               "--only", GENERATED])
    contestant = (f"forebay={shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'bench/contestant.py'))} "
                  "--workload {workload} --data {data} --threads {threads} --batch {batch}")
    return subprocess.call([
        sys.executable, str(HARNESS / "run.py"), "--data", str(options.data), "--workloads", options.workloads,
        "--threads", options.threads, "--rounds", options.rounds, "--out", str(options.out),
        "--logs", str(ROOT / "build/bench-logs"), "--python", f"*={options.rivals}", "--contestant", contestant])


if __name__ == "__main__":
    sys.exit(main())
