#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times how long the order of an epoch takes to make.

    .venv/bin/python bench/sequence_order.py [--sequences 1000000] [--repeat 5]

Prints for each mode the seconds from the load to the first batch, over rows in memory whose length is a tensor; the best of the
repetitions counts. `default` is what the rest takes.
"""
from __future__ import annotations

import argparse
import time

import numpy as np

import forebay as fb

MODES = ("default", "reverse", "sorted", "random", "random_sample", "laplace:.1000", "sort_bin_shuffle:.1000",
         "sort_bin_shuffle_x2:.1000", "default_every_n:100")


def seconds(pipe: fb.Pipeline) -> float:
    begin = time.perf_counter()
    with pipe.load(threads=1) as loader:
        next(loader)
        return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    lengths = np.random.default_rng(1).integers(1, 3000, args.sequences).astype(np.int32)
    source = fb.arrays({"length": lengths})
    for rng in ("forebay", "numpy_legacy"):
        for mode in MODES:
            pipe = source.sequence_order(mode, by="length", rng=rng).batch(size=64)
            print(f"{rng:13} {mode:26} {min(seconds(pipe) for _ in range(args.repeat)):.3f} s")


if __name__ == "__main__":
    main()
