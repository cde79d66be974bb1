# SPDX-License-Identifier: Apache-2.0
"""The server of the page: loopback only, a random port, a random token in the path.

GET and HEAD have no effect. POST serves the few commands that have one, and only if its `Origin` is the page.
"""
from __future__ import annotations

import hmac
import json
import pathlib
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Mapping, NamedTuple, Optional
from urllib.parse import parse_qsl, urlsplit

from forebay.errors import Error

__all__ = ["Answer", "Server"]

PAGE = pathlib.Path(__file__).with_name("page")
#: The only files that are served, by the name in the URL. No path of a request ever reaches the file system.
FILES = {"": ("index.html", "text/html; charset=utf-8"), "icon.svg": ("icon.svg", "image/svg+xml"),
         "view.css": ("view.css", "text/css; charset=utf-8"),
         "draw.js": ("draw.js", "text/javascript; charset=utf-8"), "data.js": ("data.js", "text/javascript; charset=utf-8"),
         "plan.js": ("plan.js", "text/javascript; charset=utf-8"),
         "health.js": ("health.js", "text/javascript; charset=utf-8"), "view.js": ("view.js", "text/javascript; charset=utf-8")}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
                               "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin"}


class Answer(NamedTuple):
    """What a question of the page gets: bytes of a type."""
    kind: str
    body: bytes


class Server(ThreadingHTTPServer):
    """Serves until `stop`.

    questions   by name: a function from the parameters of the URL to an Answer, or to something that JSON can say.
                Several threads call them at once.
    commands    by name: a function without parameters that has an effect and returns nothing
    """

    daemon_threads = True

    def __init__(self, questions: Mapping[str, Callable[[Mapping[str, str]], Any]],
                 commands: Mapping[str, Callable[[], None]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.questions, self.commands = questions, commands
        self.token = secrets.token_urlsafe(24)
        self.hosts = {f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"}
        self._thread: Optional[threading.Thread] = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def server_bind(self) -> None:
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])  # no name is looked up

    def start(self) -> None:
        self._thread = threading.Thread(target=self.serve_forever, args=(0.2,), name="forebay view", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._thread is not None:
            self.shutdown()
            self._thread = None
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that leaves in the middle of an answer is no fault."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "forebay", ""
    timeout = 20

    def parse_request(self) -> bool:
        if not super().parse_request():
            return False
        if self.command not in ("GET", "HEAD", "POST"):
            self._refuse_method("GET, HEAD")
            return False
        return True

    def do_GET(self) -> None:
        asked = self._asked()
        if asked is None:
            return
        name, query = asked
        if name in FILES:
            file, kind = FILES[name]
            return self._send(200, kind, (PAGE / file).read_bytes())
        if name in self.server.commands:
            return self._refuse_method("POST")
        question = self.server.questions.get(name)
        if question is None:
            return self._send(404, "text/plain", b"not found")
        self._answer(question, dict(parse_qsl(query)))

    do_HEAD = do_GET

    def do_POST(self) -> None:
        asked = self._asked()
        if asked is None:
            return
        command = self.server.commands.get(asked[0])
        if command is None:
            return self._refuse_method("GET, HEAD")
        if self.headers.get_all("Origin", []) != [f"http://{self.headers['Host']}"]:
            return self._send(403, "text/plain", b"only the page itself may ask for this")
        self._answer(lambda _: command(), {})

    def _asked(self) -> Optional[tuple[str, str]]:
        """The name after the token, and the query. None: the request was refused."""
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            self._send(403, "text/plain", b"this page is for its own address only")
            return None
        url = urlsplit(self.path)
        token, _, name = url.path.lstrip("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._send(404, "text/plain", b"not found; open the whole address that the command printed")
            return None
        return name, url.query

    def _refuse_method(self, allowed: str) -> None:
        self._send(405, "text/plain", f"only {allowed}".encode(), {"Allow": allowed})

    def _answer(self, question: Callable[[Mapping[str, str]], Any], asked: Mapping[str, str]) -> None:
        try:
            answer = question(asked)
        except (Error, LookupError, ValueError, TypeError) as problem:
            return self._send(400, "application/json", json.dumps({"error": str(problem)[:4000]}).encode())
        if not isinstance(answer, Answer):
            answer = Answer("application/json", json.dumps(answer, allow_nan=False).encode())
        self._send(200, answer.kind, answer.body)

    def _send(self, status: int, kind: str, body: bytes, more: Mapping[str, str] = {}) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, **more, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Requests are not logged: their paths have the token."""
