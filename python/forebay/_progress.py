# SPDX-License-Identifier: Apache-2.0
"""How far a run is, as a share that learning rates can follow."""
from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from forebay.values import complete_frac

if TYPE_CHECKING:
    from forebay.loader import Loader

#: The smallest share: that of a run before its first batch.
SMALLEST = 1e-10


def share_after(index: int, count: Optional[int]) -> float:
    """The share that is done after item `index` (from 0) of `count` items; above 0, at most 1, and it never falls.

    count   None: not known, or endless. The share then grows more and more slowly, and stays below 0.99.
    """
    return complete_frac(max(index, 0), count).value


def batches_before(position: str) -> int:
    """The number of batches of the run up to a position."""
    import json
    sections = json.loads(position)["sections"]
    return int(sections["batches"]["delivered"] if "batches" in sections else sections["order"]["next"])


def batches_of(loader: "Loader") -> Optional[int]:
    """The number of batches of the run, counted as `batches_before` does: with those that other shards by batch have."""
    _, _, by = loader._run.shard
    if "batch" not in by:
        return loader._run.length
    return loader._run.known if by in ("batch", "row and batch") else None
