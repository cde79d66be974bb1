# SPDX-License-Identifier: Apache-2.0
"""A plain reader of TFRecord files and tf.train messages in Python, which shares nothing with the one under test."""
from __future__ import annotations

import gzip
import pathlib
import struct
from typing import Any, Iterator


def records(path: pathlib.Path) -> Iterator[bytes]:
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    at = 0
    while at < len(data):
        size = struct.unpack_from("<Q", data, at)[0]
        yield data[at + 12:at + 12 + size]
        at += 16 + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value, at


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
        elif tag & 7 == 5:
            yield tag >> 3, data[at:at + 4]
            at += 4
        else:
            assert tag & 7 == 2
            size, at = _varint(data, at)
            yield tag >> 3, data[at:at + size]
            at += size


def _feature(data: bytes) -> list[Any]:
    out: list[Any] = []
    for kind, values in _fields(data):
        for _, value in _fields(values):
            if kind == 1:
                out.append(value)
            elif kind == 2:
                out += [number for number, in struct.iter_unpack("<f", value)]
            elif isinstance(value, int):
                out.append(value - (1 << 64) if value >> 63 else value)
            else:
                at = 0
                while at < len(value):
                    number, at = _varint(value, at)
                    out.append(number - (1 << 64) if number >> 63 else number)
    return out


def _map(data: bytes, lists: bool = False) -> dict[str, Any]:
    out = {}
    for _, entry in _fields(data):
        parts = dict(_fields(entry))
        body = parts.get(2, b"")
        out[parts.get(1, b"").decode()] = [_feature(step) for _, step in _fields(body)] if lists else _feature(body)
    return out


def message(data: bytes) -> tuple[dict[str, list[Any]], dict[str, list[list[Any]]]]:
    """The features, and the lists of a SequenceExample."""
    parts = dict(_fields(data))
    return _map(parts.get(1, b"")), _map(parts.get(2, b""), lists=True)
