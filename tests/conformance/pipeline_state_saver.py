# SPDX-License-Identifier: Apache-2.0
"""Scripts of the state saver by a loader: `unroll` and `stateful`.

A loader has all examples from the beginning, one batch size, and saves every state, so it follows the scripts that insert
before they step, and wait, cancel and leave out nothing. Its rows keep their examples, and its states begin with one value.
So each step is compared as a set of (example, segment), and each of these rows by its segments, context, states and what is
saved for it; a row that begins an example takes the value of the vector, which comes as a tensor of the example.
"""

from __future__ import annotations

from typing import Any

import compare
import numpy as np

import forebay as fb

Vector = dict[str, Any]
_EXAMPLE = "number of the example"


def follows(vector: Vector) -> bool:
    """Whether a loader can follow the script."""
    args, events = vector["args"], vector["expect"].get("ok", {}).get("events", [])
    ops = [entry["op"] for entry in vector["input"]["script"]]
    steps = [number for number, op in enumerate(ops) if op == "step"]
    plain = all(not entry.get("cancel") and "save" not in entry and "batch_size" not in entry for entry in vector["input"]["script"])
    known = all("inserted" in event or "closed" in event or "rows" in event or "live_examples" in event or
                event.get("error") == "end_of_data" for event in events)
    return (plain and known and bool(steps) and "insert" in ops and "insert" not in ops[steps[0]:]
            and not any("inserts_finished" in event for event in events)
            and all(spec["dtype"] != "string" for spec in args["states"].values()))


def _column(arrays: list[np.ndarray], ragged: bool) -> Any:
    if not ragged:
        return np.stack(arrays)
    return fb.Ragged(np.concatenate(arrays), np.cumsum([0, *map(len, arrays)]))


def _loader(vector: Vector) -> fb.Loader:
    args = vector["args"]
    inserted = [vector["input"]["examples"][entry["example"]] for entry in vector["input"]["script"] if entry["op"] == "insert"]
    columns: dict[str, Any] = {_EXAMPLE: np.arange(len(inserted))}
    for group, ragged in (("sequences", True), ("context", False), ("states", False)):
        for name in args[group]:
            values = [compare.expected(example[group][name]) for example in inserted]
            columns[f"{group}: {name}"] = _column(values, ragged)
    states = {name: {"dtype": spec["dtype"], "shape": spec["shape"]} for name, spec in args["states"].items()}
    return (fb.arrays(columns).unroll(args["num_unroll"], keys=[f"sequences: {name}" for name in args["sequences"]])
            .stateful(args["batch_size"], states=states).load())


def _rows(batch: fb.Batch, vector: Vector, new_state: Any, rule: dict[str, Any]) -> dict[tuple[int, int], dict[str, Any]]:
    """Saves the states; the rows that are not empty by (example, segment)."""
    args = vector["args"]
    groups = {group: {name: batch[f"{group}: {name}"] for name in args[group]} for group in ("sequences", "context")}
    begins = np.array([bool(spans) and spans[0].origin.window == 0 for spans in batch.spans or []])
    states, saved = {}, {}
    for name in args["states"]:
        state = batch.state(name)
        state[begins] = batch[f"states: {name}"][begins]
        states[name] = state
        saved[name] = new_state(args.get("save_rule", {}).get(name, rule), state, groups["sequences"])
        batch.save_state(name, saved[name])
    out = {}
    for row, spans in enumerate(batch.spans or []):
        if spans:
            parts = {**groups, "states": states, "saved": saved}
            out[int(batch[_EXAMPLE][row]), spans[0].origin.window] = {
                group: {name: value[row:row + 1].reshape(value.shape[1:]) for name, value in values.items()}
                for group, values in parts.items()}
    return out


def differences(vector: Vector, new_state: Any, row_difference: Any, rule: dict[str, Any]) -> list[str]:
    steps = [event["rows"] for event in vector["expect"]["ok"]["events"] if "rows" in event]
    ended = vector["expect"]["ok"]["events"][-1].get("error") == "end_of_data" and vector["args"]["allow_small_batch"]
    got = [_rows(batch, vector, new_state, rule) for batch in _loader(vector)]
    if len(got) < len(steps) or (ended and len(got) != len(steps)):
        return [f"{len(got)} batches, expected {len(steps)}"]
    for number, (step, rows) in enumerate(zip(steps, got, strict=False)):
        want = {(row["insertion_offset"], row["sequence"]): row for row in step.values()}
        if want.keys() != rows.keys():
            return [f"batch {number}: rows {sorted(rows)}, expected {sorted(want)}"]
        for key, row in want.items():
            only = {group: row[group] for group in ("sequences", "context", "states", "saved")}
            wrong = row_difference(only, rows[key])
            if wrong:
                return [f"batch {number}, row {key}: {text}" for text in wrong]
    return []


def table(vector: Vector) -> list[str]:
    """The batches of a schedule, as sets of (example, segment)."""
    args, counts = vector["args"], vector["input"]["segments_per_example"]
    frames = sum(counts) * args["num_unroll"]
    x = fb.Ragged(np.zeros(frames, np.int32), np.cumsum([0, *counts]) * args["num_unroll"])
    pipe = fb.arrays({"x": x, _EXAMPLE: np.arange(len(counts))}).unroll(args["num_unroll"], keys=["x"]).stateful(args["batch_size"])
    got = [sorted([int(batch[_EXAMPLE][row]), spans[0].origin.window] for row, spans in enumerate(batch.spans) if spans)
           for batch in pipe.load()]
    want = vector["expect"]["ok"]["batches"]
    return [] if got == want else [f"pipeline: {compare.short(got)}, expected {compare.short(want)}"]
