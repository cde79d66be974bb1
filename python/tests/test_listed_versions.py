# SPDX-License-Identifier: Apache-2.0
"""A list of a folder tells the versions of its files: runs ask for none of them again, and never mix two."""
from __future__ import annotations

import pathlib
import urllib.parse
from typing import Any, Callable, Iterator

import pytest
from s3_server import PAGE, S3Server
from stores import Telling, in_memory, new_store, records, values, write_parts
from web_server import Asked, Web, says

import forebay as fb


def lists(web: Web, etag: "Callable[[int], str]" = lambda version: f'"v{version}"') -> "Callable[[Asked], Any]":
    """Answers requests for lists as a store would."""
    def answer(asked: Asked) -> Any:
        question = urllib.parse.parse_qs(asked.path.partition("?")[2])
        if "list-type" not in question:
            return None
        with web.lock:
            found = {path.split("/", 2)[2]: object for path, object in web.objects.items()}
        contents = "".join(f"<Contents><Key>{key}</Key><LastModified>x</LastModified><ETag>{etag(version).replace(chr(34), '&quot;')}</ETag>"
                           f"<Size>{len(data)}</Size></Contents>"
                           for key, (data, version) in found.items() if key.startswith(question["prefix"][0]))
        return says(200, text=f"<ListBucketResult>{contents}<IsTruncated>false</IsTruncated></ListBucketResult>".encode())
    return answer


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> "Iterator[Web]":
    with Web() as made:
        made.fault = lists(made)
        fb.add_file_system("s3", fb.S3Files(endpoint=made.url, anonymous=True))
        yield made
    fb.add_file_system("s3", fb.S3Files())


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> "list[pathlib.Path]":
    return write_parts(tmp_path_factory.mktemp("parts"))


def put(web: Web, parts: "list[pathlib.Path]") -> None:
    for path in parts:
        web.put(f"/bucket/p/{path.name}", path.read_bytes())


ORDERS: "dict[str, Callable[[Any], Any]]" = {
    "in order": lambda files: records(files), "globally": lambda files: records(files).shuffle(global_=True),
    "a buffer": lambda files: records(files).shuffle(20), "side by side": lambda files: records(files).interleave(3),
    "a mixture": lambda files: fb.mix([records(files), records(files).filter("id % 2 == 0")]),
    "made rows": lambda files: fb.concat([records(files), records(files)]).filter("id % 2 == 0")}


@pytest.mark.parametrize("order", ORDERS)
def test_no_version_is_asked_for_that_a_list_has_told(web: Web, parts: "list[pathlib.Path]", order: str, tmp_path: pathlib.Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / "cache"))
    put(web, parts)
    wanted = values(ORDERS[order]([str(path) for path in parts]).seed(4).batch(8).load())
    for indexes in ("made", "there"):
        web.asked.clear()
        with ORDERS[order]("s3://bucket/p/*").seed(4).batch(8).load() as loader:
            assert values(loader) == wanted
            assert loader.stats().requests["finds"] == 0
        heads = [asked.path for asked in web.asked if asked.method == "HEAD" and ".forebay" not in asked.path]
        assert heads == ["/bucket/p/part-0"], f"it checks the list, with indexes that are {indexes}"
        assert sum("list-type" in asked.path for asked in web.asked) == 1
        assert all("if-match" in asked.headers for asked in web.asked if asked.range is not None and asked.path.startswith("/bucket/p/part"))


def test_ten_files_of_a_server_that_checks_signatures(parts: "list[pathlib.Path]") -> None:
    server = S3Server()
    try:
        for number in range(PAGE + 3):
            server.put(f"many/{number:03}", b"%d\n" % number)
        fb.add_file_system("s3", fb.S3Files(endpoint=server.endpoint, credentials=lambda: {"access_key": server.key, "secret_key": server.secret}))
        with fb.lines("s3://bucket/many/*").record("line").shuffle(global_=True).batch(1).load() as loader:
            assert sorted(int(batch["line"][0]) for batch in loader) == list(range(PAGE + 3))
            assert loader.stats().requests["finds"] == 0
    finally:
        server.close()
        fb.add_file_system("s3", fb.S3Files())


def test_a_list_with_versions_of_its_own_is_not_believed(web: Web, parts: "list[pathlib.Path]") -> None:
    put(web, parts)
    for etag in (lambda version: f'"list-{version}"', lambda version: f"v{version}", lambda version: ""):
        web.fault = lists(web, etag)
        with records("s3://bucket/p/*").batch(8).load() as loader:
            assert len(values(loader)) > 0
            assert loader.stats().requests["finds"] == len(parts)


def test_a_file_that_is_replaced_after_it_was_listed_is_an_error(web: Web, parts: "list[pathlib.Path]") -> None:
    put(web, parts)
    listing = lists(web)

    def replace(asked: Asked) -> Any:
        if asked.method == "HEAD":      # the request that checks the list comes after it, and before those of the run
            web.put("/bucket/p/part-4", parts[4].read_bytes())
        return listing(asked)
    web.fault = replace
    plan = records("s3://bucket/p/*").batch(8)
    with plan.load() as loader, pytest.raises(fb.DataError, match="s3://bucket/p/part-4, byte 0: the file changed while it was read: its version is another"):
        list(loader)
    web.fault = listing
    assert len(values(plan.load())) > 0, "a plan that is made now lists anew"


def test_a_restart_asks_for_versions_again_only_when_time_has_passed(web: Web, parts: "list[pathlib.Path]") -> None:
    put(web, parts)
    pipe = records("s3://bucket/p/*").batch(8)
    with pipe.load() as loader:
        next(loader)
        state = loader.state_dict()
        wanted = values(loader)
    web.asked.clear()
    with pipe.load() as loader:
        loader.load_state_dict(state)
        assert web.count("HEAD") == 1
        assert values(loader) == wanted
        loader.load_state_dict(state)
        assert web.count("HEAD") == 1 + len(parts)
        web.put("/bucket/p/part-2", parts[2].read_bytes())
        with pytest.raises(fb.StateError, match="replaced since the state was saved, by others of the same size: 's3://bucket/p/part-2'"):
            loader.load_state_dict(state)


def test_named_files_are_asked_once_from_plan_to_run(web: Web, parts: "list[pathlib.Path]") -> None:
    put(web, parts)
    with records([f"s3://bucket/p/{path.name}" for path in parts]).shuffle(global_=True).batch(8).load() as loader:
        assert len(values(loader)) > 0
    assert web.count("HEAD") == len(parts)


@pytest.mark.parametrize(("told", "finds"), [
    (lambda info: info, 0), (lambda info: {**info, "ETag": "other"}, 5), (lambda info: {"size": None}, 5), (lambda info: {}, 5),
    (lambda info: {"size": info["size"]}, 5)])
def test_stores_of_the_program_tell_versions_in_lists(parts: "list[pathlib.Path]", told: Any, finds: int) -> None:
    base, store = new_store(Telling(told))
    for path in parts:
        store.put(f"{base}/{path.name}", path.read_bytes())
    with records(f"{base}/*").batch(8).load() as loader:
        wanted = values(records([str(path) for path in parts]).batch(8).load())
        assert values(loader) == wanted
        assert loader.stats().requests["finds"] == finds


def test_stores_of_fsspec_tell_versions_in_lists(parts: "list[pathlib.Path]") -> None:
    types = "memory tells times of two types in lists and elsewhere"
    for folder, finds in ((f"file://{parts[0].parent}", 0), (in_memory(parts), 5)):
        with records(f"{folder}/*").batch(8).load() as loader:
            assert values(loader) == values(records([str(path) for path in parts]).batch(8).load())
            assert loader.stats().requests["finds"] == finds, types
