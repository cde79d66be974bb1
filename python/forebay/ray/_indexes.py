# SPDX-License-Identifier: Apache-2.0
"""Indexes of a fleet's files, which its machines make together before it plans."""
from __future__ import annotations

import os
from typing import Any, List, Tuple

from forebay._core import index_plan
from forebay.ray._api import exceptions, ray
from forebay.ray._worker import Job


def make_indexes(job: Job) -> "List[Tuple[str, int]]":
    """Has tasks make the indexes that the orders of a job need and that nobody has made, and returns (machine, process) of each task. A task
    that fails leaves its files to the loader that needs them, which has the error in its place."""
    missing = _indexed(job, 0, 1, True).count(False)
    if missing < 2:
        return []
    parts = min(missing, max(1, int(ray.cluster_resources().get("CPU", 1))))
    # They reserve no processor: trainers may have all of them, and wait for this fleet.
    make = ray.remote(_make_part).options(num_cpus=0, scheduling_strategy="SPREAD")
    tasks = [make.remote(job, part, parts) for part in range(parts)]
    made = []
    for task in tasks:
        try:
            made.append(ray.get(task))
        except exceptions.RayError:
            pass
    return made


def _make_part(job: Job, part: int, parts: int) -> "Tuple[str, int]":
    with job.in_its_folder():
        _indexed(job, part, parts, False)
    return ray.get_runtime_context().get_node_id(), os.getpid()


def _indexed(job: Job, part: int, parts: int, only_check: bool) -> "List[bool]":
    """Of each file that needs an index: whether it has one."""
    found: "List[Any]" = index_plan(job.plan(), part, parts, only_check, job.index_dir or "")
    return [good for _, good in found]
