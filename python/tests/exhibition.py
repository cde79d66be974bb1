# SPDX-License-Identifier: Apache-2.0
"""A data set with everything that the page of `view` draws: pictures, sound, matrices, token ids, text, numbers."""
from __future__ import annotations

import math
import pathlib
from typing import Any

import numpy as np

import forebay as fb
from forebay._view import media

WORDS = ["<pad>", "the", "river", "turns", "a", "wheel", "and", "slow", "water", "waits", "above", "mill"]
RATE = 16_000
SIZE = 48             # of a picture, in pixels
FRAMES, BANDS = 60, 24


def picture(number: int) -> bytes:
    """A PNG file: a disc that moves from row to row."""
    y, x = np.mgrid[0:SIZE, 0:SIZE]
    at = number * math.tau / 12
    inside = (x - SIZE / 2 - 12 * math.cos(at)) ** 2 + (y - SIZE / 2 - 12 * math.sin(at)) ** 2 < 100
    pixels = np.stack([60 + 3 * x, 90 + 2 * y, np.full_like(x, 150)], 2).astype(np.uint8)
    pixels[inside] = (240, 190, 60)
    return media.png(pixels)


def tone(number: int, seconds: float) -> np.ndarray:
    """A tone that swells, fades and has overtones."""
    time = np.arange(int(RATE * seconds)) / RATE
    swell = np.sin(math.pi * time / seconds) ** 2 * (0.6 + 0.4 * np.sin(math.tau * 5 * time))
    return (0.7 * swell * np.sin(math.tau * (220 + 30 * number) * time)).astype(np.float32)


def bands(number: int) -> np.ndarray:
    """A matrix that looks like a spectrogram."""
    frame, band = np.mgrid[0:FRAMES, 0:BANDS]
    line = BANDS / 2 + 8 * np.sin((frame + 3 * number) / 7)
    return np.exp(-((band - line) / 2.5) ** 2) + 0.3 * np.exp(-((band - line / 2) / 2) ** 2)


def write(folder: pathlib.Path, rows: int = 48, files: int = 3) -> dict[str, Any]:
    """Writes the files and returns the pipeline document."""
    random = np.random.default_rng(7)
    for file in range(files):
        records = []
        for i in range(file, rows, files):
            number = float("nan") if i == 5 else float(random.normal())
            records.append(fb.encode_example({
                "picture": picture(i), "sound": media.wav(tone(i, 0.5), RATE), "samples": tone(i, 0.25), "bands": bands(i).reshape(-1),
                "tokens": random.integers(0, len(WORDS) + 1, 6), "label": [b"river", b"mill", b"wheel"][i * i % 3], "number": number}))
        fb.write_records(folder / f"part-{file}.tfrecord", records)
    features = {"picture": {"dtype": "string", "shape": []}, "sound": {"dtype": "string", "shape": []},
                "samples": {"dtype": "float32", "shape": [RATE // 4]}, "bands": {"dtype": "float32", "shape": [FRAMES, BANDS]},
                "tokens": {"dtype": "int64", "shape": [6]}, "label": {"dtype": "string", "shape": []},
                "number": {"dtype": "float32", "shape": []}}
    return {"source": {"tfrecord": {"files": [str(folder / "part-*.tfrecord")]}}, "decode": {"example": {"features": features}},
            "steps": [{"shuffle": {"buffer": 16}}, {"decode_image": {"tensor": "picture", "out": "pixels", "resize": [32, 32]}},
                      {"batch": {"size": 8}}]}
