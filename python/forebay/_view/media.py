# SPDX-License-Identifier: Apache-2.0
"""Pictures and sound of the page, made in memory: PNG, WAV, heat maps and the outlines of waveforms."""
from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

__all__ = ["heat", "outline", "png", "shrunk", "wav"]

MAX_SIDE = 1024
# Dark violet to yellow; neighbouring colors differ in lightness, so the map also reads without color.
COLORS = np.array([(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)], np.float64)


def png(pixels: np.ndarray) -> bytes:
    """A PNG file of uint8 [height, width], or [height, width, 1 to 4]."""
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # a filter byte, 0, before each row
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 3))
            + chunk(b"IEND", b""))


def shrunk(pixels: np.ndarray, side: int) -> np.ndarray:
    """The picture with every nth row and column, so that no side is longer than `side`."""
    step = max(1, -(-max(pixels.shape[:2]) // side))
    return np.ascontiguousarray(pixels[::step, ::step])


def heat(values: np.ndarray) -> bytes:
    """A heat map as PNG: the first axis from left to right. What is not finite is gray."""
    table = np.asarray(values, np.float64).reshape(len(values), -1)
    table = shrunk(table, MAX_SIDE).T[::-1]
    good = np.isfinite(table)
    low, high = (float(table[good].min()), float(table[good].max())) if good.any() else (0.0, 1.0)
    place = np.where(good, (table / 2 - low / 2) / max(high / 2 - low / 2, 1e-300), 0) * (len(COLORS) - 1)
    at = np.clip(place.astype(int), 0, len(COLORS) - 2)
    colors = COLORS[at] + (COLORS[at + 1] - COLORS[at]) * (place - at)[:, :, None]
    colors[~good] = 128
    return png(np.clip(colors, 0, 255).astype(np.uint8))


def outline(values: np.ndarray, parts: int = 400) -> dict[str, Any]:
    """The lowest and highest value of each of `parts` pieces; None where none is finite."""
    flat = np.asarray(values, np.float64).reshape(-1)
    edges = np.linspace(0, len(flat), min(parts, max(len(flat), 1)) + 1).astype(int)
    pieces = [flat[a:b][np.isfinite(flat[a:b])] for a, b in zip(edges, edges[1:])]
    return {"low": [float(p.min()) if len(p) else None for p in pieces],
            "high": [float(p.max()) if len(p) else None for p in pieces], "length": len(flat)}


def wav(samples: np.ndarray, rate: int) -> bytes:
    """A WAV file of float samples [n] or [n, channels], as 16-bit PCM. Samples that are not finite are 0."""
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    clean = np.nan_to_num(np.asarray(samples, np.float32), nan=0, posinf=0, neginf=0)
    data = np.rint(np.clip(clean, -1, 1) * 32767).astype("<i2").tobytes()
    return (b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt "
            + struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * 2 * channels, 2 * channels, 16)
            + b"data" + struct.pack("<I", len(data)) + data)
