#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a block of a fleet costs beside the same bytes moved by Ray alone, on one machine.

    bench/fleet_block.py [--mib 16] [--rounds 40]

Both ways an actor has 16 batches of one array ready and sends them; the receiver copies the arrays, as a trainer does. The fleet's way adds the
header, the checksum on both sides and the making of batches. Rounds alternate, and the medians are compared.
"""
from __future__ import annotations

import argparse
import statistics
import time
from typing import Any, List

import numpy as np
import ray

import forebay as fb
from forebay._core import ReceivedMemory
from forebay.ray._wire import Block, received, sent_of


class Sender:
    def __init__(self, batches: int, size: int) -> None:
        arrays = {"x": np.random.default_rng(1).integers(0, 255, (batches, size), np.uint8)}
        with fb.arrays(arrays).batch(1).load() as loader:
            self._block = Block([(batch, 0.5) for batch in loader], False, None)

    def bare(self) -> "List[Any]":
        return [batch["x"] for batch, _ in self._block.batches]

    def fleet(self) -> Any:
        return sent_of(self._block, 0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=1 << 30)
    sender = ray.remote(Sender).remote(16, (options.mib << 20) // 16)
    memory = ReceivedMemory(256 << 20, None)
    seconds: "dict[str, list[float]]" = {"bare": [], "fleet": []}
    for turn in range(options.rounds + 4):
        for way in seconds:
            began = time.perf_counter()
            answer = ray.get(getattr(sender, way).remote())
            kept = [np.array(array) for array in answer] if way == "bare" else received(answer, memory).batches
            if turn >= 4:
                seconds[way].append(time.perf_counter() - began)
            del kept, answer
    bare, fleet = (statistics.median(seconds[way]) for way in ("bare", "fleet"))
    print(f"{options.mib} MiB: bare Ray {1000 * bare:.1f} ms, a block {1000 * fleet:.1f} ms, {100 * (fleet / bare - 1):+.0f} %")
    ray.shutdown()


if __name__ == "__main__":
    main()
