# SPDX-License-Identifier: Apache-2.0
"""Batches as torch tensors; imported only when asked for."""
from __future__ import annotations

from typing import Any, Mapping, Optional

import numpy as np

try:
    import torch
except ImportError as missing:
    raise ImportError("forebay.torch needs the package torch") from missing


def to(batch: Mapping[str, Any], device: Optional[Any] = None) -> dict[str, Any]:
    """name → torch.Tensor over the batch's own memory, or on `device`; what no tensor can hold (strings, ragged and
    sparse values) stays what it is."""
    return {name: _tensor(value, device) for name, value in batch.items()}


def _tensor(value: Any, device: Optional[Any]) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype == object:
        return value
    if value.dtype.name == "bfloat16":
        tensor = torch.from_dlpack(value.view(np.uint16)).view(torch.bfloat16)
    else:
        tensor = torch.from_dlpack(value)
    return tensor if device is None else tensor.to(device, non_blocking=True)
