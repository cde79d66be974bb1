# SPDX-License-Identifier: Apache-2.0
"""What a schema of Arrow says about the tensors that its columns become, and which tensors become text in it."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from forebay._arrow_files import pyarrow_module
from forebay.errors import ConfigError, DataError

if TYPE_CHECKING:
    from forebay._conversion.inputs import Input


def single_values(schema: Any, columns: Sequence[str], parent: str = "") -> "list[str]":
    """The tensors of a schema of Arrow, or of a struct, that may be null and are no lists."""
    types = pyarrow_module("pyarrow.types")
    out: "list[str]" = []
    for field in schema:
        type, name = field.type, parent + field.name
        if not parent and name not in columns:
            continue
        if types.is_struct(type):
            out += single_values(type, columns, name + ".")
        elif (field.nullable or parent) and not hasattr(type, "storage_type") and (
                types.is_dictionary(type) or not hasattr(type, "value_type")):
            out.append(name)
    return out


def text_columns(schema: Any, parent: str = "") -> "frozenset[str]":
    """The tensors of a schema of Arrow, or of a struct, whose strings are text."""
    types = pyarrow_module("pyarrow.types")
    out: "set[str]" = set()
    for field in schema:
        type, name = field.type, parent + field.name
        while hasattr(type, "value_type"):  # lists, dictionaries
            type = type.value_type
        if types.is_struct(type):
            out |= text_columns(type, name + ".")
        elif str(type) in ("string", "large_string", "string_view"):
            out.add(name)
    return frozenset(out)


def utf8_tensors(source: "Input", threads: int) -> "frozenset[str]":
    """The string tensors of which all strings are UTF-8, found by reading them: a pass over the rows, and one more for each that
    is no text."""
    names = [name for name, spec in source.schema.items() if spec.dtype == "string" and _can_check(source, name)]
    while names:
        pipe = source.source(source.files).select(names)
        for name in names:
            pipe = pipe.check_utf8(name)
        try:
            with pipe.batch(size=256, pad=any(None in source.schema[name].shape for name in names)).load(threads=threads) as loader:
                for _ in loader:
                    pass
            break
        except DataError as fault:
            if fault.feature not in names:   # corrupt data, which the pass that writes them tells, too
                return frozenset()
            names.remove(fault.feature)
    return frozenset(names)


def _can_check(source: "Input", name: str) -> bool:
    """Whether the strings are one array in a row."""
    try:
        source.source(source.files).check_utf8(name).batch(size=1).plan()
    except ConfigError:
        return False
    return True
