# SPDX-License-Identifier: Apache-2.0
"""Needs torch: python/requirements-torch.txt."""
from __future__ import annotations

import gc

import numpy as np
import pytest
from conftest import counts_document, write_counts

import forebay as fb

torch = pytest.importorskip("torch", reason="torch is not installed: pip install -r python/requirements-torch.txt")


def test_a_tensor_shares_the_memory_and_outlives_the_loader(tmp_path):
    loader = fb.load(counts_document(write_counts(tmp_path, 8)))
    batch = next(loader)
    tensor = torch.from_dlpack(batch["x"])
    assert tensor.data_ptr() == batch["x"].ctypes.data
    tensor[0, 0] = -5
    assert batch["x"][0, 0] == -5
    loader.close()
    del batch, loader
    gc.collect()
    assert tensor[1].tolist() == [1.0, 1.5]


def test_the_adaptor_makes_tensors_of_what_can_be_one(tmp_path):
    batch = next(fb.load(counts_document(write_counts(tmp_path, 8))))
    tensors = fb.torch.to(batch)
    assert (tensors["x"].dtype, tensors["y"].tolist()) == (torch.float32, [0, 1, 2, 3])
    assert tensors["s"] is batch["s"] and tensors["v"] is batch["v"]
    np.testing.assert_array_equal(tensors["x"].numpy(), batch["x"])
