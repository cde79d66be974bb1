# SPDX-License-Identifier: Apache-2.0
"""What a loader document delivers, worked out record by record: for vectors where we differ from the original.

No shuffling, no processing steps, padding only with zeros; the rest follows the documentation of the JSON loader.
"""

from __future__ import annotations

import base64
import math
from itertools import islice
from typing import Any

import numpy as np

import compare
import wire

Row = dict[str, np.ndarray]


def _array(values: list, dtype: str, shape: list[int]) -> np.ndarray:
    if dtype == "string":
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out.reshape(shape)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(values).astype(dtype).reshape(shape)


def _raw(feature: dict[str, Any], value: bytes) -> np.ndarray:
    order = "<" if feature["deserialize_args"]["endian"] == "little" else ">"
    dtype = np.dtype(feature["dtype"])
    return np.frombuffer(value, dtype.newbyteorder(order)).astype(dtype).reshape(feature["shape"])


def _deserialize(feature: dict[str, Any], record: bytes) -> np.ndarray:
    name, shape = feature["name"], list(feature["shape"])
    raw = feature["deserialize_type"] == "raw"
    if feature.get("var_len"):
        steps = [step[1] if step else [] for step in wire.sequences(record)[name]]
        if raw:
            none = np.empty([0, *shape], feature["dtype"])
            return np.stack([_raw(feature, step[0]) for step in steps]) if steps else none
        return _array([value for step in steps for value in step], feature["dtype"], [len(steps), *shape])
    values = wire.example(record)[name][1]
    if raw:
        several = (feature.get("deserialize_args") or {}).get("len", 1) > 1
        return np.stack([_raw(feature, value) for value in values]) if several else _raw(feature, values[0])
    return _array(values, feature["dtype"], shape)


def _shape_of(text: Any, row: Row) -> list[int]:
    if isinstance(text, str) and text in row:
        return list(row[text].shape)
    if isinstance(text, str):
        return [int(item) for item in text.strip("[]() ").split(",")]
    return list(text)


def row(vector: dict[str, Any], record: bytes) -> Row:
    manifest = {feature["name"]: feature for feature in vector["input"]["manifest"]["features"]}
    config = vector["args"]["config"]
    row = {p["to_name"]: _deserialize(manifest[p["from_name"]], record) for p in config["primary_features"]}
    made: Row = {}
    for secondary in config.get("secondary_features", []):
        args = secondary["args"]
        dtype = str(row[args["dtype"]].dtype) if args["dtype"] in row else args["dtype"]
        value = args.get("value", 0) if secondary["type"] == "const" else 1
        shape = _shape_of(args["shape"], row)
        made[secondary["to_name"]] = _array([value] * math.prod(shape), dtype, shape)
    return {**row, **made}


def _records(vector: dict[str, Any]) -> list[bytes]:
    given = vector["input"]
    names = sorted((n for n in given["files_b64"] if n.lower().endswith(".tfrecords")), key=str.encode)
    if vector["args"]["config"]["dataset"]["type"] == "list":
        lines = (line.strip() for line in given["list_text"].splitlines())
        names = [line.removeprefix("{dir}/") for line in lines if line]
    compression = (given["manifest"]["compression"] or "").upper()
    out = []
    for name in names:
        data = wire.decompress(base64.b64decode(given["files_b64"][name]), compression)
        out += [payload for _, payload in wire.whole_records(data)[0]]
    return out


def _join(rows: list[np.ndarray], padded: bool) -> np.ndarray:
    if not padded:
        return np.stack(rows)
    sizes = [max(dims) for dims in zip(*(row.shape for row in rows), strict=True)]
    out = np.full([len(rows), *sizes], b"" if rows[0].dtype == object else 0, rows[0].dtype)
    for i, row in enumerate(rows):
        cells: Any = (i, *map(slice, row.shape))
        out[cells] = row if row.ndim else row[()]
    return out


def normalized(values: np.ndarray, axis: int) -> np.ndarray:
    """Mean 0 and deviation 1 along an axis that is counted without the batch axis; integers become float32."""
    axis = axis + 1 if axis >= 0 else axis
    dtype = values.dtype if values.dtype.kind == "f" else np.dtype(np.float32)
    wide = values.astype(np.float64)
    deviation = np.sqrt(wide.var(axis=axis, keepdims=True) + 1e-8)
    return ((wide - wide.mean(axis=axis, keepdims=True)) / (deviation + 1e-8)).astype(dtype)


def batches(vector: dict[str, Any]) -> dict[str, Any]:
    """The `ok` of a `load` vector."""
    args, config = vector["args"], vector["args"]["config"]
    rows = [row(vector, record) for record in _records(vector)]
    size = int(args.get("caller_batch_size", config["target_batch_size"]))
    most = args.get("max_batches")
    epochs = config["epochs"] if config["epochs"] is not None else math.ceil((most + 1) * size / len(rows))
    stream = rows * int(epochs)
    cut = [stream[at : at + size] for at in range(0, len(stream), size)]
    if cut and config["drop_remainder"] and len(cut[-1]) < size:
        cut.pop()
    out = []
    for group in islice(cut, most):
        tensors = {name: _join([row[name] for row in group], bool(config.get("padding"))) for name in group[0]}
        for entry in config.get("normalization", []):
            tensors[entry["tensor"]] = normalized(tensors[entry["tensor"]], entry["axis"])
        specs = {name: compare.spec_of(tensor) for name, tensor in tensors.items()}
        sides = {side: {n: specs[n] for n in args[side] if n in specs} for side in ("inputs", "targets")}
        out.append(sides)
    return {"batches": out, "end_reached": most is None or len(out) < most}
