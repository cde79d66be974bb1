# SPDX-License-Identifier: Apache-2.0
"""Batches by frames and by buckets, and shuffled blocks of batches: short pipelines over sequences of given lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import compare
import ops_producers
import ops_windows
import pipeline
import wire

Vector = dict[str, Any]
Lengths = dict[str, int]
_LIMITS = ("batch_size", "packed_batch_size", "max_seqs", "max_pad_size", "max_seq_length", "min_seq_length",
           "max_total_num_seqs", "seq_drop", "recurrent", "pruning")


def sequences(vector: Vector) -> list[Lengths]:
    """The lengths of every sequence by key."""
    return [length if isinstance(length, dict) else {"data": length} for length in vector["input"]["lengths"]]


def _run(vector: Vector, folder: Path, steps: list[dict[str, Any]]) -> pipeline.Run:
    given = sequences(vector)
    keys = sorted({key for lengths in given for key in lengths}) or ["data"]
    file = folder / "x.tfrecord"
    weights = vector["args"].get("weights") or [1] * len(given)
    file.write_bytes(wire.frame([
        wire.encode({"seq": ("int64", [number]), "weight": ("float", [weights[number]]),
                     **{key: ("int64", [number] * lengths[key]) for key in keys}})
        for number, lengths in enumerate(given)]))
    features: dict[str, Any] = {key: {"kind": "var_len", "dtype": "int64"} for key in keys}
    features["seq"] = {"dtype": "int64", "shape": []}
    features["weight"] = {"dtype": "float32", "shape": []}
    document = {**pipeline.read([file], {"example": {"features": features}}, steps), "seed": vector["args"].get("epoch", 0)}
    return pipeline.run(document, lambda batch: {**{name: batch[name].copy() for name in [*keys, "seq"]},
                                                 "parts": _parts(batch, keys)})


def _parts(batch: Any, keys: list[str]) -> list[dict[str, Any]]:
    """What lies where in the rows, as the vectors say it; of whole records nothing."""
    out = []
    for row, spans in enumerate(batch.spans or []):
        padding = len(spans) == 1 and spans[0].at   # of context before the first frame; a row begins with a part
        for span in spans:
            length = int(batch.lengths[keys[0]][row]) if padding or len(spans) == 1 else span.length
            part = {"start": span.start - padding, "length": length, "offset": 0 if padding else span.at}
            out.append({"seq": span.origin[1], "slice": row,
                        **{name: dict.fromkeys(keys, value) for name, value in part.items()}})
    return out


def _windows(vector: Vector) -> list[dict[str, Any]]:
    """The steps before the batches. Batches of one row have whole sequences: they ignore chunks."""
    args = vector["args"]
    if not args.get("recurrent", True):
        return []
    given = {"args": {name: args[name] for name in ("chunking", "min_chunk_size", "used_data_keys") if name in args},
             "input": vector["input"]}
    steps = ops_windows.chunk_stage(given, ops_windows.used_keys(given), "returnn")[0] if "chunking" in args else []
    return [*steps, ops_windows.context_stage(args["context"])] if "context" in args else steps


def _limits(args: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    """The options of `frames` over sequences with these keys: here an option without a limit is left out."""
    out = {name: args[name] for name in _LIMITS if args.get(name) is not None}
    if out.get("max_seqs") == -1:
        del out["max_seqs"]
    if out.get("max_total_num_seqs", 1) <= 0:
        del out["max_total_num_seqs"]
    longest = out.get("max_seq_length")
    if isinstance(longest, int) and longest <= 0:
        del out["max_seq_length"]
        if longest < 0:
            out["max_seq_length"] = {"classes": -longest}
    for name in ("max_seq_length", "min_seq_length"):   # the original ignores limits of keys that no sequence has
        if isinstance(out.get(name), dict):
            out[name] = {key: limit for key, limit in out[name].items() if key in keys}
        if not out.get(name) or isinstance(out[name], int) and out[name] < 0:
            out.pop(name, None)
    if "weights" in args:
        out.update(weight="weight", mean_weight=sum(args["weights"]) / len(args["weights"]))
    return out


def _keys(vector: Vector) -> set[str]:
    return {key for lengths in sequences(vector) for key in lengths}


def _seqs(batch: Any) -> list[int]:
    """The sequences of an expected batch, in order."""
    return [part["seq"] for part in batch["parts"]] if isinstance(batch, dict) else batch


def _failed(vector: Vector, out: pipeline.Run) -> list[str] | None:
    """What is wrong when an error came or was wanted; else None."""
    if "error" in vector["expect"]:
        difference = compare.error_difference(vector["expect"]["mentions"], out.error)
        return [difference] if difference else []
    return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"] if out.error else None


def frames(vector: Vector, folder: Path) -> list[str]:
    limits = _limits(vector["args"], _keys(vector))
    if not {"batch_size", "packed_batch_size", "max_seqs"} & limits.keys():
        limits["max_seqs"] = 10**6 if vector["op"] == "batch_pipe" else 0   # the older one wants a limit
        if vector["op"] != "batch_pipe":
            limits = {"batch_size": None}
    windows = _windows(vector)
    out = _run(vector, folder, [*windows, {"frames": limits}])
    failed = _failed(vector, out)
    if failed is not None:
        return failed
    expected = vector["expect"]["ok"]["batches"]
    if windows or not limits.get("recurrent", True):
        return _compare_parts(out, expected, bool(windows))
    got, want = [batch["seq"].tolist() for batch in out.values], [_seqs(batch) for batch in expected]
    if got != want:
        return [f"{compare.short(got)}, expected {compare.short(want)}"]
    return [text for batch, whole in zip(out.values, expected, strict=True) for text in _shape(batch, whole)]


def _compare_parts(out: pipeline.Run, expected: list[Any], windows: bool) -> list[str]:
    """Windows, and rows of several sequences: each part, the shapes, and the values of rows of sequences."""
    got, want = [batch["parts"] for batch in out.values], [batch["parts"] for batch in expected]
    if got != want:
        return [f"{compare.short(got, 300)}, expected {compare.short(want, 300)}"]
    wrong = []
    for batch, whole in zip(out.values, expected, strict=True):
        for key, frames in whole["max_frames"].items():
            shape = [whole["num_slices"], frames]
            if list(batch[key].shape) != shape:
                wrong.append(f"{key}: {batch[key].shape}, expected {shape}")
            values = [part["seq"] for part in whole["parts"] for _ in range(part["length"][key])]
            if not windows and batch[key][0].tolist() != values:
                wrong.append(f"{key}: {batch[key][0].tolist()}, expected {values}")
    return wrong


def dropped(vector: Vector, folder: Path) -> list[str]:
    """The original's generator is not ours: what is left must be in order, about as many, and the same in every run."""
    limits = _limits({name: value for name, value in vector["args"].items() if name != "epoch"}, _keys(vector))
    lists = []
    for _ in range(2):
        out = _run(vector, folder, [{"frames": limits}])
        failed = _failed(vector, out)
        if failed is not None:
            return failed
        lists.append([seq for batch in out.values for seq in batch["seq"].tolist()])
    count, drop = len(vector["input"]["lengths"]), vector["args"]["seq_drop"]
    right = lists[0] == lists[1] == sorted(set(lists[0])) and set(lists[0]) <= set(range(count))
    far = 4 * (count * drop * (1 - drop)) ** 0.5
    return [] if right and abs(len(lists[0]) - count * (1 - drop)) <= far else [f"{lists}"]


def _shape(batch: dict[str, Any], expected: Any) -> list[str]:
    """The padded shapes of a batch, where the vector has them."""
    longest = expected.get("max_frames", {}) if isinstance(expected, dict) else {}
    got = {key: list(batch[key].shape) for key in longest}
    want = {key: [len(expected["parts"]), frames] for key, frames in longest.items()}
    return [] if got == want else [f"shapes {got}, expected {want}"]


def len_filter(vector: Vector, folder: Path) -> list[str]:
    out = _run(vector, folder, [{"frames": {"max_seqs": 10**6, **_limits(vector["args"], _keys(vector))}}])
    failed = _failed(vector, out)
    if failed is not None:
        return failed
    got, want = [seq for batch in out.values for seq in batch["seq"].tolist()], vector["expect"]["ok"]["kept"]
    return [] if got == want else [f"{got}, expected {want}"]


def bucket_batch(vector: Vector, folder: Path) -> list[str]:
    buckets = sorted(vector["args"]["buckets"])
    options = {"key": "data", "boundaries": [longest for longest, _ in buckets],
               "sizes": [rows for _, rows in buckets] or [1], "longer": "drop"}
    out = _run(vector, folder, [{"buckets": options}])
    failed = _failed(vector, out)
    if failed is not None:
        return failed
    got, want = [batch["seq"].tolist() for batch in out.values], vector["expect"]["ok"]["batches"]
    return [] if got == want else [f"{compare.short(got)}, expected {compare.short(want)}"]


def block_shuffle(vector: Vector, folder: Path) -> list[str]:
    """The original's generator is not ours: each block must have its batches, in some order."""
    batches = vector["input"]["batches"]
    rows = len(batches[0]) if batches else 1
    lengths = {"args": vector["args"], "input": {"lengths": [1] * sum(map(len, batches))}}
    size = vector["args"]["buffer_size"]
    out = _run(lengths, folder, [{"batch": {"size": rows, "pad": True}}, {"shuffle_batches": {"buffer": size}}])
    failed = _failed(vector, out)
    if failed is not None:
        return failed
    flat = [seq for batch in batches for seq in batch]
    got = [[flat[seq] for seq in batch["seq"].tolist()] for batch in out.values]
    for first in range(0, len(batches), size):
        if sorted(got[first:first + size]) != batches[first:first + size]:
            return [f"block at {first}: {compare.short(got)}"]
    return []


def bucket_by_sequence_length(vector: Vector, folder: Path) -> list[str]:
    args = vector["args"]
    if wrong := ops_producers.bucket_by_sequence_length(vector):
        return wrong
    limits, sizes = args["bucket_boundaries"], args["batch_size"]
    options = {"key": "data", "boundaries": [limit - 1 for limit in limits], "longer": "bucket",
               "sizes": sizes if isinstance(sizes, list) else [sizes],
               "remainder": "keep" if args.get("allow_smaller_final_batch") else "drop"}
    out = _run(vector, folder, [{"buckets": options}])
    failed = _failed(vector, out)
    if failed is not None:
        return failed
    given = sequences(vector)
    got: dict[str, list[list[Any]]] = {}
    for batch in out.values:
        ids = batch["seq"].tolist()
        bucket = sum(given[ids[0]]["data"] >= limit for limit in limits)
        got.setdefault(str(bucket), []).append([ids, list(batch["data"].shape), batch["data"].ravel().tolist()])
    want = {bucket: [[batch["id"], batch["seq"]["shape"], batch["seq"]["data"]] for batch in batches]
            for bucket, batches in vector["expect"]["ok"]["per_bucket"].items()}
    return [] if got == want else [f"{compare.short(got)}, expected {compare.short(want)}"]
