# SPDX-License-Identifier: Apache-2.0
"""http and https from servers of others: Apache, with and without TLS and ETags, and the proxy tinyproxy."""
from __future__ import annotations

import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Iterator

import numpy as np
import pytest
from stores import records, values, write_parts
from web_server import Web

import forebay as fb


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def started(port: int, *command: "str | os.PathLike[str]") -> "subprocess.Popen[bytes]":
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    began = time.monotonic()
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return server
        except OSError:
            if server.poll() is not None or time.monotonic() - began > 60:
                raise AssertionError(f"{command[0]} does not start") from None
            time.sleep(.02)


CONFIGURATION = """
ServerRoot {root}
ServerName 127.0.0.1
PidFile {root}/pid
ErrorLog {root}/error.log
Listen 127.0.0.1:{port}
Listen 127.0.0.1:{secure}
{modules}
User nobody
Group nogroup
DocumentRoot {root}/data
FileETag {etag}
<Directory {root}/data>
  Require all granted
</Directory>
<VirtualHost 127.0.0.1:{secure}>
  SSLEngine on
  SSLCertificateFile {root}/cert.pem
  SSLCertificateKeyFile {root}/key.pem
</VirtualHost>
"""
MODULES = ("mpm_event", "authz_core", "socache_shmcb", "ssl")


class Apache:
    """The files of a folder. `etag`: as FileETag, what an ETag is made of."""

    def __init__(self, etag: str) -> None:
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.root.chmod(0o755)      # the server gives up the rights of root
        self.data = self.root / "data"
        self.data.mkdir()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.root / "key.pem", "-out", self.root / "cert.pem", "-days",
                        "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        port, secure = free_port(), free_port()
        self.url, self.secure_url = f"http://127.0.0.1:{port}", f"https://127.0.0.1:{secure}"
        modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in MODULES)
        (self.root / "conf").write_text(CONFIGURATION.format(root=self.root, port=port, secure=secure, modules=modules, etag=etag))
        self._server = started(port, "apache2", "-f", self.root / "conf", "-DFOREGROUND")

    def close(self) -> None:
        self._server.terminate()
        self._server.wait()
        shutil.rmtree(self.root)


@pytest.fixture
def apache(request: pytest.FixtureRequest) -> "Iterator[Apache]":
    made = Apache(getattr(request, "param", "MTime Size"))
    yield made
    made.close()
    fb.add_file_system("https", fb.HttpFiles())


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("order", [lambda pipe: pipe, lambda pipe: pipe.shuffle(buffer=17), lambda pipe: pipe.shuffle("global")])
def test_the_stream_of_apache_is_that_of_local_files(apache: Apache, order: "Callable[[Any], Any]", secure: bool) -> None:
    parts = write_parts(apache.data)
    fb.add_file_system("https", fb.HttpFiles(ca_file=apache.root / "cert.pem"))
    url = apache.secure_url if secure else apache.url
    local, remote = (order(records(files)).epochs(2).batch(8) for files in ([str(path) for path in parts], [f"{url}/{path.name}" for path in parts]))
    wanted = values(local.load())
    for threads in (1, 4):
        assert values(remote.load(threads=threads)) == wanted


@pytest.mark.parametrize("apache", ["MTime Size", "None"], indirect=True)
def test_a_file_that_is_replaced_is_an_error_with_and_without_etags(apache: Apache) -> None:
    """Without ETags, the time of the last change tells versions apart."""
    path = apache.data / "x"
    path.write_bytes(b"old %07d\n" % 1 * 4_000_000)     # more than is asked for ahead
    os.utime(path, (10**9, 10**9))
    with fb.lines([f"{apache.url}/x"]).record("line").batch(1000).load(memory="64MiB", threads=1) as loader:
        assert next(loader)["line"][0].startswith(b"old")
        path.write_bytes(b"new %07d\n" % 1 * 4_000_000)
        with pytest.raises(fb.DataError, match="the file changed while it was read"):
            assert all(line.startswith(b"old") for batch in loader for line in batch["line"].tolist())


def test_ten_megabytes_come_in_ranges(apache: Apache) -> None:
    rows = np.random.default_rng(3).integers(0, 256, (160, 1 << 16), np.uint8)
    fb.write_records(apache.data / "x", [row.tobytes() for row in rows])
    with fb.tfrecord([f"{apache.url}/x"]).record("x").batch(16).load() as loader:
        assert [row for batch in loader for row in batch["x"].tolist()] == [row.tobytes() for row in rows]
        assert loader.stats().requests["bytes_fetched"] <= 1.03 * (apache.data / "x").stat().st_size


def test_a_proxy_is_that_of_the_environment(tmp_path: pathlib.Path) -> None:
    """tinyproxy passes on http, and makes tunnels for https."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem",
                    "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    port = free_port()
    (tmp_path / "proxy.conf").write_text(f"Port {port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 100\nLogFile \"{tmp_path}/proxy.log\"\nLogLevel Connect\n")
    proxy = started(port, "tinyproxy", "-d", "-c", tmp_path / "proxy.conf")
    try:
        with Web() as plain, Web(context) as secure:
            for web in (plain, secure):
                web.put("/x", b"one\ntwo\n")
            code = "import sys, forebay as fb\nfor path in sys.argv[1:]:\n    for batch in fb.lines([path]).record('line').batch(2).load():\n" \
                   "        print(batch['line'].tolist())\n"
            done = subprocess.run(
                [sys.executable, "-c", code, plain.url + "/x", secure.url + "/x"], capture_output=True, text=True, timeout=120,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "http_proxy": f"http://127.0.0.1:{port}", "https_proxy": f"http://127.0.0.1:{port}",
                     "no_proxy": "", "SSL_CERT_FILE": str(tmp_path / "cert.pem")})
            assert done.stdout == "[b'one', b'two']\n" * 2, done.stderr
            log = (tmp_path / "proxy.log").read_text()
            assert f"GET {plain.url}/x" in log or f"HEAD {plain.url}/x" in log
            assert f"CONNECT 127.0.0.1:{secure.port}" in log
    finally:
        proxy.kill()
        proxy.wait()
