# SPDX-License-Identifier: Apache-2.0
"""Random keys and lists of s3, against a server that works out every signature by itself, from the description of Signature Version 4."""
from __future__ import annotations

import bisect
import hashlib
import hmac
import os
import random
import subprocess
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Iterator

import pytest

import forebay as fb
import forebay._web_files as web

KEY, SECRET, PAGE = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", 100
LETTERS = "abcXYZ019-_.~ !\"#$%&'()+,:;<=>@[]^`{|}*?\\äß€😀\u0301\u00a0"
KEYS = 100_000 if os.environ.get("FOREBAY_LONG_TESTS") else 4000


def quoted(text: bytes, safe: str = "") -> str:
    return urllib.parse.quote(text, safe=safe + "-_.~")


def signature(method: str, target: str, headers: "dict[str, str]") -> str:
    """Of a request as it came: path and query are decoded, and encoded as the description says."""
    path, _, query = target.partition("?")
    pairs = [tuple(urllib.parse.unquote_to_bytes(each) for each in pair.partition("=")[::2]) for pair in query.split("&") if pair]
    scope, signed = (headers["authorization"].split(f"{name}=")[1].split(",")[0].strip() for name in ("Credential", "SignedHeaders"))
    canonical = "\n".join([
        method, quoted(urllib.parse.unquote_to_bytes(path), "/"), "&".join(f"{quoted(name)}={quoted(value)}" for name, value in sorted(pairs)),
        *(f"{name}:{' '.join(headers[name].split())}" for name in signed.split(";")), "", signed, headers["x-amz-content-sha256"]])
    _, date, region, service, end = scope.split("/")
    to_sign = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], f"{date}/{region}/{service}/{end}",
                         hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{SECRET}".encode()
    for each in (date, region, service, end):
        key = hmac.digest(key, each.encode(), "sha256")
    return hmac.new(key, to_sign.encode(), "sha256").hexdigest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Any

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        given = headers.get("authorization", "").rpartition("Signature=")[2]
        if not given or given != signature(self.command, self.path, headers):
            self.server.refused.append(self.path)
            return self.say(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>")
        path, _, query = self.path.partition("?")
        if path.count("/") < 2 or path.endswith("/bucket/"):
            return self.say(200, self.listed(dict(urllib.parse.parse_qsl(query, keep_blank_values=True))))
        data = self.server.objects.get(urllib.parse.unquote_to_bytes(path).decode().partition("/bucket/")[2])
        if data is None:
            return self.say(404, b"")
        first, last = 0, len(data) - 1
        if "range" in headers:
            first, last = (int(each) for each in headers["range"].partition("=")[2].split("-"))
            last = min(last, len(data) - 1)
        self.say(206 if "range" in headers else 200, data[first:last + 1],
                 {"ETag": f'"{len(data)}"', "Content-Range": f"bytes {first}-{last}/{len(data)}"} if "range" in headers else {"ETag": f'"{len(data)}"'},
                 len(data) if self.command == "HEAD" else None)

    def listed(self, query: "dict[str, str]") -> bytes:
        self.server.pages += 1
        prefix, after = query["prefix"], bytes.fromhex(query.get("continuation-token", "")).decode()
        names = self.server.names
        begin = bisect.bisect_right(names, after) if after else bisect.bisect_left(names, prefix)
        keys = []
        while begin < len(names) and names[begin].startswith(prefix) and len(keys) <= PAGE:
            if not ("delimiter" in query and query["delimiter"] in names[begin][len(prefix):]):
                keys.append(names[begin])
            begin += 1
        page = keys[:PAGE]
        contents = "".join(f"<Contents><Key>{quoted(key.encode(), '/')}</Key><Size>{len(self.server.objects[key])}</Size></Contents>" for key in page)
        more = f"<NextContinuationToken>{page[-1].encode().hex()}</NextContinuationToken>" if len(keys) > PAGE else ""
        return (f'<?xml version="1.0"?><ListBucketResult><IsTruncated>{str(len(keys) > PAGE).lower()}</IsTruncated>'
                f"<EncodingType>url</EncodingType>{more}{contents}</ListBucketResult>").encode()

    def say(self, status: int, body: bytes, headers: "dict[str, str]" = {}, length: "int | None" = None) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body) if length is None else length)}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> "Iterator[Any]":
    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads, made.objects, made.names, made.refused, made.pages = True, {}, [], [], 0
    threading.Thread(target=made.serve_forever, daemon=True).start()
    fb.add_file_system("s3", fb.S3Files(endpoint=f"http://127.0.0.1:{made.server_port}",
                                        credentials=lambda: {"access_key": KEY, "secret_key": SECRET}))
    yield made
    fb.add_file_system("s3", fb.S3Files())
    made.shutdown()
    made.server_close()


def random_key(draw: random.Random) -> str:
    while True:
        key = "".join(draw.choice(LETTERS) for _ in range(draw.randrange(1, 30)))
        if key not in (".", ".."):
            return key


READER = """
import sys
import forebay as fb
import forebay._web_files as web
endpoint, of_pycurl, *patterns = sys.argv[1:]
if of_pycurl == "True":
    web._with_libcurl = lambda make: make(web.curl_of_pycurl())
fb.add_file_system("s3", fb.S3Files(endpoint=endpoint, credentials=lambda: {"access_key": %r, "secret_key": %r}))
for pattern in patterns:
    with fb.lines(pattern).record("line").batch(64, remainder="keep").load() as loader:
        for batch in loader:
            sys.stdout.write("".join(line.decode() + "\\n" for line in batch["line"].tolist()))
""" % (KEY, SECRET)


@pytest.mark.parametrize("of_pycurl", [False, True])
def test_random_keys_are_listed_signed_and_read(server: Any, of_pycurl: bool) -> None:
    """By the libcurl of the system, and by the newer one of the package pycurl."""
    assert web.curl_of_pycurl(), "pip install pycurl"
    draw = random.Random(11 + of_pycurl)
    patterns = [f"s3://bucket/p{number}/*" for number in range(0, KEYS, 500)]
    for number in range(KEYS):
        key = f"p{number - number % 500}/{random_key(draw)}"
        server.objects[key] = f"{number} {hashlib.sha1(key.encode()).hexdigest()}\n".encode()
    wanted = sorted(data.decode() for data in server.objects.values())
    server.objects.update({f"p{number}/{name}/x": b"below\n" for number in range(0, KEYS, 500) for name in ("a b", "ä+")})
    server.names = sorted(server.objects)   # the order of UTF-8
    done = subprocess.run([sys.executable, "-c", READER, f"http://127.0.0.1:{server.server_port}", str(of_pycurl), *patterns],
                          capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines(keepends=True)) == wanted
    assert server.refused == [] and server.pages >= KEYS // PAGE


def test_a_signature_that_is_not_right_is_noticed(server: Any) -> None:
    """The server of this test refuses what it should."""
    server.objects = {"x": b"one\n"}
    fb.add_file_system("s3", fb.S3Files(endpoint=f"http://127.0.0.1:{server.server_port}", credentials=lambda: {"access_key": KEY, "secret_key": "no"}))
    with pytest.raises(fb.Error, match="s3://bucket/x"), fb.lines("s3://bucket/x").record("line").batch(1).load() as loader:
        next(loader)
    assert server.refused
