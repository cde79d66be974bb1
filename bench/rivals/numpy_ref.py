#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clean NumPy references for workloads that need no parser: what a careful user writes in twenty lines.

W8, W13: vectorised random gather of a batch; W9: one fancy index per batch over a precomputed table of window starts;
W10: sort a pool by length, cut by token budget, fill a zeroed matrix by one mask assignment.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol  # noqa: E402
from harness.checksum import Dense, Padded  # noqa: E402

run = protocol.declare("numpy_ref", {"numpy_ref": {"workloads": ["W8", "W9", "W10", "W13"], "group": "reference"}})

import numpy as np  # noqa: E402


def pipeline(make, rows, tensors, extra=None):
    def iterate(epochs):
        for _ in range(epochs):
            yield from make()
    return protocol.Pipeline(iterate, rows, tensors, extra=extra)


@run.workload("W8")
def w8(c):
    """All files read at the start of the pass (counted), then gathered in random order."""
    n = c.spec["record_bytes"]
    total = sum(e["rows"] for e in c.entries)
    data = np.empty((total, n), np.uint8)

    def make():
        at = 0
        for f, e in zip(c.files, c.entries):
            with open(f, "rb") as r:
                r.readinto(data[at:at + e["rows"]])
            at += e["rows"]
        order = np.random.default_rng(1).permutation(total)
        for a in range(0, total, c.batch):
            rows = np.take(data, order[a:a + c.batch], axis=0)
            yield rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]
    return pipeline(make, lambda b: len(b[1]), lambda b: [Dense("image", b[0]), Dense("label", b[1])])


@run.workload("W9")
def w9(c):
    x = np.concatenate([np.fromfile(f + ".x.f32", np.float32) for f in c.files]).reshape(-1, 40)
    y = np.concatenate([np.fromfile(f + ".y.i32", np.int32) for f in c.files])
    length = np.concatenate([np.fromfile(f + ".len.i64", np.int64) for f in c.files])
    window, step = c.spec["window"], c.spec["step"]

    def make():
        count = (length - window) // step + 1
        first = np.repeat(np.concatenate([[0], np.cumsum(length)[:-1]]), count)
        k = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        start = first + step * k
        wx = np.lib.stride_tricks.sliding_window_view(x, (window, 40))[:, 0]
        wy = np.lib.stride_tricks.sliding_window_view(y, window)
        for a in range(0, len(start), 128):
            s = start[a:a + 128]
            yield wx[s], wy[s]
    return pipeline(make, lambda b: len(b[1]), lambda b: [Dense("x", b[0]), Dense("y", b[1])])


@run.workload("W10")
def w10(c):
    ids = np.concatenate([np.fromfile(f + ".ids.i64", np.int64) for f in c.files])
    length = np.concatenate([np.fromfile(f + ".len.i64", np.int64) for f in c.files])
    start = np.concatenate([[0], np.cumsum(length)[:-1]])
    budget = c.spec["tokens_per_batch"]
    seen = {"valid": 0, "padded": 0}

    def make():
        g = np.random.default_rng(1)
        order = g.permutation(len(length))
        for a in range(0, len(order), 4096):
            pool = order[a:a + 4096]
            pool = pool[np.argsort(length[pool], kind="stable")]
            sorted_len = length[pool]
            cuts, at = [], 0
            while at < len(pool):
                room = sorted_len[at:] * np.arange(1, len(pool) - at + 1) > budget
                end = at + max(1, int(room.argmax())) if room.any() else len(pool)
                cuts.append((at, end))
                at = end
            for k in g.permutation(len(cuts)):
                rows = pool[cuts[k][0]:cuts[k][1]]
                n = length[rows]
                step = np.arange(n[-1])
                mask = step[None, :] < n[:, None]
                out = np.zeros(mask.shape, np.int64)
                out[mask] = ids[(start[rows][:, None] + step[None, :])[mask]]
                yield out, n

    def tensors(b):
        seen["valid"] += int(b[1].sum())
        seen["padded"] += b[0].size
        return [Padded("ids", b[0], b[1])]
    return pipeline(make, lambda b: len(b[1]), tensors,
                    lambda: {"pad_efficiency": seen["valid"] / seen["padded"]} if seen["padded"] else {})


@run.prepare("W13")
def w13_prepare(c):
    from harness import convert
    convert.npy(c)


@run.workload("W13")
def w13(c):
    from harness import convert
    parts = convert.npy_parts(c)
    x = np.concatenate([np.load(p + ".x.npy") for p in parts])
    y = np.concatenate([np.load(p + ".y.npy") for p in parts])

    def make():
        order = np.random.default_rng(1).permutation(len(y))
        for a in range(0, len(order), c.batch):
            i = order[a:a + c.batch]
            yield np.take(x, i, axis=0), y[i]
    return pipeline(make, lambda b: len(b[1]), lambda b: [Dense("x", b[0]), Dense("label", b[1])])


run.main()
