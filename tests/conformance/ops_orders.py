# SPDX-License-Identifier: Apache-2.0
"""Orders of sequences: short runs over sequences of given lengths and tags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import compare
import pipeline
import wire

Vector = dict[str, Any]
_NUMBERS = ("fixed_random_seed", "random_seed_offset", "partition_epoch", "repeat_epoch", "num_shards", "shard_index")


def _options(vector: Vector, folder: Path) -> dict[str, Any]:
    args, given = vector["args"], vector["input"]
    out = {"mode": args["seq_ordering"], "rng": "numpy_legacy", **{name: args[name] for name in _NUMBERS if name in args}}
    out["unique_seq_tags"] = args.get("unique_seq_tags", False)
    if "tags" in given:
        out["tag"] = "tag"
    if "filter_tags" in args:
        (folder / "tags").write_text("\n".join(args["filter_tags"]))
        out["seq_list_filter_file"] = str(folder / "tags")
    if "order_lengths_by_tag" in given:
        (folder / "lengths.json").write_text(json.dumps(given["order_lengths_by_tag"]))
        out["seq_order_seq_lens_file"] = str(folder / "lengths.json")
    else:
        out["by"] = "length(data)"
    return out


def _run(vector: Vector, folder: Path, epochs: int) -> pipeline.Run:
    """The values are (epoch from 1 on, sequences, their lengths)."""
    lengths = vector["input"]["lengths"]
    tags = vector["input"].get("tags", [str(number) for number in range(len(lengths))])
    file = folder / "x.tfrecord"
    file.write_bytes(wire.frame([
        wire.encode({"seq": ("int64", [number]), "data": ("int64", [0] * length), "tag": ("bytes", [tag.encode()])})
        for number, (length, tag) in enumerate(zip(lengths, tags, strict=True))]))
    features = {"seq": {"dtype": "int64", "shape": []}, "tag": {"dtype": "string", "shape": []},
                "data": {"kind": "var_len", "dtype": "int64"}}
    steps = [{"sequence_order": _options(vector, folder)}, {"batch": {"size": 100_000, "pad": True}}]
    document = pipeline.read([file], {"example": {"features": features}}, steps)
    document.update(epochs=epochs, epoch_boundary="hard")
    return pipeline.run(document, lambda batch: (batch.epoch + 1, batch["seq"].tolist(),
                                                 batch.lengths["data"].reshape(-1).tolist()), index_dir=folder)


def _wrong(vector: Vector, out: pipeline.Run) -> list[str] | None:
    """What is wrong when an error came or was wanted; else None."""
    if "error" in vector["expect"]:
        difference = compare.error_difference(vector["expect"]["mentions"], out.error)
        return [difference] if difference else []
    return [f"{type(out.error).__name__}: {compare.short(str(out.error), 200)}"] if out.error else None


def seq_order(vector: Vector, folder: Path) -> list[str]:
    epoch = vector["args"]["epoch"]
    out = _run(vector, folder, epoch)
    wrong = _wrong(vector, out)
    if wrong is not None:
        return wrong
    got = {number: (sequences, lengths) for number, sequences, lengths in out.values}
    want = vector["expect"]["ok"]
    expected = (want["order"], want["ordered_lengths"])
    return [] if got.get(epoch, ([], [])) == expected else [f"{compare.short(got)}, expected {compare.short(expected)}"]


def seq_order_cycle(vector: Vector, folder: Path) -> list[str]:
    epochs = vector["args"]["epochs"]
    out = _run(vector, folder, max(epochs))
    wrong = _wrong(vector, out)
    if wrong is not None:
        return wrong
    got = {number: sequences for number, sequences, _ in out.values}
    orders = [got.get(epoch, []) for epoch in epochs]
    want = vector["expect"]["ok"]["orders"]
    return [] if orders == want else [f"{compare.short(orders)}, expected {compare.short(want)}"]
