# SPDX-License-Identifier: Apache-2.0
"""Item handlers: from the tensors of one record to one item of a data set."""
from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from forebay.slim._values import check_indices, data_fault, dense, reshaped, sparse_reshaped
from forebay.values import Sparse

__all__ = ["BackupHandler", "ItemHandler", "ItemHandlerCallback", "LookupTensor", "SparseTensor", "Tensor"]

Keys = Union[str, Sequence[str]]


class ItemHandler:
    """Makes one item out of the tensors of some features. Subclasses override `tensors_to_item`."""

    def __init__(self, keys: Keys) -> None:
        self._keys = [keys] if isinstance(keys, str) else list(keys)

    @property
    def keys(self) -> list[str]:
        """The names of the features that it takes."""
        return self._keys

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The item. `keys_to_tensors` has an array without a batch axis, or fb.Sparse, for each key."""
        raise NotImplementedError


class ItemHandlerCallback(ItemHandler):
    """Makes the item with a function of the program: func({key: tensor})."""

    def __init__(self, keys: Keys, func: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._func({key: keys_to_tensors[key] for key in self._keys})


class Tensor(ItemHandler):
    """One feature as an array.

    tensor_key       the feature
    shape_keys       features that hold the shape: one with all sizes, or one for each axis; all scalars, or all [1], or all
                     var_len
    shape            the shape; not together with shape_keys
    default_value    fills the holes when a sparse feature becomes an array; text for features of strings
    """

    def __init__(self, tensor_key: str, shape_keys: Optional[Keys] = None, shape: Optional[Sequence[int]] = None,
                 default_value: Any = 0) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        self.shape_keys = [shape_keys] if isinstance(shape_keys, str) else list(shape_keys or [])
        self.tensor_key, self.shape = tensor_key, shape
        self._default_value = default_value
        super().__init__([tensor_key, *self.shape_keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        value, shape = keys_to_tensors[self.tensor_key], self.shape
        if self.shape_keys:
            shape = self._stored_shape(keys_to_tensors)
        if isinstance(value, Sparse):
            if shape is not None:
                value = sparse_reshaped(self.tensor_key, value, shape)
            return dense(self.tensor_key, value, self._default_value)
        return value if shape is None else reshaped(self.tensor_key, value, shape)

    def _stored_shape(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        sizes = [np.asarray(dense(key, keys_to_tensors[key], 0)) for key in self.shape_keys]
        if len({size.shape for size in sizes}) > 1:
            shapes = ", ".join(f"{key} {list(size.shape)}" for key, size in zip(self.shape_keys, sizes))
            raise ValueError(f"the shape keys of {self.tensor_key!r} must have one shape; found {shapes}")
        return np.stack(sizes).reshape(-1)


class LookupTensor(Tensor):
    """A feature of words as their numbers.

    table    a list of words (a word's number is its place, that of an unknown one -1), a dict from words to numbers, or an
             object whose `lookup(array)` returns the numbers
    """

    def __init__(self, tensor_key: str, table: Any, shape_keys: Optional[Keys] = None, shape: Optional[Sequence[int]] = None,
                 default_value: Any = "") -> None:
        super().__init__(tensor_key, shape_keys, shape, default_value)
        self._lookup = table.lookup if hasattr(table, "lookup") else _Table(table).lookup

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._lookup(super().tensors_to_item(keys_to_tensors))


class _Table:
    def __init__(self, words: Any) -> None:
        pairs = words.items() if isinstance(words, Mapping) else ((word, place) for place, word in enumerate(words))
        self._numbers: dict[Any, int] = {}
        for word, number in pairs:
            self._numbers.setdefault(word.encode() if isinstance(word, str) else word, int(number))

    def lookup(self, words: Any) -> Any:
        array = np.asarray(words)
        flat = [self._numbers.get(word, -1) for word in array.reshape(-1).tolist()]
        return np.array(flat, np.int64).reshape(array.shape)


class SparseTensor(ItemHandler):
    """A sparse tensor out of a feature of ids and one of values; the ids are the indices along the last axis.

    indices_key, values_key    the features
    shape_key, shape           the dense shape; left out: [largest id + 1]
    densify                    returns an array, `default_value` where there is no value; the ids must then be in order
    """

    def __init__(self, indices_key: Optional[str] = None, values_key: Optional[str] = None, shape_key: Optional[str] = None,
                 shape: Optional[Sequence[int]] = None, densify: bool = False, default_value: Any = 0) -> None:
        self._indices_key = indices_key or "indices"
        self._values_key = values_key or "values"
        self._shape_key = shape_key
        self.shape, self.densify = shape, densify
        self._default_value = default_value
        super().__init__([self._indices_key, self._values_key, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        ids, values = keys_to_tensors[self._indices_key], keys_to_tensors[self._values_key]
        for key, value in ((self._indices_key, ids), (self._values_key, values)):
            if not isinstance(value, Sparse):
                raise TypeError(f"feature {key!r}: SparseTensor takes features of kind var_len, found an array")
        if len(ids.values) != len(values.values):
            raise data_fault(f"{self._values_key}: {len(ids.values)} indices for {len(values.values)} values")
        last = ids.values.astype(np.int64).reshape(-1, 1)
        value = Sparse(np.concatenate([ids.indices[:, :-1], last], axis=1), values.values,
                       self._dense_shape(keys_to_tensors, ids, last))
        if not self.densify:
            check_indices(self._values_key, value)
            return value
        return dense(self._values_key, value, self._default_value)

    def _dense_shape(self, keys_to_tensors: Mapping[str, Any], ids: Sparse, last: Any) -> Any:
        if self._shape_key:
            return np.asarray(dense(self._shape_key, keys_to_tensors[self._shape_key], 0)).reshape(-1)
        if self.shape is not None:
            return self.shape
        return [*ids.dense_shape[:-1], int(last.max(initial=-1)) + 1]


class BackupHandler(ItemHandler):
    """The item of `handler`; where that has no elements, the one of `backup`."""

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for name, one in (("Primary handler", handler), ("Backup handler", backup)):
            if not isinstance(one, ItemHandler):
                raise ValueError(f"{name} is of type {type(one).__name__} instead of ItemHandler")
        self._handler, self._backup = handler, backup
        super().__init__(list(dict.fromkeys([*handler.keys, *backup.keys])))

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        size = len(item.values) if isinstance(item, Sparse) else np.size(item)
        return item if size else self._backup.tensors_to_item(keys_to_tensors)
