# SPDX-License-Identifier: Apache-2.0
"""Elements of batches: their structure, their types, and sparse tensors among them."""
from __future__ import annotations

import itertools
import threading
from typing import Any, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from forebay._arguments import wrong_type
from forebay.queue import spec_of
from forebay.tf1.stream import refused
from forebay.values import Sparse

__all__ = ["Elements"]


class _Structure(NamedTuple):
    kind: type
    names: "tuple[Any, ...]"   # keys sorted by text, or places
    sparse: "tuple[bool, ...]"


class Elements:
    """Takes elements apart, into tensors of a queue, and puts batches together in the same structure.

    A sparse tensor waits here, and the queue has its number.
    """

    def __init__(self, *, many: bool = False, shapes: Any = None, dynamic_pad: bool = False) -> None:
        self.many, self._shapes, self._pads = many, shapes, dynamic_pad
        self._structure: Optional[_Structure] = None
        self._numbers = itertools.count()
        self._sparse: "dict[int, Sparse]" = {}
        self._lock = threading.Lock()
        for shape in [] if shapes is None else shapes.values() if isinstance(shapes, Mapping) else shapes:
            if shape is None:
                raise refused("shapes: a shape of None; the number of axes must be known")
            if not dynamic_pad and any(size is None for size in shape):
                raise refused(f"shapes: {list(shape)}; all sizes must be known, or set dynamic_pad=True")

    def take_apart(self, element: Any) -> "list[Any]":
        """The tensors of an element, by component."""
        structure, values = self._parts(element)
        with self._lock:
            if self._structure is None:
                self._structure = structure
            elif self._structure != structure:
                raise refused(f"all elements must have the same structure: found {_text(structure)}, and {_text(self._structure)} "
                              "before")
        return [self._keep(value) if sparse else value for value, sparse in zip(values, structure.sparse)]

    def _parts(self, element: Any) -> "tuple[_Structure, list[Any]]":
        if isinstance(element, Mapping):
            names = tuple(sorted(element, key=str))
            values, kind = [element[name] for name in names], dict
        elif isinstance(element, (list, tuple)):
            names, values = tuple(range(len(element))), list(element)
            kind = tuple if isinstance(element, tuple) else list
        else:
            raise wrong_type("an element", "a dict, a list or a tuple of tensors", element)
        if not values:
            raise refused("an element has no tensor; allowed is 1 or more")
        return _Structure(kind, names, tuple(isinstance(value, Sparse) for value in values)), values

    def _keep(self, value: Sparse) -> Any:
        if not self.many:
            return self._number(value)
        rows = value.dense_shape[0]
        out = np.zeros(rows, np.int64)
        first = np.searchsorted(value.indices[:, 0], np.arange(rows + 1))
        for row in range(rows):
            part = slice(first[row], first[row + 1])
            out[row] = self._number(Sparse(value.indices[part, 1:], value.values[part], value.dense_shape[1:]))
        return out

    def _number(self, value: Sparse) -> int:
        number = next(self._numbers)
        self._sparse[number] = value
        return number

    def components(self, values: "list[Any]") -> "list[dict[str, Any]]":
        """The components of a queue for such tensors."""
        found = []
        for value in values:
            dtype, shape = spec_of(value)
            if self.many:
                if not shape:
                    raise refused("enqueue_many: a tensor has no axis; the first axis is that of the examples")
                shape = shape[1:]
            sizes: "list[Optional[int]]" = [None if self._pads else size for size in shape]
            found.append({"kind": "fixed_len", "dtype": dtype, "shape": sizes})
        for component, shape in zip(found, self._declared(len(found))):
            component["shape"] = component["shape"] if shape is None else list(shape)
        return found

    def _declared(self, count: int) -> "Sequence[Any]":
        if self._shapes is None:
            return [None] * count
        shapes = self._shapes
        if isinstance(shapes, Mapping) and self._structure is not None:
            shapes = [shapes.get(name) for name in self._structure.names]
        if len(shapes) != count:
            raise refused(f"shapes: found {len(shapes)}, allowed is one for each of the {count} tensors of an element")
        return list(shapes)

    def put_together(self, tensors: "Sequence[Any]") -> Any:
        """A batch with the structure of the elements; of a list of one tensor that tensor."""
        assert self._structure is not None
        kind, names, sparse = self._structure
        parts = [self._joined(tensor) if is_sparse else tensor for tensor, is_sparse in zip(tensors, sparse)]
        if kind is dict:
            return dict(zip(names, parts))
        return parts[0] if len(parts) == 1 else kind(parts)

    def _joined(self, numbers: Any) -> Sparse:
        """One sparse tensor of several, with an axis before theirs."""
        parts = [self._sparse.pop(int(number)) for number in numbers]
        rank = len(parts[0].dense_shape) if parts else 0
        if any(len(part.dense_shape) != rank for part in parts):
            raise refused("sparse tensors of one batch must have as many axes each")
        indices = [np.insert(np.asarray(part.indices, np.int64).reshape(-1, rank), 0, row, axis=1) for row, part in enumerate(parts)]
        shape = tuple(max(part.dense_shape[axis] for part in parts) for axis in range(rank)) if parts else ()
        values = [part.values for part in parts]
        return Sparse(np.concatenate(indices) if parts else np.zeros((0, 1), np.int64),
                      np.concatenate(values) if parts else np.zeros(0, np.float32), (len(parts), *shape))


def _text(structure: _Structure) -> str:
    names = [f"{name}{' (sparse)' if sparse else ''}" for name, sparse in zip(structure.names, structure.sparse)]
    return f"a {structure.kind.__name__} of {', '.join(names)}"
