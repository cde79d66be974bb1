# SPDX-License-Identifier: Apache-2.0
"""Scripts of the state saver: the events of `forebay.StateSaver` beside those of the original. What waits is asked without a
wait, so that "blocks" is known at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import compare
import numpy as np
import pipeline_state_saver

import forebay as fb

Vector = dict[str, Any]
Event = dict[str, Any]

#: Where the original says "invalid argument", Python's types may already refuse: TypeError is as right.
_CLASSES: dict[str, tuple[type[BaseException], ...]] = {
    "invalid_argument": (fb.ConfigError, TypeError), "wrong_type": (TypeError,), "unknown_name": (KeyError,),
    "cancelled": (fb.Cancelled,)}
#: The rule of a script that names none; int32 also for a state of another kind.
_RULE = {"mul": 1, "add": 1, "cast": "int32"}


def feature(spec: Any) -> Any:
    if not isinstance(spec, dict) or "dtype" not in spec:
        return spec
    return {"dtype": spec["dtype"], "shape": [] if spec.get("shape") == "scalar" else spec.get("shape", [])}


def features(specs: Any) -> Any:
    if specs == "map with the integer key 7":
        return {7: {"dtype": "int32", "shape": []}}
    return {name: feature(spec) for name, spec in specs.items()} if isinstance(specs, dict) else specs


def arrays(specs: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: compare.expected(spec) for name, spec in specs.items()}


def _saver(args: dict[str, Any], **more: Any) -> fb.StateSaver:
    make = fb.StateSaver.padded if args.get("wrapper") else fb.StateSaver
    named = {name: args[name] for name in ("capacity", "allow_small_batch", "pad", "make_keys_unique") if name in args}
    return make(args["batch_size"], args["num_unroll"], features(args["sequences"]), features(args["states"]),
                features(args.get("context", {})), **named, **more)


def new_state(rule: dict[str, Any], state: np.ndarray, sequences: dict[str, np.ndarray]) -> np.ndarray:
    """What the rule saves, of one row or of all rows of a batch."""
    if "constant" in rule:
        out = np.empty(state.shape, object if state.dtype == object else state.dtype)
        out[...] = rule["constant"].encode() if state.dtype == object else rule["constant"]
        return out
    total = state * rule.get("mul", 1) + rule.get("add", 0)
    if "add_sum_of" in rule:
        x = sequences[rule["add_sum_of"]]
        sums = x.reshape(len(state), -1).sum(axis=1)
        total = total + sums.reshape(-1, *[1] * (state.ndim - 1))
    return total.astype(rule.get("cast", state.dtype))


def _rows(batch: fb.SegmentBatch, states: dict[str, np.ndarray], saved: dict[str, np.ndarray]) -> Event:
    """Each row by its key: all that the vector says of it, with arrays in the place of descriptions."""
    out: Event = {}
    for i, key in enumerate(batch.key):
        out[key] = {"next_key": batch.next_key[i], "sequence": int(batch.sequence[i]),
                    "sequence_count": int(batch.sequence_count[i]), "length": int(batch.length[i]),
                    "total_length": int(batch.total_length[i]), "insertion_offset": int(batch.insertion_index[i]) + 2**63,
                    "sequences": {name: value[i] for name, value in batch.sequences.items()},
                    "context": {name: value[i:i + 1].reshape(value.shape[1:]) for name, value in batch.context.items()},
                    "states": {name: value[i:i + 1].reshape(value.shape[1:]) for name, value in states.items()},
                    "saved": {name: value[i:i + 1].reshape(value.shape[1:]) for name, value in saved.items()}}
    return out


class _Script:
    """One saver and the inserts that wait for room."""

    def __init__(self, vector: Vector) -> None:
        self.args, self.examples = vector["args"], vector["input"]["examples"]
        self.saver = _saver(self.args)
        self.waiting: list[int] = []

    def event(self, entry: dict[str, Any]) -> tuple[Event, BaseException | None]:
        try:
            event = getattr(self, entry["op"])(entry)
            error = None
        except TimeoutError:
            event, error = {"blocks": True}, None
        except Exception as problem:  # noqa: BLE001 (its class is compared)
            event, error = {"error": type(problem).__name__}, problem
        finished = [i for i in self.waiting if entry["op"] != "insert" and self._inserted(i)]
        self.waiting = [i for i in self.waiting if i not in finished]
        if finished:
            event["inserts_finished"] = [{"example": i, "inserted": True} for i in finished]
        return event, error

    def _inserted(self, number: int) -> bool:
        try:
            self._insert(number)
        except TimeoutError:
            return False
        return True

    def _insert(self, number: int) -> None:
        example = self.examples[number]
        self.saver.insert(example["key"], arrays(example["sequences"]), example.get("length"), arrays(example["context"]),
                          arrays(example["states"]), timeout=0)

    def insert(self, entry: dict[str, Any]) -> Event:
        try:
            self._insert(entry["example"])
        except TimeoutError:
            self.waiting.append(entry["example"])
            raise
        return {"inserted": True}

    def close(self, entry: dict[str, Any]) -> Event:
        self.saver.close(cancel=entry.get("cancel", False))
        return {"closed": True}

    def sizes(self, entry: dict[str, Any]) -> Event:
        sizes = self.saver.sizes
        return {name: getattr(sizes, name) for name in ("ready_segments", "waiting_segments", "live_examples")}

    def step(self, entry: dict[str, Any]) -> Event:
        batch = self.saver.take(entry.get("batch_size"), timeout=0)
        if batch is None:
            return {"error": "end_of_data"}
        rules = self.args.get("save_rule", {})
        states = {name: batch.state(name) for name in self.args["states"]}
        saved = {name: new_state(rules.get(name, _RULE), state, batch.sequences) for name, state in states.items()}
        rows = _rows(batch, states, {name: saved[name] for name in entry.get("save", saved)})
        for name in entry.get("save", saved):
            batch.save_state(name, saved[name])
        return {"rows": rows}


def row_difference(want: Event, got: Event) -> list[str]:
    out = [f"{name} is {got[name]}, expected {want[name]}" for name in want
           if not isinstance(want[name], dict) and got[name] != want[name]]
    for group in ("sequences", "context", "states", "saved"):
        if group not in got or group not in want:
            continue
        if got[group].keys() != want[group].keys():
            out.append(f"{group} are {sorted(got[group])}, expected {sorted(want[group])}")
            continue
        for name, spec in want[group].items():
            difference = compare.array_difference(spec, np.asarray(got[group][name], dtype=got[group][name].dtype))
            out += [f"{group} {name}: {difference}"] if difference else []
    return out


def _event_difference(vector: Vector, want: Event, got: Event, error: BaseException | None) -> list[str]:
    if "rows" in want and "rows" in got:
        if want["rows"].keys() != got["rows"].keys():
            return [f"rows {sorted(got['rows'])}, expected {sorted(want['rows'])}"]
        out = [f"row {key}: {text}" for key, row in want["rows"].items() for text in row_difference(row, got["rows"][key])]
        finished = (want.get("inserts_finished"), got.get("inserts_finished"))
        return out if finished[0] == finished[1] else [*out, f"finished {finished[1]}, expected {finished[0]}"]
    if isinstance(error, Exception) and want.get("error") in _CLASSES:
        return _error_difference(want["error"], vector.get("mentions", []), error)
    return [] if want == got else [f"{compare.short(got)}{f' ({error})' if error else ''}, expected {compare.short(want)}"]


def _error_difference(kind: str, mentions: list[str], error: Exception | None) -> list[str]:
    if error is not None and not isinstance(error, _CLASSES[kind]):
        return [f"{type(error).__name__} is no {kind}: {compare.short(str(error), 200)}"]
    difference = compare.error_difference(mentions, error)
    return [difference] if difference else []


def script(vector: Vector, folder: Path) -> list[str]:
    run = _Script(vector)
    for number, (entry, want) in enumerate(zip(vector["input"]["script"], vector["expect"]["ok"]["events"], strict=True)):
        differences = _event_difference(vector, want, *run.event(entry))
        if differences:
            return [f"event {number} ({entry['op']}): {text}" for text in differences]
    if not pipeline_state_saver.follows(vector):
        return []
    return [f"pipeline: {text}" for text in pipeline_state_saver.differences(vector, new_state, row_difference, _RULE)]


def schedule_table(vector: Vector, folder: Path) -> list[str]:
    saver = _saver({**vector["args"], "sequences": {"x": {"dtype": "int32"}}, "states": {"h": {"dtype": "int32"}}})
    counts = vector["input"]["segments_per_example"]
    for number, count in enumerate(counts):
        saver.insert(str(number), {"x": np.arange(count, dtype=np.int32)}, count)
    saver.close()
    got = []
    for batch in saver:
        got.append([[int(index) + 2**63, int(number)] for index, number in zip(batch.insertion_index, batch.sequence, strict=True)])
        batch.save_state("h", batch.state("h"))
    want = vector["expect"]["ok"]["batches"]
    if got != want:
        return [f"{compare.short(got)}, expected {compare.short(want)}"]
    return pipeline_state_saver.table(vector)


def script_unique_keys(vector: Vector, folder: Path) -> list[str]:
    args, given = vector["args"], vector["input"]
    saver = fb.StateSaver.padded(args["batch_size"], args["num_unroll"], {"x": fb.fixed("int32")}, {"h": fb.fixed("int32")},
                                 make_keys_unique=args["make_keys_unique"])
    for key, count in zip(given["keys"], given["segments"], strict=True):
        saver.insert(key, {"x": np.zeros(count * args["num_unroll"], np.int32)})
    saver.close()
    got = []
    for batch in saver:
        got += batch.key
        batch.save_state("h", batch.state("h"))
    pattern = re.escape(vector["expect"]["ok"]["key_pattern"]).replace("%05d", r"\d{5}").replace("<digits>", r"\d+")
    wrong = [key for key in got if not re.fullmatch(pattern, key)]
    if wrong or len(got) != sum(given["segments"]) or len(set(got)) != len(got):
        return [f"keys {got}"]
    return []


def _expected(vector: Vector, error: Exception | None) -> list[str]:
    expect = vector["expect"]
    if "error" in expect:
        return _error_difference(expect["error"], expect["mentions"], error)
    return [f"{type(error).__name__}: {compare.short(str(error), 200)}"] if error else []


def _declare_and_insert(args: dict[str, Any]) -> None:
    """What the original declares at once: the saver, and here one example with the declared key and length."""
    full = {"batch_size": 2, "num_unroll": 2, "sequences": {"x": {"dtype": "int32", "shape": []}}, "context": {},
            "states": {"h": {"dtype": "int32", "shape": [1]}}, **args}
    saver = _saver(full)
    frames = 2 * full["num_unroll"]
    sequences = {name: np.zeros([] if spec["shape"] == "scalar" else [frames, *spec["shape"]], spec["dtype"])
                 for name, spec in full["sequences"].items()}
    key: Any = np.zeros(args["key_shape"], "S1") if "key_shape" in args else 7 if "key_dtype" in args else "a"
    length: Any = np.full(args.get("length_shape", []), frames, args.get("length_dtype", "int32"))[()]
    saver.insert(key, sequences, args.get("length", length), {name: np.zeros(spec["shape"], spec["dtype"])
                                                              for name, spec in full["context"].items()})


def construct(vector: Vector, folder: Path) -> list[str]:
    try:
        _declare_and_insert(vector["args"])
    except Exception as error:  # noqa: BLE001 (its class is compared)
        return _expected(vector, error)
    return _expected(vector, None)


def construct_wrapper(vector: Vector, folder: Path) -> list[str]:
    return construct({**vector, "args": {"wrapper": True, **vector["args"]}}, folder)


def use_batch(vector: Vector, folder: Path) -> list[str]:
    args, given = vector["args"], vector["input"]
    saver = _saver({"batch_size": given["batch_size"], "num_unroll": 1, "sequences": {"x": {"dtype": "int32"}},
                    "states": given["declared_state"]})
    for number in range(given["batch_size"]):
        saver.insert(str(number), {"x": np.zeros(1, np.int32)}, 1)
    batch = saver.take()
    assert batch is not None
    try:
        if args["call"] == "save_state":
            batch.save_state(args["name"], np.zeros(args.get("value_shape", [given["batch_size"], 1]), args.get("value_dtype", "float32")))
        elif args["call"] == "state":
            batch.state(args["name"])
        else:
            getattr(batch, args["call"])[args["name"]]
    except Exception as error:  # noqa: BLE001 (its class is compared)
        return _expected(vector, error)
    return _expected(vector, None)
