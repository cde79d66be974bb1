#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Meta SPDL: thread pipeline over FFmpeg-based image decoding (W4b, W4c).

spdl  PipelineBuilder, one decode task per image, batch buffer by convert_frames
W4c decodes fully, then crops at random through an FFmpeg filter (crop + scale); there is no crop-while-decoding.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol  # noqa: E402
from harness.checksum import Dense  # noqa: E402

run = protocol.declare("spdl_loader", {"spdl": {"workloads": ["W4b", "W4c"]}})

import random  # noqa: E402

import numpy as np  # noqa: E402
import spdl.io as sio  # noqa: E402
from spdl.pipeline import PipelineBuilder  # noqa: E402

try:
    sio.lib._libspdl.init_glog  # its library is loaded on first use, and a failure inside a pipeline only drops rows
except RuntimeError as problem:
    sys.exit(f"SPDL needs the shared libraries of FFmpeg, of a version that it knows: {problem}")

THREADS = run.args.threads


@run.prepare("W4?")
def prepare(c):
    from harness import convert
    convert.image_files(c)


@run.workload("W4?")
def w4(c):
    from harness import convert
    items = convert.image_list(c)
    full = sio.get_video_filter_desc(pix_fmt="rgb24")

    def decode(item):
        path, label = item
        if c.workload == "W4b":
            return sio.decode_packets(sio.demux_image(path), filter_desc=full), label
        area, aspect = 187500 * random.uniform(0.08, 1.0), np.exp(random.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = min(500, int((area * aspect) ** 0.5)), min(375, int((area / aspect) ** 0.5))
        desc = f"crop={w}:{h}:{random.randint(0, 500 - w)}:{random.randint(0, 375 - h)},scale=224:224:flags=bilinear,format=rgb24"
        return sio.decode_packets(sio.demux_image(path), filter_desc=desc), label

    def collate(group):
        frames, labels = zip(*group)
        return sio.to_numpy(sio.convert_frames(list(frames))), np.array(labels)

    def iterate(epochs):
        for _ in range(epochs):
            order = list(items)
            random.shuffle(order)
            p = (PipelineBuilder().add_source(order).pipe(decode, concurrency=THREADS).aggregate(c.batch)
                 .pipe(collate).add_sink(2).build(num_threads=THREADS + 1))
            with p.auto_stop():
                yield from p.get_iterator()
    seen = {"pixels": 0.0, "images": 0}

    def tensors(b):
        seen["pixels"] += float(b[0].mean()) * len(b[1])
        seen["images"] += len(b[1])
        return [Dense("label", b[1])]
    return protocol.Pipeline(iterate, lambda b: len(b[1]), tensors,
                            extra=lambda: {"mean_pixel": seen["pixels"] / seen["images"]} if seen["images"] else {})


run.main()
