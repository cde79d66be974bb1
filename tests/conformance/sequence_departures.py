# SPDX-License-Identifier: Apache-2.0
"""Departures in parsing SequenceExamples."""

from __future__ import annotations

from typing import Any

import sequence_faults
import wire
from example_faults import records

Vector = dict[str, Any]


def has_no_records(vector: Vector) -> bool:
    return not records(vector) and vector["expect"].get("stage") != "build"


def nothing(vector: Vector) -> None:
    vector["expect"] = {"ok": None}


def _fails_late(vector: Vector) -> bool:
    return "error" in vector["expect"] and vector["expect"].get("stage") != "build"


def names_a_fault(vector: Vector) -> bool:
    return _fails_late(vector) and bool(list(sequence_faults.faults(vector)))


def name_any_fault(vector: Vector) -> None:
    found = sequence_faults.faults(vector)
    ways = [[f"record {i}", *([name] if name else [])] for i, name in found]
    vector["expect"] = {"error": "InvalidArgument", "mentions": ways[0], "any_of": ways, "stage": "run"}


def is_right_by_protobuf(vector: Vector) -> bool:
    return _fails_late(vector) and bool(records(vector)) and not list(sequence_faults.faults(vector))


def parsed(vector: Vector) -> None:
    vector["expect"] = {"ok": sequence_faults.parsed(vector)}


def partitions_lack_steps(vector: Vector) -> bool:
    """A list of partitions that has another number of steps than its values."""
    lists = [wire.list_entries(record) for record in records(vector)] if "ok" in vector["expect"] else []
    pairs = [(spec["value_key"] or name, key) for name, spec in vector["args"]["sequence_features"].items()
             for _, key in spec.get("partitions", []) if isinstance(key, str)]
    return any(_steps(found, values) != _steps(found, key) for found in lists for values, key in pairs)


def _steps(found: dict[str, bytes], key: str) -> int:
    return len(wire.steps(found.get(key, b"")))


def refused(vector: Vector) -> None:
    names = list(vector["args"]["sequence_features"])
    vector["expect"] = {"error": "InvalidArgument", "mentions": names[:1], "stage": "run"}
