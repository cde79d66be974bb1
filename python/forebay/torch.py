# SPDX-License-Identifier: Apache-2.0
"""Batches as torch tensors; imported only when asked for."""
from __future__ import annotations

from typing import Any, Mapping, Optional

import numpy as np

from forebay import replicas as replicas_module
from forebay._convert import arrays
from forebay._paths import Path
from forebay.checkpoint import atomic_file
from forebay.loader import Loader

try:
    import torch  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError as missing:
    raise ImportError("forebay.torch needs the package torch") from missing


def to(batch: Mapping[str, Any], device: Optional[Any] = None) -> dict[str, Any]:
    """name → torch.Tensor over the batch's own memory, or on `device`; strings, ragged and
    sparse values are not changed."""
    return arrays(batch, lambda value: _tensor(value, device))


# DLPack from numpy has no bfloat16, and older torch takes no bool from it.
_VIEWS = {"bfloat16": (np.int16, torch.bfloat16), "bool": (np.uint8, torch.bool)}


def save_with_state(path: Path, checkpoint: Any, loader: Loader) -> None:
    """Saves a model checkpoint (any object for torch.save) and the state of the loader in one file: old or new, never
    mixed, so that the model and the data cannot get out of step."""
    together = {"checkpoint": checkpoint, "forebay": loader.state_dict()}
    with atomic_file(path) as file:
        torch.save(together, file)


def load_with_state(path: Path, loader: Loader, **options: Any) -> Any:
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
