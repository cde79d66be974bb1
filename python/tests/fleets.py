# SPDX-License-Identifier: Apache-2.0
"""What the tests of fleets share: a cluster of this machine, batches as values, and workers that are killed."""
from __future__ import annotations

import os
import pathlib
import random
import signal
from typing import Any

import numpy as np
import ray

import forebay as fb


def start_cluster() -> None:
    """Ray with four processors, whose workers find this package and these tests."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    paths = os.pathsep.join([str(pathlib.Path(fb.__file__).parents[1]), str(pathlib.Path(__file__).parent)])
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, object_store_memory=200 << 20,
             runtime_env={"env_vars": {"PYTHONPATH": paths}})


def values_of(batch: Any) -> "dict[str, Any]":
    """All that a batch of a fleet says: its tensors, and the numbers around them."""
    out = {name: value if isinstance(value, np.ndarray) else value.to_list() for name, value in batch.items()}
    return {**{name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in out.items()},
            ".number": batch.number, ".epoch": batch.epoch, ".rows": batch.rows, ".valid_rows": batch.valid_rows, ".mask": batch.mask.tolist(),
            ".ends_epoch": batch.ends_epoch, ".lengths": {name: value.tolist() for name, value in batch.lengths.items()}}


def batches_of(pipeline: Any, **options: Any) -> "list[dict[str, Any]]":
    with pipeline.load(**options) as loader:
        return [values_of(batch) for batch in loader]


def pids_of(fleet: Any) -> "list[int]":
    return [worker["pid"] for worker in fleet.stats().values() if worker]


def kill_one(fleet: Any, rng: random.Random, how: int = signal.SIGKILL) -> bool:
    pids = pids_of(fleet)
    if not pids:
        return False
    os.kill(rng.choice(pids), how)
    return True


def counts(path: str) -> Any:
    features = {"x": fb.fixed("float32", [2]), "y": fb.fixed("int64"), "s": fb.fixed("string"), "v": fb.var_len("int64")}
    return fb.tfrecord([path]).example(features)
