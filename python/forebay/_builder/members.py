# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""A method for each member of a pipeline document."""
from __future__ import annotations

from typing import Literal, Optional, Union

from forebay.loader import Shard
from forebay.pipeline import P, PipelineBase, given


class Members(PipelineBase):
    """A method for each member of a pipeline document."""

    __slots__ = ()

    def on_corrupt(self: P, policy: Literal["fail", "skip_record", "skip_row", "skip_file"], *,
                   max_count: Optional[int] = None, max_fraction: Optional[float] = None,
                   max_consecutive: int = 100) -> P:
        """What a corrupt record does: "fail", "skip_record", "skip_row", "skip_file".

        policy             What a corrupt record does.
        max_count          Skips of an epoch beyond which the run fails; null: any number.
        max_fraction       Skipped share of an epoch's records beyond which the run fails, from 0 to 1; null:
                           any. A corrupt record, an unreadable range and a file that is given up each count as
                           one record. Judged once the epoch had 1,000 records, and at its end.
        max_consecutive    Skips without a good record in between beyond which the run fails.
        """
        options = given({"policy": policy, "max_count": max_count, "max_fraction": max_fraction,
                        "max_consecutive": max_consecutive}, max_consecutive=100)
        return self._with(on_corrupt=options if len(options) > 1 else options["policy"])

    def threads(self: P, threads: int) -> P:
        """Default of the run; 0: one for every CPU."""
        return self._with(threads=threads)

    def memory(self: P, memory: Union[int, str]) -> P:
        """Default of the run, in bytes or as "1GiB"; 0: a quarter of the machine's."""
        return self._with(memory=memory)

    def prefetch(self: P, prefetch: int) -> P:
        """Default of the run: batches made ahead; 0: chosen by their size."""
        return self._with(prefetch=prefetch)

    def shard(self: P, shard: Optional[Shard]) -> P:
        """Default of the run: the part of every batch that this process takes, as [index, count], "index/count",
        "auto" (by the launcher's environment variables) or {index, count, by}, where by is "row", "file",
        "element" or "batch"; or a list of one that is by batch and one that is not; null: all.
        """
        return self._with(shard=shard)
