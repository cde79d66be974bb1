# SPDX-License-Identifier: Apache-2.0
"""A file that is old or new, never mixed."""
from __future__ import annotations

import os
import stat
import subprocess
import sys

import pytest

import forebay as fb


def test_an_atomic_file_is_old_until_it_is_new(tmp_path):
    path = tmp_path / "checkpoint"
    with fb.atomic_file(path) as file:
        file.write(b"old")
        assert not path.exists()
    with fb.atomic_file(path) as file:
        file.write(b"new and longer")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new and longer" and os.listdir(tmp_path) == ["checkpoint"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path, failure):
    path = tmp_path / "checkpoint"
    path.write_bytes(b"old")
    with pytest.raises(failure):
        with fb.atomic_file(path) as file:
            file.write(b"half")
            raise failure()
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["checkpoint"]


def test_an_atomic_file_keeps_the_mode_and_follows_links(tmp_path):
    path, link = tmp_path / "checkpoint", tmp_path / "latest"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    with fb.atomic_file(str(link)) as file:
        file.write(b"new")
    assert link.is_symlink() and path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == 0o640
    mask = os.umask(0o027)
    try:
        with fb.atomic_file(tmp_path / "fresh") as file:
            file.write(b"")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640


def test_a_kill_in_the_middle_of_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "checkpoint"
    path.write_bytes(b"old")
    code = ("import forebay as fb, os, signal, sys\n"
            "with fb.atomic_file(sys.argv[1]) as file:\n"
            "    file.write(b'x' * 5_000_000)\n    file.flush()\n    os.kill(os.getpid(), signal.SIGKILL)")
    assert subprocess.run([sys.executable, "-c", code, str(path)], timeout=30).returncode == -9
    assert path.read_bytes() == b"old"


def test_an_atomic_file_in_no_folder_is_an_error_with_its_path(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        with fb.atomic_file(tmp_path / "none" / "checkpoint"):
            pass
