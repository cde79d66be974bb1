# SPDX-License-Identifier: Apache-2.0
"""Rows of a Python iterable, which a thread puts into a feed."""
from __future__ import annotations

import itertools
import threading
import time
import warnings
from typing import Any, Iterable, Iterator, Mapping, Optional

import numpy as np

from forebay.errors import Cancelled

#: Seconds that `join` waits for the iterable, which may take any time for its next row.
PATIENCE = 2.0


class Pump:
    """Goes through an iterable in a thread of its own and puts its rows into a feed.

    feed      the feed; the thread closes it at the end
    failure   what the iterable raised, after the rows before it; None: nothing
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]], feed: Any, name: str) -> None:
        self.feed = feed
        self.failure: Optional[BaseException] = None
        self._rows = rows
        self._thread = threading.Thread(target=self._run, name=f"forebay {name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            for row in self._rows:
                self.feed.put(row)
        except Cancelled:
            return
        except BaseException as failure:
            self.failure = failure
            self.feed.fail(f"the iterable failed: {type(failure).__name__}: {failure}")
        else:
            self.feed.close()

    def join(self) -> None:
        """Called when the loader is closed. Warns when the iterable does not come back."""
        if not self._thread.is_alive() or self._thread is threading.current_thread():
            return
        began = time.monotonic()
        while self._thread.is_alive() and time.monotonic() - began < PATIENCE:
            self._thread.join(0.05)
        if self._thread.is_alive():
            warnings.warn(f"the thread '{self._thread.name}' still waits for the next row of its iterable; it ends with the "
                          "program", RuntimeWarning, stacklevel=3)


class Rows:
    """An iterable of rows, and the columns that they have."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], columns: Optional[Mapping[str, Any]], capacity: int) -> None:
        self._rows = rows
        self._columns = columns
        self._capacity = capacity
        self._begun: Optional[Iterator[Mapping[str, Any]]] = None

    def pump(self, name: str) -> Pump:
        """A pump for one run. Looks at the first row when the columns are not given."""
        from forebay.rows import Feed
        rows: Iterable[Mapping[str, Any]] = self._rows
        if self._columns is None:
            iterator = self._begun if self._begun is not None else iter(self._rows)
            first = next(iterator, None)
            if first is None:
                raise ValueError(f"the iterable of '{name}' has no row, so its columns are not known; give columns={{…}}")
            self._columns = {column: _column_of(value) for column, value in first.items()}
            rows = itertools.chain([first], iterator)
        return Pump(rows, Feed(self._columns, self._capacity), name)


def _column_of(value: Any) -> Mapping[str, Any]:
    """The column that holds a value like this one, with its shape."""
    array = np.asarray(value)
    if array.dtype.kind in "SUO":
        return {"dtype": "string", "shape": list(array.shape)}
    return {"dtype": array.dtype.name, "shape": list(array.shape)}
