# SPDX-License-Identifier: Apache-2.0
"""What the page may ask, and the life of its server."""
from __future__ import annotations

import threading
from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np

from forebay import _core
from forebay._pump import PumpedRun
from forebay._view import media
from forebay._view.features import shuffle_plot, summary
from forebay._view.rows import MAX_MORE, Rows, cell_of, value_of
from forebay._view.server import Answer, Server
from forebay._view.stages import live_numbers, stage_groups
from forebay._view.verification import Verification
from forebay.audio import decode_audio
from forebay.errors import StateError
from forebay.images import decode_image
from forebay.loader import Loader, Plan
from forebay.schema import TensorSpec

__all__ = ["View"]

BESIDE_A_RUN = 64 << 20  # bytes of memory of the loader that reads the rows
MAX_FILE = 64 << 20      # bytes of an image or audio file that the page decodes
MAX_SECONDS = 60         # of sound
MAX_ROWS = 32            # of a batch in one answer


def _second(plan: Plan, once: bool, alone: bool) -> Loader:
    """A loader of the same plan for the rows of the page. `once`: it would take rows from the run, or wait for its threads.
    `alone`: there is no run beside it, so it has the memory that a run would have."""
    if once:
        raise StateError("rows of a feed, of a table of the program, or of a plan with functions of the program are not shown: "
                         "a second loader cannot read them", code="state", detail="failed_precondition")
    memory = _core.usual_resources()[1] if alone else BESIDE_A_RUN
    return Loader(_core.start(plan, 1, memory, 1, None, "", None, False, 0, "", 0))


class View:
    """A page over a plan, and over a loader if there is one. `url` opens it; `close` ends it."""

    def __init__(self, plan: Plan, loader: Optional[Loader] = None,
                 vocabulary: Optional[Mapping[str, Sequence[str]]] = None) -> None:
        self._plan, self._loader = plan, loader
        classes = {column[0]: [name.decode("utf-8", "backslashreplace") for name in TensorSpec(*column[1:]).categories]
                   for column in plan.columns}
        self._words = {name: list(words) for name, words in {**classes, **(vocabulary or {})}.items() if words}
        once = '"feed"' in plan.lowered or '"arrow"' in plan.lowered or isinstance(getattr(loader, "_run", None), PumpedRun)
        self._rows = Rows(lambda: _second(plan, once, loader is None))
        questions: dict[str, Callable[[Mapping[str, str]], Any]] = {
            "rows": self._batch, "text": self._text, "image": self._image, "sound": self._sound,
            "outline": self._outline, "features": self._features, "plan": self._stages, "stats": self._stats,
            "health": self._health}
        self._verification = Verification(plan)
        self._server = Server(questions, {"verify": self._verification.start, "verify/stop": self._verification.stop})
        self._server.start()
        self._closed = threading.Event()

    @property
    def url(self) -> str:
        return self._server.url

    def close(self) -> None:
        """Stops the server and the loader of the rows."""
        if not self._closed.is_set():
            self._closed.set()
            self._server.stop()
            self._verification.stop()
            self._rows.close()

    def __enter__(self) -> "View":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"View({self.url})"

    def _batch(self, asked: Mapping[str, str]) -> Any:
        number, batch, first = self._rows.batch(int(asked.get("batch", -1)), int(asked.get("row", -1)))
        if batch is None:
            return {"at": number, "row": first, "ended": self._rows.ended, "failure": self._rows.failure}
        begin = max(0, int(asked["row"]) - first) if "row" in asked else int(asked.get("from", 0))
        begin = min(begin, max(0, batch.rows - 1))
        keys = batch.record_keys
        rows = [{"row": first + i, "index": i, "origin": keys[i] if i < len(keys) and len(keys) == batch.valid_rows else "",
                 "cells": [cell_of(value_of(batch, name, i), self._words.get(name)) for name in batch]}
                for i in range(begin, min(begin + MAX_ROWS, batch.rows))]
        columns = [{"name": c[0], "dtype": c[1], "shape": [-1 if s is None else s for s in c[2]]} for c in self._plan.columns]
        return {"batch": number, "size": batch.rows, "valid": batch.valid_rows, "epoch": batch.epoch, "from": begin,
                "columns": columns, "rows": rows}

    def _value(self, asked: Mapping[str, str]) -> Any:
        _, batch, _ = self._rows.batch(int(asked["batch"]))
        if batch is None:
            raise ValueError("this batch is not read yet")
        return value_of(batch, asked["name"], int(asked["index"]))

    def _text(self, asked: Mapping[str, str]) -> Any:
        return cell_of(self._value(asked), self._words.get(asked["name"]), MAX_MORE)

    def _image(self, asked: Mapping[str, str]) -> Answer:
        value = self._value(asked)
        if isinstance(value, bytes):
            if len(value) > MAX_FILE:
                raise ValueError("the file is too large to be shown")
            pixels = decode_image(value, max_image_pixels=32_000_000)
        else:
            pixels = np.asarray(value)
            if pixels.dtype.kind in "fiu" and pixels.dtype != np.uint8 and pixels.ndim == 2:
                return Answer("image/png", media.heat(pixels))
        return Answer("image/png", media.png(media.shrunk(pixels, min(media.MAX_SIDE, int(asked.get("side", 320))))))

    def _samples(self, asked: Mapping[str, str]) -> tuple[np.ndarray, int]:
        value = self._value(asked)
        if isinstance(value, bytes):
            if len(value) > MAX_FILE:
                raise ValueError("the file is too large to be played")
            return decode_audio(value, mono=True, length=MAX_SECONDS, unit="seconds")
        samples = np.asarray(value)
        return samples[:MAX_SECONDS * 48_000], 16_000

    def _sound(self, asked: Mapping[str, str]) -> Answer:
        return Answer("audio/wav", media.wav(*self._samples(asked)))

    def _outline(self, asked: Mapping[str, str]) -> Any:
        samples, rate = self._samples(asked)
        return {**media.outline(samples), "rate": rate}

    def _features(self, _: Mapping[str, str]) -> Any:
        with self._rows._lock:
            sample = {name: list(values) for name, values in self._rows.sample.items()}
        return [summary(name, values) for name, values in sample.items()]

    def _stages(self, _: Mapping[str, str]) -> Any:
        return {"groups": stage_groups(self._plan), "live": self._loader is not None,
                "shuffle": shuffle_plot(self._rows.places[:2000])}

    def _stats(self, _: Mapping[str, str]) -> Any:
        loader = self._loader or self._rows._loader
        return None if loader is None else live_numbers(loader.stats())

    def _health(self, _: Mapping[str, str]) -> Any:
        loader = self._loader or self._rows._loader
        stats = loader.stats() if loader is not None else None
        counts = {name: getattr(stats, name) if stats is not None else 0
                  for name in ("skipped_records", "skipped_ranges", "skipped_files", "skipped_bytes")}
        places = [str(each)[:1000] for each in (stats.skipped if stats is not None else [])] + self._rows.skipped
        return {"counts": counts, "places": places, "failure": self._rows.failure, "verification": self._verification.state()}
