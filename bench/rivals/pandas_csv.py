#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pandas.read_csv(chunksize=...) with explicit dtypes (W7).

pandas          C engine, one chunk per batch
pandas_whole    C engine, one file at a time, then sliced into batches
pandas_pyarrow  engine="pyarrow", one file at a time, then sliced
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol  # noqa: E402
from harness.checksum import Dense  # noqa: E402

run = protocol.declare("pandas_csv", {v: {"workloads": ["W7"]} for v in ("pandas", "pandas_whole", "pandas_pyarrow")})

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

NAMES = [f"f{i}" for i in range(10)] + [f"i{i}" for i in range(10)]
TYPES = {k: np.float32 if k[0] == "f" else np.int64 for k in NAMES}


@run.workload("W7")
def w7(c):
    def iterate(epochs):
        for _ in range(epochs):
            for f in c.files:
                if c.variant == "pandas":
                    frames = pd.read_csv(f, header=None, names=NAMES, dtype=TYPES, chunksize=c.batch)
                else:
                    engine = "pyarrow" if c.variant == "pandas_pyarrow" else "c"
                    whole = pd.read_csv(f, header=None, names=NAMES, dtype=TYPES, engine=engine)
                    frames = (whole.iloc[a:a + c.batch] for a in range(0, len(whole), c.batch))
                for frame in frames:
                    yield {k: frame[k].to_numpy() for k in NAMES}
    return protocol.Pipeline(iterate, lambda b: len(b["f0"]), lambda b: [
        Dense("floats", np.stack([b[k] for k in NAMES[:10]], 1)), Dense("ints", np.stack([b[k] for k in NAMES[10:]], 1))])


run.main()
