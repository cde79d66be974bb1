# SPDX-License-Identifier: Apache-2.0
"""The reference of all plug-ins, from their descriptions, and of the command, from its help."""
from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

import python_pages
from docstring_markdown import cell, escaped

TITLES = {"format": "Sources", "decoder": "Decoders", "step": "Steps", "order": "Orders", "window": "Window steps",
          "batcher": "Batchers", "combination": "Combinations"}
PLACES = {kind: title.lower().replace(" ", "-") for kind, title in TITLES.items()}


def plugins() -> list[dict[str, Any]]:
    from forebay import _core
    found: list[dict[str, Any]] = json.loads(_core.plugin_reference())
    return found


def pages() -> dict[str, str]:
    """The pages by place: a list of all, and one for each kind."""
    every, calls = plugins(), python_pages.calls()
    strange = {plugin["kind"] for plugin in every} - set(TITLES)
    if strange:
        raise SystemExit(f"TITLES of plugin_pages.py has no title for plug-ins of kind {', '.join(sorted(strange))}")
    out = {"plugins/index.md": _list(every)}
    for kind, title in TITLES.items():
        entries = [_entry(plugin, calls.get((kind, plugin["name"]))) for plugin in every if plugin["kind"] == kind]
        out[f"plugins/{PLACES[kind]}.md"] = f"# {title}\n\n" + "\n\n".join(entries) + "\n"
    return out


def command_page(command: pathlib.Path) -> str:
    """The help of every verb of the command."""
    top = _help(command)
    verbs = [line.split()[0] for line in top.split("Subcommands:")[1].splitlines() if line.startswith("  ") and line[2] != " "]
    parts = [f"## forebay {verb}\n\n```text\n{_help(command, verb)}\n```" for verb in verbs]
    return "# The command\n\n```text\n" + top + "\n```\n\n" + "\n\n".join(parts) + "\n"


def _help(command: pathlib.Path, *verb: str) -> str:
    return subprocess.run([command, *verb, "--help"], capture_output=True, text=True, check=True).stdout.strip()


def _list(every: list[dict[str, Any]]) -> str:
    out = ["# All plug-ins", "Everything that a document can name. A name is the key of an object, and the options are its members; in "
           "Python it is a function or a method, and the options are its arguments. `forebay explain NAME` prints the same."]
    for kind, title in TITLES.items():
        rows = [f"| [{plugin['name']}]({PLACES[kind]}.md#{plugin['name']}) | {cell(plugin['doc'])} |"
                for plugin in every if plugin["kind"] == kind]
        out.append(f"## {title}\n\n| name | what it does |\n| --- | --- |\n" + "\n".join(rows))
    return "\n\n".join(out) + "\n"


def _entry(plugin: dict[str, Any], call: str | None) -> str:
    out = [f"## {plugin['name']} {{ #{plugin['name']} }}", escaped(plugin["doc"])]
    if call is not None:
        out.append(f"```text\n{call}\n```")
    if plugin["fields"]:
        rows = [f"| `{field['name']}` | {cell(field['type'])} | {_default(field)} | {cell(field['doc'])} |" for field in plugin["fields"]]
        out.append("| option | type | default | meaning |\n| --- | --- | --- | --- |\n" + "\n".join(rows))
    for example in plugin["examples"]:
        document = json.dumps({plugin["name"]: example["options"]}, ensure_ascii=False)
        shown = "\n".join(f"{name:<4} {json.dumps(example[name], ensure_ascii=False)}" for name in ("in", "out") if name in example)
        out.append(f"```text\n{document}\n{shown}\n```")
    return "\n\n".join(out)


def _default(field: dict[str, Any]) -> str:
    return "required" if field["required"] else f"`{json.dumps(field['default'], ensure_ascii=False)}`"
