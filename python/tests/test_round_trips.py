# SPDX-License-Identifier: Apache-2.0
"""Round trips before the first batch of a global shuffle on a machine that has no indexes: answers come in waves."""
from __future__ import annotations

import json
import pathlib
import random
import threading
from typing import Any, Callable, Iterator

import pytest
from stores import records
from test_listed_versions import lists
from web_server import Asked, Web

import forebay as fb


FILES = 12


class Clock:
    """Holds each request until none has come for half a second, then lets go of all that came: one round trip."""

    def __init__(self, answer: "Callable[[Asked], Any]") -> None:
        self.answer, self.changed = answer, threading.Condition()
        self.trips: "list[list[str]]" = []
        self.held: "list[str]" = []
        self.came = 0

    def __call__(self, asked: Asked) -> Any:
        what = "list" if "list-type" in asked.path else asked.path.rsplit("/", 1)[1]
        with self.changed:
            self.came += 1
            trip, now = len(self.trips), self.came
            self.held.append(f"{asked.method} {what}")
            while len(self.trips) == trip:
                if not self.changed.wait(.5) and now == self.came and len(self.trips) == trip:
                    self.trips.append(sorted(self.held))
                    self.held = []
                    self.changed.notify_all()
        return self.answer(asked)


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> "Iterator[Web]":
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / "cache"))
    with Web() as made:
        made.fault = lists(made)
        fb.add_file_system("s3", fb.S3Files(endpoint=made.url, anonymous=True))
        yield made
    fb.add_file_system("s3", fb.S3Files())


def publish(web: Web, folder: pathlib.Path, pipe: "Callable[[list[str]], fb.Pipeline]") -> None:
    """Puts the files into a bucket, and indexes of them."""
    for path in folder.iterdir():
        web.put(f"/bucket/p/{path.name}", path.read_bytes())
    out = folder.parent / "published"
    fb.index_files(pipe([f"s3://bucket/p/{path.name}" for path in sorted(folder.iterdir())]).batch(1), publish=out, index_dir=folder.parent / "elsewhere")
    for name in ("index-v1", "catalogue-v1"):
        web.put(f"/bucket/p/.forebay/{name}", (out / name).read_bytes())


@pytest.fixture
def parts(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(FILES):
        fb.write_records(folder / f"part-{number}", [fb.encode_example({"id": [number * 10 + row], "values": list(range(9000))}) for row in range(4)])
    return folder


@pytest.mark.parametrize("named", [False, True])
def test_the_sources_of_a_mixture_are_looked_for_together(web: Web, parts: pathlib.Path, named: bool) -> None:
    for path in parts.iterdir():
        for branch in range(6):
            web.put(f"/bucket/{branch}/{path.name}", path.read_bytes())
    files = [[f"s3://bucket/{branch}/part-0", f"s3://bucket/{branch}/part-1"] if named else [f"s3://bucket/{branch}/part-?"] for branch in range(6)]
    pipe = fb.mix([records(files[0]), fb.concat([records(each) for each in files[1:3]]).filter("id >= 0"), *map(records, files[3:])]).batch(8)
    web.fault = clock = Clock(lists(web))
    pipe.plan()
    web.fault = lists(web)
    asked = ["GET list"] * 6 if not named else ["HEAD part-0"] * 6 + ["HEAD part-1"] * 6
    assert clock.trips[0] == asked and len(clock.trips) + len(clock.held) <= 2, "and one file, which checks the lists"


def lines(files: "list[str]") -> fb.Pipeline:
    return fb.json_lines(files, {"id": "int64"}).shuffle(global_=True).seed(1)


def first_batch(web: Web, pipe: fb.Pipeline, memory: str = "512MiB") -> "list[list[str]]":
    """The round trips before it, after which the run goes on without a clock."""
    clock = Clock(lists(web))
    web.fault = clock
    with pipe.batch(8).load(threads=2, memory=memory) as loader:
        rows = len(next(loader)["id"])
        trips = list(clock.trips)
        web.fault = lists(web)
        with clock.changed:
            clock.trips.append([])
            clock.changed.notify_all()
        assert rows + sum(len(batch["id"]) for batch in loader) == loader.stats().records
    return trips


def test_a_folder_takes_three(web: Web, parts: pathlib.Path) -> None:
    publish(web, parts, records)
    trips = first_batch(web, records("s3://bucket/p/*").shuffle(global_=True))
    assert trips[:2] == [["GET list"], ["GET catalogue-v1", "GET index-v1", "HEAD part-0"]], "the list is checked meanwhile"
    assert len(trips) == 3 and all(call.startswith("GET part-") for call in trips[2])


def test_named_files_take_three(web: Web, parts: pathlib.Path) -> None:
    publish(web, parts, records)
    trips = first_batch(web, records([f"s3://bucket/p/part-{number}" for number in range(FILES)]).shuffle(global_=True))
    assert trips[:2] == [sorted(f"HEAD part-{number}" for number in range(FILES)), ["GET catalogue-v1", "GET index-v1"]], "the plan looks whether they are there"
    assert len(trips) == 3 and all(call.startswith("GET part-") for call in trips[2])


@pytest.mark.parametrize("harm", ["", "cut", "other", "page"])
def test_a_large_store_takes_one_more(web: Web, tmp_path: pathlib.Path, harm: str) -> None:
    """An eighth of the memory has no room for it, so the entries of the files alone are asked for, where the catalogue says that they are."""
    folder = tmp_path / "lines"
    folder.mkdir()
    draw = random.Random(1)
    for number in range(FILES):
        (folder / f"part-{number}").write_text("".join('{"id": %d}\n' % draw.randrange(10 ** draw.randrange(1, 15)) for _ in range(60_000)))
    publish(web, folder, lines)
    catalogue, version = web.objects["/bucket/p/.forebay/catalogue-v1"]
    files = json.loads(catalogue)["files"]
    assert sum(file["bytes"] for file in files) > 1 << 20
    if harm == "cut":
        catalogue = catalogue[:-20]
    elif harm == "other":
        files[1]["offset"] += 8
        catalogue = json.dumps({"files": files}).encode()
    elif harm == "page":
        catalogue = b"<html>there is nothing here</html>"
    web.objects["/bucket/p/.forebay/catalogue-v1"] = catalogue, version
    pipe = lines([f"s3://bucket/p/part-{number}" for number in (3, 11)])
    if harm:
        with pipe.batch(1000).load(memory="8MiB") as loader, lines([f"{folder}/part-{number}" for number in (3, 11)]).batch(1000).load() as local:
            assert [batch["id"].tolist() for batch in loader] == [batch["id"].tolist() for batch in local]
        return
    trips = first_batch(web, pipe, "8MiB")
    assert trips[0] == ["HEAD part-11", "HEAD part-3"]
    assert trips[1] == ["GET catalogue-v1", "GET index-v1"] and set(trips[2]) == {"GET index-v1"}
    assert len(trips) == 4 and all(call.startswith("GET part-") for call in trips[3])


@pytest.mark.parametrize(("bytes_of_list", "requests"), [(1_000, 1), (400_000, 2)])
def test_a_list_file_takes_one_and_a_large_one_two(web: Web, tmp_path: pathlib.Path, bytes_of_list: int, requests: int) -> None:
    fb.write_records(tmp_path / "x", [fb.encode_example({"id": [row]}) for row in range(10)])
    web.put("/a/x", (tmp_path / "x").read_bytes())
    web.put("/a/files.txt", b"\n" * bytes_of_list + b"x\n")
    (tmp_path / "manifest.json").write_text(json.dumps({"compression": None, "allow_var_len": False, "features": [
        {"name": "id", "dtype": "int64", "shape": [], "deserialize_type": "int"}]}))
    document = {"type": "independent", "inputs": ["id"], "targets": [], "args": {
        "dataset": {"type": "list", "args": {"list_file": f"{web.url}/a/files.txt", "manifest_file": str(tmp_path / "manifest.json")}},
        "target_batch_size": 4, "drop_remainder": False, "epochs": 1, "num_read_buffer_bytes": 1024, "num_prefetch": 1,
        "primary_features": [{"from_name": "id", "to_name": "id"}]}}
    web.fault = lambda asked: None
    with fb.load(document) as loader:
        assert [row for batch in loader for row in batch["id"].tolist()] == list(range(10))
    assert sum(asked.path == "/a/files.txt" for asked in web.asked) == requests
