# SPDX-License-Identifier: Apache-2.0
"""Common code of the adaptors to other packages."""
from __future__ import annotations

from typing import Any, Callable, Mapping

import numpy as np

from forebay._structure import each_of


def arrays(batch: Any, convert: Callable[[np.ndarray[Any, Any]], Any]) -> Any:
    """The batch with every array of numbers converted; strings, ragged and sparse values are not changed."""
    return values(batch, lambda value: convert(value) if isinstance(value, np.ndarray) and value.dtype != object else value)


def values(batch: Any, convert: Callable[[Any], Any]) -> Any:
    """The batch with every value converted. A dict, or a tuple where the batch is one; dicts and tuples in it stay."""
    return each_of(convert, dict(batch) if isinstance(batch, Mapping) else getattr(batch, "tensors", batch))
