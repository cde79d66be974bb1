# SPDX-License-Identifier: Apache-2.0
"""Data sets with epochs of their own: objects with `init_seq_order`, which a thread asks for the sequences of each pass."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional

import numpy as np

from forebay import _core
from forebay._arguments import wrong_type
from forebay._pump import Pump
from forebay.errors import Cancelled, ConfigError

if TYPE_CHECKING:
    from forebay.rows import Feed

#: What an object of this kind has.
METHODS = ("init_seq_order", "is_less_than_num_seqs", "get_data")
#: The columns that are no data of the object: the tag of a sequence, and its number in the epoch.
TAG, NUMBER = "seq_tag", "seq_idx"


def has_epochs(rows: object) -> bool:
    """Whether the object has the methods of the epoch protocol."""
    return all(callable(getattr(rows, method, None)) for method in METHODS)


class EpochRows:
    """An object with the epoch protocol, and the columns of its sequences."""

    def __init__(self, rows: Any, columns: Optional[Mapping[str, Any]], capacity: int = 1024,
                 first_epoch: int = 1) -> None:
        self._rows = rows
        self._columns = columns
        self._capacity = capacity
        self._first_epoch = first_epoch

    def pump(self, name: str) -> "PassPump":
        """A pump for one run. Asks for the first sequence when the columns are not given."""
        from forebay.rows import column_specs
        if self._columns is None:
            self._columns = self._columns_of_first(name)
        if TAG in self._columns and not callable(getattr(self._rows, "get_tag", None)):
            raise _refused(f"columns['{TAG}']: the data set of '{name}' has no method get_tag; leave the column out")
        specs = column_specs(self._columns)
        passes = _core.make_passes([(column, *spec) for column, spec in specs.items()], self._capacity)
        return PassPump(self._rows, passes, specs, name, self._first_epoch, {column: column for column in specs})

    def _columns_of_first(self, name: str) -> Mapping[str, Any]:
        """The columns of the first sequence: the first axis of an array is time."""
        rows = self._rows
        if not callable(getattr(rows, "get_data_keys", None)):
            raise _refused(f"columns: the data set of '{name}' has no method get_data_keys; give columns={{…}}")
        rows.init_seq_order(self._first_epoch)
        if not rows.is_less_than_num_seqs(0):
            raise _refused(f"the data set of '{name}' has no sequence, so its columns are not known; give columns={{…}}")
        _load(rows, 0)
        out = {str(key): _column_of(rows.get_data(0, key)) for key in rows.get_data_keys()}
        if callable(getattr(rows, "get_tag", None)):
            out[TAG] = {"dtype": "string", "shape": []}
        return out


class PassFeeder(Pump):
    """Puts rows into the feed of each pass that a run begins, until the run has no more passes."""

    _passes: Any
    _specs: "dict[str, Any]"
    tree: Any  # the structure of the rows

    def _give(self, epoch: int, first: int, feed: "Feed") -> None:
        """Puts the rows of a pass into its feed, from row `first` on."""
        raise NotImplementedError

    def _place(self, epoch: int) -> str:
        """What failed, for the error of a pass."""
        raise NotImplementedError

    def _given(self) -> Any:
        """The structure of what `_give` puts into a feed."""
        return self.tree

    def _run(self) -> None:
        from forebay.rows import Feed
        while True:
            try:
                begun = self._passes.next()
            except Cancelled:
                return
            if begun is None:
                continue
            epoch, first, core = begun
            feed = Feed._of(core, self._specs, self._given())
            try:
                self._give(epoch, first, feed)
            except BaseException as failure:
                if not feed.closed:  # else the run has left the pass, and `put` was refused
                    core.fail(self.failed(failure, self._place(epoch)))
            else:
                core.close()

    def stop(self) -> None:
        self._passes.close()


class PassPump(PassFeeder):
    """Goes through the sequences of each pass that a run begins, and puts them into the feed of the pass.

    bound     the rows of the passes, as the core takes them
    """

    def __init__(self, rows: Any, passes: Any, specs: Mapping[str, Any], name: str, first_epoch: int, tree: Any) -> None:
        super().__init__(name, "the next sequence of its data set")
        self.bound: Any = passes.rows(name)
        self._rows = rows
        self._passes = passes
        self._specs = dict(specs)
        self.tree = tree
        self._keys = [key for key in specs if key not in (TAG, NUMBER)]
        self._first_epoch = first_epoch

    def _place(self, epoch: int) -> str:
        return f"epoch {epoch} of the data set"

    def _give(self, epoch: int, first: int, feed: "Feed") -> None:
        rows, number = self._rows, 0
        rows.init_seq_order(epoch + self._first_epoch)
        try:
            while not feed.closed and rows.is_less_than_num_seqs(number):
                _load(rows, number)
                row = {key: rows.get_data(number, key) for key in self._keys}
                if TAG in self._specs:
                    row[TAG] = rows.get_tag(number)
                if NUMBER in self._specs:
                    row[NUMBER] = number
                feed.put(row)
                number += 1
        finally:
            if callable(getattr(rows, "finish_epoch", None)):
                rows.finish_epoch()


class OpenedRows:
    """A function open(epoch, start), and the columns of its rows.

    exact   it gives the same rows for the same epoch, and can begin with any row
    """

    def __init__(self, open: Callable[[int, int], Iterable[Any]], columns: Any,
                 capacity: int, exact: bool) -> None:
        self._open = open
        self._columns = columns
        self._capacity = capacity
        self._exact = exact

    def pump(self, name: str) -> "OpenedPump":
        """A pump for one run. Asks for the first row when the columns are not given."""
        from forebay._pump import columns_of_row
        from forebay.rows import column_specs, tree_of_columns
        if self._columns is None:
            self._columns = columns_of_row(next(iter(self._open(0, 0)), None), name)
        specs = column_specs(self._columns)
        passes = _core.make_passes([(column, *spec) for column, spec in specs.items()], self._capacity)
        return OpenedPump(self._open, passes, specs, name, self._exact, tree_of_columns(self._columns))


class OpenedPump(PassFeeder):
    """Puts the rows of each pass that a run begins into the feed of the pass.

    bound     the rows of the passes, as the core takes them
    """

    def __init__(self, open: Callable[[int, int], Iterable[Any]], passes: Any, specs: Mapping[str, Any],
                 name: str, exact: bool, tree: Any) -> None:
        super().__init__(name, "the next row of its iterable")
        self.bound: Any = passes.rows(name, exact, exact)
        self._open = open
        self._passes = passes
        self._specs = dict(specs)
        self.tree = tree

    def _give(self, epoch: int, first: int, feed: "Feed") -> None:
        for row in self._open(epoch, first):
            feed.put(row)

    def _place(self, epoch: int) -> str:
        return f"the iterable of epoch {epoch}"


def _load(rows: Any, number: int) -> None:
    """Data sets that read ahead are told which sequence is asked for next."""
    if callable(getattr(rows, "load_seqs", None)):
        rows.load_seqs(number, number + 1)


def _column_of(value: Any) -> Mapping[str, Any]:
    array = np.asarray(value)
    shape = [None, *array.shape[1:]] if array.ndim else []
    return {"dtype": "string" if array.dtype.kind in "SUO" else array.dtype.name, "shape": shape}


def _refused(message: str) -> ConfigError:
    return ConfigError(message, code="config", detail="invalid_argument")


def first_epoch_of(value: Any) -> int:
    """The number by which the data set calls its first epoch."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_type("first_epoch", "an integer: what init_seq_order gets for the first epoch", value)
    return value
