# SPDX-License-Identifier: Apache-2.0
"""`decode_csv`: the records in a record file, and the decoder `csv`."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np

import compare
import forebay as fb
import pipeline
import wire

Vector = dict[str, Any]


def _column(default: dict[str, Any]) -> dict[str, Any]:
    if default["required"]:
        return {"dtype": default["dtype"]}
    value = default["default"]
    if isinstance(value, dict):
        value = base64.b64decode(value["b64"]).decode()
    return {"dtype": default["dtype"], "default": [[value]] if default["default_rank"] > 1 else value}


def _default(default: dict[str, Any]) -> Any:
    """An entry of `record_defaults` as a caller of the function writes it."""
    dtype = "S" if default["dtype"] == "string" else default["dtype"]
    if default["required"]:
        return np.array([], dtype)
    value = default["default"]
    if isinstance(value, dict):
        value = base64.b64decode(value["b64"])
    return np.array(value if default["default_rank"] == 0 else [value], object if dtype == "S" else dtype)


def _stacked(values: list[dict[str, Any]], name: str, want: dict[str, Any]) -> np.ndarray:
    found = values[0][name] if values else np.empty(0, compare.expected(want).dtype if "dtype" in want else float)
    return np.asarray(found).reshape(want["shape"])


def decode_csv(vector: Vector, folder: Path) -> list[str]:
    args, expect = vector["args"], vector["expect"]
    records = [base64.b64decode(record) for record in vector["input"]["records_b64"]]
    file = folder / "x.tfrecord"
    file.write_bytes(wire.frame(records))
    names = [f"c{place}" for place in range(len(args["record_defaults"]))]
    options = {key: args[key] for key in ("field_delim", "use_quote_delim", "na_value", "select_cols")}
    options["columns"] = dict(zip(names, map(_column, args["record_defaults"]), strict=True))
    document = pipeline.read([file], {"csv": options}, [{"batch": {"size": max(1, len(records))}}])
    out = pipeline.run(document, lambda batch: {name: batch[name].copy() for name in names})
    if "error" in expect:
        # A faulty option is found before the first record, and its message has other words.
        if isinstance(out.error, fb.ConfigError):
            return []
        return [difference for difference in [compare.error_difference(expect["mentions"], out.error, str(folder))] if difference]
    if out.error:
        return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"]
    defaults = [_default(default) for default in args["record_defaults"]]
    called = fb.decode_csv(np.array(records, dtype=object).reshape(expect["ok"][0]["shape"]), defaults,
                           **{key: options[key] for key in ("field_delim", "use_quote_delim", "na_value", "select_cols")})
    for name, values in zip(names, called, strict=True):   # the function gives what the pipeline gives
        if not np.array_equal(values.reshape(-1), _stacked(out.values, name, {"shape": [-1]}), equal_nan=values.dtype.kind == "f"):
            return [f"{name}: decode_csv gives {compare.short(str(values), 100)}"]
    found = [compare.array_difference(want, _stacked(out.values, name, want)) for name, want in zip(names, expect["ok"], strict=True)]
    return [f"{name}: {difference}" for name, difference in zip(names, found, strict=True) if difference]
