# SPDX-License-Identifier: Apache-2.0
"""`tfrecord_read` and `tfrecord_write`."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import forebay as fb

import compare
import ops_readers
import pipeline
import record_departures
import wire
from ops_sources import Pair, records_of, wrong_error

Vector = dict[str, Any]
_COMPRESSION = {"": "none", "GZIP": "gzip", "ZLIB": "zlib"}
_CLASSES = {"NotFound": fb.IoError, "DataLoss": fb.DataError, "InvalidArgument": fb.DataError}


def _failure(vector: Vector, out: pipeline.Run, got: list[Pair]) -> list[str]:
    """The records before the fault come first. The original loses some of them when it reads several at once, and
    when the fault is in the compression; every further record we give must be one that is there."""
    expect = vector["expect"]
    if difference := wrong_error(expect, out, _CLASSES):
        return difference
    before = records_of(expect.get("records_before", []))
    there = records_of(record_departures.there(vector)[0])
    loose = bool(vector["args"]["compression"]) or "read_up_to" in vector["args"] or "records_before" not in expect
    want = there[: len(got)] if loose and len(got) >= len(before) else before
    return [] if got == want else [f"{len(got)} records before the error, expected {len(before)}"]


def _read_at_once(vector: Vector, files: list[Path]) -> list[str]:
    """The whole-file tool finds the same records, and the compression by itself."""
    values = [value for _, value in records_of(vector["expect"]["ok"]["records"])]
    got = [bytes(record) for file in files for record in fb.read_records(str(file))]
    return [] if got == values else [f"read_records: {compare.short(got)}, expected {compare.short(values)}"]


def tfrecord_read(vector: Vector, folder: Path) -> list[str]:
    files = [folder / file["name"] for file in vector["input"]["files"]]
    for path, file in zip(files, vector["input"]["files"], strict=True):
        if not file.get("missing"):
            path.write_bytes(base64.b64decode(file["data_b64"]))
    compression = _COMPRESSION[vector["args"]["compression"]]
    if wrong := ops_readers.differs(vector, files, "tfrecord", {"compression": compression}):
        return wrong
    document = pipeline.read(files, {"record": {}}, [{"batch": {"size": 1}}], compression)
    out = pipeline.run(document, lambda batch: (Path(batch.record_keys[0]).name, batch["record"][0]))
    if "error" in vector["expect"]:
        return _failure(vector, out, out.values)
    if out.error:
        return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"]
    want = records_of(vector["expect"]["ok"]["records"])
    if out.values != want:
        return [f"{compare.short(out.values)}, expected {compare.short(want)}"]
    return _read_at_once(vector, files)


def tfrecord_write(vector: Vector, folder: Path) -> list[str]:
    records = [base64.b64decode(record) for record in vector["input"]["records_b64"]]
    compression = vector["args"]["compression"]
    want = vector["expect"]["ok"]
    path = folder / "out.tfrecord"
    fb.write_records(str(path), records, compression=compression.lower() or None)
    plain = wire.decompress(path.read_bytes(), compression)
    if plain != base64.b64decode(want.get("file_b64", want.get("decompressed_b64"))):
        return [f"bytes {compare.short(plain.hex())}"]
    path.write_bytes(base64.b64decode(want.get("original_file_b64", want.get("file_b64"))))
    got = [bytes(record) for record in fb.read_records(str(path))]
    return [] if got == records else [f"read back {compare.short(got)}, expected {compare.short(records)}"]
