# SPDX-License-Identifier: Apache-2.0
"""Departures of the JSON loader: when they apply, and what is expected then."""

from __future__ import annotations

from typing import Any

import reference

Vector = dict[str, Any]
_NORMALIZED = 1e-5


def _config(vector: Vector) -> dict[str, Any]:
    return vector["args"]["config"]


def _list(vector: Vector, key: str) -> list[dict[str, Any]]:
    value = _config(vector).get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _works(vector: Vector) -> bool:
    return "ok" in vector["expect"]


def _fails_by(vector: Vector, *words: str) -> bool:
    return vector["expect"].get("mentions") == list(words)


def _loaded(vector: Vector) -> list[tuple[Any, dict[str, Any]]]:
    """(to_name, manifest entry) of every primary feature."""
    manifest = vector["input"]["manifest"]
    entries = manifest.get("features") if isinstance(manifest, dict) else None
    known = {e.get("name"): e for e in entries if isinstance(e, dict)} if isinstance(entries, list) else {}
    pairs = ((p.get("to_name"), known.get(p.get("from_name"))) for p in _list(vector, "primary_features"))
    return [(name, entry) for name, entry in pairs if entry is not None]


def _produced(vector: Vector) -> list[str]:
    made = _list(vector, "primary_features") + _list(vector, "secondary_features")
    return [item["to_name"] for item in made if "to_name" in item]


def _refuse(vector: Vector, *words: str) -> None:
    vector["expect"] = {"error": "config", "mentions": list(words), "stage": "config"}


def works(vector: Vector) -> None:
    vector["expect"] = {"ok": reference.batches(vector)}


def lacks_only_a_name(vector: Vector) -> bool:
    return "name" not in _config(vector) and _fails_by(vector, "name")


def has_const(vector: Vector) -> bool:
    return any(s.get("type") == "const" for s in _list(vector, "secondary_features")) and _fails_by(vector, "const")


def has_shape_list(vector: Vector) -> bool:
    shapes = [s["args"].get("shape") for s in _list(vector, "secondary_features") if isinstance(s.get("args"), dict)]
    return any(isinstance(shape, list) for shape in shapes) and _fails_by(vector, "shape")


def _repeated(vector: Vector) -> list[str]:
    names = _produced(vector)
    return [name for name in names if names.count(name) > 1]


def repeats_a_name(vector: Vector) -> bool:
    return _works(vector) and bool(_repeated(vector))


def refused_repeat(vector: Vector) -> None:
    _refuse(vector, _repeated(vector)[0])


def _lacking(vector: Vector) -> list[str]:
    return [n for n in vector["args"]["inputs"] + vector["args"]["targets"] if n not in _produced(vector)]


def lacks_a_tensor(vector: Vector) -> bool:
    return _works(vector) and bool(_lacking(vector))


def refused_lack(vector: Vector) -> None:
    _refuse(vector, *_lacking(vector))


def has_negative_epochs(vector: Vector) -> bool:
    epochs = _config(vector).get("epochs")
    return _works(vector) and epochs is not None and epochs < 0


def refused_epochs(vector: Vector) -> None:
    _refuse(vector, "epochs")


def normalizes_padding(vector: Vector) -> bool:
    return _works(vector) and bool(_list(vector, "normalization")) and bool(_config(vector).get("padding"))


def include_padding(vector: Vector) -> None:
    for entry in _list(vector, "normalization"):
        entry["include_padding"] = True


def has_negative_axis(vector: Vector) -> bool:
    return _works(vector) and any(entry["axis"] < 0 for entry in _list(vector, "normalization"))


def normalizes_integers(vector: Vector) -> bool:
    dtypes = {name: entry.get("dtype", "") for name, entry in _loaded(vector)}
    names = [str(entry.get("tensor")) for entry in _list(vector, "normalization")]
    return any("int" in dtypes.get(name, "") and _fails_by(vector, name) for name in names)


def normalized(vector: Vector) -> None:
    works(vector)
    vector["tolerance"] = _NORMALIZED


def loads_short_raw_batches(vector: Vector) -> bool:
    raw = any(entry.get("deserialize_type") == "raw" for _, entry in _loaded(vector))
    return _config(vector).get("multi_load") is True and raw and "batches_before" in vector["expect"]


def has_raw_steps(vector: Vector) -> bool:
    steps = any(e.get("deserialize_type") == "raw" and e.get("var_len") for _, e in _loaded(vector))
    return steps and vector["args"]["loader"] == "independent" and vector["expect"].get("stage") != "config"


def works_or_differs(vector: Vector) -> None:
    """Without padding, records of unequal length in one batch stay an error."""
    try:
        works(vector)
    except ValueError:
        vector["expect"] = {"error": "data", "mentions": ["shape"], "stage": "run"}


def pads_raw_strings(vector: Vector) -> bool:
    several = [n for n, e in _loaded(vector) if (e.get("deserialize_args") or {}).get("len", 1) not in (None, 0, 1)]
    return _config(vector).get("padding") is True and any(_fails_by(vector, name) for name in several)
