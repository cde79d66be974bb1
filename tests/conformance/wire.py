# SPDX-License-Identifier: Apache-2.0
"""Record files and Example messages in plain Python: slow, small, and independent of what is tested."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator

Values = list[int] | list[float] | list[bytes]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at


def fields(message: bytes) -> Iterator[tuple[int, int, bytes | int]]:
    """(field number, wire type, value) of a well-formed message without groups."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield tag >> 3, kind, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            size, at = _varint(message, at)
        yield tag >> 3, kind, message[at : at + size]
        at += size


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def feature(message: bytes) -> tuple[str, Values] | None:
    """(kind, values) of a Feature; nothing when no kind is set."""
    found: tuple[str, Values] | None = None
    for number, _, body in fields(message):
        kind = {1: "bytes", 2: "float", 3: "int64"}.get(number)
        if kind is None:
            continue
        values: list = []
        for _, wire, value in fields(body):
            if kind == "bytes":
                values.append(value)
            elif kind == "float":
                values += struct.unpack(f"<{len(value) // 4}f", value)
            elif wire == 0:
                values.append(_signed(value))
            else:
                at = 0
                while at < len(value):
                    item, at = _varint(value, at)
                    values.append(_signed(item))
        found = kind, values
    return found


def _entries(message: bytes, number: int = 1) -> dict[bytes, bytes]:
    return {
        part.get(1, b""): part.get(2, b"")
        for n, _, body in fields(message)
        if n == number
        for part in [{k: v for k, _, v in fields(body)}]
    }


def example(message: bytes) -> dict[str, tuple[str, Values] | None]:
    """Features of an Example (also the context of a SequenceExample); the last of equal keys wins."""
    block = b"".join(body for number, _, body in fields(message) if number == 1)
    return {key.decode("utf-8", "replace"): feature(value) for key, value in _entries(block).items()}


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


def inflate(data: bytes, compression: str) -> bytes:
    """As much of the plain stream as can be had from a possibly damaged file."""
    if not compression:
        return data
    out = b""
    while data:
        stream = zlib.decompressobj(31 if compression == "GZIP" else 15)
        try:
            for at in range(len(data)):
                out += stream.decompress(data[at : at + 1])
        except zlib.error:
            return out
        data = stream.unused_data
    return out


def decompress(data: bytes, compression: str) -> bytes:
    return {"": bytes, "GZIP": gzip.decompress, "ZLIB": zlib.decompress}[compression](data)


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
    at, out = 0, []
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
