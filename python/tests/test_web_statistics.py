# SPDX-License-Identifier: Apache-2.0
"""What a run says of its requests for files of other machines."""
from __future__ import annotations

import contextlib
import pathlib
import re
import threading
import time
from typing import Any, Iterator

import numpy as np
import pytest
from web_server import Asked, Web, cuts_after, resets, says

import forebay as fb


@pytest.fixture
def web() -> "Iterator[Web]":
    with Web() as server:
        yield server
        server.fault = lambda asked: None


def test_statistics_say_what_requests_cost(web: Web, tmp_path: pathlib.Path) -> None:
    fb.write_records(tmp_path / "x", [np.full(1 << 16, number, np.uint8).tobytes() for number in range(100)])
    web.put("/x", (tmp_path / "x").read_bytes())
    faults = {3: says(503, {"Retry-After": "0"}), 5: says(500), 7: resets, 9: cuts_after(1000)}
    web.fault = lambda asked: faults.pop(asked.number, None)
    with fb.tfrecord([web.url + "/x"]).record("x").batch(10).load(memory="64MiB") as loader:
        assert sum(1 for _ in loader) == 10     # `list` would ask for the length, and that for an index
        stats = loader.stats()
    asked = stats.requests
    size = (tmp_path / "x").stat().st_size
    # libcurl itself makes a new connection for one that was reset while it was idle.
    assert (asked["refused"], asked["failed"], asked["stalled"], asked["hedges"]) == (1, 1, 0, 0) and asked["broken"] in (1, 2)
    assert asked["bytes_used"] == size
    assert size <= asked["bytes_fetched"] <= 1.03 * size
    assert asked["finds"] == 0 and web.count("HEAD") == 1, "the plan has asked for the version"
    # The rest of what was cut is a request of its own, unless the reset has overtaken the bytes before it.
    assert web.count("GET") - asked["reads"] in (3, 4)
    assert f"tries without success: 1 put off, 1 faults of servers, {asked['broken']} broken, 0 stalled" in str(stats)
    assert 'forebay_request_tries_failed_total{cause="refused"} 1' in stats.prometheus()


def test_a_run_that_waits_says_for_what(web: Web) -> None:
    web.put("/x", b"line\n" * 1000)
    refused = []

    def serve(asked: Asked) -> Any:
        if asked.method == "HEAD":
            return None
        refused.append(asked)
        return says(500) if len(refused) == 1 else web.silent

    web.fault = serve
    with fb.lines([web.url + "/x"]).record("line").batch(8).load(threads=2) as loader:
        def wait() -> None:
            with contextlib.suppress(fb.Cancelled):
                next(loader)
        threading.Thread(target=wait, daemon=True).start()
        began = time.monotonic()
        while not re.search(r"bytes 0 to \d+ of http://127.0.0.1:\d+/x was asked for \d+\.\d s ago; the last fault: .*answered 500 .*\(try 1\)",
                            loader.stats().waiting):
            assert time.monotonic() - began < 60, loader.stats().waiting
            time.sleep(.02)
