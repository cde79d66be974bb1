# SPDX-License-Identifier: Apache-2.0
"""What must hold of a pipeline that is planned: its rows, the same stream for any threads, exact restarts, and shards that are the run."""
from __future__ import annotations

import collections
import itertools
import json
import pathlib
from typing import Any, Iterable, NamedTuple

import numpy as np

import forebay as fb
from building import build
from cells import Cell
from data import NO_REPLAY, SIDE
from model import Model

#: What a plan or a start refuses with.
REFUSALS = (fb.ConfigError, TypeError, ValueError)


class Outcome(NamedTuple):
    """what: works, refused, wrong or crash. counted: `len` was known. restarted: restarts were tried."""

    what: str
    message: str = ""
    counted: bool = False
    restarted: bool = False


def wrong(message: str) -> Outcome:
    return Outcome("wrong", message)


def values(batch: Any) -> Any:
    """All of a batch as plain values that can be compared."""
    out = []
    for name in sorted(batch):
        value = batch[name]
        ragged = hasattr(value, "row_splits")
        out.append((name, np.asarray(value.values if ragged else value).tolist(), np.asarray(value.row_splits).tolist() if ragged else None))
    return out, int(batch.valid_rows)


def content(batch: Any, stem: str) -> "list[int]":
    """The values of the tensors `id`, `id2` … or `x`, `x2` …; zeros are padding."""
    out: "list[int]" = []
    for name in batch:
        if name.rstrip("0123456789") != stem:
            continue
        array = np.asarray(getattr(batch[name], "values", batch[name])).ravel()
        if array.dtype == object:
            out += [int.from_bytes(each, "little") if len(each) == 8 else int(each) for each in array]
        else:
            out += [value for value in array.tolist() if value]
    return out


def delivered(loader: Any) -> "tuple[list[Any], list[Any]]":
    """All batches, as plain values and as they came."""
    with loader:
        batches = list(loader)
        return [values(batch) for batch in batches], batches


def state_after(loader: Any, batches: int) -> Any:
    with loader:
        for _ in itertools.islice(loader, batches):
            pass
        return json.loads(json.dumps(loader.state_dict()))


def check(cell: Cell, folder: pathlib.Path, spoiled: bool = False) -> Outcome:
    """Runs a cell that is no door. spoiled: without the first id and the first frame, which a model must notice."""
    def loader(threads: int, shard: Any = None, state: Any = None) -> Any:
        made = build(cell, folder)[0].load(threads=threads, shard=shard)   # anew: a feed is used up by a run
        if state is not None:
            made.load_state_dict(state)
        return made

    try:
        pipe, model = build(cell, folder)
        pipe.plan()
        plain = pipe.load(threads=1)
        counted = _counted(plain)
        rows, batches = delivered(plain)
    except REFUSALS as error:
        return Outcome("refused", str(error))
    except fb.Error as error:
        early = cell.corrupt == "skip_row" and isinstance(error, fb.DataError)   # docs/corruption.md says so
        return Outcome("refused" if early else "wrong", f"{type(error).__name__}: {error}")
    if cell.shard:
        return _check_shards(cell, loader, rows, model)
    if cell.elastic:
        return _check_elastic(cell, loader, batches)
    ids, frames = ([value for batch in batches for value in content(batch, stem)][spoiled:] for stem in ("id", "x"))
    fault = model.fault(ids, frames) or (_parted(batches) if model.sides > 1 else "")
    if fault or not (rows or "take_while" in cell.stages):   # the first row may be the one that ends it
        return wrong(fault or "no batch at all")
    try:
        if delivered(loader(4))[0] != rows:
            return wrong("another stream with 4 threads")
        for at in sorted({0, 1, len(rows) // 2, len(rows) - 1} & set(range(len(rows)))):
            try:
                state = state_after(loader(1), at + 1)
            except fb.StateError as error:
                return Outcome("works", "", counted) if cell.source in NO_REPLAY else wrong(f"no state: {error}")
            rest = delivered(loader(4, state=state))[0]
            if rest != rows[at + 1:]:
                return wrong(f"restart after batch {at}: {len(rest)} batches, not the {len(rows) - at - 1} that are left")
    except fb.Error as error:
        return wrong(f"{type(error).__name__}: {error}")
    return Outcome("works", "", counted, True)


def _parted(batches: "list[Any]") -> str:
    """What is wrong with the rows of two branches that lie side by side; empty: they belong together."""
    for number, batch in enumerate(batches):
        of_a, of_d = ([value for value in content({name: batch[name]}, "id") if value] for name in ("id", "id2"))
        if [value + SIDE for value in of_a] != of_d:
            return f"batch {number}: rows of two branches are {of_a} and {of_d}"
    return ""


def _counted(loader: Any) -> bool:
    try:
        len(loader)
    except TypeError:
        return False
    return True


def _check_shards(cell: Cell, loader: Any, whole: "list[Any]", model: Model) -> Outcome:
    """Two shards are together what one process gets, and each goes on exactly."""
    parts: "list[tuple[list[Any], list[Any]]]" = []
    try:
        for index in range(2):
            shard = {"index": index, "count": 2, "by": cell.shard}
            rows, batches = delivered(loader(1, shard))
            if rows and cell.source not in NO_REPLAY:
                at = len(rows) // 2 + 1
                if delivered(loader(4, shard, state_after(loader(1, shard), at)))[0] != rows[at:]:
                    return wrong(f"restart of shard {index} by {cell.shard}")
            parts.append((rows, batches))
    except fb.ConfigError as error:
        return Outcome("refused", str(error))
    except fb.Error as error:
        return wrong(f"{type(error).__name__}: {error}")
    (first, of_first), (second, of_second) = parts
    if cell.shard == "batch":
        turns = [each for pair in itertools.zip_longest(first, second) for each in pair][:len(whole)]
        return Outcome("works") if turns == whole and len(first) + len(second) == len(whole) else wrong("batches in turn are not the run")
    if len(first) != len(second):
        return wrong(f"shards by {cell.shard} have {len(first)} and {len(second)} batches")
    both = of_first + of_second
    if cell.shard == "row":
        for stem in ("x", "img"):   # each row has its draw, wherever it is made
            if _rows_of(first + second, stem) != _rows_of(whole, stem):
                return wrong(f"rows of {stem} of both shards are not those of the run")
    fault = model.strangers([i for batch in both for i in content(batch, "id")], [v for batch in both for v in content(batch, "x")])
    return wrong(fault) if fault else Outcome("works")


def _rows_of(batches: "Iterable[Any]", stem: str) -> "collections.Counter[str]":
    """Frames of x, and whole rows of images: padding of x differs between shards."""
    tensors = [(name, rows) for columns, _ in batches for name, rows, _ in columns if name.startswith(stem)]
    if stem == "x":
        return collections.Counter(str(frame) for _, rows in tensors for frame in _flat(rows) if frame)
    return collections.Counter(f"{name} {row}" for name, rows in tensors for row in rows)


def _flat(value: Any) -> "list[Any]":
    return [inner for each in value for inner in _flat(each)] if isinstance(value, list) else [value]


def _check_elastic(cell: Cell, loader: Any, batches: "list[Any]") -> Outcome:
    """A state of two row shards fits one process, and one of one process two row shards and two batch shards."""
    def frames(of: "Iterable[Any]") -> "list[list[int]]":
        return [sorted(content(batch, "id") + content(batch, "x")) for batch in of]

    def shard(index: int, by: str) -> Any:
        return {"index": index, "count": 2, "by": by}

    wanted, at = frames(batches), len(batches) // 2 + 1
    try:
        of_two, of_one = state_after(loader(4, shard(1, "row")), at), state_after(loader(4), at)
        if frames(delivered(loader(4, state=of_two))[1]) != wanted[at:]:
            return wrong("one process after two")
        halves = [frames(delivered(loader(4, shard(index, "row"), of_one))[1]) for index in range(2)]
        if cell.stages[-1:] != ("packed",) and [sorted(a + b) for a, b in zip(*halves)] != wanted[at:]:
            return wrong("two processes after one")
        if not {"stateful", "map_row"}.intersection(cell.stages):
            turns = [frames(delivered(loader(4, shard(index, "batch"), of_one))[1]) for index in range(2)]
            if sorted(map(str, turns[0] + turns[1])) != sorted(map(str, wanted[at:])):
                return wrong("two batch shards after one process")
    except fb.ConfigError as error:
        return Outcome("refused", str(error))
    return Outcome("works")
