#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a restart into millions of small records whose order needs an attribute of each.

    .venv/bin/python bench/restart.py [--records 10000000] [--files 10] [--repeat 3] [--folder FOLDER] [--keep]

Writes TFRecord files of one number each into a temporary folder, and stores indexes and attributes (`forebay index
--document`). Then it restarts nine tenths into the pass, and prints the medians of the seconds and of the
processor time from `load_state_dict` to the next batch. "without" is one restart after the stores were deleted.
"""
from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

import forebay as fb

ROWS = 1000
ORDERS: dict[str, Callable[[Any], Any]] = {
    "filter, files in order": lambda p: p.filter("n % 10 != 3"),
    "filter, buffer of 10,000": lambda p: p.filter("n % 10 != 3").shuffle(10_000),
    "filter, then global shuffle": lambda p: p.filter("n % 10 != 3").shuffle(global_=True),
    "global shuffle, then filter": lambda p: p.shuffle(global_=True).filter("n % 10 != 3"),
    "sorted": lambda p: p.sorted("n % 1000"),
}


def write(folder: str, files: int, records: int) -> list[str]:
    """Files with the same records: one is written, the others are copies."""
    first = os.path.join(folder, "part-000.tfrecord")
    fb.write_records(first, [fb.encode_example({"n": number}) for number in range(records // files)])
    paths = [os.path.join(folder, f"part-{number:03}.tfrecord") for number in range(files)]
    for path in paths[1:]:
        shutil.copy(first, path)
    return paths


def state_late(pipe: Any) -> Any:
    """A state nine tenths into the run."""
    batches = sum(1 for _ in pipe.load())
    loader = pipe.load()
    for _ in range(batches * 9 // 10):
        next(loader)
    return loader.state_dict()


def restart(pipe: Any, state: Any) -> tuple[float, float]:
    """Seconds, and seconds of processor time of all threads."""
    with pipe.load() as loader:
        begun, used = time.perf_counter(), time.process_time()
        loader.load_state_dict(state)
        next(loader)
        return time.perf_counter() - begun, time.process_time() - used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder")
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args()
    folder = tempfile.mkdtemp(dir=asked.folder)
    store = os.path.join(folder, ".forebay")
    forebay = shutil.which("forebay", path=os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]) or "forebay"
    try:
        paths = write(folder, asked.files, asked.records)
        print(f"{asked.records:,} records, {asked.files} files, {sum(map(os.path.getsize, paths)):,} bytes")
        for name, order in ORDERS.items():
            pipe = order(fb.tfrecord(paths).example({"n": fb.fixed("int64")})).batch(size=ROWS)
            document = os.path.join(folder, "job.json")
            with open(document, "w", encoding="utf-8") as file:
                file.write(pipe.to_json())
            shutil.rmtree(store, ignore_errors=True)
            begun = time.perf_counter()
            subprocess.run([forebay, "index", "--document", document], check=True, stdout=subprocess.DEVNULL)
            made = time.perf_counter() - begun
            state = state_late(pipe)
            times = [restart(pipe, state) for _ in range(asked.repeat)]
            wall, used = (statistics.median(column) for column in zip(*times))
            size = os.path.getsize(os.path.join(store, "index-v1"))
            shutil.rmtree(store)
            print(f"{name:30} restart {wall:5.2f} s ({used:4.2f} s of processor time), without stores "
                  f"{restart(pipe, state)[0]:5.2f} s; made in {made:5.2f} s, {size:,} bytes", flush=True)
    finally:
        if not asked.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
