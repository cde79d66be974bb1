#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RETURNN's own torch data pipes: ChunkingIterDataPipe -> BatchingIterDataPipe -> collate_batch (W9).

RETURNN_PATH may name the folder that holds the `returnn` package.
returnn            in the calling process
returnn_torch      behind DataLoader(num_workers=1), as RETURNN's engine runs it
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol  # noqa: E402
from harness.checksum import Dense, Padded  # noqa: E402

run = protocol.declare("returnn_pipes", {v: {"workloads": ["W9", "W10"], "group": "seed"} for v in ("returnn", "returnn_torch")})
if os.environ.get("RETURNN_PATH"):
    sys.path.insert(0, os.environ["RETURNN_PATH"])

import numpy as np  # noqa: E402
import torch  # noqa: E402
from returnn.torch.data import pipeline as rp  # noqa: E402

torch.set_num_threads(run.args.threads)
torch.multiprocessing.set_sharing_strategy("file_system")


class Sequences(torch.utils.data.IterableDataset):
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)

    def __getitem__(self, i):
        raise NotImplementedError


def pipeline(c, make, rows, tensors, extra=None):
    def iterate(epochs):
        for _ in range(epochs):
            pipe = make()
            if c.variant == "returnn":
                yield from map(rp.collate_batch, pipe)
            else:
                yield from torch.utils.data.DataLoader(pipe, batch_size=None, collate_fn=rp.collate_batch, num_workers=1,
                                                       multiprocessing_context="fork")
    return protocol.Pipeline(iterate, rows, tensors, extra=extra)


@run.workload("W9")
def w9(c):
    items = []
    for f in c.files:
        x = np.fromfile(f + ".x.f32", np.float32).reshape(-1, 40)
        y = np.fromfile(f + ".y.i32", np.int32)
        cut = np.cumsum(np.fromfile(f + ".len.i64", np.int64))[:-1]
        items += [{"data": a, "classes": b} for a, b in zip(np.split(x, cut), np.split(y, cut))]

    def make():
        chunks = rp.ChunkingIterDataPipe(Sequences(items), (c.spec["window"], c.spec["step"]), min_chunk_size=64)
        return rp.BatchingIterDataPipe(chunks, batch_size=8192, max_seqs=128)
    return pipeline(c, make, lambda b: len(b["classes"]), lambda b: [Dense("x", b["data"]), Dense("y", b["classes"])])


@run.workload("W10")
def w10(c):
    """batch_size counts padded tokens; order comes from the data set ('laplace' ordering is outside the pipes), so the
    sequences are offered in pools of 4096 sorted by length, as its `laplace:.N` sequence ordering would."""
    items = []
    for f in c.files:
        ids = np.fromfile(f + ".ids.i64", np.int64)
        items += [{"data": s} for s in np.split(ids, np.cumsum(np.fromfile(f + ".len.i64", np.int64))[:-1])]
    seen = {"valid": 0, "padded": 0}

    def make():
        order = np.random.default_rng(1).permutation(len(items))
        out = []
        for k, a in enumerate(range(0, len(order), 4096)):
            out += sorted((items[i] for i in order[a:a + 4096]), key=lambda s: len(s["data"]), reverse=bool(k & 1))
        return rp.BatchingIterDataPipe(Sequences(out), batch_size=c.spec["tokens_per_batch"], max_seqs=None)

    def tensors(b):
        seen["valid"] += int(b["data:seq_len"].sum())
        seen["padded"] += b["data"].numel()
        return [Padded("ids", b["data"], b["data:seq_len"])]
    return pipeline(c, make, lambda b: len(b["data"]), tensors,
                    lambda: {"pad_efficiency": seen["valid"] / seen["padded"]} if seen["padded"] else {})


run.main()
