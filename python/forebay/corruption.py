# SPDX-License-Identifier: Apache-2.0
"""Corruption in TFRecord files."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional

from forebay import _core
from forebay._arguments import compression_of, integer_of
from forebay._paths import Paths, paths_of

__all__ = ["CorruptPlace", "FileReport", "verify"]


class CorruptPlace(NamedTuple):
    """One corrupt place of a file.

    what     "record": a record whose payload does not match its checksum; "range": bytes that belong to no record
    record   ordinal of the record; for a range: of the record after it
    offset, bytes   where, in the uncompressed file; 0 bytes where compressed data cannot be decompressed any further
    reason   the fault, with its place
    """
    what: str
    record: int
    offset: int
    bytes: int
    reason: str


class FileReport(NamedTuple):
    """The result of `verify` for one file.

    records   intact ones
    bytes     uncompressed, as far as they could be read; `corrupt_bytes` of them are in corrupt records and ranges
    places    the first corrupt places, at most 16
    error     why the file could not be read to its end; None if it could
    """
    file: str
    compression: str
    records: int
    bytes: int
    corrupt_records: int
    unreadable_ranges: int
    corrupt_bytes: int
    places: tuple[CorruptPlace, ...]
    error: Optional[str]

    @property
    def intact(self) -> bool:
        return self.error is None and self.corrupt_records == 0 and self.unreadable_ranges == 0


def verify(paths: Paths, compression: Optional[str] = "auto",
           threads: Optional[int] = None) -> list[FileReport]:
    """Verifies every checksum of TFRecord files: a report for each, in order. Corruption is no exception.

    paths: files and patterns, as `tfrecord` has them. compression: "auto", "none" or None,
    "gzip", "zlib", "zstd", "bzip2", "xz".
    threads: files at once; None or 0: one for every CPU. Raises ConfigError when a pattern matches nothing.
    """
    found = _core.verify(paths_of(paths), compression_of(compression), integer_of("threads", threads))
    return [report_of(each) for each in found]


def report_of(found: tuple[Any, ...]) -> FileReport:
    """A report as the core gives it."""
    return FileReport(*(found[:7] + (tuple(CorruptPlace(*place) for place in found[7]), found[8])))
