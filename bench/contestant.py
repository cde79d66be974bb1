#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Forebay as a contestant of the pipeline benchmark, through its Python package.

    contestant.py --workload W1 --data DIR --threads 1 --batch 256 [--epochs E] [--files K] [--check] [--serve]

Prints one JSON line: rows, seconds, CPU seconds, memory; with --check the checksum of one epoch instead of times. The data
folder has a manifest.json that lists the files of each workload. `--tune` is the prefetch depth (0: chosen by Forebay).
"""
from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time

MASK = (1 << 64) - 1
FLOATS = [f"I{i}" for i in range(1, 14)]
INTS = [f"C{i}" for i in range(1, 27)]


def pin(threads: int) -> None:
    """Restricts this process to as many of its CPUs, the highest-numbered ones, as it may have threads."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)


def small(label: str = "label", names: str = "x", width: int = 64) -> dict[str, dict[str, object]]:
    return {names: {"dtype": "float32", "shape": [width]}, label: {"dtype": "int64", "shape": []}}


def many() -> dict[str, dict[str, object]]:
    features = {name: {"dtype": "float32", "shape": []} for name in FLOATS}
    return features | {name: {"dtype": "int64", "shape": []} for name in [*INTS, "label"]}


IDS = {"ids": {"dtype": "int64", "shape": [512]}}
FEATURES = {"W1": small(), "W2": many(), "W3a": IDS, "W3b": IDS, "W3c": IDS, "W6": small(), "W6b": many(), "W12": small(),
            "W13": small()}


class Work:
    """One workload over its first K files: a document for Forebay."""

    def __init__(self, options: argparse.Namespace) -> None:
        with open(os.path.join(options.data, "manifest.json"), encoding="utf-8") as file:
            spec = json.load(file)["workloads"][options.workload]
        entries = spec["files"][:options.files] if options.files else spec["files"]
        self.files = [os.path.abspath(os.path.join(options.data, entry["path"])) for entry in entries]
        self.rows = sum(entry["rows"] for entry in entries)
        self.bytes = sum(entry["bytes"] for entry in entries)
        self.buffer = spec.get("shuffle_buffer", 0) if options.workload == "W12" else 0
        self.options = options
        self.names = list(FEATURES[options.workload])

    def document(self, epochs: int) -> dict[str, object]:
        packed = "gzip" if self.options.workload.startswith("W6") else "none"
        steps: list[dict[str, object]] = [{"shuffle": {"buffer": self.buffer}}] if self.buffer else []
        if self.options.workload == "W13":
            steps = [{"shuffle": {"global": True}}]
        return {"source": {"tfrecord": {"files": self.files, "compression": packed}},
                "decode": {"example": {"features": FEATURES[self.options.workload]}},
                "steps": [*steps, {"batch": {"size": self.options.batch, "remainder": "keep"}}],
                "epochs": epochs, "seed": 1}

    def load(self, epochs: int):
        import forebay
        knobs = {"prefetch": self.options.tune} if self.options.tune else {}
        return forebay.load(self.document(epochs), threads=self.options.threads, **knobs)


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_mb() -> float:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def checksum(work: Work) -> dict[str, object]:
    """The benchmark's checksum: order of rows is free, columns are bound to their row."""
    import numpy as np

    def bits(array):
        if array.dtype == np.float32:
            return np.ascontiguousarray(array).view(np.uint32).astype(np.uint64)
        return array.astype(np.int64).view(np.uint64)

    rows = elements = total = batches = 0
    sums: dict[str, float] = {}
    with work.load(1) as loader:
        for batch in loader:
            columns = [batch[name].reshape(len(batch[name]), -1) for name in work.names]
            for name, column in zip(work.names, columns):
                group = {"I": "floats", "C": "ints"}.get(name[0], name) if name != "ids" else name
                sums[group] = sums.get(group, 0.0) + float(np.sum(column, dtype=np.float64))
            row = np.concatenate([bits(column) for column in columns], axis=1)
            weights = np.uint64(2) * np.arange(row.shape[1], dtype=np.uint64) + np.uint64(1)
            r = (row * weights).sum(axis=1, dtype=np.uint64)
            s = r * np.uint64(0x9E3779B97F4A7C15)
            total = (total + int((s * ((s >> np.uint64(32)) | np.uint64(1))).sum(dtype=np.uint64))) & MASK
            rows, elements, batches = rows + len(row), elements + row.size, batches + 1
    return {"rows": rows, "batches": batches,
            "checksum": {"rows": rows, "elements": elements, "hash": f"{total:016x}", "sums": sums}}


def first_batch(work: Work) -> float:
    start = time.monotonic()
    loader = work.load(1)
    next(iter(loader))
    seconds = time.monotonic() - start
    loader.close()
    return seconds


def timed(work: Work, epochs: int, imported_mb: float) -> dict[str, object]:
    key = work.names[-1]
    rows = batches = 0
    restart = None
    clock = time.monotonic
    cpu = cpu_seconds()
    begin = last = clock()
    loader = work.load(epochs)
    for batch in loader:
        last = clock()
        if restart is None:
            restart = last - begin
        rows += len(batch[key])
        batches += 1
    result: dict[str, object] = {
        "rows": rows, "batches": batches, "bytes_in": work.bytes * epochs, "seconds": last - begin, "restart_s": restart,
        "cpu_s": cpu_seconds() - cpu, "peak_rss_mb": peak_mb(), "import_rss_mb": imported_mb, "checksum": None}
    loader.close()
    if rows != work.rows * epochs:
        result["error"] = f"delivered {rows} rows, expected {work.rows * epochs}"
    return result


def one(options: argparse.Namespace, imported_mb: float, cold: bool) -> dict[str, object]:
    work = Work(options)
    result: dict[str, object] = {"contestant": "forebay", "workload": options.workload, "threads": options.threads,
                                 "batch": options.batch, "tune": options.tune, "files": len(work.files),
                                 "epochs": options.epochs}
    if options.check:
        return result | checksum(work)
    if cold:
        result["first_batch_s"] = first_batch(work)
    return result | timed(work, options.epochs, imported_mb)


def serve(options: argparse.Namespace, imported_mb: float, version: str) -> None:
    """One result for each JSON line on standard input, so that rounds can be interleaved with one import."""
    print(json.dumps({"ready": True, "versions": {"forebay": version}}), flush=True)
    cold = True
    for line in sys.stdin:
        vars(options).update(json.loads(line))
        try:
            result = one(options, imported_mb, cold and not options.check)
            cold = cold and options.check
        except Exception as error:  # reported; the round goes on
            result = {"contestant": "forebay", "workload": options.workload, "error": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(result), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", required=True, choices=list(FEATURES))
    parser.add_argument("--data", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--files", type=int, default=0)
    parser.add_argument("--tune", type=int, default=0)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    pin(options.threads)
    import forebay
    import numpy  # noqa: F401  imported before the clock starts
    imported_mb = peak_mb()
    if options.serve:
        serve(options, imported_mb, getattr(forebay, "__version__", "?"))
    else:
        print(json.dumps(one(options, imported_mb, True)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
