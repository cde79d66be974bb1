# SPDX-License-Identifier: Apache-2.0
"""fb.tf with the real package."""
from __future__ import annotations

import importlib.util

import pytest
from conftest import run_python, write_counts

CASE = """
import sys
import numpy as np, forebay as fb, forebay.tf
features = {"x": fb.fixed("float32", [2]), "y": fb.fixed("int64"), "s": fb.fixed("string"), "v": fb.var_len("int64")}
pipe = fb.tfrecord([sys.argv[1]]).example(features).shuffle(buffer=8).batch(5).epochs(2).epoch_boundary("hard").seed(3)
data = fb.tf.dataset(pipe)
assert len(data) == 3 and data.element_spec["x"].shape.as_list() == [None, 2]
with pipe.load() as loader:
    for epoch in loader.epochs():
        for got, wanted in zip(data, epoch, strict=True):
            assert sorted(got) == ["s", "v", "x", "y"]
            assert all(np.array_equal(got[name].numpy(), wanted[name]) for name in ("x", "y", "s"))
            assert got["v"].to_list() == wanted["v"].to_list()
counted = data.map(lambda batch: (batch["x"], batch["y"])).map(lambda x, y: y[:, None] + 0 * y)
assert sum(int(part.numpy().shape[0]) for part in counted) == 12
few = fb.tfrecord([sys.argv[1]]).example(features).filter("y < 4").batch(5).epoch_boundary("hard")
assert [batch["y"].numpy().tolist() for batch in fb.tf.dataset(few)] == [next(few.load())["y"].tolist()]
print("whole")
"""

VALUES = """
import sys
import numpy as np, tensorflow as tf, forebay as fb, forebay.tf
features = {"x": fb.fixed("float32", [2]), "s": fb.fixed("string"), "v": fb.var_len("int64"),
            "p": fb.var_len("int64", key="v", as_="sparse")}
batch = next(fb.tfrecord([sys.argv[1]]).example(features).batch(5).load())
tensors = fb.tf.to(batch)
assert all(np.array_equal(tensors[name].numpy(), batch[name]) for name in ("x", "s")) and tensors["s"].dtype == tf.string
assert isinstance(tensors["v"], tf.RaggedTensor) and tensors["v"].to_list() == batch["v"].to_list()
words = next(fb.tfrecord([sys.argv[1]]).example({"s": fb.var_len("string")}).batch(3).load())
assert fb.tf.to(words)["s"].to_list() == words["s"].to_list() == [[b""], [b"s"], [b"ss"]]
assert isinstance(tensors["p"], tf.SparseTensor)
assert [part.numpy().tolist() for part in (tensors["p"].indices, tensors["p"].values, tensors["p"].dense_shape)] \\
    == [np.asarray(part).tolist() for part in (batch["p"].indices, batch["p"].values, batch["p"].dense_shape)]
pairs = fb.tf.to(next(fb.python([(np.ones(2), b"a"), (np.zeros(2), b"b")]).batch(2).load()))
assert [part.numpy().tolist() for part in pairs] == [[[1, 1], [0, 0]], [b"a", b"b"]]
print("whole")
"""


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="needs the package tensorflow: make test-frameworks")
def test_every_iteration_is_the_next_epoch_with_the_values_of_the_loader(tmp_path):
    run = run_python(CASE, write_counts(tmp_path, 12), timeout=180)
    assert run.stdout == "whole\n", run.stderr


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="needs the package tensorflow: make test-frameworks")
def test_every_value_of_a_batch_becomes_a_tensor(tmp_path):
    run = run_python(VALUES, write_counts(tmp_path, 12), timeout=180)
    assert run.stdout == "whole\n", run.stderr
