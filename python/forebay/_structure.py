# SPDX-License-Identifier: Apache-2.0
"""Nested dicts and tuples of rows: the names that their tensors have in a plan, and how batches get the same structure.

`{"obs": {"image": a, "pose": (b, c)}, "y": d}` has the tensors `obs.image`, `obs.pose.0`, `obs.pose.1` and `y`. A tree is the
structure with the name of a tensor at each of its ends.
"""
from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Optional

from forebay.errors import ConfigError
from forebay.values import Ragged

#: A dict of trees, a tuple of trees, or the name of a tensor.
Tree = Any


def is_part(value: Any) -> bool:
    """Whether a value of a row is a dict or a tuple of tensors. A tuple of numbers, or of strings, is one tensor."""
    if not isinstance(value, tuple):
        return isinstance(value, Mapping)
    if hasattr(value, "_fields") or any(is_part(each) or _is_array(each) for each in value):
        return True
    return len({isinstance(each, (str, bytes)) for each in value}) > 1


def _is_array(value: Any) -> bool:
    return isinstance(value, Ragged) or getattr(value, "ndim", 0) > 0


def is_feature_part(value: Any) -> bool:
    """Whether a value of `columns` or `output` is a dict or a tuple of columns: fb.fixed(…) is a dict that names its dtype."""
    if isinstance(value, Mapping):
        return "dtype" not in value or isinstance(value["dtype"], (Mapping, tuple))
    return isinstance(value, tuple)


def tree_of(value: Any, what: str, part: Callable[[Any], bool] = is_part) -> Tree:
    """The tree of a row, of arrays or of columns, whose outermost dict or tuple `value` is. Raises ConfigError."""
    tree = _tree(value, "", what, part)
    seen: "set[str]" = set()
    for name in names_of(tree):
        if name in seen:
            raise _refused(f"{what}: two tensors would have the name {name!r}; give one of them another name")
        seen.add(name)
    return tree


def _tree(value: Any, path: str, what: str, part: Callable[[Any], bool]) -> Tree:
    if path and not part(value):
        return path
    if path and not value:
        raise _refused(f"{what}: {path!r} is an empty {type(value).__name__}, which has no tensor; leave it out")
    before = f"{path}." if path else ""
    if isinstance(value, Mapping):
        return {str(key): _tree(each, f"{before}{key}", what, part) for key, each in value.items()}
    names = getattr(value, "_fields", range(len(value)))
    return _as(value, [_tree(each, f"{before}{name}", what, part) for name, each in zip(names, value)])


def _as(example: Any, values: "list[Any]") -> Any:
    """A tuple of the type of another one."""
    kind = type(example)
    return kind(*values) if hasattr(kind, "_fields") else tuple(values)


def is_nested(tree: Tree) -> bool:
    """Whether a tree is more than a dict of tensors."""
    return not isinstance(tree, dict) or any(not isinstance(each, str) for each in tree.values())


def names_of(tree: Tree) -> "Iterator[str]":
    """The names of the tensors, in order."""
    if isinstance(tree, str):
        yield tree
    else:
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from names_of(each)


def flat(tree: Tree, value: Any, what: str) -> "dict[str, Any]":
    """The tensors of a value by name. Raises ConfigError when it has another structure than the tree."""
    out: "dict[str, Any]" = {}
    _flatten(tree, value, "", what, out)
    return out


def _flatten(tree: Tree, value: Any, path: str, what: str, out: "dict[str, Any]") -> None:
    if isinstance(tree, str):
        out[tree] = value
        return
    place = f" at {path!r}" if path else ""
    before = f"{path}." if path else ""
    if isinstance(tree, dict):
        if not isinstance(value, Mapping) or set(map(str, value)) != set(tree):
            found = sorted(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
            raise _refused(f"{what}{place} has the columns {found}, expected {sorted(tree)}")
        for key, each in value.items():
            _flatten(tree[str(key)], each, f"{before}{key}", what, out)
        return
    if not isinstance(value, (tuple, list)) or len(value) != len(tree):
        found = f"{len(value)} values" if isinstance(value, (tuple, list)) else type(value).__name__
        raise _refused(f"{what}{place} is {found}, expected a tuple of {len(tree)}")
    for number, (one, each) in enumerate(zip(tree, value)):
        _flatten(one, each, f"{before}{number}", what, out)


def named(value: Any, path: str = "") -> "dict[str, Any]":
    """The tensors of a batch by name; anything that is no dict or tuple of tensors is one."""
    if path and not (is_part(value) and value):
        return {path: value}
    pairs = value.items() if isinstance(value, Mapping) else zip(getattr(value, "_fields", range(len(value))), value)
    out: "dict[str, Any]" = {}
    for name, each in pairs:
        out.update(named(each, f"{path}.{name}" if path else str(name)))
    return out


def each_of(function: Callable[[Any], Any], value: Any) -> Any:
    """The same structure, with what a function makes of each tensor."""
    if isinstance(value, dict):
        return {key: each_of(function, each) for key, each in value.items()}
    return _as(value, [each_of(function, each) for each in value]) if isinstance(value, tuple) else function(value)


def replaced(value: Any, by_name: Mapping[str, Any], path: str = "") -> Any:
    """The same structure, with the tensors of these names replaced."""
    if path and not (is_part(value) and value):
        return by_name.get(path, value)
    before = f"{path}." if path else ""
    if isinstance(value, Mapping):
        return {key: replaced(each, by_name, f"{before}{key}") for key, each in value.items()}
    names = getattr(value, "_fields", range(len(value)))
    return _as(value, [replaced(each, by_name, f"{before}{name}") for name, each in zip(names, value)])


def filled(tree: Tree, values: Mapping[str, Any]) -> Any:
    """The tree with the tensors of these names in their places."""
    return each_of(lambda name: values[name], tree)


def merged(trees: "list[Tree]") -> Tree:
    """One tree of those of several sources. Raises ConfigError when one tensor has two places."""
    out = trees[0]
    for tree in trees[1:]:
        out = _merge(out, tree)
    return out


def _merge(one: Tree, other: Tree) -> Tree:
    if isinstance(one, dict) and isinstance(other, dict):
        both = {key: _merge(one[key], other[key]) for key in one if key in other}
        return {**one, **other, **both}
    if one != other or type(one) is not type(other):
        raise _refused("the sources give rows of different structures: one has a tuple where another one has none, or one of "
                       "another length; give all of them the same")
    return one


class Arranged:
    """Gives the tensors of a batch the structure of the rows: a function for `map`.

    Tensors that the plan leaves out are missing, and those that it adds stand beside the others. What cannot be, an incomplete
    tuple, is refused when the loader starts.
    """

    __name__ = "the structure of the rows"

    def __init__(self, tree: Tree, delivered: "list[str]") -> None:
        self._tree = _kept(tree, set(delivered))
        known = set(names_of(self._tree))
        added = [name for name in delivered if name not in known]
        if added and not isinstance(self._tree, dict):
            raise _refused(f"the rows are tuples, so the tensor {added[0]!r} that the plan adds has no place; make them dicts, or "
                           "name the tensors to deliver with inputs and targets")
        if isinstance(self._tree, dict):
            for name in added:
                if name in self._tree:
                    raise _refused(f"the tensor {name!r} that the plan adds has the name of a part of the rows; name it otherwise")
                self._tree = {**self._tree, name: name}

    def __call__(self, batch: Mapping[str, Any]) -> Any:
        return filled(self._tree, batch)


def _kept(tree: Tree, delivered: "set[str]", path: str = "") -> Tree:
    """The tree without the tensors that are not delivered."""
    if isinstance(tree, dict):
        parts = {key: each for key, each in tree.items() if any(name in delivered for name in names_of(each))}
        return {key: _kept(each, delivered, f"{path}{key}.") for key, each in parts.items()}
    if isinstance(tree, tuple):
        missing: Optional[str] = next((name for name in names_of(tree) if name not in delivered), None)
        if missing is not None:
            where = f"the tuple {path[:-1]!r}" if path else "the tuple of a row"
            raise _refused(f"{where} has no tensor {missing!r} in the batches, because a step leaves it out; use "
                           "a dict there, or deliver it")
    return tree


def _refused(message: str) -> ConfigError:
    return ConfigError(message, code="config", detail="invalid_argument")
