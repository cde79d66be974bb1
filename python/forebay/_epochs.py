# SPDX-License-Identifier: Apache-2.0
"""The epochs of a run as iterators (Loader.epochs)."""
from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Union

from forebay import _core
from forebay._core import Batch
from forebay._progress import batches_before

if TYPE_CHECKING:
    from forebay._map.run import MapEpochs
    from forebay.loader import Loader

__all__ = ["Epoch", "Epochs"]


class Epoch:
    """One epoch of a run: an iterator over its batches. After a restart inside an epoch, its rest.

    number   from 0

    `len` is the number of its batches for this shard, of those of its rest after a restart: a progress bar has its end. TypeError where
    counting needs decoding.
    """

    __slots__ = ("number", "_loader", "_advance", "_begin", "_length")

    def __init__(self, loader: Loader, epochs: Union[_core.RunEpochs, "MapEpochs"], number: int) -> None:
        self.number = number
        self._loader = loader
        self._advance = epochs.advance
        self._begin = loader._position()
        self._length: Optional[int] = None

    def __len__(self) -> int:
        if self._length is None:
            loader = self._loader
            end = loader._count(self.number + 1)
            passed = loader._count(self.number) if self.number else 0   # also by batches that nobody took
            self._length = max(end - max(passed, loader._run.own(batches_before(self._begin))), 0)
        return self._length

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> "Epoch":
        return self

    def __next__(self) -> Batch:
        """The next batch of this epoch; StopIteration at its end, and when the loader is in another epoch."""
        loader = self._loader
        given, loader._given = loader._given, False
        batch = self._advance(self.number, given)
        loader._given = loader._mapped is None
        return batch

    def __repr__(self) -> str:
        return f"Epoch(number={self.number})"


class Epochs:
    """The epochs of a run, one after the other: an iterator. Loader.epochs has the rules."""

    __slots__ = ("_loader", "_epochs")

    def __init__(self, loader: Loader, epochs: Union[_core.RunEpochs, "MapEpochs"]) -> None:
        self._loader = loader
        self._epochs = epochs

    def __iter__(self) -> "Epochs":
        return self

    def __next__(self) -> Epoch:
        self._loader._settle()
        return Epoch(self._loader, self._epochs, self._epochs.next())
