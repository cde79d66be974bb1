# SPDX-License-Identifier: Apache-2.0
"""Small cuts of the benchmark workloads for counting instructions: always the same bytes, made with plain Python.

W1: 64 floats and a label. W2: 13 floats, 26 integers of very different sizes and a label, in an order of its own per file.
W3a, b, c: 512 integers below 1000, token ids of one to three varint bytes, and integers of nine. W5: sequence examples with 80 floats a
frame, 20 to 160 frames, and a label for every 16 frames in the context. W7: lines of 10 floats and 10 integers.
"""
from __future__ import annotations

import math
import random
import struct
from pathlib import Path

TABLE = []
for _byte in range(256):
    _crc = _byte
    for _ in range(8):
        _crc = (_crc >> 1) ^ (0x82F63B78 if _crc & 1 else 0)
    TABLE.append(_crc)


def masked_crc(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def frame(record: bytes) -> bytes:
    length = struct.pack("<Q", len(record))
    return length + masked_crc(length) + record + masked_crc(record)


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(tag: int, body: bytes) -> bytes:
    return bytes([tag]) + varint(len(body)) + body


def feature(name: str, kind: int, body: bytes) -> bytes:
    """One entry of the map of features; kind 2 is float, 3 is int64."""
    value = message(kind << 3 | 2, message(0x0A, body))
    return message(0x0A, message(0x0A, name.encode()) + message(0x12, value))


def integers(name: str, values: list[int]) -> bytes:
    return feature(name, 3, b"".join(map(varint, values)))


def floats(name: str, values: list[float]) -> bytes:
    return feature(name, 2, struct.pack(f"<{len(values)}f", *values))


def w1(draw: random.Random) -> bytes:
    x = floats("x", [draw.gauss(0, 1) for _ in range(64)])
    return x + integers("label", [draw.randrange(1000)])


def w2(draw: random.Random, order: list[int]) -> bytes:
    entries = [floats(f"I{i}", [math.log1p(draw.expovariate(0.01))]) for i in range(1, 14)]
    for i in range(26):
        top = int(10 ** (0.6 + 5.9 * i / 25))
        entries.append(integers(f"C{i + 1}", [min(int((draw.paretovariate(0.7) - 1) * 3), top)]))
    entries.append(integers("label", [draw.randrange(2)]))
    return b"".join(entries[i] for i in order)


def w3(kind: str, draw: random.Random) -> bytes:
    make = {"W3a": lambda: draw.randrange(1000), "W3b": lambda: int(math.exp(draw.random() * math.log(128_000))) - 1,
            "W3c": lambda: draw.randrange(1 << 62)}[kind]
    return integers("ids", [make() for _ in range(512)])


def w5(draw: random.Random) -> bytes:
    """A whole record."""
    frames = draw.randrange(20, 161)
    labels = message(0x0A, integers("labels", [draw.randrange(5000) for _ in range(frames // 16)]))
    steps = b"".join(message(0x0A, message(0x12, message(0x0A, draw.randbytes(320)))) for _ in range(frames))
    return labels + message(0x12, message(0x0A, message(0x0A, b"mel") + message(0x12, steps)))


def w7(draw: random.Random) -> bytes:
    """A line: 10 floats of six significant digits, 10 integers of very different sizes."""
    numbers = [f"{(draw.randrange(-999_999, 1_000_000) or 1) / 10 ** draw.randrange(7):.6g}" for _ in range(10)]
    numbers += [str(min(int((draw.paretovariate(0.6) - 1) * 10), 1 << 40) * draw.choice((1, 1, 1, -1))) for _ in range(10)]
    return ",".join(numbers).encode() + b"\n"


def write(path: Path, workload: str, records: int) -> None:
    """Writes the first `records` records of a workload's cut, unless the file is there."""
    if path.exists():
        return
    draw = random.Random(f"forebay {workload}")
    order = list(range(40))
    draw.shuffle(order)
    make = {"W1": lambda: w1(draw), "W2": lambda: w2(draw, order)}.get(workload, lambda: w3(workload, draw))
    whole = (lambda: w5(draw)) if workload == "W5" else (lambda: message(0x0A, make()))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_bytes(b"".join(w7(draw) if workload == "W7" else frame(whole()) for _ in range(records)))
    part.rename(path)
