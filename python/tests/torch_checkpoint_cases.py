# SPDX-License-Identifier: Apache-2.0
"""What test_restart.py runs in a process of its own, which has torch."""
from __future__ import annotations

import os
import pathlib

from dlpack_cases import torch
from streams import digests, examples, write_parts

import forebay as fb


def run(folder: pathlib.Path) -> None:
    pipe = examples(write_parts(folder)).shuffle(buffer=40).batch(12).epochs(2)
    unbroken, loader, path = digests(pipe.load()), pipe.load(), folder / "checkpoint.pt"
    weights = torch.arange(1000, dtype=torch.float32)
    for at in (0, 1, 20):
        while loader.state_dict()["sections"]["order"]["next"] < at:
            next(loader)
        fb.torch.save_with_state(path, {"weights": weights + at, "step": at}, loader)
        again = pipe.load(threads=1)
        found = fb.torch.load_with_state(path, again, map_location="cpu")
        assert found["step"] == at and torch.equal(found["weights"], weights + at)
        assert digests(again) == unbroken[at:]
    before = path.read_bytes()
    try:
        fb.torch.save_with_state(path, {"what pickle does not take": lambda: 0}, loader)
        raise AssertionError("it must fail")
    except AttributeError:
        pass
    except Exception as failure:  # its class depends on the version of Python
        assert "pickle" in str(failure).lower(), failure
    assert path.read_bytes() == before and not [name for name in os.listdir(folder) if name.endswith(".tmp")]
    other = pipe.seed(9).load()
    try:
        fb.torch.load_with_state(path, other)
        raise AssertionError("it must fail")
    except fb.StateError as refusal:
        assert "what differs: seed" in str(refusal)
