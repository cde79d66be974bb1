# SPDX-License-Identifier: Apache-2.0
"""Departures in parsing Examples and raw bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np

import compare
import wire
from example_faults import faults, records

Vector = dict[str, Any]
Value = dict[str, Any]
_STORED = {"int64", "float32", "string"}


def _features(vector: Vector) -> dict[str, dict[str, Any]]:
    return vector["args"]["features"]


def _results(vector: Vector) -> dict[str, Any]:
    return vector["expect"].get("ok", {})


def names_examples(vector: Vector) -> bool:
    names = vector["input"].get("names") or []
    return any(word in names for word in vector["expect"].get("mentions", []))


def name_records(vector: Vector) -> None:
    names, expect = vector["input"]["names"], vector["expect"]
    expect["mentions"] = [f"record {names.index(w)}" if w in names else w for w in expect["mentions"]]


def has_faults(vector: Vector) -> bool:
    return bool(vector["expect"].get("mentions")) and vector["expect"].get("stage") != "build"


def name_any_fault(vector: Vector) -> None:
    vector["expect"]["any_of"] = [[f"record {i}", *([name] if name else [])] for i, name in faults(vector)]


def has_raw_keys(vector: Vector) -> bool:
    """Keys that are no UTF-8: the protobuf runtime refuses them, the original and we do not."""
    if "original" not in vector or "ok" in vector["expect"]:
        return False
    try:
        keys = [key for record in records(vector) for key in wire.entries(record)]
    except ValueError:
        return False
    return any(0xDC80 <= ord(char) <= 0xDCFF for key in keys for char in key)


def has_unasked_fault(vector: Vector) -> bool:
    """The features that are asked for are right; others are not looked into."""
    return "error" in vector["expect"] and "ok" in vector.get("original", {}) and not list(faults(vector))


def as_original(vector: Vector) -> None:
    vector["expect"] = vector["original"]


def _levels(vector: Vector) -> Iterator[tuple[str, Value]]:
    """(kind of partition, level) of every ragged value that is expected, without the axis of the records."""
    single = vector["op"] == "parse_single_example"
    for name, value in _results(vector).items():
        if not single and "row_splits" in value:
            value = value["values"]
        for kind, _ in _features(vector)[name].get("partitions", []):
            if "row_splits" in value:
                yield kind, value
                value = value["values"]


def _begins_elsewhere(kind: str, value: Value) -> bool:
    return value["row_splits"] == [] or (kind == "row_splits" and value["row_splits"][0] != 0)


def has_other_splits(vector: Vector) -> bool:
    return any(_begins_elsewhere(kind, value) for kind, value in _levels(vector))


def from_zero(vector: Vector) -> None:
    for kind, value in _levels(vector):
        if _begins_elsewhere(kind, value):
            value["row_splits"] = [0, *value["row_splits"][1:]]


def has_wrong_names(vector: Vector) -> bool:
    names = vector["input"].get("names")
    return names is not None and len(names) != len(records(vector))


def leaves_sequences_out(vector: Vector) -> bool:
    unasked = [s for s in _features(vector).values() if s["kind"] == "fixed_len_sequence" and not s["allow_missing"]]
    return bool(unasked) and vector["expect"].get("stage") == "build"


def casts(vector: Vector) -> bool:
    dtypes = {spec.get("dtype") for spec in _features(vector).values()}
    return bool(dtypes - _STORED) and vector["expect"].get("stage") == "build"


def _plain(spec: dict[str, Any], rows: list[list]) -> dict[str, Any]:
    if spec["kind"].startswith("fixed_len"):
        sizes = spec["shape"] if spec["kind"] == "fixed_len" else [-1, *spec["shape"]]
        return compare.spec_of(np.array(rows).astype(spec["dtype"]).reshape([len(rows), *sizes]))
    flat = [value for row in rows for value in row]
    return {
        "indices": [[i, j] for i, row in enumerate(rows) for j in range(len(row))],
        "values": {"dtype": spec["dtype"], "shape": [len(flat)], "data": flat},
        "dense_shape": [len(rows), max(map(len, rows))],
    }


def _without_batch(value: dict[str, Any]) -> dict[str, Any]:
    if "indices" not in value:
        return {**value, "shape": value["shape"][1:]}
    return {**value, "indices": [i[1:] for i in value["indices"]], "dense_shape": value["dense_shape"][1:]}


def plainly_parsed(vector: Vector) -> None:
    """Well-formed messages, read here."""
    messages = [wire.example(record) for record in records(vector)]
    found = {k: _plain(s, [m[k][1] for m in messages]) for k, s in _features(vector).items()}
    single = vector["op"] == "parse_single_example"
    vector["expect"] = {"ok": {k: _without_batch(v) if single else v for k, v in found.items()}}


def _is_empty_default(spec: dict[str, Any]) -> bool:
    if spec["kind"] != "fixed_len" or not spec["has_default"]:
        return False
    return None not in spec["shape"] and math.prod(spec["shape"]) == 0


def has_empty_default(vector: Vector) -> bool:
    features = _features(vector)
    if "ok" in vector["expect"] or not features or not all(map(_is_empty_default, features.values())):
        return False
    return not any(key in wire.example(record) for record in records(vector) for key in features)


def empty_default(vector: Vector) -> None:
    batch = [] if vector["op"] == "parse_single_example" else [len(records(vector))]
    specs = _features(vector).items()
    none = {key: {"dtype": spec["dtype"], "shape": [*batch, *spec["shape"]], "data": []} for key, spec in specs}
    vector["expect"] = {"ok": none}


def has_index_outside(vector: Vector) -> bool:
    specs = _features(vector)
    sparse = [(specs[key], value) for key, value in _results(vector).items() if specs[key]["kind"] == "sparse"]
    if any(len(value["indices"]) != value["values"]["shape"][0] for _, value in sparse):
        return True
    if sparse and any(not _as_many_indices(spec, record) for spec, _ in sparse for record in records(vector)):
        return True
    return any(
        not 0 <= at < size
        for _, value in sparse
        for index in value["indices"]
        for at, size in zip(index, value["dense_shape"], strict=True)
    )


def _lists(record: bytes, keys: list[str]) -> list[list]:
    try:
        entries = wire.entries(record)
        found = [wire.feature(entries[key]) if key in entries else None for key in keys]
    except ValueError:   # nothing to compare
        found = [None] * len(keys)
    return [values for _, values in (one or ("", []) for one in found)]


def _as_many_indices(spec: dict[str, Any], record: bytes) -> bool:
    """The original compares the numbers of the whole batch, not those of each record."""
    index = spec["index_key"]
    lists = _lists(record, [spec["value_key"], *([index] if isinstance(index, str) else index)])
    return len(set(map(len, lists))) == 1


def fits_the_batch_only(vector: Vector) -> bool:
    """The original validates the partition of the whole batch, not those of its records."""
    return any(
        "ok" in vector["expect"] and spec.get("validate") and not _fits(name, spec, record)
        for name, spec in _features(vector).items()
        for record in records(vector)
    )


def _fits(name: str, spec: dict[str, Any], record: bytes) -> bool:
    below = len(_lists(record, [spec.get("value_key") or name])[0])
    for kind, what in reversed(spec.get("partitions", [])):
        if kind == "uniform_row_length":
            if below % what:
                return False
            below //= what
            continue
        numbers = _lists(record, [what])[0]
        if kind == "value_rowids":
            if numbers != sorted(numbers) or len(numbers) != below or min(numbers, default=0) < 0:
                return False
            below = max(numbers, default=-1) + 1
            continue
        splits = {
            "row_splits": numbers or [0],
            "row_lengths": list(accumulate(numbers, initial=0)),
            "row_starts": [*numbers, below] if numbers else [0],
            "row_limits": [0, *numbers],
        }[kind]
        if splits[0] != 0 or splits[-1] != below or splits != sorted(splits):
            return False
        below = len(splits) - 1
    return True


def refused(vector: Vector) -> None:
    vector["expect"] = {"error": "InvalidArgument", "mentions": [], "stage": "any"}


def has_no_records(vector: Vector) -> bool:
    return not records(vector) and "ok" in vector["expect"]


def nothing(vector: Vector) -> None:
    vector["expect"] = {"ok": None}


def is_new_raw(vector: Vector) -> bool:
    """Refused by the original for its dtype, not for its bytes."""
    text = vector["expect"].get("tf_message", "")
    known = vector["args"]["out_type"] in ("uint32", "uint64", "float16", "complex64", "complex128")
    return "error" in vector["expect"] and known and ("attr 'out_type'" in text or "device" in text)


def raw_values(vector: Vector) -> None:
    args, shape = vector["args"], vector["input"]["shape"]
    order = "<" if args["little_endian"] else ">"
    dtype = np.dtype(args["out_type"])
    size = args["fixed_length"]
    parts = [part[:size].ljust(size or 0, b"\0") for part in records(vector)]
    values = np.frombuffer(b"".join(parts), dtype.newbyteorder(order)).astype(dtype)
    vector["expect"] = {"ok": compare.spec_of(values.reshape([*shape, -1]))}
