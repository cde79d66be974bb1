# SPDX-License-Identifier: Apache-2.0
"""`text_lines`, `fixed_length` and `whole_file`: readers of whole files, as sources of a pipeline."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import compare
import forebay as fb
import ops_readers
import pipeline

Vector = dict[str, Any]
Pair = tuple[str, bytes]
_COMPRESSION = {"": "none", "GZIP": "gzip", "ZLIB": "zlib"}
# What a reader does with one fault is a class here; a faulty option is found before the first record.
_CLASSES = {"NotFound": fb.IoError, "DataLoss": fb.DataError, "InvalidArgument": fb.ConfigError}


def records_of(records: list[dict[str, Any]]) -> list[Pair]:
    """(key, value) pairs, also of reads of several records at once."""
    out: list[Pair] = []
    for record in records:
        keys = record.get("keys") or [record["key"]]
        values = record["values_b64"] if "keys" in record else [record["value_b64"]]
        out += [(key, base64.b64decode(value)) for key, value in zip(keys, values, strict=True)]
    return out


def wrong_error(expect: dict[str, Any], out: pipeline.Run, classes: dict[str, type[Exception]]) -> list[str]:
    """How the error of a run differs from the expected one, whose class is named in `classes`."""
    if difference := compare.error_difference(expect["mentions"], out.error):
        return [difference]
    kind = classes[expect["error"]]
    if isinstance(out.error, kind):
        return []
    return [f"{type(out.error).__name__}, expected {kind.__name__}: {compare.short(str(out.error))}"]


def _failure(vector: Vector, out: pipeline.Run) -> list[str]:
    expect = vector["expect"]
    if difference := wrong_error(expect, out, _CLASSES):
        return difference
    # A missing file or a faulty option is an error of the plan, so no record comes before it.
    want = [] if out.at_load else records_of(expect.get("records_before", []))
    return [] if out.values == want else [f"{compare.short(out.values)} before the error, expected {compare.short(want)}"]


def _read(vector: Vector, folder: Path, source: str, options: dict[str, Any]) -> list[str]:
    files = [folder / file["name"] for file in vector["input"]["files"]]
    for path, file in zip(files, vector["input"]["files"], strict=True):
        if not file.get("missing"):
            path.write_bytes(base64.b64decode(file["data_b64"]))
    if wrong := ops_readers.differs(vector, files, source, options):
        return wrong
    document = {"source": {source: {"files": [str(file) for file in files], **options}}, "decode": {"record": {}},
                "steps": [{"batch": {"size": 1}}]}
    out = pipeline.run(document, lambda batch: (Path(batch.record_keys[0]).name, batch["record"][0]))
    if "error" in vector["expect"]:
        return _failure(vector, out)
    if out.error:
        return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"]
    want = records_of(vector["expect"]["ok"]["records"])
    return [] if out.values == want else [f"{compare.short(out.values)}, expected {compare.short(want)}"]


def text_lines(vector: Vector, folder: Path) -> list[str]:
    options = {"skip_header_lines": vector["args"]["skip_header_lines"], "compression": "none"}
    return _read(vector, folder, "lines", options)


def whole_file(vector: Vector, folder: Path) -> list[str]:
    return _read(vector, folder, "whole_file", {})


def fixed_length(vector: Vector, folder: Path) -> list[str]:
    names = ("record_bytes", "header_bytes", "footer_bytes", "hop_bytes")
    options = {name: vector["args"][name] for name in names}
    return _read(vector, folder, "fixed_length",
                 {**options, "compression": _COMPRESSION.get(vector["args"]["encoding"], "none")})
