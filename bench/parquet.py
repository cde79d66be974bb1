# SPDX-License-Identifier: Apache-2.0
"""Parquet row groups, shuffled, to torch: Forebay, Hugging Face datasets, Ray Data, Petastorm, and pyarrow's scan alone.

    bench/parquet.py [--rows 1000000] [--files 4] [--repeat 3] [--only forebay,pyarrow]

The script writes its data: `files` files of 20 columns (12 float32, 4 int64, 4 int32), in row groups of 50,000 rows. Every
contestant shuffles the row groups (or files), then a buffer of `buffer` rows, and hands batches of 1,024 rows to torch; pyarrow
alone decodes the row groups in order. Each run is a process of its own; runs are interleaved. What counts is the processor time
(user and system, children included) after the imports, so a machine that others use gives the same figures. The sum of one
column must be the same for all.
"""
from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

BATCH = 1024
COLUMNS = {**{f"f{i}": "float32" for i in range(12)}, **{f"l{i}": "int64" for i in range(4)}, **{f"i{i}": "int32" for i in range(4)}}


def write(folder: pathlib.Path, rows: int, files: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    rng = np.random.default_rng(1)
    for number in range(files):
        count = rows // files
        data = {name: rng.random(count, np.float32) if kind == "float32" else rng.integers(0, 50_000, count).astype(kind)
                for name, kind in COLUMNS.items()}
        pq.write_table(pa.table(data), folder / f"{number}.parquet", row_group_size=50_000)


def pyarrow(folder: pathlib.Path, buffer: int) -> Iterator[Any]:
    """The floor: decodes all, in order, into arrays; no shuffle, no batch."""
    import pyarrow.parquet as pq
    for path in sorted(folder.glob("*.parquet")):
        for batch in pq.ParquetFile(path, pre_buffer=False).iter_batches(65_536, use_threads=False):
            yield {name: batch[name].to_numpy() for name in batch.schema.names}


def forebay(folder: pathlib.Path, buffer: int) -> Iterator[Any]:
    import forebay as fb
    import torch
    pipe = fb.parquet(folder / "*.parquet").shuffle(buffer=1000).interleave().shuffle(buffer=buffer).batch(size=BATCH)
    with pipe.load(threads=1) as loader:
        for batch in loader:
            yield {name: torch.from_numpy(batch[name]) for name in batch}


def forebay_in_order(folder: pathlib.Path, buffer: int) -> Iterator[Any]:
    """Row groups shuffled, without the buffer of rows."""
    import forebay as fb
    import torch
    with fb.parquet(folder / "*.parquet").shuffle(buffer=1000).interleave().batch(size=BATCH).load(threads=1) as loader:
        for batch in loader:
            yield {name: torch.from_numpy(batch[name]) for name in batch}


def datasets(folder: pathlib.Path, buffer: int) -> Iterator[Any]:
    from datasets import load_dataset
    rows = load_dataset("parquet", data_files=str(folder / "*.parquet"), split="train", streaming=True)
    yield from rows.shuffle(seed=1, buffer_size=buffer).with_format("torch").batch(BATCH)


def datasets_arrow(folder: pathlib.Path, buffer: int) -> Iterator[Any]:
    """The order of files only: `shuffle` of rows needs them one by one."""
    from datasets import load_dataset
    rows = load_dataset("parquet", data_files=str(folder / "*.parquet"), split="train", streaming=True)
    yield from rows.with_format("torch").batch(BATCH)


def ray(folder: pathlib.Path, buffer: int) -> Iterator[Any]:
    import ray.data
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    rows = ray.data.read_parquet(str(folder), shuffle="files")
    yield from rows.iter_torch_batches(batch_size=BATCH, local_shuffle_buffer_size=buffer)
    ray.shutdown()


def petastorm(folder: pathlib.Path, buffer: int) -> Iterator[Any]:
    from petastorm import make_batch_reader
    from petastorm.pytorch import BatchedDataLoader
    with make_batch_reader(f"file://{folder}", shuffle_row_groups=True, workers_count=1, num_epochs=1) as reader:
        yield from BatchedDataLoader(reader, batch_size=BATCH, shuffling_queue_capacity=buffer)


CONTESTANTS: "dict[str, Callable[[pathlib.Path, int], Iterator[Any]]]" = {
    one.__name__: one for one in (pyarrow, forebay, forebay_in_order, datasets, datasets_arrow, ray, petastorm)}


MODULES = {"pyarrow": ("pyarrow.parquet",), "forebay": ("forebay", "pyarrow.parquet"), "ray": ("ray.data",),
           "forebay_in_order": ("forebay", "pyarrow.parquet"), "datasets_arrow": ("datasets",),
           "petastorm": ("petastorm", "petastorm.pytorch")}


def spent() -> float:
    return sum(use.ru_utime + use.ru_stime for use in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def run(name: str, folder: pathlib.Path, buffer: int) -> None:
    import numpy as np
    import torch
    torch.set_num_threads(1)
    for module in MODULES.get(name, (name,)):
        importlib.import_module(module)
    total, rows, before = 0, 0, spent()
    for batch in CONTESTANTS[name](folder, buffer):
        total += int(np.asarray(batch["l0"]).sum())
        rows += len(batch["l0"])
    print(json.dumps({"rows": rows, "sum": total, "cpu": spent() - before}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--buffer", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default=",".join(CONTESTANTS))
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        return run(asked.run[0], pathlib.Path(asked.run[1]), asked.buffer)
    results: "dict[str, list[dict[str, Any]]]" = {}
    with tempfile.TemporaryDirectory() as name:
        write(pathlib.Path(name), asked.rows, asked.files)
        for _ in range(asked.repeat):
            for contestant in asked.only.split(","):
                done = subprocess.run([sys.executable, __file__, "--run", contestant, name, "--buffer", str(asked.buffer)],
                                      capture_output=True, text=True)
                if done.returncode != 0:
                    print(f"{contestant}: {done.stderr.strip().splitlines()[-1]}")
                    continue
                results.setdefault(contestant, []).append(json.loads(done.stdout.strip().splitlines()[-1]))
    sums = {run["sum"] for runs in results.values() for run in runs}
    print("sums agree" if len(sums) == 1 else f"sums differ: {sums}")
    for contestant, runs in results.items():
        best = min(runs, key=lambda run: run["cpu"])
        print(f"{contestant:<18} {best['cpu'] / best['rows'] * 1e6:7.3f} us of processor time a row, {best['rows']} rows")


if __name__ == "__main__":
    main()
