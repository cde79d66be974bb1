# SPDX-License-Identifier: Apache-2.0
"""`load` and `load_shuffled`: whole runs of loader documents."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forebay as fb

import compare
import pipeline

Vector = dict[str, Any]


def _placed(value: Any, folder: str) -> Any:
    """`value` with {dir} replaced in every string."""
    if isinstance(value, str):
        return value.replace("{dir}", folder)
    if isinstance(value, list):
        return [_placed(item, folder) for item in value]
    return {key: _placed(item, folder) for key, item in value.items()} if isinstance(value, dict) else value


def _write_inputs(given: dict[str, Any], folder: Path) -> None:
    for name, data in [*(given.get("files_b64") or {}).items(), *(given.get("other_files_b64") or {}).items()]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))
    manifest = given.get("manifest")
    if manifest is not None:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        (folder / "__manifest__.json").write_text(text, encoding="utf-8", newline="")
    if "list_text" in given:
        (folder / "list.txt").write_text(_placed(given["list_text"], str(folder)), encoding="utf-8", newline="")


def _prepare(vector: Vector, folder: Path) -> Path:
    """Writes data and document; the path of the document, which lies outside the data folder."""
    data = folder / "data"
    data.mkdir()
    _write_inputs(vector["input"], data)
    args = vector["args"]
    config = _placed(args["config"], str(data))
    if "caller_batch_size" in args:
        config["target_batch_size"] = args["caller_batch_size"]
    document = {"type": args["loader"], "args": config, "inputs": args["inputs"], "targets": args["targets"]}
    path = folder / "loader.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def _sides(batch: Any) -> dict[str, dict[str, Any]]:
    return {side: {name: getattr(batch, side)[name] for name in getattr(batch, side)} for side in ("inputs", "targets")}


def _batch_differences(want: Vector, got: Vector, tolerance: float) -> list[str]:
    out = []
    for side in ("inputs", "targets"):
        if set(want[side]) != set(got[side]):
            out.append(f"{side} {sorted(got[side])}, expected {sorted(want[side])}")
            continue
        for name, spec in want[side].items():
            difference = compare.array_difference(spec, got[side][name], tolerance)
            out += [f"{side} {name}: {difference}"] if difference else []
    return out


def _failure(vector: Vector, out: pipeline.Run, folder: Path) -> list[str]:
    """Failing earlier than the original is right; failing later is not."""
    expect = vector["expect"]
    difference = compare.error_difference(expect["mentions"], out.error, str(folder / "data"))
    if difference:
        return [difference]
    if expect.get("stage") == "config" and not (out.at_load and isinstance(out.error, fb.ConfigError | fb.IoError)):
        return [f"not a fault of the config: {type(out.error).__name__}: {compare.short(str(out.error))}"]
    if len(out.values) > expect.get("batches_before", 0):
        return [f"{len(out.values)} batches before the error, expected {expect.get('batches_before', 0)}"]
    return []


def load(vector: Vector, folder: Path) -> list[str]:
    out = pipeline.run(_prepare(vector, folder), _sides, vector["args"].get("max_batches"))
    if "error" in vector["expect"]:
        return _failure(vector, out, folder)
    if out.error:
        return [f"{type(out.error).__name__}: {compare.short(str(out.error), 300)}"]
    want = vector["expect"]["ok"]
    if len(out.values) != len(want["batches"]):
        return [f"{len(out.values)} batches, expected {len(want['batches'])}"]
    for i, pair in enumerate(zip(want["batches"], out.values, strict=True)):
        differences = _batch_differences(*pair, vector.get("tolerance", 0))
        if differences:
            return [f"batch {i}: {differences[0]}"]
    return [] if out.ended == want["end_reached"] else [f"end reached: {out.ended}, expected {want['end_reached']}"]


def run(vector: Vector, folder: Path, take: Callable[[Any], Any]) -> pipeline.Run:
    """What `take` makes of every batch."""
    return pipeline.run(_prepare(vector, folder), take)


def load_shuffled(vector: Vector, folder: Path) -> list[str]:
    """The order is free: sizes, number of each id and the multiset are not."""
    want = vector["expect"]["ok"]
    path = _prepare(vector, folder)
    name = vector["args"]["inputs"][0]
    for threads in (1, 2):
        out = pipeline.run(path, lambda batch: batch[name].reshape(-1).tolist(), threads=threads)
        if out.error:
            return [f"{type(out.error).__name__}: {compare.short(str(out.error), 300)}"]
        sizes = [len(batch) for batch in out.values]
        if sizes != want["batch_sizes"]:
            return [f"batch sizes {sizes}, expected {want['batch_sizes']}"]
        ids = Counter(item for batch in out.values for item in batch)
        if max(ids.values(), default=0) > want["each_id_at_most"]:
            return [f"an id came {max(ids.values())} times, at most {want['each_id_at_most']} expected"]
        if want["all_delivered_exactly"] and ids != Counter(want["one_run_order"]):
            return [f"delivered {compare.short(sorted(ids.items()))}"]
        if sum(ids.values()) != want["delivered"]:
            return [f"{sum(ids.values())} rows, expected {want['delivered']}"]
    return []
