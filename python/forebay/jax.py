# SPDX-License-Identifier: Apache-2.0
"""Batches as jax arrays; imported only when asked for."""
from __future__ import annotations

from typing import Any

from forebay._convert import arrays

try:
    import jax.numpy  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError as missing:
    raise ImportError("forebay.jax needs the package jax") from missing


def to(batch: Any) -> Any:
    """name → jax.Array, or a tuple of them for a TupleBatch; strings, ragged and sparse values are not changed."""
    return arrays(batch, jax.numpy.asarray)
