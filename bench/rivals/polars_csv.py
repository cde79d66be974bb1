#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""polars.read_csv with an explicit schema, one file at a time, sliced into batches (W7)."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol  # noqa: E402
from harness.checksum import Dense  # noqa: E402

run = protocol.declare("polars_csv", {"polars": {"workloads": ["W7"]}})

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

NAMES = [f"f{i}" for i in range(10)] + [f"i{i}" for i in range(10)]
SCHEMA = {k: pl.Float32 if k[0] == "f" else pl.Int64 for k in NAMES}


@run.workload("W7")
def w7(c):
    def iterate(epochs):
        for _ in range(epochs):
            for f in c.files:
                frame = pl.read_csv(f, has_header=False, schema=SCHEMA).rechunk()
                cols = [frame[k].to_numpy() for k in NAMES]
                for a in range(0, frame.height, c.batch):
                    yield [x[a:a + c.batch] for x in cols]
    return protocol.Pipeline(iterate, lambda b: len(b[0]), lambda b: [
        Dense("floats", np.stack(b[:10], 1)), Dense("ints", np.stack(b[10:], 1))])


run.main()
