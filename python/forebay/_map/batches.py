# SPDX-License-Identifier: Apache-2.0
"""Batches that `map` makes before the engine goes on with them: steps behind a function of batches, and such a pipeline as a branch.

    records … batches ─► a loader of its own ─► functions ─► rows, of which some end a batch ─► batch_ends ─► steps of the run
"""
from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

import numpy as np

from forebay._map.call import delivered, made_of, row_of
from forebay._map.output import Column, Output
from forebay._map.rows import SAMPLE, MadePump, MadeRows, _branches, _of_plan
from forebay._structure import each_of, flat
from forebay.errors import ConfigError
from forebay.values import Ragged, Sparse

if TYPE_CHECKING:
    from forebay._map.call import Call
    from forebay._map.step import MapStep
    from forebay.loader import Loader
    from forebay.pipeline import PipelineBase

#: The column that says which rows end a batch.
END = "end of a batch of map"


class MadeBatches(MadeRows):
    """The rows of a pipeline with a batch, after its functions or items. stage: what needs them; batcher: the step that makes the batches.

    pad   the option of the batcher
    """

    def __init__(self, pipe: "PipelineBase", stage: str, batcher: "Mapping[str, Any]") -> None:
        super().__init__(pipe)
        (name, options), = batcher.items()
        self._function = pipe._maps[-1].name if pipe._maps else "items"
        lost = [option for option in ("seq_idx", "epoch_end", "states") if options.get(option)] + ["remainder"] * (options.get("remainder") == "pad")
        if lost:
            raise ConfigError(f"{stage}: `{lost[0]}` of '{name}' says something of a batch that its rows do not tell, so it does not come "
                              f"through {self._function}; leave it out, or put {self._function} behind {stage}", code="config",
                              detail="failed_precondition")
        self.pad = options.get("pad", name != "batch")
        self.steps = [{"batch_ends": {"keys": [END], "pad": bool(self.pad)}}]

    def pump(self, name: str, document: Mapping[str, Any]) -> "BatchPump":
        if not _branches(document) and document.get("epochs", 1) != 1 and document.get("epoch_boundary") != "hard":
            raise ConfigError(f"epoch_boundary: batches that {self._function} makes for the steps behind it end with their epoch; say "
                              'epoch_boundary("hard")', code="config", detail="failed_precondition")
        spare, self._spare = self._spare, None
        return spare if isinstance(spare, BatchPump) else BatchPump(self, name, document)


class BatchPump(MadePump):
    """Puts the rows of the batches of each pass into the feed of the pass."""

    _rows: MadeBatches

    def _start(self, epoch: int = 0) -> "Loader":
        from forebay.loader import start
        self._reach(epoch)
        return start(self._document, self._bindings, self._threads, self._memory, None, [0, 1], identities=True)

    def _columns(self, loader: "Loader", steps: "Sequence[MapStep]") -> Output:
        out = self._sampled(loader, steps) if steps else _of_plan(loader)
        out[END] = Column("bool", (), "equal")
        return out

    def _stated(self, step: "MapStep") -> "MapStep":
        return step

    def _given(self) -> Any:
        return {name: name for name in self._output}

    def _first_rows(self, call: "Call", batch: Any) -> "list[Any]":
        rows = list(itertools.islice(self._each_row(delivered(call(batch), batch)), SAMPLE))
        if rows:
            return rows
        raise ConfigError(f"{call.name} returned a batch without a row, so its columns are not known", code="config",
                          detail="invalid_argument")

    def _give(self, epoch: int, first: int, feed: Any) -> None:
        for batch in self._results(epoch, first):
            rows = list(self._each_row(batch))
            for number, row in enumerate(rows[first:], first + 1):
                feed.put({**flat(self.tree, row, "a row"), END: np.array(number == len(rows))})
            first = max(0, first - len(rows))

    def _each_row(self, batch: Any) -> "Iterator[Any]":
        """The rows of what a function returned. A tensor that it did not touch loses its padding, which the batch gets again."""
        tensors = batch if isinstance(batch, (dict, tuple)) else dict(batch)
        counts: "set[int]" = set()
        each_of(lambda value: counts.add(self._rows_in(value)), tensors)
        if len(counts) != 1:
            raise self._refused(f"returned tensors of {' and '.join(map(str, sorted(counts)))} rows; those of a batch have equally many")
        source = made_of(batch)
        lengths = source.lengths if self._rows.pad is True else {}
        untouched = {_memory_of(source[name]): sizes for name, sizes in lengths.items() if sizes.ndim == 1}

        def row(value: Any, number: int) -> Any:
            sizes = untouched.get(_memory_of(value))
            return row_of(value, number) if sizes is None else value[number, :sizes[number]]

        for number in range(counts.pop()):
            yield each_of(lambda value: row(value, number), tensors)   # noqa: B023: used at once

    def _rows_in(self, value: Any) -> int:
        if isinstance(value, (Ragged, Sparse)):
            return len(value) if isinstance(value, Ragged) else int(value.dense_shape[0])
        if np.ndim(value) == 0:
            raise self._refused("returned a tensor without a batch axis")
        return len(value)

    def _refused(self, what: str) -> ConfigError:
        return ConfigError(f"{self._rows._function} {what}, and the steps behind it act on rows", code="config", detail="invalid_argument")


def _memory_of(value: Any) -> "tuple[Any, ...]":
    """Where the elements of an array lie. Arrays of the same memory and form have the same values."""
    if not isinstance(value, np.ndarray):
        return (id(value),)
    return value.__array_interface__["data"][0], value.shape, value.strides, value.dtype.str
