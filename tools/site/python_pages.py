# SPDX-License-Identifier: Apache-2.0
"""The reference of the Python package, from its sources: signatures and docstrings. Nothing is imported."""
from __future__ import annotations

import ast
import pathlib
import re
from typing import Union

from docstring_markdown import markdown

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python/forebay"
Node = Union[ast.ClassDef, ast.FunctionDef]

GROUPS = {
    "Pipelines and runs": "load Pipeline Source Loader Epoch Epochs Plan Schema TensorSpec Stats Switch switch BatchSet",
    "Batches": "Batch MappedBatch Ragged Sparse Fraction complete_frac",
    "Sources": "tfrecord lines csv fixed_length whole_file tar npy npz idx cifar arrays arrow parquet arrow_file ArrowFiles feed Feed "
               "Producer python",
    "Several sources": "mix concat round_robin join zip",
    "Features": "fixed var_len fixed_len_sequence sparse ragged raw feature present",
    "Records and decoders": "read_records write_records encode_example decode_example encode_sequence_example "
                            "decode_sequence_example SequenceExample decode decode_raw decode_csv decode_json_example decode_image "
                            "decode_audio log_mel mfcc",
    "Files, indexes and checks": "index_files IndexReport verify FileReport CorruptPlace atomic_file verify_replicas explain json_schema",
    "Errors": "Error ConfigError DataError IoError StateError Cancelled EndOfData",
    "Queues and readers": "Queue QueueStats Coordinator QueueRunner start_queue_runners Reader ReaderCounters StateSaver SaverSizes "
                          "SegmentBatch",
}
WIDTH = 92          # of a signature
MODULES = {"torch": "torch.py", "jax": "jax.py", "tf": "tf.py", "text": "text.py", "returnn": "returnn.py",
           "tf1": "tf1", "slim": "slim", "ray": "ray"}


def definitions() -> dict[str, Node]:
    """Every class and function of the package by its name; those of _core are in its stub."""
    found: dict[str, Node] = {}
    for path in [PACKAGE / "_core.pyi", *sorted(PACKAGE.glob("*.py"))]:
        if path.stem not in MODULES:
            found.update(_public(path))
    return found


def public_names() -> list[str]:
    """The names of __all__, without modules and constants."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    lists = [node.value for node in tree.body if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"]
    names = [item.value for item in lists[0].elts if isinstance(item, ast.Constant)]     # type: ignore[attr-defined]
    for module in ("builder", "features"):
        match = re.search(r"^__all__ = (\[.*?\])", (PACKAGE / f"{module}.py").read_text(), re.M | re.S)
        names += ast.literal_eval(match[1]) if match else []
    return sorted({*names, "zip"} - {"__version__"})


def page() -> str:
    """The page of `import forebay as fb`."""
    known, names = definitions(), public_names()
    grouped = {name for group in GROUPS.values() for name in group.split()}
    groups = {**GROUPS, "Others": " ".join(name for name in names if name not in grouped)}
    out = ["# Python: forebay", "`import forebay as fb`. The methods of a pipeline for steps, orders, windows and batches are in the "
           "[reference of plug-ins](plugins/index.md); their arguments are the options there."]
    for title, group in groups.items():
        shown = [name for name in group.split() if name in known]
        if shown:
            out += [f"## {title}", *(_entry(f"fb.{name}", known[name], 3) for name in shown)]
    missing = sorted(set(names) - {name for group in groups.values() for name in group.split() if name in known})
    out += [f"### fb.{name}" for name in missing]
    return "\n\n".join(out) + "\n"


def module_page(module: str) -> str:
    """The page of a module that is imported when it is asked for."""
    path = PACKAGE / MODULES[module]
    files = sorted(path.glob("*.py")) if path.is_dir() else [path]
    top = ast.get_docstring(ast.parse((path / "__init__.py" if path.is_dir() else path).read_text())) or ""
    out = [f"# Python: forebay.{module}", markdown(top)]
    for file in files:
        if file.name == "__init__.py" or not file.stem.startswith("_"):
            out += [_entry(f"fb.{module}.{name}", node, 2) for name, node in _public(file).items()]
    return "\n\n".join(out) + "\n"


def calls() -> dict[tuple[str, str], str]:
    """How Python writes each plug-in, by (kind, name)."""
    out: dict[tuple[str, str], str] = {}
    for kind, file in {"step": "steps", "order": "orders", "window": "windows", "batcher": "batchers"}.items():
        for holder in _public(PACKAGE / f"_builder/{file}.py").values():
            out.update({(kind, name): _signature(f"pipe.{name}", node) for name, node in _methods(holder).items()})
    out.update({("decoder", name): _signature(f"source.{name}", node)
                for name, node in _methods(_public(PACKAGE / "builder.py")["Source"]).items()})
    for kind, files in {"format": ("builder", "rows", "tables"), "combination": ("combine",)}.items():
        for file in files:
            out.update({(kind, name): _signature(f"fb.{name}", node) for name, node in _public(PACKAGE / f"{file}.py").items()})
    return out


def _methods(holder: Node) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in holder.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}


def _public(path: pathlib.Path) -> dict[str, Node]:
    tree = ast.parse(path.read_text())
    return {node.name: node for node in tree.body
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_") and ast.get_docstring(node)}


def _entry(name: str, node: Node, level: int) -> str:
    out = [f"{'#' * level} {name}", f"```text\n{_signature(name, node)}\n```", markdown(ast.get_docstring(node) or "")]
    if isinstance(node, ast.ClassDef):
        for member in _members(node):
            doc = ast.get_docstring(member) if isinstance(member, ast.FunctionDef) else None
            if isinstance(member, ast.FunctionDef) and doc and (not member.name.startswith("_") or member.name in ("__next__", "__len__")):
                out += [f"**`{member.name}`**", f"```text\n{_signature(member.name, member)}\n```", markdown(doc)]
    return "\n\n".join(out)


def _members(node: ast.ClassDef) -> list[ast.stmt]:
    """What a class has, and a pipeline also from the classes that are made of no plug-in."""
    if node.name != "Pipeline":
        return node.body
    bases = [_public(PACKAGE / "pipeline.py")["PipelineBase"], _public(PACKAGE / "_builder/members.py")["Members"]]
    return [member for base in bases for member in base.body]


def _signature(name: str, node: Node) -> str:
    if isinstance(node, ast.ClassDef):
        made = [member for member in node.body if isinstance(member, ast.FunctionDef) and member.name == "__init__"]
        line = f"class {name}" + (f"({_arguments(made[0])})" if made else "")
        return line if len(line) <= WIDTH else _wrapped(line)
    if any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list):
        return f"{name}" + (f": {ast.unparse(node.returns)}" if node.returns else "")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{name}({_arguments(node)}){returns}"
    return line if len(line) <= WIDTH else _wrapped(line)


def _arguments(node: ast.FunctionDef) -> str:
    return re.sub(r"^(self|cls)(: \w+)?(, (/, )?)?", "", ast.unparse(node.args)).replace("'", "\"")


def _wrapped(line: str) -> str:
    """A call in lines, broken between arguments."""
    indent, depth, out, start = line.index("(") + 1, 0, [], 0
    for place, letter in enumerate(line):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 1:
            out.append(line[start:place + 1])
            start = place + 2
    lines: list[str] = []
    for part in [*out, line[start:]]:
        if lines and len(lines[-1]) + len(part) < WIDTH:
            lines[-1] += " " + part
        else:
            lines.append(part if not lines else " " * indent + part)
    return "\n".join(lines)
