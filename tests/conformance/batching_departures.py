# SPDX-License-Identifier: Apache-2.0
"""Departures of batches by frames; see departures.py."""

from __future__ import annotations

from typing import Any

Vector = dict[str, Any]


def _batches(vector: Vector) -> list[Any]:
    return vector["expect"].get("ok", {}).get("batches", [])


def _seqs(batch: Any) -> list[int]:
    return [part["seq"] for part in batch["parts"]] if isinstance(batch, dict) else batch


def _without_frames(vector: Vector, batch: Any) -> bool:
    lengths = [vector["input"]["lengths"][seq] for seq in _seqs(batch)]
    return not any(any(length.values()) if isinstance(length, dict) else length for length in lengths)


def has_empty_batches(vector: Vector) -> bool:
    return any(_without_frames(vector, batch) for batch in _batches(vector))


def no_empty_batches(vector: Vector) -> None:
    batches = _batches(vector)
    batches[:] = [batch for batch in batches if not _without_frames(vector, batch)]


def limits_no_tensor(vector: Vector) -> bool:
    limit = vector["args"].get("batch_size")
    keys = {key for length in vector["input"]["lengths"] if isinstance(length, dict) for key in length} or {"data"}
    return isinstance(limit, dict) and not limit.keys() <= keys


def refused_limit(vector: Vector) -> None:
    vector["expect"] = {"error": "invalid_argument", "mentions": ["batch_size"]}


def has_empty_bucket(vector: Vector) -> bool:
    return any(longest == 0 for longest, _ in vector["args"]["buckets"])


def nothing_fits(vector: Vector) -> None:
    vector["expect"] = {"ok": {"batches": []}}


def has_wrong_capacities(vector: Vector) -> bool:
    return "bucket_capacities" in vector["args"] and "error" in vector["expect"]


def no_full_bucket(vector: Vector) -> None:
    vector["expect"] = {"ok": {"per_bucket": {}}}


def _sequences(vector: Vector) -> list[int]:
    """Each sequence once, in order."""
    return list(dict.fromkeys(seq for batch in _batches(vector) for seq in _seqs(batch)))


def lets_one_more_in(vector: Vector) -> bool:
    """`max_total_num_seqs` n lets n + 1 sequences through."""
    limit = vector["args"].get("max_total_num_seqs")
    return limit is not None and len(_sequences(vector)) == limit + 1


def exactly_so_many(vector: Vector) -> None:
    batches, last = _batches(vector), _sequences(vector)[-1]
    for batch in batches:
        batch["parts"] = left = [part for part in batch["parts"] if part["seq"] != last]
        if left:
            batch["max_frames"] = {key: max(part["length"][key] for part in left) for key in left[0]["length"]}
            batch["num_slices"] = len(left)
    batches[:] = [batch for batch in batches if batch["parts"]]


def has_one_sequence_too_many(vector: Vector) -> bool:
    """In batches of one row, `max_seqs` n lets n + 1 sequences in."""
    limit = vector["args"].get("max_seqs")
    return not vector["args"].get("recurrent", True) and any(len(_seqs(batch)) == (limit or 0) + 1
                                                              for batch in _batches(vector) if limit)


def no_sequence_too_many(vector: Vector) -> None:
    """The sequences of these vectors are whole, and no batch is full of frames."""
    limit, parts = vector["args"]["max_seqs"], [part for batch in _batches(vector) for part in batch["parts"]]
    batches = []
    for first in range(0, len(parts), limit):
        inside, at = [], dict.fromkeys(parts[first]["length"], 0)
        for part in parts[first:first + limit]:
            inside.append({**part, "offset": dict(at)})
            at = {key: frames + part["length"][key] for key, frames in at.items()}
        batches.append({"parts": inside, "num_slices": 1, "max_frames": at})
    vector["expect"]["ok"]["batches"] = batches


def has_no_rows(vector: Vector) -> bool:
    return not vector["input"]["rows"]


def no_batch(vector: Vector) -> None:
    vector["expect"] = {"ok": {}}
