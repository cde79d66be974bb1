# SPDX-License-Identifier: Apache-2.0
"""`parse_example`, `parse_single_example` and `decode_raw`."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np

import compare
import forebay as fb
import pipeline
import wire
from example_faults import records

Vector = dict[str, Any]
Value = dict[str, Any]


def _plain(default: Any) -> Any:
    """A default as JSON has it: bytes as text."""
    if isinstance(default, dict):
        return base64.b64decode(default["b64"]).decode()
    return [_plain(item) for item in default] if isinstance(default, list) else default


# What the kinds that may be delivered in several ways are asked for as.
_AS = {"var_len": "sparse", "fixed_len_sequence": "padded"}
# Options of the original that have another form here: `default` is there or not; sequences may always be missing.
_LEFT_OUT = ("has_default", "allow_missing")


def feature(spec: Value) -> Value:
    """The kinds and options have the names of the original."""
    out = {key: _plain(value) for key, value in spec.items() if key not in _LEFT_OUT}
    if out.get("value_key", "") is None:
        del out["value_key"]
    if spec["kind"] in _AS:
        out["as"] = _AS[spec["kind"]]
    return out


def _document(vector: Vector, folder: Path) -> Value:
    messages = records(vector)
    file = folder / "x.tfrecord"
    file.write_bytes(wire.frame(messages))
    features = {key: feature(spec) for key, spec in vector["args"]["features"].items()}
    batch = {"batch": {"size": max(len(messages), 1)}}
    return pipeline.read([file], {"example": {"features": features}}, [batch])


def _sparse_difference(want: Value, got: Any, single: bool) -> compare.Difference:
    if not hasattr(got, "dense_shape"):
        return f"is a {type(got).__name__}, not sparse"
    skip = 1 if single else 0
    indices = np.asarray(got.indices)[:, skip:].tolist()
    if indices != want["indices"] or list(got.dense_shape)[skip:] != want["dense_shape"]:
        shape = list(got.dense_shape)[skip:]
        return f"indices {indices} of {shape}, expected {want['indices']} of {want['dense_shape']}"
    return compare.array_difference(want["values"], got.values)


def _flat_ragged(value: Value) -> tuple[list[list[int]], Value]:
    """(row splits outermost first, the array inside)."""
    splits = []
    while "row_splits" in value:
        splits.append(value["row_splits"])
        value = value["values"]
    return splits, value


def _ragged_difference(want: Value, got: Any, single: bool) -> compare.Difference:
    if "row_splits" not in want:   # the one level of a single record is its batch axis
        return compare.array_difference(want, got.values if hasattr(got, "nested_row_splits") else got[0, ...])
    if not hasattr(got, "nested_row_splits"):
        return f"is a {type(got).__name__}, not ragged"
    splits, inner = _flat_ragged(want)
    levels = got.nested_row_splits[1 if single else 0 :]
    if [level.tolist() for level in levels] != splits:
        return f"row splits {[level.tolist() for level in levels]}, expected {splits}"
    if any(str(level.dtype) != want["row_splits_dtype"] for level in levels):
        return f"row splits of {levels[0].dtype}, expected {want['row_splits_dtype']}"
    return compare.array_difference(inner, got.values)


def difference(spec: Value, want: Value, got: Any, single: bool) -> compare.Difference:
    if spec["kind"] in ("var_len", "sparse"):
        return _sparse_difference(want, got, single)
    if spec["kind"] == "ragged":
        return _ragged_difference(want, got, single)
    return compare.array_difference(want, got[0, ...] if single and isinstance(got, np.ndarray) else got)


def failed(vector: Vector, out: pipeline.Run) -> list[str]:
    expect = vector["expect"]
    ways = [expect["mentions"], *expect.get("any_of", [])]
    differences = [compare.error_difference(words, out.error) for words in ways]
    if all(differences):
        return [str(differences[0])]
    late = expect.get("stage") == "build" and not out.at_load
    return ["found only when the record came"] if late else []


def _parse(vector: Vector, folder: Path, single: bool) -> list[str]:
    specs = vector["args"]["features"]
    out = pipeline.run(_document(vector, folder), lambda batch: {key: batch[key] for key in specs})
    if "error" in vector["expect"]:
        return failed(vector, out)
    if out.error:
        return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"]
    want = vector["expect"]["ok"]
    if want is None:
        return [f"{len(out.values)} batches of nothing"] if out.values else []
    differences = ((key, difference(spec, want[key], out.values[0][key], single)) for key, spec in specs.items())
    return [f"{key}: {difference}" for key, difference in differences if difference]


def parse_example(vector: Vector, folder: Path) -> list[str]:
    return _parse(vector, folder, single=False)


def parse_single_example(vector: Vector, folder: Path) -> list[str]:
    return _parse(vector, folder, single=True)


def decode_raw(vector: Vector, folder: Path) -> list[str]:
    args, shape = vector["args"], vector["input"]["shape"]
    values = np.empty(len(records(vector)), object)
    values[:] = records(vector)
    out = pipeline.Run()
    try:
        out.values = [fb.decode_raw(values.reshape(shape), args["out_type"], args["little_endian"], args["fixed_length"])]
    except fb.Error as error:
        out.error, out.at_load = error, isinstance(error, fb.ConfigError)
    if "error" in vector["expect"]:
        return failed(vector, out)
    if out.error:
        return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"]
    difference = compare.array_difference(vector["expect"]["ok"], out.values[0])
    return [difference] if difference else []
