#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arrays as a source, against NumPy: rows of 3,073 bytes in a global shuffle, batches of 256.

    bench/arrays.py [--rows 500000] [--rounds 5] [--threads 2]

Prints the median rows per second of each contestant, interleaved in one process, and the ratios. The floor is one memcpy of
each batch's rows in the order of the memory, with NumPy.
"""
from __future__ import annotations

import argparse
import statistics
import time
from typing import Callable

import numpy as np

import forebay as fb

BATCH = 256


def forebay(data: np.ndarray, threads: int) -> int:
    rows = 0
    with fb.arrays({"image": data}).shuffle(global_=True).batch(size=BATCH).load(threads=threads) as loader:
        for batch in loader:
            rows += len(batch["image"])
    return rows


def numpy_gather(data: np.ndarray) -> int:
    order = np.random.default_rng(1).permutation(len(data))
    rows = 0
    for first in range(0, len(data), BATCH):
        rows += len(data[order[first:first + BATCH]])
    return rows


def floor(data: np.ndarray) -> int:
    out = np.empty((BATCH, data.shape[1]), data.dtype)
    for first in range(0, len(data) - BATCH, BATCH):
        np.copyto(out, data[first:first + BATCH])
    return len(data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    data = np.random.default_rng(0).integers(0, 256, (options.rows, 3073), np.uint8)
    contestants: dict[str, Callable[[], int]] = {
        "forebay, 1 thread": lambda: forebay(data, 1),
        f"forebay, {options.threads} threads": lambda: forebay(data, options.threads),
        "numpy gather": lambda: numpy_gather(data),
        "floor: memcpy in order": lambda: floor(data),
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(options.rounds):
        for name, run in contestants.items():
            begin = time.perf_counter()
            rows = run()
            times[name].append((time.perf_counter() - begin) / rows)
    medians = {name: statistics.median(each) for name, each in times.items()}
    for name, seconds in medians.items():
        print(f"{name:<24} {1 / seconds:12,.0f} rows/s   {medians['numpy gather'] / seconds:5.2f} x numpy   "
              f"{medians['floor: memcpy in order'] / seconds:5.0%} of the floor")


if __name__ == "__main__":
    main()
