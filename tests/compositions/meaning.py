# SPDX-License-Identifier: Apache-2.0
"""Which cells have no meaning, and why. A refusal of any other cell is a limitation."""
from __future__ import annotations

from typing import Optional

from cells import Cell
from data import FORWARD, NO_FILES, NO_REPLAY, ONLY_ID
from stages import STAGES

_NEED_FILES = {"interleave", "continuous", "discrete"}
_BY_INDEX = {"global", "sorted", "sequence_order", "reorder", "random_sample"}
_MOVING = {"shuffle", "global", "sorted", "laplace", "sequence_order", "reorder", "interleave", "filter", "filter_length", "skip", "take",
           "take_while", "repeat", "random_sample", "sample_buffer", "cut_step"}
_BY_VALUES = {"sorted", "laplace", "sequence_order"}
_CUTS = {"chunk", "chunk_function", "continuous", "discrete", "unroll"}


def reason(cell: Cell) -> Optional[str]:
    """Why no meaning could be given to the words; None: they have one."""
    return _of_places(cell) or _of_orders(cell) or _of_source(cell)


def _of_places(cell: Cell) -> Optional[str]:
    stages = list(cell.stages)
    single = batched = False   # x is a single value; a batcher was met, also one that is not written
    for at, name in enumerate(stages):
        kind, before = STAGES[name].kind, stages[:at]
        if batched and kind == "batcher" and any(STAGES[each].kind == "batcher" for each in before):
            return "two batchers: the batch axis is made once"
        if batched and kind in ("order", "window"):
            return "a row stage after the batcher: batches have words of their own (shuffle_batches, batch_slice), rows come before"
        if (kind == "batches" or name == "map_batch") and not batched and any(STAGES[each].kind == "batcher" for each in stages[at:]):
            return "an order or a function of batches before there are batches"
        if single and STAGES[name].frames and name != "cast":
            return "unbatch has taken the axis of x: a single value has no frames or length"
        if name == "context" and not _CUTS.intersection(before):
            return "context widens windows: it needs a window step before it"
        if name == "stateful" and "unroll" not in before:
            return "stateful follows segments of a sequence: it needs unroll"
        if name == "stateful" and any(each in _MOVING or STAGES[each].kind == "window" for each in before[before.index("unroll") + 1:]):
            return "segments of a sequence must follow each other: nothing may move or drop them before stateful"
        if kind == "batches" and "stateful" in before:
            return "batches of stateful follow each other: states go from one to the next"
        single = single or name == "unbatch"
        batched = batched or kind in ("batcher", "batches") or name == "map_batch"   # `batch` is put before the latter two
    return None


def _of_orders(cell: Cell) -> Optional[str]:
    stages = list(cell.stages)
    if cell.combo and "interleave" in cell.after:
        return "interleave reads files in turn; after a combination there are none (round_robin does that)"
    if not cell.combo and "global" in stages[1:] and \
            stages[stages.index("global", 1) - 1] in ("sorted", "laplace", "global", "sequence_order", "reorder"):
        return "a global shuffle gives any order, so the order before it has no effect"
    if stages.count("interleave") > 1:
        return "files are taken in turn once"
    if "interleave" in stages and stages.index("interleave") and {"take", "skip"}.intersection(stages[:stages.index("interleave")]):
        return "before interleave there are files, and take and skip count rows (take_files and skip_files count files)"
    if "interleave" in stages and {"laplace", "sorted"}.intersection(stages[:stages.index("interleave")]):
        return "before interleave there are files, which have no lengths to be sorted by"
    if cell.combo == "zip" and {"frames", "buckets", "token_budget"}.intersection(cell.branch):
        return "batches that lie side by side have equally many rows"
    if cell.combo == "zip" and _BY_VALUES.intersection(cell.branch):
        return "an order by values moves each branch by its own, so rows that belong together would part"
    if cell.combo not in (None, "concat") and "unroll" in cell.branch and "stateful" in cell.after:
        return "rows of several branches would come between the segments of a sequence: unroll stands behind the combination"
    if cell.passed and cell.shard == "element":
        return "rows that end a batch of a branch are no rows of other batches"
    if cell.passed and cell.branch == ("batch", "cast"):
        return "x is padded behind the combination, and a step behind the batches of a branch reads its padding"
    if cell.shard in ("file", "element") and "batch" in stages and not cell.combo:
        return "with the last rows kept, processes would have unlike numbers of batches"
    if "interleave" in stages and _BY_INDEX.intersection(stages) and not cell.combo:
        return "an order by index reaches rows without going through files: interleave has no effect beside it"
    return None


def _of_source(cell: Cell) -> Optional[str]:
    stages, source = set(cell.stages), cell.source
    if source in NO_REPLAY and "repeat" in stages:
        return "rows that the program gives once cannot be read again"
    if source in FORWARD and _BY_INDEX.intersection(stages):
        return "rows that come one after the other cannot be reached by number before the end"
    if source in ONLY_ID and any(STAGES[each].frames for each in stages):
        return "the source has no tensor with frames"
    if source in ONLY_ID - {"npy", "npz", "csv_text"} and {"filter", "take_while"}.intersection(stages):
        return "the source has bytes only: no numeric condition"
    if source in NO_FILES and _NEED_FILES.intersection(stages):
        return "the source has no files" if "interleave" in stages else None
    if cell.shard == "file" and source in NO_FILES:
        return "shards by file of a source without files"
    if cell.shard in ("file", "element", "batch") and "stateful" in stages:
        return "a row of stateful belongs to one process: shards are by row"
    return None
