#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the early work of one large file: a filter, lengths for `frames`, and the trial decode of `skip_record`.

    .venv/bin/python bench/early_work.py [--megabytes 256] [--threads 2] [--repeat 7]

One file of Examples with 40 features, plain and in zstd. Runs with one thread and with several take turns; the best of the
repetitions of each counts, because other programs only make a run slower. The filter keeps one record of a hundred, so
that next to nothing but early work is left. `decode` has no early work: all threads make its batches, so it shows what the
machine has left for a second thread.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import tempfile
import time
from typing import Any

import numpy as np

import forebay as fb

FEATURES = {f"c{i}": fb.fixed("int64") for i in range(39)} | {"tokens": fb.var_len("int64")}


def write(path: pathlib.Path, size: int, compression: str | None) -> None:
    rng = np.random.default_rng(1)
    some = [fb.encode_example({f"c{i}": int(v) for i, v in enumerate(rng.integers(0, 1 << 20, 39))} |
                              {"tokens": rng.integers(0, 50_000, int(n))})
            for n in rng.integers(1, 100, 4096)]
    fb.write_records(path, some * max(1, size // sum(map(len, some))), compression)


def pipes(path: pathlib.Path) -> dict[str, Any]:
    source = fb.tfrecord([str(path)]).example(FEATURES)
    return {"decode": source.batch(4096),
            "filter": source.filter("c7 % 100 == 3").inputs("c1").batch(256),
            "frames": source.frames(["tokens"], batch_size=20_000).inputs("tokens"),
            "skip_record": source.inputs("c1").batch(4096).on_corrupt("skip_record")}


def seconds(pipe: Any, threads: int) -> float:
    with pipe.load(threads=threads) as loader:
        begun = time.perf_counter()
        for _ in loader:
            pass
        return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--compression", choices=["none", "zstd", "gzip"], action="append")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FOREBAY_CACHE"] = folder
        for compression in asked.compression or ["none", "zstd"]:
            path = pathlib.Path(folder) / f"{compression}.tfrecord"
            write(path, asked.megabytes << 20, None if compression == "none" else compression)
            for name, pipe in pipes(path).items():
                times = [(seconds(pipe, 1), seconds(pipe, asked.threads)) for _ in range(asked.repeat)]
                one, several = (min(column) for column in zip(*times))
                print(f"{compression:5} {name:12} 1 thread {one:6.3f} s, {asked.threads} threads {several:6.3f} s: "
                      f"{one / several:5.2f} times as fast", flush=True)


if __name__ == "__main__":
    main()
