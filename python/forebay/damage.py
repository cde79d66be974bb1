# SPDX-License-Identifier: Apache-2.0
"""What is damaged in TFRecord files."""
from __future__ import annotations

from typing import NamedTuple, Optional

from forebay import _core
from forebay._arguments import compression_of, integer_of
from forebay._paths import Paths, paths_of

__all__ = ["DamagedPlace", "FileReport", "verify"]


class DamagedPlace(NamedTuple):
    """One damaged place of a file.

    what     "record": a record whose payload is not what its checksum says; "range": bytes that belong to no record
    record   ordinal of the record; a range's: of the record behind it
    offset, bytes   where, in the uncompressed file; 0 bytes where packed data cannot be unpacked any further
    reason   what is wrong, with its place
    """
    what: str
    record: int
    offset: int
    bytes: int
    reason: str


class FileReport(NamedTuple):
    """What `verify` found in one file.

    records   intact ones
    bytes     uncompressed, as far as they could be read; `damaged_bytes` of them are in damaged records and ranges
    places    the first damaged places, at most 16
    error     why the file could not be read to its end; None if it could
    """
    file: str
    compression: str
    records: int
    bytes: int
    damaged_records: int
    unreadable_ranges: int
    damaged_bytes: int
    places: tuple[DamagedPlace, ...]
    error: Optional[str]

    @property
    def intact(self) -> bool:
        return self.error is None and self.damaged_records == 0 and self.unreadable_ranges == 0


def verify(paths: Paths, compression: Optional[str] = "auto",
           threads: Optional[int] = None) -> list[FileReport]:
    """Verifies every checksum of TFRecord files: a report for each, in order. Damage is no exception.

    paths: files and patterns, as `tfrecord` has them. compression: "auto", "none" or None, "gzip", "zlib".
    threads: files at once; None or 0: one for every CPU. Raises ConfigError when a pattern matches nothing.
    """
    found = _core.verify(paths_of(paths), compression_of(compression), integer_of("threads", threads))
    return [FileReport(*(report[:7] + (tuple(DamagedPlace(*place) for place in report[7]), report[8])))
            for report in found]
