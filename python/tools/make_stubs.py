# SPDX-License-Identifier: Apache-2.0
"""Writes forebay/_core.pyi (from the module) and forebay/builder.py (from the plug-ins' descriptions).

make_stubs.py [FOLDER]: into that folder, or python/forebay. A test compares what is checked in with a fresh copy.
"""
from __future__ import annotations

import json
import keyword
import pathlib
import re
import subprocess
import sys
import textwrap
from typing import Any

TOOLS = pathlib.Path(__file__).resolve().parent

HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""Pipelines in Python: a function for every format, a method for every decoder, step, order and batcher."""
from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence, Union

from forebay.pipeline import PipelineBase, StageSource, given, paths_of

__all__ = [{names}]

Paths = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]
Feature = Mapping[str, Any]
'''

STUB_HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the compiled module; do not edit.
'''


def python_type(field: dict[str, Any]) -> str:
    """The hint of a parameter: wider than the description's type of a value."""
    text = field["type"]
    optional = text.endswith(" | None")
    text = text.removesuffix(" | None")
    if field["name"] in ("features", "context", "lists"):
        text = "Mapping[str, Feature]"
    elif field["name"] == "files":
        text = "Paths"
    text = text.replace("list[", "Sequence[").replace("dict[", "Mapping[").replace("object", "Any")
    text = re.sub(r"(\w[\w\[\], ]*) \| (\w[\w\[\], ]*)", r"Union[\1, \2]", text)
    return f"Optional[{text}]" if optional and text != "Any" else text


def type_of_schema(schema: dict[str, Any]) -> str:
    """The hint for a value of a JSON Schema."""
    simple = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "Sequence[Any]",
              "object": "Mapping[str, Any]"}
    return simple.get(schema.get("type", ""), "Any") if isinstance(schema.get("type", ""), str) else "Any"


def parameter_name(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def parameters(fields: list[dict[str, Any]]) -> str:
    """Required options by place or name, the others by name only."""
    out = [f"{parameter_name(field['name'])}: {python_type(field)}" for field in fields if field["required"]]
    rest = [field for field in fields if not field["required"]]
    if len(rest) != 1 or out:
        out += ["*"] if rest else []
    for field in rest:
        hint, default = python_type(field), field["default"]
        if default is None and hint != "Any" and not hint.startswith("Optional["):
            hint = f"Optional[{hint}]"
        if default is not None and hint.startswith("Optional["):
            raise SystemExit(f"{field['name']}: None means something and is not the default; give it a name of its own")
        out.append(f"{parameter_name(field['name'])}: {hint} = {default!r}")
    return ", ".join(out)


def doc_string(doc: str, fields: list[dict[str, Any]], indent: str) -> str:
    lines = textwrap.wrap(doc, 110 - len(indent))
    width = max((len(field["name"]) for field in fields), default=0) + 4
    if fields:
        lines.append("")
    for field in fields:
        # \u2026 and the like stay as they are; a backslash would start an escape.
        wrapped = textwrap.wrap(field["doc"], 112 - len(indent) - width) or [""]
        lines.append(f"{parameter_name(field['name']):<{width}}{wrapped[0]}")
        lines += [" " * width + line for line in wrapped[1:]]
    if len(lines) == 1:
        return f'{indent}"""{lines[0]}"""\n'
    text = "\n".join((indent + line).rstrip() for line in lines).lstrip()
    return f'{indent}"""{text}\n{indent}"""\n'.replace("\\", "\\\\")


def signature(name: str, arguments: str, result: str, indent: str) -> str:
    opening = f"{indent}def {name}("
    return "\n".join(textwrap.wrap(f"{opening}{arguments}) -> {result}:", 118, initial_indent="", subsequent_indent=" " * len(opening),
                                   drop_whitespace=True, break_long_words=False, break_on_hyphens=False)) + "\n"


def options(fields: list[dict[str, Any]]) -> str:
    cells = []
    for field in fields:
        name = parameter_name(field["name"])
        value = f"paths_of({name})" if field["name"] == "files" else name
        cells.append(f'"{field["name"]}": {value}')
    return "{" + ", ".join(cells) + "}"


def statement(text: str, indent: str) -> str:
    return "\n".join(textwrap.wrap(text, 118, initial_indent=indent, subsequent_indent=indent + "    ", break_long_words=False,
                                   break_on_hyphens=False)) + "\n"


def method(plugin: dict[str, Any]) -> str:
    name, fields = plugin["name"], plugin["fields"]
    arguments = "self" + (", " + parameters(fields) if fields else "")
    return (signature(parameter_name(name), arguments, "Pipeline", "    ") + doc_string(plugin["doc"], fields, " " * 8)
            + statement(f'return self._then("{name}", {options(fields)})', " " * 8))


def decoder(plugin: dict[str, Any]) -> str:
    name, fields = plugin["name"], plugin["fields"]
    arguments = "self" + (", " + parameters(fields) if fields else "")
    document = f'{{"source": self._source, "decode": {{"{name}": given({options(fields)})}}, "steps": []}}'
    return (signature(parameter_name(name), arguments, "Pipeline", "    ") + doc_string(plugin["doc"], fields, " " * 8)
            + statement(f"return Pipeline({document})", " " * 8))


def source(plugin: dict[str, Any]) -> str:
    name, fields = plugin["name"], plugin["fields"]
    return (signature(parameter_name(name), parameters(fields), "Source", "") + doc_string(plugin["doc"], fields, "    ")
            + statement(f'return Source({{"{name}": given({options(fields)})}})', "    "))


def feature(plugins: list[dict[str, Any]]) -> str:
    """`feature`, from the schema of one feature of the decoder `example`."""
    example = next(plugin for plugin in plugins if plugin["name"] == "example")
    schema = example["fields"][0]["schema"]["additionalProperties"]
    required = set(schema.get("required", []))
    fields = []
    for name, value in schema["properties"].items():
        hint = type_of_schema(value)
        default = value.get("default")
        fields.append({"name": name, "doc": value.get("description", ""), "required": name in required,
                       "type": hint if default is not None or hint == "Any" or name in required else f"{hint} | None",
                       "default": default})
    by_name = {field["name"]: field for field in fields}
    first = [by_name.pop("dtype"), by_name.pop("shape")]
    rest = list(by_name.values())
    arguments = "dtype: str, shape: Sequence[int] = (), " + parameters(rest)
    cells = options(first + rest).replace('"shape": shape', '"shape": list(shape)')
    return (signature("feature", arguments, "dict[str, Any]", "")
            + doc_string("A feature of a tf.train.Example or SequenceExample, for `example` and `sequence_example`.", first + rest, "    ")
            + statement(f"return given({cells})", "    "))


def builder(plugins: list[dict[str, Any]]) -> str:
    of = {kind: [plugin for plugin in plugins if plugin["kind"] == kind] for kind in ("format", "decoder", "step", "order", "batcher")}
    names = sorted(["Pipeline", "Source", "feature", *(plugin["name"] for plugin in of["format"])])
    out = HEAD.format(names=", ".join(f'"{name}"' for name in names))
    out += '\n\nclass Pipeline(PipelineBase):\n    """Records, how they are decoded, and what happens to them: a pipeline document."""\n\n    __slots__ = ()\n'
    out += "".join("\n" + method(plugin) for kind in ("step", "order", "batcher") for plugin in of[kind])
    out += '\n\nclass Source(StageSource):\n    """Records; the methods say how they become tensors."""\n\n    __slots__ = ()\n'
    out += "".join("\n" + decoder(plugin) for plugin in of["decoder"])
    out += "".join("\n\n" + source(plugin) for plugin in of["format"])
    return out + "\n\n" + feature(plugins)


def core_stub(folder: pathlib.Path) -> None:
    path = folder / "_core.pyi"
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "forebay._core", "-o", str(path.resolve())], check=True,
                   cwd=TOOLS)
    path.write_text(STUB_HEAD + path.read_text())


def main(folder: pathlib.Path) -> None:
    core_stub(folder)
    # Away from python/, whose folder forebay has no compiled module.
    code = "import forebay._core as core; print(core.plugin_reference())"
    text = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=TOOLS).stdout
    (folder / "builder.py").write_text(builder(json.loads(text)))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else TOOLS.parent / "forebay")
