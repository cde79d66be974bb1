# SPDX-License-Identifier: Apache-2.0
"""The rows that the page shows: a second loader of the plan, which reads only when the page asks."""
from __future__ import annotations

import threading
import time
from typing import Any, Callable, Optional

import numpy as np

from forebay._view.features import text_of
from forebay.errors import Error
from forebay.loader import Batch, Loader
from forebay.values import Ragged

__all__ = ["Rows", "cell_of", "value_of"]

WAIT = 1.0            # seconds that one question of the page may read; the page asks again
SAMPLE = 4096         # rows that the histograms are made of, at most
MAX_TEXT = 400        # characters of a string in a cell; "show more" asks for MAX_MORE
MAX_MORE = 20_000
MAX_NUMBERS = 12


class Rows:
    """Batches by number, one at a time, read forward; an earlier one begins anew. Any thread may call it.

    open   starts the loader; called when the first batch is asked for
    """

    def __init__(self, open: Callable[[], Loader]) -> None:
        self._open = open
        self._lock = threading.Lock()
        self._loader: Optional[Loader] = None
        self._batches: dict[int, Batch] = {}
        self._next, self._first_row = 0, 0
        self._starts: dict[int, int] = {}
        self.places: list[tuple[str, int]] = []  # file and record of the first rows, in the order of the stream
        self.sample: dict[str, list[Any]] = {}
        self.skipped: list[str] = []
        self.failure: Optional[str] = None
        self.ended = False

    def batch(self, number: int = -1, row: int = -1) -> tuple[Optional[int], Optional[Batch], int]:
        """(number, batch, its first row); without a batch: it was not reached in WAIT seconds, or there is none. The batch
        is that of `number`, or the one with `row`."""
        until = time.monotonic() + WAIT
        with self._lock:
            while True:
                found = number if row < 0 else self._with_row(row)
                if found in self._batches:
                    return found, self._batches[found], self._starts[found]
                if found >= 0 and found < self._next:
                    self._anew()
                elif self.ended or self.failure or time.monotonic() > until:
                    return self._next, None, self._first_row
                else:
                    self._read()

    def _with_row(self, row: int) -> int:
        return max((n for n, start in self._starts.items() if start <= row), default=-1) if row < self._first_row else -1

    def _anew(self) -> None:
        if self._loader is not None:
            self._loader.begin_anew()
        self._batches, self._next, self._first_row, self.ended, self.failure = {}, 0, 0, False, None

    def _read(self) -> None:
        try:
            if self._loader is None:
                self._loader = self._open()
            batch = next(self._loader)
        except StopIteration:
            self.ended = True
            return
        except Error as problem:
            self.failure = str(problem)[:4000]
            return
        first_time = self._next not in self._starts
        self._starts[self._next] = self._first_row
        self._batches[self._next] = batch
        for old in [n for n in self._batches if n < self._next - 3]:
            del self._batches[old]
        if first_time and self._first_row < SAMPLE:
            self._note(batch)
        self._next += 1
        self._first_row += batch.rows

    def _note(self, batch: Batch) -> None:
        for origin in batch.origins:
            if len(origin) >= 3 and isinstance(origin[0], str):
                self.places.append((origin[0], int(origin[1])))
        self.skipped += [error[:1000] for _, error in batch.skipped][:max(0, 100 - len(self.skipped))]
        for name in batch:
            kept = self.sample.setdefault(name, [])
            for index in range(min(batch.rows, SAMPLE - len(kept))):
                value = value_of(batch, name, index)
                kept.append(text_of(value) if isinstance(value, bytes) else np.asarray(value).reshape(-1)[:4096].copy())

    def close(self) -> None:
        with self._lock:
            if self._loader is not None:
                self._loader.close()


def value_of(batch: Batch, name: str, row: int) -> Any:
    """The value of one row, without its padding: bytes of a single string, else an array."""
    if not 0 <= row < batch.rows:
        raise ValueError(f"row {row}: the batch has rows 0 to {batch.rows - 1}")
    tensor = batch[name]
    if isinstance(tensor, np.ndarray):
        value = tensor[row]
        if isinstance(value, np.ndarray) and name in batch.lengths:
            sizes = np.atleast_1d(batch.lengths[name][row])
            if len(sizes) == 1 and value.ndim:
                value = value[:int(sizes[0])]
        return value
    if isinstance(tensor, Ragged):
        return tensor[row]
    indices = np.asarray(tensor.indices)
    return np.asarray(tensor.values)[indices[:, 0] == row]


def cell_of(value: Any, words: Optional[list[str]] = None, max_text: int = MAX_TEXT) -> dict[str, Any]:
    """What the page shows of a value: `kind` says how."""
    if isinstance(value, (bytes, bytearray)):
        return _string(bytes(value[:MAX_MORE * 4]), len(value), max_text)
    array = np.asarray(value)
    if array.dtype == object:
        parts = [_string(bytes(each[:200]), len(each), 60)["text"] for each in array.reshape(-1)[:MAX_NUMBERS].tolist()
                 if isinstance(each, (bytes, bytearray))]
        return {"kind": "numbers", "text": ", ".join(parts), "shape": list(array.shape)}
    flat = array.reshape(-1)[:MAX_NUMBERS].tolist()
    text = ", ".join(f"{each:.6g}" if isinstance(each, float) else str(each) for each in flat)
    text += ", …" if array.size > MAX_NUMBERS else ""
    cell: dict[str, Any] = {"kind": "numbers", "text": text, "shape": list(array.shape)}
    if words is not None and array.dtype.kind in "iu":
        ids = array.reshape(-1)[:200].tolist()
        cell["words"] = " ".join(words[i] if 0 <= i < len(words) else f"⟨{i}⟩" for i in ids)[:max_text]
    if array.dtype == np.uint8 and array.ndim == 3 and 1 <= array.shape[2] <= 4 and array.size:
        cell["kind"] = "image"
    elif array.dtype.kind == "f" and array.ndim == 1 and array.size >= 2000:
        cell["kind"] = "audio"
    elif array.dtype.kind in "fiu" and array.ndim == 2 and min(array.shape) > 1:
        cell["kind"] = "heat"
    return cell


def _string(start: bytes, size: int, max_text: int) -> dict[str, Any]:
    if start[:3] == b"\xff\xd8\xff" or start[:4] in (b"\x89PNG", b"GIF8") or (start[:4] == b"RIFF" and start[8:12] == b"WEBP"):
        return {"kind": "image", "text": f"{size:,} bytes", "shape": []}
    if start[:4] in (b"fLaC", b"OggS") or (start[:4] == b"RIFF" and start[8:12] == b"WAVE") or start[:3] == b"ID3":
        return {"kind": "audio", "text": f"{size:,} bytes", "shape": []}
    text = start.decode("utf-8", "backslashreplace")[:max_text]
    return {"kind": "text", "text": text, "shape": [], "more": size > len(text.encode()), "size": size}
