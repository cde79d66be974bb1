# SPDX-License-Identifier: Apache-2.0
"""A server of http with faults, in a thread: objects with versions, and a script of what goes wrong with which request."""
from __future__ import annotations

import dataclasses
import socket
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional, Tuple


@dataclasses.dataclass
class Asked:
    """A request as it came."""
    method: str
    path: str
    headers: "Dict[str, str]"
    number: int     # of all, from 0

    @property
    def range(self) -> "Optional[Tuple[int, int]]":
        text = self.headers.get("range")
        if text is None:
            return None
        first, _, last = text.partition("=")[2].partition("-")
        return int(first), int(last)


class Fault(Exception):
    """What a handler does instead of an answer."""

    def __init__(self, do: "Callable[[Handler, bytes], None]") -> None:
        self.do = do


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "Any"

    def do_HEAD(self) -> None:
        self.serve()

    def do_GET(self) -> None:
        self.serve()

    def do_PUT(self) -> None:
        self.serve()

    def serve(self) -> None:
        web: "Web" = self.server.web
        asked = web.note(self.command, self.path, {name.lower(): value for name, value in self.headers.items()})
        with web.lock:
            found = web.objects.get(self.path)
        try:
            fault = web.fault(asked)
            if fault is not None:
                return fault(self, asked, found)
            self.answer(asked, found)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.close_connection = True

    def answer(self, asked: Asked, found: "Optional[Tuple[bytes, int]]", *, change: "Callable[[Dict[str, str]], None]" = lambda headers: None,
               body: "Callable[[bytes], bytes]" = lambda data: data, status: "Optional[int]" = None) -> None:
        """The right answer, or one that `change`, `body` and `status` have made another."""
        if found is None:
            return self.say(404)
        data, version = found
        headers = {"ETag": f'"v{version}"', "Accept-Ranges": "bytes"}
        code = 200
        if asked.headers.get("if-match", headers["ETag"]) != headers["ETag"]:
            return self.say(412)
        if asked.range is not None:
            first, last = asked.range
            if first >= len(data):
                return self.say(416, {"Content-Range": f"bytes */{len(data)}"})
            last = min(last, len(data) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            data, code = data[first:last + 1], 206
        headers["Content-Length"] = str(len(data))
        change(headers)
        self.send_response(status or code)
        for name, value in headers.items():
            for each in value.split("\n"):
                self.send_header(name, each)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body(data))

    def say(self, status: int, headers: "Optional[Dict[str, str]]" = None, text: bytes = b"no") -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def cut(self) -> None:
        """Resets the connection."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self.close_connection = True
        self.connection.close()

    def log_message(self, *args: "Any") -> None:
        pass


class Web:
    """The server. `fault` is asked about each request: None gives the right answer."""

    def __init__(self, context: "Optional[ssl.SSLContext]" = None) -> None:
        self.objects: "Dict[str, Tuple[bytes, int]]" = {}
        self.lock = threading.Lock()
        self.asked: "List[Asked]" = []
        self.fault: "Callable[[Asked], Any]" = lambda asked: None
        self.over = threading.Event()

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: "Any", client_address: "Any") -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.web = self     # type: ignore[attr-defined]
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_address[1]
        self.url = f"{'http' if context is None else 'https'}://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": .05}, daemon=True).start()

    def __enter__(self) -> "Web":
        return self

    def __exit__(self, *_: "Any") -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    def put(self, path: str, data: bytes) -> None:
        with self.lock:
            self.objects[path] = data, self.objects.get(path, (b"", 0))[1] + 1

    def note(self, method: str, path: str, headers: "Dict[str, str]") -> Asked:
        with self.lock:
            asked = Asked(method, path, headers, len(self.asked))
            self.asked.append(asked)
        return asked

    def count(self, method: str) -> int:
        with self.lock:
            return sum(asked.method == method for asked in self.asked)

    def silent(self, handler: Handler, *_: "Any") -> None:
        """Gives no answer until the server ends."""
        self.over.wait()
        handler.cut()


def says(status: int, headers: "Optional[Dict[str, str]]" = None, text: bytes = b"no") -> "Callable[..., None]":
    return lambda handler, asked, found: handler.say(status, headers, text)


def changes(change: "Callable[[Dict[str, str]], None]", body: "Callable[[bytes], bytes]" = lambda data: data,
            status: "Optional[int]" = None) -> "Callable[..., None]":
    return lambda handler, asked, found: handler.answer(asked, found, change=change, body=body, status=status)


def resets(handler: Handler, *_: "Any") -> None:
    handler.cut()


def cuts_after(count: int) -> "Callable[..., None]":
    """The head, `count` bytes, and then no more."""
    def cut(handler: Handler, asked: Asked, found: "Any") -> None:
        handler.answer(asked, found, body=lambda data: data[:count])
        handler.wfile.flush()
        handler.cut()
    return cut


def says_garbage(handler: Handler, *_: "Any") -> None:
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n" * 3)
    handler.cut()


def waits(seconds: float) -> "Callable[..., None]":
    def late(handler: Handler, asked: Asked, found: "Any") -> None:
        time.sleep(seconds)
        handler.answer(asked, found)
    return late
