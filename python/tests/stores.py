# SPDX-License-Identifier: Apache-2.0
"""Files of other machines, for tests: a store of the program, and fsspec's file system in memory."""
from __future__ import annotations

import pathlib
import threading
import time
import uuid
from typing import Any, Callable, Iterable

import fsspec
import numpy as np

import forebay as fb


class Store:
    """Objects in memory, as a program may write a file system of its own. Paths come as they are in the document."""

    def __init__(self) -> None:
        self.objects: "dict[str, tuple[bytes, int]]" = {}
        self.calls: "list[tuple[str, str]]" = []
        self.before_read: Any = lambda path, start: None

    def put(self, path: str, data: bytes) -> None:
        self.objects[path] = data, self.objects.get(path, (b"", 0))[1] + 1

    def info(self, path: str) -> "dict[str, Any]":
        self.calls.append(("info", path))
        if path not in self.objects:
            raise FileNotFoundError(path)
        data, version = self.objects[path]
        return {"size": len(data), "ETag": f"v{version}"}

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        self.calls.append(("read", path))
        self.before_read(path, start)
        return self.objects[path][0][start:end]

    def find(self, folder: str) -> "list[str]":
        return [path for path in self.objects if path.startswith(folder)]


class Inside:
    """Counts the reads that are in a store at the same time, each of which takes so long: for `before_read`."""

    def __init__(self, seconds: float) -> None:
        self.most, self._inside, self._seconds, self._lock = 0, 0, seconds, threading.Lock()

    def __call__(self, path: str, start: int) -> None:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        time.sleep(self._seconds)
        with self._lock:
            self._inside -= 1


class Telling(Store):
    """A store whose lists tell what `info` does, or what `told` makes of it."""

    def __init__(self, told: "Callable[[dict[str, Any]], Any]" = lambda info: info) -> None:
        super().__init__()
        self.told = told

    def find(self, folder: str) -> Any:
        return {path: self.told({"size": len(data), "ETag": f"v{version}"}) for path, (data, version) in self.objects.items()
                if path.startswith(folder)}


def new_store(made: "Store | None" = None) -> "tuple[str, Store]":
    """A store with a scheme of its own, and the beginning of its paths."""
    scheme, made = f"t{uuid.uuid4().hex}", made or Store()
    fb.add_file_system(scheme, made)
    return f"{scheme}://bucket", made


def store_of(paths: "Iterable[pathlib.Path]") -> "tuple[str, Store]":
    """A new store with these files, by their names, and the beginning of its paths."""
    root, made = new_store()
    for path in paths:
        made.put(f"{root}/{path.name}", path.read_bytes())
    return root, made


def write_parts(folder: pathlib.Path) -> "list[pathlib.Path]":
    """Five files of records with an `id` and a list, two of them compressed, one empty."""
    first = 0
    out = []
    for number, (count, compression) in enumerate([(40, None), (0, None), (33, "gzip"), (7, None), (21, "zlib")]):
        path = folder / f"part-{number}"
        fb.write_records(path, [fb.encode_example({"id": [i], "v": np.arange(i % 5)}) for i in range(first, first + count)], compression)
        first += count
        out.append(path)
    return out


def in_memory(paths: "list[pathlib.Path]") -> str:
    """A folder of fsspec's file system in memory that has these files."""
    folder = f"memory://{uuid.uuid4().hex}"
    for path in paths:
        fsspec.filesystem("memory").pipe_file(f"{folder}/{path.name}", path.read_bytes())
    return folder


def records(files: Any) -> Any:
    return fb.tfrecord(files).example({"id": fb.fixed("int64"), "v": fb.var_len("int64")})


def check_restarts(pipe: Any, wanted: "list[Any]", threads: int, step: int, values_of: "Callable[[Any], list[Any]] | None" = None) -> None:
    """After every `step`-th batch a loader with another number of threads goes on."""
    for done in range(0, len(wanted) + 1, step):
        with pipe.load(threads=threads) as loader:
            for _ in range(done):
                next(loader)
            state = loader.state_dict()
        with pipe.load(threads=5 - threads) as loader:
            loader.load_state_dict(state)
            assert (values_of or values)(loader) == wanted[done:]


def values(batches: Any) -> "list[Any]":
    out = []
    for batch in batches:
        out.append({name: (value.values.tolist(), value.nested_row_splits[0].tolist()) if isinstance(value, fb.Ragged) else
                    value.tolist() for name, value in sorted(batch.items())})
    return out
