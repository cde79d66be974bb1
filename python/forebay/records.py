# SPDX-License-Identifier: Apache-2.0
"""Whole TFRecord files and single tf.train messages: for tests, tools and small jobs."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Mapping, NamedTuple, Optional, Union

import numpy as np

from forebay import _core
from forebay._arguments import bytes_of, compression_of, flag_of, integer_of, records_of, wrong_type
from forebay._paths import Path, Paths, path_of, paths_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from forebay._core import Plan
    from forebay.builder import Pipeline

__all__ = ["read_records", "write_records", "RecordWriter", "index_files", "IndexReport", "SequenceExample", "encode_example",
           "decode_example", "encode_sequence_example", "decode_sequence_example"]


def read_records(path: Path, compression: Optional[str] = "auto") -> list[bytes]:
    """Every record of a TFRecord file, checksums verified.

    compression: "auto" (looks at the first bytes), "none" or None, "gzip", "zlib", "zstd", "bzip2", "xz".
    Raises IoError when the file cannot be read, DataError (with record and offset) when it is corrupt.
    """
    return _core.read_records(path_of(path), compression_of(compression))


def write_records(path: Path, records: Iterable[Buffer], compression: Optional[str] = None) -> None:
    """Writes a TFRecord file; an existing file is replaced only when the new one is complete.

    records: bytes-like objects. compression: None, "gzip", "zlib", "zstd", "bzip2" or "xz". Raises IoError.
    Ctrl-C leaves the existing file.
    """
    _core.write_records(path_of(path), records_of(records), compression_of(compression))


class RecordWriter:
    """Writes a TFRecord file record by record, in memory that does not depend on their number.

        with fb.RecordWriter("out.tfrecord") as out:
            for row in rows:
                out.write(fb.encode_example(row))

    path         an existing file is replaced when this one is complete, at the end of the block or by `close`, or by the first
                 `flush`. An exception in the block leaves what was there
    compression  None, "gzip", "zlib", "zstd", "bzip2" or "xz"
    level        of the compression: 0 to 9, of zstd 1 to 22, of bzip2 1 to 9; small is fast. None: its usual one
    append       begin with the records of the file that is there, if one is, which may be compressed in any way; its checksums are
                 verified

    Raises IoError when the file cannot be written, with `append` as `read_records` does. One thread at a time may use it.
    """

    def __init__(self, path: Path, compression: Optional[str] = None, *, append: bool = False,
                 level: Optional[int] = None) -> None:
        self._path = path_of(path)
        self._file: Optional[_core.ExampleFile] = _core.ExampleFile(
            self._path, compression_of(compression), None if level is None else integer_of("level", level))
        self.records = 0  #: How many were written, those of an appended file included.
        if flag_of("append", append) and os.path.exists(self._path):
            from forebay import builder
            pipe = builder.tfrecord(self._path, max_decompressed_bytes=1 << 60).record().batch(256, remainder="keep")
            with pipe.load(threads=1) as loader:
                for batch in loader:
                    for record in batch["record"].tolist():
                        self.write(record)

    def write(self, record: Buffer) -> None:
        """Appends a record: a bytes-like object."""
        self._open().write_record(bytes_of("record", record))
        self.records += 1

    def flush(self) -> None:
        """Syncs the records so far to disk and gives the file its path: readers see them, and what follows in the block no
        longer takes them back. With a compression the next record begins another frame or member, so that many calls make
        the file larger. Raises ConfigError for zlib, whose files are one stream."""
        self._open().flush()

    def _open(self) -> "_core.ExampleFile":
        if self._file is None:
            raise ValueError(f"{self._path}: the file is closed; no record can be written any more")
        return self._file

    def close(self) -> None:
        """Completes the file. Does nothing when it is closed."""
        file, self._file = self._file, None
        if file is not None:
            file.finish(None)

    def __enter__(self) -> "RecordWriter":
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.close()
        self._file = None


class IndexReport(NamedTuple):
    """The index of one file."""
    file: str
    path: str         #: Where the index is.
    built: bool       #: It was made now; the one that was there, if any, was not good.
    records: int
    bytes: int        #: Of the uncompressed file.
    index_bytes: int  #: On disk and in memory.


def index_files(paths: "Union[Paths, Plan, Pipeline]", compression: Optional[str] = "auto",
                force: bool = False, index_dir: Optional[Path] = None, publish: Optional[Path] = None) -> list[IndexReport]:
    """Makes the indexes of files of records, which hold the place of every record; several files at a time.

    paths: TFRecord files and patterns (*, ?, [a-z], path@N). Or a plan or pipeline: the files of its sources, in their formats and
        compressions, with what its orders need of the records: lengths, values of filters, which records are corrupt.
    compression: "auto", "none" or None, "gzip", "zlib", "zstd", "bzip2", "xz".
    An index that is good is kept unless `force` says otherwise. The indexes of a folder are in `.forebay/index-v1` in
    it, or in the folder that FOREBAY_CACHE names (else ~/.cache/forebay) where that cannot be written; with
    `index_dir` only below that folder, which a run must name, too.
    publish: a folder of this machine for `index-v1` and `catalogue-v1`, to be copied to the folder `.forebay` with the files, where
    runs on all machines find them; the files are then of one folder.
    When files are corrupt or cannot be indexed, raises the first one's DataError or IoError after the others are done.
    """
    asked = paths.plan() if hasattr(paths, "plan") else paths if isinstance(paths, _core.Plan) else paths_of(paths)
    reports = _core.index_files(asked, compression_of(compression), bool(force),
                                "" if index_dir is None else path_of(index_dir, "index_dir"),
                                "" if publish is None else path_of(publish, "publish"))
    return [IndexReport(*report) for report in reports]


def encode_example(features: Mapping[str, Any]) -> bytes:
    """A serialized tf.train.Example.

    Values: integers and bool become an int64_list, floats a float_list, bytes and str (as UTF-8) a bytes_list; single
    or in lists, tuples and arrays of any shape, which are flattened. None, and a list without elements, becomes a
    feature without a kind; an array without elements an empty list of its dtype's kind.
    Raises TypeError for other values, OverflowError for numbers that no int64 or float32 holds, ValueError for rows of
    different lengths.
    """
    _check_names("features", features)
    return _core.encode_example({name: _list_of(name, value) for name, value in features.items()})


class SequenceExample(NamedTuple):
    """The content of a tf.train.SequenceExample."""
    context: dict[str, Any]      #: Features of the whole sequence, by name.
    lists: dict[str, list[Any]]  #: Features of each step, by name.


def encode_sequence_example(context: Mapping[str, Any] = {}, lists: Mapping[str, Iterable[Any]] = {}) -> bytes:
    """A serialized tf.train.SequenceExample.

    context: the features of the whole sequence, with values as in `encode_example`. lists: by name, one such value for each
    step; of an array the first axis is the steps.
    Raises as `encode_example` does.
    """
    _check_names("context", context)
    _check_names("lists", lists)
    steps = {name: [_list_of(name, step) for step in _steps_of(name, value)] for name, value in lists.items()}
    return _core.encode_sequence_example({name: _list_of(name, value) for name, value in context.items()}, steps)


def decode_sequence_example(message: Buffer) -> SequenceExample:
    """The context and the feature lists of a serialized tf.train.SequenceExample, by name, in the order of the names.

    A list has one entry a step; entries, and the features of the context, are as in `decode_example`.
    Raises DataError when the bytes are no such message.
    """
    return SequenceExample(*_core.decode_sequence_example(bytes_of("message", message)))


def _check_names(argument: str, features: Any) -> None:
    if not isinstance(features, Mapping):
        raise wrong_type(argument, "a dict of the features by name", features)
    for name in features:
        if not isinstance(name, str):
            raise wrong_type(argument, "a dict whose keys are names (str)", name)


def _steps_of(name: str, value: Any) -> Iterable[Any]:
    whole = isinstance(value, (str, bytes, bytearray, memoryview)) or getattr(value, "ndim", 1) == 0
    if whole or not hasattr(value, "__iter__"):
        raise TypeError(f"feature {name!r}: expected one value for each step, in a list, an array or another iterable, "
                        f"found {type(value).__name__}")
    steps: Iterable[Any] = value
    return steps


def decode_example(message: Buffer) -> dict[str, Any]:
    """The features of a serialized tf.train.Example, by name, in the order of the names.

    int64_list → int64 ndarray, float_list → float32 ndarray, bytes_list → list of bytes, no kind → None.
    Raises DataError when the bytes are no such message.
    """
    return _core.decode_example(bytes_of("message", message))


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
    array = _array_of(name, value)
    if array.dtype.kind == "u" and array.size and int(array.max()) > 2**63 - 1:
        raise OverflowError(f"feature {name!r}: {array.max()} is more than an int64 holds")
    if array.dtype.kind in "biu":
        return np.ascontiguousarray(array.reshape(-1), np.int64)
    if array.dtype.kind == "f":
        return _floats_of(name, array.reshape(-1))
    if array.dtype.kind in "SUO":
        return [_bytes_of(name, item) for item in array.reshape(-1).tolist()]
    raise _unfit(name, value)


def _array_of(name: str, value: Any) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"feature {name!r}: its rows have different lengths, and an Example holds only one list; give "
                         "the values as one list, and the lengths as another feature") from None
    if array.dtype.kind == "O" and array.size and all(type(item) is int for item in array.ravel().tolist()):
        raise OverflowError(f"feature {name!r}: an integer that no int64 holds")
    if array.dtype.kind == "O" and array.ndim == 0:
        raise _unfit(name, value)
    return array


def _floats_of(name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        narrow = np.ascontiguousarray(array, np.float32)
    lost = np.isinf(narrow) & np.isfinite(array)
    if lost.any():
        raise OverflowError(f"feature {name!r}: {array[lost][0]} is more than a float32 holds")
    return narrow


def _unfit(name: str, value: Any) -> TypeError:
    return TypeError(f"feature {name!r}: expected integers, floats, bytes, str or None, found {type(value).__name__}")


def _bytes_of(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"feature {name!r}: expected bytes or str next to bytes or str, found {type(value).__name__}")
