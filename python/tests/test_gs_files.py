# SPDX-License-Identifier: Apache-2.0
"""Files of Google Cloud Storage: lists, tokens and ranges against a server that wants a token, and a metadata service of ours."""
from __future__ import annotations

import os
import pathlib
import re
import subprocess
import time
import urllib.parse
from typing import Any, Iterator
from xml.sax.saxutils import escape

import pytest
from command import COMMAND
from stores import records, values, write_parts
from web_server import Asked, Web, says

import forebay as fb

PAGE = 2    # names in one page of a list
TOKEN = "ya29.s3cret-token"


class Storage(Web):
    """A bucket named `bucket`, for those who show one of `tokens`."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = {TOKEN}
        self.fault = self.judge

    def put_key(self, key: str, data: bytes) -> str:
        self.put("/bucket/" + urllib.parse.quote(key), data)
        return f"gs://bucket/{key}"

    def judge(self, asked: Asked) -> Any:
        shown = asked.headers.get("authorization", "")
        if self.tokens and shown not in {f"Bearer {token}" for token in self.tokens}:
            status = 401 if shown else 403
            return says(status, text=b"<Error><Code>AccessDenied</Code><Message>Access denied.</Message></Error>")
        path, _, query = asked.path.partition("?")
        return says(200, text=self.page(dict(urllib.parse.parse_qsl(query)))) if path == "/bucket/" else None

    def page(self, query: "dict[str, str]") -> bytes:
        assert query["list-type"] == "2" and query["encoding-type"] == "url"
        keys = sorted(urllib.parse.unquote(path[len("/bucket/"):]) for path in self.objects)
        keys = [key for key in keys if key.startswith(query["prefix"]) and "/" not in key[len(query["prefix"]):] * ("delimiter" in query)]
        keys = [key for key in keys if key > query.get("continuation-token", "")]
        more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{escape(keys[PAGE - 1])}</NextContinuationToken>" if len(keys) > PAGE else ""
        names = "".join(f"<Contents><Key>{urllib.parse.quote(key)}</Key></Contents>" for key in keys[:PAGE])
        return f"<ListBucketResult>{more}{names}</ListBucketResult>".encode()


@pytest.fixture
def storage() -> "Iterator[Storage]":
    with Storage() as server:
        yield server
    fb.add_file_system("gs", fb.GsFiles())


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> "list[pathlib.Path]":
    return write_parts(tmp_path_factory.mktemp("parts"))


@pytest.mark.parametrize("order", [lambda pipe: pipe, lambda pipe: pipe.shuffle(buffer=17), lambda pipe: pipe.shuffle("global")])
def test_the_stream_is_that_of_local_files(storage: Storage, parts: "list[pathlib.Path]", order: Any) -> None:
    for path in parts:
        storage.put_key(f"a b/ü+{path.name}", path.read_bytes())
    fb.add_file_system("gs", fb.GsFiles(endpoint=storage.url, token=lambda: TOKEN))
    wanted = values(order(records([str(path) for path in parts])).epochs(2).batch(8).load())
    for threads in (1, 4):
        assert values(order(records("gs://bucket/a b/ü+part-*")).epochs(2).batch(8).load(threads=threads)) == wanted
    assert all(asked.headers.get("if-match") for asked in storage.asked if "range" in asked.headers and ".forebay" not in asked.path)


def test_a_token_comes_from_the_environment_the_program_or_the_machine(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    url = storage.put_key("x", b"one\ntwo\n")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", storage.url)
    monkeypatch.setenv("NO_GCE_CHECK", "true")

    def lines() -> "list[bytes]":
        return [line for batch in fb.lines(url).record("line").batch(2).load() for line in batch["line"].tolist()]
    fb.add_file_system("gs", fb.GsFiles())
    with pytest.raises(fb.ConfigError, match="no token for gs was found: GOOGLE_OAUTH_ACCESS_TOKEN is not set; .*the machine is not asked") as none:
        lines()
    assert "gcloud auth" in str(none.value)
    with Web() as machine:
        machine.put("/computeMetadata/v1/instance/service-accounts/default/token", b'{"access_token": "%s", "expires_in": 3000}' % TOKEN.encode())
        monkeypatch.setenv("GCE_METADATA_HOST", machine.url.partition("://")[2])
        monkeypatch.delenv("NO_GCE_CHECK")
        fb.add_file_system("gs", fb.GsFiles())
        assert lines() == [b"one", b"two"]
        assert {asked.headers["metadata-flavor"] for asked in machine.asked} == {"Google"}
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", TOKEN)
    fb.add_file_system("gs", fb.GsFiles())
    assert lines() == [b"one", b"two"]
    storage.tokens = set()
    monkeypatch.delenv("GOOGLE_OAUTH_ACCESS_TOKEN")
    fb.add_file_system("gs", fb.GsFiles(anonymous=True))
    assert lines() == [b"one", b"two"]
    assert "authorization" not in storage.asked[-1].headers


def test_a_token_that_has_ended_is_asked_for_anew(storage: Storage, parts: "list[pathlib.Path]") -> None:
    urls = [storage.put_key(path.name, path.read_bytes()) for path in parts]
    given: "list[str]" = []

    def token() -> "tuple[str, float]":
        given.append(f"{TOKEN}{len(given)}")
        storage.tokens = {given[-1]}
        return given[-1], time.time() + 3600
    fb.add_file_system("gs", fb.GsFiles(endpoint=storage.url, token=token))
    with records(urls).batch(4).load() as loader:
        rows = [next(loader)]
        storage.tokens = {"other"}     # what was shown so far has ended
        rows += list(loader)
    assert values(rows) == values(records([str(path) for path in parts]).batch(4).load())
    assert len(given) >= 1


def test_tokens_are_in_no_text(storage: Storage, capfd: pytest.CaptureFixture[str]) -> None:
    url = storage.put_key("x", b"one\ntwo\n")
    files = fb.GsFiles(endpoint=storage.url, token=lambda: TOKEN + "wrong")
    fb.add_file_system("gs", files)
    with pytest.raises(fb.IoError, match=re.escape(f"'{url}'")) as refused:
        fb.lines(url).record("line").batch(1).load()
    assert "with a token of the program" in str(refused.value)
    out = capfd.readouterr()
    for text in (str(refused.value), repr(files), out.out, out.err):
        assert "s3cret" not in text


@pytest.mark.parametrize(("url", "message"), [
    ("gs://b&d/x", "'b&d' is no name of a bucket; gs://BUCKET/KEY has letters"), ("gs://bucket/a/../x", "keys with the parts `.` and `..` cannot")])
def test_names_that_make_no_sense_are_refused(url: str, message: str) -> None:
    with pytest.raises(fb.ConfigError, match=re.escape(message)):
        fb.lines([url]).record("line").batch(1).load()


def test_a_program_may_give_no_token(storage: Storage) -> None:
    for token in (lambda: "", lambda: "a b", lambda: 1 / 0):
        fb.add_file_system("gs", fb.GsFiles(endpoint=storage.url, token=token))
        with pytest.raises(fb.ConfigError, match="the function gives no text of letters|division by zero"):
            fb.lines(["gs://bucket/x"]).record("line").batch(1).load()


def test_the_command_reads_them(storage: Storage, parts: "list[pathlib.Path]") -> None:
    url = storage.put_key("part-0", parts[0].read_bytes())
    done = subprocess.run([COMMAND, "head", url], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "STORAGE_EMULATOR_HOST": storage.url, "GOOGLE_OAUTH_ACCESS_TOKEN": TOKEN})
    here = subprocess.run([COMMAND, "head", str(parts[0])], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.replace(url, str(parts[0])) == here.stdout
