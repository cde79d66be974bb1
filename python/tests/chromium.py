# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium for tests of pages, over the DevTools protocol on two pipes."""
from __future__ import annotations

import base64
import fcntl
import functools
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time
import warnings
from typing import Any, Callable

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"]
KEYS = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35}
TIMEOUT = 60


class BrowserEnded(Exception):
    """The process of the browser has ended by itself."""


class Chromium:
    """One browser with one page. Used by one thread; a with-block ends the browser."""

    def __init__(self, folder: pathlib.Path, width: int = 1280, height: int = 900) -> None:
        self._folder, self._width, self._height = folder, width, height
        self._start()

    def _start(self) -> None:
        its_end, self._out = os.pipe()
        self._in, its_start = os.pipe()
        # The protocol's descriptors are 3 and 4 in the browser; the shell puts them there.
        ends = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (its_end, its_start)]
        command = f'exec "$@" 3<&{ends[0]} 4>&{ends[1]}'
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", str(PROGRAM), *OPTIONS, f"--window-size={self._width},{self._height}",
             f"--user-data-dir={self._folder}", "about:blank"], pass_fds=ends, stdout=subprocess.DEVNULL, stderr=self._errors)
        for each in (its_end, its_start, *ends):
            os.close(each)
        self._rest, self._number, self._session = b"", 0, ""
        self.console: list[str] = []
        pages = [each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page"]
        self._session = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=self._width, height=self._height, deviceScaleFactor=1, mobile=False)

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._errors.close()
        os.close(self._out)
        os.close(self._in)

    def restart(self) -> None:
        """Another process in place of one that has ended."""
        self._end()
        self._start()

    def _ended(self) -> BrowserEnded:
        status = self._process.wait(TIMEOUT)
        self._errors.seek(0)
        return BrowserEnded(f"the browser has ended with {status}\n{self._errors.read().decode(errors='replace')[-2000:]}")

    def call(self, method: str, **parameters: Any) -> Any:
        """One command of the protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        try:
            os.write(self._out, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise self._ended() from None
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _message(self) -> Any:
        until = time.monotonic() + TIMEOUT
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self._in, 1 << 20)
            if not more:
                raise self._ended()
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(text)
        if message.get("method") == "Runtime.exceptionThrown":
            self.console.append(json.dumps(message["params"]["exceptionDetails"])[:2000])
        if message.get("method") == "Log.entryAdded":
            self.console.append(message["params"]["entry"]["text"])
        return message

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """What the page's JavaScript says."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def wait_for(self, expression: str, seconds: float = TIMEOUT) -> None:
        until = time.monotonic() + seconds
        while not self.value(f"Boolean({expression})"):
            if time.monotonic() > until:
                raise TimeoutError(f"{expression} did not become true in {seconds} s")
            time.sleep(0.02)

    def press(self, key: str) -> None:
        code = KEYS[key]
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def focused(self) -> tuple[str, str]:
        """(role, name) of the element with the focus, as a screen reader gets it. In a player, that of the player."""
        found = self.call("Runtime.evaluate", expression="document.activeElement")["result"]["objectId"]
        node = self.call("Accessibility.getPartialAXTree", objectId=found, fetchRelatives=False)["nodes"][0]
        return node["role"]["value"], node.get("name", {}).get("value", "")

    def tree(self, wanted: Callable[[str], bool]) -> list[tuple[str, str]]:
        """(role, name) of the nodes of the accessibility tree with a wanted role, in the order of the page."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        by_id = {node["nodeId"]: node for node in nodes}
        found: list[tuple[str, str]] = []

        def walk(node: Any) -> None:
            role = node.get("role", {}).get("value", "")
            if not node.get("ignored") and wanted(role):
                found.append((role, node.get("name", {}).get("value", "")))
            for child in node.get("childIds", []):
                if role != "Audio" and child in by_id:  # the controls of a player are the browser's
                    walk(by_id[child])

        walk(nodes[0])
        return found

    def picture(self, path: pathlib.Path) -> None:
        """A picture of the whole page, as PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))


def restarted_once(test: Callable[..., None]) -> Callable[..., None]:
    """A test with the fixture `browser` that is tried again when the process of the browser ends by itself, with the reason as a
    warning. A page that always ends it fails."""
    @functools.wraps(test)
    def tried(browser: Chromium, **fixtures: Any) -> None:
        try:
            test(browser=browser, **fixtures)
        except BrowserEnded as error:
            warnings.warn(str(error))
            browser.restart()
            test(browser=browser, **fixtures)
    return tried
