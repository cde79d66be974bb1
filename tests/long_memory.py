#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long runs of sequences stay within their memory budget: 200 MB of files are read over and over, 4 GB in all.

    .venv/bin/python tests/long_memory.py [KIND ...] [--gigabytes 4] [--list]

Each kind of pipeline runs in a process of its own, with a budget of 64 MiB. Its resident memory must not grow by more than
the budget and 64 MiB over what the process had when the run began. Prints a line for each kind; the exit status is 1 if
one failed."""
from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile
from typing import Callable

import numpy as np

import forebay as fb

BUDGET = SLACK = 64 << 20
_MEL = 20     # floats of a frame
_FILES, _RECORDS = 8, 500

Kind = Callable[[fb.Pipeline], fb.Pipeline]
_x = "length(x)"
KINDS: "dict[str, Kind]" = {
    "plain": lambda pipe: pipe.batch(16, pad=True),
    "shuffle": lambda pipe: pipe.shuffle(200).batch(16, pad=True),
    "continuous": lambda pipe: pipe.continuous(50, 90, stride=40, keys=["x"]).shuffle(500).batch(32, pad=True),
    "discrete": lambda pipe: pipe.discrete(3, 5, keys=["x"]).batch(4, pad=True),
    "chunk": lambda pipe: pipe.shuffle(100).chunk(64, step=32, keys=["x"]).shuffle(1000).batch(64, pad=True),
    "context": lambda pipe: pipe.chunk(64, keys=["x"]).context(window={"x": 11}).frames(["x"], batch_size=8000),
    "sorted": lambda pipe: pipe.sequence_order("laplace:.100", by=_x).frames(["x"], batch_size=20000, max_seqs=40),
    "laplace": lambda pipe: pipe.laplace(100, _x).token_budget(16384, keys=["x"]).shuffle_batches(8),
    "buckets": lambda pipe: pipe.buckets("x", [400, 800, 1600], [16, 8, 8]),
    "packed": lambda pipe: pipe.packed(2048, 8, keys=["x"], segment_ids="segments"),
    "stateful": lambda pipe: pipe.shuffle(64).unroll(20, keys=["x"]).stateful(16),
    "unbatch": lambda pipe: pipe.unbatch(["x"]).shuffle(10_000).batch(512),
}


def write_files(folder: pathlib.Path) -> None:
    rng = np.random.default_rng(5)
    for part in range(_FILES):
        records = []
        for i in range(_RECORDS):
            frames = rng.standard_normal((int(rng.integers(100, 1100)), _MEL), dtype=np.float32)
            records.append(fb.encode_sequence_example({"id": part * _RECORDS + i}, {"x": list(frames)}))
        fb.write_records(folder / f"part-{part}.tfrecord", records)


def _status(field: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) << 10


def run(kind: str, folder: str, gigabytes: float) -> int:
    """Returns by how many bytes the resident memory grew at most."""
    size = sum(path.stat().st_size for path in pathlib.Path(folder).glob("*.tfrecord"))
    source = fb.tfrecord(f"{folder}/*.tfrecord").sequence_example(
        {"id": fb.fixed("int64")}, lists={"x": fb.fixed_len_sequence("float32", [_MEL])})
    pipe = KINDS[kind](source).epochs(max(1, round(gigabytes * 1e9 / size))).seed(1)
    before = _status("VmRSS")
    for _ in pipe.load(threads=2, memory=BUDGET):
        pass
    return _status("VmHWM") - before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", choices=[[], *KINDS])
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--list", action="store_true", help="print the kinds")
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        print(*KINDS, sep="\n")
        return 0
    if options.folder:
        print(run(options.kinds[0], options.folder, options.gigabytes))
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        write_files(pathlib.Path(folder))
        for kind in options.kinds or KINDS:
            command = [sys.executable, __file__, kind, "--folder", folder, "--gigabytes", str(options.gigabytes)]
            result = subprocess.run(command, capture_output=True, text=True)
            grown = int(result.stdout) if result.returncode == 0 else -1
            bad = not 0 <= grown <= BUDGET + SLACK
            failed += bad
            print(f"{kind}: resident memory grew by {grown / 2**20:.0f} MiB" if grown >= 0 else f"{kind}: {result.stderr}",
                  "FAILED" if bad else "", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
