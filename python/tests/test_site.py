# SPDX-License-Identifier: Apache-2.0
"""The pages of the site, as mkdocs gets them: every plug-in, public name and link has its place, and nothing is loaded from elsewhere."""
from __future__ import annotations

import json
import pathlib
import re
import sys

import pytest
from command import COMMAND

import forebay as fb
from forebay import _core

SITE = pathlib.Path(__file__).resolve().parents[2] / "tools/site"
sys.path.insert(0, str(SITE))

import make_site as site  # noqa: E402


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The text of every page by its place."""
    folder = tmp_path_factory.mktemp("site")
    site.stage(folder, COMMAND)
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.md")}


def test_every_page_of_the_navigation_is_there(pages: dict[str, str]) -> None:
    named = re.findall(r"- (?:[\w. +,'-]+: )?([\w/-]+\.md)$", (SITE / "mkdocs.yml").read_text(), re.M)
    assert len(named) > 60 and [name for name in named if name not in pages] == []


def test_a_page_that_the_navigation_does_not_name_is_under_more(tmp_path: pathlib.Path) -> None:
    (tmp_path / "new.md").write_text("# New\n")
    (tmp_path / "tour.md").write_text("# Tour\n")
    settings = site.navigation((SITE / "mkdocs.yml").read_text(), tmp_path)
    assert "      - More:\n          - new.md\n  - Reference:" in settings and settings.count("tour.md") == 1


def test_every_plugin_has_an_entry_with_its_options(pages: dict[str, str]) -> None:
    for plugin in json.loads(_core.plugin_reference()):
        page = next(text for name, text in pages.items() if name.startswith("reference/plugins/") and "index" not in name
                    and f"## {plugin['name']} {{" in text and plugin["doc"].split("`")[0][:20] in text)
        assert [field["name"] for field in plugin["fields"] if f"| `{field['name']}` |" not in page] == []


def test_every_public_name_of_the_package_has_an_entry(pages: dict[str, str]) -> None:
    assert [name for name in fb.__all__ if f"### fb.{name}\n" not in pages["reference/python.md"]] == ["__version__"]


def test_every_relative_link_leads_to_a_page(pages: dict[str, str]) -> None:
    wrong = []
    for name, text in pages.items():
        for target in re.findall(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)):
            place = pathlib.PurePosixPath(name).parent / target
            parts: list[str] = []
            for part in place.parts:
                parts = parts[:-1] if part == ".." else [*parts, part]
            wrong += [f"{name}: {target}"] * ("/".join(parts) not in pages)
    assert wrong == []


def test_the_theme_loads_nothing_from_elsewhere() -> None:
    settings = (SITE / "mkdocs.yml").read_text()
    assert "font: false" in settings and "polyfills: [assets/iframe-worker.js]" in settings and "http" not in settings
    assert (SITE / "assets/iframe-worker.js").is_file()


def test_a_link_that_leads_nowhere_is_found_on_the_finished_pages(tmp_path: pathlib.Path) -> None:
    (tmp_path / "guide").mkdir()
    (tmp_path / "a.html").write_text('<h2 id="h">A</h2> <a href="guide/b.html#there">b</a> <a href="#h">h</a> <a href="mailto:c">c</a>')
    (tmp_path / "guide/b.html").write_text('<p id="there"> <a href="../a.html">a</a> <a href="../a.html#g">g</a> <a href="d.html">d</a>')
    assert site.broken(tmp_path) == ["guide/b.html: ../a.html#g", "guide/b.html: d.html"]


def test_a_page_that_loads_something_from_elsewhere_is_found(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.html").write_text('<script src="//cdn/x.js"></script>')
    (tmp_path / "b.html").write_text('<script src="assets/x.js"></script> <a href="//cdn">away</a>')
    assert site.outside(tmp_path) == ["a.html"]
