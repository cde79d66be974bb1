# SPDX-License-Identifier: Apache-2.0
"""What test_pinned.py runs in a process of its own, which has torch: copies to a GPU that torch would begin, begun in a CUDA runtime
without a GPU, which does them when the case says so."""
from __future__ import annotations

import ctypes
import functools
import pathlib
import pickle
import tempfile
import types
from typing import Any, Iterator
from unittest import mock

from dlpack_cases import torch
from test_pinned import fake_cudart

import numpy as np

import forebay as fb
from forebay import _core

SIDE_STREAM = 4096
ROWS, WIDTH = 60, 5000
X = np.arange(ROWS * WIDTH, dtype=np.float32).reshape(ROWS, WIDTH)


@functools.lru_cache(maxsize=None)
def runtime() -> ctypes.CDLL:
    """One for all cases, as a process finds the first one that it has loaded."""
    with tempfile.TemporaryDirectory() as folder:
        return ctypes.CDLL(str(fake_cudart(pathlib.Path(folder))))


class Gpu:
    """Takes the place of what torch calls of a GPU. It does nothing before `finish`."""

    def __init__(self) -> None:
        self._cuda = runtime()
        self._copy = self._cuda.cudaMemcpyAsync
        self._copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
        self.waited = 0

    def to(self, tensor: Any, device: Any, non_blocking: bool = False) -> Any:
        out = torch.zeros_like(tensor)
        self._copy(out.data_ptr(), tensor.data_ptr(), tensor.numel() * tensor.element_size(), 1, SIDE_STREAM)
        if not non_blocking:
            self.waited += 1
            self.finish()
        return out

    def finish(self) -> None:
        self._cuda.fake_cuda_advance(1000)

    def __enter__(self) -> "Gpu":
        stream = types.SimpleNamespace(device_index=0, cuda_stream=SIDE_STREAM)
        self._patches = [mock.patch.object(torch.Tensor, "to", lambda tensor, *args, **named: self.to(tensor, *args, **named)),
                         mock.patch.object(torch.Tensor, "is_pinned", lambda tensor: True),
                         mock.patch.object(torch.cuda, "current_stream", lambda device=None: stream),
                         mock.patch.object(torch.cuda, "is_available", lambda: True)]
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for patch in self._patches:
            patch.stop()


def batches() -> Iterator[Any]:
    with fb.arrays({"x": X}).batch(size=2).load(threads=2, prefetch=1, pin_memory=True) as loader:
        yield from loader


def received() -> Iterator[Any]:
    """The same batches as they come from another process, in memory that is used again."""
    memory = _core.ReceivedMemory(1 << 20, _core.cuda_pinned_memory(-1, ""))
    with fb.arrays({"x": X}).batch(size=2).load(threads=1) as loader:
        for batch in loader:
            buffers: "list[pickle.PickleBuffer]" = []
            header = pickle.dumps(batch, 5, buffer_callback=buffers.append)
            parts = [memory.copy(buffer.raw()) for buffer in buffers]
            made = pickle.loads(header, buffers=[part.array for part in parts])
            _core.own_memory(made, parts)
            yield made


def all_rows(tensors: list[Any]) -> bool:
    return bool(torch.equal(torch.cat(tensors), torch.from_dlpack(X)))


def copies_of_to_go_on_and_nothing_is_overwritten(folder: pathlib.Path) -> None:
    with Gpu() as gpu:
        device = [fb.torch.to(batch, "cuda:0")["x"] for batch in batches()]  # each batch is dropped before it is copied
        gpu.finish()
        assert gpu.waited == 0 and all_rows(device)


def copies_of_a_tensor_batch_do_so_too(folder: pathlib.Path) -> None:
    with Gpu() as gpu:
        device = [fb.torch.to(batch).to("cuda:0", non_blocking=True)["x"] for batch in batches()]
        by_hand = []
        for batch in batches():
            by_hand.append(gpu.to(torch.from_dlpack(batch["x"]), "cuda:0", non_blocking=True))
            fb.torch.record_stream(batch)
        gpu.finish()
        assert gpu.waited == 0 and all_rows(device) and all_rows(by_hand)


def copies_of_a_batch_of_another_process_do_so_too(folder: pathlib.Path) -> None:
    with Gpu() as gpu:
        device = [fb.torch.to(batch, "cuda:0")["x"] for batch in received()]
        gpu.finish()
        assert gpu.waited == 0 and all_rows(device)


def an_array_of_an_unknown_batch_is_waited_for(folder: pathlib.Path) -> None:
    with Gpu() as gpu:
        device = [fb.torch.to({"x": batch["x"]}, "cuda:0")["x"] for batch in batches()]
        assert gpu.waited == ROWS // 2 and all_rows(device)
