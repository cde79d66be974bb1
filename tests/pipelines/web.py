# SPDX-License-Identifier: Apache-2.0
"""A server of http for the files of the present folder: ranges, and ETags that change with a file."""
from __future__ import annotations

import functools
import os
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        try:
            with open(urllib.parse.unquote(self.path).lstrip("/"), "rb") as file:
                data, about = file.read(), os.fstat(file.fileno())
        except OSError:
            return self.answer(404, b"")
        version = f'"{about.st_ino}-{about.st_mtime_ns}"'
        if self.headers.get("If-Match", version) != version:
            return self.answer(412, b"")
        headers = {"ETag": version, "Accept-Ranges": "bytes"}
        asked = self.headers.get("Range", "")
        if not asked.startswith("bytes="):
            return self.answer(200, data, headers)
        first, _, last = asked.removeprefix("bytes=").partition("-")
        part = data[int(first):int(last) + 1]
        self.answer(206, part, {**headers, "Content-Range": f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"})

    do_HEAD = do_GET

    def answer(self, status: int, data: bytes, headers: "dict[str, str]" = {}) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """A loader that is closed leaves its requests."""


@functools.cache
def url() -> str:
    """Its address; it begins with the first call."""
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": .05}, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
