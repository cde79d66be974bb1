# SPDX-License-Identifier: Apache-2.0
"""Streams for the tests of restarts, shards and shuffles: files of every packing, and batches as what can be compared."""
from __future__ import annotations

import hashlib
import pathlib
from typing import Any, Iterable, Mapping, Optional, Sequence

import numpy as np

import forebay as fb

SIZES = (60, 0, 151, 7, 88)
PACKINGS = (None, None, "gzip", None, "zlib")
FEATURES = {"id": fb.fixed("int64"), "x": fb.fixed("float32", [2]), "name": fb.fixed("string"),
            "tokens": fb.var_len("int32")}


def example(number: int) -> bytes:
    return fb.encode_example({"id": number, "x": [number / 2, number / 4], "name": b"n" * (number % 5),
                              "tokens": np.full(number % 4, number)})


def write_parts(folder: pathlib.Path, sizes: Sequence[int] = SIZES,
                packings: Sequence[Optional[str]] = PACKINGS) -> list[str]:
    """Files whose records are numbered from 0 on through all of them."""
    paths, first = [], 0
    for part, (size, packing) in enumerate(zip(sizes, packings)):
        paths.append(str(folder / f"part-{part}.tfrecord"))
        fb.write_records(paths[-1], [example(first + i) for i in range(size)], packing)
        first += size
    return paths


def examples(paths: Iterable[str]) -> fb.Pipeline:
    return fb.tfrecord(list(paths)).example(FEATURES)


def digest(batch: fb.Batch) -> str:
    """Of every byte of every tensor, and of the place of every row."""
    sums = hashlib.blake2b(repr((batch.number, batch.epoch, batch.rows, batch.valid_rows, batch.record_keys)).encode())
    for name, value in batch.items():
        if isinstance(value, fb.Ragged):
            arrays = [value.values, *value.nested_row_splits]
        else:
            arrays = [np.array(value.shape), *batch.raw(name)] if value.dtype == object else [value]
        for array in arrays:
            sums.update(f"{name} {array.dtype} {array.shape}".encode())
            sums.update(np.ascontiguousarray(array).tobytes())
    return sums.hexdigest()[:32]


def digests(loader: Iterable[fb.Batch]) -> list[str]:
    return [digest(batch) for batch in loader]


def rows_of(batch: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """What each row is, so that the shards of a batch can be put together again."""
    keys = [*batch.record_keys, *[None] * (batch.rows - batch.valid_rows)]
    columns = []
    for name in sorted(batch):
        value = batch[name]
        columns.append([np.asarray(row).tolist() for row in (value[i] for i in range(batch.rows))])
    return list(zip(keys, *columns))


def resumed(pipe: fb.Pipeline, state: Mapping[str, Any], **options: Any) -> fb.Loader:
    loader = pipe.load(**options)
    loader.load_state_dict(state)
    return loader
