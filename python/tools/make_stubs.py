# SPDX-License-Identifier: Apache-2.0
"""Writes forebay/_core.pyi (from the module), forebay/builder.py, forebay/_builder/*.py and forebay/features.py (from the
descriptions).

make_stubs.py [FOLDER]: into that folder, or python/forebay. A test compares what is checked in with a fresh copy.
"""
from __future__ import annotations

import importlib.util
import json
import keyword
import pathlib
import re
import subprocess
import sys
import textwrap
from typing import Any

from hints import choices, python_type, type_of_schema

TOOLS = pathlib.Path(__file__).resolve().parent

HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""Pipelines in Python: a function for every format, a method for every decoder, step, order, window and batcher."""
from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence, Union

{imports}
from forebay._arguments import dtype_of, sizes_of
from forebay._paths import Paths, paths_by_name, paths_of
from forebay.features import DType, Feature, _DTYPES
from forebay.pipeline import StageSource, given

{names}'''

METHODS_HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""{doc}"""
from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence, Union

from forebay._arguments import dtype_of, remainder_of, sizes_of
from forebay._paths import Path, path_or_none
from forebay.features import DType, _DTYPES
from forebay.loader import Shard
from forebay.pipeline import P, PipelineBase, given


class {name}(PipelineBase):
    """{doc}"""

    __slots__ = ()
'''

#: The classes that Pipeline inherits its generated methods from: file, class, kind of plug-in.
METHODS = [("members", "Members", None, "A method for each member of a pipeline document."),
           ("steps", "Steps", "step", "A method for each step."), ("orders", "Orders", "order", "A method for each order."),
           ("windows", "Windows", "window", "A method for each window step."),
           ("batchers", "Batchers", "batcher", "A method for each batcher.")]

FEATURES_HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the kinds of features; do not edit.
"""Features of tf.train messages: a function for each kind, and one for all."""
from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence, Union, get_args

import numpy as np

from forebay._arguments import dtype_of, sizes_of
from forebay.pipeline import given

{names}
Feature = Mapping[str, Any]

{dtypes}'''

PIPELINE_HEAD = '''

class Pipeline({bases}):
    """Records, how they are decoded, and what happens to them: a pipeline document."""

    __slots__ = ()
'''

SOURCE_HEAD = '''

class Source(StageSource):
    """Records; the methods say how they become tensors."""

    __slots__ = ()
'''

STUB_HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the compiled module; do not edit.
'''


def parameter_name(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


#: Options that may be left out, and are given by place nevertheless when they follow the required ones.
BY_PLACE = {"record_bytes"}


def parameters(fields: list[dict[str, Any]]) -> list[str]:
    """Required options by place or name, the others by name only. Without required ones the first is by place, too."""
    out = [f"{parameter_name(field['name'])}: {python_type(field)}" for field in fields if field["required"]]
    rest = [field for field in fields if not field["required"]]
    by_place = 0 if out and not (rest and rest[0]["name"] in BY_PLACE) else 1
    for number, field in enumerate(rest):
        if number == by_place:
            out.append("*")
        hint, default = python_type(field), field["default"]
        if default is None and hint != "Any" and not hint.startswith("Optional["):
            hint = f"Optional[{hint}]"
        if default is not None and hint.startswith("Optional["):
            raise SystemExit(f"{field['name']}: None means something and is not the default; give it a name of its own")
        out.append(f"{parameter_name(field['name'])}: {hint} = {literal(default)}")
    return out


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


def wrapped(opening: str, items: list[str], closing: str, indent: str) -> str:
    """`opening` item, item, … `closing`, in lines of at most 120 columns."""
    lines, line = [], opening
    for number, item in enumerate(items):
        piece = item + (", " if number + 1 < len(items) else closing)
        if line != opening and len(line) + len(piece.rstrip()) > 120:
            lines.append(line.rstrip())
            line = indent
        line += piece
    return "\n".join([*lines, line if items else opening + closing]) + "\n"


def signature(name: str, arguments: list[str], result: str, indent: str) -> str:
    opening = f"{indent}def {name}("
    return wrapped(opening, arguments, f") -> {result}:", " " * len(opening))


def literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def default_argument(name: str, value: str) -> str:
    return f'**{{"{name}": {value}}}' if keyword.iskeyword(name) else f"{name}={value}"


#: How an argument of a kind becomes the document's value.
CONVERTED = {"paths": 'paths_of({0}, "{0}")', "paths_by_name": 'paths_by_name({0}, "{0}")', "dtype": 'dtype_of("{0}", {0}, _DTYPES)',
             "dtype_or_tensor": 'dtype_of("{0}", {0}, _DTYPES)', "sizes": "sizes_of({0})",
             "data_file": 'path_or_none({0}, "{0}")'}


def call(opening: str, fields: list[dict[str, Any]], closing: str, indent: str) -> str:
    """`opening`{"option": value, …}, option=default, …`closing`: options that have their default are left out."""
    cells = []
    for field in fields:
        kind = "paths_by_name" if field["type"] == "dict[str, list[str]]" else field["kind"]
        argument = parameter_name(field["name"])
        value = CONVERTED.get(kind, "{0}").format(argument)
        if kind == "dtype" and not field["required"] and field["default"] is None:
            value = f"{argument} and {value}"
        cells.append(f'"{field["name"]}": {value}')
    cells = cells or [""]
    cells[0] = "{" + cells[0]
    cells[-1] += "}"
    defaults = [default_argument(field["name"], literal(field["default"])) for field in fields
                if not field["required"] and field["default"] is not None]
    return wrapped(indent + opening, [*cells, *defaults], closing, " " * len(indent + opening))


#: TensorFlow's option of everything that has `remainder`.
DROP_REMAINDER = {"name": "drop_remainder", "doc": 'TensorFlow\'s option: true is `remainder="drop"`, false "keep".'}


def method(plugin: dict[str, Any]) -> str:
    name, fields = plugin["name"], plugin["fields"]
    arguments, options, shown = ["self: P", *parameters(fields)], fields, fields
    if any(field["name"] == "remainder" and "drop" in (choices(field["schema"]) or []) for field in fields):
        arguments.append("drop_remainder: Optional[bool] = None")
        shown = [*fields, DROP_REMAINDER]
    if name == "shuffle":
        arguments = [one.replace("buffer: Optional[int]", 'buffer: Union[int, Literal["global"], None]') for one in arguments]
    text = call(f'return self._then("{name}", ', options, ")", " " * 8)
    if shown is not fields:
        text = text.replace('"remainder": remainder', '"remainder": remainder_of(remainder, drop_remainder)')
    return signature(parameter_name(name), arguments, "P", "    ") + doc_string(plugin["doc"], shown, " " * 8) + text


def decoder(plugin: dict[str, Any]) -> str:
    name, fields = plugin["name"], plugin["fields"]
    return (signature(parameter_name(name), ["self", *parameters(fields)], "Pipeline", "    ")
            + doc_string(plugin["doc"], fields, " " * 8) + call("options = given(", fields, ")", " " * 8)
            + f'        return Pipeline({{"source": self._source, "decode": {{"{name}": options}}, "steps": []}})\n')


def source(plugin: dict[str, Any]) -> str:
    name, fields = plugin["name"], plugin["fields"]
    result, opening, closing = "Source", "return Source({", ")})"
    if plugin["rows"]:
        result, opening, closing = "Pipeline", 'return Pipeline({"source": {', ')}, "steps": []})'
    return (signature(parameter_name(name), parameters(fields), result, "") + doc_string(plugin["doc"], fields, "    ")
            + call(f'{opening}"{name}": given(', fields, closing, "    "))


#: Kinds of features whose function has another name.
FUNCTIONS = {"fixed_len": "fixed"}


def feature_kind(kind: dict[str, Any]) -> str:
    """The function for one kind of feature: its options only, and those that it cannot do without required."""
    fields = {field["name"]: field for field in kind["fields"]}
    first, arguments = [fields.pop("dtype")], ["dtype: DType"]
    if "shape" in fields:
        first.append({**fields.pop("shape"), "default": []})
        arguments.append("shape: Sequence[int] = ()")
    required = [{**field, "type": field["type"].removesuffix(" | None")} for field in fields.values() if field["required"]]
    rest = [*required, *(field for field in fields.values() if not field["required"])]
    arguments += ["*", *(one for one in parameters(rest) if one != "*")]
    name = kind["name"]
    is_default = name == "fixed_len"
    opening, closing = ("return given(", ")") if is_default else (f'return {{"kind": "{name}", **given(', ")}")
    return (signature(FUNCTIONS.get(name, name), arguments, "dict[str, Any]", "")
            + doc_string(kind["doc"], first + rest, "    ") + call(opening, first + rest, closing, "    "))


def feature(plugins: list[dict[str, Any]], kinds: list[dict[str, Any]]) -> str:
    """`feature`, from the schema of one feature of the decoder `example`."""
    schema = feature_schema(plugins)
    fields = fields_of(schema["properties"], set(schema.get("required", [])))
    types = {field["name"]: field["type"] for kind in kinds for field in kind["fields"]}
    for field in fields:
        field["type"] = types[field["name"]] if field["type"] == "Any" else field["type"]
    by_name = {field["name"]: field for field in fields}
    first = [by_name.pop("dtype"), {**by_name.pop("shape"), "default": []}]
    rest = list(by_name.values())
    arguments = ["dtype: DType", "shape: Sequence[int] = ()", "*", *(one for one in parameters(rest) if one != "*")]
    return (signature("feature", arguments, "dict[str, Any]", "")
            + doc_string("A feature of any kind, for `example` and `sequence_example`; `fixed`, `var_len`, … have the "
                         "options of one kind only.",
                         first + rest, "    ")
            + call("return given(", first + rest, ")", "    "))


def fields_of(properties: dict[str, Any], required: set[str]) -> list[dict[str, Any]]:
    """The members of an object's schema, as a description has the fields of options."""
    fields = []
    for name, value in properties.items():
        hint, default = type_of_schema(value), value.get("default")
        plain = default is not None or hint == "Any" or name in required
        fields.append({"name": name, "doc": value.get("description", ""), "required": name in required, "schema": value,
                       "kind": value.get("x-kind", "value"), "type": hint if plain else f"{hint} | None",
                       "default": default})
    return fields


def long_form(schema: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of the object that may stand for a member's value, if there is one."""
    return next((one for one in schema.get("anyOf", []) if one.get("type") == "object"), None)


def member(name: str, schema: dict[str, Any]) -> str:
    """The method for a member of the document. A member with a long form has an argument for each part of that."""
    form, indent = long_form(schema), " " * 8
    if form is not None:
        fields = fields_of(form["properties"], set(form["required"]))
        (first,) = form["required"]
        doc = re.sub(r", or \{.*?\}", "", schema["description"])
        return (signature(name, ["self: P", *parameters(fields)], "P", "    ")
                + doc_string(doc, fields, indent) + call("options = given(", fields, ")", indent)
                + f'{indent}return self._with({name}=options if len(options) > 1 else options["{first}"])\n')
    hint = python_type(fields_of({name: schema}, {name})[0])
    return (signature(name, ["self: P", f"{name}: {hint}"], "P", "    ")
            + doc_string(schema["description"], [], indent) + f"{indent}return self._with({name}={name})\n")


def members(document: dict[str, Any]) -> str:
    """A method for every member of a pipeline document that PipelineBase has none for."""
    by_hand = {"$schema", "source", "decode", "steps", "epochs", "seed", "epoch_boundary", "deterministic", "inputs", "targets"}
    return "".join("\n" + member(name, schema) for name, schema in document["properties"].items() if name not in by_hand)


def dtypes(plugins: list[dict[str, Any]]) -> str:
    """The type of element types, from the first option that is one."""
    names = next(field["schema"]["enum"] for plugin in plugins for field in plugin["fields"] if field["kind"] == "dtype")
    return (wrapped("DTypeName = Literal[", [f'"{name}"' for name in names], "]", " " * 20)
            + "#: An element type: as documents name it, or as NumPy and Python do.\n"
            + 'DType = Union[DTypeName, "np.dtype[Any]", type]\n\n_DTYPES: tuple[str, ...] = get_args(DTypeName)\n')


def feature_schema(plugins: list[dict[str, Any]]) -> dict[str, Any]:
    example = next(plugin for plugin in plugins if plugin["name"] == "example")
    schema: dict[str, Any] = example["fields"][0]["schema"]["additionalProperties"]
    return schema


def listed(names: list[str]) -> str:
    return wrapped("__all__ = [", [f'"{name}"' for name in names], "]", " " * 11)


def feature_module(plugins: list[dict[str, Any]], kinds: list[dict[str, Any]]) -> str:
    names = sorted(["feature", *(FUNCTIONS.get(kind["name"], kind["name"]) for kind in kinds)])
    out = FEATURES_HEAD.format(names=listed(names), dtypes=dtypes(plugins))
    return out + "".join("\n\n" + feature_kind(kind) for kind in kinds) + "\n\n" + feature(plugins, kinds)


def builder(plugins: list[dict[str, Any]]) -> str:
    # A source of objects of the program has a function of its own, which takes the objects (forebay/rows.py).
    formats = [one for one in plugins if one["kind"] == "format" and all(field["kind"] != "binding" for field in one["fields"])]
    names = sorted(["Pipeline", "Source", *(plugin["name"] for plugin in formats)])
    imports = "\n".join(f"from forebay._builder.{file} import {name}" for file, name, _, _ in sorted(METHODS))
    out = HEAD.format(names=listed(names), imports=imports)
    out += PIPELINE_HEAD.format(bases=", ".join(name for _, name, _, _ in METHODS)) + SOURCE_HEAD
    out += "".join("\n" + decoder(plugin) for plugin in plugins if plugin["kind"] == "decoder")
    return without_unused(out + "".join("\n\n" + source(plugin) for plugin in formats))


def methods(plugins: list[dict[str, Any]], document: dict[str, Any]) -> dict[str, str]:
    """The files of _builder: their names and texts."""
    out = {}
    for file, name, kind, doc in METHODS:
        body = members(document) if kind is None else "".join("\n" + method(one) for one in plugins if one["kind"] == kind)
        out[file + ".py"] = without_unused(METHODS_HEAD.format(name=name, doc=doc) + body)
    return out


def without_unused(text: str) -> str:
    """The text without the names that it imports and does not use."""
    def kept(line: re.Match[str]) -> str:
        names = [name for name in line[2].split(", ") if len(re.findall(rf"\b{name}\b", text)) > 1]
        return f"{line[1]}{', '.join(names)}\n" if names else ""
    return re.sub(r"(from (?!__future__)\S+ import )(.*)\n", kept, text).replace("annotations\n\n\n", "annotations\n\n")


def descriptions() -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """The plug-ins, the kinds of features and the schema of a pipeline document, from the compiled module without the package around it, whose
    builder may be the one to be replaced."""
    spec = importlib.util.find_spec("forebay")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("forebay is not installed for this interpreter: python/tools/link_into.py")
    folder = spec.submodule_search_locations[0]
    code = (f"import sys; sys.path.append({folder!r}); import _core\n"
            'print("[" + ",".join([_core.plugin_reference(), _core.feature_reference(), _core.document_schema()]) + "]")')
    text = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True, cwd=TOOLS).stdout
    plugins, features, documents = json.loads(text)
    return plugins, features, next(one for one in documents["anyOf"] if "steps" in one.get("properties", {}))


def main(folder: pathlib.Path) -> None:
    plugins, kinds, document = descriptions()
    (folder / "builder.py").write_text(without_unused(builder(plugins)))
    (folder / "_builder").mkdir(exist_ok=True)
    for name, text in methods(plugins, document).items():
        (folder / "_builder" / name).write_text(text)
    (folder / "features.py").write_text(feature_module(plugins, kinds))
    stub = folder.resolve() / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "forebay._core", "-o", str(stub)]
    subprocess.run(command, check=True, cwd=TOOLS)
    # forebay/_habits.py has the class Batch tell of unknown attributes, which is nothing that a type checker should know.
    told = "from forebay._habits import unknown_attribute as __getattr__\n\n"
    stub.write_text(STUB_HEAD + stub.read_text().replace(told, ""))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else TOOLS.parent / "forebay")
