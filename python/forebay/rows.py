# SPDX-License-Identifier: Apache-2.0
"""Rows that a program holds: arrays as a source."""
from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from forebay import _core
from forebay._arguments import wrong_type
from forebay.builder import Pipeline
from forebay.errors import ConfigError

__all__ = ["arrays"]

_NUMBERS = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
            "float32", "float64", "complex64", "complex128"}


def arrays(columns: Mapping[str, Any], name: str = "arrays") -> Pipeline:
    """A pipeline over arrays of equal length: row i of every batch tensor is `columns[tensor][i]` for one i.

    columns    NumPy arrays, or what np.asarray takes: the first axis counts the rows. Numbers of any stride, alignment and
               byte order are read where they lie; nothing is copied before a batch is made, so they must not change while a
               loader reads them. Strings (dtype S, U or object, of bytes or str; str as UTF-8) are copied once.
    name       stands for a file name in record keys, origins and errors

    The rows can be shuffled, also globally (`.shuffle(global_=True)`), sharded and restarted like records of files.
    A document names such arrays as {"source": {"arrays": {"bind": NAME}}} and takes them from
    `forebay.load(document, bind={NAME: columns})`. Raises ConfigError with every fault.
    """
    return Pipeline({"source": {"arrays": {"bind": name}}, "steps": []}, (), {name: columns})


def bound_objects(bind: Mapping[str, Any]) -> "dict[str, _core.Rows]":
    """The objects of `bind` as the core takes them."""
    if not isinstance(bind, Mapping):
        raise wrong_type("bind", "a dict of objects by name", bind)
    return {name: _core.array_rows(_columns(name, value), str(name)) for name, value in bind.items()}


def _columns(name: str, value: Any) -> "list[tuple[object, ...]]":
    if not isinstance(value, Mapping):
        raise ConfigError(f"bind['{name}'] must be a dict of arrays, found {type(value).__name__}", code="config",
                          detail="invalid_argument")
    return [_column(str(column), array) for column, array in value.items()]


def _column(name: str, value: Any) -> "tuple[object, ...]":
    try:
        array = np.asarray(value)
    except ValueError as problem:
        raise _refused(name, f"it is no array: {problem}") from None
    if array.dtype.kind in "SUO":
        return _strings(name, array)
    if array.dtype.name not in _NUMBERS:
        raise _refused(name, f"elements of type {array.dtype} cannot be delivered; allowed are {', '.join(sorted(_NUMBERS))} "
                             "and strings (an array of times becomes numbers by .view('int64'))")
    swapped = not array.dtype.isnative
    if array.dtype.name == "bfloat16":
        return name, "bfloat16", array.view(np.uint16), swapped
    return name, array.dtype.name, array, swapped


def _strings(name: str, array: "np.ndarray[Any, Any]") -> "tuple[object, ...]":
    texts = [text.encode() if isinstance(text, str) else text for text in array.reshape(-1).tolist()]
    for number, text in enumerate(texts):
        if not isinstance(text, (bytes, bytearray)):
            raise _refused(name, f"element {number} is {type(text).__name__}; elements of an object array are bytes or str")
    splits = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=splits[1:])
    return name, "string", b"".join(texts), splits, array.shape


def _refused(name: str, what: str) -> ConfigError:
    return ConfigError(f"array '{name}': {what}", code="config", detail="invalid_argument")
