# SPDX-License-Identifier: Apache-2.0
"""docs/composition-table.md: what the matrix knows of stages that do not go together, and why."""
from __future__ import annotations

import pathlib

from cells import Cell, cells
from meaning import reason

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/composition-table.md"

_HEAD = """# What does not compose, and why

*Written by `tests/compositions/run.py --update` from the cells of the matrix, and checked by `make test`. [composition.md](composition.md) says
how the others work.*

The matrix has {cells} small pipelines: every stage behind every other one, in each branch of each combination and behind it, for every kind of
source, shard and epoch boundary, beside a corrupt record, and in tools. {works} of them work: they give the rows of a model, the same for 1 and 4
threads and after restarts. {meaningless} have no meaning. {limitation} have one, and are refused all the same; they are marked with **not yet**.

`batch` stands for itself and for the batch that every pipeline ends with; `global` is `shuffle("global")`, `sample_buffer` is
`random_sample(n, buffer=…)`, `filter_length` a filter by the length of a tensor, `draw` a step that draws, `cut_step` a step that cuts, and
`map_row` and `map_batch` are functions of a row and of a batch.
"""

_LATER = {
    "context": "windows that join records have no sequence of their own to look at; widen them by the windows themselves (`continuous` with overlap)",
    "stack": "as `context`",
    "sample_buffer": "a sample of all rows cannot be taken within each file; put it behind `interleave`",
    "zip[packed]": "the branches pack by their own lengths, so rows that belong together would part; pack behind the `zip`",
    "zip[chunk, packed]": "the branches pack by their own lengths, so rows that belong together would part; pack behind the `zip`",
    "file: map_row": "a function makes the rows of one process, which has no files to share out; shard by rows",
    "file: zip[filter]": "the row that belongs to one of another branch is found by going through all files; filter behind the `zip`",
    "file: zip[batch]": "batches of branches are rows that are made, and have no files; shard by rows",
    "skip_record: zip[filter]": "a record that one branch leaves out and another does not would part the pairs behind it; filter behind the `zip`",
    "skip_row: zip[filter]": "the rows of the branch are made before they lie side by side, and a bad one is met there; filter behind the `zip`",
}

_AREAS = {
    "source": ("Sources and stages", "pipeline"),
    "combine": ("In and behind combinations", "pipeline"),
    "batches": ("Batches in branches", "pipeline"),
    "shard": ("Shards", "shards: pipeline"),
    "epochs": ("Several epochs", "epochs: pipeline"),
    "corrupt": ("Beside a corrupt record", "policy: pipeline"),
    "recipe": ("Recipes", "pipeline"),
}


def _why(cell: Cell, kind: str) -> str:
    if kind == "meaningless":
        return reason(cell) or ""
    return "**not yet**: " + (_LATER.get(cell.name) or _LATER[cell.stages[0] if cell.stages[0] in _LATER else cell.stages[-1]])


def _list(names: "list[str]") -> str:
    return ", ".join(f"`{name}`" for name in names)


def _pairs(found: "dict[tuple[str, str], list[str]]") -> "list[str]":
    """found: what stands behind a stage for which reason. Stages with the same of both share a row."""
    stages: "dict[tuple[str, str], list[str]]" = {}
    for (stage, why), behind in found.items():
        stages.setdefault((_list(behind), why), []).append(stage)
    return [f"| {_list(names)} | {behind} | {why} |" for (behind, why), names in stages.items()]


def text(classes: "dict[tuple[str, str], str]") -> str:
    """The page. classes: those of the cells that are refused, by area and name."""
    every = cells()
    counts = {kind: sum(classes.get((cell.area, cell.name)) == kind for cell in every) for kind in ("meaningless", "limitation")}
    out = [_HEAD.format(cells=f"{len(every):,}", works=f"{len(every) - sum(counts.values()):,}", **counts)]
    refused = [(cell, classes[cell.area, cell.name]) for cell in every if (cell.area, cell.name) in classes]
    pairs: "dict[tuple[str, str], list[str]]" = {}
    for cell, kind in refused:
        if cell.area == "pair" and cell.source == "example":
            pairs.setdefault((cell.stages[0], _why(cell, kind)), []).append(cell.name.split(" > ")[-1])
    out += ["## One stage directly behind another\n", "| stage | behind it | why not |", "| --- | --- | --- |", *_pairs(pairs), ""]
    for area, (title, column) in _AREAS.items():
        found: "dict[str, list[str]]" = {}
        for cell, kind in refused:
            if cell.area == area:
                found.setdefault(_why(cell, kind), []).append(cell.name)
        if found:
            out += [f"## {title}\n", f"| {column} | why not |", "| --- | --- |", *[f"| {_list(names)} | {why} |" for why, names in found.items()], ""]
    return "\n".join(out)
