# SPDX-License-Identifier: Apache-2.0
"""Departures in reading record files, found by reading the bytes here."""

from __future__ import annotations

import base64
from typing import Any

import wire

Vector = dict[str, Any]


def _pair(name: str, offset: int, payload: bytes) -> dict[str, str]:
    return {"key": f"{name}:{offset}", "value_b64": base64.b64encode(payload).decode()}


def there(vector: Vector) -> tuple[list[dict[str, str]], tuple[str, int, int] | None]:
    """Every record before the first fault, and that fault: file, offset, and how many bytes follow there."""
    out: list[dict[str, str]] = []
    for file in vector["input"]["files"]:
        if file.get("missing"):
            return out, (file["name"], 0, 0)
        stream, complete = wire.inflate(base64.b64decode(file["data_b64"]), vector["args"]["compression"])
        records, whole = wire.whole_records(stream)
        out += [_pair(file["name"], offset, payload) for offset, payload in records]
        if not whole or not complete:
            end = records[-1][0] + 16 + len(records[-1][1]) if records else 0
            return out, (file["name"], end, len(stream) - end)
    return out, None


def _flat(vector: Vector) -> list[str]:
    expect = vector["expect"]
    records = expect["ok"]["records"] if "ok" in expect else expect.get("records_before", [])
    return [key for record in records for key in record.get("keys") or [record["key"]]]


def ends_too_early(vector: Vector) -> bool:
    """A file ends inside a header or inside its compressed stream, and the original goes on as if nothing was lost."""
    records, fault = there(vector)
    return fault is not None and ("ok" in vector["expect"] or len(_flat(vector)) > len(records))


def end_refused(vector: Vector) -> None:
    records, fault = there(vector)
    assert fault
    vector["expect"] = {"error": "DataLoss", "mentions": [fault[0], str(fault[1])], "records_before": records}


def has_unread_stream(vector: Vector) -> bool:
    """More compressed streams follow the first one, and the original ignores them."""
    records, fault = there(vector)
    return "ok" in vector["expect"] and fault is None and len(records) > len(_flat(vector))


def all_read(vector: Vector) -> None:
    vector["expect"] = {"ok": {"records": there(vector)[0]}}
