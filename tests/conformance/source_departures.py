# SPDX-License-Identifier: Apache-2.0
"""Departures in the readers of text lines and fixed-length records."""

from __future__ import annotations

import base64
from typing import Any

import wire

Vector = dict[str, Any]


def is_short_of_its_header(vector: Vector) -> bool:
    """The original ends the stream at a file that is shorter than its header."""
    return vector["expect"].get("error") == "OutOfRange"


def header_missing(vector: Vector) -> None:
    vector["expect"] = {**vector["expect"], "error": "DataLoss", "mentions": ["header_bytes"]}


def has_older_cr_rule(vector: Vector) -> bool:
    """`alt` is the rule of 1.x, which removes every carriage return."""
    return "original" in vector


def newer_cr_rule(vector: Vector) -> None:
    vector["expect"] = vector["original"]


def has_empty_records(vector: Vector) -> bool:
    return vector["args"]["record_bytes"] == 0


def empty_records_refused(vector: Vector) -> None:
    vector["expect"] = {"error": "InvalidArgument", "mentions": ["record_bytes"]}


def is_cut(vector: Vector) -> bool:
    """A compressed file is cut short, and the original takes that for its end."""
    encoding = vector["args"]["encoding"]
    files = vector["input"]["files"]
    return encoding in ("GZIP", "ZLIB") and "ok" in vector["expect"] and any(
        not wire.inflate(base64.b64decode(file["data_b64"]), encoding)[1] for file in files)


def cut_refused(vector: Vector) -> None:
    """The same records come first. The vectors have one file each."""
    vector["expect"] = {"error": "DataLoss", "mentions": [vector["input"]["files"][0]["name"]],
                        "records_before": vector["expect"]["ok"]["records"]}


def names_no_file(vector: Vector) -> bool:
    return not vector["input"]["files"]


def no_file_refused(vector: Vector) -> None:
    vector["expect"] = {"error": "InvalidArgument", "mentions": ["files"]}
