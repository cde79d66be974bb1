#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a run over many small files, from the document to the first batch and to the end.

    .venv/bin/python bench/many_files.py [--files 100000] [--records 4] [--repeat 5] [--folder FOLDER] [--keep]

Writes the files into a temporary folder, reads each once, so that the page cache holds them, and prints the median of each
time. The floor is a loop of os.open, os.fstat, os.read and os.close over the same files, on one thread.

    listing       os.scandir over the folder, names sorted
    plan          a document with a pattern, and the same files as a list: planned, nothing started
    first batch   planned, started, and one batch of 32 rows delivered
    whole run     planned, started, and every batch delivered
    state         the first state_dict, after one batch: the sizes of the files that are not open yet are asked
"""
from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from typing import Any, Callable

import forebay as fb

ROWS = 32


def write(folder: str, files: int, records: int) -> None:
    """Writes `files` files of `records` records of 32 numbers each."""
    source = os.path.join(folder, "one")
    fb.write_records(source, [fb.encode_example({"x": list(range(number, number + 32))}) for number in range(records)])
    with open(source, "rb") as file:
        content = file.read()
    os.unlink(source)
    for number in range(files):
        descriptor = os.open(f"{folder}/part-{number:06}.tfrecord", os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(descriptor, content)
        os.close(descriptor)


def listed(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.path for entry in entries)


def read_each(paths: list[str]) -> None:
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        os.read(descriptor, os.fstat(descriptor).st_size)
        os.close(descriptor)


def pipeline(files: Any) -> fb.Pipeline:
    return fb.tfrecord(files).example({"x": fb.fixed("int64", [32])}).batch(size=ROWS)


def first_batch(files: Any, threads: int) -> None:
    with pipeline(files).load(threads=threads) as loader:
        next(loader)


def first_state(files: Any, threads: int) -> float:
    """Seconds that the first state_dict takes."""
    with pipeline(files).load(threads=threads) as loader:
        next(loader)
        since = time.perf_counter()
        loader.state_dict()
        return time.perf_counter() - since


def whole_run(files: Any, threads: int, rows: int) -> None:
    with pipeline(files).load(threads=threads) as loader:
        found = sum(batch["x"].shape[0] for batch in loader)
    if found != rows:
        raise SystemExit(f"the run delivered {found} rows instead of {rows}")


def median(work: Callable[[], Any], repeat: int) -> float:
    """The median of the seconds that `work` takes, or of the seconds that it returns."""
    times = []
    for _ in range(repeat):
        since = time.perf_counter()
        own = work()
        times.append(own if isinstance(own, float) else time.perf_counter() - since)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=4, help="records a file")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="0: one for every CPU")
    parser.add_argument("--folder", help="where the files are, or are written; default: a temporary folder")
    parser.add_argument("--keep", action="store_true", help="leave the files there")
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="forebay-many-files-")
    os.makedirs(folder, exist_ok=True)
    if len(listed(folder)) != options.files:
        write(folder, options.files, options.records)
    try:
        measure(folder, options)
    finally:
        if not options.keep:
            shutil.rmtree(folder)


def measure(folder: str, options: argparse.Namespace) -> None:
    pattern, paths, threads = os.path.join(folder, "part-*"), listed(folder), options.threads
    read_each(paths)
    rows = options.files * options.records
    works: list[tuple[str, Callable[[], Any]]] = [
        ("listing alone (os.scandir)", lambda: listed(folder)),
        ("plan of a pattern", lambda: pipeline(pattern).plan()),
        ("plan of a list", lambda: pipeline(paths).plan()),
        ("first batch of a pattern", lambda: first_batch(pattern, threads)),
        ("first batch of a list", lambda: first_batch(paths, threads)),
        ("the first state", lambda: first_state(pattern, threads)),
        ("open + fstat + read + close", lambda: read_each(paths)),
        ("whole run of a pattern", lambda: whole_run(pattern, threads, rows)),
    ]
    seconds = {}
    print(f"{options.files:,} files of {options.records} records, medians of {options.repeat}")
    for name, work in works:
        seconds[name] = median(work, options.repeat)
        print(f"{name:<30} {1e3 * seconds[name]:10.1f} ms")
        sys.stdout.flush()
    listing, floor = seconds["listing alone (os.scandir)"], seconds["open + fstat + read + close"]
    print(f"{'first batch after the listing':<30} {1e3 * (seconds['first batch of a pattern'] - listing):10.1f} ms")
    print(f"{'whole run / open + read':<30} {seconds['whole run of a pattern'] / floor:10.2f}")


if __name__ == "__main__":
    main()
