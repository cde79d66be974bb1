# SPDX-License-Identifier: Apache-2.0
"""One `map` of a pipeline: how its function is called, and what it may return."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Mapping, Optional

import numpy as np

from forebay._map.draws import LibraryStates, Watch, generator, seed_libraries, shares_libraries
from forebay._map.output import Output, stacked
from forebay._structure import each_of
from forebay.mapped import Made, MappedBatch, TupleBatch
from forebay.values import Origin, Sparse


class Fault(Exception):
    """A function given to `map` failed: its exception, and the batch or row that it was given, in words."""

    def __init__(self, failure: BaseException, where: str) -> None:
        super().__init__(where)
        self.failure = failure
        self.where = where


class Call:
    """Calls the function of one `map`. Immutable; used by any number of threads at a time.

    seed         text that the draws of this `map` depend on: the plan's seed and the place of the `map` in the pipeline
    libraries    the generators of `random`, `numpy.random` and torch: "seeded" for each call, as in a process of its own;
                 "lent", the same, and the program has its states back afterwards; "shared" by threads, or "unused": they are
                 left alone, and so are lent ones on a thread that works beside the program
    """

    __slots__ = ("function", "name", "per", "with_rng", "output", "seed", "libraries", "_watch")

    def __init__(self, function: Callable[..., Any], name: str, per: str, with_rng: bool, output: Optional[Output],
                 seed: str, libraries: str) -> None:
        self.function = function
        self.name = name
        self.per = per
        self.with_rng = with_rng
        self.output = output
        self.seed = seed
        self.libraries = libraries
        self._watch = Watch(name) if libraries in ("shared", "lent") else None

    def __call__(self, batch: Any) -> Any:
        """What the function makes of a batch. Raises Fault for an Exception; other exceptions go through."""
        return self._rows(batch) if self.per == "row" else self._batch(batch)

    def _batch(self, batch: Any) -> Any:
        try:
            with self._libraries_of_a_call():
                draws = self._draws(batch)
                if self.with_rng:
                    result = self.function(batch, rng=generator(draws[0] if draws else self.seed))
                else:
                    result = self.function(batch)
            checked = self._checked(result)
            if self.output is not None:
                self.output.check(self.name, checked, batch.rows)
            return checked
        except Exception as failure:
            raise Fault(no_stop(failure, self.name), batch_text(self.name, batch)) from failure

    def _rows(self, batch: Any) -> Any:
        # A batch without a valid row: the first row that fills it up shows the shapes.
        most = batch.valid_rows or min(batch.rows, 0 if self.output is not None else 1)
        return self.joined(self.results(batch, most), batch)

    def results(self, batch: Any, most: int) -> list[Any]:
        """What the function made of the first `most` rows of a batch. Raises as a call."""
        rows: list[Any] = []
        try:
            with self._libraries_of_a_call():
                draws = self._draws(batch)
                tensors = dict(batch) if isinstance(batch, Mapping) else batch.tensors
                for row in range(most):
                    values = each_of(lambda value: row_of(value, row), tensors)
                    if row > 0 and self._seeds():
                        seed_libraries(draws[row])
                    rows.append(self._checked(self.function(values, generator(draws[row])) if self.with_rng else
                                              self.function(values)))
        except Exception as failure:
            raise Fault(no_stop(failure, self.name), row_text(self.name, batch, len(rows))) from failure
        return rows

    def joined(self, rows: list[Any], batch: Any) -> Any:
        """The rows of `results` as a batch."""
        try:
            return stacked(self.name, rows, batch.valid_rows, batch.rows, self.output)
        except Exception as failure:
            raise Fault(failure, batch_text(self.name, batch)) from failure

    def _libraries_of_a_call(self) -> "contextlib.AbstractContextManager[object]":
        if self._watch is None:
            return contextlib.nullcontext()
        return LibraryStates() if self._seeds() else self._watch.call()

    def _seeds(self) -> bool:
        return self.libraries == "seeded" or (self.libraries == "lent" and not shares_libraries())

    def _draws(self, batch: Any) -> list[str]:
        """A text for each row that its draws depend on; for a whole batch that of the first one counts. Seeds the libraries for
        that one, unless threads share them. Nothing where nothing draws from it."""
        if not self._seeds() and not self.with_rng:
            return []
        rows = made_of(batch)._identities()
        draws = [f"{self.seed}/{'/'.join(map(str, row))}" for row in (rows if self.per == "row" else rows[:1]).tolist()]
        if self._seeds():
            seed_libraries(draws[0] if draws else self.seed)
        return draws

    def _checked(self, result: Any) -> Any:
        if not isinstance(result, (Mapping, tuple)):
            raise TypeError(f"a function given to map returns a mapping of tensors, or a tuple of them; {self.name} returned "
                            f"{type(result).__name__}")
        return result


def delivered(result: Any, source: Any) -> Any:
    """What the user gets: the loader's own batch as it is, any other mapping as a MappedBatch, and a tuple as a TupleBatch."""
    if result is source:
        return result
    return TupleBatch(result, made_of(source)) if isinstance(result, tuple) else MappedBatch(result, made_of(source))


def made_of(batch: Any) -> Any:
    """The loader's batch, whose facts the results of every `map` have."""
    return batch._made_of() if isinstance(batch, Made) else batch


def row_of(value: Any, row: int) -> Any:
    """Row `row` of a tensor."""
    if not isinstance(value, Sparse):
        return value[row]
    begin, end = np.searchsorted(value.indices[:, 0], [row, row + 1])
    return Sparse(value.indices[begin:end, 1:], value.values[begin:end], value.dense_shape[1:])


def no_stop(failure: Exception, name: str) -> Exception:
    """StopIteration as a RuntimeError: raised by `next`, it would end the user's loop without a word."""
    if not isinstance(failure, StopIteration):
        return failure
    stopped = RuntimeError(f"{name} raised StopIteration")
    stopped.__cause__ = failure
    return stopped


def batch_text(name: str, batch: Any) -> str:
    return f"in map: {name} was given batch {batch.number} of epoch {batch.epoch}, {records_text(row_origins(batch))}"


def row_text(name: str, batch: Any, row: int) -> str:
    if row >= batch.valid_rows:
        return f"{batch_text(name, batch)}; row {row} fills up the batch: say output= in map, so that it is not needed"
    file, record, offset = row_origins(batch)[row]
    return (f"in map: {name} was given row {row} of batch {batch.number} of epoch {batch.epoch}, record {record} of {file} "
            f"at byte {offset}")


def row_origins(batch: Any) -> list[tuple[str, int, int]]:
    """The origin of each valid row: that of its first span; side by side, that of the first branch."""
    first: dict[int, tuple[str, int, int]] = {}
    for row, origin in enumerate(batch.origins):
        if not isinstance(origin[0], str):
            origin = origin[0]
        first.setdefault(origin.row if isinstance(origin, Origin) else row, origin)
    return list(first.values())


def records_text(origins: list[tuple[str, int, int]]) -> str:
    """Which records these are: up to 4 files, and up to 8 records of each."""
    files: dict[str, list[int]] = {}
    for file, record, _ in origins:
        files.setdefault(file, []).append(record)
    parts = []
    for file, records in list(files.items())[:4]:
        shown = ", ".join(map(str, records[:8])) + (f" and {len(records) - 8} more" if len(records) > 8 else "")
        parts.append(f"{'record' if len(records) == 1 else 'records'} {shown} of {file}")
    if len(files) > 4:
        parts.append(f"and records of {len(files) - 4} more files")
    return "; ".join(parts) or "without records"

