# SPDX-License-Identifier: Apache-2.0
"""The adaptors to packages that are not installed here, with stand-ins for them (torch: test_dlpack.py)."""
from __future__ import annotations

import importlib
import sys
import types

import pytest

import forebay as fb


@pytest.mark.parametrize("adaptor, package, function", [("jax", "jax.numpy", "asarray"),
                                                        ("tf", "tensorflow", "convert_to_tensor")])
def test_arrays_are_converted_and_the_rest_stays(counts, monkeypatch, adaptor, package, function):
    for name in {package, package.partition(".")[0]}:
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    if package == "jax.numpy":
        monkeypatch.setattr(sys.modules["jax"], "numpy", sys.modules[package], raising=False)
    monkeypatch.setattr(sys.modules[package], function, lambda array: ("converted", array.tolist()), raising=False)
    monkeypatch.delitem(sys.modules, f"forebay.{adaptor}", raising=False)
    batch = next(fb.load(counts(4)))
    converted = importlib.import_module(f"forebay.{adaptor}").to(batch)
    monkeypatch.delitem(sys.modules, f"forebay.{adaptor}")
    monkeypatch.delattr(fb, adaptor, raising=False)
    assert (converted["y"], list(converted)) == (("converted", [0, 1, 2, 3]), list(batch))
    assert converted["s"] is batch["s"] and converted["v"] is batch["v"]
