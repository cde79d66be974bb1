# SPDX-License-Identifier: Apache-2.0
"""The main job in a dozen lines: a loader document in, batches of NumPy arrays out.

Run it from the root of the repository: .venv/bin/python examples/01_first_batch.py
"""
import pathlib

import forebay as fb

HERE = pathlib.Path(__file__).resolve().parent

with fb.load(str(HERE / "taxi" / "loader.json"), threads=2) as loader:
    print(loader.schema)
    for batch in loader:
        miles, hour, payment = batch["miles"], batch["hour"], batch["payment"]
        print("miles  ", miles.shape, miles.dtype, "mean", round(float(miles.mean()), 2))
        print("hour   ", hour.shape, hour.dtype, "one-hot")
        print("payment", payment.shape, payment[:3])
        print("inputs ", sorted(batch.inputs), "targets", sorted(batch.targets))
        break

rows = tips = 0.0
with fb.load(str(HERE / "taxi" / "loader.json"), threads=2) as loader:
    for batch in loader:
        tip = batch.targets["tip"]
        rows, tips = rows + len(tip), tips + float(tip.sum())
    print(f"{rows:.0f} rows, mean tip {tips / rows:.2f} dollars")
    print(loader.stats())
