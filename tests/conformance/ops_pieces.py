# SPDX-License-Identifier: Apache-2.0
"""`slice`, `onehot`, `reshape` and `interleave`: short pipelines over records that are written here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import compare
import pipeline
import wire

Vector = dict[str, Any]


def stored(dtype: str) -> str:
    """The kind of list that an Example keeps values of a type in."""
    if dtype == "string":
        return "bytes"
    return "float" if dtype.startswith(("float", "bfloat")) else "int64"


def _step(vector: Vector, folder: Path, step: dict[str, Any]) -> list[str]:
    given, expect = vector["input"]["input"], vector["expect"]
    file = folder / "x.tfrecord"
    file.write_bytes(wire.frame([wire.encode({"x": (stored(given["dtype"]), compare.cells(given))})]))
    feature = {"dtype": given["dtype"], "shape": given["shape"]}
    document = pipeline.read([file], {"example": {"features": {"x": feature}}}, [step, {"batch": {"size": 1}}])
    out = pipeline.run(document, lambda batch: batch["x"])
    if "error" in expect:
        difference = compare.error_difference(expect["mentions"], out.error)
        late = "" if out.error is None or out.at_load else "found only when the record came"
        return [text for text in (difference, late) if text]
    if out.error:
        return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"]
    want = expect["ok"]["output"]
    difference = compare.array_difference({**want, "shape": [1, *want["shape"]]}, out.values[0])
    return [difference] if difference else []


def slice_(vector: Vector, folder: Path) -> list[str]:
    return _step(vector, folder, {"slice": {"tensor": "x", "slice": vector["args"]["slice"]}})


def onehot(vector: Vector, folder: Path) -> list[str]:
    return _step(vector, folder, {"one_hot": {"tensor": "x", **vector["args"]}})


def reshape(vector: Vector, folder: Path) -> list[str]:
    return _step(vector, folder, {"reshape": {"tensor": "x", **vector["args"]}})


def interleave(vector: Vector, folder: Path) -> list[str]:
    files = []
    for i, numbers in enumerate(vector["input"]["files"]):
        files.append(folder / f"{i:03d}.tfrecord")
        files[-1].write_bytes(wire.frame([wire.encode({"x": ("int64", [number])}) for number in numbers]))
    args = vector["args"]
    steps = [{"interleave": {"cycle": args["cycle_length"], "block": args["block_length"]}}, {"batch": {"size": 3}}]
    document = pipeline.read(files, {"example": {"features": {"x": {"dtype": "int64", "shape": []}}}}, steps)
    out = pipeline.run(document, lambda batch: batch["x"].tolist())
    if out.error:
        return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"]
    got, want = [number for batch in out.values for number in batch], vector["expect"]["ok"]["order"]
    return [] if got == want else [f"{compare.short(got)}, expected {compare.short(want)}"]
