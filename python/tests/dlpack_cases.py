# SPDX-License-Identifier: Apache-2.0
"""What test_dlpack.py runs in a process of its own, which has torch. Each case gets a folder of its own."""
from __future__ import annotations

import gc
import pathlib
import sys
import warnings
from typing import Any

if len(sys.argv) > 1:  # a folder that has torch, and packages that must not replace ours
    sys.path.append(sys.argv[1])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a torch built for another numpy says so; DLPack does not need that bridge
    import torch
if len(sys.argv) > 1:
    sys.path.remove(sys.argv[1])

import numpy as np
from conftest import counts_document, write_counts

import forebay as fb


def batch_of(folder: pathlib.Path) -> tuple[Any, Any]:
    loader = fb.load(counts_document(write_counts(folder, 12)))
    return loader, next(loader)


def shares_the_memory(folder: pathlib.Path) -> None:
    _, batch = batch_of(folder)
    tensor = torch.from_dlpack(batch["x"])
    assert tensor.data_ptr() == batch["x"].ctypes.data
    assert tensor.tolist() == batch["x"].tolist() == [[i, i + 0.5] for i in range(4)]


def is_written_through(folder: pathlib.Path) -> None:
    _, batch = batch_of(folder)
    tensor = torch.from_dlpack(batch["x"])
    tensor[0, 0] = -5
    assert batch["x"][0, 0] == -5
    batch["x"][3] = 9
    assert tensor[3].tolist() == [9, 9]


def outlives_batch_and_loader(folder: pathlib.Path) -> None:
    loader, batch = batch_of(folder)
    tensor = torch.from_dlpack(batch["x"])
    del batch
    gc.collect()
    rest = [each["x"].copy() for each in loader]  # the pool may not hand out what the tensor stands on
    assert len(rest) == 2 and tensor.tolist() == [[i, i + 0.5] for i in range(4)]
    loader.close()
    del loader
    gc.collect()
    assert tensor.tolist() == [[i, i + 0.5] for i in range(4)]


def cast_to(folder: pathlib.Path, name: str) -> Any:
    """1 and 0 in that dtype."""
    fb.write_records(folder / "a.tfrecord", [fb.encode_example({"a": 1}), fb.encode_example({"a": 0})])
    return next(fb.tfrecord(folder / "a.tfrecord").example({"a": fb.feature("int64")}).cast("a", name).batch(2).load())["a"]


def has_the_dtype(folder: pathlib.Path) -> None:
    for name in ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "float16", "float32", "float64"]:
        array = cast_to(folder, name)
        tensor = fb.torch.to({"a": array})["a"]
        if not hasattr(torch, name):
            assert tensor is array, name
            continue
        assert (tensor.dtype, tensor.tolist()) == (getattr(torch, name), [1, 0]), name
        assert tensor.data_ptr() == array.ctypes.data, name


def bfloat16_is_a_view_of_its_bits(folder: pathlib.Path) -> None:
    array = cast_to(folder, "bfloat16")
    tensor = torch.from_dlpack(array.view(np.int16)).view(torch.bfloat16)
    assert tensor.tolist() == [1, 0] and tensor.data_ptr() == array.ctypes.data
    if array.dtype.name == "bfloat16":  # with the package ml_dtypes
        assert fb.torch.to({"a": array})["a"].dtype == torch.bfloat16


def adaptor_converts_what_can_be_a_tensor(folder: pathlib.Path) -> None:
    _, batch = batch_of(folder)
    tensors = fb.torch.to(batch)
    assert (tensors["x"].dtype, tensors["y"].tolist()) == (torch.float32, [0, 1, 2, 3])
    assert tensors["s"] is batch["s"] and tensors["v"] is batch["v"]
    assert fb.torch.to(batch, "cpu")["x"].tolist() == batch["x"].tolist()


def prefetch_gives_tensors_and_the_state_of_the_last_batch(folder: pathlib.Path) -> None:
    document = counts_document(write_counts(folder, 12))
    plain = fb.load(document)
    for ahead in (0, 2):
        with fb.torch.prefetch(fb.load(document), device="cpu", ahead=ahead) as batches:
            plain.begin_anew()
            for batch in batches:
                expected = next(plain)
                assert torch.is_tensor(batch["x"]) and batch["x"].tolist() == expected["x"].tolist()
                assert batch["s"].tolist() == expected["s"].tolist() and batch["v"].to_list() == expected["v"].to_list()
                assert (batch.number, batch.epoch, batch.record_keys) == (expected.number, 0, expected.record_keys)
                assert batches.state_dict() == plain.state_dict()
    for name in ["bool", "int16", "uint16", "float16", "bfloat16", "float64"]:
        array = cast_to(folder, name)
        pipe = fb.arrays({"a": array}).batch(2)
        (batch,) = fb.torch.prefetch(pipe.load(), device="cpu")
        if hasattr(torch, array.dtype.name):
            assert (batch["a"].dtype, batch["a"].tolist()) == (getattr(torch, array.dtype.name), [1, 0]), name
        else:
            assert batch["a"].tolist() == array.tolist(), name


def prefetch_refuses_what_it_cannot_reach(folder: pathlib.Path) -> None:
    loader = fb.load(counts_document(write_counts(folder, 12)))
    for device, ahead, words in (("meta", 2, "device: must be a GPU"), ("cpu", -1, "ahead: must be an integer of 0 or more")):
        try:
            fb.torch.prefetch(loader, device, ahead)
        except fb.ConfigError as problem:
            assert words in str(problem)
        else:
            raise AssertionError(f"{device} was not refused")


assert np.__file__.startswith(sys.prefix), "numpy must be the one we were built for"
