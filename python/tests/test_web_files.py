# SPDX-License-Identifier: Apache-2.0
"""Files of http and https, read by libcurl: the stream is that of local files, whatever the server does, or an error says what it was."""
from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from typing import Any, Iterator

import numpy as np
import pytest
from command import COMMAND
from stores import check_restarts, records, values, write_parts
from web_server import Asked, Web, changes, cuts_after, resets, says, says_garbage, waits

import forebay as fb


@pytest.fixture
def web() -> "Iterator[Web]":
    with Web() as server:
        yield server
        server.fault = lambda asked: None


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> "list[pathlib.Path]":
    return write_parts(tmp_path_factory.mktemp("parts"))


@pytest.fixture
def hasty() -> "Iterator[None]":
    """Requests that get no byte are errors after two seconds."""
    fb.add_file_system("http", fb.HttpFiles(deadline=2))
    yield
    fb.add_file_system("http", fb.HttpFiles())


def put_all(web: Web, paths: "list[pathlib.Path]", folder: str = "/data") -> "list[str]":
    for path in paths:
        web.put(f"{folder}/{path.name}", path.read_bytes())
    return [f"{web.url}{folder}/{path.name}" for path in paths]


ORDERS = {
    "in order": lambda pipe: pipe,
    "shuffled": lambda pipe: pipe.shuffle(buffer=17),
    "global": lambda pipe: pipe.shuffle("global"),
    "interleaved": lambda pipe: pipe.interleave(cycle=3, block=2),
    "sorted": lambda pipe: pipe.sorted("id", descending=True),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("threads", [1, 4])
def test_the_stream_is_that_of_local_files(web: Web, parts: "list[pathlib.Path]", order: str, threads: int) -> None:
    urls = put_all(web, parts)
    local = ORDERS[order](records([str(path) for path in parts])).epochs(2).batch(8)
    remote = ORDERS[order](records(urls)).epochs(2).batch(8)
    wanted = values(local.load(threads=threads))
    assert values(remote.load(threads=threads)) == wanted
    check_restarts(remote, wanted, threads, step=5)


# Of every third answer to a request for bytes. The stream must be that of local files.
MENDED = {
    "500": says(500), "502": says(502), "503": says(503), "504": says(504), "408": says(408), "429": says(429, {"Retry-After": "0"}),
    "reset": resets, "no byte of the body": cuts_after(0), "one byte": cuts_after(1), "half of it": cuts_after(700),
    "no http": says_garbage, "late": waits(.05),
    "more than was asked for": changes(lambda headers: None, body=lambda data: data + b"x" * 10),
    "an error that is long": says(503, text=b"<html>" * 20_000),
    "a redirect": lambda handler, asked, found: handler.say(302, {"Location": asked.path + "?again"}),
}


@pytest.mark.parametrize("fault", MENDED)
def test_faults_of_a_server_do_not_show(web: Web, parts: "list[pathlib.Path]", fault: str) -> None:
    urls = put_all(web, parts)
    for url in urls:
        path = url[len(web.url):]
        web.objects[path + "?again"] = web.objects[path]
    pipe = records(urls).shuffle("global").batch(8)
    wanted = values(records([str(path) for path in parts]).shuffle("global").batch(8).load())
    hit = []

    def sometimes(asked: Asked) -> Any:
        if asked.method == "HEAD" or asked.number % 3 != 1 or asked.path.endswith("?again"):
            return None
        hit.append(asked)
        return MENDED[fault]

    web.fault = sometimes
    for threads in (1, 3):
        assert values(pipe.load(threads=threads)) == wanted
    assert len(hit) >= 2


REFUSED = {
    "another version": (changes(lambda headers: headers.update({"ETag": '"another"'})), "the file changed while it was read: its version"),
    "another size": (changes(lambda headers: headers.update({"Content-Range": "bytes 0-1743/999999"})), "the file changed while it was read"),
    "no version": (changes(lambda headers: headers.pop("ETag") and None), "the file changed while it was read: its version"),
    "gone": (says(404), "the file changed while it was read: it is not there any more"),
    "shorter": (says(416, {"Content-Range": "bytes */3"}), "the file changed while it was read"),
    "condition": (says(412), "the file changed while it was read"),
    "forbidden": (says(403), "it may not be read: the server answered 403"),
    "teapot": (says(418), "the server answered 418"),
    "another range": (changes(lambda headers: headers.update({"Content-Range": headers["Content-Range"].replace("bytes 0-", "bytes 1-")})),
                      r"asked for the bytes 0 to \d+, the server gives bytes 1 to"),
    "no range": (changes(lambda headers: headers.pop("Content-Range") and None), "a part of the file that it does not name"),
    "two lengths": (changes(lambda headers: headers.update({"Content-Length": headers["Content-Length"] + "\n7"})), "two lengths"),
    "another form": (changes(lambda headers: headers.update({"Content-Encoding": "br"})), r"another form of the file \(Content-Encoding: br\)"),
    "nowhere": (says(302), "the server redirects to nowhere"),
    "round and round": (lambda handler, asked, found: handler.say(301, {"Location": asked.path}), "redirects more than 5 times"),
    "a file": (says(302, {"Location": "file:///etc/passwd"}), "redirects to no address of http or https"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_answers_that_are_not_what_was_asked_for_are_errors(web: Web, parts: "list[pathlib.Path]", fault: str) -> None:
    (url,) = put_all(web, parts[:1])
    wrong, message = REFUSED[fault]
    web.fault = lambda asked: wrong if asked.method == "GET" else None
    with pytest.raises(fb.Error, match=message) as raised:
        list(records([url]).batch(8).load())
    assert url in str(raised.value)


def test_a_fault_that_stays_is_an_error_with_its_tries(web: Web, parts: "list[pathlib.Path]", hasty: None) -> None:
    (url,) = put_all(web, parts[:1])
    web.fault = lambda asked: says(503) if asked.method == "GET" else None
    with pytest.raises(fb.IoError, match=r"the server answered 503 Service Unavailable \(tried \d+ times in \d+ s\)"):
        list(records([url]).batch(8).load())
    web.fault = web_silent(web)
    began = time.monotonic()
    with pytest.raises(fb.IoError, match=r"tried \d+ time"):
        list(records([url]).batch(8).load())
    assert time.monotonic() - began < 60    # ten times what it takes


def web_silent(web: Web) -> Any:
    return lambda asked: web.silent


@pytest.mark.parametrize("size", ["same", "other"])
@pytest.mark.parametrize("order", ["in order", "global"])
def test_no_run_has_rows_of_two_versions(web: Web, tmp_path: pathlib.Path, order: str, size: str) -> None:
    """The object is replaced before the n-th request, for every n."""
    old = b"".join(b"old %05d\n" % number for number in range(4000))
    new = b"".join(b"new %05d\n" % number for number in range(4000 if size == "same" else 3999))
    for number in range(40):
        with web.lock:
            web.asked.clear()
        web.put("/lines", old)
        replaced = []

        def replace(asked: Asked, number: int = number, replaced: "list[int]" = replaced) -> None:
            if asked.number == number:
                replaced.append(number)
                web.put("/lines", new)

        web.fault = replace
        seen = set()
        try:
            with ORDERS[order](fb.lines([f"{web.url}/lines"]).record("line")).batch(100).load(memory="64MiB", index_dir=tmp_path / str(number)) as loader:
                for batch in loader:
                    seen |= {line[:3] for line in batch["line"].tolist()}
        except fb.DataError as error:
            assert "the file changed" in str(error)
        assert len(seen) <= 1
        if not replaced:
            return
    raise AssertionError("the run has more requests than expected")


def test_each_file_is_asked_for_once_and_in_large_ranges(web: Web, tmp_path: pathlib.Path) -> None:
    rows = np.arange(1 << 20, dtype=np.uint8).reshape(64, 1 << 14)
    for number in range(3):
        fb.write_records(tmp_path / f"{number}", [row.tobytes() for row in rows] * 4)
    urls = put_all(web, sorted(tmp_path.iterdir()))
    with fb.tfrecord(urls).record("x").batch(32).load(memory="2GiB") as loader:
        assert sum(len(batch["x"]) for batch in loader) == 3 * 256
    assert web.count("HEAD") <= 6           # one by the plan, and one by the run
    assert web.count("GET") == 3            # a file has 4 MiB, a range up to 8
    assert all(asked.headers["if-match"] == '"v1"' for asked in web.asked if asked.method == "GET")


def test_a_presigned_address_shows_its_signature_to_nobody(web: Web, parts: "list[pathlib.Path]") -> None:
    query = "?X-Amz-Signature=5ecre7&X-Amz-Expires=60"
    web.put("/data/part-0" + query, parts[0].read_bytes())
    web.fault = lambda asked: says(403) if asked.method == "HEAD" else None     # it was signed for GET
    pipe = records([f"{web.url}/data/part-0{query}"]).batch(8)
    with pipe.load() as loader:
        batch = next(loader)
        state = loader.state_dict()
        shown = [str(batch.record_keys), json.dumps(state), repr(loader), repr(pipe.load())]
    web.objects["/data/part-0?X-Amz-Signature=0ther"] = web.objects["/data/part-0" + query]
    with records([f"{web.url}/data/part-0?X-Amz-Signature=0ther"]).batch(8).load() as loader:
        loader.load_state_dict(state)
        assert next(loader)["id"][0] == 8
    web.fault = lambda asked: says(403)
    with pytest.raises(fb.Error) as raised:
        list(records([f"{web.url}/data/part-0{query}"]).batch(8).load())
    assert not any("5ecre7" in text for text in [*shown, str(raised.value)])


def test_a_user_and_a_password_are_sent_and_not_shown(web: Web, parts: "list[pathlib.Path]") -> None:
    put_all(web, parts)
    web.fault = lambda asked: None if asked.headers.get("authorization") == "Basic YW5uOnNlY3JldA==" else says(401)
    url = web.url.replace("://", "://ann:secret@") + "/data/part-0"
    with records([url]).batch(8).load() as loader:
        batch = next(loader)
        assert "secret" not in str(batch.record_keys) + json.dumps(loader.state_dict()) + repr(loader)
    with pytest.raises(fb.Error, match="401 Unauthorized") as raised:
        list(records([url.replace("secret", "wr0ng")]).batch(8).load())
    assert "wr0ng" not in str(raised.value)


def test_own_headers_go_to_the_host_of_the_address_alone(web: Web, parts: "list[pathlib.Path]") -> None:
    with Web() as other:
        (url,) = put_all(web, parts[:1])
        put_all(other, parts[:1])
        web.fault = lambda asked: says(307, {"Location": other.url + asked.path})
        fb.add_file_system("http", fb.HttpFiles(headers={"Authorization": "Bearer t0ken"}))
        try:
            assert values(records([url]).batch(8).load()) == values(records([str(parts[0])]).batch(8).load())
        finally:
            fb.add_file_system("http", fb.HttpFiles())
        assert {asked.headers.get("authorization") for asked in web.asked} == {"Bearer t0ken"}
        assert {asked.headers.get("authorization") for asked in other.asked} == {None}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-days",
                    "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return folder


def test_tls_needs_a_certificate_that_is_trusted(parts: "list[pathlib.Path]", certificate: pathlib.Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    with Web(context) as web, Web() as plain:
        (url,) = put_all(web, parts[:1])
        with pytest.raises(fb.IoError, match="the certificate of the server is not trusted: .*; trusted are those of '/"):
            records([url]).batch(8).load()
        fb.add_file_system("https", fb.HttpFiles(ca_file=certificate / "cert.pem"))
        try:
            assert values(records([url]).batch(8).load()) == values(records([str(parts[0])]).batch(8).load())
            web.fault = lambda asked: says(302, {"Location": plain.url + asked.path})
            with pytest.raises(fb.IoError, match=f"the server redirects from https to '{plain.url}/data/part-0'"):
                records([url]).batch(8).load()
            assert not plain.asked
        finally:
            fb.add_file_system("https", fb.HttpFiles())


def test_http_of_other_machines_has_to_be_allowed() -> None:
    with pytest.raises(fb.Error, match="'http://example.com/x': without TLS, anyone on the way can read the bytes and change them; say https://"):
        fb.lines(["http://example.com/x"]).record("line").batch(1).load()


def test_services_of_credentials_are_not_read(web: Web) -> None:
    web.fault = lambda asked: says(302, {"Location": "https://169.254.169.254/latest/meta-data/"})
    for url in ("https://169.254.169.254/latest/meta-data/", "https://[fe80::1]/x", web.url + "/x"):
        with pytest.raises(fb.Error, match="this service gives the credentials of the machine and no files"):
            fb.lines([url]).record("line").batch(1).load()


@pytest.mark.parametrize(("options", "message"), [
    ({"connections": 0}, "connections: expected 1 to 256, found 0"), ({"deadline": 0}, "deadline: expected 1 to 86400 seconds, found 0"),
    ({"headers": {"A": "b\r\nC: d"}}, "headers: each is a name, a colon and a value in one line"),
    ({"ca_file": "/no/such/file"}, "ca_file: there is no file '/no/such/file'")])
def test_wrong_options_are_refused(options: "dict[str, Any]", message: str) -> None:
    with pytest.raises(fb.ConfigError, match=re.escape(message)):
        fb.HttpFiles(**options)


def test_a_loader_closes_at_once_while_a_server_is_silent(web: Web, parts: "list[pathlib.Path]") -> None:
    urls = put_all(web, parts)
    web.fault = lambda asked: web.silent if asked.method == "GET" else None
    loader = records(urls).batch(8).load()
    threading.Timer(.3, loader.close).start()
    began = time.monotonic()
    with pytest.raises(fb.Cancelled):
        next(loader)
    assert time.monotonic() - began < 5


def test_ctrl_c_ends_a_plan_that_waits_for_a_silent_server(web: Web) -> None:
    web.fault = web_silent(web)
    code = f"import forebay as fb\nfb.lines(['{web.url}/x']).record('line').batch(1).load()\n"
    child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    while not web.asked and child.poll() is None:
        time.sleep(.01)
    child.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in child.communicate(timeout=60)[1]


def test_a_forked_child_has_connections_of_its_own(web: Web, parts: "list[pathlib.Path]") -> None:
    urls = put_all(web, parts)
    wanted = values(records([str(path) for path in parts]).batch(8).load())
    with records(urls).batch(8).load() as loader:
        next(loader)
        child = os.fork()
        if child == 0:
            os._exit(0 if values(records(urls).batch(8).load()) == wanted else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert values(loader) == wanted[1:]


def test_a_range_that_hangs_is_asked_for_a_second_time(web: Web, tmp_path: pathlib.Path) -> None:
    fb.write_records(tmp_path / "x", [np.full(1 << 16, number, np.uint8).tobytes() for number in range(200)])
    (url,) = put_all(web, [tmp_path / "x"])
    hung = []

    def hang(asked: Asked) -> Any:
        if len(hung) == 0 and asked.number > 40:
            hung.append(asked)
            return web.silent
        return None

    web.fault = hang
    began = time.monotonic()
    with fb.tfrecord([url]).record("x").batch(10).load(memory="16MiB") as loader:
        assert [batch["x"][0][0] for batch in loader] == list(range(0, 200, 10))
    assert hung
    assert time.monotonic() - began < 9     # a second, and not the ten after which a connection has stalled


def test_the_command_reads_them_without_python(web: Web, parts: "list[pathlib.Path]", tmp_path: pathlib.Path) -> None:
    urls = put_all(web, parts)
    command, env = COMMAND, {"PATH": "/nowhere", "HOME": str(tmp_path)}

    def said(*arguments: str) -> str:
        return subprocess.run([command, *arguments], check=True, capture_output=True, text=True, env=env, cwd=tmp_path).stdout

    def digest(files: "list[str]") -> "list[str]":
        document = {"source": {"tfrecord": {"files": files}}, "decode": {"example": {"features": {"id": {"dtype": "int64"}}}},
                    "steps": [{"batch": {"size": 8}}]}
        (tmp_path / "loader.json").write_text(json.dumps(document))
        return [line for line in said("run", "loader.json", "--digest").splitlines() if "int64" in line]

    assert digest(urls) == digest([str(path) for path in parts]) != []
    assert "id" in said("head", urls[0])
    assert "40 intact records" in said("verify", urls[0])
    with pytest.raises(subprocess.CalledProcessError) as raised:
        said("head", web.url + "/nothing")
    assert f"cannot open '{web.url}/nothing': there is no such file" in raised.value.stderr


def test_parquet_files_are_read(web: Web, tmp_path: pathlib.Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet
    parquet.write_table(pyarrow.table({"x": list(range(100))}), tmp_path / "a.parquet", row_group_size=30)
    (url,) = put_all(web, [tmp_path / "a.parquet"])
    with fb.parquet([url]).shuffle("global").batch(10).load() as loader:
        assert sorted(x for batch in loader for x in batch["x"].tolist()) == list(range(100))
