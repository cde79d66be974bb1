# SPDX-License-Identifier: Apache-2.0
"""What the code blocks of a page take for granted: files in the working directory, and names. tools/run_pages.py asks for it."""
from __future__ import annotations

import os
from typing import Any, Callable

import numpy as np

import forebay as fb

Names = dict[str, Any]
PAGES: dict[str, Callable[[Names], None]] = {}


def page(*names: str) -> Callable[[Callable[[Names], None]], Callable[[Names], None]]:
    """The function prepares these pages, named by their paths in docs/ without .md."""
    def register(function: Callable[[Names], None]) -> Callable[[Names], None]:
        PAGES.update(dict.fromkeys(names, function))
        return function
    return register


def names_of(name: str) -> Names:
    """Prepares the working directory for a page; the names that its blocks begin with."""
    names: Names = {"fb": fb, "np": np}
    if name in PAGES:
        PAGES[name](names)
    return names


def write_train(files: int = 4, rows: int = 100) -> None:
    """data/train-N.tfrecord: examples of x (8 floats), label (0, 1 or 2) and id (0, 1, … over all files)."""
    os.makedirs("data", exist_ok=True)
    rng = np.random.default_rng(1)
    for number in range(files):
        fb.write_records(f"data/train-{number}.tfrecord", [
            fb.encode_example({"x": rng.normal(size=8).astype(np.float32), "label": int(rng.integers(3)), "id": rows * number + row})
            for row in range(rows)])


FEATURES = {"x": fb.fixed("float32", [8]), "label": fb.fixed("int64"), "id": fb.fixed("int64")}


@page("guide/shuffling", "guide/restarting", "guide/sharding", "guide/corrupt-data", "guide/memory", "guide/performance")
def guides(names: Names) -> None:
    write_train()
    names["records"] = fb.tfrecord("data/train-*.tfrecord").example(FEATURES)


@page("guide/sequences")
def sequences(names: Names) -> None:
    lengths = np.arange(5, 45)
    data = fb.Ragged(np.zeros((lengths.sum(), 2), np.float32), np.cumsum([0, *lengths]))
    names["speech"] = fb.arrays({"data": data, "label": np.arange(40)})
