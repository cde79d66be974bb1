# SPDX-License-Identifier: Apache-2.0
"""Functions for the tests of `map`, in a module, so that a process can import them."""
from __future__ import annotations

import json
import os
import pathlib
import signal
import sys
import threading
import time
from typing import Any, Mapping

import numpy as np

import forebay as fb


def same(batch: Any) -> Any:
    return batch


def every_kind(batch: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Values of every kind that travels, changed."""
    batch["x"][:] += 1
    return {"x": batch["x"].T, "name": batch["name"][::-1], "tokens": batch["tokens"], "nested": {"id": batch["id"].tolist()},
            "text": [str(name) for name in batch["name"]], "noise": rng.random(2), "one": np.float32(2).reshape(()),
            "places": np.array([record for _, record, _ in batch.origins]), "keys": batch.record_keys,
            "lengths": {name: sizes.tolist() for name, sizes in batch.lengths.items()},
            "facts": [batch.number, batch.epoch, batch.rows, batch.valid_rows, sorted(batch.inputs), sorted(batch.targets)],
            "raw": [part.tolist() for part in batch.raw("name")],
            "sparse": fb.Sparse([[0, 0]], np.array([batch.number]), [1, 1]), "empty": np.empty((0, 3), np.int16)}


def one_row(row: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {"id": row["id"], "x": row["x"] * 2, "name": row["name"] + b"\0", "count": len(row["tokens"]), "draw": rng.random(3)}


def ids(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": int(row["id"])}


def lists(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"tokens": row["tokens"], "id": int(row["id"]), "name": row["name"], "x": [1, 2.5]}


def facts(batch: Any) -> dict[str, Any]:
    return {"origins": batch.origins, "keys": batch.record_keys}


def uneven(batch: Any) -> Any:
    """Batches take very different times."""
    time.sleep(0.02 if batch.number % 5 == 0 else 0.0)
    return {"number": np.array([batch.number]), "id": batch["id"]}


class Odd(ValueError):
    """Cannot be pickled."""

    def __init__(self, first: str, second: int) -> None:
        super().__init__(f"{first} {second}")
        self.lock = threading.Lock()


class Whole(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def fail(batch: Any) -> Any:
    if batch.number == 3:
        raise {"zero": ZeroDivisionError("three"), "odd": Odd("odd", 3), "whole": Whole(7), "stop": StopIteration(),
               "exit": SystemExit(4), "data": fb.DataError("bad", code="data", record=3)}[os.environ["FAILURE"]]
    return batch


def unsendable(batch: Any) -> Any:
    return {"lock": threading.Lock()}


def endless(batch: Any) -> Any:
    while batch.number == 2:
        time.sleep(0.01)
    return batch


def busy(batch: Any) -> Any:
    """Never returns, and holds the GIL for long stretches of time."""
    while batch.number == 2:
        sum(range(10_000_000))
    return batch


def deadly(batch: Any) -> Any:
    """Kills its process the first DEATHS times that it gets batch 3."""
    if batch.number == 3:
        path = pathlib.Path(os.environ["COUNT"])
        count = json.loads(path.read_text()) if path.exists() else 0
        if count < int(os.environ["DEATHS"]):
            path.write_text(json.dumps(count + 1))
            os.kill(os.getpid(), signal.SIGKILL)
    return batch


def leave(batch: Any) -> Any:
    os._exit(3)


def pid(batch: Any) -> dict[str, Any]:
    mapped = pathlib.Path("/proc/self/maps").read_text()
    return {"pid": os.getpid(), "main": sys.modules["__main__"].__spec__.name, "memfd": "memfd:forebay-map" in mapped,
            "shm": "/dev/shm" in mapped, "interrupt": signal.getsignal(signal.SIGINT) == signal.SIG_IGN, "folder": os.getcwd()}


def library_draws(row: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """What a transform of a library does: it draws from generators that are not given to it."""
    import random
    return {"id": row["id"], "draws": [random.random(), np.random.rand(), rng.random()]}


def one_draw(row: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {"id": row["id"], "draw": rng.random()}


def steps(row: Any) -> dict[str, Any]:
    """Tensors of 0 to 3 steps."""
    count = int(row["id"]) % 4
    made = np.full((count, 2), row["id"], np.float32)
    return {"ragged": made, "padded": made if count else [], "free": made, "words": [b"w\0"] * count, "ids": [3] * count}
