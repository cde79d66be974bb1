# SPDX-License-Identifier: Apache-2.0
"""Departures of the state saver; see departures.py."""

from __future__ import annotations

from typing import Any

Vector = dict[str, Any]


def _events(vector: Vector) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(entry, event) of a script."""
    return list(zip(vector["input"]["script"], vector["expect"].get("ok", {}).get("events", []), strict=False))


def _blocked_after_close(vector: Vector) -> list[dict[str, Any]]:
    out, closed = [], False
    for entry, event in _events(vector):
        closed = closed or entry["op"] == "close"
        if closed and entry["op"] == "step" and event.get("blocks"):
            out.append(event)
    return out


def blocks_after_close(vector: Vector) -> bool:
    return bool(_blocked_after_close(vector))


def ends_instead(vector: Vector) -> None:
    for event in _blocked_after_close(vector):
        event.clear()
        event["error"] = "end_of_data"


def has_negative_length(vector: Vector) -> bool:
    return any(example.get("length", 0) < 0 for example in vector["input"]["examples"])


def refused_length(vector: Vector) -> None:
    """The only example of the script is refused, so its steps wait."""
    length = vector["input"]["examples"][0]["length"]
    for entry, event in _events(vector):
        event.clear()
        event.update({"error": "invalid_argument"} if entry["op"] == "insert" else {"blocks": True})
    vector["mentions"] = ["length", str(length)]


def _reuses(vector: Vector) -> list[int]:
    """Events that insert a key that is live with another number of segments. Scripts that reuse keys insert first."""
    keys, out = set(), []
    for place, (entry, _) in enumerate(_events(vector)):
        if entry["op"] != "insert":
            break
        key = vector["input"]["examples"][entry["example"]]["key"]
        out += [place] if key in keys else []
        keys.add(key)
    return out


def reuses_a_live_key(vector: Vector) -> bool:
    return any("error" not in vector["expect"]["ok"]["events"][place] for place in _reuses(vector))


def refused_key(vector: Vector) -> None:
    """The second example is refused; the steps, of one row each, deliver the first one and then wait."""
    events = vector["expect"]["ok"]["events"]
    for place in _reuses(vector):
        events[place] = {"error": "invalid_argument"}
    steps = [place for place, (entry, _) in enumerate(_events(vector)) if entry["op"] == "step"]
    rows = [events[place] for place in steps if all(row["insertion_offset"] == 0 for row in events[place]["rows"].values())]
    for number, place in enumerate(steps):
        events[place] = rows[number] if number < len(rows) else {"blocks": True}
    vector["mentions"] = [vector["input"]["examples"][0]["key"]]


def saves_another_type(vector: Vector) -> bool:
    return "value_dtype" in vector["args"] and "ok" in vector["expect"]


def refused_type(vector: Vector) -> None:
    vector["expect"] = {"error": "invalid_argument", "mentions": [vector["args"]["name"]]}


def has_long_length(vector: Vector) -> bool:
    return vector["args"].get("length_dtype") == "int64"


def accepted(vector: Vector) -> None:
    vector["expect"] = {"ok": {"accepted_at_construction": True}}


def _sizes_while_one_waits(vector: Vector) -> list[tuple[dict[str, Any], int]]:
    """Events of sizes while inserts wait for room, and the segments of these inserts."""
    waiting: dict[int, int] = {}
    out = []
    for entry, event in _events(vector):
        if entry["op"] == "insert" and event.get("blocks"):
            lengths = vector["input"]["examples"][entry["example"]]["sequences"].values()
            waiting[entry["example"]] = next(iter(lengths))["shape"][0] // vector["args"]["num_unroll"]
        for finished in event.get("inserts_finished", []):
            del waiting[finished["example"]]
        if entry["op"] == "sizes" and waiting:
            out.append((event, sum(waiting.values())))
    return out


def counts_inserts_that_wait(vector: Vector) -> bool:
    return bool(_sizes_while_one_waits(vector))


def only_what_was_inserted(vector: Vector) -> None:
    for event, segments in _sizes_while_one_waits(vector):
        event["waiting_segments"] -= segments
