#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make bench`: Forebay against other pipelines and the physical floors, interleaved in one run (bench/README.md).

    bench/run.py [--rivals PYTHON] [--scale 0.05] [--workloads W1,W2] [--threads 1,2] [--rounds 7] [--data DIR] [--results DIR]

Installs the rivals into build/rivals, generates the data into build/bench-data, both once, and writes a table and a plot to
bench/results. `--rivals` names an interpreter that has the rivals' packages, and then nothing is installed.
"""
from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
WORKLOADS = "W1,W2,W3a,W3b,W3c,W4a,W4b,W4c,W5,W6,W6b,W7,W8,W9,W10,W12,W13"


def install_rivals(folder: Path) -> str:
    """The interpreter of an environment with every rival that can be installed."""
    python = folder / "bin" / "python"
    done = folder / "installed"
    wanted = (BENCH / "requirements-rivals.txt").read_text()
    if done.exists() and done.read_text() == wanted:
        return str(python)
    if not python.exists():
        subprocess.check_call([sys.executable, "-m", "venv", str(folder)])
    for package in (line for line in wanted.splitlines() if line and not line.startswith("#")):
        print(f"installing {package}", flush=True)
        run = subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package],
                             capture_output=True, text=True)
        if run.returncode:
            print(f"  not installed, its rivals are left out: {(run.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    done.write_text(wanted)
    return str(python)


def generate(python: str, folder: Path, scale: str) -> None:
    """The data of all workloads; data of another scale in the same folder are an error."""
    if not (folder / "manifest.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.check_call([python, str(BENCH / "harness/generate.py"), str(folder), "--scale", scale])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rivals", help="a Python that has the rivals' packages")
    parser.add_argument("--scale", default="0.05", help="1.0 is 1.2 GB of data")
    parser.add_argument("--workloads", default=WORKLOADS)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", default="7")
    parser.add_argument("--data", type=Path, help="default: build/bench-data-SCALE")
    parser.add_argument("--results", type=Path, default=BENCH / "results", help="folder of the table and the plot")
    options = parser.parse_args()
    rivals = options.rivals or install_rivals(ROOT / "build/rivals")
    data = options.data or ROOT / f"build/bench-data-{options.scale}"
    generate(rivals, data, options.scale)
    numbers = ROOT / "build/bench-results.json"
    contestant = (f"forebay={shlex.quote(sys.executable)} {shlex.quote(str(BENCH / 'contestant.py'))} "
                  "--workload {workload} --data {data} --threads {threads} --batch {batch}")
    subprocess.check_call([
        sys.executable, str(BENCH / "harness/compare.py"), "--data", str(data), "--workloads", options.workloads,
        "--threads", options.threads, "--rounds", options.rounds, "--out", str(numbers),
        "--logs", str(ROOT / "build/bench-logs"), "--python", f"*={rivals}", "--contestant", contestant])
    return subprocess.call([rivals, str(BENCH / "report.py"), str(numbers), str(options.results)])


if __name__ == "__main__":
    sys.exit(main())
