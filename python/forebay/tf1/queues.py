# SPDX-License-Identifier: Apache-2.0
"""The queues of TensorFlow 1: `forebay.Queue` with the arguments in their order there."""
from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import numpy as np

from forebay._arguments import wrong_type
from forebay.errors import ConfigError
from forebay.queue import Queue

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue"]

_Dtypes = Union[str, Sequence[Any]]
_Shapes = Optional[Sequence[Any]]
_Names = Union[str, Sequence[str], None]


def FIFOQueue(capacity: int, dtypes: _Dtypes, shapes: _Shapes = None, names: _Names = None, shared_name: Optional[str] = None,
              name: str = "fifo_queue") -> Queue:
    """A queue whose oldest element comes first. shapes: one for each dtype, all sizes known; None: elements come out one at a time.
    names: elements are dicts by these names. shared_name is not used: a queue is shared by passing it on."""
    return Queue(_components(dtypes, shapes, names), capacity, name=name)


def RandomShuffleQueue(capacity: int, min_after_dequeue: int, dtypes: _Dtypes, shapes: _Shapes = None, names: _Names = None,
                       seed: Optional[int] = None, shared_name: Optional[str] = None, name: str = "random_shuffle_queue") -> Queue:
    """A queue whose elements come in random order; while it is open, `min_after_dequeue` of them stay in it."""
    return Queue(_components(dtypes, shapes, names), capacity, kind="random_shuffle", min_after_dequeue=min_after_dequeue,
                 seed=seed, name=name)


def PaddingFIFOQueue(capacity: int, dtypes: _Dtypes, shapes: _Shapes, names: _Names = None, shared_name: Optional[str] = None,
                     name: str = "padding_fifo_queue") -> Queue:
    """A queue whose shapes may have sizes of None; batches are padded."""
    if shapes is None:
        raise ConfigError("shapes: a PaddingFIFOQueue needs a list of shapes, one for each dtype; a size may be None",
                          code="config", detail="invalid_argument")
    return Queue(_components(dtypes, shapes, names), capacity, kind="padding_fifo", name=name)


def PriorityQueue(capacity: int, types: _Dtypes, shapes: _Shapes = None, names: _Names = None, shared_name: Optional[str] = None,
                  name: str = "priority_queue") -> Queue:
    """A queue whose elements begin with a priority, an int64, which `types` leaves out; the smallest one comes first."""
    rest = _components(types, shapes, names)
    first = {"kind": "fixed_len", "dtype": "int64", "shape": []}
    return Queue({"priority": first, **rest} if isinstance(rest, dict) else [first, *rest], capacity, kind="priority", name=name)


def _components(dtypes: _Dtypes, shapes: _Shapes, names: _Names) -> Any:
    kinds = [_dtype(kind) for kind in ([dtypes] if isinstance(dtypes, (str, type, np.dtype)) else dtypes)]
    sizes: "Sequence[Any]" = [None] * len(kinds) if shapes is None else shapes
    if len(kinds) == 1 and shapes is not None and not any(isinstance(each, (list, tuple)) for each in shapes):
        sizes = [shapes]   # one shape, not a list of them
    if len(sizes) != len(kinds):
        raise ConfigError(f"shapes: found {len(sizes)}, allowed is one for each of the {len(kinds)} dtypes", code="config",
                          detail="invalid_argument")
    out = [kind if shape is None else {"kind": "fixed_len", "dtype": kind, "shape": list(shape)}
           for kind, shape in zip(kinds, sizes)]
    if names is None:
        return out
    called = [names] if isinstance(names, str) else list(names)
    if len(called) != len(out):
        raise ConfigError(f"names: found {len(called)}, allowed is one for each of the {len(out)} dtypes", code="config",
                          detail="invalid_argument")
    return dict(zip(called, out))


def _dtype(kind: Any) -> str:
    if isinstance(kind, str):
        return kind
    if kind in (bytes, str):
        return "string"
    try:
        return np.dtype(kind).name
    except TypeError:
        raise wrong_type("dtypes", "names of dtypes, such as \"int64\" and \"string\"", kind) from None
