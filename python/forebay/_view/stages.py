# SPDX-License-Identifier: Apache-2.0
"""The stages of a plan in groups, and the numbers of a run that the page shows beside them."""
from __future__ import annotations

import json
from typing import Any, Optional

from forebay import _core

__all__ = ["live_numbers", "stage_groups"]

#: By the first word of a line of a plan: the work that its stage is part of, as `stats()` counts work.
WORK = {"source": "scan", "label": "scan", "files": "scan", "index": "scan", "open": "scan", "branch": "scan", "combine": "scan",
        "records": "order", "windows": "order", "early": "order", "batch": "order", "batches": "order",
        "late": "decode", "finish": "decode"}
NUMBERS = ("batches", "rows", "records", "bytes_read", "ordered_rows", "decoded_rows", "seconds", "scan_seconds", "order_seconds",
           "decode_seconds", "idle_seconds", "consumer_wait_seconds", "memory_used", "memory_limit", "scan_memory", "order_memory",
           "decode_memory", "threads", "bottleneck", "steps", "queues", "branches")
MAX_TEXT = 400
#: Beginnings of the lines that say where rows come from.
NO_STEPS = ("decode ", "gather rows ", "merge branches ", "take windows ")


def stage_groups(plan: str) -> list[dict[str, Any]]:
    """Of the lines of a plan: neighbors of the same work together. `step`: the number in Stats.steps, or None; `branch`: that of a
    combination, or None."""
    about = {plugin["name"]: plugin["doc"] for plugin in json.loads(_core.plugin_reference())}
    groups: list[dict[str, Any]] = []
    branch: Optional[int] = None
    for line in plan.splitlines():
        stage, _, rest = line.partition(" ")
        text = rest.strip()
        if stage not in WORK or not text:
            continue
        work, before = WORK[stage], groups[-1]["work"] if groups else ""
        if stage == "branch":
            branch = int(text.split(",")[0])
        elif before == "decode" != work:
            branch = None  # the last stage of a branch decodes
        if before != work or groups[-1]["branch"] != branch:
            groups.append({"work": work, "branch": branch, "stages": []})
        first = text.removeprefix("decode ").split(None, 1)[0].rstrip(":")
        groups[-1]["stages"].append({"stage": stage, "text": text[:MAX_TEXT], "about": about.get(first, "")})
    _number_steps(groups)
    return groups


def _number_steps(groups: list[dict[str, Any]]) -> None:
    """Steps of whole elements, which stand before the line of the windows, are not timed one by one."""
    number = 0
    for group in groups:
        stages = group["stages"]
        windows = max((i for i, each in enumerate(stages) if each["text"].startswith("take windows ")), default=-1)
        for i, each in enumerate(stages):
            timed = group["work"] == "decode" and i > windows and not each["text"].startswith(NO_STEPS)
            each["step"] = number if timed else None
            number += timed


def live_numbers(stats: Any) -> dict[str, Any]:
    return {name: getattr(stats, name) for name in NUMBERS}
