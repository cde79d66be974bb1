# SPDX-License-Identifier: Apache-2.0
"""The pages of the site: those of docs/, and files of the tree that they point to, with links that lead there."""
from __future__ import annotations

import os
import pathlib
import posixpath
import re
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]
LANGUAGES = {".py": "python", ".cc": "cpp", ".h": "cpp", ".json": "json", ".md": "markdown"}
LINK = re.compile(r"(\[[^\]\n]*\]\()([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^( *```.*?^ *```)$", re.M | re.S)
NAMED = re.compile(r"(?<!\[)`(docs/[\w/-]+\.md|[A-Z]+\.md)`(?!\])")
# How much more than others a page counts in the search.
BOOSTS = {"guide/": 4, "index": 4, "reference/plugins": 3, "adr/": 0.2, "files/": 0.2, "changelog": 0.2, "promises": 0.2}
MARK = re.compile(r"^<!-- (?:not run: .*?|with torch|numbers .*?vary) -->\n+", re.M)


class Pages:
    """Collects the pages in a folder, as mkdocs reads them."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._places: dict[pathlib.Path, str] = {}      # of a file of the tree, its page
        self._waiting: list[pathlib.Path] = []

    def add(self, source: pathlib.Path, place: str) -> None:
        """A page of the tree, at a place of the site."""
        self._places[source] = place
        self._waiting.append(source)

    def write(self, place: str, text: str) -> None:
        """A page that is made here."""
        path = self._folder / place
        share = next((share for prefix, share in BOOSTS.items() if place.startswith(prefix)), 0)
        text = f"---\nsearch:\n  boost: {share}\n---\n\n{text}" if share else text
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def finish(self) -> None:
        """Writes the pages that were added, and the files of the tree that they point to."""
        while self._waiting:
            source = self._waiting.pop(0)
            if source.suffix == ".png":
                target = self._folder / self._places[source]
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
            else:
                self.write(self._places[source], self._text(source))

    def _text(self, source: pathlib.Path) -> str:
        if source.is_dir():
            return self._listing(source)
        text = source.read_text()
        if source.suffix != ".md":
            name = source.relative_to(ROOT).as_posix()
            return f"# {name}\n\n```{LANGUAGES.get(source.suffix, 'text')}\n{text.rstrip()}\n```\n"
        parts = FENCE.split(MARK.sub("", text))
        return "".join(part if number % 2 else self._linked(part, source) for number, part in enumerate(parts))

    def _listing(self, folder: pathlib.Path) -> str:
        files = [path for path in sorted(folder.iterdir()) if path.suffix in LANGUAGES or (path / "main.cc").exists()]
        lines = [f"* [{path.name}]({self._to(path, folder)})" for path in files if path.is_file()]
        return f"# {folder.relative_to(ROOT).as_posix()}\n\n" + "\n".join(lines) + "\n"

    def _linked(self, text: str, source: pathlib.Path) -> str:
        def link(match: re.Match[str]) -> str:
            head, target, anchor = match[1], match[2], match[3] or ""
            path = (source.parent / target).resolve()
            if re.match(r"[a-z]+:", target) or not path.exists():
                return match[0]
            return f"{head}{self._to(path, source)}{anchor})"

        def named(match: re.Match[str]) -> str:
            path = ROOT / match[1]
            return f"[`{match[1]}`]({self._to(path, source)})" if path.exists() and path != source else match[0]

        return NAMED.sub(named, LINK.sub(link, text))

    def _to(self, path: pathlib.Path, source: pathlib.Path) -> str:
        """The link from the page of `source` to that of `path`, which is added if it is not there."""
        if path not in self._places:
            name = path.relative_to(ROOT).as_posix()
            page = name if path.suffix == ".png" else f"{name.removesuffix('.md')}.md" if path.is_file() else f"{name}/index.md"
            self.add(path, f"files/{page}")
        return posixpath.relpath(self._places[path], os.path.dirname(self._places[source]) or ".")
