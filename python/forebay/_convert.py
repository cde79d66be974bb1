# SPDX-License-Identifier: Apache-2.0
"""Common code of the adaptors to other packages."""
from __future__ import annotations

from typing import Any, Callable, Mapping

import numpy as np


def arrays(batch: Mapping[str, Any], convert: Callable[[np.ndarray[Any, Any]], Any]) -> dict[str, Any]:
    """The batch with every array of numbers converted; strings, ragged and sparse values are not changed."""
    return {name: convert(value) if isinstance(value, np.ndarray) and value.dtype != object else value
            for name, value in batch.items()}
