# SPDX-License-Identifier: Apache-2.0
"""The pipeline of a cell, and the model of its rows."""
from __future__ import annotations

import pathlib
from typing import Any, Sequence

import forebay as fb
from cells import Cell
from data import ONLY_ID, Set
from model import Model
from stages import STAGES

BATCH = 4
_OF_ONE_SIDE = {name for name, stage in STAGES.items() if stage.kind == "window"} | {"cut_step", "packed"}   # they change x, and not x2


def build(cell: Cell, folder: pathlib.Path) -> "tuple[fb.Pipeline, Model]":
    draws = "draw" in cell.stages
    first, second = Set(folder, "c" if cell.corrupt else "a", draws), Set(folder, "b", draws)
    if cell.combo:
        pipe, model = _combination(cell, first, second)
        if cell.corrupt == "skip_row":
            pipe = pipe.on_corrupt("skip_row")
        pipe, model = _batched(cell, pipe, model, cell.after)
    else:
        source: Any = first.make(cell.source)
        pipe, model = _batched(cell, source.on_corrupt(cell.corrupt) if cell.corrupt else source, Model(first.rows), cell.stages)
    if cell.passes > 1:
        pipe = pipe.epochs(cell.passes).epoch_boundary(cell.epochs)
        model = model.twice() if cell.passes == 2 else model.subset()
    return pipe, model


def _through(pipe: Any, model: Model, stages: Sequence[str]) -> "tuple[Any, Model]":
    for at, name in enumerate(stages):
        pipe, model = STAGES[name].apply(pipe), STAGES[name].expect(model)
        if name in ("take", "skip") and "interleave" in stages[at:]:
            model.subset()
    return pipe, model


def _batched(cell: Cell, pipe: Any, model: Model, stages: Sequence[str]) -> "tuple[Any, Model]":
    """The stages, with `batch` before those that are for batches where no batcher is written."""
    if cell.passed or any(STAGES[name].kind == "batcher" for name in stages):
        return _through(pipe, model, stages)
    at = next((n for n, name in enumerate(stages) if STAGES[name].kind == "batches" or name == "map_batch"), len(stages))
    pipe, model = _through(pipe, model, stages[:at])
    remainder = {"remainder": "drop"} if cell.shard in ("element", "file") else {}
    return _through(pipe.batch(BATCH, pad=cell.source not in ONLY_ID, **remainder), model, stages[at:])


def _combination(cell: Cell, first: Set, second: Set) -> "tuple[fb.Pipeline, Model]":
    def branch(of: Set, number: int = 0) -> "tuple[fb.Pipeline, Model]":
        """number: names of its own for the tensors, of branches side by side."""
        pipe, model = _through(of.make(cell.source), Model(of.rows), cell.branch)
        if cell.corrupt == "skip_record" and of is first:
            pipe = pipe.on_corrupt("skip_record")
        return (_renamed(cell, pipe, number) if number else pipe), model

    side = cell.combo == "zip"
    if side and cell.inner is None:
        beside = second if cell.until == "first" else Set(first.folder, "d", first.draws)
        pipe, model = _combined(cell, "zip", [branch(first), branch(beside, 2)])
        return pipe, model.subset() if _OF_ONE_SIDE.intersection(cell.after) else model
    if cell.inner is None:
        return _combined(cell, str(cell.combo), [branch(first), branch(second)])
    inner = _combined(cell, cell.inner, [branch(first), branch(second, 5 if cell.inner == "zip" else 0)])
    other = branch(second, 7 if side else 0)
    if cell.inner == "zip" and not side:   # the same tensors in both branches
        other = _combined(cell, "zip", [branch(second), branch(first, 5)])
    return _combined(cell, str(cell.combo), [inner, other])


def _renamed(cell: Cell, pipe: Any, number: int) -> Any:
    other = {"csv_text": "t", "tar": "__key__"}.get(cell.source, "" if cell.source in ONLY_ID else "x")
    pipe = pipe.rename("id", f"id{number}")
    if other:
        pipe = pipe.rename(other, other.strip("_") + str(number))
    return pipe.rename("img", f"img{number}") if "draw" in cell.stages else pipe


def _combined(cell: Cell, how: str, branches: "list[tuple[fb.Pipeline, Model]]") -> "tuple[fb.Pipeline, Model]":
    pipes, (first, *others) = [pipe for pipe, _ in branches], [model for _, model in branches]
    if how == "zip":
        return fb.zip(pipes, until="first" if cell.inner else cell.until), first.beside(others)
    first.add(others)
    until: Any = cell.until or "all"
    repeat = cell.repeat or False
    if cell.until is not None or cell.repeat is not None:
        first.subset(cell.until if isinstance(cell.until, int) else None)
    if how == "mix":
        weights = None if cell.until is not None else [2.0, *[1.0] * (len(pipes) - 1)]
        return fb.mix(pipes, weights=weights, until=until, repeat=repeat), first
    if how == "round_robin":
        return fb.round_robin(pipes, until=until, repeat=repeat), first
    return (fb.join(pipes, repeat=repeat) if how == "join" else fb.concat(pipes)), first
