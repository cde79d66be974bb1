# SPDX-License-Identifier: Apache-2.0
"""Departures in option types, JSON text and slice text."""

from __future__ import annotations

import json
import re
from typing import Any

Vector = dict[str, Any]
_NEAR = 1e-6


def _items(vector: Vector) -> list[Any] | None:
    """The values that the rule asks to be integers, if it does."""
    value = vector["input"]["value"]
    kind = vector["args"]["type"]
    if kind == "integer":
        return [value]
    return value if kind == "list of integers" and isinstance(value, list) else None


def _near(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value - round(value)) < _NEAR


def is_nearly_integer(vector: Vector) -> bool:
    items = _items(vector) or []
    return bool(items) and all(map(_near, items)) and not vector["expect"]["ok"]["accepted"]


def rounded(vector: Vector) -> None:
    items = [round(item) for item in _items(vector) or []]
    vector["expect"]["ok"] = {"accepted": True, "value": items if "list" in vector["args"]["type"] else items[0]}


def is_huge_integer(vector: Vector) -> bool:
    items = _items(vector) or []
    return any(_near(item) and not -(2**63) <= round(item) < 2**63 for item in items)


def not_accepted(vector: Vector) -> None:
    vector["expect"]["ok"] = {"accepted": False, "value": None}


_TOKEN = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*')


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("repeated key")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _strictly(text: str) -> Vector:
    """What our reader promises: comments outside strings only, JSON as the standard has it."""
    try:
        plain = _TOKEN.sub(lambda match: match[1] or "", text)
        value = json.loads(plain, object_pairs_hook=_no_repeats, parse_constant=_no_constant)
    except ValueError:
        return {"error": "bad_json", "mentions": []}
    return {"ok": {"object": value}} if isinstance(value, dict) else {"error": "invalid_value", "mentions": []}


def reads_otherwise(vector: Vector) -> bool:
    ours, theirs = _strictly(vector["input"]["text"]), vector["expect"]
    return ("ok" in ours) != ("ok" in theirs)


def strict(vector: Vector) -> None:
    vector["expect"] = _strictly(vector["input"]["text"])


def lost_last_character(vector: Vector) -> bool:
    ours = _strictly(vector["input"]["text"]).get("ok", {}).get("object", {})
    return "error" in vector["expect"] and set(ours) == {"compression", "allow_var_len", "features"} and (
        ours["compression"] is None
    )


def manifest_works(vector: Vector) -> None:
    vector["expect"] = {"ok": {"accepted": True}}


def has_odd_digits(vector: Vector) -> bool:
    return "ok" in vector["expect"] and not re.fullmatch(r"[\[\]0-9+\-:, \t]*", vector["args"]["slice"])


def slice_refused(vector: Vector) -> None:
    vector["expect"] = {"error": "invalid_value", "mentions": ["slice"]}
