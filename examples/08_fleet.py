# SPDX-License-Identifier: Apache-2.0
"""Batches that other processes make: a fleet of two workers on one machine, one of which is killed, and a loader without a fleet that
goes on where the fleet stopped. In a cluster, `ray.init(address="auto")` is all that changes (docs/clusters.md).

Run it from the root of the repository, with Ray: .venv/bin/pip install -r python/requirements-ray.txt; .venv/bin/python examples/08_fleet.py
"""
import os
import pathlib
import signal

import ray

import forebay as fb
import forebay.ray as fr

DOCUMENT = pathlib.Path(__file__).resolve().parent / "taxi" / "loader.json"
STOP = 300

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 << 20)
tips = []
with fr.Fleet(DOCUMENT, name="taxi", workers=2, threads=1) as fleet, fr.load("taxi", shard=None, window="64MiB", local_threads=0) as loader:
    for batch in loader:
        tips.append(float(batch.targets["tip"].sum()))
        if len(tips) == STOP // 2:
            worker = next(iter(fleet.stats().values()))
            os.kill(worker["pid"], signal.SIGKILL)   # nobody misses it: others make its batches, and Ray starts it again
        if len(tips) == STOP:
            break
    state = loader.state_dict()                      # a training saves it beside the model
    print(loader.stats())
ray.shutdown()

with fb.load(DOCUMENT) as loader:                    # the rest on this machine alone
    loader.load_state_dict(state)
    tips += [float(batch.targets["tip"].sum()) for batch in loader]

with fb.load(DOCUMENT) as loader:
    alone = [float(batch.targets["tip"].sum()) for batch in loader]
assert tips == alone
print(f"{STOP} batches of a fleet and {len(tips) - STOP} of one process are the {len(alone)} batches of one process")
