# SPDX-License-Identifier: Apache-2.0
"""What `stats` of a loader of a fleet says."""
from __future__ import annotations

from typing import Dict, Optional

from forebay.mapped import MappedStats
from forebay.ray._dispatch import Figures


class FleetStats(MappedStats):
    """The Stats of a loader of a fleet. Attributes of forebay.Stats count what this process did itself, which makes no batch of its own run.

    batches           that the loop took
    stalled_seconds   for which the loop waited for a block
    blocks            that workers made; `again` of them because a worker was gone, `hedged` because one was slow, and `dropped` came twice
    deaths            of workers that made a block
    waiting_bytes     of blocks that are made and not taken
    memory_pinned     bytes that are page-locked for blocks
    workers           that make blocks now
    refused           by worker: why its batches are not those of the fleet
    by_worker         by worker: its blocks, and the mean seconds of one
    """

    def __init__(self, stats: MappedStats, figures: Optional[Figures], batches: int, pinned: int) -> None:
        super().__init__(stats._stats, [])
        self.batches, self.memory_pinned = batches, pinned
        found = figures or Figures()
        self.stalled_seconds, self.blocks, self.again, self.hedged = found.stalled, found.blocks, found.again, found.hedged
        self.dropped, self.deaths, self.waiting_bytes, self.workers = found.dropped, found.deaths, found.waiting, found.workers
        self.refused: "Dict[str, str]" = dict(found.refused)
        self.by_worker: "Dict[str, tuple[int, float]]" = {name: (blocks, seconds / max(blocks, 1))
                                                          for name, (blocks, seconds) in found.by_worker.items()}

    @property
    def bottleneck(self) -> str:
        """What limits the loop, in one sentence."""
        if not self.by_worker:
            return "No worker has made a block yet."
        slowest = max(self.by_worker, key=lambda name: self.by_worker[name][1])
        return (f"the loop waited {self.stalled_seconds:.2f} s for {self.workers} workers; the slowest is {slowest} with "
                f"{self.by_worker[slowest][1]:.3f} s a block.")

    def __str__(self) -> str:
        lines = [f"{self.batches} batches taken, {self.blocks} blocks made by {self.workers} workers: {self.again} again after {self.deaths} deaths, "
                 f"{self.hedged} by a second worker, {self.dropped} dropped; {self.waiting_bytes} bytes wait"]
        lines += [f"  {name}: {blocks} blocks, {seconds:.3f} s each" for name, (blocks, seconds) in sorted(self.by_worker.items())]
        lines += [f"  {name}: left out: {why}" for name, why in sorted(self.refused.items())]
        return "\n".join([*lines, self.bottleneck])

    __repr__ = __str__
