# SPDX-License-Identifier: Apache-2.0
"""A data set as a pipeline, so that the engine does all of the work."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

import numpy as np

import forebay
from forebay.errors import ConfigError
from forebay.slim.dataset import Dataset
from forebay.slim.decoders import TFExampleDecoder
from forebay.slim.handlers import ItemHandler, LookupTensor, SparseTensor, Tensor
from forebay.slim.image import Image
from forebay.slim.reading import get_data_files

__all__ = ["pipeline"]


def pipeline(dataset: Dataset, items: Optional[Sequence[str]] = None, *,
             reader_kwargs: Optional[Mapping[str, Any]] = None) -> Any:
    """The items of a data set as a pipeline, whose tensors have their names; add `.shuffle`, `.batch` and so on.

    It takes the handlers whose shapes are known without a record: Tensor without `shape_keys`, SparseTensor with `shape`, and
    Image of encoded images, whose batches need images of one size. A var_len feature comes as fb.Ragged, or padded with `.batch(pad=True)`. The engine decodes on all
    threads, and restarts exactly. For other handlers use DatasetDataProvider; ConfigError names them.
    """
    decoder = dataset.decoder
    if not isinstance(decoder, TFExampleDecoder):
        raise _refused(f"a pipeline needs a TFExampleDecoder, found {type(decoder).__name__}")
    lowering = _Lowering(decoder)
    for item in items or decoder.list_items():
        lowering.add(item)
    reader = dataset.reader or forebay.tfrecord
    pipe = reader(get_data_files(dataset.data_sources), **dict(reader_kwargs or {})).example(lowering.features)
    for name, options in lowering.steps:
        pipe = getattr(pipe, name)(**options)
    return pipe


class _Lowering:
    """The features and the steps that make the items."""

    def __init__(self, decoder: TFExampleDecoder) -> None:
        self._decoder = decoder
        self.features: dict[str, dict[str, Any]] = {}
        self.steps: list[tuple[str, dict[str, Any]]] = []

    def add(self, item: str) -> None:
        handler = self._decoder.handler(item)
        if type(handler) is Tensor:
            self._tensor(item, handler)
        elif type(handler) is SparseTensor:
            self._sparse(item, handler)
        elif type(handler) is Image:
            self._image(item, handler)
        else:
            hint = "; look the words up in `map`" if isinstance(handler, LookupTensor) else ""
            raise self._no(item, handler, f"there is no step for it{hint}")

    def _feature(self, item: str, key: str) -> dict[str, Any]:
        return {**self._decoder.feature(key), "key": key}

    def _tensor(self, item: str, handler: Tensor) -> None:
        if handler.shape_keys:
            raise self._no(item, handler, "its shape is known with the record only")
        self.features[item] = self._feature(item, handler.tensor_key)
        if handler.shape is not None:
            self.steps.append(("reshape", {"tensor": item, "shape": [int(size) for size in handler.shape]}))

    def _sparse(self, item: str, handler: SparseTensor) -> None:
        if handler.shape is None or len(handler.shape) != 1 or handler.densify:
            raise self._no(item, handler, "it needs a `shape` of one axis, and no `densify`")
        indices, values = handler.keys[:2]
        self.features[item] = forebay.sparse(self._decoder.feature(values)["dtype"], index_key=indices, value_key=values,
                                             size=int(handler.shape[0]), already_sorted=True)

    def _image(self, item: str, handler: Image) -> None:
        if handler.repeated or handler.channels not in (1, 3):
            raise self._no(item, handler, "only single images with 1 or 3 channels can be lowered")
        self.features[item] = self._feature(item, handler.keys[0])
        size = {"size": list(handler.shape[:2])} if handler.shape is not None and len(handler.shape) == 3 else {}
        self.steps.append(("decode_image", {"tensor": item, "channels": handler.channels, "orientation": False,
                                            "dct": handler.dct, **size}))
        if handler.dtype != np.uint8:
            self.steps.append(("cast", {"tensor": item, "dtype": handler.dtype.name}))

    @staticmethod
    def _no(item: str, handler: ItemHandler, reason: str) -> ConfigError:
        return _refused(f"item {item!r}: {type(handler).__name__} cannot be part of a pipeline: {reason}; use "
                        "DatasetDataProvider")


def _refused(message: str) -> ConfigError:
    return ConfigError(message, code="config", detail="invalid_argument")
