# SPDX-License-Identifier: Apache-2.0
"""Record files and Example messages in plain Python: slow, small, and independent of what is tested."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator
from typing import Any

Values = list[Any]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("bad varint")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at


def fields(message: bytes) -> Iterator[tuple[int, int, Any]]:
    """(field number, wire type, value) of a message, groups left out; ValueError when it is malformed."""
    at = 0
    groups: list[int] = []
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if not 0 < tag >> 3 < 1 << 29 or kind > 5:
            raise ValueError("bad tag")
        if kind in (3, 4):
            if kind == 4 and (not groups or groups.pop() != tag >> 3):
                raise ValueError("bad group")
            groups += [tag >> 3] if kind == 3 else []
            continue
        if kind == 0:
            value, at = _varint(message, at)
            if not groups:
                yield tag >> 3, kind, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            size, at = _varint(message, at)
        if at + size > len(message):
            raise ValueError("cut short")
        if not groups:
            yield tag >> 3, kind, message[at : at + size]
        at += size
    if groups:
        raise ValueError("open group")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def feature(message: bytes) -> tuple[str, Values] | None:
    """(kind, values) of a Feature; nothing when no kind is set. Of two kinds the last counts, of equal ones both."""
    found: tuple[str, Values] | None = None
    for number, wire, body in fields(message):
        kind = {1: "bytes", 2: "float", 3: "int64"}.get(number)
        if kind is None or wire != 2:
            continue
        before = found[1] if found and found[0] == kind else []
        parts = (_values(kind, form, value) for number, form, value in fields(body) if number == 1)
        found = kind, [*before, *(value for part in parts for value in part)]
    return found


def _values(kind: str, wire: int, value: Any) -> Values:
    """Of one field of a list, packed or not; a field of another wire type is an unknown one."""
    if kind == "bytes":
        return [value] if wire == 2 else []
    if kind == "float":
        if wire in (2, 5) and len(value) % 4:
            raise ValueError("cut float")
        return list(struct.unpack(f"<{len(value) // 4}f", value)) if wire in (2, 5) else []
    if wire != 2:
        return [_signed(value)] if wire == 0 else []
    out, at = [], 0
    while at < len(value):
        item, at = _varint(value, at)
        out.append(_signed(item))
    return out


def _entries(message: bytes) -> dict[bytes, bytes]:
    """A map: the last of equal keys counts; in an entry the last key, and all values merged."""
    out = {}
    for number, wire, body in fields(message):
        if (number, wire) != (1, 2):
            continue
        parts = [(n, value) for n, form, value in fields(body) if form == 2]
        key = ([b""] + [value for n, value in parts if n == 1])[-1]
        out[key] = b"".join(value for n, value in parts if n == 2)
    return out


def entries(message: bytes) -> dict[str, bytes]:
    """Features of an Example (also the context of a SequenceExample), not looked into."""
    block = b"".join(body for number, wire, body in fields(message) if (number, wire) == (1, 2))
    return {key.decode("utf-8", "surrogateescape"): value for key, value in _entries(block).items()}


def example(message: bytes) -> dict[str, Any]:
    return {key: feature(value) for key, value in entries(message).items()}


def list_entries(message: bytes) -> dict[str, bytes]:
    """Feature lists of a SequenceExample, not looked into."""
    block = b"".join(body for number, wire, body in fields(message) if (number, wire) == (2, 2))
    return {key.decode("utf-8", "surrogateescape"): value for key, value in _entries(block).items()}


def steps(message: bytes) -> list[tuple[str, Values] | None]:
    """The features of a FeatureList."""
    return [feature(step) for number, wire, step in fields(message) if (number, wire) == (1, 2)]


def sequences(message: bytes) -> dict[str, list[tuple[str, Values] | None]]:
    """Feature lists of a SequenceExample."""
    block = b"".join(body for number, _, body in fields(message) if number == 2)
    return {
        key.decode("utf-8", "replace"): [feature(step) for number, _, step in fields(value) if number == 1]
        for key, value in _entries(block).items()
    }


def _put(number: int, body: bytes) -> bytes:
    return _tag(number << 3 | 2) + _tag(len(body)) + body


def _tag(value: int) -> bytes:
    out = bytearray()
    value &= 0xFFFFFFFFFFFFFFFF
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(features: dict[str, tuple[str, Values]]) -> bytes:
    """An Example with packed lists."""
    entries = b""
    for key, (kind, values) in features.items():
        if kind == "bytes":
            body = _put(1, b"".join(_put(1, v) for v in values))
        elif kind == "float":
            body = _put(2, _put(1, struct.pack(f"<{len(values)}f", *values)))
        else:
            body = _put(3, _put(1, b"".join(_tag(v) for v in values)))
        entries += _put(1, _put(1, key.encode()) + _put(2, body))
    return _put(1, entries)


def inflate(data: bytes, compression: str) -> tuple[bytes, bool]:
    """As much of the plain stream as can be had from a possibly corrupt file, and whether that is all."""
    if not compression:
        return data, True
    out = b""
    while data:
        stream = zlib.decompressobj(31 if compression == "GZIP" else 15)
        at = 0
        try:
            while at < len(data) and not stream.eof:
                out += stream.decompress(data[at : at + 1])
                at += 1
        except zlib.error:
            return out, False
        if not stream.eof:
            return out, False
        data = data[at:]
    return out, True


def decompress(data: bytes, compression: str) -> bytes:
    if compression == "GZIP":
        return gzip.decompress(data)
    return zlib.decompress(data) if compression == "ZLIB" else data


def _crc_table() -> list[int]:
    table = []
    for crc in range(256):
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _crc_table()


def masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def whole_records(stream: bytes) -> tuple[list[tuple[int, bytes]], bool]:
    """(offset, payload) of the records before the first fault, and whether the stream ends without one."""
    at = 0
    out: list[tuple[int, bytes]] = []
    while at < len(stream):
        head = stream[at : at + 12]
        if len(head) < 12 or struct.unpack("<I", head[8:])[0] != masked_crc(head[:8]):
            return out, False
        size = struct.unpack("<Q", head[:8])[0]
        body = stream[at + 12 : at + 16 + size]
        if len(body) < size + 4 or struct.unpack("<I", body[size:])[0] != masked_crc(body[:size]):
            return out, False
        out.append((at, body[:size]))
        at += 16 + size
    return out, True


def frame(records: list[bytes]) -> bytes:
    out = b""
    for record in records:
        head = struct.pack("<Q", len(record))
        out += head + struct.pack("<I", masked_crc(head)) + record + struct.pack("<I", masked_crc(record))
    return out
