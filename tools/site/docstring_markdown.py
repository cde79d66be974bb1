# SPDX-License-Identifier: Apache-2.0
"""Docstrings of the package as Markdown."""
from __future__ import annotations

import re

ENTRY = re.compile(r"(?P<names>[\w*]+(?:, [\w*]+)*)   *(?P<text>\S.*)")


def escaped(text: str) -> str:
    """Text without marks of Markdown outside of backquotes."""
    parts = text.split("`")
    plain = [re.sub(r"([*_<\[\]|])", r"\\\1", part) if number % 2 == 0 else part for number, part in enumerate(parts)]
    return "`".join(plain)


def cell(text: str) -> str:
    """Text in a cell of a table."""
    return escaped(" ".join(text.split())).replace("`|`", "`\\|`")


def markdown(doc: str) -> str:
    """Paragraphs stay, lists of names with explanations become tables, and indented lines programs."""
    out = []
    for paragraph in re.split(r"\n\s*\n", doc.strip("\n")):
        lines = paragraph.splitlines()
        if all(line.startswith("    ") for line in lines):
            out.append("```text\n" + "\n".join(line[4:] for line in lines) + "\n```")
        elif (rows := _rows(lines)) is not None:
            out.append("| name | meaning |\n| --- | --- |\n" + "\n".join(f"| `{names}` | {cell(text)} |" for names, text in rows))
        else:
            out.append(escaped(" ".join(line.strip() for line in lines)))
    return "\n\n".join(out)


def _rows(lines: list[str]) -> list[tuple[str, str]] | None:
    rows: list[tuple[str, str]] = []
    for line in lines:
        entry = ENTRY.fullmatch(line)
        if entry and not line.startswith(" "):
            rows.append((entry["names"], entry["text"]))
        elif rows and line.startswith(" "):
            rows[-1] = (rows[-1][0], rows[-1][1] + " " + line.strip())
        else:
            return None
    return rows
