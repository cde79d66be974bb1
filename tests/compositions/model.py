# SPDX-License-Identifier: Apache-2.0
"""What the rows of a pipeline may be, computed without Forebay."""
from __future__ import annotations

import collections
from typing import Callable, Iterable, Optional

Change = Callable[[int, "list[int]"], "list[tuple[int, list[int]]]"]


class Model:
    """The rows that come, or what they must be of.

    rows      exactly these, in any order; None: not known
    count     of rows; None: not known
    ids       values of `id` that may come
    frames    values of `x` that may come
    windows   how often each frame comes where rows were joined; None: not known
    padded    rows have frames of padding, so that lengths are another thing
    has_ids   each row has an id of its own
    sides     ids of a row: it is made of rows of so many branches
    """

    def __init__(self, rows: "list[tuple[int, list[int]]]") -> None:
        self.rows: "Optional[list[tuple[int, list[int]]]]" = list(rows)
        self.count: Optional[int] = len(rows)
        self.ids = {i for i, _ in rows}
        self.frames = {frame for _, x in rows for frame in x}
        self.windows: "Optional[collections.Counter[int]]" = None
        self.padded, self.has_ids, self.sides = False, True, 1

    def subset(self, count: Optional[int] = None) -> "Model":
        """Any of the rows."""
        self.rows, self.count, self.windows = None, count, None
        return self

    def each(self, change: Change) -> "Model":
        """Each row becomes other ones."""
        if self.rows is None:
            return self.subset()
        self.rows = [row for old in self.rows for row in change(*old)]
        self.count = len(self.rows)
        return self

    def limited(self, count: int) -> "Model":
        return self.subset(None if self.count is None else min(count * self.sides, self.count))

    def without(self, count: int) -> "Model":
        return self.subset(None if self.count is None else max(0, self.count - count * self.sides))

    def twice(self) -> "Model":
        self.rows = None if self.rows is None else self.rows * 2
        self.windows = None if self.windows is None else self.windows + self.windows
        self.count = None if self.count is None else self.count * 2
        return self

    def joined(self) -> "Model":
        """Windows over the rows of a file or stream: each frame stays, rows do not."""
        windows = None if self.rows is None else collections.Counter(frame for _, x in self.rows for frame in x)
        self.subset().windows = windows
        return self

    def widened(self) -> "Model":
        """Each row gets frames of its neighbours."""
        return self.subset(self.count)

    def packed(self) -> "Model":
        """Several rows lie in one."""
        self.has_ids = False
        return self if self.rows is None else self.joined()

    def segments(self, frames: int) -> "Model":
        self.padded = True
        return self.each(lambda i, x: [(i, x[at:at + frames]) for at in range(0, len(x), frames)])

    def add(self, others: "Iterable[Model]") -> "Model":
        """The rows of all of them."""
        for other in others:
            self.rows = None if self.rows is None or other.rows is None else self.rows + other.rows
            self.count = None if self.count is None or other.count is None else self.count + other.count
            self.windows = None if self.windows is None or other.windows is None else self.windows + other.windows
            self.ids |= other.ids
            self.frames |= other.frames
        return self

    def beside(self, others: "Iterable[Model]") -> "Model":
        """Rows of all of them side by side, as many as the shortest has. Of equally many rows each belongs to those of its number."""
        all_of = [self, *others]
        if all(model.rows is not None and len(model.rows) == self.count for model in all_of):
            self.sides = len(all_of)
            return self.add(all_of[1:])
        counts = [model.count for model in all_of if model.count is not None]
        for other in all_of[1:]:
            self.ids |= other.ids
            self.frames |= other.frames
        self.has_ids = False
        return self.subset(min(counts) if len(counts) == len(all_of) else None)

    def fault(self, ids: "list[int]", frames: "list[int]") -> str:
        """What is wrong with the values that came; empty: nothing."""
        if self.rows is not None:
            if self.has_ids and collections.Counter(ids) != collections.Counter(i for i, _ in self.rows):
                return f"{len(ids)} ids instead of {len(self.rows)}, or others"
            wanted = collections.Counter(frame for _, x in self.rows for frame in x)
            if frames and collections.Counter(frames) != wanted:
                return f"{len(frames)} frames instead of {sum(wanted.values())}, or others"
            return ""
        if self.windows is not None and collections.Counter(frames) != self.windows:
            return f"{len(frames)} frames of windows instead of {sum(self.windows.values())}, or others"
        return self.strangers(ids, frames) or (
            f"{len(ids)} rows instead of {self.count}" if self.count is not None and self.has_ids and len(ids) != self.count else "")

    def strangers(self, ids: "Iterable[int]", frames: "Iterable[int]") -> str:
        if not set(ids) <= self.ids | {0}:
            return "ids that no record has"
        return "" if set(frames) <= self.frames else "frames that no record has"
