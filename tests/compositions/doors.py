# SPDX-License-Identifier: Apache-2.0
"""What uses a pipeline in other ways than a loop: each over one source and over combinations, with and without a function behind."""
from __future__ import annotations

import pathlib
from typing import Any, Callable

import forebay as fb
from cells import Cell
from claims import REFUSALS, Outcome, wrong
from data import Set
from stages import per_batch


class Unknown(Exception):
    """The door is there, and does not know what it is asked for."""


class Doors:
    """The pipelines of a cell, and a method for each door."""

    def __init__(self, cell: Cell, folder: pathlib.Path) -> None:
        self._cell, self._folder = cell, folder
        self._first, self._second = (Set(folder, name, False).make("example") for name in "ab")
        self._rows = getattr(fb, cell.combo)([self._first, self._second]) if cell.combo else self._first
        batches = self._rows.batch(4, pad=True)
        self._pipe = batches.map(per_batch) if cell.mapped else batches

    def switch(self) -> None:
        with fb.switch({"train": self._pipe, "test": self._pipe}) as switched:
            batches = len(list(switched))
            switched.switch_to("test")
            assert batches and len(list(switched)) == batches

    def batch_set(self) -> None:
        with self._pipe.load() as loader:
            assert fb.BatchSet(loader).peek(2)

    def len(self) -> None:
        with self._pipe.load() as loader:
            assert len(loader) == sum(1 for _ in loader)

    def count(self) -> None:
        with self._pipe.load() as loader:
            assert loader.plan.count() == sum(1 for _ in loader)

    def epochs(self) -> None:
        with self._pipe.epochs(2).load() as loader:
            batches = [len(list(epoch)) for epoch in loader.epochs()]
            assert len(batches) == 2 and batches[0]

    def steps_per_epoch(self) -> None:
        with self._pipe.load() as loader:
            assert loader.steps_per_epoch == sum(1 for _ in loader)

    def convert(self) -> None:
        fb.convert(self._rows, str(self._folder / f"converted-{self._cell.combo}.tfrecord"))

    def inspect(self) -> None:
        fb.inspect(self._pipe)

    def view(self) -> None:
        with self._pipe.load() as loader, loader.view():
            pass

    def peek(self) -> None:
        with self._pipe.load() as loader:
            assert loader.peek() is not None

    def to_arrow(self) -> None:
        with self._pipe.load() as loader:
            assert next(loader).to_arrow().num_rows == 4

    def origins(self) -> None:
        with self._pipe.load() as loader:
            batch = next(loader)
            assert len(batch.origins) == len(batch.record_keys) == 4

    def verify_replicas(self) -> None:
        with self._pipe.load() as loader:
            fb.verify_replicas(loader, lambda value: [value, value])

    def complete_frac(self) -> None:
        with self._pipe.load() as loader:
            *_, last = loader
            if last.complete_frac.value != 1:
                raise Unknown(f"the done part of the last batch is {last.complete_frac}")

    def document(self) -> None:
        with fb.load(self._pipe.to_dict()) as loader:
            next(loader)

    def in_a_branch(self) -> None:
        with fb.mix([self._pipe, self._pipe]).load() as loader:
            next(loader)

    def other_weights(self) -> None:
        both = [self._first, self._second]
        self._goes_on("weights", fb.mix(both, weights=[2, 1], until="all"), fb.mix(both, weights=[1, 2], until="all"))

    def another_branch(self) -> None:
        self._goes_on("branches", fb.mix([self._first], until="all"), fb.mix([self._first, self._second], until="all"))

    @staticmethod
    def _goes_on(accepted: str, first: Any, second: Any) -> None:
        """The run goes on with the second pipeline, whose rows are all there, each once."""
        with second.batch(4, pad=True).load() as loader:
            wanted = sorted(value for batch in loader for value in batch["id"].tolist())
        with first.batch(4, pad=True).load() as loader:
            found = next(loader)["id"].tolist()
            state = loader.state_dict()
        with second.batch(4, pad=True).load() as loader:
            loader.load_state_dict(state, accept=[accepted])
            found += [value for batch in loader for value in batch["id"].tolist()]
        assert sorted(found) == wanted, f"{sorted(found)} are not {wanted}"


def check(cell: Cell, folder: pathlib.Path) -> Outcome:
    try:
        door: "Callable[[], None]" = getattr(Doors(cell, folder), str(cell.door))
        door()
    except (*REFUSALS, AttributeError, fb.StateError, Unknown) as error:
        return Outcome("refused", f"{type(error).__name__}: {error}")
    except AssertionError as error:
        return wrong(f"{cell.door}: {error}")
    return Outcome("works")
