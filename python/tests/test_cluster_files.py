# SPDX-License-Identifier: Apache-2.0
"""The files of examples/clusters run as Slurm runs them: `srun` and `scontrol` are stand-ins that set what Slurm sets, and `ray` is one that has
started a cluster (the real one stops every cluster of the machine at the end)."""
from __future__ import annotations

import os
import pathlib
import re
import shlex
import subprocess
import sys

import ray
import yaml
from conftest import ROOT
from fleets import start_cluster

import forebay as fb

SRUN = """#!/bin/bash
for arg; do case $arg in --*) shift;; *) break;; esac; done
for rank in $(seq 0 $((TASKS - 1))); do
  SLURM_STEP_ID=0 SLURM_PROCID=$rank SLURM_STEP_NUM_TASKS=$TASKS SLURM_LOCALID=$rank "$@" || exit 1
done
"""


RAY = """#!/bin/bash
echo "ray $*"
unset RAY_AUTH_TOKEN   # that of the cluster is in a file
while [ "$1" != -- ]; do shift; done
exec "${@:2}"
"""


def submitted(script: str, folder: pathlib.Path, tasks: int, **environment: str) -> str:
    """What the job prints."""
    for name, text in (("srun", SRUN), ("ray", RAY), ("scontrol", "#!/bin/bash\necho first\necho second\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "RAY"))}
    done = subprocess.run(["bash", f"examples/clusters/{script}"], cwd=ROOT, capture_output=True, text=True, timeout=600,
                          env={**kept, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHON": sys.executable, "TASKS": str(tasks),
                               "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_shards(tmp_path: pathlib.Path) -> None:
    found = re.findall(r"(\d+) rows, mean tip ([\d.]+) dollars", submitted("shards.sbatch", tmp_path, 4))
    whole = re.findall(r"(\d+) rows, mean tip ([\d.]+) dollars", submitted("shards.sbatch", tmp_path, 1))
    assert len(found) == 4 and len(whole) == 1
    assert sum(int(rows) for rows, _ in found) == int(whole[0][0])


def test_a_fleet(tmp_path: pathlib.Path) -> None:
    start_cluster()
    try:
        printed = submitted("fleet.sbatch", tmp_path, 1, RAY_ADDRESS=ray.get_runtime_context().gcs_address, SLURM_JOB_NODELIST="two",
                            SLURM_JOB_NUM_NODES="2", SLURM_CPUS_PER_TASK="8")
    finally:
        ray.shutdown()
    assert "ray symmetric-run --address first:6379 --min-nodes 2 --num-cpus 8 -- " in printed
    rows = re.search(r"(\d+) rows, mean tip [\d.]+ dollars, made by 2 workers", printed)
    with fb.load(ROOT / "examples/taxi/loader.json") as loader:
        assert rows is not None and int(rows[1]) == sum(batch.valid_rows for batch in loader)


def test_a_job_of_kuberay() -> None:
    job = yaml.safe_load((ROOT / "examples/clusters/fleet.yaml").read_text())
    spec = job["spec"]
    cluster = spec["rayClusterSpec"]
    assert (job["apiVersion"], job["kind"], cluster["authOptions"]) == ("ray.io/v1", "RayJob", {"mode": "token"})
    program, *arguments = shlex.split(spec["entrypoint"])
    workers = int(arguments[arguments.index("--workers") + 1])
    assert program == "python" and workers == cluster["workerGroupSpecs"][0]["replicas"]
    start_cluster()
    try:
        done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
                                   "RAY_ADDRESS": ray.get_runtime_context().gcs_address})
    finally:
        ray.shutdown()
    assert f"made by {workers} workers" in done.stdout, done.stdout + done.stderr
