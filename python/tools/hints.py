# SPDX-License-Identifier: Apache-2.0
"""Type hints of Python for the options of plug-ins."""
from __future__ import annotations

from typing import Any

#: Kinds of fields (FieldKind in C++) whose parameters take more types than the document has.
WIDER = {"paths": "Paths", "dtype": "DType", "dtype_or_tensor": "DType | str", "bytes": "int | str", "shard": "Shard | None",
         "data_file": "Path"}


def python_type(field: dict[str, Any]) -> str:
    """The hint of a parameter: wider than the description's type of a value."""
    words = choices(field["schema"])
    text = WIDER.get(field["kind"], field["type"] if words is None else literal_type(words))
    optional = text.endswith(" | None") or field["type"].endswith(" | None")
    text = text.removesuffix(" | None")
    text = text.replace("list[", "Sequence[").replace("dict[", "Mapping[").replace("object", "Any")
    text = union_of(text)
    return f"Optional[{text}]" if optional and text != "Any" else text


def union_of(text: str) -> str:
    """A type like "str | list[int | str]" as Python 3.9 has it."""
    out = []
    for one in outer_parts(text, " | "):
        head, bracket, inner = one.partition("[")
        if bracket and head != "Literal":
            one = f"{head}[{', '.join(map(union_of, outer_parts(inner[:-1], ', ')))}]"
        out.append(one)
    return out[0] if len(out) == 1 else f"Union[{', '.join(out)}]"


def outer_parts(text: str, separator: str) -> list[str]:
    """The text split where the separator is in no brackets."""
    parts, depth = [""], 0
    for part in text.split(separator):
        parts[-1] += part if depth == 0 else separator + part
        depth += part.count("[") - part.count("]")
        if depth == 0:
            parts.append("")
    return parts[:-1]


def choices(schema: dict[str, Any]) -> list[str] | None:
    """The words that a value may be, also where it may be null; None: it is no choice among words."""
    words: list[str] | None = next((one["enum"] for one in [schema, *schema.get("anyOf", [])] if "enum" in one), None)
    return words


def literal_type(words: list[str]) -> str:
    return "Literal[" + ", ".join(f'"{word}"' for word in words) + "]"


def type_of_schema(schema: dict[str, Any]) -> str:
    """The hint for a value of a JSON Schema."""
    if "anyOf" in schema:
        kinds = [type_of_schema(one) for one in schema["anyOf"] if one.get("type") != "null"]
        return kinds[0] if len(kinds) == 1 else "Any"
    simple = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "Sequence[Any]",
              "object": "Mapping[str, Any]"}
    return simple.get(schema.get("type", ""), "Any") if isinstance(schema.get("type", ""), str) else "Any"
