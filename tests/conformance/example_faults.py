# SPDX-License-Identifier: Apache-2.0
"""Which features of which records of a `parse_example` vector are wrong, read by the rules of the specification."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from typing import Any

import wire

Spec = dict[str, Any]
Stored = tuple[str, list] | None
KINDS = {"int64": "int64", "float32": "float", "string": "bytes"}


def records(vector: dict[str, Any]) -> list[bytes]:
    given = vector["input"].get("serialized_b64", vector["input"].get("strings_b64"))
    return [base64.b64decode(record) for record in ([given] if isinstance(given, str) else given)]


def _keys(name: str, spec: Spec) -> dict[str, str]:
    """The keys that a feature reads, and the kind that each must have."""
    kind = KINDS.get(spec["dtype"], "int64" if "int" in spec["dtype"] else "float")
    index = spec.get("index_key", [])
    parts = [key for form, key in spec.get("partitions", []) if form != "uniform_row_length"]
    extra = [index] if isinstance(index, str) else index
    return {spec.get("value_key") or name: kind, **dict.fromkeys([*extra, *parts], "int64")}


def _count_is_wrong(spec: Spec, count: int) -> bool:
    size = math.prod(spec["shape"])
    return count != size if spec["kind"] == "fixed_len" else size == 0 or count % size != 0


def _sparse_is_wrong(spec: Spec, values: list, indices: list[list]) -> bool:
    sizes = [spec["size"]] if isinstance(spec["size"], int) else spec["size"]
    axes = list(zip(indices, sizes, strict=True))
    return any(len(axis) != len(values) or any(not 0 <= at < size for at in axis) for axis, size in axes)


def is_wrong(name: str, spec: Spec, entries: dict[str, bytes]) -> bool:
    try:
        found = {key: wire.feature(entries[key]) if key in entries else None for key in _keys(name, spec)}
    except ValueError:
        return True
    kinds = _keys(name, spec).values()
    if any(value and value[0] != kind for value, kind in zip(found.values(), kinds, strict=True)):
        return True
    lists = [value[1] if value else [] for value in found.values()]
    missing = next(iter(found.values())) is None
    if spec["kind"] == "fixed_len" and missing:
        return not spec["has_default"]
    if spec["kind"] in ("fixed_len", "fixed_len_sequence"):
        return _count_is_wrong(spec, len(lists[0]))
    if spec["kind"] == "sparse":
        return _sparse_is_wrong(spec, lists[0], lists[1:])
    return any(form == "uniform_row_length" for form, _ in spec.get("partitions", []))  # may not divide


def faults(vector: dict[str, Any]) -> Iterator[tuple[int, str | None]]:
    """(record, feature); no feature when the record itself cannot be read."""
    for i, record in enumerate(records(vector)):
        try:
            entries = wire.entries(record)
        except ValueError:
            yield i, None
            continue
        for name, spec in vector["args"]["features"].items():
            if is_wrong(name, spec, entries):
                yield i, name
