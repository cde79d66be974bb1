# SPDX-License-Identifier: Apache-2.0
"""The reference of documents, from the JSON Schema that editors get."""
from __future__ import annotations

import json
from typing import Any, Iterator

from docstring_markdown import cell

Schema = dict[str, Any]


def page() -> str:
    from forebay import _core
    schema = json.loads(_core.document_schema())
    kinds = list(_documents(schema))
    pipeline = next(kind for kind in kinds if "steps" in kind["properties"])
    loaders = [kind for kind in kinds if "args" in kind["properties"]]
    out = ["# Documents", "A pipeline document says what a run reads and does; a loader document, of the JSON loader, is another way to write "
           "one (`forebay explain --lowered DOC` translates it). `//` comments are allowed. `forebay explain --schema` prints the JSON "
           "Schema that this page is made of.",
           "## Pipeline documents", "`source`, `decode` and the members of `steps` are [plug-ins](plugins/index.md): an object whose key is "
           "their name.", _table(pipeline)]
    for loader in loaders:
        out += [f"## Loader documents: {loader['properties']['type']['const']}", _table(loader["properties"]["args"])]
    return "\n\n".join(out) + "\n"


def _documents(schema: Schema) -> Iterator[Schema]:
    """The objects that a document may be."""
    if "properties" in schema:
        yield schema
    for one in schema.get("anyOf", []):
        yield from _documents(one)


def _table(schema: Schema) -> str:
    rows = [f"| `{name}` | {cell(_type(member))} | {default} | {cell(member.get('description', ''))} |"
            for name, member, default in _members(schema, "")]
    return "| member | type | default | meaning |\n| --- | --- | --- | --- |\n" + "\n".join(rows)


def _members(schema: Schema, prefix: str) -> Iterator[tuple[str, Schema, str]]:
    """Every member with its dotted name; those of plug-ins have pages of their own."""
    for name, member in schema["properties"].items():
        default = "required" if name in schema.get("required", []) else f"`{json.dumps(member['default'])}`" if "default" in member else ""
        yield prefix + name, member, default
        for one in [member, *member.get("anyOf", []), member.get("items", {})]:
            if "properties" in one and "oneOf" not in member:
                yield from _members(one, f"{prefix}{name}.")


def _type(member: Schema) -> str:
    if "enum" in member:
        return ", ".join(json.dumps(value) for value in member["enum"])
    if "const" in member:
        return json.dumps(member["const"])
    if "oneOf" in member or "properties" in member:
        return "object"
    if "anyOf" in member:
        return " or ".join(dict.fromkeys(_type(one) for one in member["anyOf"]))
    if member.get("type") == "array":
        return f"list of {_type(member['items'])}" if member.get("items") else "list"
    return str(member.get("type", member.get("x-kind", "any")))
