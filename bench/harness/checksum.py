# SPDX-License-Identifier: Apache-2.0
"""Order-independent checksum of delivered rows (definition in README.md, section "Checksum").

Every element becomes an unsigned 64-bit number (`bits`): float32 by its 32-bit pattern, integers by
two's complement, bytes by value.  With the row's valid elements e_0, e_1, ... (tensors concatenated in the
workload's order, padding left out):

    r    = sum_j (2 j + 1) * bits(e_j)         mod 2^64
    s    = r * 0x9E3779B97F4A7C15              mod 2^64
    h    = s * ((s >> 32) | 1)                 mod 2^64
    hash = sum over rows of h                  mod 2^64
"""
import numpy as np

MASK = (1 << 64) - 1


def bits(a):
    """Elements of `a` as uint64 (see module docstring)."""
    a = np.ascontiguousarray(a)
    if a.dtype == np.float32:
        return a.view(np.uint32).astype(np.uint64)
    if a.dtype == np.float64:  # contestants that can only deliver float64
        return a.astype(np.float32).view(np.uint32).astype(np.uint64)
    if a.dtype.kind in "iu":
        return a.astype(np.int64).view(np.uint64) if a.dtype.kind == "i" else a.astype(np.uint64)
    if a.dtype.kind == "b":
        return a.astype(np.uint64)
    raise TypeError(f"no checksum for dtype {a.dtype}")


class Dense:
    """A tensor of shape (rows, ...), every element valid."""

    def __init__(self, name, values):
        values = np.asarray(values)
        self.name, self.rows = name, values.shape[0]
        self.values = values.reshape(self.rows, -1)

    def parts(self):
        n = self.values.shape[1]
        return bits(self.values), np.full(self.rows, n, np.uint64), self.values.size, _fsum(self.values)


class Padded:
    """A tensor of shape (rows, T, ...): the first lengths[i] steps of row i are valid, the rest is zero."""

    def __init__(self, name, values, lengths):
        values = np.asarray(values)
        self.name, self.rows = name, values.shape[0]
        inner = int(np.prod(values.shape[2:], dtype=np.int64))
        self.values = values.reshape(self.rows, -1)
        self.lengths = np.asarray(lengths).astype(np.int64).reshape(-1) * inner

    def parts(self):
        mask = np.arange(self.values.shape[1])[None, :] < self.lengths[:, None]
        if np.any(self.values[~mask]):
            raise ValueError(f"{self.name}: padding is not zero")
        return bits(self.values), self.lengths.astype(np.uint64), int(self.lengths.sum()), _fsum(self.values)


class Ragged:
    """Flat values plus the number of values of every row."""

    def __init__(self, name, values, lengths):
        self.name = name
        self.flat = np.asarray(values).reshape(-1)
        self.lengths = np.asarray(lengths).astype(np.int64).reshape(-1)
        self.rows = len(self.lengths)

    def parts(self):
        width = int(self.lengths.max()) if self.rows else 0
        out = np.zeros((self.rows, width), np.uint64)
        mask = np.arange(width)[None, :] < self.lengths[:, None]
        out[mask] = bits(self.flat)
        return out, self.lengths.astype(np.uint64), int(self.lengths.sum()), _fsum(self.flat)


def _fsum(a):
    return float(np.sum(a, dtype=np.float64))


class Checksum:
    """Accumulates batches; `add` takes the tensors of one batch in the workload's order."""

    def __init__(self):
        self.rows = self.elements = self.hash = 0
        self.sums = {}

    def add(self, tensors):
        rows = tensors[0].rows
        r = np.zeros(rows, np.uint64)
        pos = np.zeros(rows, np.uint64)
        for t in tensors:
            if t.rows != rows:
                raise ValueError(f"{t.name}: {t.rows} rows, expected {rows}")
            b, count, elements, fsum = t.parts()
            weight = np.uint64(2) * (pos[:, None] + np.arange(b.shape[1], dtype=np.uint64)[None, :]) + np.uint64(1)
            r += (b * weight).sum(axis=1, dtype=np.uint64)
            pos += count
            self.elements += elements
            self.sums[t.name] = self.sums.get(t.name, 0.0) + fsum
        s = r * np.uint64(0x9E3779B97F4A7C15)
        h = s * ((s >> np.uint64(32)) | np.uint64(1))
        self.hash = (self.hash + int(h.sum(dtype=np.uint64))) & MASK
        self.rows += rows
        return self

    def result(self):
        return {"rows": self.rows, "elements": self.elements, "hash": f"{self.hash:016x}", "sums": self.sums}
