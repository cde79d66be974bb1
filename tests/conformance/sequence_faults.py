# SPDX-License-Identifier: Apache-2.0
"""`parse_sequence_example` by the rules of the specification, in plain Python: what is wrong, and what comes out."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import compare
import wire
from example_faults import KINDS, is_wrong, records

Vector = dict[str, Any]
Value = dict[str, Any]
Steps = list[list[Any]]


def _list_is_wrong(name: str, spec: Value, entries: dict[str, bytes]) -> bool:
    if name not in entries:
        return spec["kind"] == "fixed_len_sequence" and not spec["allow_missing"]
    try:
        steps = wire.steps(entries[name])
    except ValueError:
        return True
    if any(step and step[0] != KINDS[spec["dtype"]] for step in steps):
        return True
    size = math.prod(spec.get("shape", []))
    return spec["kind"] == "fixed_len_sequence" and any(len(step[1] if step else []) != size for step in steps)


def faults(vector: Vector) -> Iterator[tuple[int, str | None]]:
    """(record, feature); no feature when the record itself cannot be read."""
    args = vector["args"]
    for i, record in enumerate(records(vector)):
        try:
            context, lists = wire.entries(record), wire.list_entries(record)
        except ValueError:
            yield i, None
            continue
        for name, spec in args["context_features"].items():
            if is_wrong(name, spec, context):
                yield i, name
        for name, spec in args["sequence_features"].items():
            if _list_is_wrong(name, spec, lists):
                yield i, name


def _cells(values: list[Any], dtype: str, shape: list[int]) -> Value:
    if dtype == "string":
        out: Any = np.empty(len(values), object)
        out[:] = values
        return compare.spec_of(out.reshape(shape))
    return compare.spec_of(np.array(values, dtype).reshape(shape))


def _default(spec: Value) -> list[Any]:
    default = spec["default"]
    flat = default if isinstance(default, list) else [default]
    cells = [base64.b64decode(cell["b64"]) if isinstance(cell, dict) else cell for cell in flat]
    return cells if len(cells) > 1 else cells * math.prod(spec["shape"])


def _splits(counts: list[int]) -> list[int]:
    return [sum(counts[:i]) for i in range(len(counts) + 1)]


def _context(spec: Value, rows: Steps, single: bool) -> Value:
    flat = [value for row in rows for value in row]
    if spec["kind"] == "fixed_len":
        return _cells(flat, spec["dtype"], [*([] if single else [len(rows)]), *spec["shape"]])
    values = _cells(flat, spec["dtype"], [len(flat)])
    if spec["kind"] == "ragged":
        splits = _splits([len(row) for row in rows])
        return values if single else {"values": values, "row_splits": splits, "row_splits_dtype": "int32"}
    skip = 1 if single else 0
    indices = [[i, j][skip:] for i, row in enumerate(rows) for j in range(len(row))]
    return {"indices": indices, "values": values, "dense_shape": [len(rows), max(map(len, rows))][skip:]}


def _list(spec: Value, rows: list[Steps], single: bool) -> Value:
    longest = max(map(len, rows))
    if spec["kind"] == "fixed_len_sequence":
        zero = [b"" if spec["dtype"] == "string" else 0] * math.prod(spec["shape"])
        flat = [value for row in rows for step in [*row, *[zero] * (longest - len(row))] for value in step]
        return _cells(flat, spec["dtype"], [*([] if single else [len(rows)]), longest, *spec["shape"]])
    flat = [value for row in rows for step in row for value in step]
    values = _cells(flat, spec["dtype"], [len(flat)])
    if spec["kind"] == "ragged":
        steps = {"values": values, "row_splits": _splits([len(step) for row in rows for step in row]), "row_splits_dtype": "int32"}
        outer = _splits([len(row) for row in rows])
        return steps if single else {"values": steps, "row_splits": outer, "row_splits_dtype": "int32"}
    skip = 1 if single else 0
    indices = [[i, t, j][skip:] for i, row in enumerate(rows) for t, step in enumerate(row) for j in range(len(step))]
    widest = max((len(step) for row in rows for step in row), default=0)
    return {"indices": indices, "values": values, "dense_shape": [len(rows), longest, widest][skip:]}


def parsed(vector: Vector) -> Value:
    """The result of a vector without faults."""
    args, messages = vector["args"], records(vector)
    single = vector["op"] == "parse_single_sequence_example"
    out: Value = {}
    for name, spec in args["context_features"].items():
        found = [wire.example(message).get(name) for message in messages]
        rows = [value[1] if value else _default(spec) if spec.get("has_default") else [] for value in found]
        out.setdefault("context", {})[name] = _context(spec, rows, single)
    for name, spec in args["sequence_features"].items():
        entries = [wire.list_entries(message) for message in messages]
        lists = [[step[1] if step else [] for step in wire.steps(one[name])] if name in one else [] for one in entries]
        out.setdefault("feature_lists", {})[name] = _list(spec, lists, single)
        if spec["kind"] == "fixed_len_sequence" and not single:
            counts = [len(steps) for steps in lists]
            out.setdefault("lengths", {})[name] = {"dtype": "int64", "shape": [len(counts)], "data": counts}
    return out
