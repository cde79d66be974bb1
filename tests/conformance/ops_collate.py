# SPDX-License-Identifier: Apache-2.0
"""Padded batches in the form of the original, its progress fraction, and its numbers by key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import compare
import forebay as fb

Vector = dict[str, Any]


def _collated(rows: list[Vector]) -> dict[str, Any]:
    """One batch of the rows, which a pipeline gives; nothing when there is none."""
    first = rows[0] if rows else {"x": {"dtype": "float32", "shape": [0]}}
    columns = {name: fb.fixed(spec["dtype"], [None, *spec["shape"][1:]] if spec["shape"] else [])
               for name, spec in first.items()}
    given = ({name: compare.expected(spec) for name, spec in row.items()} for row in rows)
    with fb.python(given, columns).batch(size=max(1, len(rows)), pad=True).load(threads=1) as loader:
        batches = [fb.returnn.collate(batch) for batch in loader]
    return batches[0] if batches else {}


def collate(vector: Vector, folder: Path) -> list[str]:
    error: fb.Error | None = None
    try:
        got = _collated(vector["input"]["rows"])
    except fb.Error as problem:
        error = problem
    if "error" in vector["expect"]:
        difference = compare.error_difference(vector["expect"]["mentions"], error)
        return [difference] if difference else []
    if error is not None:
        return [str(error)]
    want = vector["expect"]["ok"]
    if got.keys() != want.keys():
        return [f"{sorted(got)}, expected {sorted(want)}"]
    out = []
    for name, spec in want.items():
        difference = (compare.array_difference(spec, got[name]) if isinstance(spec, dict)
                      else None if got[name] == spec else f"{got[name]}, expected {spec}")
        out += [f"{name}: {difference}"] if difference else []
    return out


def complete_frac(vector: Vector, folder: Path) -> list[str]:
    given, want = vector["input"], vector["expect"]["ok"]["value"]
    got = fb.complete_frac(given["seq_idx"], given["num_seqs"])
    right = got.exact == bool(given["num_seqs"]) and np.isclose(got.value, want, rtol=1e-14, atol=0)
    return [] if right else [f"{got}, expected {want}"]


def any_greater(vector: Vector, folder: Path) -> list[str]:
    given, want = vector["input"], vector["expect"]["ok"]["result"]
    got = fb.returnn.Numbers(given["value"]).any_greater(given["limit"])
    return [] if got is want else [f"{got}, expected {want}"]


def per_key(vector: Vector, folder: Path) -> list[str]:
    given, want = vector["input"], vector["expect"]["ok"]
    choose = fb.returnn.Numbers.max if vector["op"] == "per_key_max" else fb.returnn.Numbers.min
    got = choose(fb.returnn.Numbers(given["a"]), given["b"])
    return [] if got == fb.returnn.Numbers(want["keys"], want["default"]) else [f"{got}, expected {want}"]
