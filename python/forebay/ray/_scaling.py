# SPDX-License-Identifier: Apache-2.0
"""How many workers a fleet should have, from what its trainers say. Reads no clock and starts nothing."""
from __future__ import annotations

import math
from typing import Dict, List, NamedTuple

#: Seconds of a period, over which trainers are looked at.
PERIOD = 10.0
#: A trainer that waits for a larger share of its time than this needs more workers, after so many periods in a row.
STALL, UP_AFTER = 0.02, 3
#: Where every trainer has a fuller window than this, some workers are too many, after so many periods in a row.
FULL, DOWN_AFTER = 0.9, 6
#: By how much the number changes.
STEP = 0.25


class Report(NamedTuple):
    """What a trainer says. stalled: seconds that it has waited for blocks so far. full: the part of its window that is made and not taken."""

    stalled: float
    full: float


class Scaling:
    """The wish for more or fewer workers, within least and most."""

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most
        self._began: "float | None" = None
        self._first: "Dict[str, Report]" = {}    # of the period, by trainer
        self._last: "Dict[str, Report]" = {}
        self._full: "List[float]" = []           # of all reports of the period
        self._up = self._down = 0

    def heard(self, trainer: str, report: Report, now: float) -> None:
        if self._began is None:
            self._began = now
        self._first.setdefault(trainer, report)
        self._last[trainer] = report
        self._full.append(report.full)

    def wanted(self, workers: int, now: float) -> int:
        """How many there should be where there are `workers` now."""
        if self._began is None or now - self._began < PERIOD:
            return workers
        stalled = max(self._last[trainer].stalled - self._first[trainer].stalled for trainer in self._first) / (now - self._began)
        self._up = self._up + 1 if stalled > STALL else 0
        self._down = self._down + 1 if min(self._full) > FULL else 0
        self._began, self._first, self._last, self._full = None, {}, {}, []
        if self._up >= UP_AFTER:
            self._up = 0
            return max(workers, min(self._most, workers + math.ceil(STEP * workers)))
        if self._down >= DOWN_AFTER:
            self._down = 0
            return min(workers, max(self._least, workers - math.ceil(STEP * workers)))
        return workers
