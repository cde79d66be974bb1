# SPDX-License-Identifier: Apache-2.0
"""Records that are large beside the budget: threads take turns instead of each copying its own."""
from __future__ import annotations

import pathlib
import struct
import threading
from typing import Any

import pytest

import forebay as fb

SIDE = 1700
MIB = 1 << 20


def bmp(color: int) -> bytes:
    """A picture of SIDE x SIDE pixels, about 8 MiB."""
    pixels = SIDE * SIDE * 3
    return (b"BM" + struct.pack("<IHHI", 54 + pixels, 0, 0, 54) +
            struct.pack("<IiiHHIIiiII", 40, SIDE, SIDE, 1, 24, 0, pixels, 0, 0, 0, 0) + bytes([color]) * pixels)


def anonymous() -> int:
    text = pathlib.Path("/proc/self/smaps_rollup").read_text()
    return int(text.split("Anonymous:")[1].split()[0]) << 10


@pytest.mark.parametrize("threads", [1, 4])
def test_copies_of_large_records_stay_near_the_budget(tmp_path: pathlib.Path, threads: int) -> None:
    fb.write_records(tmp_path / "b.tfrecord", [bmp(number) for number in range(16)])
    pipe = fb.tfrecord(tmp_path / "b.tfrecord").record("x").decode_image("x", resize=[10, 10]).batch(2)
    most, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.002):
            most[0] = max(most[0], anonymous())
    before = anonymous()
    watching = threading.Thread(target=watch)
    watching.start()
    try:
        values = [int(value) for batch in pipe.load(threads=threads, memory=24 * MIB) for value in batch["x"][:, 0, 0, 0]]
    finally:
        over.set()
        watching.join()
    assert values == list(range(16))
    assert most[0] - before < 48 * MIB  # four threads at once took 72 MiB and more


def test_a_record_that_is_larger_than_the_budget_is_named_before_it_is_copied(tmp_path: pathlib.Path) -> None:
    fb.write_records(tmp_path / "b.tfrecord", [bmp(1)])
    pipe: Any = fb.tfrecord(tmp_path / "b.tfrecord").record("x").decode_image("x", resize=[10, 10]).batch(1)
    before = anonymous()
    with pytest.raises(fb.DataError, match=r"batch 0 needs \d+ bytes for its 1 rows, more than the memory budget of 6291456"):
        next(pipe.load(threads=1, memory=6 * MIB))
    assert anonymous() - before < 6 * MIB
