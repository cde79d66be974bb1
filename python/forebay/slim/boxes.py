# SPDX-License-Identifier: Apache-2.0
"""Item handlers for boxes and key points, of images and of the frames of videos."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

import numpy as np

from forebay.slim._values import data_fault, dense
from forebay.slim.handlers import ItemHandler, Keys
from forebay.values import Sparse

__all__ = ["BoundingBox", "BoundingBoxSequence", "KeypointsSequence", "NumBoxesSequence"]


class BoundingBox(ItemHandler):
    """Boxes [n, 4] out of a feature for each side, in the order of `keys`."""

    def __init__(self, keys: Optional[Sequence[str]] = None, prefix: str = "") -> None:
        sides = ["ymin", "xmin", "ymax", "xmax"] if keys is None else list(keys)
        if len(sides) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(sides)}")
        super().__init__([prefix + side for side in sides])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        tensors = [keys_to_tensors[key] for key in self._keys]
        sides = [np.asarray(side.values if isinstance(side, Sparse) else side) for side in tensors]
        if len({side.shape for side in sides}) > 1:
            counts = ", ".join(f"{key} {side.size}" for key, side in zip(self._keys, sides))
            raise data_fault(f"the sides of the boxes must have equal numbers of values; found {counts}")
        return np.stack(sides).T


class _PointsSequence(ItemHandler):
    """Several lists of a sequence example, side by side: [time, most in a frame, number of keys]."""

    def __init__(self, keys: Sequence[str], prefix: Optional[str], return_dense: bool, default_value: Any) -> None:
        super().__init__([(prefix or "") + key for key in keys])
        self._return_dense = return_dense
        self._default_value = default_value

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        lists = [_listed(key, keys_to_tensors[key]) for key in self._keys]
        shapes = {value.dense_shape for value in lists}
        if len(shapes) > 1:
            found = ", ".join(f"{key} {list(value.dense_shape)}" for key, value in zip(self._keys, lists))
            raise data_fault(f"the lists must have as many steps, and as many values in the longest one; found {found}")
        indices = np.concatenate([np.insert(value.indices, 2, place, axis=1) for place, value in enumerate(lists)])
        order = np.lexsort(indices.T[::-1])
        values = np.concatenate([value.values for value in lists])
        joined = Sparse(indices[order], values[order], (*lists[0].dense_shape, len(lists)))
        return dense(self._keys[0], joined, self._default_value) if self._return_dense else joined


class BoundingBoxSequence(_PointsSequence):
    """The boxes of each frame: an array [time, most boxes in a frame, 4] with `default_value` in its holes; with
    return_dense=False an fb.Sparse. The features are lists of kind var_len."""

    def __init__(self, keys: Optional[Sequence[str]] = None, prefix: Optional[str] = None, return_dense: bool = True,
                 default_value: float = -1.0) -> None:
        sides = ["ymin", "xmin", "ymax", "xmax"] if keys is None else list(keys)
        if len(sides) != 4:
            raise ValueError(f"BoundingBoxSequence expects 4 keys but got {len(sides)}")
        super().__init__(sides, prefix, return_dense, default_value)


class KeypointsSequence(_PointsSequence):
    """The key points of each frame: [time, most points in a frame, 2], as BoundingBoxSequence."""

    def __init__(self, keys: Optional[Sequence[str]] = None, prefix: Optional[str] = None, return_dense: bool = True,
                 default_value: float = -1.0) -> None:
        axes = ["y", "x"] if keys is None else list(keys)
        if len(axes) != 2:
            raise ValueError(f"KeypointsSequence expects 2 keys but got {len(axes)}")
        super().__init__(axes, prefix, return_dense, default_value)


class NumBoxesSequence(ItemHandler):
    """The number of boxes of each frame, int64 [time], from the first key.

    check_consistency    the other keys must have as many in each frame
    """

    def __init__(self, keys: Optional[Keys] = None, check_consistency: bool = True) -> None:
        if not keys:
            raise ValueError("keys must not be empty.")
        super().__init__(keys)
        self._check_consistency = check_consistency

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        counts = [_counts(_listed(key, keys_to_tensors[key])) for key in self._keys]
        for key, count in zip(self._keys, counts) if self._check_consistency else ():
            if not np.array_equal(count, counts[0]):
                raise data_fault(f"{key!r} has {count.tolist()} boxes in the frames, and {self._keys[0]!r} has "
                                 f"{counts[0].tolist()}")
        return counts[0]


def _counts(value: Sparse) -> Any:
    out = np.zeros(value.dense_shape[0], np.int64)
    np.maximum.at(out, value.indices[:, 0], value.indices[:, 1] + 1)
    return out


def _listed(key: str, value: Any) -> Sparse:
    if not isinstance(value, Sparse) or len(value.dense_shape) != 2:
        raise ValueError(f"{key!r}: tensor must be of type fb.Sparse with the axes time and box: a list of kind var_len")
    return value
