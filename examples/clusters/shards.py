# SPDX-License-Identifier: Apache-2.0
"""A training process that takes the rows of its rank, by what the launcher says: torchrun, Slurm, Open MPI, PMI or JAX.

    torchrun --nproc-per-node=4 examples/clusters/shards.py
    sbatch examples/clusters/shards.sbatch
"""
import pathlib

import forebay as fb

DOCUMENT = pathlib.Path(__file__).resolve().parents[1] / "taxi" / "loader.json"

with fb.load(DOCUMENT, shard="auto", threads=2) as loader:
    rows = tips = 0.0
    for batch in loader:
        tip = batch.targets["tip"]
        rows, tips = rows + len(tip), tips + float(tip.sum())
print(f"{rows:.0f} rows, mean tip {tips / rows:.2f} dollars", flush=True)
