# SPDX-License-Identifier: Apache-2.0
"""Common code of the adaptors to other packages."""
from __future__ import annotations

from typing import Any, Callable, Mapping

import numpy as np

from forebay._structure import each_of


def arrays(batch: Any, convert: Callable[[np.ndarray[Any, Any]], Any]) -> Any:
    """The batch with every array of numbers converted; strings, ragged and sparse values are not changed. A dict, or a tuple where
    the batch is one; dicts and tuples in it stay."""
    def tensor(value: Any) -> Any:
        return convert(value) if isinstance(value, np.ndarray) and value.dtype != object else value
    return each_of(tensor, dict(batch) if isinstance(batch, Mapping) else getattr(batch, "tensors", batch))
