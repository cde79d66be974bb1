# SPDX-License-Identifier: Apache-2.0
"""The values of a batch that are not plain arrays."""
from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Optional, Sequence

import numpy as np

__all__ = ["Fraction", "Origin", "Ragged", "Span", "Sparse", "complete_frac"]


class Origin(tuple[str, int, int]):
    """Where a span of a row comes from: the tuple (file, record, offset), and more.

    window    number of the window in its part or sequence; -1 in a plan without windows
    start     the first frame of the record that is in the row
    row       the row of the batch
    """

    window: int
    start: int
    row: int

    def __new__(cls, file: str, record: int, offset: int, window: int = -1, start: int = 0, row: int = 0) -> Origin:
        self = super().__new__(cls, (file, record, offset))
        self.window, self.start, self.row = window, start, row
        return self

    def __getnewargs__(self) -> tuple[str, int, int, int, int, int]:
        return (*self, self.window, self.start, self.row)

    def __repr__(self) -> str:
        return f"Origin({self[0]!r}, {self[1]}, {self[2]}, window={self.window}, start={self.start}, row={self.row})"


class Span(NamedTuple):
    """A stretch of one record, and its place in a row."""

    origin: Origin
    start: int    # first frame of the record
    length: int   # frames
    at: int       # frame of the row that has the first of them


class Fraction(NamedTuple):
    """The done part of an epoch."""

    value: float   # above 0, at most 1
    exact: bool    # counted; else it only grows, because nobody knows where the epoch ends


def complete_frac(seq_idx: int, num_seqs: Optional[int] = None) -> Fraction:
    """The done part of an epoch after sequence `seq_idx`, counted from 0, of `num_seqs`; None: nobody knows how many.

    Of an unknown number it is 0.09 after 100 sequences, 0.495 after 10,000 and 0.9 after 1,000,000.
    """
    from forebay import _core
    return Fraction(*_core.complete_frac(seq_idx, num_seqs))


class Ragged:
    """Rows of different lengths: row i of the outermost level is the span row_splits[i]:row_splits[i + 1].

    values               ndarray [n, …]: the elements of all rows, one after the other
    row_splits           int64 or int32 ndarray [rows + 1], of the outermost level
    nested_row_splits    one such array per level, outermost first; the innermost splits `values`
    """

    __slots__ = ("values", "nested_row_splits")

    def __init__(self, values: Any, row_splits: Any) -> None:
        levels = row_splits if isinstance(row_splits, (list, tuple)) and row_splits and np.ndim(row_splits[0]) == 1 else [row_splits]
        self.values = np.asarray(values)
        self.nested_row_splits = [np.asarray(level) for level in levels]

    @classmethod
    def _of(cls, values: Any, nested_row_splits: list[Any]) -> Ragged:
        """Of leaves of any kind, which frameworks put in the places of the arrays."""
        out = cls.__new__(cls)
        out.values, out.nested_row_splits = values, nested_row_splits
        return out

    @property
    def row_splits(self) -> Any:
        return self.nested_row_splits[0]

    @property
    def lengths(self) -> Any:
        """int ndarray [rows]: the length of every row of the outermost level."""
        return np.diff(self.row_splits)

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, row: int) -> Any:
        """Row `row`: a view of `values`, or a Ragged when there are more levels. Raises IndexError."""
        count = len(self)
        if not -count <= row < count:
            raise IndexError(f"row {row} of {count}")
        begin, end = self.row_splits[row % count], self.row_splits[row % count + 1]
        if len(self.nested_row_splits) == 1:
            return self.values[begin:end]
        return Ragged(self.values, [self.nested_row_splits[1][begin:end + 1], *self.nested_row_splits[2:]])

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def to_list(self) -> list[Any]:
        """The rows as nested lists of Python values."""
        rows: list[Any] = self.values.tolist()
        for splits in reversed(self.nested_row_splits):
            rows = [rows[begin:end] for begin, end in zip(splits[:-1].tolist(), splits[1:].tolist())]
        return rows

    def to_padded(self, value: Any = None) -> Any:
        """ndarray [rows, longest, …] with `value` (left out: 0, False or b"") after the end of shorter rows."""
        owner: Any = None
        index: list[Any] = []
        sizes: list[int] = []
        for splits in reversed(self.nested_row_splits):
            lengths = np.diff(splits)
            rows = np.repeat(np.arange(len(lengths)), lengths)
            position = np.arange(len(rows)) - (splits[:-1] - splits[0])[rows]
            index.insert(0, position if owner is None else position[owner])
            owner = rows if owner is None else rows[owner]
            sizes.insert(0, int(lengths.max(initial=0)))
        out = np.full((len(self), *sizes, *self.values.shape[1:]), _fill(self.values.dtype, value), self.values.dtype)
        begin, end = self._span()
        out[(owner, *index)] = self.values[begin:end]
        return out

    def _span(self) -> tuple[int, int]:
        begin, end = 0, len(self)
        for splits in self.nested_row_splits:
            begin, end = int(splits[begin]), int(splits[end])
        return begin, end

    def __repr__(self) -> str:
        return f"Ragged(rows={len(self)}, levels={len(self.nested_row_splits)}, values={self.values!r})"


class Sparse:
    """The stored elements of a tensor, with their indices.

    indices        int64 ndarray [n, rank], in row-major order, the batch row first
    values         ndarray [n]
    dense_shape    tuple of int, the batch axis first
    """

    __slots__ = ("indices", "values", "dense_shape")

    def __init__(self, indices: Any, values: Any, dense_shape: Sequence[int]) -> None:
        self.indices = np.asarray(indices)
        self.values = np.asarray(values)
        self.dense_shape = tuple(int(size) for size in dense_shape)

    @classmethod
    def _of(cls, indices: Any, values: Any, dense_shape: tuple[int, ...]) -> Sparse:
        """Of leaves of any kind, which frameworks put in the places of the arrays."""
        out = cls.__new__(cls)
        out.indices, out.values, out.dense_shape = indices, values, dense_shape
        return out

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def to_dense(self, default: Any = None) -> Any:
        """ndarray of shape `dense_shape` with `default` (left out: 0, False or b"") where no element is stored."""
        out = np.full(self.dense_shape, _fill(self.values.dtype, default), self.values.dtype)
        out[tuple(self.indices.T)] = self.values
        return out

    def __repr__(self) -> str:
        return f"Sparse(dense_shape={self.dense_shape}, values={self.values!r})"


def _fill(dtype: Any, value: Any) -> Any:
    if value is not None:
        return value
    return b"" if dtype == object else np.zeros((), dtype)[()]


def batch_of(*parts: Any) -> Any:
    """A batch that was pickled, from its parts: what its `__reduce__` names, because functions of the core have no name
    that can be pickled."""
    from forebay import _core
    return _core.batch_of(*parts)


def unknown_name(name: object, known: list[str], kind: str = "tensor") -> str:
    """The message of the error for an unknown name."""
    import difflib
    near = difflib.get_close_matches(str(name), known, 1, 0.5)
    hint = f", did you mean {near[0]!r}?" if near else ";"
    return f"no {kind} {name!r}{hint} there are {', '.join(known)}"


def bfloat16_type() -> Any:
    """The NumPy type bfloat16 of the package ml_dtypes; None without that package."""
    try:
        import ml_dtypes  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return None
    return np.dtype(ml_dtypes.bfloat16)
