# SPDX-License-Identifier: Apache-2.0
"""Looks at the headers of the pages of a Parquet column before pyarrow reads it, which takes as much memory as they claim.

A header is a struct of Thrift's compact protocol (parquet-format, README and parquet.thrift: PageHeader)."""
from __future__ import annotations

from typing import Any, BinaryIO, Iterable

from forebay._remote_file import opened
from forebay.errors import DataError

#: Bytes that are read of a header at first, and at most: it holds the least and greatest value of its page.
_FIRST, _LONGEST = 1 << 10, 16 << 20
_DEEPEST = 8
_STOP, _TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12


def check_pages(path: str, group: int, columns: "Iterable[Any]") -> None:
    """Raises DataError for a page that claims more bytes than its column has.

    columns    their metadata, as pyarrow gives it
    """
    with opened(path, buffering=0) as file:
        for column in columns:
            place = f"{path}: row group {group}: column '{column.path_in_schema}': the page at byte"
            at = min(column.data_page_offset, column.dictionary_page_offset or column.data_page_offset)
            end, most = at + column.total_compressed_size, column.total_uncompressed_size
            while at < end:
                header, inflated, stored = _page(file, at, end, place)
                if header + stored > end - at or stored < 0 or not 0 <= inflated <= most:
                    raise DataError(f"{place} {at} is said to have {stored} bytes, {inflated} after decompression; the column has {end - at} "
                                    f"left, and {most} in all", code="data", detail="data_loss")
                at += header + stored


def _page(file: BinaryIO, at: int, end: int, place: str) -> "tuple[int, int, int]":
    """The bytes of the header, those of the page after decompression, and as it is stored."""
    size = _FIRST
    while True:
        file.seek(at)
        data = file.read(min(size, end - at))
        try:
            fields, header = _struct(data, 0, 0)
            return header, fields[2], fields[3]
        except IndexError:   # the header is longer
            if len(data) == end - at or size >= _LONGEST:
                break
            size *= 16
        except (KeyError, ValueError):
            break
    raise DataError(f"{place} {at} has no intact header", code="data", detail="data_loss")


def _struct(data: bytes, at: int, depth: int) -> "tuple[dict[int, int], int]":
    """The integers of a struct by the numbers of their fields, and where it ends."""
    if depth > _DEEPEST:
        raise ValueError
    fields: "dict[int, int]" = {}
    number = 0
    while True:
        kind, step = data[at] & 15, data[at] >> 4
        at += 1
        if kind == _STOP:
            return fields, at
        if step:
            number += step
        else:
            number, at = _integer(data, at)
        if _BYTE < kind <= _I64:
            fields[number], at = _integer(data, at)
        else:
            at = _passed(data, at, kind, depth, False)


def _passed(data: bytes, at: int, kind: int, depth: int, inside: bool) -> int:
    """Where a value ends. inside: a list or a map, where a bool takes a byte."""
    if kind in (_TRUE, _FALSE):
        return at + inside
    if kind == _BYTE:
        return at + 1
    if kind <= _I64:
        return _integer(data, at)[1]
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        size, at = _unsigned(data, at)
        return at + size
    if kind == _STRUCT:
        return _struct(data, at, depth + 1)[1]
    if kind in (_LIST, _SET):
        count, kinds = data[at] >> 4, [data[at] & 15]
        at += 1
        if count == 15:
            count, at = _unsigned(data, at)
    elif kind == _MAP:
        count, at = _unsigned(data, at)
        kinds = [data[at] >> 4, data[at] & 15] if count else []
        at += count > 0
    else:
        raise ValueError
    for _ in range(count):
        for each in kinds:
            at = _passed(data, at, each, depth + 1, True)
            if at > len(data) or depth > _DEEPEST:
                raise IndexError
    return at


def _unsigned(data: bytes, at: int) -> "tuple[int, int]":
    out = shift = 0
    while True:
        byte = data[at]
        at += 1
        out |= (byte & 127) << shift
        if byte < 128:
            return out, at
        shift += 7
        if shift > 63:
            raise ValueError


def _integer(data: bytes, at: int) -> "tuple[int, int]":
    """A signed one, as Thrift's zigzag writes it."""
    out, at = _unsigned(data, at)
    return (out >> 1) ^ -(out & 1), at
