# SPDX-License-Identifier: Apache-2.0
"""Windows, by the window plug-ins alone (`forebay_probe`): they cut lengths, and the rows are put together here."""

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
_OPTIONS = ("min_window", "max_window", "stride", "min_stride", "max_stride")


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

def _sliced(vector: Vector, row: reference.Row) -> reference.Row:
    for step in vector["args"]["config"].get("processing_steps", []):
        items = ask(op="parse_slice", slice=step["args"]["slice"])["items"]
        cells = tuple(item["index"] if "index" in item else slice(item["start"], item["stop"], item["step"])
                      for item in items)
        row[step["tensor"]] = row[step["tensor"]][cells]
    return row


def _files(vector: Vector) -> list[list[reference.Row]]:
    given = vector["input"]
    compression = (given["manifest"]["compression"] or "").upper()
    out = []
    for name in sorted(given["files_b64"], key=str.encode):
        data = wire.decompress(base64.b64decode(given["files_b64"][name]), compression)
        out.append([_sliced(vector, reference.row(vector, payload)) for _, payload in wire.whole_records(data)[0]])
    return out


def _windows_of(vector: Vector, rows: list[reference.Row], seed: int = 0) -> list[list[Span]]:
    config = vector["args"]["config"]
    options = {key: config[key] for key in _OPTIONS if key in config}
    names = [feature["to_name"] for feature in config["primary_features"]]
    lengths = [len(row[name]) for row in rows for name in names]
    return _cut([{"continuous": options}], names, lengths, seed)[1]


def _batches(vector: Vector) -> list[dict[str, np.ndarray]]:
    config = vector["args"]["config"]
    elements = []
    for rows in _files(vector):
        for spans in _windows_of(vector, rows):
            elements.append({name: np.concatenate([rows[e][name][s : s + n] for e, s, n, _, _ in spans])
                             for name in rows[0]})
    size, stream = config["target_batch_size"], elements * config["epochs"]
    cut = [stream[at : at + size] for at in range(0, len(stream), size)]
    if cut and config["drop_remainder"] and len(cut[-1]) < size:
        cut.pop()
    return [{name: np.stack([element[name] for element in batch]) for name in batch[0]} for batch in cut]


def load(vector: Vector, folder: Path) -> list[str]:
    """Documents of the JSON loader run whole, except those with windows: no loader runs them yet."""
    if vector["args"]["loader"] != "continuous_sequence" or vector["expect"].get("stage") == "config":
        return ops_loader.load(vector, folder)
    try:
        got = _batches(vector)
    except Refused as error:
        return _failure(vector, error) if "error" in vector["expect"] else [str(error)]
    if "error" in vector["expect"]:
        return _failure(vector, None)
    want = vector["expect"]["ok"]["batches"]
    if len(got) != len(want):
        return [f"{len(got)} batches, expected {len(want)}"]
    out = []
    for expected, batch in zip(want, got, strict=True):
        for name, spec in [*expected["inputs"].items(), *expected["targets"].items()]:
            difference = compare.array_difference(spec, batch[name])
            out += [f"{name}: {difference}"] if difference else []
    return out


def load_random_windows(vector: Vector, folder: Path) -> list[str]:
    want = vector["expect"]["ok"]
    out = []
    for number, rows in enumerate(_files(vector)):
        lengths = [len(next(iter(row.values()))) for row in rows]
        firsts = [sum(lengths[:i]) for i in range(len(lengths))]
        if sum(lengths) != want["rows_per_file"][number]:
            out.append(f"file {number} has {sum(lengths)} rows")
        for seed in range(20):
            windows = _windows_of(vector, rows, seed)
            places = [[firsts[e] + s + i for e, s, n, _, _ in spans for i in range(n)] for spans in windows]
            starts = [place[0] for place in places]
            whole = all(place == list(range(place[0], place[0] + len(place))) for place in places)
            if starts[:1] not in ([], [0]) or not whole:
                out.append(f"file {number}, seed {seed}: {places}")
            low, high = want["allowed_lengths"]
            out += [f"length {len(place)}" for place in places if not low <= len(place) <= high]
            low, high = want["allowed_strides"]
            out += [f"stride {b - a}" for a, b in zip(starts, starts[1:], strict=False) if not low <= b - a <= high]
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
    stages, keys = chunk_stage(vector, used_keys(vector), "returnn_pipe")
    windows = _windows(vector, stages, keys)
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
