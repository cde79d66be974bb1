# SPDX-License-Identifier: Apache-2.0
"""Expected values as the vectors write them, and how a result differs from them."""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np

Difference = str | None


def cells(spec: dict[str, Any]) -> list[Any]:
    if "data_b64" in spec:
        return [base64.b64decode(cell) for cell in spec["data_b64"]]
    return [cell.encode() for cell in spec["data"]] if spec["dtype"] == "string" else spec["data"]


def expected(spec: dict[str, Any]) -> np.ndarray:
    """The array that a {"dtype", "shape", "data"} object stands for; text becomes an object array of bytes."""
    data, shape = cells(spec), spec["shape"]
    if spec["dtype"] == "string":
        out = np.empty(len(data), dtype=object)
        out[:] = data
        return out.reshape(shape)
    if spec["dtype"] == "bfloat16":
        return _rounded(np.array([float(cell) for cell in data], np.float32)).reshape(shape)
    if spec["dtype"].startswith(("float", "complex")):
        data = [complex(*map(float, cell)) if isinstance(cell, list) else float(cell) for cell in data]
    return np.array(data, dtype=spec["dtype"]).reshape(shape)


def spec_of(array: np.ndarray) -> dict[str, Any]:
    """The other way round, for expectations that are worked out here."""
    if array.dtype == object:
        data = [base64.b64encode(cell).decode() for cell in array.reshape(-1)]
        return {"dtype": "string", "shape": list(array.shape), "data_b64": data}
    flat = array.reshape(-1)
    data = np.stack([flat.real, flat.imag], axis=1) if array.dtype.kind == "c" else flat
    return {"dtype": str(array.dtype), "shape": list(array.shape), "data": data.tolist()}


def array_difference(spec: dict[str, Any], got: Any, tolerance: float = 0) -> Difference:
    want = expected(spec)
    if not isinstance(got, np.ndarray):
        return f"is a {type(got).__name__}, not an array"
    if spec["dtype"] == "bfloat16":
        got = bfloat16(got)
    if want.dtype != got.dtype:
        return f"dtype {got.dtype}, expected {want.dtype}"
    if want.shape != got.shape:
        return f"shape {list(got.shape)}, expected {list(want.shape)}"
    if not same(want, got, tolerance):
        return f"{short(got.tolist())}, expected {short(want.tolist())}"
    return None


def _rounded(array: np.ndarray) -> np.ndarray:
    """float32 rounded to the nearest bfloat16, ties to even."""
    bits: np.ndarray = array.view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16
    return np.where(np.isnan(array), array, bits.astype(np.uint32).view(np.float32))


def bfloat16(array: np.ndarray) -> np.ndarray:
    """bfloat16 has no numpy type: it comes as its 16 bits, or as the type of an extension package."""
    if array.dtype == np.uint16 or array.dtype.str.startswith("|V2"):
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32)


def same(want: np.ndarray, got: np.ndarray, tolerance: float) -> bool:
    if want.dtype == object:
        return all(a == b for a, b in zip(want.reshape(-1), got.reshape(-1), strict=True))
    if want.dtype.kind == "c":
        part = f"f{want.dtype.itemsize // 2}"
        return same(want.reshape(-1).view(part), got.reshape(-1).view(part), tolerance)
    if want.dtype.kind != "f":
        return bool(np.array_equal(want, got))
    if tolerance:
        return bool(np.allclose(want, got, rtol=0, atol=tolerance, equal_nan=True))
    signs = np.array_equal(np.signbit(want) & ~np.isnan(want), np.signbit(got) & ~np.isnan(got))
    return bool(np.array_equal(want, got, equal_nan=True)) and signs


def short(value: Any, most: int = 90) -> str:
    text = str(value)
    return text if len(text) <= most else text[: most - 3] + "..."


def named(word: str, text: str) -> bool:
    """Whether a message names a word: a number as a number, a short name in quotes or in a path, else anywhere."""
    if re.fullmatch(r"\d+", word):
        return re.search(rf"(?<!\d){word}(?!\d)", text) is not None
    if len(word) <= 2 and word.isalnum():
        return re.search(rf"""['"`/\[]{re.escape(word)}(?![\w.])|(?:feature|tensor|name) {word}\b""", text) is not None
    return word.lower() in text.lower()


def error_difference(mentions: list[str], error: Exception | None, folder: str = "") -> Difference:
    """An error must have come, and its message must name every word."""
    if error is None:
        return "no error"
    missing = [word for word in (m.replace("{dir}", folder) for m in mentions) if not named(word, str(error))]
    return f"the message does not name {missing}: {short(str(error), 200)}" if missing else None
