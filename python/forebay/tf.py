# SPDX-License-Identifier: Apache-2.0
"""Batches as tensorflow tensors; imported only when asked for."""
from __future__ import annotations

from typing import Any

from forebay._convert import arrays

try:
    import tensorflow  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError as missing:
    raise ImportError("forebay.tf needs the package tensorflow") from missing


def to(batch: Any) -> Any:
    """name → tf.Tensor, or a tuple of them for a TupleBatch; strings, ragged and sparse values are not changed."""
    return arrays(batch, tensorflow.convert_to_tensor)
