#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""WebDataset over tar shards through WebLoader (W4): decoding by torchvision (libjpeg-turbo), batches by default collate."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol  # noqa: E402
from harness.images import ImageCheck  # noqa: E402

run = protocol.declare("webdataset_loader", {"webdataset": {"workloads": ["W4a", "W4b", "W4c"], "tune": [0, 1, 2]}})

import torch  # noqa: E402
import webdataset as wds  # noqa: E402
from torchvision.io import ImageReadMode, decode_jpeg  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

torch.set_num_threads(run.args.threads)
torch.multiprocessing.set_sharing_strategy("file_system")


@run.prepare("W4?")
def prepare(c):
    from harness import convert
    convert.image_tars(c)


@run.workload("W4?")
def w4(c):
    from harness import convert
    urls = [convert.tar_path(c, e) for e in c.entries]
    crop = v2.RandomResizedCrop(224, antialias=True)

    def sample(s):
        data, label = s["jpg"], int(s["cls"])
        if c.workload == "W4a":
            return data, label
        image = decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8), mode=ImageReadMode.RGB)
        return (crop(image) if c.workload == "W4c" else image), label

    def collate(items):
        data, labels = zip(*items)
        return list(data) if c.workload == "W4a" else torch.stack(data), torch.tensor(labels)

    def iterate(epochs):
        for _ in range(epochs):
            ds = (wds.WebDataset(urls, shardshuffle=False, empty_check=False).shuffle(500).map(sample)
                  .batched(c.batch, collation_fn=collate))
            kw = {"multiprocessing_context": "fork", "prefetch_factor": 2} if c.tune else {}
            yield from wds.WebLoader(ds, batch_size=None, num_workers=c.tune, **kw)
    seen = ImageCheck(c.workload)
    return protocol.Pipeline(iterate, lambda b: len(b[1]), seen.tensors,
                            extra=seen.extra)


run.main()
