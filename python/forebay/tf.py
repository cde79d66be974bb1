# SPDX-License-Identifier: Apache-2.0
"""Batches as tensorflow arrays; imported only when asked for."""
from __future__ import annotations

from typing import Any, Mapping

import numpy as np

try:
    import tensorflow
except ImportError as missing:
    raise ImportError("forebay.tf needs the package tensorflow") from missing


def to(batch: Mapping[str, Any]) -> dict[str, Any]:
    """name → tf.Tensor; strings, ragged and sparse values stay what they are."""
    return {name: _convert(value) for name, value in batch.items()}


def _convert(value: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype == object:
        return value
    return tensorflow.convert_to_tensor(value)
