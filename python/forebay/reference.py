# SPDX-License-Identifier: Apache-2.0
"""The plug-ins with their options, and the schema of documents."""
from __future__ import annotations

import json
from typing import Any, Optional

from forebay import _core
from forebay.errors import ConfigError

__all__ = ["explain", "json_schema"]


def explain(name: Optional[str] = None) -> str:
    """Text: all plug-ins, parts of documents and kinds of features with one line each, or the options and examples of those of
    that name.

    Raises ConfigError, which names the nearest, when there is none.
    """
    plugins: list[dict[str, Any]] = json.loads(_core.document_reference())
    if name is None:
        width = max(len(plugin["name"]) for plugin in plugins)
        return "\n".join(f"{plugin['kind']:<13} {plugin['name']:<{width}}  {plugin['doc']}" for plugin in plugins)
    found = [plugin for plugin in plugins if plugin["name"] == name]
    if not found:
        import difflib
        near = difflib.get_close_matches(name, [plugin["name"] for plugin in plugins], 1)
        hint = f"; did you mean {near[0]!r}?" if near else ";"
        raise ConfigError(f"there is no plug-in, part of documents or kind of feature {name!r}{hint} explain() lists them all",
                          code="config", detail="not_found")
    return "\n\n".join(_text(plugin) for plugin in found)


def json_schema() -> dict[str, Any]:
    """JSON Schema of loader and pipeline documents, for editors."""
    schema: dict[str, Any] = json.loads(_core.document_schema())
    return schema


def _text(plugin: dict[str, Any]) -> str:
    lines = [f"{plugin['name']} ({plugin['kind']}): {plugin['doc']}"]
    for field in plugin["fields"]:
        default = "required" if field["required"] else f"default {json.dumps(field['default'])}"
        lines.append(f"  {field['name']}: {field['type']}, {default}\n      {field['doc']}")
    for example in plugin["examples"]:
        lines.append(f"  example: {json.dumps({plugin['name']: example['options']})}")
        lines.append(f"      in   {json.dumps(example['in'])}\n      out  {json.dumps(example['out'])}")
    return "\n".join(lines)
