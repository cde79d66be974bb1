# SPDX-License-Identifier: Apache-2.0
"""Producers, and the functions that batch, of `forebay.tf1`."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import compare
import forebay as fb
import numpy as np
from forebay import tf1

Vector = dict[str, Any]


def _taken(stream: Any, most: int | None = None) -> tuple[list[Any], BaseException | None]:
    """What a stream gives, and the error at which it ended."""
    out: list[Any] = []
    try:
        out.extend(islice(stream, most))
    except Exception as error:  # noqa: BLE001 (it may be of any class)
        return out, error
    return out, None


def _end_differs(end: str, error: BaseException | None, mentions: list[str]) -> list[str]:
    if end in ("OutOfRange", "limit", "take"):
        return [] if error is None else [f"{error!r}, expected the end"]
    difference = compare.error_difference(mentions, error if isinstance(error, fb.Error) else None)
    return [difference] if difference else []


def _difference(spec: Any, got: Any) -> str | None:
    """How a batch, or a part of it, differs from what a vector says."""
    if isinstance(spec, dict) and "indices" in spec:
        rank = len(spec["dense_shape"])
        indices = np.array(spec["indices"], np.int64).reshape(-1, rank)
        if not isinstance(got, fb.Sparse) or list(got.dense_shape) != spec["dense_shape"]:
            return f"{got!r}, expected {compare.short(spec)}"
        if not np.array_equal(got.indices, indices):
            return f"indices {got.indices.tolist()}, expected {spec['indices']}"
        return _difference(spec["values"], got.values)
    if isinstance(spec, dict) and "dtype" in spec:
        value = got if isinstance(got, np.ndarray) else np.asarray(got, object if isinstance(got, bytes) else None)
        return compare.array_difference(spec, value)
    if isinstance(spec, dict):
        if not isinstance(got, dict) or got.keys() != spec.keys():
            return f"{compare.short(got)}, expected the keys {sorted(spec)}"
        pairs = [(spec[name], got[name]) for name in spec]
    else:
        if not isinstance(got, (list, tuple)) or len(got) != len(spec):
            return f"{compare.short(got)}, expected {compare.short(spec)}"
        pairs = list(zip(spec, got, strict=True))
    return next((text for one, other in pairs if (text := _difference(one, other))), None)


def _differ(specs: list[Any], got: list[Any], what: str) -> list[str]:
    if len(specs) != len(got):
        return [f"{len(got)} {what}, expected {len(specs)}"]
    return [f"{what} {place}: {text}" for place, (spec, value) in enumerate(zip(specs, got, strict=True))
            if (text := _difference(spec, value))]


def _refused(vector: Vector, error: BaseException | None) -> list[str]:
    difference = compare.error_difference(vector["expect"]["mentions"], error)
    return [difference] if difference else []


# Producers.

def _made(vector: Vector) -> Any:
    args = {name: value for name, value in vector["args"].items() if name != "take"}
    given = vector["input"]
    op = vector["op"]
    if op == "string_input_producer":
        return tf1.string_input_producer(given["items"], **args)
    if op == "range_input_producer":
        return tf1.range_input_producer(given["limit"], **args)
    if op == "slice_input_producer":
        return tf1.slice_input_producer([compare.expected(spec) for spec in given["tensors"]], **args)
    return getattr(tf1, op)(compare.expected(given["tensor"]), **args)


def producer(vector: Vector, folder: Path) -> list[str]:
    expect = vector["expect"]
    try:
        stream = _made(vector)
    except fb.ConfigError as error:
        return _refused(vector, error) if "error" in expect else [f"{error}"]
    if "error" in expect:
        return ["no error"]
    want = expect["ok"]
    items, error = _taken(stream, vector["args"].get("take"))
    wrong = _end_differs(want["end"], error, [])
    if "items" in want:
        return wrong + _differ(want["items"], items, "items")
    got = [item.decode() if isinstance(item, bytes) else int(item) for item in items]
    size = len(want["epoch_multisets"][0]) if want["epoch_multisets"] else 1
    epochs = [sorted(got[first:first + size]) for first in range(0, len(got), size)]
    return wrong + ([] if epochs == want["epoch_multisets"] else [f"{epochs}, expected {want['epoch_multisets']}"])


# Batches.

def _value(spec: dict[str, Any]) -> Any:
    if "indices" in spec:
        return fb.Sparse(np.array(spec["indices"], np.int64).reshape(-1, len(spec["dense_shape"])),
                         compare.expected(spec["values"]), spec["dense_shape"])
    return compare.expected(spec)


def _formed(element: dict[str, Any], form: str) -> Any:
    """An element as its vector gives it: "dict", "dict without 'keep'", "list [b, a]"."""
    if form.startswith("dict"):
        return element
    names = form[len("list ["):-1]
    return [element[name] for name in names.split(", ")] if names else []


def _shapes(vector: Vector) -> Any:
    """The shapes that are known in advance, where some size is not."""
    if "shapes" in vector["args"]:
        return vector["args"]["shapes"]
    form, static = vector["args"]["form"], dict(vector["input"]["static_shapes"])
    sparse = {name for element in vector["input"]["elements"][:1] for name, spec in element.items() if "indices" in spec}
    static.pop("keep", None)
    if sparse or vector["args"]["enqueue_many"] and any(not shape for shape in static.values()):
        return None
    known = {name: shape[1:] if vector["args"]["enqueue_many"] else shape for name, shape in static.items()}
    return known if form.startswith("dict") else _formed(known, form) or None


def batch(vector: Vector, folder: Path) -> list[str]:
    args = {name: value for name, value in vector["args"].items() if name not in ("form", "shapes", "keep_input")}
    keep = vector["args"].get("keep_input", True)
    source = [_formed({name: _value(spec) for name, spec in element.items()}, vector["args"]["form"])
              for element in vector["input"]["elements"]]
    expect = vector["expect"]
    try:
        stream = tf1.maybe_batch(iter(source), "keep" if isinstance(keep, str) else keep, shapes=_shapes(vector), **args)
    except fb.ConfigError as error:
        return _refused(vector, error) if "error" in expect else [f"{error}"]
    batches, error = _taken(stream)
    if "error" in expect:
        return _refused(vector, error)
    want = expect["ok"]
    wrong = _end_differs(want["end"], error, want.get("mentions", [])) + _differ(want["batches"], batches, "batches")
    left = want.get("rows_dropped_at_end")
    if left is not None and error is None and stream.stats().elements != left:
        wrong.append(f"{stream.stats().elements} rows left, expected {left}")
    return wrong


# Joins and shuffles: what does not depend on the threads.

def _constant(text: str) -> Any:
    """A source of one value: "int32[2]"."""
    dtype, sizes = text[:-1].split("[")
    shape = [int(size) for size in sizes.split(",") if size]
    value = np.full(shape, b"" if dtype == "string" else 0, object if dtype == "string" else dtype)
    return lambda: value


def _entries(vector: Vector) -> list[str]:
    made = [{name: _constant(text) for name, text in entry.items()} if isinstance(entry, dict)
            else [_constant(text) for text in entry] for entry in vector["input"]["entries"]]
    try:
        stream = getattr(tf1, vector["op"])(made, **vector["args"])
        _, error = _taken(stream, 100)
        stream.close()
    except fb.ConfigError as problem:
        error = problem
    if "ok" in vector["expect"]:
        return [f"{error}"] if error is not None else []
    return _refused(vector, error)


def join(vector: Vector, folder: Path) -> list[str]:
    if "entries" in vector["input"]:
        return _entries(vector)
    args = {name: value for name, value in vector["args"].items() if name != "one_thread_per_source"}
    sources = [iter([[np.int64(value)] for value in values]) for values in vector["input"]["sources"]]
    expect = vector["expect"]
    if vector["op"].endswith("join"):
        args.pop("num_threads", None)
    try:
        stream = getattr(tf1, vector["op"])(sources if vector["op"].endswith("join") else sources[0], **args)
    except fb.ConfigError as error:
        return _refused(vector, error) if "error" in expect else [f"{error}"]
    if "error" in expect:
        return ["no error"]
    batches, error = _taken(stream)
    want = expect["ok"]
    wrong = _end_differs(want["end"], error, [])
    sizes = [len(each) for each in batches]
    if sizes != want["batch_sizes"]:
        wrong.append(f"sizes {sizes}, expected {want['batch_sizes']}")
    values = Counter(value for each in batches for value in each.tolist())
    given = Counter(value for source in vector["input"]["sources"] for value in source)
    if "multiset" in want and values != Counter(want["multiset"]) or values - given:
        wrong.append(f"values {sorted(values.elements())}")
    if sum(given.values()) - sum(values.values()) != want["elements_lost"]:
        wrong.append(f"{sum(given.values()) - sum(values.values())} elements lost, expected {want['elements_lost']}")
    return wrong


def bucket_by_sequence_length(vector: Vector) -> list[str]:
    """The same by queues; `ops_batching` asks the batcher `buckets`."""
    args = vector["args"]
    elements = ({"id": np.int64(number), "seq": np.full(length, number), "length": np.int32(length)}
                for number, length in enumerate(vector["input"]["lengths"]))
    expect = vector["expect"]
    try:
        stream = tf1.bucket_by_sequence_length("length", elements, **args)
    except (fb.ConfigError, TypeError) as error:
        capacities = args.get("bucket_capacities")   # the queues have them, other than the batcher
        wrong = capacities is not None and len(capacities) != len(args["bucket_boundaries"]) + 1
        return [] if wrong or "error" in expect else [f"{error}"]
    batches, error = _taken(stream)
    if "error" in expect:
        return [] if error is not None else ["no error"]
    got: dict[str, list[Any]] = {}
    for lengths, each in batches:
        bucket = sum(int(lengths[0]) >= limit for limit in args["bucket_boundaries"])
        got.setdefault(str(bucket), []).append([lengths.tolist(), each["id"].tolist(), list(each["seq"].shape),
                                                each["seq"].ravel().tolist()])
    want = {bucket: [[each["lengths"], each["id"], each["seq"]["shape"], each["seq"]["data"]] for each in batches]
            for bucket, batches in expect["ok"]["per_bucket"].items()}
    return [] if got == want else [f"queues: {compare.short(got, 200)}, expected {compare.short(want, 200)}"]
