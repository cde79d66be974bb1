# SPDX-License-Identifier: Apache-2.0
"""`inspect`: what is in these files, and which pipeline reads them?"""
from __future__ import annotations

from typing import Any, Optional, Union

from forebay import _core
from forebay._arguments import integer_of, wrong_type
from forebay._paths import Paths, paths_of
from forebay.builder import Pipeline
from forebay.errors import ConfigError
from forebay.pipeline import PipelineBase

__all__ = ["Inspection", "inspect"]


class Inspection:
    """What was found. Printed, it is a table of the features with the Python call and the document that read them.

    features   by name: kind, dtype, shape, records, missing, ranges … (docs/inspect.md)
    python     the call as text; it defines `pipe`
    document   the pipeline document; None where a document alone cannot read the data (Parquet, Arrow, a pipeline)
    """

    def __init__(self, found: _core.Inspection, pipeline: Optional[Pipeline] = None, python: str = "") -> None:
        self._found = found
        import json
        self._report: dict[str, Any] = json.loads(found.report)
        self._pipeline = pipeline
        self.document: Optional[dict[str, Any]] = json.loads(found.document)
        self.python = python or found.python

    @property
    def features(self) -> dict[str, dict[str, Any]]:
        return {feature["name"]: feature for feature in self._report["features"]}

    @property
    def records(self) -> int:
        """Records, or rows, that were looked at."""
        return int(self._report["records"])

    def to_dict(self) -> dict[str, Any]:
        """Everything that is known, as JSON has it."""
        code = {"document": self.document, "python": self.python} if self.python else {}
        return {**self._report, **code}

    def pipeline(self) -> Pipeline:
        """The pipeline of the call: `.load()` starts it."""
        if self._pipeline is not None:
            return self._pipeline
        if self.document is None:
            raise ConfigError("a pipeline was inspected: use it as it is", code="config", detail="failed_precondition")
        return Pipeline(self.document)

    def text(self, stats: bool = False) -> str:
        """The table for people. stats: with counts, ranges, lengths and frequent values."""
        return self._found.text(stats)

    def markdown(self, stats: bool = True) -> str:
        """The table in Markdown."""
        return self._found.markdown(stats)

    def __str__(self) -> str:
        return self.text() + (f"\n{self.python}" if self.python else "")

    __repr__ = __str__


def inspect_batches(pipeline: PipelineBase, what: str, records: Optional[int], threads: int) -> _core.Inspection:
    """Runs one epoch of the pipeline, or `records` rows of it."""
    with pipeline.load(threads=threads) as loader:
        inspector = _core.BatchInspector(loader.plan)
        left = (1 << 62) if records is None else records
        more = False
        for batch in loader:
            if batch.epoch > 0:
                break
            added = inspector.add(batch, left)
            left -= added
            more = more or added < batch.valid_rows
            if more:
                break
        return inspector.result(what, more)


def inspect(files: Union[Paths, Pipeline], *, source: Optional[str] = None, records: Optional[int] = 10_000,
            threads: Optional[int] = None, **options: Any) -> Inspection:
    """Looks into files and says what is in them: every feature, and the pipeline that reads them, ready to run.

    files     paths, patterns and folders; they are found to be TFRecord, CSV, text, tar, npy, npz, IDX, Parquet, Arrow, or
              images and clips by their content and names. Or a pipeline, whose batches are looked at (before `map`)
    source    what the files are, such as "fixed_length"; `options` are those of that source: record_bytes=3073
    records   so many at most: a sample of the first files; None: all
    threads   None or 0: one for every CPU

    Raises ConfigError for files of an unknown kind, IoError, and DataError for corrupt ones. docs/inspect.md has the rest.
    """
    if records is not None:
        records = integer_of("records", records)
    workers = integer_of("threads", threads)
    if isinstance(files, PipelineBase):
        if source is not None or options:
            raise wrong_type("source", "left out for a pipeline", source)
        return Inspection(inspect_batches(files, "batches of a pipeline", records, workers))
    paths = paths_of(files, "files")
    kind, found = _core.find_source(paths, source or "")
    if kind in ("parquet", "arrow_file"):
        from forebay._inspect.tables import inspect_tables
        return inspect_tables(kind, found, records, workers, options)
    return Inspection(_core.inspect(paths, source or "", options, records, workers))
