# SPDX-License-Identifier: Apache-2.0
"""The tensors that a function given to `map` returns: as `output` states them, and rows stacked to a batch."""
from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from forebay._arguments import wrong_type
from forebay._structure import Tree, filled, flat, is_feature_part, is_nested, is_part, tree_of
from forebay.errors import ConfigError
from forebay.values import Ragged, bfloat16_type


class Column(NamedTuple):
    """One tensor that `output` states.

    dtype      element type by name
    shape      of a row, or of one step of a row that has any number of them
    delivery   "equal": rows of one shape; "ragged", "padded": rows of any number of steps
    """

    dtype: str
    shape: tuple[int, ...]
    delivery: str

    def feature(self) -> "dict[str, Any]":
        """What states this column in `output`."""
        if self.delivery == "equal":
            return {"kind": "fixed_len", "dtype": self.dtype, "shape": list(self.shape)}
        return {"kind": "fixed_len_sequence", "dtype": self.dtype, "shape": list(self.shape), "as": self.delivery}

    @property
    def row_shape(self) -> tuple[Optional[int], ...]:
        return self.shape if self.delivery == "equal" else (None, *self.shape)

    def sizes(self, *first: object) -> str:
        return f"[{', '.join(['any length' if size is None else str(size) for size in (*first, *self.row_shape)])}]"

    def text(self, rows: object) -> str:
        if self.delivery == "ragged":
            return f"a Ragged of {rows} rows of {self.dtype}{f' of shape {self.sizes()}' if self.shape else ''}"
        what = "an object array of bytes" if self.dtype == "string" else f"an array of {self.dtype}"
        return f"{what} of shape {self.sizes(rows)}"

    def is_shape(self, found: tuple[int, ...]) -> bool:
        """Whether a row may have that shape."""
        return len(found) == len(self.row_shape) and all(size is None or size == one for size, one in zip(self.row_shape, found))


class Output(dict[str, Column]):
    """What `output` of a `map` states: its tensors by name, and the structure that they have."""

    tree: Tree = None

    def flat(self, function: str, result: Any) -> Mapping[str, Any]:
        """The tensors of a result by name. Raises ValueError when it has another structure."""
        return flat(self.tree, result, f"output: what {function} returned") if is_nested(self.tree) else result

    def check(self, function: str, result: Any, rows: int) -> None:
        """Raises ValueError that names the first wrong tensor, and what was expected."""
        result = self.flat(function, result)
        self.check_names(function, result)
        for name, column in self.items():
            found = found_text(result[name])
            if not self._fits(column, result[name], rows):
                raise ValueError(f"output: {function} must return {column.text(rows)} as {name!r}; it returned {found}")

    def check_names(self, function: str, result: Mapping[str, Any]) -> None:
        missing = [name for name in self if name not in result]
        extra = [name for name in result if name not in self]
        if missing or extra:
            what = f"{missing[0]!r} is missing" if missing else f"{extra[0]!r} is not among them"
            raise ValueError(f"output: {function} must return {', '.join(map(repr, self))}; {what}")

    @staticmethod
    def _fits(column: Column, value: Any, rows: int) -> bool:
        if column.delivery == "ragged":
            return (isinstance(value, Ragged) and len(value.nested_row_splits) == 1 and column.is_shape(value.values.shape)
                    and len(value) == rows and _is_of(column.dtype, value.values))
        return (isinstance(value, np.ndarray) and value.shape[:1] == (rows,) and column.is_shape(value.shape[1:])
                and _is_of(column.dtype, value))


def output_of(output: Any) -> Optional[Output]:
    """The argument `output` of `map`. Raises TypeError or ConfigError."""
    if output is None:
        return None
    if not isinstance(output, (Mapping, tuple)):
        raise wrong_type("output", 'a dict, as {"image": fb.fixed("float32", [3, 32, 32])}, or None', output)
    wrong = next((name for name in output if not isinstance(name, str)), "") if isinstance(output, Mapping) else ""
    if not isinstance(wrong, str):
        raise wrong_type(f"output[{wrong!r}]", "a name of type str", wrong)
    columns = Output()
    columns.tree = tree_of(output, "output", is_feature_part)
    for name, feature in flat(columns.tree, output, "output").items():
        columns[name] = _stated(f"output[{name!r}]", feature)
    return columns


def _stated(name: str, feature: Any) -> Column:
    allowed = "fb.fixed(dtype, shape), fb.var_len(dtype) or fb.fixed_len_sequence(dtype, shape)"
    if not isinstance(feature, Mapping) or "dtype" not in feature:
        raise wrong_type(name, allowed, feature)
    kind = feature.get("kind", "fixed_len")
    extra = sorted(set(feature) - {"dtype", "shape", "kind", "as"})
    if extra or kind not in _DELIVERIES:
        raise _wrong(f"{name}: must be {allowed}, found {f'the option {extra[0]}' if extra else f'the kind {kind}'}")
    shape = tuple(feature.get("shape", ()))
    deliveries = _DELIVERIES[kind]
    if kind == "fixed_len" and shape and shape[0] in (None, -1):   # any number of steps
        shape, deliveries = shape[1:], _DELIVERIES["var_len"]
    delivery = feature.get("as", deliveries[0])
    if delivery not in deliveries:
        raise _wrong(f"{name}: as_ must be {' or '.join(map(repr, deliveries))}, found {delivery!r}")
    if not all(isinstance(size, int) and size >= 0 for size in shape):
        raise _wrong(f"{name}: the sizes of shape must be integers from 0, and rows may differ in the first one only, found "
                     f"{list(feature['shape'])}")
    if numpy_type(feature["dtype"]) is None:
        raise _wrong(f"{name}: unknown dtype {feature['dtype']!r}")
    return Column(feature["dtype"], shape, delivery)


#: How tensors of a kind of feature may be delivered, the way of most first.
_DELIVERIES = {"fixed_len": ("equal",), "var_len": ("ragged", "padded"), "fixed_len_sequence": ("padded", "ragged")}


def _wrong(message: str) -> ConfigError:
    return ConfigError(message, code="config", detail="invalid_argument")


def numpy_type(name: str) -> Any:
    """The NumPy type of an element type; None: there is none of that name."""
    if name in ("string", "bfloat16"):
        return np.dtype(object) if name == "string" else bfloat16_type() or np.dtype(np.uint16)
    try:
        found = np.dtype(name)
    except TypeError:
        return None
    return found if found.kind in "biufc" else None


def _is_of(dtype: str, array: Any) -> bool:
    if array.dtype != numpy_type(dtype):
        return False
    return dtype != "string" or all(isinstance(each, bytes) for each in array.ravel().tolist())


def found_text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {list(value.shape)}"
    if isinstance(value, Ragged):
        return f"a Ragged of {len(value)} rows of {value.dtype}"
    return f"a value of type {type(value).__name__}"


def stacked(function: str, rows: Sequence[Any], valid: int, total: int, output: Optional[Output]) -> Any:
    """`stack` of rows that may be nested dicts and tuples; the result has their structure."""
    if output is not None:
        tree, named = output.tree, [output.flat(f"{function}, for row {place},", row) for place, row in enumerate(rows)]
        return filled(tree, stack(function, named, valid, total, output))
    if not any(isinstance(row, tuple) or any(map(is_part, row.values())) for row in rows):
        return stack(function, rows, valid, total, None)
    tree = tree_of(rows[0], f"{function}, for row 0,")
    named = [flat(tree, row, f"what {function} returned for row {place}") for place, row in enumerate(rows)]
    return filled(tree, stack(function, named, valid, total, None))


def stack(function: str, rows: Sequence[Mapping[str, Any]], valid: int, total: int, output: Optional[Output]) -> dict[str, Any]:
    """The rows that a function returned as tensors of `total` rows. Rows after the valid ones are 0, False, b"" or empty."""
    names = list(output) if output is not None else list(rows[0]) if rows else []
    for place, row in enumerate(rows):
        if output is not None:
            output.check_names(f"{function}, row {place},", row)
        elif row.keys() != rows[0].keys():
            odd = sorted(row.keys() ^ rows[0].keys(), key=str)[0]
            raise ValueError(f"{function} must return the same names for every row; {odd!r} is not in rows 0 and {place} both")
    return {name: _column(function, name, [row[name] for row in rows], valid, total,
                          None if output is None else output[name]) for name in names}


def _column(function: str, name: str, values: list[Any], valid: int, total: int, column: Optional[Column]) -> Any:
    arrays = [array_of(value, column) for value in values]
    if column is None:
        kind, shape = arrays[0].dtype, arrays[0].shape
        for place, array in enumerate(arrays):
            if (array.dtype, array.shape) != (kind, shape):
                raise ValueError(f"{function} must return the same type and shape for every row; {name!r} is "
                                 f"{found_text(arrays[0])} in row 0 and {found_text(array)} in row {place}"
                                 f"{_way_out(name, arrays[0], array)}")
        return _stacked(arrays[:valid], total, kind, shape)
    for place, array in enumerate(arrays):
        if not column.is_shape(array.shape) or not _is_of(column.dtype, array):
            raise ValueError(f"output: {function} must return {column.dtype} of shape {column.sizes()} as {name!r}; for row "
                             f"{place} it returned {found_text(array)}")
    kind = numpy_type(column.dtype)
    if column.delivery == "ragged":
        return _ragged(arrays, total, kind, column.shape)
    if column.delivery == "padded":
        return _padded(arrays[:valid], total, kind, column.shape)
    return _stacked(arrays[:valid], total, kind, column.shape)


def _way_out(name: str, array: Any, other: Any) -> str:
    """The features for rows that differ in their first size, and only there."""
    if array.dtype != other.dtype or array.ndim != other.ndim or array.shape[1:] != other.shape[1:]:
        return ""
    kind = "string" if array.dtype == object else str(array.dtype)
    shape = list(array.shape[1:])
    ragged = f'fb.fixed_len_sequence("{kind}", {shape}, as_="ragged")' if shape else f'fb.var_len("{kind}")'
    padded = f'fb.fixed_len_sequence("{kind}", {shape})'
    return (f"; rows of different lengths are a Ragged with {{{name!r}: {ragged}}}, and padded with {{{name!r}: {padded}}}, in output= "
            "of map or of fb.python")


def _stacked(arrays: list[Any], total: int, kind: Any, shape: tuple[int, ...]) -> Any:
    out = np.empty((total, *shape), kind)
    for place, array in enumerate(arrays):
        out[place] = array[()] if array.ndim == 0 else array
    out[len(arrays):] = b"" if kind == object else np.zeros((), kind)
    return out


def _padded(arrays: list[Any], total: int, kind: Any, shape: tuple[int, ...]) -> Any:
    out = np.full((total, max(map(len, arrays), default=0), *shape), b"" if kind == object else np.zeros((), kind), kind)
    for place, array in enumerate(arrays):
        out[place, :len(array)] = array
    return out


def _ragged(arrays: list[Any], total: int, kind: Any, shape: tuple[int, ...]) -> Ragged:
    lengths = [len(array) for array in arrays] + [0] * (total - len(arrays))
    values = np.concatenate(arrays) if arrays else np.empty((0, *shape), kind)
    return Ragged(values, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def array_of(value: Any, column: Optional[Column]) -> Any:
    """A row's value as an array. Numbers of Python become the stated type where no value is lost."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (bytes, str)) or (isinstance(value, (list, tuple)) and any(isinstance(v, bytes) for v in value)):
        return bytes_array(value)
    if isinstance(value, (list, tuple)) and not value and column is not None and column.delivery != "equal":
        return np.empty((0, *column.shape), numpy_type(column.dtype))
    array = np.asarray(value)
    wanted = None if column is None else numpy_type(column.dtype)
    if wanted is None or wanted == object or not isinstance(value, (bool, int, float, complex, list, tuple)):
        return array
    if array.size and _ORDER.get(array.dtype.kind, 9) > _ORDER.get(wanted.kind, 2):
        return array
    out = array.astype(wanted)
    return array if wanted.kind in "iu" and not np.array_equal(out, array) else out


#: Kinds of numbers; a number of Python becomes one of the same or of a later kind. Others than these are bfloat16.
_ORDER = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def bytes_array(value: Any) -> Any:
    """An object array of one value, or of the values of a list: NumPy would cut zero bytes at the end."""
    single = isinstance(value, (bytes, str))
    out: Any = np.empty(1 if single else len(value), object)
    out[:] = [value] if single else value
    return out.reshape(()) if single else out
