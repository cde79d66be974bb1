#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the pages of this repository point to.

* In every page: the file and the heading of each relative link exist.
* In README.md, CONTRIBUTING.md, SECURITY.md and docs/: each name of a file or folder in backticks exists, each ADR that
  is named exists, and each `Class::member` occurs in the sources.

A name is looked up from the root, from the page's folder, in src/, in include/ and include/forebay/; one without a folder
may be a file anywhere in the tree. Names in upper case (`cli/NAME.cc`) stand for other names. Prints the faults and fails if
there are any.
"""
from __future__ import annotations

import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("bench", "cli", "cmake", "docs", "examples", "fuzz", "include", "python", "src", "tests", "tools")
SOURCES = ("cli", "include", "python/src", "src")
SUFFIXES = ("cc", "cff", "cmake", "def", "h", "html", "md", "py", "pyi", "sh", "toml", "txt", "yml")
# Files that a page tells the reader to write, and the folders that they go to.
TO_WRITE = {"include/forebay/steps/add.h", "src/steps/add.cc", "tests/steps/add_test.cc", "include/forebay/steps/clip.h",
            "src/steps/clip.cc", "tests/steps/clip_test.cc"}

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^ *```.*?^ *```", re.M | re.S)
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.+-]+(?:/[\w.+-]+)*/?")
FILE = re.compile(rf"[\w.+-]+\.(?:{'|'.join(SUFFIXES)})")
MEMBER = re.compile(r"([A-Z]\w+)::(\w+)")
PLACEHOLDER = re.compile(r"(?:^|[/_.])(?:NAME|NNNN|KIND|FILE|DOC)")


@functools.cache
def tree() -> tuple[pathlib.Path, ...]:
    found = [p for p in ROOT.iterdir() if p.is_file()]
    for folder in FOLDERS:
        found += [p for p in (ROOT / folder).rglob("*") if "__pycache__" not in p.parts]
    return tuple(sorted(found))


@functools.cache
def source_words() -> frozenset[str]:
    words: set[str] = set()
    for path in tree():
        if path.suffix in (".h", ".cc") and path.is_relative_to(ROOT) and str(path.relative_to(ROOT)).startswith(SOURCES):
            words.update(re.findall(r"\w+", path.read_text()))
    return frozenset(words)


def headings(page: pathlib.Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    text = FENCE.sub("", page.read_text())
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in re.findall(r"^#+ +(.+?) *$", text, re.M))
    return {heading.replace(" ", "-") for heading in plain}


def link_faults(page: pathlib.Path, text: str) -> list[str]:
    faults = []
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists():
            faults.append(f"the link {target} leads nowhere")
        elif anchor and anchor not in headings(file):
            faults.append(f"{name or 'the page'} has no heading #{anchor}")
    return faults


def exists(name: str, page: pathlib.Path) -> bool:
    name = name.rstrip("/")
    places = (ROOT, page.parent, ROOT / "src", ROOT / "include", ROOT / "include" / "forebay")
    if any((place / name).exists() for place in places) or name in TO_WRITE:
        return True
    return "/" not in name and any(path.name == name for path in tree())


def names_a_file(word: str) -> bool:
    """Whether the word is a path of this tree, or looks like the name of one of its files."""
    if PATH.fullmatch(word) is None or PLACEHOLDER.search(word):
        return False
    if "/" in word:
        return word.split("/")[0] in (*FOLDERS, "forebay", "engine", "columns")
    return FILE.fullmatch(word) is not None


def name_faults(page: pathlib.Path, text: str) -> list[str]:
    prose = FENCE.sub("", text)
    written = set(re.findall(r"^```\w+\n(?://|#) ([\w.]+)\n", text, re.M))  # files that the page has itself
    faults = []
    for code in CODE.findall(prose):
        for word in code.split():
            word = word.partition("::")[0] if "/" in word else word.rstrip(",;:")
            if names_a_file(word) and word not in written and not exists(word, page):
                faults.append(f"there is no {word}")
        for owner, member in MEMBER.findall(code):
            if not {owner, member} <= source_words():
                faults.append(f"the sources have no {owner}::{member}")
    for number in re.findall(r"\bADR (\d{4})\b", prose):
        if not any((ROOT / "docs" / "adr").glob(f"{number}-*.md")):
            faults.append(f"there is no ADR {number}")
    return faults


def main() -> int:
    pages = [path for path in tree() if path.suffix == ".md"]
    faults = []
    for page in pages:
        text = page.read_text()
        where = page.relative_to(ROOT)
        found = link_faults(page, text)
        # The changelog and the decisions speak of what was there.
        if (where.parts[0] == "docs" and "adr" not in where.parts) or where.name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"):
            found += name_faults(page, text)
        faults += [f"{where}: {fault}" for fault in dict.fromkeys(found)]
    for fault in faults:
        print(fault)
    print(f"links: {len(pages)} pages, {len(faults)} wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
