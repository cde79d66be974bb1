# SPDX-License-Identifier: Apache-2.0
"""`parse_sequence_example` and `parse_single_sequence_example`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import compare
import ops_example
import pipeline
import wire
from example_faults import records

Vector = dict[str, Any]
Value = dict[str, Any]


def list_feature(spec: Value) -> Value:
    """A feature list; unlike sequences in an Example it says whether it may be missing."""
    out = ops_example.feature(spec)
    return {**out, "allow_missing": spec["allow_missing"]} if spec.get("allow_missing") else out


def _tensor(vector: Vector, key: str) -> str:
    """The tensor of a list. Tensors have one name space here: a key that the context has, too, gets another name."""
    return f"{key} (list)" if key in vector["args"]["context_features"] else key


def _document(vector: Vector, folder: Path) -> Value:
    messages, args = records(vector), vector["args"]
    file = folder / "x.tfrecord"
    file.write_bytes(wire.frame(messages))
    lists = {_tensor(vector, key): {**list_feature(spec), **({} if _tensor(vector, key) == key else {"key": key})}
             for key, spec in args["sequence_features"].items()}
    options = {"context": {key: ops_example.feature(spec) for key, spec in args["context_features"].items()}, "lists": lists}
    return pipeline.read([file], {"sequence_example": options}, [{"batch": {"size": max(len(messages), 1)}}])


def _taken(vector: Vector, batch: Any) -> Value:
    args = vector["args"]
    lists = {key: _tensor(vector, key) for key in args["sequence_features"]}
    return {"context": {key: batch[key] for key in args["context_features"]},
            "feature_lists": {key: batch[name] for key, name in lists.items()},
            "lengths": {key: batch.lengths[name].tolist() for key, name in lists.items() if name in batch.lengths}}


def _side(specs: Value, want: Value, got: Value, single: bool) -> list[str]:
    if set(specs) != set(want):
        return [f"{sorted(specs)}, expected {sorted(want)}"]
    differences = ((key, ops_example.difference(spec, want[key], got[key], single)) for key, spec in specs.items())
    return [f"{key}: {difference}" for key, difference in differences if difference]


def _parse(vector: Vector, folder: Path, single: bool) -> list[str]:
    args = vector["args"]
    out = pipeline.run(_document(vector, folder), lambda batch: _taken(vector, batch))
    if "error" in vector["expect"]:
        return ops_example.failed(vector, out)
    if out.error:
        return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"]
    want = vector["expect"]["ok"]
    if want is None:
        return [f"{len(out.values)} batches of nothing"] if out.values else []
    got = out.values[0]
    found = [*_side(args["context_features"], want.get("context", {}), got["context"], single),
             *_side(args["sequence_features"], want.get("feature_lists", {}), got["feature_lists"], single)]
    lengths = {key: value["data"] for key, value in want.get("lengths", {}).items()}
    wrong = {key: got["lengths"][key] for key in lengths if got["lengths"][key] != lengths[key]}
    return found or ([f"lengths {wrong}, expected {lengths}"] if wrong else [])


def parse_sequence_example(vector: Vector, folder: Path) -> list[str]:
    return _parse(vector, folder, single=False)


def parse_single_sequence_example(vector: Vector, folder: Path) -> list[str]:
    return _parse(vector, folder, single=True)
