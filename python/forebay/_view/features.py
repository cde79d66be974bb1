# SPDX-License-Identifier: Apache-2.0
"""Histograms of the rows that were read, and how well their order is mixed."""
from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["shuffle_plot", "summary"]


def summary(name: str, values: list[Any]) -> dict[str, Any]:
    """Of one tensor: rows, rows without a value, numbers that are not finite, range, and a histogram or top values."""
    out: dict[str, Any] = {"name": name, "rows": len(values), "missing": sum(len(v) == 0 for v in values)}
    if any(isinstance(v, bytes) or v.dtype == object for v in values):
        texts = [v if isinstance(v, bytes) else b", ".join(bytes(e[:64]) for e in v[:8] if isinstance(e, bytes)) for v in values]
        counts: dict[bytes, int] = {}
        for text in texts:
            counts[text] = counts.get(text, 0) + 1
        top = sorted(counts.items(), key=lambda item: -item[1])[:8]
        return {**out, "distinct": len(counts), "top": [[t.decode("utf-8", "backslashreplace")[:60], n] for t, n in top]}
    flat = np.concatenate([np.asarray(v[:256], np.float64) for v in values]) if values else np.zeros(0)
    good = flat[np.isfinite(flat)]
    out["not_finite"] = int(len(flat) - len(good))
    if len(good):
        low, high = float(good.min()), float(good.max())
        if high - low == 0 or not np.isfinite(high - low):
            bars = [len(good)]
        else:
            bars = np.histogram(good, bins=24, range=(low, high))[0].tolist()
        out.update(low=low, high=high, mean=float(np.mean(good / len(good)) * len(good)), bars=bars)
    return out


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
