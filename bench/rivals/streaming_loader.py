#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MosaicML Streaming: MDS shards of the dense rows, StreamingDataset + DataLoader (W13), JPEG shards (W4a, W4b)."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol  # noqa: E402
from harness.checksum import Dense  # noqa: E402
from harness.images import ImageCheck  # noqa: E402

run = protocol.declare("streaming_loader", {"mosaic_streaming": {"workloads": ["W4a", "W4b", "W13"], "tune": [0, 1, 2]}})

import numpy as np  # noqa: E402
import torch  # noqa: E402
from streaming import MDSWriter, StreamingDataset  # noqa: E402
from streaming.base.util import clean_stale_shared_memory  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

torch.set_num_threads(run.args.threads)
torch.multiprocessing.set_sharing_strategy("file_system")


def local(c):
    """One MDS folder per number of files: the format has no "first N files"."""
    return os.path.join(c.native("mds"), f"{c.workload[:2] if c.workload != 'W13' else 'W13'}-{len(c.entries)}")


@run.prepare("W13", "W4?")
def prepare(c):
    from harness import convert
    entries = c.entries
    for n in sorted({1, 2, len(c.all_entries)}):
        c.entries = c.all_entries[:n]
        out = local(c)
        if os.path.exists(os.path.join(out, "index.json")):
            continue
        columns = {"x": "ndarray:float32:64", "label": "int"} if c.workload == "W13" else {"image": "bytes", "label": "int"}
        with MDSWriter(out=out, columns=columns) as w:
            for e in c.entries:
                if c.workload == "W13":
                    for x, y in zip(*convert.dense_rows(c, e)):
                        w.write({"x": np.ascontiguousarray(x), "label": int(y)})
                else:
                    for r in convert.tfrecords(os.path.join(c.data, e["path"])):
                        f = convert.example(r)
                        w.write({"image": f["image/encoded"], "label": int(f["label"][0])})
    c.entries = entries


def collate_bytes(items):
    return [x["image"] for x in items], torch.tensor([x["label"] for x in items])


def collate_images(items):
    from torchvision.io import ImageReadMode, decode_jpeg
    images = [decode_jpeg(torch.frombuffer(bytearray(x["image"]), dtype=torch.uint8), mode=ImageReadMode.RGB) for x in items]
    return torch.stack(images), torch.tensor([x["label"] for x in items])


@run.workload("W13", "W4?")
def w13(c):
    clean_stale_shared_memory()
    dense = c.workload == "W13"
    ds = StreamingDataset(local=local(c), shuffle=True, shuffle_algo="py1e" if not dense else "naive",
                          batch_size=c.batch, num_canonical_nodes=1)
    collate = None if dense else collate_bytes if c.workload == "W4a" else collate_images
    kw = {"multiprocessing_context": "fork", "prefetch_factor": 2} if c.tune else {}

    def iterate(epochs):
        for _ in range(epochs):
            yield from DataLoader(ds, batch_size=c.batch, num_workers=c.tune, collate_fn=collate, **kw)
    seen = ImageCheck(c.workload)

    def rows(b):
        return len(b["label"]) if dense else len(b[1])

    def tensors(b):
        if dense:
            return [Dense("x", b["x"]), Dense("label", b["label"])]
        return seen.tensors(b)
    return protocol.Pipeline(iterate, rows, tensors,
                            extra=seen.extra)


run.main()
