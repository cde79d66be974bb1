# SPDX-License-Identifier: Apache-2.0
"""Whole TFRecord files and single tf.train.Example messages: for tests, tools and small jobs."""
from __future__ import annotations

import os
from typing import Any, Iterable, Mapping, NamedTuple, Optional

import numpy as np

from forebay import _core
from forebay._paths import Path, Paths, paths_of

__all__ = ["read_records", "write_records", "index_files", "IndexReport", "encode_example", "decode_example"]


def read_records(path: Path, compression: Optional[str] = "auto") -> list[bytes]:
    """Every record of a TFRecord file, checksums verified.

    compression: "auto" (looks at the first bytes), "none" or None, "gzip", "zlib".
    Raises IoError when the file cannot be read, DataError (with record and offset) when it is damaged.
    """
    return _core.read_records(os.fspath(path), compression or "none")


def write_records(path: Path, records: Iterable[bytes], compression: Optional[str] = None) -> None:
    """Writes a TFRecord file; what was there is replaced only when the new file is complete.

    records: bytes-like objects. compression: None, "gzip" or "zlib". Raises IoError.
    """
    whole = [record if type(record) is bytes else bytes(memoryview(record)) for record in records]
    _core.write_records(os.fspath(path), whole, compression or "none")


class IndexReport(NamedTuple):
    """The index of one file."""
    file: str
    path: str         #: Where the index is.
    built: bool       #: It was made now; the one that was there, if any, was not good.
    records: int
    bytes: int        #: Of the uncompressed file.
    index_bytes: int  #: On disk and in memory.


def index_files(paths: Paths, compression: Optional[str] = "auto",
                force: bool = False) -> list[IndexReport]:
    """Stores where the records of TFRecord files are, so that any is reached at once; several files at a time.

    paths: files and patterns (*, ?, [a-z], path@N). compression: "auto", "none" or None, "gzip", "zlib".
    An index that is good is kept unless `force` says otherwise. It is `<file>.fbindex`, or in the folder that
    FOREBAY_CACHE names (else ~/.cache/forebay) where that cannot be written.
    When files are damaged or cannot be indexed, raises the first one's DataError or IoError after the others are done.
    """
    return [IndexReport(*report) for report in _core.index_files(paths_of(paths), compression or "none", force)]


def encode_example(features: Mapping[str, Any]) -> bytes:
    """A serialized tf.train.Example.

    Values: integers and bool become an int64_list, floats a float_list, bytes and str (as UTF-8) a bytes_list; single
    or in lists, tuples and arrays of any shape, which are flattened. None, and a list without elements, becomes a
    feature without a kind; an array without elements an empty list of its dtype's kind.
    Raises TypeError for other values, OverflowError for integers that no int64 holds.
    """
    return _core.encode_example({name: _list_of(name, value) for name, value in features.items()})


def decode_example(message: bytes) -> dict[str, Any]:
    """The features of a serialized tf.train.Example, by name, in the order of the names.

    int64_list → int64 ndarray, float_list → float32 ndarray, bytes_list → list of bytes, no kind → None.
    Raises DataError when the bytes are no such message.
    """
    return _core.decode_example(bytes(message))


def _list_of(name: str, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, (bytes, bytearray, memoryview, str)):
        return [_bytes_of(name, value)]
    if isinstance(value, (list, tuple)):
        if not value:
            return None
        if any(isinstance(item, (bytes, bytearray, memoryview, str)) for item in value):
            return [_bytes_of(name, item) for item in value]
    array = np.asarray(value)
    if array.dtype.kind == "O" and array.size and all(type(item) is int for item in array.ravel().tolist()):
        raise OverflowError(f"feature {name!r}: an integer that no int64 holds")
    if array.dtype.kind == "u" and array.size and int(array.max()) > 2**63 - 1:
        raise OverflowError(f"feature {name!r}: {array.max()} is more than an int64 holds")
    if array.dtype.kind in "biu":
        return np.ascontiguousarray(array.reshape(-1), np.int64)
    if array.dtype.kind == "f":
        return np.ascontiguousarray(array.reshape(-1), np.float32)
    if array.dtype.kind in "SUO":
        return [_bytes_of(name, item) for item in array.reshape(-1).tolist()]
    raise TypeError(f"feature {name!r}: expected integers, floats, bytes, str or None, found {type(value).__name__}")


def _bytes_of(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"feature {name!r}: expected bytes or str next to bytes or str, found {type(value).__name__}")
