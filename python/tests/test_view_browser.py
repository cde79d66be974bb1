# SPDX-License-Identifier: Apache-2.0
"""The page of `view` in headless Chromium: keys, what a screen reader gets, pictures and sound."""
from __future__ import annotations

import pathlib
import re
from typing import Iterator

import exhibition
import pytest
from chromium import PROGRAM, Chromium, restarted_once

import forebay as fb

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium")

#: Roles without a name of their own: their text is read, or they only hold others.
QUIET = {"StaticText", "InlineTextBox", "none", "generic", "LabelText", "paragraph", "strong", "rowgroup", "row", "listitem"}
TABS = [("tab", "Data"), ("tab", "Plan"), ("tab", "Health")]
TOP = [("RootWebArea", "Forebay view"), ("banner", ""), ("heading", "Forebay"), ("tablist", "Pages"), *TABS, ("status", ""), ("main", "")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A page over a run of two rows that has ended."""
    folder = tmp_path_factory.mktemp("data")
    document = exhibition.write(folder, rows=2, files=1)
    with fb.load(document, threads=1, memory=64 << 20) as loader, loader.view({"tokens": exhibition.WORDS}) as page:
        for _ in loader:
            pass
        yield page.url


def opened(browser: Chromium, url: str, page: str) -> None:
    browser.open("about:blank")
    browser.open(url + "#/" + page)
    browser.wait_for("document.querySelectorAll('#rows svg').length === 4")
    browser.wait_for(f"document.querySelector('#tab-{page}').getAttribute('aria-selected') === 'true'")
    browser.wait_for({"data": "document.querySelectorAll('#features .card').length === 8",
                      "plan": "document.querySelectorAll('#numbers .card').length === 5",
                      "health": "document.querySelectorAll('#counts .card').length === 4"}[page])


def by_tab(browser: Chromium) -> list[tuple[str, str]]:
    """What the Tab key reaches, from the beginning of the page to its end."""
    found: list[tuple[str, str]] = []
    for _ in range(200):
        browser.press("Tab")
        if browser.value("document.activeElement === document.body"):
            return found
        now = browser.focused()
        if len(found) > 1 and now == found[0]:  # the browser has nothing else, so Tab begins anew
            return found
        if found[-1:] != [now]:  # a player has several controls
            found.append(now)
    raise AssertionError(f"Tab does not leave the page: {found[-3:]}")


def read_out(browser: Chromium) -> list[tuple[str, str]]:
    return browser.tree(lambda role: role not in QUIET)


def without_numbers(nodes: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(role, re.sub(r"\d[\d,.]*", "#", name)) for role, name in nodes]


@restarted_once
def test_tab_reaches_every_control_of_the_rows(browser: Chromium, url: str) -> None:
    opened(browser, url, "data")
    assert by_tab(browser) == [
        ("tab", "Data"), ("button", "Rows before"), ("button", "Next rows"), ("spinbutton", "Row"), ("button", "Go"), ("region", "Rows"),
        ("Audio", "Sound sound of row 0"), ("Audio", "Sound samples of row 0"), ("Audio", "Sound sound of row 1"),
        ("Audio", "Sound samples of row 1")]


@restarted_once
def test_tab_reaches_what_the_other_pages_have(browser: Chromium, url: str) -> None:
    opened(browser, url, "plan")
    assert by_tab(browser) == [("tab", "Plan")]
    opened(browser, url, "health")
    assert by_tab(browser) == [("tab", "Health"), ("button", "Verify")]


@restarted_once
def test_arrows_home_and_end_move_between_the_pages(browser: Chromium, url: str) -> None:
    opened(browser, url, "data")
    browser.press("Tab")
    shown = []
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "Home", "End"):
        browser.press(key)
        panels = browser.value("[...document.querySelectorAll('[role=tabpanel]')].filter((each) => !each.hidden).map((each) => each.id)")
        shown.append((browser.focused()[1], panels, browser.value("location.hash")))
    assert shown == [(name, [name.lower()], "#/" + name.lower()) for name in ("Plan", "Health", "Data", "Health", "Data", "Health")]


@restarted_once
def test_a_screen_reader_gets_the_rows_as_a_table_with_headers(browser: Chromium, url: str) -> None:
    opened(browser, url, "data")
    columns = ["row", "picture string", "sound string", "samples float32 [4000]", "bands float32 [60 × 24]", "tokens int64 [6]",
               "label string", "number float32", "pixels uint8 [32 × 32 × 3]", "origin"]
    tree = [(role, name) for role, name in read_out(browser) if role != "cell"]
    rows = [node for row in ("0", "1") for node in (
        ("rowheader", row), ("image", f"Image picture of row {row}"), ("image", f"Waveform of sound of row {row}"),
        ("Audio", f"Sound sound of row {row}"), ("image", f"Waveform of samples of row {row}"), ("Audio", f"Sound samples of row {row}"),
        ("image", f"Heat map of bands of row {row}, 60 × 24"), ("image", f"Image pixels of row {row}"))]
    assert tree[:tree.index(("heading", "Features"))] == [
        *TOP, ("tabpanel", "Data"), ("form", "Go to a row"), ("button", "Rows before"), ("button", "Next rows"), ("spinbutton", "Row"),
        ("button", "Go"), ("status", ""), ("region", "Rows"), ("table", "Rows"), *[("columnheader", name) for name in columns], *rows]
    assert without_numbers(tree[tree.index(("heading", "Features")):]) == [
        ("heading", "Features"), ("heading", "picture"), ("image", "Histogram of the sizes of picture from # to # bytes"),
        ("heading", "sound"), ("image", "Histogram of the sizes of sound from # to # bytes"),
        ("heading", "samples"), ("image", "Histogram of samples from -# to #"), ("heading", "bands"),
        ("image", "Histogram of bands from #e-# to #"), ("heading", "tokens"), ("image", "Histogram of tokens from # to #"),
        ("heading", "label"), ("image", "Most frequent values of label"), ("heading", "number"),
        ("image", "Histogram of number from -# to #"), ("heading", "pixels"), ("image", "Histogram of pixels from # to #")]


@restarted_once
def test_a_screen_reader_gets_stages_queues_and_memory(browser: Chromium, url: str) -> None:
    opened(browser, url, "plan")
    assert without_numbers(read_out(browser)) == [
        *TOP, ("tabpanel", "Plan"), ("heading", "Stages"), ("list", "Stages"), ("heading", "Read"), ("list", ""),
        ("heading", "Decide the order"), ("list", ""), ("image", "Fill of shuffle: # of #"), ("heading", "Decode and make batches"),
        ("list", ""), ("heading", "Give to the program"), ("list", ""), ("image", "Fill of prefetch: # of #"), ("heading", "Run"),
        ("heading", "Batches so far"), ("heading", "Rows so far"), ("heading", "Seconds"), ("heading", "Memory"),
        ("image", "Memory: # of # MiB"), ("heading", "Idle, share of the workers"), ("image", "Idle, share of the workers: # %"),
        ("heading", "Shuffle quality")]


@restarted_once
def test_each_group_of_stages_has_rates_time_and_memory(browser: Chromium, url: str) -> None:
    opened(browser, url, "plan")
    words = browser.value("[...document.querySelectorAll('#stages > li')].map((group) => [group.querySelector('h3').textContent, "
                          "[...group.querySelectorAll('.kind, .time, .figures > *')].map((each) => each.textContent)])")
    assert [(name, [re.sub(r"\d[\d,.]*", "#", text) for text in texts]) for name, texts in words] == [
        ("Read", ["source", "", "open", "", "# records/s", "# MB/s", "# % of the workers' time", "# MiB"]),
        ("Decide the order", ["records", "", "batch", "", "# rows/s", "# % of the workers' time", "# MiB", "shuffle: # of #"]),
        ("Decode and make batches", ["late", "", "late", "# % of the decoding time", "# rows/s", "# % of the workers' time", "# MiB"]),
        ("Give to the program", ["next", "", "# rows/s", "# batches/s", "it waited # % of the time", "prefetch: # of #"])]


@restarted_once
def test_all_live_regions_are_polite(browser: Chromium, url: str) -> None:
    opened(browser, url, "data")
    assert browser.value("[...document.querySelectorAll('[aria-live], [role=status], [role=alert], output')]"
                         ".map((each) => [each.id, each.getAttribute('aria-live')])") == [
        ["status", "polite"], ["where", "polite"], ["verified", "polite"]]


@restarted_once
def test_pictures_heat_maps_and_sound_are_shown_and_the_console_is_empty(browser: Chromium, url: str) -> None:
    browser.console.clear()
    opened(browser, url, "data")
    browser.wait_for("[...document.images].every((image) => image.complete)")
    assert browser.value("[...document.images].map((image) => [image.className, image.naturalWidth, image.naturalHeight])") == 2 * [
        ["image", 48, 48], ["heat", 60, 24], ["image", 32, 32]]
    browser.value("document.querySelectorAll('audio').forEach((player) => { player.preload = 'auto'; player.load(); })")
    browser.wait_for("[...document.querySelectorAll('audio')].every((player) => player.readyState === 4)")
    assert browser.value("[...document.querySelectorAll('audio')].map((player) => player.duration)") == [0.5, 0.25, 0.5, 0.25]
    for page in ("plan", "health"):
        opened(browser, url, page)
    assert browser.console == []


@restarted_once
def test_verify_is_started_by_keys_and_shows_file_record_and_byte(browser: Chromium, tmp_path: pathlib.Path) -> None:
    document = exhibition.write(tmp_path, rows=6, files=1)
    path = tmp_path / "part-0.tfrecord"
    data = bytearray(path.read_bytes())
    data[500] ^= 1
    path.write_bytes(data)
    with fb.load(document, threads=1) as loader, loader.view() as page:
        browser.open(page.url + "#/health")
        browser.wait_for("document.querySelectorAll('#counts .card').length === 4")
        assert by_tab(browser) == [("tab", "Health"), ("button", "Verify")]
        browser.press("Tab")
        browser.press("Tab")
        browser.press("Enter")
        browser.wait_for("!document.getElementById('corrupt-box').hidden")
        table = browser.value("[...document.querySelectorAll('#corrupt tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))")
        assert table[0][:4] == [str(path), "record with a wrong checksum", "0", "0"] and len(table) == 1
        assert browser.value("document.getElementById('verified').textContent").startswith("Verified 1 file, 5 intact records, ")
        assert ("region", "Corrupt places") in by_tab(browser)
        columns = [name for role, name in read_out(browser) if role == "columnheader"]
    assert columns == ["file", "what", "record", "byte", "bytes", "reason"]


def shown_page(browser: Chromium) -> str:
    return str(browser.value("[...document.querySelectorAll('[role=tabpanel]')].filter((each) => !each.hidden).map((each) => each.id).join()"))


@restarted_once
def test_back_and_another_address_lead_to_the_page_of_that_name(browser: Chromium, url: str) -> None:
    opened(browser, url, "data")
    for name in ("plan", "health"):
        browser.value(f"document.querySelector('#tab-{name}').click()")
    for name in ("plan", "data"):
        browser.value("history.back()")
        browser.wait_for(f"location.hash === '#/{name}'")
        browser.wait_for(f"!document.querySelector('#{name}').hidden")
        assert shown_page(browser) == name
    browser.value("location.hash = '#/health'")
    browser.wait_for("!document.querySelector('#health').hidden")
    assert shown_page(browser) == "health"


@restarted_once
def test_ten_rows_are_in_sight_classes_have_names_and_nothing_is_judged_without_a_run(browser: Chromium, tmp_path: pathlib.Path) -> None:
    for number in range(24):
        path = tmp_path / ("cat", "dog")[number % 2] / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(exhibition.picture(number))
    pipe = (fb.whole_file(str(tmp_path / "*" / "*.png"), label_from="folder").record("image").decode_image("image", resize=[48, 48])
            .batch(24))
    with pipe.load(threads=1) as loader, loader.view() as page:
        browser.open("about:blank")
        browser.open(page.url + "#/data")
        browser.wait_for("document.querySelectorAll('#rows tbody tr').length === 24")
        browser.wait_for("[...document.querySelectorAll('#rows img')].filter((each) => each.complete && each.naturalWidth).length >= 10")
        assert browser.value("(() => { const box = document.querySelector('.scroll').getBoundingClientRect();"
                             "return [...document.querySelectorAll('#rows tbody tr')].filter((row) => "
                             "row.getBoundingClientRect().bottom <= box.bottom).length >= 10 })()")
        assert {"cat", "dog"} == set(browser.value("[...document.querySelectorAll('#rows tbody tr')].map((row) => "
                                                   "row.children[2].firstChild.firstChild.textContent)"))
        browser.value("document.querySelector('#tab-plan').click()")
        browser.wait_for("document.querySelector('#verdict').textContent !== ''")
        assert browser.value("document.querySelector('#verdict').textContent") == "No batch of this run was taken yet."
