# SPDX-License-Identifier: Apache-2.0
"""Rows of a pipeline, and of files that only a pipeline reads, as the inputs of a conversion."""
from __future__ import annotations

import os
from typing import Any, Optional, cast

from forebay import _core
from forebay._builder.batchers import Batchers
from forebay._conversion.inputs import Input, Wanted, refused, rows_of, schema_of
from forebay.builder import Pipeline
from forebay.errors import ConfigError
from forebay.inspection import inspect
from forebay.pipeline import PipelineBase

#: Sources that hold what their files are, without options: what `inspect` proposes for them can be written as it is.
PROPOSED = ("whole_file", "idx", "cifar")
SAMPLE = 256


class PipelineRows(Input):
    """The rows that the steps of a pipeline make, before any batch. Its epochs do not count."""

    def __init__(self, pipe: PipelineBase, files: "list[str]", wanted: Wanted) -> None:
        super().__init__(files)
        if pipe._maps:
            raise refused("inputs: this pipeline ends with map, whose results are batches of the program; leave it out, and batch before it")
        if any(name in vars(Batchers) for step in pipe.to_dict()["steps"] for name in step):
            raise refused("inputs: this pipeline makes batches, and convert writes rows; leave its batch out")
        rows = cast(Pipeline, pipe).epochs(1)
        names = list(schema_of(rows))
        chosen = [name for name in names if wanted(name)]
        if not chosen:
            raise refused("the pipeline has no tensor that is to be written")
        self._rows = rows if chosen == names else rows.select(chosen)
        self.schema = schema_of(self._rows)
        self.counts = [rows_of(self._rows)]
        with self._rows.take(SAMPLE).batch(size=SAMPLE).load(threads=1) as loader:
            some = next(iter(loader), None)
        size = 0 if some is None else sum(map(_bytes_of, some.values()))
        self.bytes = size * self.rows // max(1, 0 if some is None else some.valid_rows)

    def source(self, files: "list[str]") -> Pipeline:
        return self._rows

    def pipe(self, first: int, rows: int, seed: Optional[int]) -> Pipeline:
        pipe = self._rows if seed is None else self._rows.shuffle(global_=True).seed(seed)
        return (pipe.skip(first) if first > 0 else pipe).take(rows)


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
