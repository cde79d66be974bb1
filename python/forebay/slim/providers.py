# SPDX-License-Identifier: Apache-2.0
"""Providers: the items of a data set, record by record."""
from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

from forebay.slim.dataset import Dataset
from forebay.slim.reading import ParallelReader, Record

__all__ = ["DataProvider", "DatasetDataProvider"]


class DataProvider:
    """Gives items of one record after the other.

        for image, label in provider.each(["image", "label"]): ...

    `get` gives items of the present record, also in several calls; `advance` goes to the next one. Before the first `advance`,
    `get` goes to the first record.
    """

    def __init__(self, items: Sequence[str], num_samples: Optional[int]) -> None:
        self._items = list(items)
        self._num_samples = num_samples

    def advance(self) -> bool:
        """Goes to the next record. False: there are no more."""
        raise NotImplementedError

    def _values(self, items: Sequence[str]) -> list[Any]:
        """The items of the present record. Raises StopIteration when there is none."""
        raise NotImplementedError

    def get(self, items: Sequence[str]) -> list[Any]:
        """Items of the present record, in the order of `items`. Raises EOFError after the last record, ValueError for an
        unknown item."""
        self._check(items)
        return self._values(items)

    def each(self, items: Sequence[str]) -> Iterator[list[Any]]:
        """The items of each record from the next one on."""
        self._check(items)
        while self.advance():
            yield self._values(items)

    def list_items(self) -> list[str]:
        """The names of the items that `get` takes."""
        return list(self._items)

    def num_samples(self) -> Optional[int]:
        """The number of records that the data set says it has."""
        return self._num_samples

    def _check(self, items: Sequence[str]) -> None:
        if not isinstance(items, (list, tuple)):
            raise ValueError("items must be a list or tuple")
        for item in items:
            if item not in self._items:
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {self._items}")


class DatasetDataProvider(DataProvider):
    """The items of a data set, read by a ParallelReader.

    num_readers, reader_kwargs, shuffle, num_epochs, seed    as in ParallelReader
    common_queue_capacity, common_queue_min                  its capacity and min_after_dequeue
    record_key                                               name of one more item: the key of the record, "path:offset"
    """

    def __init__(self, dataset: Dataset, num_readers: int = 1, reader_kwargs: Optional[Mapping[str, Any]] = None,
                 shuffle: bool = True, num_epochs: Optional[int] = None, common_queue_capacity: int = 256,
                 common_queue_min: int = 128, record_key: str = "record_key", seed: Optional[int] = None,
                 scope: Optional[str] = None) -> None:
        items = dataset.decoder.list_items()
        if record_key in items:
            raise ValueError(f"The item name used for `record_key` cannot also be used for a dataset item: {record_key}")
        super().__init__([*items, record_key], dataset.num_samples)
        self._record_key, self._decoder = record_key, dataset.decoder
        self._record: Optional[Record] = None
        self._begun = False
        reader: Optional[Callable[..., Any]] = dataset.reader
        self._reader = ParallelReader(dataset.data_sources, reader, num_epochs=num_epochs, num_readers=num_readers,
                                      reader_kwargs=reader_kwargs, shuffle=shuffle, capacity=common_queue_capacity,
                                      min_after_dequeue=common_queue_min, seed=seed)

    def advance(self) -> bool:
        self._begun, self._record = True, next(self._reader, None)
        return self._record is not None

    def _values(self, items: Sequence[str]) -> list[Any]:
        if not self._begun:
            self.advance()
        if self._record is None:
            raise EOFError("the data set has ended; num_epochs=None goes on for ever")
        wanted = [item for item in items if item != self._record_key]
        decoded = iter(self._decoder.decode(self._record.value, wanted) if wanted else ())
        return [self._record.key if item == self._record_key else next(decoded) for item in items]

    def state_dict(self) -> dict[str, Any]:
        """Where the provider stands: after the present record."""
        return self._reader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to a place of `state_dict`; the next record is the one after it."""
        self._reader.load_state_dict(state)
        self._begun, self._record = False, None

    def close(self) -> None:
        """Ends the reading."""
        self._reader.close()
