# SPDX-License-Identifier: Apache-2.0
"""Windows: those of the JSON loader in whole runs; chunks and context by the window plug-ins alone (`forebay_probe`)."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np

import compare
import ops_loader
import reference
import wire
from ops_probe import ask

Vector = dict[str, Any]
Span = list[int]   # element, start, length, padding left and right


class Refused(Exception):
    """An answer that is an error."""


def _cut(stages: list[dict[str, Any]], keys: list[str], lengths: list[int],
         seed: int = 0) -> tuple[list[str], list[list[Span]]]:
    """The keys in the order of the axes, and the spans of every window."""
    answer = ask(op="cut_windows", stages=stages, keys=keys, lengths=lengths, seed=seed)
    if "died" in answer:
        raise RuntimeError(f"the probe ended with {answer['died']}")
    if "error" in answer:
        raise Refused(answer["error"])
    return answer["keys"], answer["windows"]


def _failure(vector: Vector, error: Refused | None) -> list[str]:
    difference = compare.error_difference(vector["expect"]["mentions"], error)
    return [difference] if difference else []


# ---- continuous windows over the records of files

def _files(vector: Vector) -> list[np.ndarray]:
    """The rows of each file; every row is another one."""
    given, (feature,) = vector["input"], vector["args"]["config"]["primary_features"]
    compression = (given["manifest"]["compression"] or "").upper()
    out = []
    for name in sorted(given["files_b64"], key=str.encode):
        data = wire.decompress(base64.b64decode(given["files_b64"][name]), compression)
        rows = [reference.row(vector, payload)[feature["to_name"]] for _, payload in wire.whole_records(data)[0]]
        out.append(np.concatenate(rows))
    return out


def _outside(what: str, found: list[int], allowed: list[int]) -> list[str]:
    return [f"{what} {one}, allowed are {allowed}" for one in found if not allowed[0] <= one <= allowed[1]]


def load_random_windows(vector: Vector, folder: Path) -> list[str]:
    """The loader, with the sizes of its windows free within their bounds, drawn for each window or for each file."""
    want, files = vector["expect"]["ok"], _files(vector)
    if [len(rows) for rows in files] != want["rows_per_file"]:
        return [f"{[len(rows) for rows in files]} rows, expected {want['rows_per_file']}"]
    place = {row.tobytes(): (file, at) for file, rows in enumerate(files) for at, row in enumerate(rows)}
    name = vector["args"]["config"]["primary_features"][0]["to_name"]
    out = []
    for draw in ("per_window", "per_file"):
        run = folder / draw
        run.mkdir()
        got = ops_loader.run({**vector, "args": {**vector["args"], "config": {**vector["args"]["config"], "window_draw": draw}}},
                             run, lambda batch: batch[name][0])
        starts: list[list[int]] = [[] for _ in files]
        for window in got.values:
            file, at = place[window[0].tobytes()]
            if not np.array_equal(window, files[file][at : at + len(window)]):
                out.append(f"a window is not made of consecutive rows: {compare.short(window.tolist())}")
            starts[file].append(at)
        out += [f"{got.error}"] if got.error else []
        out += _outside("length", [len(window) for window in got.values], want["allowed_lengths"])
        out += _outside("first row", [own[0] for own in starts if own], [0, 0])
        strides = [b - a for own in starts for a, b in zip(own, own[1:], strict=False)]
        out += _outside("stride", strides, want["allowed_strides"])
    return out


# ---- chunks and context of sequences

def parse_chunking(vector: Vector, folder: Path) -> list[str]:
    answer = ask(op="parse_chunking", chunking=vector["args"]["chunking"])
    if "error" in vector["expect"]:
        return _failure(vector, Refused(answer["error"]) if "error" in answer else None)
    want = dict(vector["expect"]["ok"])
    for name in ("size", "step"):
        want[name] = want[name]["keys"] or want[name]["default"]
    return [] if answer == want else [f"{compare.short(answer, 200)}, expected {want}"]


def _sequences(vector: Vector) -> list[dict[str, int]]:
    return [{"data": given} if isinstance(given, int) else given for given in vector["input"]["lengths"]]


def chunk_stage(vector: Vector, used: list[str], rule: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The stages (none when chunking is off), and the keys that are cut."""
    answer = ask(op="parse_chunking", chunking=vector["args"]["chunking"])
    if "error" in answer:
        raise Refused(answer["error"])
    if not answer["enabled"]:
        return [], used
    least = vector["args"].get("min_chunk_size") or 0
    keys = [key for key in used if not isinstance(answer["size"], dict) or key in answer["size"]]
    options: dict[str, Any] = {"rule": rule, "keys": keys}
    for name, value in (("size", answer["size"]), ("step", answer["step"]), ("min_size", least)):
        options[name] = {key: value.get(key, 0) for key in keys} if isinstance(value, dict) else value
    return [{"chunk": options}], keys


def used_keys(vector: Vector) -> list[str]:
    """The default key first: `data`, else the first by the alphabet."""
    keys = vector["args"].get("used_data_keys") or list(_sequences(vector)[0])
    return sorted(keys, key=lambda key: (key != "data", key))


def _windows(vector: Vector, stages: list[dict[str, Any]], keys: list[str]) -> list[dict[str, Span]]:
    """The span of every key, whole ones too, in each window."""
    sequences = _sequences(vector)
    lengths = [sequence[key] for sequence in sequences for key in keys]
    order, windows = _cut(stages or [{"context": {"window": 1}}], keys, lengths)
    out = []
    for spans in windows:
        element = spans[0][0]
        whole = {key: [element, 0, length, 0, 0] for key, length in sequences[element].items() if key in used_keys(vector)}
        out.append({**whole, **dict(zip(order, spans, strict=True))})
    return out


def _bounds(window: dict[str, Span]) -> dict[str, Any]:
    return {"seq": next(iter(window.values()))[0],
            "start": {key: start for key, (_, start, _, _, _) in window.items()},
            "end": {key: start + length for key, (_, start, length, _, _) in window.items()}}


def _chunk(vector: Vector, rule: str) -> list[str]:
    try:
        stages, keys = chunk_stage(vector, used_keys(vector), rule)
        got = [_bounds(window) for window in _windows(vector, stages, keys)]
    except Refused as error:
        return _failure(vector, error) if "error" in vector["expect"] else [f"{rule}: {error}"]
    if "error" in vector["expect"]:
        return _failure(vector, None)
    want = vector["expect"]["ok"]["chunks"]
    return [] if got == want else [f"{rule}: {compare.short(got, 300)}, expected {compare.short(want, 300)}"]


def chunk(vector: Vector, folder: Path) -> list[str]:
    """Where the two versions of the original agree, our own rule gives the same."""
    version = "returnn" if vector["op"] == "chunk_dataset" else "returnn_pipe"
    return [difference for rule in [version, *(["forebay"] if vector.get("versions_agree") else [])]
            for difference in _chunk(vector, rule)]


def _frames(sequence: int, span: Span) -> list[float]:
    _, start, length, left, right = span
    return [0.0] * left + [float(1000 * sequence + start + i + 1) for i in range(length)] + [0.0] * right


def chunk_data(vector: Vector, folder: Path) -> list[str]:
    try:
        stages, keys = chunk_stage(vector, used_keys(vector), "returnn_pipe")
        windows = _windows(vector, stages, keys)
    except Refused as error:
        return _failure(vector, error) if "error" in vector["expect"] else [str(error)]
    if "error" in vector["expect"]:
        return _failure(vector, None)
    want = vector["expect"]["ok"]["chunks"]
    if len(windows) != len(want):
        return [f"{len(windows)} chunks, expected {len(want)}"]
    out = []
    for window, expected in zip(windows, want, strict=True):
        for key, span in window.items():
            difference = compare.array_difference(expected[key], np.array(_frames(span[0], span), np.float32))
            out += [f"{key}: {difference}"] if difference else []
    return out


def context_stage(width: Any) -> dict[str, Any]:
    if isinstance(width, list):
        return {"context": {"left": width[0], "right": width[1]}}
    return {"context": {"window": width}}


def context_window(vector: Vector, folder: Path) -> list[str]:
    used = used_keys(vector)
    try:
        stages, keys = chunk_stage(vector, used, "returnn")
        plain = _windows(vector, stages, keys)
        windows = _windows(vector, [*stages, context_stage(vector["args"]["context_window"])], keys)
    except Refused as error:
        return _failure(vector, error) if "error" in vector["expect"] else [str(error)]
    if "error" in vector["expect"]:
        return _failure(vector, None)
    got = []
    for chunk_only, window in zip(plain, windows, strict=True):
        entry = _bounds(chunk_only)
        entry["start_with_context"] = {key: start - left for key, (_, start, _, left, _) in window.items()}
        entry["end_with_context"] = {key: start + length + right
                                     for key, (_, start, length, _, right) in window.items()}
        entry["data"] = {key: compare.spec_of(np.array(_frames(span[0], span), np.float32))
                         for key, span in window.items()}
        got.append(entry)
    want = vector["expect"]["ok"]["chunks"]
    return [] if got == want else [f"{compare.short(got, 300)}, expected {compare.short(want, 300)}"]
