# SPDX-License-Identifier: Apache-2.0
"""What sources give, as far as they tell before they give an element: sources that are joined must give the same."""
from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from forebay.queue import Queue
from forebay.tf1.stream import Stream, Tensor, is_structure, refused
from forebay.values import Sparse

__all__ = ["check_alike"]


class _Element(NamedTuple):
    source: str                    # for messages
    kind: type                     # dict, list or tuple
    tensors: "dict[Any, Tensor]"   # by key or place


def check_alike(entries: "Sequence[Any]", many: bool, any_size: bool) -> None:
    """Raises ConfigError with the names of two sources whose elements are known to differ.

    many: the first axis of the tensors counts elements. any_size: sizes may differ, or are declared elsewhere.
    """
    known = [element for place, entry in enumerate(entries) if (element := _element_of(entry, f"tensors_list[{place}]"))]
    for element in known[1:]:
        first = known[0]
        if element.kind is not first.kind or element.tensors.keys() != first.tensors.keys():
            raise refused(f"tensors_list: all sources must have the same tensors; found {_named(element)} in {element.source}, and "
                          f"{_named(first)} in {first.source}")
        for key, tensor in element.tensors.items():
            if not _fits(tensor, first.tensors[key], many, any_size):
                raise refused(f"tensors_list: all sources must have the same tensors; {element.source} gives {_text(key, tensor)}, "
                              f"and {first.source} gives {_text(key, first.tensors[key])}")


def _named(element: _Element) -> str:
    if element.kind is dict:
        return f"the keys {sorted(map(str, element.tensors))}"
    return f"a {element.kind.__name__} of {len(element.tensors)} tensor{'' if len(element.tensors) == 1 else 's'}"


def _text(key: Any, tensor: Tensor) -> str:
    shape = "" if tensor.shape is None else str(list(tensor.shape))
    return f"{key!r} as {tensor.dtype or 'values'}{shape}"


def _fits(one: Tensor, other: Tensor, many: bool, any_size: bool) -> bool:
    if one.dtype is not None and other.dtype is not None and _group(one.dtype) != _group(other.dtype):
        return False
    if one.shape is None or other.shape is None:
        return True
    if len(one.shape) != len(other.shape):
        return False
    pairs = list(zip(one.shape, other.shape))[1 if many else 0:]
    return any_size or all(a == b or a is None or b is None for a, b in pairs)


def _group(dtype: str) -> str:
    """Tensors of one group go into one queue."""
    return "string" if dtype == "string" else "f" if "float" in dtype else "i"


def _element_of(entry: Any, name: str) -> Optional[_Element]:
    """The element of a source; None where only a call of the source tells."""
    if isinstance(entry, Mapping):
        return _Element(_source(name, entry.values()), dict, {key: _tensor_of(part) for key, part in entry.items()})
    if isinstance(entry, (list, tuple)) and is_structure(entry):
        return _Element(_source(name, entry), tuple if isinstance(entry, tuple) else list,
                        {place: _tensor_of(part) for place, part in enumerate(entry)})
    if isinstance(entry, Stream) and entry.tensors is not None:
        return _Element(f"'{entry.name}'", list, dict(enumerate(entry.tensors)))
    if isinstance(entry, Queue):
        tensors = [Tensor(dtype, shape) for _, dtype, shape in entry.components]
        names = entry._names
        return _Element(f"queue '{entry.name}'", tuple if names is None else dict, dict(zip(names or range(len(tensors)), tensors)))
    if isinstance(entry, (list, tuple)) and entry:
        return _first_of(entry[0], name)
    return None


def _first_of(element: Any, name: str) -> Optional[_Element]:
    if isinstance(element, Mapping):
        return _Element(name, dict, {key: _tensor(value) for key, value in element.items()})
    if isinstance(element, (list, tuple)):
        return _Element(name, tuple if isinstance(element, tuple) else list,
                        {place: _tensor(value) for place, value in enumerate(element)})
    return None


def _tensor(value: Any) -> Tensor:
    """What a value tells. Of Python's numbers the type is open: 1 may stand for 1.0."""
    if isinstance(value, Sparse):
        return Tensor(None, None)
    if isinstance(value, (str, bytes)):
        return Tensor("string", ())
    if isinstance(value, (np.ndarray, np.generic)):
        return Tensor("string" if value.dtype.kind in "SUO" else value.dtype.name, value.shape)
    return Tensor(None, () if isinstance(value, (bool, int, float)) else None)


def _tensor_of(source: Any) -> Tensor:
    """The tensor that a part of a structure gives."""
    if isinstance(source, Stream) and source.tensor is not None:
        return source.tensor
    return Tensor(None, None)


def _source(name: str, parts: Any) -> str:
    names = [part.name for part in parts if isinstance(part, (Stream, Queue))]
    return f"{name} ({', '.join(map(repr, names))})" if names else name
