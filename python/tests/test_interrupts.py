# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C during calls that go through whole files."""
from __future__ import annotations

import os
import pathlib
import signal
import threading
import time
from typing import Callable

import pytest

import forebay as fb


def delay_of_interrupt(call: Callable[[], object], after: float) -> float:
    """Seconds of work from Ctrl-C, which comes `after` so many seconds of the call, to the exception."""
    sent: list[float] = []

    def send() -> None:
        time.sleep(after)
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        call()
        sender.join()
        pytest.fail("the call was over before the interrupt")
    ended = time.process_time()
    sender.join()
    return ended - sent[0]


@pytest.fixture(scope="module")
def compressed(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A file that takes seconds to read: 2 GB in 2 MB."""
    path = tmp_path_factory.mktemp("compressed") / "large.gz"
    fb.write_records(path, [bytes(1 << 20)] * 20, "gzip")
    path.write_bytes(path.read_bytes() * 100)
    return path


@pytest.mark.own_process
def test_ctrl_c_ends_reading(compressed: pathlib.Path) -> None:
    assert delay_of_interrupt(lambda: fb.read_records(compressed), 0.2) < 1


@pytest.mark.own_process
def test_ctrl_c_ends_writing_and_what_was_there_stays(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a"
    fb.write_records(path, [b"before"])
    assert delay_of_interrupt(lambda: fb.write_records(path, [os.urandom(1 << 16) * 16] * 1000, "gzip"), 0.2) < 1
    assert (fb.read_records(path), os.listdir(tmp_path)) == ([b"before"], ["a"])


@pytest.mark.own_process
def test_ctrl_c_ends_indexing_and_leaves_no_index(compressed: pathlib.Path) -> None:
    assert delay_of_interrupt(lambda: fb.index_files(compressed), 0.2) < 1
    assert os.listdir(compressed.parent) == [compressed.name]
