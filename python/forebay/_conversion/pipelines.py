# SPDX-License-Identifier: Apache-2.0
"""Rows of a pipeline, and of files that only a pipeline reads, as the inputs of a conversion."""
from __future__ import annotations

import json
import os
from typing import Any, Optional, cast

from forebay import _core
from forebay._conversion.inputs import Input, Wanted, refused, rows_of, schema_of
from forebay._map.rows import BATCHERS, MadeRows, made
from forebay.builder import Pipeline
from forebay.errors import ConfigError
from forebay.inspection import inspect
from forebay.pipeline import PipelineBase

#: Sources that hold what their files are, without options: what `inspect` proposes for them can be written as it is.
PROPOSED = ("whole_file", "idx", "cifar")
SAMPLE = 256


class PipelineRows(Input):
    """The rows that the steps of a pipeline make, before any batch. Its epochs do not count. seed: that of the run, where the rows
    are shuffled; None: the pipeline's own. The rows of a mixture depend on it."""

    def __init__(self, pipe: PipelineBase, files: "list[str]", wanted: Wanted, seed: Optional[int]) -> None:
        super().__init__(files)
        if seed is not None:
            pipe = cast(Pipeline, pipe).seed(seed)
        if any(name in BATCHERS for step in pipe.to_dict()["steps"] for name in step):
            raise refused("inputs: this pipeline makes batches, and convert writes rows; leave its batch out")
        rows = cast(Pipeline, made(pipe, "convert") if pipe._maps else pipe).epochs(1)
        names = list(schema_of(rows))
        chosen = [name for name in names if wanted(name)]
        if not chosen:
            raise refused("the pipeline has no tensor that is to be written")
        self._rows = rows if chosen == names else rows.select(chosen)
        self.schema = schema_of(self._rows)
        self.counts = [_count(pipe)]
        with self._rows.take(SAMPLE).batch(size=SAMPLE).load(threads=1) as loader:
            some = next(iter(loader), None)
        size = 0 if some is None else sum(map(_bytes_of, some.values()))
        self.bytes = size * self.rows // max(1, 0 if some is None else some.valid_rows)

    def source(self, files: "list[str]") -> Pipeline:
        return self._rows

    def pipe(self, first: int, rows: int, seed: Optional[int]) -> Pipeline:
        pipe = self._rows if seed is None else self._rows.shuffle(global_=True)
        return (pipe.skip(first) if first > 0 else pipe).take(rows)


def _count(pipe: PipelineBase) -> int:
    """The rows of an epoch. Functions of the last `map` make one of each and are not called; where those before other stages have to
    be, all rows are made once more."""
    rows = cast(Pipeline, type(pipe)(pipe._document, (), pipe._bindings)).epochs(1)
    if not any(isinstance(each, MadeRows) for each in pipe._bindings.values()) or not MadeRows(pipe).again()[0]:
        return rows_of(rows)
    with rows.batch(size=1).load() as loader:
        return sum(batch.valid_rows for batch in loader)


def _bytes_of(value: Any) -> int:
    """The bytes of the values of a tensor."""
    values = value.values if hasattr(value, "values") else value
    return sum(map(len, values.ravel())) if values.dtype == object else int(values.nbytes)


def files_of(document: Any) -> "list[str]":
    """The files that a document names, wherever they stand."""
    if isinstance(document, dict):
        named = document.get("files")
        own = [named] if isinstance(named, str) else named if isinstance(named, (list, tuple)) else []
        return _core.expand_files([path for path in own if isinstance(path, str)]) + [path for key, value in document.items() if key != "files" for path in files_of(value)]
    if isinstance(document, (list, tuple)):
        return [path for value in document for path in files_of(value)]
    return []


def of_document(path: str) -> Pipeline:
    """The rows of a document before its batch, with its files by absolute paths. Raises ConfigError for a document whose batcher
    decides more than the size of batches, or has steps behind it."""
    without_batch = _without_batch(path)
    planned = (_core.plan_path(path, {}) if without_batch is None else
               _core.plan_document({**without_batch, "steps": [*without_batch["steps"], {"batch": {"size": 1}}]}, os.path.dirname(path) or ".", {}))
    whole = json.loads(planned.lowered)
    names = [next(iter(step)) for step in whole["steps"]]
    at = next(place for place, name in enumerate(names) if name in BATCHERS)
    if names[at] != "batch" or names[at + 1:]:
        more = f"'{names[at + 1]}' stands behind it" if names[at + 1:] else f"'{names[at]}' decides which rows belong together"
        raise refused(f"--document: convert writes rows, without the batches of '{path}', and {more}; give a document without it")
    return Pipeline({**whole, "steps": whole["steps"][:at]})


def _without_batch(path: str) -> "Optional[dict[str, Any]]":
    """The document, if it lacks nothing but a batch. None: the planner reads it, and says what is wrong."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError):
        return None
    steps = document.get("steps") if isinstance(document, dict) else None
    if not isinstance(steps, list) or any(name in BATCHERS for step in steps if isinstance(step, dict) for name in step):
        return None
    return dict(document)


def proposed(paths: "list[str]") -> Optional[Pipeline]:
    """The pipeline that reads a folder, or files that say themselves what they are: pictures, clips, IDX. None: they do not."""
    try:
        kind, _ = _core.find_source(paths, "")
        if kind not in PROPOSED and not (kind == "lines" and all(path.lower().endswith(".txt") for path in paths)):
            return None
        document = inspect(paths, records=SAMPLE).document
    except ConfigError:
        return None
    if document is None:
        return None
    return Pipeline({**document, "steps": [step for step in document["steps"] if "batch" not in step]})


def folders_in(paths: "list[str]") -> bool:
    return any(os.path.isdir(path) for path in paths)
