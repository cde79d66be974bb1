# SPDX-License-Identifier: Apache-2.0
"""Batches as trees of torch and of JAX, which take them apart and put them together again (docs/adr/0046).

A package that is imported already is told at once, another one when it has been imported.
"""
from __future__ import annotations

import sys
from typing import Any, Callable, Optional, Sequence

from forebay._core import Batch
from forebay.values import Ragged, Sparse

#: Makes the children and the rest of an object, which can be hashed; and the object of the rest and the children.
Flatten = Callable[[Any], "tuple[list[Any], Any]"]
Unflatten = Callable[[Any, "Sequence[Any]"], Any]


def _mapped(names: Any, children: "Sequence[Any]") -> Any:
    from forebay.mapped import MappedBatch
    return MappedBatch(zip(names, children))


def _tuple(kind: Any, children: "Sequence[Any]") -> Any:
    from forebay.mapped import TupleBatch
    return TupleBatch(children if kind is None else kind(*children))


def _types() -> "list[tuple[type, Flatten, Unflatten]]":
    from forebay.mapped import MappedBatch, TupleBatch
    return [
        (Batch, lambda batch: (list(batch.values()), tuple(batch)), lambda names, children: Batch(zip(names, children))),
        (MappedBatch, lambda batch: (list(batch.values()), tuple(batch)), _mapped),
        (TupleBatch, lambda batch: (list(batch), batch._kind), _tuple),
        (Ragged, lambda ragged: ([ragged.values, *ragged.nested_row_splits], None),
         lambda _, children: Ragged._of(children[0], list(children[1:]))),
        (Sparse, lambda sparse: ([sparse.indices, sparse.values], sparse.dense_shape),
         lambda shape, children: Sparse._of(children[0], children[1], shape)),
    ]


def _tell_torch(module: Any) -> None:
    register = getattr(module, "register_pytree_node", None) or module._register_pytree_node
    for kind, flatten, unflatten in _types():
        register(kind, flatten, lambda children, rest, unflatten=unflatten: unflatten(rest, children))


def _tell_jax(module: Any) -> None:
    for kind, flatten, unflatten in _types():
        module.register_pytree_node(kind, flatten, unflatten)


class _WhenImported:
    """Finds no module. Makes the modules that it waits for tell their importer when they are complete."""

    def __init__(self, waiting: "dict[str, Callable[[Any], None]]") -> None:
        self._waiting = waiting

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[Any]:
        tell = self._waiting.pop(name, None)
        if tell is None:
            return None
        if not self._waiting and self in sys.meta_path:
            sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                _after(spec.loader, tell)
                return spec
        return None


def _after(loader: Any, tell: Callable[[Any], None]) -> None:
    """Lets the loader of one module call `tell` with it after its code has run."""
    execute = getattr(loader, "exec_module", None)
    if execute is None:
        return

    def run(module: Any) -> None:
        del loader.exec_module
        execute(module)
        tell(module)

    try:
        loader.exec_module = run
    except AttributeError:  # a loader of another kind; importing forebay.torch or forebay.jax tells the package, too
        pass


def tell(name: str) -> None:
    """Tells the package whose module of trees this is, once, if the module is imported."""
    module = sys.modules.get(name)
    if module is not None and _PACKAGES.get(name) is not None:
        _PACKAGES.pop(name)(module)


_PACKAGES: "dict[str, Callable[[Any], None]]" = {"torch.utils._pytree": _tell_torch, "jax.tree_util": _tell_jax}


def _begin() -> None:
    for name in list(_PACKAGES):
        tell(name)
    if _PACKAGES:
        waiting = {name: (lambda _, name=name: tell(name)) for name in _PACKAGES}
        sys.meta_path.insert(0, _WhenImported(waiting))  # type: ignore[arg-type]


_begin()
