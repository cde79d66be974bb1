#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the site of the documentation: the pages of docs/, and the references, which are made from the declarations.

    tools/site/make_site.py build/release build/site

It works from local files, without a server, and loads nothing from elsewhere; the last step checks that, and every link.
"""
from __future__ import annotations

import html
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

import cpp_pages
import document_page
import plugin_pages
import python_pages
from site_pages import ROOT, Pages

HERE = pathlib.Path(__file__).resolve().parent
ROOT_PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
MORE = "      # More: pages that are not named here\n"
LINKED = re.compile(r'(?:href|src)="(?![a-z]+:|/)([^"#?]*)[^"#]*#?([^"]*)"')
OUTSIDE = re.compile(r"""<(?:script|img|link|iframe|source)[^>]+(?:src|href)=["']?(https?:)?//""")


def stage(folder: pathlib.Path, command: pathlib.Path) -> None:
    """Writes all pages into a folder, as mkdocs takes them. `command` prints its help."""
    shutil.rmtree(folder, ignore_errors=True)
    site = Pages(folder)
    for source in sorted((ROOT / "docs").rglob("*.md")):
        site.add(source, source.relative_to(ROOT / "docs").as_posix())
    for name, place in ROOT_PAGES.items():
        site.add(ROOT / name, place)
    made = {**{f"reference/{place}": text for place, text in {**plugin_pages.pages(), **cpp_pages.pages()}.items()},
            "reference/command.md": plugin_pages.command_page(command), "reference/python.md": python_pages.page(),
            "reference/documents.md": document_page.page(),
            **{f"reference/python-{name}.md": python_pages.module_page(name) for name in python_pages.MODULES}}
    for place, text in made.items():
        site.write(place, text)
    site.finish()


def navigation(settings: str, folder: pathlib.Path) -> str:
    """The settings, with the pages that they do not name under "More"."""
    every = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))
    left = [name for name in every if not name.startswith(("adr/", "files/")) and f" {name}\n" not in settings]
    more = "".join(["      - More:\n", *(f"          - {name}\n" for name in left)]) if left else ""
    return settings.replace(MORE, more)


def outside(site: pathlib.Path) -> list[str]:
    """The pages that load something from elsewhere."""
    return [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html")) if OUTSIDE.search(path.read_text())]


def broken(site: pathlib.Path) -> list[str]:
    """The links between pages of the site that lead nowhere: each page, and what it links to."""
    pages = {path.resolve(): path.read_text() for path in sorted(site.rglob("*.html"))}
    places = {path: set(re.findall(r'\sid="([^"]*)"', text)) for path, text in pages.items()}
    wrong = []
    for path, text in pages.items():
        for found in LINKED.finditer(text):
            name, place = (urllib.parse.unquote(html.unescape(part)) for part in found.groups())
            target = (path.parent / name).resolve() if name else path
            if not target.exists() or place and target in places and place not in places[target]:
                wrong.append(f"{path.relative_to(site.resolve()).as_posix()}: {name}{'#' * bool(place)}{place}")
    return wrong


def main() -> int:
    build, site = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    work = site.parent / "site-pages"
    stage(work / "docs", build / "forebay")
    (work / "mkdocs.yml").write_text(navigation((HERE / "mkdocs.yml").read_text(), work / "docs"))
    shutil.copytree(HERE / "assets", work / "docs/assets")
    mkdocs = pathlib.Path(sys.executable).parent / "mkdocs"
    done = subprocess.run([mkdocs, "build", "--strict", "--clean", "--config-file", work / "mkdocs.yml", "--site-dir", site],
                          capture_output=True, text=True, env={"NO_MKDOCS_2_WARNING": "1", "PATH": "/usr/bin:/bin"})
    if done.returncode != 0:
        print(done.stdout + done.stderr)
        return 1
    faults = [f"{name} loads something from elsewhere" for name in outside(site)]
    faults += [f"{link} leads nowhere" for link in broken(site)]
    for fault in faults:
        print(fault)
    print(f"site: {len(list(site.rglob('*.html')))} pages in {site.relative_to(ROOT) if site.is_relative_to(ROOT) else site}/index.html")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
