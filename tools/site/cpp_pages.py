# SPDX-License-Identifier: Apache-2.0
"""The reference of the C++ library, from the comments and declarations of include/forebay."""
from __future__ import annotations

import pathlib
import re

from docstring_markdown import escaped

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
NAME = re.compile(r"(?:struct|class|enum class|using|concept) (\w+)|(\w+|operator\W+)\(")
GROUPS = {"Programs": ("programs", "What a program that runs pipelines includes, by `<forebay/forebay.h>`."),
          "Plug-ins of your own": ("contracts", "What a plug-in includes, by `<forebay/plugin.h>`; [how to write one](../../plugins.md)."),
          "Options of plug-ins": ("options", "A struct for each plug-in: its options with their defaults."),
          "More": ("more", "Headers that are included on their own.")}


def pages() -> dict[str, str]:
    """The pages by place."""
    headers = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.h"))
    options = [header for header in headers if header.count("/") > 1]
    rest = [header for header in headers if header not in options and header != "forebay/plugins.h"]
    programs = [header for header in _included("forebay/forebay.h") if header in rest]
    contracts = [header for header in _included("forebay/plugin.h") if header in rest and header not in programs]
    more = [header for header in rest if header not in programs and header not in contracts]
    lists = dict(zip(GROUPS, (programs, contracts, options, more)))
    return {f"cpp/{place}.md": "\n\n".join([f"# C++: {title}", text, *(_header(header) for header in lists[title])]) + "\n"
            for title, (place, text) in GROUPS.items()}


def _included(header: str) -> list[str]:
    text = (INCLUDE / header).read_text()
    return [header, *(name for name in re.findall(r"#include <(forebay/[\w/]+\.h)>", text))]


def _header(header: str) -> str:
    entries = [_entry(comment, code) for comment, code in declarations((INCLUDE / header).read_text())]
    return "\n\n".join([f"## &lt;{header}&gt;", *entries]) if entries else ""


def declarations(text: str) -> list[tuple[str, str]]:
    """(comment, declaration) of everything in the namespace that has a comment."""
    out, comment, code, depth = [], [], [], 0
    for line in text.splitlines():
        bare = re.sub(r"//.*", "", line)
        if depth == 0 and not code:
            if line.startswith("///"):
                comment.append(line[3:].removeprefix(" "))
                continue
            if not comment or re.match(r"namespace |#|}", line):
                comment = [] if not line.startswith("#") else comment
                continue
        code.append(line)
        depth += bare.count("{") - bare.count("}")
        if depth == 0 and bare.rstrip().endswith((";", "}")):
            out.append(("\n".join(comment), "\n".join(code)))
            comment, code = [], []
    return out


def _entry(comment: str, code: str) -> str:
    match = NAME.search(re.sub(r"template <.*?>\n|\[\[\w+\]\]", "", code))
    title = f"### {next(name for name in match.groups() if name)}\n\n" if match else ""
    return f"{title}{_prose(comment)}\n\n```cpp\n{code}\n```"


def _prose(comment: str) -> str:
    """Paragraphs of a comment; pictures and programs, which are indented, stay as they are."""
    out = []
    for paragraph in re.split(r"\n\s*\n", comment):
        lines = paragraph.splitlines()
        drawn = any(line.startswith("  ") and not line.lstrip().startswith("*") for line in lines)
        out.append("```text\n" + paragraph + "\n```" if drawn else escaped("\n".join(lines)).replace("\n\\* ", "\n* "))
    return "\n\n".join(out)
