# SPDX-License-Identifier: Apache-2.0
"""A model checkpoint and the loader's state in one file, which is complete or absent."""
from __future__ import annotations

import contextlib
import os
from typing import IO, Iterator

from forebay._paths import Path

__all__ = ["atomic_file"]


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A binary file to write to. It replaces `path` when the block ends without an exception.

    Until then, and if anything fails (also a full disk or a kill), the old file stays: a checkpoint is old or new,
    never mixed. The content reaches the disk before the name does.
    """
    import tempfile  # rarely used
    place = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(place)
    handle, temporary = tempfile.mkstemp(prefix=os.path.basename(place) + ".", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), _mode_of(place))
            os.fsync(file.fileno())
        os.replace(temporary, place)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    parent = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)


def _mode_of(place: str) -> int:
    """The mode of the file that is replaced, else the mode of new files of the process."""
    with contextlib.suppress(FileNotFoundError):
        return os.stat(place).st_mode & 0o777
    mask = os.umask(0o022)
    os.umask(mask)
    return 0o666 & ~mask
