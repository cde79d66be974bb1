# SPDX-License-Identifier: Apache-2.0
"""What test_prefetch.py runs in a process of its own, where there is a GPU: right values, page-locked against pageable copies,
and copies that go on while the GPU computes. Prints what it measured."""
from __future__ import annotations

import sys
import time
import warnings
from typing import Any, Callable

if len(sys.argv) > 1:  # a folder that has torch, and packages that must not replace ours
    sys.path.append(sys.argv[1])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
if len(sys.argv) > 1:
    sys.path.remove(sys.argv[1])

import numpy as np

import forebay as fb

ROWS, WIDTH, BATCHES = 1024, 4096, 24


def loader(pin_memory: bool = False) -> fb.Loader:
    columns = {"x": np.arange(ROWS * WIDTH, dtype=np.float32).reshape(ROWS, WIDTH), "y": np.arange(ROWS)}
    return fb.arrays(columns).batch(size=ROWS).epochs(BATCHES).load(pin_memory=pin_memory)


def seconds(run: Callable[[], Any]) -> float:
    best = float("inf")
    for _ in range(3):
        torch.cuda.synchronize()
        began = time.perf_counter()
        run()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
    return best


def values_are_right() -> None:
    with fb.torch.prefetch(loader(), device="cuda:0") as staged, loader() as plain:
        sums = [(batch["x"] * 2).sum(dtype=torch.float64) for batch in staged]
        assert [float(total) for total in sums] == [2.0 * float(batch["x"].sum(dtype=np.float64)) for batch in plain]


def page_locked_batches_are_right() -> None:
    """The GPU is busy when the copies are begun, and each batch is dropped at once: a buffer that is used too early has other rows."""
    x = np.arange(BATCHES * 64 * WIDTH, dtype=np.float32).reshape(-1, WIDTH)
    busy = torch.rand(WIDTH, WIDTH, device="cuda:0")
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream), fb.arrays({"x": x}).batch(size=64).load(prefetch=1, pin_memory=True) as batches:
            for _ in range(50):
                busy @ busy
            device = []
            for batch in batches:
                assert torch.from_dlpack(batch["x"]).is_pinned() and batch["x"].flags.writeable
                device.append(fb.torch.to(batch, "cuda:0")["x"])
            torch.cuda.synchronize()
            assert torch.equal(torch.cat(device).cpu(), torch.from_dlpack(x))
            assert batches.stats().memory_pinned >= 64 * WIDTH * 4


def measured(name: str, batches: Callable[[], Any], work: int) -> float:
    matrix = torch.rand(WIDTH, WIDTH, device="cuda:0")

    def run() -> None:
        for batch in batches():
            for _ in range(work):
                batch["x"] @ matrix

    took = seconds(run)
    print(f"{name}: {BATCHES * ROWS * WIDTH * 4 / took / 1e9:.2f} GB/s")
    return took


def prefetched() -> Any:
    with fb.torch.prefetch(loader(), device="cuda:0") as batches:
        yield from batches


def page_locked() -> Any:
    with loader(pin_memory=True) as batches:
        for batch in batches:
            yield fb.torch.to(batch, "cuda:0")


def pageable() -> Any:
    with loader() as batches:
        for batch in batches:
            yield {"x": torch.from_dlpack(batch["x"]).to("cuda:0"), "y": torch.from_dlpack(batch["y"]).to("cuda:0")}


def computed_only() -> Any:
    x = torch.rand(ROWS, WIDTH, device="cuda:0")
    for _ in range(BATCHES):
        yield {"x": x}


values_are_right()
page_locked_batches_are_right()
copies = measured("page-locked copies", prefetched, 0)
measured("copies of page-locked batches", page_locked, 0)
measured("pageable copies", pageable, 0)
compute = measured("computing alone", computed_only, 8)
both = measured("page-locked copies and computing", prefetched, 8)
measured("copies of page-locked batches and computing", page_locked, 8)
measured("pageable copies and computing", pageable, 8)
assert both < copies + compute, f"the copies do not overlap: {both:.3f} s, apart {copies:.3f} s and {compute:.3f} s"
