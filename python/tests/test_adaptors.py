# SPDX-License-Identifier: Apache-2.0
"""The adaptors to packages that are not installed here, with stand-ins for them (torch: test_dlpack.py)."""
from __future__ import annotations

import importlib
import sys
import types

import forebay as fb


def converted_by(monkeypatch, adaptor, packages, batch):
    """`to` of an adaptor, with stand-ins for its packages."""
    for name, members in packages.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
        parent, _, child = name.rpartition(".")
        if parent:
            monkeypatch.setattr(sys.modules[parent], child, module, raising=False)
    monkeypatch.delitem(sys.modules, f"forebay.{adaptor}", raising=False)
    converted = importlib.import_module(f"forebay.{adaptor}").to(batch)
    monkeypatch.delitem(sys.modules, f"forebay.{adaptor}")
    monkeypatch.delattr(fb, adaptor, raising=False)
    return converted


def tensor(array):
    return ("converted", array.tolist())


def test_arrays_become_those_of_jax_and_the_rest_stays(counts, monkeypatch):
    batch = next(fb.load(counts(4)))
    converted = converted_by(monkeypatch, "jax", {"jax": {}, "jax.numpy": {"asarray": tensor}}, batch)
    assert (converted["y"], list(converted)) == (("converted", [0, 1, 2, 3]), list(batch))
    assert converted["s"] is batch["s"] and converted["v"] is batch["v"]


def test_every_value_becomes_one_of_tensorflow(counts, monkeypatch):
    ragged = types.SimpleNamespace(from_nested_row_splits=lambda values, splits, validate: (values.tolist(), [each.tolist() for each in splits]))
    batch = next(fb.load(counts(4)))
    converted = converted_by(monkeypatch, "tf", {"tensorflow": {"convert_to_tensor": tensor, "RaggedTensor": ragged}}, batch)
    assert (converted["y"], list(converted)) == (("converted", [0, 1, 2, 3]), list(batch))
    assert converted["s"] == ("converted", [b"", b"s", b"ss", b""]) and converted["v"] == ([1, 2, 2, 3, 3, 3], [[0, 0, 1, 3, 6]])
