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
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
FLOATS = [f"I{i}" for i in range(1, 14)]
INTS = [f"C{i}" for i in range(1, 27)]


def pin(threads: int) -> None:
    """Restricts this process to as many of its CPUs, the highest-numbered ones, as it may have threads."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)


def small(label: str = "label", names: str = "x", width: int = 64) -> dict[str, dict[str, Any]]:
    return {names: {"dtype": "float32", "shape": [width]}, label: {"dtype": "int64", "shape": []}}


def many() -> dict[str, dict[str, Any]]:
    features = {name: {"dtype": "float32", "shape": []} for name in FLOATS}
    return features | {name: {"dtype": "int64", "shape": []} for name in [*INTS, "label"]}


IDS = {"ids": {"dtype": "int64", "shape": [512]}}
EXAMPLES = {"W1": small(), "W2": many(), "W3a": IDS, "W3b": IDS, "W3c": IDS, "W6": small(), "W6b": many(), "W12": small(),
            "W13": small()}
#: W7
FIELDS = {f"f{i}": {"dtype": "float32"} for i in range(10)} | {f"i{i}": {"dtype": "int64"} for i in range(10)}


WORKLOADS = [*EXAMPLES, "W4a", "W4b", "W4c", "W5", "W7", "W8", "W9", "W10"]
#: Batches of W10: rows of at most so many tokens, so that rows times longest is at most 16,384.
LONGEST = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2000]


class Work:
    """One workload over its first K files: a pipeline of Forebay, and the tensors of its batches."""

    def __init__(self, options: argparse.Namespace) -> None:
        with open(os.path.join(options.data, "manifest.json"), encoding="utf-8") as file:
            spec = json.load(file)["workloads"][options.workload]
        entries = spec["files"][:options.files] if options.files else spec["files"]
        self.files = [os.path.abspath(os.path.join(options.data, entry["path"])) for entry in entries]
        self.rows = sum(entry["rows"] for entry in entries)
        self.bytes = sum(entry["bytes"] for entry in entries)
        self.spec, self.options = spec, options
        self.valid = self.padded = 0
        self.arrays = self.in_memory() if spec.get("in_memory") else {}

    def in_memory(self) -> dict[str, Any]:
        """The arrays of W9 and W10, which are loaded before the clock starts."""
        import forebay as fb
        import numpy as np

        def read(ending: str, dtype: Any) -> Any:
            return np.concatenate([np.fromfile(path + ending, dtype) for path in self.files])

        splits = np.concatenate([[0], np.cumsum(read(".len.i64", np.int64))])
        if self.options.workload == "W10":
            return {"ids": fb.Ragged(read(".ids.i64", np.int64), splits)}
        return {"x": fb.Ragged(read(".x.f32", np.float32).reshape(-1, 40), splits), "y": fb.Ragged(read(".y.i32", np.int32), splits)}

    def pipeline(self) -> Any:
        import forebay as fb
        kind, size = self.options.workload, self.options.batch
        if kind in EXAMPLES:
            pipe = fb.tfrecord(self.files, compression="gzip" if kind.startswith("W6") else "none").example(EXAMPLES[kind])
            if kind == "W12":
                pipe = pipe.shuffle(buffer=self.spec["shuffle_buffer"])
            return (pipe.shuffle(global_=True) if kind == "W13" else pipe).batch(size)
        if kind in ("W4a", "W4b", "W4c"):
            pipe = fb.tfrecord(self.files).example({"image/encoded": fb.fixed("string"), "label": fb.fixed("int64")})
            if kind == "W4a":
                return pipe.shuffle(global_=True).batch(size)
            crop = {"region": {"random_resized": {"scale": [0.08, 1.0], "ratio": [3 / 4, 4 / 3]}}, "resize": [224, 224]}
            options = crop if kind == "W4c" else {"size": [375, 500]}
            return pipe.decode_image("image/encoded", out="image", **options).select(["image", "label"]).batch(size)
        if kind == "W5":
            mel = {"mel": {"kind": "fixed_len_sequence", "dtype": "float32", "shape": [80]}}
            pipe = fb.tfrecord(self.files).sequence_example({"labels": fb.var_len("int64")}, lists=mel)
            return pipe.batch(size, pad=True)
        if kind == "W7":
            return fb.csv(self.files, compression="none").csv(FIELDS).batch(size)
        if kind == "W8":
            pipe = fb.fixed_length(self.files, 3073, compression="none").raw("uint8", name="record", shape=[3073])
            return pipe.shuffle(global_=True).batch(size)
        if kind == "W9":
            chunks = fb.arrays(self.arrays).chunk(self.spec["window"], step=self.spec["step"], drop_covered_tail=True)
            return chunks.batch(128, pad=True)
        tokens = self.spec["tokens_per_batch"]
        boundaries = [longest + 1 for longest in LONGEST]
        return fb.arrays(self.arrays).shuffle(global_=True).buckets(
            "ids", boundaries=boundaries, sizes=[tokens // longest for longest in LONGEST], pad=True)

    def load(self, epochs: int) -> Any:
        knobs = {"prefetch": self.options.tune} if self.options.tune else {}
        return self.pipeline().epochs(epochs).seed(1).load(threads=self.options.threads, **knobs)

    def tensors(self, batch: Any) -> list[Any]:
        """What the checksum is made of, in the order of the benchmark."""
        import numpy as np
        from harness.checksum import Dense, Padded, Ragged
        kind = self.options.workload
        if kind in ("W2", "W6b"):
            return [Dense("floats", np.stack([batch[name] for name in FLOATS], 1)),
                    Dense("ints", np.stack([batch[name] for name in INTS], 1)), Dense("label", batch["label"])]
        if kind == "W4a":
            offsets, data = batch.raw("image/encoded")
            return [Ragged("image/encoded", np.asarray(data), np.diff(offsets)), Dense("label", batch["label"])]
        if kind in ("W4b", "W4c"):
            return [Dense("label", batch["label"])]
        if kind == "W7":
            return [Dense("floats", np.stack([batch[f"f{i}"] for i in range(10)], 1)),
                    Dense("ints", np.stack([batch[f"i{i}"] for i in range(10)], 1))]
        if kind in ("W5", "W10"):
            names = ["mel", "labels"] if kind == "W5" else ["ids"]
            self.valid += int(sum(batch.lengths[name].sum() for name in names))
            self.padded += sum(batch[name].shape[0] * batch[name].shape[1] for name in names)
            return [Padded(name, batch[name], batch.lengths[name]) for name in names]
        if kind == "W8":  # views of the records
            return [Dense("image", batch["record"][:, 1:]), Dense("label", batch["record"][:, 0])]
        names = ["x", "y"] if kind == "W9" else list(EXAMPLES[kind])
        return [Dense(name, batch[name]) for name in names]


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_mb() -> float:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def checksum(work: Work) -> dict[str, Any]:
    """The benchmark's checksum of one epoch, and the share of the elements that is no padding."""
    sys.path.insert(0, str(BENCH))
    from harness.checksum import Checksum
    total, batches = Checksum(), 0
    with work.load(1) as loader:
        for batch in loader:
            total.add(work.tensors(batch))
            batches += 1
    result = total.result()
    out = {"rows": result["rows"], "batches": batches, "checksum": result}
    return out | {"pad_efficiency": work.valid / work.padded} if work.padded else out


def first_batch(work: Work) -> float:
    start = time.monotonic()
    loader = work.load(1)
    next(iter(loader))
    seconds = time.monotonic() - start
    loader.close()
    return seconds


def timed(work: Work, epochs: int, imported_mb: float) -> dict[str, Any]:
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
        rows += batch.rows
        batches += 1
    result: dict[str, Any] = {
        "rows": rows, "batches": batches, "bytes_in": work.bytes * epochs, "seconds": last - begin, "restart_s": restart,
        "cpu_s": cpu_seconds() - cpu, "peak_rss_mb": peak_mb(), "import_rss_mb": imported_mb, "checksum": None}
    loader.close()
    if rows != work.rows * epochs:
        result["error"] = f"delivered {rows} rows, expected {work.rows * epochs}"
    return result


def one(options: argparse.Namespace, imported_mb: float, cold: bool) -> dict[str, Any]:
    work = Work(options)
    result: dict[str, Any] = {"contestant": "forebay", "workload": options.workload, "threads": options.threads,
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
    parser.add_argument("--workload", required=True, choices=WORKLOADS)
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
