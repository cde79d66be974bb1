# SPDX-License-Identifier: Apache-2.0
"""The stages that are put together: each as it is written, and what it does to the rows."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np

from model import Model


class Stage(NamedTuple):
    """kind      order, window, step, map, batcher or batches (an order of batches)
    frames    whether it needs a tensor with frames
    """

    kind: str
    frames: bool
    apply: "Callable[[Any], Any]"
    expect: "Callable[[Model], Model]"


def backwards(epoch: int, count: int) -> Any:
    return np.arange(count - 1, -1, -1)


def halves(epoch: int, file: int, record: int, frames: int) -> "list[tuple[int, int]]":
    half = frames // 2
    return [(0, half or 1)] + ([(half, frames)] if frames > 1 else [])


def per_row(row: Any) -> Any:
    return row


def per_batch(batch: Any) -> Any:
    return batch


def _same(model: Model) -> Model:
    return model


def _longer(model: Model) -> Model:
    return model if model.padded else model.each(lambda i, x: [(i, x)] if len(x) > 1 else [])


def _halves(model: Model) -> Model:
    return model.each(lambda i, x: [(i, x[:len(x) // 2 or 1])] + ([(i, x[len(x) // 2:])] if len(x) > 1 else []))


STAGES: "dict[str, Stage]" = {
    "shuffle": Stage("order", False, lambda p: p.shuffle(7), _same),
    "global": Stage("order", False, lambda p: p.shuffle("global"), _same),
    "filter": Stage("order", False, lambda p: p.filter("id % 3 != 0"), lambda m: m.each(lambda i, x: [(i, x)] if i % 3 else [])),
    "filter_length": Stage("order", True, lambda p: p.filter("length(x) > 1"), _longer),
    "sorted": Stage("order", True, lambda p: p.sorted("length(x)"), _same),
    "take": Stage("order", False, lambda p: p.take(11), lambda m: m.limited(11)),
    "skip": Stage("order", False, lambda p: p.skip(3), lambda m: m.without(3)),
    "repeat": Stage("order", False, lambda p: p.repeat(2), lambda m: m.twice()),
    "take_while": Stage("order", False, lambda p: p.take_while("id % 1000 != 22"), lambda m: m.subset()),
    "random_sample": Stage("order", False, lambda p: p.random_sample(9), lambda m: m.subset(9 * m.sides)),
    "sample_buffer": Stage("order", False, lambda p: p.random_sample(9, buffer=5), lambda m: m.subset(9 * m.sides)),
    "laplace": Stage("order", True, lambda p: p.laplace(8, "length(x)"), _same),
    "sequence_order": Stage("order", True, lambda p: p.sequence_order("laplace:.4", by="length(x)"), _same),
    "reorder": Stage("order", False, lambda p: p.reorder("backwards").bind({"backwards": backwards}), _same),
    "interleave": Stage("order", False, lambda p: p.interleave(2), _same),
    "chunk": Stage("window", True, lambda p: p.chunk(2, keys=["x"]),
                   lambda m: m.each(lambda i, x: [(i, x[at:at + 2]) for at in range(0, len(x), 2)])),
    "chunk_function": Stage("window", True, lambda p: p.chunk_function("halves", keys=["x"]).bind({"halves": halves}), _halves),
    "context": Stage("window", True, lambda p: p.context(["x"], window=3), lambda m: m.widened()),
    "continuous": Stage("window", True, lambda p: p.continuous(3, 3, keys=["x"], tail="keep"), lambda m: m.joined()),
    "discrete": Stage("window", True, lambda p: p.discrete(2, 2, keys=["x"], tail="keep"), lambda m: m.joined()),
    "stack": Stage("window", True, lambda p: p.stack(["x"], window=3), lambda m: m.widened()),
    "unroll": Stage("window", True, lambda p: p.unroll(2, keys=["x"]), lambda m: m.segments(2)),
    "unbatch": Stage("window", True, lambda p: p.unbatch(["x"]), lambda m: m.each(lambda i, x: [(i, [frame]) for frame in x])),
    "cast": Stage("step", True, lambda p: p.cast("x", "int32"), _same),
    "cut_step": Stage("step", True, lambda p: p.slice("x", "[:2]"), lambda m: m.each(lambda i, x: [(i, x[:2])])),
    "draw": Stage("step", False, lambda p: p.color_jitter("img", brightness=0.5, max=1.0), _same),
    "map_row": Stage("map", False, lambda p: p.map(per_row, per="row"), _same),
    "batch": Stage("batcher", False, lambda p: p.batch(4, pad=True), _same),
    "frames": Stage("batcher", True, lambda p: p.frames(["x"], batch_size=24), _same),
    "buckets": Stage("batcher", True, lambda p: p.buckets("x", [2, 40], [4, 4, 4], longer="bucket"), _same),
    "token_budget": Stage("batcher", True, lambda p: p.token_budget(40, keys=["x"]), _same),
    "packed": Stage("batcher", True, lambda p: p.packed(16, 2, keys=["x"]), lambda m: m.packed()),
    "stateful": Stage("batcher", True, lambda p: p.stateful(4), _same),
    "shuffle_batches": Stage("batches", False, lambda p: p.shuffle_batches(3), _same),
    "batch_slice": Stage("batches", False, lambda p: p.batch_slice(1, step=2), lambda m: m.subset()),
    "map_batch": Stage("map", False, lambda p: p.map(per_batch), _same),
}
RECIPES = {
    "tokenise, drop short, shuffle, pack": ["map_row", "filter_length", "shuffle", "packed"],
    "shuffle documents, join and cut, shuffle, batch": ["shuffle", "continuous", "shuffle", "batch"],
    "drop short, global shuffle, pack, shuffle batches": ["filter_length", "global", "packed", "shuffle_batches"],
    "sort in bins, bucket": ["laplace", "buckets", "shuffle_batches"],
    "speech: order, chunk, context, frames": ["sequence_order", "chunk", "context", "frames"],
    "unroll, stateful after a filter": ["filter", "shuffle", "unroll", "stateful"],
    "rows of frames, filtered, shuffled": ["unbatch", "filter", "shuffle", "batch"],
    "evaluation: the first rows in order": ["take", "batch"],
    "overfit: a few rows for ever": ["take", "repeat", "shuffle", "batch"],
    "split: all but the first": ["skip", "global", "batch"],
    "cut, drop short, token budget": ["cut_step", "filter_length", "token_budget"],
    "chunk, global shuffle of chunks": ["chunk", "global", "batch"],
    "chunk, cut again": ["chunk", "unbatch", "batch"],
    "augment in Python, batch, look at the batch": ["map_row", "shuffle", "batch", "map_batch"],
}
#: What may stand in a branch.
IN_BRANCHES = [*(name for name, stage in STAGES.items() if stage.kind in ("order", "window", "step")), "map_row"]
#: What acts within each file where it stands before `interleave`, or is tried there.
WITHIN_FILES = ["shuffle", "filter", "filter_length", "repeat", "chunk", "chunk_function", "unroll", "unbatch", "cast", "draw"]
BATCHERS = [name for name, stage in STAGES.items() if stage.kind == "batcher"]


def written(name: str) -> "list[str]":
    """The stage with what it cannot be without."""
    return ["unroll", name] if name == "stateful" else [name]
