# SPDX-License-Identifier: Apache-2.0
"""Values of one record: arrays without a batch axis, and fb.Sparse; reshaped and made dense."""
from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from forebay.errors import DataError
from forebay.values import Sparse

#: Elements that a dense array may have whose shape a record says.
MAX_ELEMENTS = 1 << 28


def data_fault(message: str, detail: str = "invalid_argument") -> DataError:
    return DataError(message, code="data", detail=detail)


def reshaped(name: str, value: Any, shape: Sequence[int]) -> Any:
    """The array in another shape, one size of which may be -1."""
    try:
        return value.reshape([int(size) for size in shape])
    except (ValueError, OverflowError):
        raise data_fault(f"{name}: {value.size} values of shape {list(value.shape)} cannot get shape {list(map(int, shape))}"
                         ) from None


def sparse_reshaped(name: str, value: Sparse, shape: Sequence[int]) -> Sparse:
    """The same values at the same places of another shape, in row-major order."""
    sizes = [int(size) for size in shape]
    total = _product(value.dense_shape)
    known = _product([size for size in sizes if size != -1])
    if sizes.count(-1) == 1 and known > 0 and total % known == 0:
        sizes[sizes.index(-1)] = total // known
    if any(size < 0 for size in sizes) or _product(sizes) != total:
        raise data_fault(f"{name}: {total} values of shape {list(value.dense_shape)} cannot get shape {list(map(int, shape))}")
    if len(value.indices) == 0:
        return Sparse(np.zeros((0, len(sizes)), np.int64), value.values, sizes)
    flat = np.ravel_multi_index(tuple(value.indices.T), value.dense_shape)
    return Sparse(np.stack(np.unravel_index(flat, sizes), axis=1).astype(np.int64), value.values, sizes)


def dense(name: str, value: Any, default: Any) -> Any:
    """The array of a sparse value, `default` where it has none; an array as it is. Indices must be in row-major order,
    each once, inside the shape."""
    if not isinstance(value, Sparse):
        return value
    text = value.values.dtype == object
    if text and not isinstance(default, (bytes, str)):
        raise TypeError(f"{name}: default_value must be text for a tensor of strings, as ''; found {default!r}")
    check_indices(name, value, ordered=True)
    if _product(value.dense_shape) > MAX_ELEMENTS:
        raise data_fault(f"{name}: a dense array of shape {list(value.dense_shape)} has more than {MAX_ELEMENTS} elements",
                         "resource_exhausted")
    return value.to_dense(default.encode() if isinstance(default, str) else default)


def check_indices(name: str, value: Sparse, ordered: bool = False) -> None:
    indices, shape = value.indices, np.array(value.dense_shape, np.int64)
    if len(indices) != len(value.values):
        raise data_fault(f"{name}: {len(indices)} indices for {len(value.values)} values")
    if indices.shape[1] != len(shape):
        raise data_fault(f"{name}: indices of {indices.shape[1]} axes for a dense shape of {len(shape)}: {shape.tolist()}")
    if np.any(shape < 0):
        raise data_fault(f"{name}: a dense shape with a size below 0: {shape.tolist()}")
    outside = np.flatnonzero(np.any((indices < 0) | (indices >= shape), axis=1))
    if outside.size:
        raise data_fault(f"{name}: index {indices[outside[0]].tolist()} is outside of shape {shape.tolist()}")
    if ordered and len(indices) > 1:
        place = first_disorder(indices)
        if place is not None:
            raise data_fault(f"{name}: index {indices[place].tolist()} comes after {indices[place - 1].tolist()}; the indices "
                             "of a dense result must be in row-major order, each once")


def first_disorder(indices: Any) -> Optional[int]:
    """The first row that is not greater than the one before it."""
    steps = np.sign(np.diff(indices, axis=0))
    first = np.argmax(steps != 0, axis=1)
    wrong = np.flatnonzero(steps[np.arange(len(steps)), first] <= 0)
    return int(wrong[0]) + 1 if wrong.size else None


def _product(sizes: Sequence[int]) -> int:
    out = 1
    for size in sizes:
        out *= int(size)
    return out
