# SPDX-License-Identifier: Apache-2.0
"""Decoders: from the bytes of one record to the items of a data set."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from forebay import _core
from forebay._arguments import bytes_of
from forebay.decoding import function
from forebay.features import Feature
from forebay.slim.handlers import ItemHandler
from forebay.values import Sparse

__all__ = ["DataDecoder", "TFExampleDecoder", "TFSequenceExampleDecoder"]


class DataDecoder:
    """What a Dataset needs of its decoder."""

    def list_items(self) -> list[str]:
        """The names of the items."""
        raise NotImplementedError

    def decode(self, data: Any, items: Optional[Sequence[str]] = None) -> list[Any]:
        """The items of one record, in the order of `items`; None or an empty list: all of them."""
        raise NotImplementedError


class _HandlerDecoder(DataDecoder):
    """Decodes all features of a record once, and gives them to the handlers of the items."""

    def __init__(self, items_to_handlers: Mapping[str, ItemHandler], keys: Sequence[str], parse: _core.DecodeFunction) -> None:
        self._handlers = dict(items_to_handlers)
        self._keys = frozenset(keys)
        self._parse = parse

    def list_items(self) -> list[str]:
        return list(self._handlers)

    def decode(self, data: Any, items: Optional[Sequence[str]] = None) -> list[Any]:
        """The items of one record, in the order of `items`; None or an empty list: all, as they were declared.

        Raises KeyError for an item without a handler and for a feature that a handler names and nobody describes,
        DataError for a record that cannot be decoded.
        """
        wanted = [(item, self._handlers[item]) for item in items or self._handlers]
        for _, handler in wanted:
            for key in handler.keys:
                if key not in self._keys:
                    raise KeyError(key)
        batch = self._parse([bytes_of("data", data)])
        tensors = {key: _one(value) for key, value in batch.items()}
        return [handler.tensors_to_item({key: tensors[key] for key in handler.keys}) for _, handler in wanted]


class TFExampleDecoder(_HandlerDecoder):
    """Decodes tf.train.Example messages.

    keys_to_features     the features by key, as `fb.fixed`, `fb.var_len`, … describe them; handlers get those of kind
                         var_len and sparse as fb.Sparse
    items_to_handlers    a handler for each item
    """

    def __init__(self, keys_to_features: Mapping[str, Feature], items_to_handlers: Mapping[str, ItemHandler]) -> None:
        self._features = dict(keys_to_features)
        features = {key: _single(feature) for key, feature in keys_to_features.items()}
        super().__init__(items_to_handlers, list(features), function("example", {"features": features}))

    def handler(self, item: str) -> ItemHandler:
        """The handler of an item."""
        return self._handlers[item]

    def feature(self, key: str) -> dict[str, Any]:
        """The description of a feature."""
        return dict(self._features[key])


class TFSequenceExampleDecoder(_HandlerDecoder):
    """Decodes tf.train.SequenceExample messages: features of the whole sequence, and lists with a feature for each step.
    As TFExampleDecoder."""

    def __init__(self, keys_to_context_features: Mapping[str, Feature], keys_to_sequence_features: Mapping[str, Feature],
                 items_to_handlers: Mapping[str, ItemHandler]) -> None:
        both = [key for key in keys_to_context_features if key in keys_to_sequence_features]
        if both:
            raise ValueError(f"Context and sequence keys are not unique: {', '.join(map(repr, both))}")
        options = {"context": {key: _single(feature) for key, feature in keys_to_context_features.items()},
                   "lists": {key: _single(feature) for key, feature in keys_to_sequence_features.items()}}
        super().__init__(items_to_handlers, [*options["context"], *options["lists"]], function("sequence_example", options))


#: How the values of one record come: in one array, or sparse.
_AS = {"var_len": "sparse", "fixed_len_sequence": "padded"}


def _single(feature: Feature) -> dict[str, Any]:
    kind = feature.get("kind", "fixed_len")
    return {**feature, "as": _AS[kind]} if kind in _AS else dict(feature)


def _one(value: Any) -> Any:
    """The only row of a batch: without its batch axis, also where that leaves no axis."""
    if isinstance(value, Sparse):
        return Sparse(value.indices[:, 1:], value.values, value.dense_shape[1:])
    return value[0, ...]
