# SPDX-License-Identifier: Apache-2.0
"""Histograms of the rows that were read, and how well their order is mixed."""
from __future__ import annotations

import collections
from typing import Any, NamedTuple

import numpy as np

__all__ = ["shuffle_plot", "summary", "text_of"]


HASHED = 1 << 16      # bytes of a string that tell it from others


class Text(NamedTuple):
    """What is kept of a string: enough to show and to count it."""
    start: bytes
    size: int
    hash: int


def text_of(value: bytes) -> Text:
    return Text(value[:60], len(value), hash(value[:HASHED]))


def summary(name: str, values: list[Any]) -> dict[str, Any]:
    """Of one tensor: rows, rows without a value, numbers that are not finite, range, and a histogram or top values.

    values: a Text or an array for each row
    """
    out: dict[str, Any] = {"name": name, "rows": len(values), "missing": sum(_size(v) == 0 for v in values)}
    if any(isinstance(v, Text) or v.dtype == object for v in values):
        return {**out, **_of_strings([v if isinstance(v, Text) else _joined(v) for v in values])}
    flat = np.concatenate([np.asarray(v[:256], np.float64) for v in values]) if values else np.zeros(0)
    good = flat[np.isfinite(flat)]
    return {**out, "not_finite": int(len(flat) - len(good)), **_histogram(good)}


def _size(value: Any) -> int:
    return value.size if isinstance(value, Text) else len(value)


def _joined(strings: Any) -> Text:
    return text_of(b", ".join(bytes(each[:64]) for each in strings[:8] if isinstance(each, bytes)))


def _of_strings(texts: list[Text]) -> dict[str, Any]:
    counts = collections.Counter(texts)
    out: dict[str, Any] = {"distinct": len(counts)}
    if any(_is_binary(text.start) for text in counts):
        return {**out, "binary": True, **_histogram(np.array([text.size for text in texts], np.float64))}
    top = sorted(counts.items(), key=lambda item: -item[1])[:8]
    return {**out, "top": [[text.start.decode("utf-8", "backslashreplace"), n] for text, n in top]}


def _is_binary(start: bytes) -> bool:
    return any(byte < 32 and byte not in b"\t\n\r" for byte in start)


def _histogram(good: np.ndarray) -> dict[str, Any]:
    if not len(good):
        return {}
    low, high = float(good.min()), float(good.max())
    if high - low == 0 or not np.isfinite(high - low):
        bars = [len(good)]
    else:
        bars = np.histogram(good, bins=24, range=(low, high))[0].tolist()
    return {"low": low, "high": high, "mean": float(np.mean(good / len(good)) * len(good)), "bars": bars}


def shuffle_plot(places: list[tuple[str, int]]) -> dict[str, Any]:
    """Points (place in the stream, place in the files, both from 0 to 1) of the first rows, and a sentence."""
    if len(places) < 8:
        return {"points": [], "sentence": ""}
    order = sorted(range(len(places)), key=lambda i: places[i])
    rank = np.empty(len(places))
    rank[order] = np.arange(len(places))
    together = float(np.corrcoef(np.arange(len(places)), rank)[0, 1])
    near = int(np.sum(np.diff(rank) == 1))
    step = max(1, len(places) // 500)
    points = [[i / len(places), float(rank[i]) / len(places)] for i in range(0, len(places), step)]
    sentence = (f"Of the first {len(places)} rows, {100 * near / (len(places) - 1):.0f} % follow their neighbour of the files; the "
                f"correlation of the order with that of the files is {together:.2f} (0: well mixed, 1: not shuffled).")
    return {"points": points, "sentence": sentence}
