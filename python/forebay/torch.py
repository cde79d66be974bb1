# SPDX-License-Identifier: Apache-2.0
"""Batches as torch tensors; imported only when asked for."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Protocol

import numpy as np

from forebay import _core
from forebay import replicas as replicas_module
from forebay._arguments import integer_of, out_of_range
from forebay._convert import arrays
from forebay._paths import Path
from forebay._prefetch import Prefetch
from forebay.checkpoint import atomic_file
from forebay.errors import ConfigError
from forebay.loader import Loader

try:
    import torch  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError as missing:
    raise ImportError("forebay.torch needs the package torch") from missing


def to(batch: Mapping[str, Any], device: Optional[Any] = None) -> dict[str, Any]:
    """name → torch.Tensor over the batch's own memory, or on `device`; strings, ragged and
    sparse values are not changed."""
    return arrays(batch, lambda value: _tensor(value, device))


def prefetch(loader: Loader, device: Any = "cuda", ahead: int = 2) -> Prefetch:
    """The batches of a loader as tensors on a device, copied while the batches before them are in use.

        for batch in fb.torch.prefetch(loader, device="cuda:0"):
            loss = model(batch["x"])                        # torch.Tensor on the GPU
            frames = batch.lengths["x"]                     # lengths, epoch, number, origins: as ever

    device   "cuda", "cuda:1", a torch.device. "cpu": tensors over the batch's own memory
    ahead    batches whose copies are begun before they are asked for, by a thread. They take page-locked memory of the host,
             beside the loader's budget, and memory of the GPU. 0: each batch is copied when it is asked for; there is no thread

    Numbers of fixed shape and padded ones are copied; strings, ragged and sparse values are not changed. The copies go
    through page-locked buffers, in a stream of their own; work of the current stream waits for them, the program does not. Use a
    tensor in one stream, or call its record_stream. The state is that of the last batch that the loop got. Raises ConfigError
    when there is no such GPU or no CUDA runtime.
    """
    found = torch.device(device)
    count = integer_of("ahead", ahead, "an integer of 0 or more")
    if count < 0:
        raise out_of_range("ahead", "an integer of 0 or more", count)
    if found.type == "cpu":
        return Prefetch(loader, _core.make_staging(-1, ""), _carriers, _on_host, count)
    if found.type != "cuda":
        raise ConfigError(f"device: must be a GPU ('cuda:0') or 'cpu', found '{found}'", code="config", detail="invalid_argument")
    gpu = torch.cuda.current_device() if found.index is None and torch.cuda.is_available() else found.index or 0

    def handover(batch: Mapping[str, Any], names: list[str], staged: _core.StagedTensors) -> list[Any]:
        staged.wait(torch.cuda.current_stream(gpu).cuda_stream)
        return _taken(batch, names, staged.tensors(gpu))

    return Prefetch(loader, _core.make_staging(gpu, ""), _carriers, handover, count)


def _carriers(batch: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of numbers that torch knows, by name, in types that DLPack has in every version."""
    known = {name: value for name, value in batch.items()
             if isinstance(value, np.ndarray) and value.dtype != object and hasattr(torch, value.dtype.name)}
    return {name: value.view(_VIEWS[value.dtype.name][0]) if value.dtype.name in _VIEWS else value
            for name, value in known.items()}


def _on_host(batch: Mapping[str, Any], names: list[str], staged: _core.StagedTensors) -> list[Any]:
    return _taken(batch, names, staged.tensors(-1))


def _taken(batch: Mapping[str, Any], names: list[str], staged: list[Any]) -> list[Any]:
    tensors = [torch.from_dlpack(tensor) for tensor in staged]
    views = [_VIEWS.get(batch[name].dtype.name) for name in names]
    return [tensor if view is None else tensor.view(view[1]) for tensor, view in zip(tensors, views)]


# DLPack from numpy has no bfloat16, and older torch takes no bool from it.
_VIEWS = {"bfloat16": (np.int16, torch.bfloat16), "bool": (np.uint8, torch.bool)}


class HasState(Protocol):
    """A Loader, or another object with a state: Switch, BatchSet, Prefetch."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any], /) -> None: ...


def save_with_state(path: Path, checkpoint: Any, loader: HasState) -> None:
    """Saves a model checkpoint (any object for torch.save) and the state of the loader, or of what goes through it (Switch,
    BatchSet, Prefetch), in one file: old or new, never mixed, so that the model and the data cannot get out of step."""
    together = {"checkpoint": checkpoint, "forebay": loader.state_dict()}
    with atomic_file(path) as file:
        torch.save(together, file)


def load_with_state(path: Path, loader: HasState, **options: Any) -> Any:
    """The checkpoint that `save_with_state` saved; the loader goes on from there. `options` are torch.load's."""
    together = torch.load(path, **options)
    loader.load_state_dict(together["forebay"])
    return together["checkpoint"]


def verify_replicas(loader: Loader, batches: int = 2, replicas: Optional[int] = None, group: Any = None) -> None:
    """fb.verify_replicas over the processes of torch.distributed, or of one of its groups."""
    import torch.distributed as distributed  # type: ignore[import-not-found, import-untyped, unused-ignore]

    def allgather(mine: Any) -> list[Any]:
        every: list[Any] = [None] * distributed.get_world_size(group)
        distributed.all_gather_object(every, mine, group)
        return every

    replicas_module.verify_replicas(loader, allgather, batches, replicas)


def _tensor(value: Any, device: Optional[Any]) -> Any:
    if not hasattr(torch, value.dtype.name):  # uint16, uint32 and uint64, before torch 2.3
        return value
    if value.dtype.name in _VIEWS:
        carrier, dtype = _VIEWS[value.dtype.name]
        tensor = torch.from_dlpack(value.view(carrier)).view(dtype)
    else:
        tensor = torch.from_dlpack(value)
    return tensor if device is None else tensor.to(device, non_blocking=True)
