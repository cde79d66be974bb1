# SPDX-License-Identifier: Apache-2.0
"""What the tests of `map` share."""
from __future__ import annotations

import os
import pathlib
import threading
import time
from typing import Any, Callable

import numpy as np

import forebay as fb

TESTS = pathlib.Path(__file__).resolve().parent
KINDS = [(0, "threads"), (1, "threads"), (4, "threads"), (1, "processes"), (4, "processes")]
WORKERS = [(2, "threads"), (2, "processes")]


def plain(value: Any) -> Any:
    """A value as what can be compared, with its type."""
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.shape, value.tolist()
    if isinstance(value, fb.Ragged):
        return "ragged", plain(value.values), [plain(splits) for splits in value.nested_row_splits]
    if isinstance(value, fb.Sparse):
        return "sparse", plain(value.indices), plain(value.values), value.dense_shape
    return type(value).__name__, value


def whole(batch: Any) -> Any:
    return ({name: plain(value) for name, value in batch.items()}, batch.number, batch.epoch, batch.rows, batch.valid_rows,
            batch.origins, batch.record_keys, {name: plain(sizes) for name, sizes in batch.lengths.items()},
            batch.spans, batch.skipped, batch.branch, batch.ends_epoch)


def children() -> set[int]:
    """The processes of `map` that run now."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                status = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                line = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes()
            except OSError:
                continue
            if int(status[1]) == os.getpid() and status[0] != "Z" and b"forebay._worker" in line:
                found.add(int(entry))
    return found


def gone(check: Callable[[], bool], seconds: float = 15) -> bool:
    end = time.monotonic() + seconds
    while not check() and time.monotonic() < end:
        time.sleep(0.01)
    return check()


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("forebay-map")]
