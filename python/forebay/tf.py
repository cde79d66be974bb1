# SPDX-License-Identifier: Apache-2.0
"""Batches as tensorflow tensors; imported only when asked for."""
from __future__ import annotations

from typing import Any, Iterator, Optional, Union

import numpy as np

from forebay._convert import values
from forebay._dataset import Epochs
from forebay._paths import Cache, Path
from forebay.errors import ConfigError
from forebay.values import Ragged, Sparse

try:
    import tensorflow  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError as missing:
    raise ImportError("forebay.tf needs the package tensorflow") from missing


def to(batch: Any) -> Any:
    """name → Tensor, RaggedTensor or SparseTensor, or a tuple of them for a TupleBatch. Strings are tensors of strings."""
    return values(batch, _tensor)


def dataset(pipe: Any, shard: Any = None, threads: Optional[int] = None, memory: Union[int, str, None] = None,
            prefetch: Optional[int] = None, index_dir: Optional[Path] = None, requests: Optional[int] = None,
            cache: Optional[Cache] = None) -> Any:
    """A tf.data.Dataset over the batches of a pipeline: name → Tensor, RaggedTensor or SparseTensor. Every iteration is the next
    epoch; the first is epoch 0.

        data = fb.tf.dataset(pipe)
        model.fit(data.map(lambda batch: (batch["x"], batch["label"])), epochs=3)

    pipe     a Pipeline. Its `epochs` does not count, and batches end with their epoch unless it says `straddle`
    others   as those of Pipeline.load

    Begins a loader for each iteration and one here, whose first batch tells types and shapes. `len` is that of an epoch where it is
    known without decoding. It has no state: a training that goes on exactly loops over a loader. Raises ConfigError for rows that
    are tuples or dicts, and for a pipeline without a batch.
    """
    epochs = Epochs(pipe, shard, threads, memory, prefetch, index_dir, requests, cache)
    signature = _signature(epochs)
    number = 0

    def generate() -> Iterator[Any]:
        nonlocal number
        begun = epochs.begin(number, None, 0, 1)
        number += 1
        with begun.loader:
            for batch in begun.epoch or ():
                yield {name: _value(value) for name, value in batch.items()}

    data = tensorflow.data.Dataset.from_generator(generate, output_signature=signature)
    try:
        return data.apply(tensorflow.data.experimental.assert_cardinality(epochs.steps()))
    except TypeError:  # counting needs decoding
        return data


def _value(value: Any) -> Any:
    if isinstance(value, Ragged):
        return tensorflow.RaggedTensor.from_nested_row_splits(value.values, value.nested_row_splits, validate=False)
    if isinstance(value, Sparse):
        return tensorflow.SparseTensor(value.indices, value.values, value.dense_shape)
    return value


def _tensor(value: Any) -> Any:
    return tensorflow.convert_to_tensor(value) if isinstance(value, np.ndarray) else _value(value)


def _signature(epochs: Epochs) -> Any:
    """The type of each tensor, by the first batch. Sizes that may differ between batches are unknown."""
    with epochs.loader() as loader:
        schema, batch = loader.schema, loader.peek()
    if batch is None:
        raise ConfigError("the pipeline has no batch, and tensorflow needs one to know types and shapes", code="config",
                          detail="failed_precondition")
    return {name: _spec(name, value, schema[name].shape if name in schema else None) for name, value in batch.items()}


def _spec(name: str, value: Any, row: Any) -> Any:
    if isinstance(value, Ragged):
        levels = len(value.nested_row_splits)
        return tensorflow.RaggedTensorSpec([None] * (levels + 1) + list(value.values.shape[1:]), _dtype(value.values), levels,
                                           value.row_splits.dtype)
    if isinstance(value, Sparse):
        return tensorflow.SparseTensorSpec([None] * len(value.dense_shape), _dtype(value.values))
    if not isinstance(value, np.ndarray):
        raise ConfigError(f"tensor '{name}' is no array; tensorflow takes rows that are flat", code="config", detail="invalid_argument")
    known = list(row) if row is not None and len(row) == value.ndim - 1 else [None] * (value.ndim - 1)
    return tensorflow.TensorSpec([None, *known], _dtype(value))


def _dtype(array: Any) -> Any:
    return tensorflow.string if array.dtype == object else tensorflow.as_dtype(array.dtype)
