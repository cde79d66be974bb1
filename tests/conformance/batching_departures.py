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


def lets_one_more_in(vector: Vector) -> bool:
    """`max_total_num_seqs` n lets n + 1 sequences through."""
    limit = vector["args"].get("max_total_num_seqs")
    return limit is not None and sum(len(_seqs(batch)) for batch in _batches(vector)) == limit + 1


def exactly_so_many(vector: Vector) -> None:
    batches = _batches(vector)
    if len(_seqs(batches[-1])) == 1:
        batches.pop()
        return
    last = batches[-1]["parts"].pop()
    left = batches[-1]["parts"]
    batches[-1]["max_frames"] = {key: max(part["length"][key] for part in left) for key in last["length"]}
