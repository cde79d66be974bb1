# SPDX-License-Identifier: Apache-2.0
"""Batches as jax arrays; imported only when asked for."""
from __future__ import annotations

from typing import Any, Mapping

import numpy as np

try:
    import jax
    import jax.numpy
except ImportError as missing:
    raise ImportError("forebay.jax needs the package jax") from missing


def to(batch: Mapping[str, Any]) -> dict[str, Any]:
    """name → jax.Array; strings, ragged and sparse values stay what they are."""
    return {name: _convert(value) for name, value in batch.items()}


def _convert(value: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype == object:
        return value
    return jax.numpy.asarray(value)
