# SPDX-License-Identifier: Apache-2.0
"""The layer of TF-Slim: item handlers over one record, and providers over files."""

from __future__ import annotations

import base64
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import compare
import forebay as fb
import ops_example
import ops_sequence
import pipeline
import wire
from forebay import slim

Vector = dict[str, Any]
Value = dict[str, Any]

_FUNCTIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "sum": lambda tensors: np.asarray(sum(_numbers(tensor).sum(dtype=np.float32) for tensor in tensors.values()), np.float32),
    "keys": lambda tensors: np.array([key.encode() for key in sorted(tensors)], object),
}


def _numbers(tensor: Any) -> Any:
    return np.asarray(tensor.values if isinstance(tensor, fb.Sparse) else tensor)


def _handler(name: str, args: Value) -> slim.ItemHandler:
    """The names of handlers and arguments are those of the original."""
    args = dict(args)
    if "vocabulary" in args:
        args["table"] = args.pop("vocabulary")
    if "func" in args:
        args["func"] = _FUNCTIONS[args["func"]]
    if "backup" in args:
        return slim.BackupHandler(*(_handler(*part) for part in (args["handler"], args["backup"])))
    made: slim.ItemHandler = getattr(slim, name)(**args)
    return made


def _handlers(vector: Vector) -> dict[str, slim.ItemHandler]:
    out = {}
    for item, spec in vector["args"]["items_to_handlers"].items():
        args = {key: value for key, value in spec.items() if key != "handler" or isinstance(value, list)}
        out[item] = _handler(spec["handler"] if isinstance(spec["handler"], str) else "", args)
    return out


def _difference(want: Value, got: Any, tolerance: float) -> compare.Difference:
    if "indices" not in want:
        return compare.array_difference(want, np.asarray(got), tolerance)
    if not isinstance(got, fb.Sparse):
        return f"is a {type(got).__name__}, not sparse"
    if got.indices.tolist() != want["indices"] or list(got.dense_shape) != want["dense_shape"]:
        return f"indices {got.indices.tolist()} of {list(got.dense_shape)}, expected {want['indices']} of {want['dense_shape']}"
    return compare.array_difference(want["values"], got.values, tolerance)


def _decode(vector: Vector, make: Callable[[], slim.DataDecoder]) -> list[str]:
    out = pipeline.Run()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")   # of formats that contradict the content
            decoder = make()
            items = vector["args"]["items"]
            out.values = decoder.decode(base64.b64decode(vector["input"]["serialized_b64"]), items)
    except Exception as error:  # noqa: BLE001 (the classes are compared)
        out.error, out.at_load = error, not isinstance(error, fb.DataError)
    if "error" in vector["expect"]:
        return ops_example.failed(vector, out)
    if out.error:
        return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"]
    want = vector["expect"]["ok"]
    names = list(items or decoder.list_items())
    if names != want["items"]:
        return [f"items {names}, expected {want['items']}"]
    pairs = zip(names, want["values"], out.values, strict=True)
    differences = ((name, _difference(value, got, vector.get("tolerance", 0))) for name, value, got in pairs)
    return [f"{name}: {difference}" for name, difference in differences if difference]


def decode(vector: Vector, folder: Path) -> list[str]:
    features = {key: ops_example.feature(spec) for key, spec in vector["args"]["features"].items()}
    return _decode(vector, lambda: slim.TFExampleDecoder(features, _handlers(vector)))


def decode_sequence(vector: Vector, folder: Path) -> list[str]:
    context = {key: ops_example.feature(spec) for key, spec in vector["args"]["features"].items()}
    lists = {key: ops_sequence.list_feature(spec) for key, spec in vector["args"]["sequence_features"].items()}
    return _decode(vector, lambda: slim.TFSequenceExampleDecoder(context, lists, _handlers(vector)))


def _files(vector: Vector, folder: Path) -> tuple[list[str], int]:
    paths, count = [], 0
    for file in vector["input"]["files"]:
        records = [base64.b64decode(record) for record in file["records_b64"]]
        (folder / file["name"]).write_bytes(wire.frame(records))
        paths.append(str(folder / file["name"]))
        count += len(records)
    return paths, count


def _plain(value: Any, folder: Path) -> Any:
    if isinstance(value, str):
        return value.replace(f"{folder}/", "")
    cell = np.asarray(value).tolist()
    return cell.decode() if isinstance(cell, bytes) else cell


def provider(vector: Vector, folder: Path) -> list[str]:
    paths, count = _files(vector, folder)
    args = dict(vector["args"])
    features = {key: ops_example.feature(spec) for key, spec in args.pop("features").items()}
    handlers = {key: slim.Tensor(key, default_value="" if spec["dtype"] == "string" else 0) for key, spec in features.items()}
    items = args.pop("items")
    out, rows, end, names, samples = pipeline.Run(), [], "OutOfRange", [], None
    try:
        decoder = slim.TFExampleDecoder(features, handlers)
        dataset = slim.Dataset(paths, fb.tfrecord, decoder, count, {})
        made = slim.DatasetDataProvider(dataset, **args)
        names, samples = made.list_items(), made.num_samples()
        for row in itertools.islice(made.each(items), vector["input"]["take"]):
            rows.append([_plain(value, folder) for value in row])
        end = "taken" if len(rows) == vector["input"]["take"] else end
        made.close()
    except Exception as error:  # noqa: BLE001 (the classes are compared)
        out.error, out.at_load = error, not isinstance(error, fb.DataError)
    if "error" in vector["expect"]:
        return ops_example.failed(vector, out)
    if out.error:
        return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"]
    want = dict(vector["expect"]["ok"])
    got = {"list_items": names, "num_samples": samples, "end": end, "rows": rows}
    if "rows_in_any_order" in want:
        want["rows"] = want.pop("rows_in_any_order")
        got["rows"] = sorted(rows, key=str)
        want["rows"] = sorted(want["rows"], key=str)
    return [f"{key}: {compare.short(got[key], 200)}, expected {compare.short(want[key], 200)}"
            for key in want if got.get(key) != want[key]]


def single_pass(vector: Vector, folder: Path) -> list[str]:
    paths, _ = _files(vector, folder)
    out, records = pipeline.Run(), []
    try:
        with slim.single_pass_read(paths) as reader:
            for key, value in reader:
                records.append({"key": _plain(key, folder), "value_b64": base64.b64encode(value).decode()})
    except Exception as error:  # noqa: BLE001 (the classes are compared)
        out.error, out.at_load = error, not isinstance(error, fb.DataError)
    if "error" in vector["expect"]:
        return ops_example.failed(vector, out)
    if out.error:
        return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"]
    want = vector["expect"]["ok"]["records"]
    return [] if records == want else [f"{compare.short(records, 200)}, expected {compare.short(want, 200)}"]
