# SPDX-License-Identifier: Apache-2.0
"""What we promise instead of what TF-Slim did; see departures.py."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

import compare
import forebay as fb

Vector = dict[str, Any]


def _record(vector: Vector) -> dict[str, Any]:
    try:
        return fb.decode_example(base64.b64decode(vector["input"]["serialized_b64"]))
    except fb.DataError:
        return {}


def _wanted(vector: Vector) -> list[str]:
    return list(vector["args"]["items"] or vector["args"]["items_to_handlers"])


def _handler_of(vector: Vector, item: str) -> dict[str, Any]:
    spec: dict[str, Any] = vector["args"]["items_to_handlers"].get(item, {})
    return spec


def _lacks_shape(spec: dict[str, Any]) -> bool:
    return spec.get("handler") == "SparseTensor" and spec.get("shape") is None and not spec.get("shape_key")


def lacks_sparse_shape(vector: Vector) -> bool:
    lacking = [item for item in _wanted(vector) if _lacks_shape(_handler_of(vector, item))]
    return bool(lacking) and ("ok" in vector["expect"] or lacking == _wanted(vector))


def _ids(vector: Vector, spec: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    record = _record(vector)
    nothing = np.zeros(0, np.int64)
    ids, values = record.get(spec.get("indices_key") or "indices"), record.get(spec.get("values_key") or "values")
    return nothing if ids is None else ids, nothing.astype(np.float32) if values is None else values


def largest_id_is_the_shape(vector: Vector) -> None:
    """The dense shape holds all ids; so a dense result works, too, if the ids are in order."""
    values = []
    for place, item in enumerate(_wanted(vector)):
        spec = _handler_of(vector, item)
        if not _lacks_shape(spec):
            values.append(vector["expect"]["ok"]["values"][place])
            continue
        ids, found = _ids(vector, spec)
        size = int(ids.max(initial=-1)) + 1
        if len(ids) != len(found) or ids.min(initial=0) < 0 or (spec.get("densify") and np.any(np.diff(ids) <= 0)):
            vector["expect"] = {"error": "InvalidArgument", "mentions": []}
            return
        if spec.get("densify"):
            whole = np.full(size, spec.get("default_value", 0), found.dtype)
            whole[ids] = found
            values.append(compare.spec_of(whole))
        else:
            values.append({"indices": ids.reshape(-1, 1).tolist(), "values": compare.spec_of(found), "dense_shape": [size]})
    vector["expect"] = {"ok": {"items": _wanted(vector), "values": values}}


def _text(vector: Vector, key: str) -> bytes:
    stored = _record(vector).get(key)
    if stored:
        return bytes(stored[0])
    default = vector["args"]["features"].get(key, {}).get("default")
    return base64.b64decode(default["b64"]) if isinstance(default, dict) else b""


def _images(vector: Vector) -> list[dict[str, Any]]:
    specs = [_handler_of(vector, item) for item in _wanted(vector)]
    return [spec for spec in specs if spec.get("handler") == "Image"]


def has_raw_image_without_shape(vector: Vector) -> bool:
    return any(spec.get("shape") is None and _text(vector, spec.get("format_key") or "image/format") in (b"raw", b"RAW")
               for spec in _images(vector)) and "ok" in vector["expect"]


def raw_needs_shape(vector: Vector) -> None:
    vector["expect"] = {"error": "InvalidArgument", "mentions": ["shape"], "stage": "run"}


def _deep_png(vector: Vector) -> bytes | None:
    """The bytes of the only image, if that is a PNG of 16 bits read as numbers that hold them."""
    images = _images(vector)
    if len(_wanted(vector)) != 1 or len(images) != 1 or images[0].get("repeated"):
        return None
    data = _text(vector, images[0].get("image_key") or "image/encoded")
    deep = data.startswith(b"\x89PNG") and len(data) > 25 and data[24] == 16
    return data if deep and images[0].get("dtype", "uint8") != "uint8" else None


def has_deep_png(vector: Vector) -> bool:
    data = _deep_png(vector)
    return data is not None and "ok" in vector["expect"] and _channels(data) == vector["expect"]["ok"]["values"][0]["shape"][-1]


def _channels(data: bytes) -> int:
    return {0: 1, 2: 3, 4: 2, 6: 4}[data[25]]


def keeps_16_bits(vector: Vector) -> None:
    data = _deep_png(vector)
    assert data is not None
    width, height = struct.unpack(">II", data[16:24])
    packed, at = b"", 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    pixel = 2 * _channels(data)
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * pixel)
    rows = np.zeros((height + 1, width * pixel), np.int64)
    for y, line in enumerate(lines):
        _unfilter(int(line[0]), line[1:].astype(np.int64), rows[y], rows[y + 1], pixel)
    spec = vector["expect"]["ok"]["values"][0]
    pixels = rows[1:].astype(np.uint8).tobytes()
    whole = np.frombuffer(pixels, ">u2").reshape(spec["shape"]).astype(spec["dtype"])
    vector["expect"]["ok"]["values"][0] = compare.spec_of(whole)


def _unfilter(kind: int, line: np.ndarray, above: np.ndarray, out: np.ndarray, pixel: int) -> None:
    """The filters of PNG: none, left, above, their mean, and Paeth's choice."""
    for x in range(len(line)):
        a, b = int(out[x - pixel]) if x >= pixel else 0, int(above[x])
        c = int(above[x - pixel]) if x >= pixel else 0
        paeth = min((a, b, c), key=lambda near: abs(a + b - c - near))
        out[x] = (int(line[x]) + (0, a, b, (a + b) // 2, paeth)[kind]) % 256
