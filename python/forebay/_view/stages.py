# SPDX-License-Identifier: Apache-2.0
"""The stages of a plan in groups, and the numbers of a run that the page shows beside them."""
from __future__ import annotations

import json
from typing import Any

from forebay import _core

__all__ = ["live_numbers", "stage_groups"]

#: By `where` of a stage: the work that its stage is part of, as `stats()` counts work.
WORK = {"source": "scan", "label": "scan", "files": "scan", "index": "scan", "open": "scan", "branch": "scan", "combine": "scan",
        "in part": "order", "records": "order", "windows": "order", "early": "order", "batch": "order", "batches": "order",
        "late": "decode", "finish": "decode"}
NUMBERS = ("batches", "rows", "records", "bytes_read", "ordered_rows", "decoded_rows", "seconds", "scan_seconds", "order_seconds",
           "decode_seconds", "idle_seconds", "consumer_wait_seconds", "memory_used", "memory_limit", "scan_memory", "order_memory",
           "decode_memory", "threads", "bottleneck", "steps", "queues", "branches")
MAX_TEXT = 400


def stage_groups(plan: _core.Plan) -> list[dict[str, Any]]:
    """Of the stages of a plan: neighbors of the same work together. `step`: the number in Stats.steps, or None; `branch`: that of a
    combination, or None."""
    about = {plugin["name"]: plugin["doc"] for plugin in json.loads(_core.plugin_reference())}
    groups: list[dict[str, Any]] = []
    for stage in plan.stages:
        work = WORK.get(str(stage["where"]))
        if work is None:
            continue
        if not groups or (groups[-1]["work"], groups[-1]["branch"]) != (work, stage["branch"]):
            groups.append({"work": work, "branch": stage["branch"], "stages": []})
        groups[-1]["stages"].append({"stage": stage["where"], "text": str(stage["text"])[:MAX_TEXT], "about": about.get(str(stage["plugin"]), ""),
                                     "step": stage["step"]})
    return groups


def live_numbers(stats: Any) -> dict[str, Any]:
    return {name: getattr(stats, name) for name in NUMBERS}
