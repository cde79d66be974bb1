# SPDX-License-Identifier: Apache-2.0
"""`tfrecord_read` and `tfrecord_write`."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import forebay as fb

import compare
import pipeline
import record_departures
import wire

Vector = dict[str, Any]
Pair = tuple[str, bytes]
_COMPRESSION = {"": "none", "GZIP": "gzip", "ZLIB": "zlib"}
_CLASSES = {"NotFound": fb.IoError, "DataLoss": fb.DataError, "InvalidArgument": fb.DataError}


def _flat(records: list[dict[str, Any]]) -> list[Pair]:
    """(key, value) pairs, also of reads of several records at once."""
    out: list[Pair] = []
    for record in records:
        keys = record.get("keys") or [record["key"]]
        values = record["values_b64"] if "keys" in record else [record["value_b64"]]
        out += [(key, base64.b64decode(value)) for key, value in zip(keys, values, strict=True)]
    return out


def _failure(vector: Vector, out: pipeline.Run, got: list[Pair]) -> list[str]:
    """The records before the fault come first. The original loses some of them when it reads several at once, and
    when the fault is in the compression; every further record we give must be one that is there."""
    expect = vector["expect"]
    difference = compare.error_difference(expect["mentions"], out.error)
    if difference:
        return [difference]
    kind = _CLASSES[expect["error"]]
    if not isinstance(out.error, kind):
        return [f"{type(out.error).__name__}, expected {kind.__name__}: {compare.short(str(out.error))}"]
    before = _flat(expect.get("records_before", []))
    there = _flat(record_departures.there(vector)[0])
    loose = bool(vector["args"]["compression"]) or "read_up_to" in vector["args"] or "records_before" not in expect
    want = there[: len(got)] if loose and len(got) >= len(before) else before
    return [] if got == want else [f"{len(got)} records before the error, expected {len(before)}"]


def _read_at_once(vector: Vector, files: list[Path]) -> list[str]:
    """The whole-file tool finds the same records, and the compression by itself."""
    values = [value for _, value in _flat(vector["expect"]["ok"]["records"])]
    got = [bytes(record) for file in files for record in fb.read_records(str(file))]
    return [] if got == values else [f"read_records: {compare.short(got)}, expected {compare.short(values)}"]


def tfrecord_read(vector: Vector, folder: Path) -> list[str]:
    files = [folder / file["name"] for file in vector["input"]["files"]]
    for path, file in zip(files, vector["input"]["files"], strict=True):
        if not file.get("missing"):
            path.write_bytes(base64.b64decode(file["data_b64"]))
    compression = _COMPRESSION[vector["args"]["compression"]]
    document = pipeline.read(files, {"record": {}}, [{"batch": {"size": 1}}], compression)
    out = pipeline.run(document, lambda batch: (Path(batch.record_keys[0]).name, batch["record"][0]))
    if "error" in vector["expect"]:
        return _failure(vector, out, out.values)
    if out.error:
        return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"]
    want = _flat(vector["expect"]["ok"]["records"])
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
