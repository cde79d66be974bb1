# SPDX-License-Identifier: Apache-2.0
"""The same pipeline as a document and as Python calls; both give the same batches, for any number of threads."""
import pathlib

import numpy as np

import forebay as fb

HERE = pathlib.Path(__file__).resolve().parent

written = (fb.tfrecord(str(HERE / "taxi/data/*.gz"), compression="gzip")
           .example({"fare": fb.fixed("float32", []),
                     "company": fb.fixed("string", [], default="none"),
                     "dropoff_latitude": fb.fixed("float32", [], default=0.0),
                     "trip_seconds": fb.fixed("int64", [], default=-1)})
           .shuffle(buffer=4000)
           .batch(size=128, remainder="keep")
           .epochs(2)
           .seed(7))
print(written.to_json())

with fb.load(str(HERE / "02_pipeline_document.json"), threads=1) as document, written.load(threads=2) as calls:
    print(document.plan)
    batches = 0
    for one, other in zip(document, calls):
        assert all(np.array_equal(one[name], other[name]) for name in one), "the streams differ"
        batches += 1
    print(batches, "equal batches")
