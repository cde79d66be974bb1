# SPDX-License-Identifier: Apache-2.0
"""A job whose batches are made on all machines of a Ray cluster: the driver starts the fleet, and trains.

    sbatch examples/clusters/fleet.sbatch
    kubectl apply -f examples/clusters/fleet.yaml                             # KubeRay
    ray job submit --working-dir . -- python examples/clusters/fleet.py       # any other cluster
"""
import argparse
import pathlib

import ray

import forebay.ray as fr

DOCUMENT = pathlib.Path(__file__).resolve().parents[1] / "taxi" / "loader.json"

parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--window", default="64MiB")
options = parser.parse_args()

ray.init(address="auto")
with fr.Fleet(DOCUMENT, name="taxi", workers=options.workers, threads=1) as fleet, \
        fr.load("taxi", shard=None, window=options.window, local_threads=0) as loader:
    rows = tips = 0.0
    for batch in loader:
        tip = batch.targets["tip"]
        rows, tips = rows + len(tip), tips + float(tip.sum())
    print(f"{rows:.0f} rows, mean tip {tips / rows:.2f} dollars, made by {len(fleet.stats())} workers", flush=True)
