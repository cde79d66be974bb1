# SPDX-License-Identifier: Apache-2.0
"""What a schema of Arrow says about the tensors that its columns become."""
from __future__ import annotations

from typing import Any, Sequence

from forebay._arrow_files import pyarrow_module


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
