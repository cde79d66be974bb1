# SPDX-License-Identifier: Apache-2.0
"""Columns of lists of lists in a conversion: two tensors each, all values of a row, and `lengths(NAME)` of the inner lists."""
from __future__ import annotations

from typing import Any, Iterator, Literal, Mapping, Optional, Sequence

import numpy as np

from forebay import tables
from forebay._arrow_files import FilesPump, OpenFiles, Part, Parts, list_of_parts, pyarrow_module
from forebay.builder import Pipeline
from forebay.errors import DataError
from forebay.schema import Schema, TensorSpec


def lengths_name(name: str) -> str:
    return f"lengths({name})"


def nested_columns(schema: Any) -> "frozenset[str]":
    """The columns of a schema of Arrow whose rows are lists of lists."""
    types = pyarrow_module("pyarrow.types")

    def is_list(type: Any) -> bool:
        return bool(types.is_list(type) or types.is_large_list(type))
    return frozenset(field.name for field in schema if is_list(field.type) and is_list(field.type.value_type))


def open_tables(files: "list[str]", format: Literal["parquet", "ipc"], columns: "Optional[list[str]]", nested: "frozenset[str]",
                nulls: Optional[Mapping[str, Any]], present: Sequence[str] = ()) -> Pipeline:
    """A pipeline over the rows of files. columns: None: all. present: tensors beside which one says where they are no nulls."""
    if not nested:
        return (tables.parquet if format == "parquet" else tables.arrow_file)(files, columns, nulls=nulls, present=present or None)
    return tables.bound(_FlatFiles(files, format, nested, nulls), columns if columns is None else flat_names(columns, nested), nulls,
                        present or None)


def flat_names(names: Sequence[str], nested: "frozenset[str]") -> "list[str]":
    return [each for name in names for each in ((name, lengths_name(name)) if name in nested else (name,))]


def joined_schema(schema: Schema, nested: "frozenset[str]") -> Schema:
    """The schema with one tensor of lists of lists for each two."""
    hidden = {lengths_name(name) for name in nested}
    return Schema((name, spec._replace(shape=(None, *spec.shape)) if name in nested else spec)
                  for name, spec in schema.items() if name not in hidden)


def flat_table(table: Any, nested: "frozenset[str]", nulls: Optional[Mapping[str, Any]], place: str) -> Any:
    """A table or a record batch with two columns for each column of lists of lists."""
    if not nested:
        return table
    pa = pyarrow_module("pyarrow")
    if isinstance(table, pa.Table):
        return pa.Table.from_batches([flat_table(batch, nested, nulls, place) for batch in table.to_batches()],
                                     schema=_flat_schema(table.schema, nested))
    columns: "list[Any]" = []
    for name, column in zip(table.schema.names, table.columns):
        columns += _flat(column, f"{place}: column '{name}'", name in (nulls or {})) if name in nested else [column]
    return pa.RecordBatch.from_arrays(columns, schema=_flat_schema(table.schema, nested))


def joined_columns(columns: Any, schema: "Mapping[str, TensorSpec]") -> Any:
    """A record batch of tensors, in which two are one column of lists of lists again."""
    pa = pyarrow_module("pyarrow")
    if len(schema) == columns.num_columns:
        return columns
    out = []
    for name in schema:
        column = columns.column(name)
        if lengths_name(name) in columns.schema.names:
            lengths = columns.column(lengths_name(name))
            inner = pa.LargeListArray.from_arrays(_offsets(lengths.flatten()), column.flatten())
            column = pa.LargeListArray.from_arrays(_offsets(_lengths(lengths)), inner)
        out.append(column)
    return pa.RecordBatch.from_arrays(out, names=list(schema))


def _flat_schema(schema: Any, nested: "frozenset[str]") -> Any:
    pa = pyarrow_module("pyarrow")
    fields: "list[Any]" = []
    for field in schema:
        fields += [(field.name, pa.large_list(field.type.value_type.value_type)),
                   (lengths_name(field.name), pa.large_list(pa.int64()))] if field.name in nested else [field]
    return pa.schema(fields)


def _flat(column: Any, place: str, fills_nulls: bool) -> "list[Any]":
    """All values of each row, and the lengths of its inner lists. A list that is null has no items."""
    pa = pyarrow_module("pyarrow")
    inner = column.flatten()
    if (column.null_count or inner.null_count) and not fills_nulls:
        raise DataError(f"{place} has a list that is null; `nulls` makes it an empty one", code="data", detail="invalid_argument")
    lengths, rows = _lengths(inner), _offsets(_lengths(column))
    ends = _offsets(lengths)
    return [pa.LargeListArray.from_arrays(pa.array(np.asarray(ends)[np.asarray(rows)]), inner.flatten()),
            pa.LargeListArray.from_arrays(rows, lengths)]


def _lengths(lists: Any) -> Any:
    pa = pyarrow_module("pyarrow")
    return pyarrow_module("pyarrow.compute").list_value_length(lists).fill_null(0).cast(pa.int64())


def _offsets(lengths: Any) -> Any:
    return pyarrow_module("pyarrow").array(np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(lengths), dtype=np.int64)]))


class _FlatFiles(tables.ArrowFiles):
    def __init__(self, files: "list[str]", format: Literal["parquet", "ipc"], nested: "frozenset[str]",
                 nulls: Optional[Mapping[str, Any]]) -> None:
        super().__init__(files, format)
        self._nested, self._nulls = nested, nulls

    def pump(self, name: str) -> "_FlatPump":
        return _FlatPump(name, list_of_parts(self._files, self._format, self._by_group), self._nested, self._nulls)


class _FlatPump(FilesPump):
    def __init__(self, name: str, parts: Parts, nested: "frozenset[str]", nulls: Optional[Mapping[str, Any]]) -> None:
        super().__init__(name, parts._replace(schema=_flat_schema(parts.schema, nested)))
        self._schema = parts.schema
        self._nested, self._nulls = nested, nulls

    def _batches(self, files: OpenFiles, part: Part, source: int, first: int) -> Iterator[Any]:
        wanted = self._table.fields(source)
        stored = [name for name in self._schema.names if name in wanted or (name in self._nested and lengths_name(name) in wanted)]
        nested = self._nested.intersection(stored)
        for batch in self._read(files, part, stored, first):
            yield flat_table(batch, nested, self._nulls, part.name).select(wanted)
