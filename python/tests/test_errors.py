# SPDX-License-Identifier: Apache-2.0
"""IoError is the OSError that people know."""
from __future__ import annotations

import errno
import os
import pathlib
import pickle
from typing import Any, Callable

import pytest

import forebay as fb


def in_missing_folder(folder: pathlib.Path) -> pathlib.Path:
    return folder / "none" / "a"


def folder_itself(folder: pathlib.Path) -> pathlib.Path:
    return folder


def below_a_file(folder: pathlib.Path) -> pathlib.Path:
    (folder / "file").write_bytes(b"")
    return folder / "file" / "a"


def read(path: pathlib.Path) -> Any:
    return fb.read_records(path)


def write(path: pathlib.Path) -> Any:
    return fb.write_records(path, [b"a"])


def deliver(path: pathlib.Path) -> Any:
    return list(fb.tfrecord(path).record().batch(1).load())


@pytest.mark.parametrize("call", [read, write, deliver, fb.load])
@pytest.mark.parametrize("place, usual, number", [
    (in_missing_folder, FileNotFoundError, errno.ENOENT), (folder_itself, IsADirectoryError, errno.EISDIR),
    (below_a_file, NotADirectoryError, errno.ENOTDIR)])
def test_the_usual_except_clauses_catch_an_io_error(tmp_path: pathlib.Path, call: Callable[[pathlib.Path], Any],
                                                    place: Callable[[pathlib.Path], pathlib.Path], usual: type[OSError],
                                                    number: int) -> None:
    path = place(tmp_path)
    with pytest.raises(usual) as caught:
        call(path)
    error = caught.value
    assert isinstance(error, fb.IoError) and type(error).__name__ == "IoError"
    assert (error.errno, error.strerror, error.filename) == (number, os.strerror(number), str(path))
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.errno, again.filename) == (type(error), str(error), number, str(path))


def made(detail: str, message: str) -> OSError:
    from forebay import errors
    error = errors.make("io", detail, message, "/a", None, None, None, None, None, None, [])
    assert isinstance(error, OSError)
    return error


@pytest.mark.parametrize("detail, number, usual", [
    ("permission_denied", errno.EACCES, PermissionError), ("permission_denied", errno.EROFS, fb.IoError),
    ("resource_exhausted", errno.ENOSPC, fb.IoError), ("none", errno.EIO, fb.IoError)])
def test_errno_is_what_the_system_said(detail: str, number: int, usual: type[OSError]) -> None:
    error = made(detail, f"cannot open '/a': {os.strerror(number)}")
    assert (isinstance(error, usual), error.errno, error.strerror) == (True, number, os.strerror(number))


def test_a_cause_that_is_not_the_systems_has_no_errno() -> None:
    error = made("none", "the file ends too early")
    assert (type(error), error.errno, error.strerror, error.filename) == (fb.IoError, None, "the file ends too early", "/a")
