# SPDX-License-Identifier: Apache-2.0
"""Departures of queues, producers and the functions that batch; see departures.py."""

from __future__ import annotations

from typing import Any

Vector = dict[str, Any]


def _second_closes(vector: Vector) -> list[dict[str, Any]]:
    results = vector["expect"].get("ok", {}).get("results", [])
    steps = vector["input"]["steps"]
    closes = [place for place, step in enumerate(steps) if step["do"] == "close"]
    return [results[place] for place in closes[1:] if results and results[place].get("error") == "Cancelled"]


def closes_again(vector: Vector) -> bool:
    return bool(_second_closes(vector))


def harmless(vector: Vector) -> None:
    for result in _second_closes(vector):
        result.clear()
        result["ok"] = None


def has_unequal_arrays(vector: Vector) -> bool:
    return len({spec["shape"][0] for spec in vector["input"]["tensors"]}) > 1


def arrays_refused(vector: Vector) -> None:
    vector["expect"] = {"error": "InvalidArgument", "mentions": [str(spec["shape"][0]) for spec in vector["input"]["tensors"]]}


def hides_an_error(vector: Vector) -> bool:
    """The original's consumer sees the end only, and its producer has failed."""
    return "first_error" in vector["expect"].get("ok", {}) and vector["args"].get("min_after_dequeue", 0) >= 0


def error_shown(vector: Vector) -> None:
    """After the batches before it. Rows of less than a batch are left."""
    want = vector["expect"]["ok"]
    want["end"] = want["first_error"]
    want.pop("rows_dropped_at_end", None)


def has_no_batch_size(vector: Vector) -> bool:
    return vector["args"]["batch_size"] <= 0


def batch_size_refused(vector: Vector) -> None:
    vector["expect"] = {"error": "InvalidArgument", "mentions": ["batch_size"]}


def never_ends(vector: Vector) -> bool:
    return vector["expect"].get("ok", {}).get("end") == "hangs"


def ends_with_the_input(vector: Vector) -> None:
    vector["expect"]["ok"]["end"] = "OutOfRange"


def has_negative_floor(vector: Vector) -> bool:
    return vector["args"].get("min_after_dequeue", 0) < 0


def floor_refused(vector: Vector) -> None:
    vector["expect"] = {"error": "InvalidArgument", "mentions": ["min_after_dequeue"]}


def has_other_components(vector: Vector) -> bool:
    return len({len(entry) for entry in vector["input"].get("entries", [])}) > 1


def components_refused(vector: Vector) -> None:
    vector["expect"] = {"error": "InvalidArgument", "mentions": [str(len(entry)) for entry in vector["input"]["entries"]]}


def pads_known_sizes(vector: Vector) -> bool:
    return bool(vector["args"].get("dynamic_pad")) and "error" in vector["expect"] and "entries" in vector["input"]


def padded(vector: Vector) -> None:
    vector["expect"] = {"ok": {"builds": True}}
