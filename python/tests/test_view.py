# SPDX-License-Identifier: Apache-2.0
"""The page of `view` over its real server: access, content and hostile files; in Chromium, where it is installed."""
from __future__ import annotations

import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

import numpy as np
import pytest
from command import COMMAND
from conftest import ROOT
from PIL import Image

import forebay as fb
from forebay._view import View, media
from forebay._view.command import plan_of
from forebay._view.stages import stage_groups
from forebay.loader import plan

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
EVIL = "<script>document.title='ran'</script>"


@pytest.fixture(scope="module")
def view(tmp_path_factory):
    """A file with names and strings of markup, 1 MB strings, NaN, an image, and one that does not decode."""
    path = tmp_path_factory.mktemp("view") / f"{EVIL[:8]}.tfrecord"
    picture = media.png(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
    fb.write_records(path, [fb.encode_example({
        EVIL: [b"<img src=x onerror=alert(1)>" + b"y" * 1_000_000], "number": [float("nan"), float("inf"), i / 2], "ids": [i, 1],
        "picture": [picture if i % 2 else b"\x89PNG\r\n\x1a\nno image"]}) for i in range(40)])
    features = {EVIL: {"dtype": "string", "shape": []}, "number": {"dtype": "float32", "shape": [3]},
                "ids": {"dtype": "int64", "shape": [2]}, "picture": {"dtype": "string", "shape": []}}
    document = {"source": {"tfrecord": {"files": [str(path).replace("[", "[[]")]}}, "decode": {"example": {"features": features}},
                "steps": [{"batch": {"size": 8}}]}
    with fb.load(document, threads=1) as loader:
        next(loader)
        with loader.view({"ids": ["zero", "one"]}) as page:
            yield page


def asked(view, question, method="GET", host=None, token=None, origin=None):
    url = urllib.parse.urlsplit(view.url)
    connection = http.client.HTTPConnection("127.0.0.1", url.port, timeout=20)
    connection.request(method, (url.path if token is None else f"/{token}/") + question,
                       headers={name: value for name, value in (("Host", host), ("Origin", origin)) if value is not None})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def test_only_the_token_and_the_own_host_open_the_page(view):
    port = urllib.parse.urlsplit(view.url).port
    assert asked(view, "")[0] == 200
    assert asked(view, "", host=f"localhost:{port}")[0] == 200
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}"):
        assert asked(view, "rows?row=0", host=host)[0] == 403
    for token in ("", "wrong", view.url.split("/")[3][:-1], "%C3%A9"):
        assert asked(view, "rows?row=0", token=token)[0] == 404


@pytest.mark.parametrize("path", ["../view.py", "..%2fview.py", "%2e%2e/view.py", "/etc/passwd", "page/view.js", "view.js/../../server.py"])
def test_no_path_leads_out_of_the_page(view, path):
    status, _, body = asked(view, path)
    assert (status, body) == (404, b"not found")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "ANYTHING"])
def test_other_methods_are_refused(view, method):
    status, headers, _ = asked(view, "rows?row=0", method)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


@pytest.fixture
def corrupt(tmp_path):
    """The document of two files: in the first one a payload is wrong, and the second one ends early."""
    for name in ("a", "b"):
        fb.write_records(tmp_path / f"{name}.tfrecord", [fb.encode_example({"x": [float(i)]}) for i in range(20)])
    first, second = (bytearray((tmp_path / f"{name}.tfrecord").read_bytes()) for name in ("a", "b"))
    size = len(first) // 20
    first[3 * size + 14] ^= 1
    (tmp_path / "a.tfrecord").write_bytes(first)
    (tmp_path / "b.tfrecord").write_bytes(second[:-5])
    return size, {"source": {"tfrecord": {"files": [str(tmp_path / "?.tfrecord")]}},
                  "decode": {"example": {"features": {"x": {"dtype": "float32", "shape": [1]}}}}, "steps": [{"batch": {"size": 4}}]}


def verified(view):
    for _ in range(400):
        state = json.loads(asked(view, "health")[2])["verification"]
        if state["state"] != "running":
            return state
        time.sleep(0.02)
    raise TimeoutError("verify does not end")


def own(view):
    return {"origin": "http://" + urllib.parse.urlsplit(view.url).netloc}


def test_verify_says_what_is_corrupt_and_where(corrupt, tmp_path):
    size, document = corrupt
    with View(plan(document)) as page:
        assert verified(page) == {"state": "not begun", "places": []}
        assert asked(page, "verify", "POST", **own(page))[0] == 200
        state = verified(page)
    places = [{**place, "file": pathlib.Path(place["file"]).name, "reason": place["reason"].split(": ")[1]} for place in state.pop("places")]
    assert places == [{"file": "a.tfrecord", "what": "record", "record": 3, "byte": 3 * size, "bytes": size, "reason": "corrupted record"},
                      {"file": "b.tfrecord", "what": "range", "record": 19, "byte": 19 * size, "bytes": size - 5,
                       "reason": "truncated record"}]
    assert state == {"state": "done", "error": "", "fraction": 1, "files": 2, "records": 38, "bytes": 40 * size - 5,
                     "corrupt_records": 1, "unreadable_ranges": 1, "corrupt_bytes": 2 * size - 5, "seen": 2}


def test_verify_can_be_stopped_and_begun_anew(corrupt, monkeypatch):
    _, document = corrupt
    held = threading.Event()

    def slow(plan, threads, report, progress):
        held.set()
        while progress(0.5, 1, 2, 0):
            time.sleep(0.01)
        raise fb.Cancelled("interrupted", code="cancelled", detail="none")

    with View(plan(document)) as page:
        with monkeypatch.context() as patch:
            patch.setattr("forebay._core.verify_plan", slow)
            asked(page, "verify", "POST", **own(page))
            assert held.wait(20) and json.loads(asked(page, "health")[2])["verification"]["state"] == "running"
            assert asked(page, "verify/stop", "POST", **own(page))[0] == 200
            assert verified(page)["state"] == "stopped"
        asked(page, "verify", "POST", **own(page))
        assert verified(page)["state"] == "done"


def test_verify_of_rows_that_are_in_no_file_says_so():
    with fb.arrays({"x": np.arange(4)}).batch(2).load(1) as loader, loader.view() as page:
        asked(page, "verify", "POST", **own(page))
        state = verified(page)
    assert state["state"] == "failed" and "file" in state["error"]


def test_only_the_page_itself_begins_and_stops_a_verification(corrupt):
    with View(plan(corrupt[1])) as page:
        port = urllib.parse.urlsplit(page.url).port
        evil = "evil.example"
        for origin in (None, "null", f"http://{evil}", f"http://localhost:{port}", f"https://127.0.0.1:{port}"):
            assert asked(page, "verify", "POST", origin=origin)[0] == 403
        assert asked(page, "verify", "POST", host=evil, origin=f"http://{evil}")[0] == 403
        assert asked(page, "verify", "POST", token="wrong", **own(page))[0] == 404
        for method in ("GET", "HEAD"):
            status, headers, _ = asked(page, "verify", method, **own(page))
            assert (status, headers["Allow"]) == (405, "POST")
        assert verified(page)["state"] == "not begun"


def test_the_page_has_no_inline_script_and_no_outside_resource(view):
    _, headers, body = asked(view, "")
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'") and "unsafe" not in policy and "http" not in policy
    assert b"<script>" not in body and b"://" not in body and b"onload" not in body and b"style=" not in body


def test_rows_have_their_origin_and_long_strings_are_cut(view):
    answer = json.loads(asked(view, "rows?row=19")[2])
    row = answer["rows"][0]
    assert (answer["batch"], row["row"], row["index"]) == (2, 19, 3)
    cells = {column["name"]: cell for column, cell in zip(answer["columns"], row["cells"])}
    assert row["origin"].startswith("/") and cells["ids"]["words"] == "⟨19⟩ one" and cells["number"]["text"] == "nan, inf, 9.5"
    assert (len(cells[EVIL]["text"]), cells[EVIL]["more"], cells["picture"]["kind"]) == (400, True, "image")
    more = json.loads(asked(view, "text?" + urllib.parse.urlencode({"batch": 2, "index": 3, "name": EVIL}))[2])
    assert len(more["text"]) == 20_000


def test_images_are_shown_as_png_of_our_own_and_only_if_they_decode(view):
    status, headers, body = asked(view, "image?batch=0&index=1&name=picture")
    assert (status, headers["Content-Type"]) == (200, "image/png")
    assert fb.decode_image(body).tolist() == np.arange(48).reshape(4, 4, 3).tolist()
    status, headers, body = asked(view, "image?batch=0&index=0&name=picture")
    assert (status, headers["Content-Type"]) == (400, "application/json") and b"error" in body


@pytest.mark.parametrize("question", ["rows?row=x", "image?batch=0&index=99&name=ids", "image?batch=0&index=0", "sound?batch=0&index=0&name=no",
                                      "text?batch=-1&index=0&name=ids", "image?batch=0&index=0&name=picture&side=0"])
def test_wrong_questions_are_answered_with_an_error(view, question):
    assert asked(view, question)[0] == 400


def test_features_count_what_is_not_finite(view):
    asked(view, "rows?row=0")
    found = {each["name"]: each for each in json.loads(asked(view, "features")[2])}
    assert found["number"]["not_finite"] == found["number"]["rows"] * 2
    assert json.loads(asked(view, "stats")[2])["rows"] == 8


def test_a_file_gets_a_plan_of_all_its_features(tmp_path):
    fb.write_records(tmp_path / "a.tfrecord", [fb.encode_example({"x": [1.5, 2.5], "s": [b"a"]})] * 3)
    with View(plan_of(str(tmp_path / "a.tfrecord"))) as page:
        answer = json.loads(asked(page, "rows?row=0")[2])
    assert {column["name"]: column["dtype"] for column in answer["columns"]} == {"x": "float32", "s": "string"}


def test_strings_of_100_mb_are_shown_by_their_beginning(tmp_path):
    path = tmp_path / "large.tfrecord"
    fb.write_records(path, [fb.encode_example({"x": [b"<b>" + b"y" * 100_000_000]})])
    with View(plan_of(str(path))) as page:
        answer = json.loads(asked(page, "rows?row=0")[2])
        cell = answer["rows"][0]["cells"][0]
        features = json.loads(asked(page, "features")[2])
    assert cell == {"kind": "text", "text": "<b>" + "y" * 397, "shape": [], "more": True, "size": 100_000_003}
    assert features == [{"name": "x", "rows": 1, "missing": 0, "distinct": 1, "top": [["<b>" + "y" * 57, 1]]}]


def test_batches_of_large_records_are_small(tmp_path):
    path = tmp_path / "images.tfrecord"
    fb.write_records(path, [fb.encode_example({"x": [bytes([i]) * (3 << 20)]}) for i in range(12)])
    with View(plan_of(str(path))) as page:
        answer = json.loads(asked(page, "rows?row=3")[2])
    assert (answer["batch"], answer["size"], [row["row"] for row in answer["rows"]]) == (1, 2, [3])


def test_files_of_every_kind_and_folders_get_a_plan(tmp_path):
    (tmp_path / "a.csv").write_text("name,age\nann,3\nbob,5\n")
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.int32).reshape(3, 2))
    for label in ("cats", "dogs"):
        (tmp_path / "pictures" / label).mkdir(parents=True)
        Image.new("RGB", (4, 3), (255, 0, 0)).save(tmp_path / "pictures" / label / "a.png")
    names = {}
    for path in ("a.csv", "a.npy", "pictures"):
        with View(plan_of(str(tmp_path / path))) as page:
            answer = json.loads(asked(page, "rows?row=0")[2])
            names[path] = [column["name"] for column in answer["columns"]]
    assert names == {"a.csv": ["name", "age"], "a.npy": ["a"], "pictures": ["content", "label"]}
    with pytest.raises(fb.Error, match="nothing.bin"):
        plan_of(str(tmp_path / "nothing.bin"))


FRAMES = fb.arrays({"x": np.arange(24, dtype=np.float32).reshape(6, 4)})


@pytest.mark.parametrize("pipe, names", [
    (FRAMES.slice("x", "[:2]").cast("x", "int64").batch(2), ["slice", "cast"]),
    (FRAMES.batch(2).slice("x", "[:2]"), ["slice"]),
    (FRAMES.cast("x", "int64").chunk(2, keys=["x"]).cast("x", "float32").slice("x", "[:1]").batch(2), ["cast", "slice"]),
    (fb.mix([FRAMES.slice("x", "[:2]"), FRAMES.slice("x", "[2:]").cast("x", "int64").cast("x", "float32")], until="all")
     .cast("x", "int64").batch(2), ["branch 0: slice", "branch 1: slice", "branch 1: cast", "branch 1: cast", "cast"])],
    ids=["steps", "after the batch", "windows", "branches"])
def test_the_times_of_steps_stand_beside_their_lines_of_the_plan(pipe, names):
    with pipe.load(1) as loader:
        next(loader)
        lines = [stage["text"].split()[0] for group in stage_groups(loader.plan) for stage in group["stages"] if stage["step"] is not None]
        timed = [name for name, _ in loader.stats().steps]
    assert (timed, lines) == (names, [name.split(": ")[-1] for name in names])


def test_stages_of_branches_are_groups_of_their_own():
    pipe = fb.mix([FRAMES.shuffle(4), FRAMES.cast("x", "int64").cast("x", "float32")], until="all").shuffle(4).batch(2)
    assert [(group["work"], group["branch"], [stage["stage"] for stage in group["stages"]]) for group in stage_groups(pipe.plan())] == [
        ("scan", None, ["combine"]), ("scan", 0, ["branch", "source", "open"]), ("order", 0, ["records"]), ("decode", 0, ["late"]),
        ("scan", 1, ["branch", "source", "open"]), ("decode", 1, ["late", "late", "late"]), ("order", None, ["records", "batch"]),
        ("decode", None, ["late"])]


def test_a_feed_loses_no_row_to_the_page():
    feed = fb.Feed({"x": fb.fixed("int64", [])}, capacity=8)
    for i in range(4):
        feed.put({"x": np.int64(i)})
    feed.close()
    with fb.feed(feed).batch(4).load(1) as loader, loader.view() as page:
        assert "second loader" in json.loads(asked(page, "rows?row=0")[2])["failure"]
        assert next(loader)["x"].tolist() == [0, 1, 2, 3]


def test_sound_is_a_wav_file():
    samples, rate = fb.decode_audio(media.wav(np.array([0, 0.5, np.nan, -1], np.float32), 8000), mono=True)
    assert rate == 8000 and np.abs(samples - [0, 0.5, 0, -1]).max() < 1e-4


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_chromium_shows_hostile_rows_as_text_and_runs_nothing(view, tmp_path):
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}",
                           "--virtual-time-budget=3000", "--dump-dom", view.url], capture_output=True, text=True, timeout=60)
    assert "<title>Forebay view</title>" in done.stdout
    assert "&lt;script&gt;document.title" in done.stdout and "cannot be decoded" in done.stdout


def test_the_command_starts_the_page_or_says_how_to_get_it():
    document = str(ROOT / "examples" / "taxi" / "loader.json")
    path = f"{pathlib.Path(sys.executable).parent}:/usr/bin:/bin"
    process = subprocess.Popen([COMMAND, "view", document], stdout=subprocess.PIPE, text=True, env={**os.environ, "PATH": path})
    try:
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(url + "rows?row=5", timeout=20) as answer:
            assert json.load(answer)["rows"][0]["row"] == 5
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        process.stdout.close()
    done = subprocess.run([COMMAND, "view", document], capture_output=True, text=True, timeout=20, env={"PATH": "/nowhere"})
    assert done.returncode == 2 and "pip install forebay" in done.stderr
