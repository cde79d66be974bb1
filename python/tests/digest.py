# SPDX-License-Identifier: Apache-2.0
"""The digest of a stream of batches: lets two runs, or two systems, be compared in a few numbers.

Per tensor, over the whole run:
  count   number of elements
  sum     float64 sum of the values (strings: sum of their byte lengths)
  hash    sum of h(e) over all elements, mod 2**64            (ignores order)
  order   sum of h(e_i) * (2 i + 1), i = running index        (depends on order)
  shapes  sum of h(shape as int64 list) * (2 k + 1), k = batch number

h is FNV-1a, 64 bit, over the element's little-endian bytes (a string's own bytes).
Elements run in C order inside a batch. Integers from numpy; hash, order and shapes print as 16 hex digits.
"""
from __future__ import annotations

import numpy as np

_OFFSET, _PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


def _fnv_bytes(data: bytes) -> int:
    h = _OFFSET
    for b in data:
        h = ((h ^ b) * _PRIME) & _MASK
    return h


def _hashes(a: np.ndarray) -> np.ndarray:
    """FNV-1a of every element of `a`, shape (a.size,), uint64."""
    if a.dtype.kind in "OSUT":
        as_bytes = (x if isinstance(x, bytes) else str(x).encode() for x in a.ravel().tolist())
        return np.fromiter((_fnv_bytes(x) for x in as_bytes), np.uint64, a.size)
    raw = np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<"), copy=False)
    raw = raw.reshape(-1, 1).view(np.uint8).reshape(a.size, a.dtype.itemsize)
    h = np.full(a.size, _OFFSET, np.uint64)
    with np.errstate(over="ignore"):
        for i in range(raw.shape[1]):
            h = (h ^ raw[:, i]) * np.uint64(_PRIME)
    return h


class Digest:
    def __init__(self) -> None:
        self.rows = 0
        self.batches = 0
        self._tensors = {}

    def add(self, batch: dict) -> None:
        """Adds one batch: name -> array of shape [rows, ...]."""
        rows = 0
        for name, value in batch.items():
            a = np.asarray(value)
            t = self._tensors.setdefault(
                name, {"dtype": "string" if a.dtype.kind in "OSUT" else a.dtype.name,
                       "count": 0, "sum": 0.0, "hash": 0, "order": 0, "shapes": 0})
            h = _hashes(a)
            index = np.arange(t["count"], t["count"] + a.size, dtype=np.uint64)
            with np.errstate(over="ignore"):
                t["hash"] = (t["hash"] + int(h.sum(dtype=np.uint64))) & _MASK
                t["order"] = (t["order"] + int((h * (index * np.uint64(2) + np.uint64(1))).sum(dtype=np.uint64))) & _MASK
            shape = np.asarray(a.shape, "<i8").tobytes()
            t["shapes"] = (t["shapes"] + _fnv_bytes(shape) * (2 * self.batches + 1)) & _MASK
            if t["dtype"] == "string":
                t["sum"] += float(sum(len(x) for x in a.ravel().tolist()))
            else:
                t["sum"] += float(a.astype(np.float64).sum())
            t["count"] += a.size
            rows = a.shape[0] if a.ndim else 1
        self.rows += rows
        self.batches += 1

    def result(self) -> dict:
        tensors = {n: {**t, **{k: f"{t[k]:016x}" for k in ("hash", "order", "shapes")}}
                   for n, t in sorted(self._tensors.items())}
        return {"rows": self.rows, "batches": self.batches, "tensors": tensors}
