# SPDX-License-Identifier: Apache-2.0
"""Files of other machines as Python's file objects, for libraries that read these."""
from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any, BinaryIO, Optional, cast

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from forebay._file_systems import Reader

READ_AHEAD = 1 << 20    # bytes of one request, at least


def served_of(path: str) -> "Optional[Reader]":
    """What reads the file; None for a local one."""
    if "://" not in path:
        return None
    from forebay import _file_systems
    return _file_systems.served_of(path)


def readable(path: str) -> Any:
    """The path of a local file; a file object for any other one."""
    served = served_of(path)
    return path if served is None else io.BufferedReader(RemoteFile(served, path), READ_AHEAD)


def opened(path: str, buffering: int = -1) -> BinaryIO:
    """As `open(path, "rb")`."""
    source = readable(path)
    return open(path, "rb", buffering=buffering) if source is path else cast(BinaryIO, source)


class RemoteFile(io.RawIOBase):
    """One version of a file: bytes of another one are an OSError."""

    def __init__(self, served: "Reader", path: str) -> None:
        self._served, self._path, self._at = served, path, 0
        self._size, self._version = served.info(path)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence])
        return self._at

    def readinto(self, out: "Buffer") -> int:
        into = memoryview(out).cast("B")
        end = min(self._size, self._at + len(into))
        if end <= self._at:
            return 0
        data = self._served.bytes_of(self._path, self._size, self._version, self._at, end)
        into[:len(data)] = data
        self._at += len(data)
        return len(data)
