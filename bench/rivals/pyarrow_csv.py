#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pyarrow.csv.open_csv, streaming record batches cut to the batch size, zero-copy to NumPy (W7)."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol  # noqa: E402
from harness.checksum import Dense  # noqa: E402

run = protocol.declare("pyarrow_csv", {"pyarrow": {"workloads": ["W7"]}})

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
from pyarrow import csv  # noqa: E402

pa.set_cpu_count(run.args.threads)
NAMES = [f"f{i}" for i in range(10)] + [f"i{i}" for i in range(10)]
TYPES = {k: pa.float32() if k[0] == "f" else pa.int64() for k in NAMES}


@run.workload("W7")
def w7(c):
    read = csv.ReadOptions(column_names=NAMES, block_size=1 << 20, use_threads=run.args.threads > 1)
    convert = csv.ConvertOptions(column_types=TYPES, null_values=[], strings_can_be_null=False)

    def iterate(epochs):
        for _ in range(epochs):
            for f in c.files:
                for block in csv.open_csv(f, read, convert_options=convert):
                    cols = [x.to_numpy(zero_copy_only=True) for x in block.columns]
                    for a in range(0, block.num_rows, c.batch):
                        yield [x[a:a + c.batch] for x in cols]
    return protocol.Pipeline(iterate, lambda b: len(b[0]), lambda b: [
        Dense("floats", np.stack(b[:10], 1)), Dense("ints", np.stack(b[10:], 1))])


run.main()
