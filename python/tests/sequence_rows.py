# SPDX-License-Identifier: Apache-2.0
"""Sequences for the tests of batches: arrays of rows of different lengths."""
from __future__ import annotations

from typing import Any, Iterable

import numpy as np

import forebay as fb

LENGTHS = [1 + i * 7 % 13 if i % 9 else 0 for i in range(61)]


def sequences(lengths: Iterable[int] = LENGTHS, **more: Any) -> fb.Pipeline:
    """Frame t of sequence s is 1000 s + t + 1, in `x` and, negative, in `y`."""
    sizes = list(lengths)
    splits = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    frames = np.concatenate([1000 * i + 1 + np.arange(size) for i, size in enumerate(sizes)] or [[]]).astype(np.int64)
    return fb.arrays({"x": fb.Ragged(frames, splits), "y": fb.Ragged(-frames, splits),
                      "id": np.arange(len(sizes)), **more})


def frames_of(sequence: int, lengths: "list[int]") -> "list[int]":
    return [1000 * sequence + 1 + t for t in range(lengths[sequence])]


def ids(loader: Iterable[fb.Batch]) -> "list[list[int]]":
    return [batch["id"][:batch.valid_rows].tolist() for batch in loader]
