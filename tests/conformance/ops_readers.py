# SPDX-License-Identifier: Apache-2.0
"""Readers as objects: the same vectors as the sources, by `forebay.Reader`."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import compare
import forebay as fb

Vector = dict[str, Any]
_ENOUGH = 200   # reads


def _reads(reader: fb.Reader, works: list[str], count: int | None) -> tuple[list[Any], list[Exception], int]:
    """What each read gave, the errors, and the reads before the first of them."""
    out: list[Any] = []
    errors: list[Exception] = []
    before = 0
    for _ in range(_ENOUGH):
        try:
            found = [reader.read(works)] if count is None else reader.read_up_to(works, count)
        except fb.EndOfData:
            break
        except fb.Error as error:
            errors.append(error)
            continue
        out.append([(Path(key).name, value) for key, value in found])
        before += not errors
    return out, errors, before


def _wanted(records: list[dict[str, Any]]) -> list[Any]:
    out = []
    for record in records:
        keys = record.get("keys") or [record["key"]]
        values = record["values_b64"] if "keys" in record else [record["value_b64"]]
        out.append([(key, base64.b64decode(value)) for key, value in zip(keys, values, strict=True)])
    return out


def differs(vector: Vector, files: list[Path], kind: str, options: dict[str, Any]) -> list[str]:
    """How a reader differs from a vector. An error comes once, and the next read goes on with the next file (D40, D41, D85)."""
    try:
        reader = fb.Reader(kind, **options)
    except fb.ConfigError as error:
        difference = compare.error_difference(vector["expect"].get("mentions", []), error)
        return [f"reader: {error}"] if "error" not in vector["expect"] or difference else []
    reads, errors, before = _reads(reader, [str(file) for file in files], vector["args"].get("read_up_to"))
    expect = vector["expect"]
    if "error" in expect:
        if not files:   # nothing to open
            return [] if not reads and not errors else [f"reader: {reads} {errors}"]
        if not errors or len(errors) > len(files):
            return [f"reader: {len(errors)} errors"]
        difference = compare.error_difference(expect["mentions"], errors[0])
        first = [one for each in reads[:before] for one in each]
        want = [one for each in _wanted(expect.get("records_before", [])) for one in each]
        if not difference and first[:len(want)] != want:   # a reader of the original loses some before a fault
            difference = f"{compare.short(first)} before the error, expected {compare.short(want)}"
        return [f"reader: {difference}"] if difference else []
    want = _wanted(expect["ok"]["records"])
    if errors or reads != want:
        return [f"reader: {errors} {compare.short(reads, 200)}, expected {compare.short(want, 200)}"]
    names = ("num_records_produced", "num_work_units_completed")
    counters = {name: getattr(reader, name)() for name in names if name in expect["ok"]}
    known = {name: expect["ok"][name] for name in counters}
    return [] if counters == known else [f"reader: {counters}, expected {known}"]


def identity(vector: Vector, folder: Path) -> list[str]:
    works = [Path(file["name"]) for file in vector["input"]["files"]]
    return differs(vector, [file["name"] for file in vector["input"]["files"]] if works else [], "identity", {})
