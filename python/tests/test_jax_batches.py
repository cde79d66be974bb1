# SPDX-License-Identifier: Apache-2.0
"""fb.jax.batches over four devices of the CPU, with the real package."""
from __future__ import annotations

import importlib.util

import pytest
from conftest import run_python, write_counts

CASE = """
import os, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, numpy as np, forebay as fb, forebay.jax
features = {"x": fb.fixed("float32", [2]), "y": fb.fixed("int64"), "s": fb.fixed("string")}
pipe = fb.tfrecord([sys.argv[1]]).example(features).shuffle(buffer=8).batch(8).seed(3)
mesh = jax.sharding.Mesh(np.array(jax.devices()), "data")
by_rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
total = jax.jit(lambda x: x.sum())
for sharding in (by_rows, {"x": by_rows}, None):
    with pipe.load() as mine, pipe.load() as plain:
        got = list(fb.jax.batches(mine, sharding))
        wanted = list(plain)
        assert mine.state_dict() == plain.state_dict()
    assert len(got) == len(wanted) == 4
    for batch, expected in zip(got, wanted):
        assert list(batch) == ["x", "y", "s"] and batch["s"] is not None
        for name in ("x", "y"):
            assert np.array_equal(np.asarray(batch[name]), expected[name]) and isinstance(batch[name], jax.Array)
        assert batch["s"].tolist() == expected["s"].tolist()
        assert len(batch["x"].sharding.device_set) == (1 if sharding is None else 4)
        assert len(batch["y"].sharding.device_set) == (4 if sharding is by_rows else 1)
        assert float(total(batch["x"])) == float(expected["x"].sum())
print("whole")
"""


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs the package jax: make test-frameworks")
def test_arrays_lie_on_all_devices_and_have_the_values_of_the_loader(tmp_path):
    run = run_python(CASE, write_counts(tmp_path, 32), timeout=120)
    assert run.stdout == "whole\n", run.stderr
