# SPDX-License-Identifier: Apache-2.0
"""What a function given to `map` returned, together with the facts about the batch that it was given."""
from __future__ import annotations

from typing import Any, Iterable, Mapping, NamedTuple, Optional, Union

import numpy as np

from forebay import _core
from forebay._core import Batch, Stats
from forebay._structure import is_part, named, replaced
from forebay.errors import StateError
from forebay.values import Fraction

__all__ = ["MappedBatch", "TupleBatch"]


class Facts(NamedTuple):
    """All that a batch says of itself except its tensors, which are known by name only."""

    number: int
    epoch: int
    rows: int
    valid_rows: int
    mask: Any
    lengths: dict[str, Any]
    origins: list[tuple[Any, ...]]
    record_keys: list[str]
    spans: Optional[list[list[Any]]]
    skipped: list[tuple[tuple[str, int, int], str]]
    branch: list[int]
    ends_epoch: Optional[bool]
    seq_idx: Any
    epoch_end: bool
    complete_frac: Fraction
    frames: dict[str, int]
    names: list[str]
    inputs: list[str]
    targets: list[str]
    position: str


def facts_of(source: Any) -> Facts:
    """The facts of a Batch, of a result of `map`, or of what has the same attributes."""
    if isinstance(source, Facts):
        return source
    if isinstance(source, Made):
        return facts_of(source._made_of())
    return Facts(source.number, source.epoch, source.rows, source.valid_rows, source.mask, source.lengths, source.origins,
                 source.record_keys, source.spans, source.skipped, source.branch, source.ends_epoch,
                 source.seq_idx, source.epoch_end, source.complete_frac, source.frames, list(source), list(source.inputs),
                 list(source.targets), position_of(source))


def position_of(source: Any) -> str:
    """The position after a batch, as JSON text; empty for what is no batch of a loader."""
    if isinstance(source, Facts):
        return source.position
    return _core.position_of(source) if isinstance(source, Batch) else ""


class Made:
    """What MappedBatch and TupleBatch know of the batch that they were made of."""

    __slots__ = ()

    _source: "Union[Batch, Facts, None]"  # None: made of values only

    def _named(self) -> Mapping[str, Any]:
        """The tensors by name."""
        raise NotImplementedError

    @property
    def number(self) -> int:
        """Ordinal of the batch in the run, from 0."""
        return self._made_of().number

    @property
    def epoch(self) -> int:
        """Pass in which the batch began, from 0."""
        return self._made_of().epoch

    @property
    def rows(self) -> int:
        """Length of the batch axis before `map`."""
        return self._made_of().rows

    @property
    def valid_rows(self) -> int:
        """Rows that came from records; the others fill up a last batch."""
        return self._made_of().valid_rows

    @property
    def mask(self) -> Any:
        """Which rows came from records: bool [rows]."""
        return self._made_of().mask

    @property
    def lengths(self) -> dict[str, Any]:
        """True sizes before padding, of the tensors that varied before `map`."""
        return self._made_of().lengths

    @property
    def origins(self) -> list[tuple[Any, ...]]:
        """(file, ordinal of the record, byte offset) of each valid row."""
        return self._made_of().origins

    @property
    def record_keys(self) -> list[str]:
        """The key of each valid row's record."""
        return self._made_of().record_keys

    @property
    def spans(self) -> Optional[list[list[Any]]]:
        """The spans of each row; None where rows are whole records."""
        return self._made_of().spans

    @property
    def skipped(self) -> list[tuple[tuple[str, int, int], str]]:
        """Origin and error of each row that `on_corrupt: skip_row` took out."""
        return self._made_of().skipped

    @property
    def branch(self) -> list[int]:
        """The branch of a combination that gave each valid row."""
        return self._made_of().branch

    @property
    def ends_epoch(self) -> Optional[bool]:
        """Whether the batch is the last one of its epoch; None where that is not known."""
        return self._made_of().ends_epoch

    @property
    def seq_idx(self) -> Any:
        """The number of each row's sequence in its pass; None where sequences are not numbered."""
        return self._made_of().seq_idx

    @property
    def epoch_end(self) -> bool:
        """Whether the last row is the empty one that ends an epoch."""
        return self._made_of().epoch_end

    @property
    def complete_frac(self) -> Fraction:
        """The done part of the epoch after this batch."""
        return self._made_of().complete_frac

    @property
    def frames(self) -> dict[str, int]:
        """The frames of each tensor before `map`, without padding."""
        return self._made_of().frames

    @property
    def targets(self) -> dict[str, Any]:
        """The document's targets that the function returned, by name."""
        tensors = self._named()
        return {name: tensors[name] for name in self._made_of().targets if name in tensors}

    @property
    def inputs(self) -> dict[str, Any]:
        """The document's inputs that the function returned, and all tensors that the function added, by name."""
        source = self._made_of()
        others = set(source.names if isinstance(source, Facts) else source) - set(source.inputs)
        return {name: value for name, value in self._named().items() if name not in others}

    def raw(self, name: str) -> tuple[Any, Any]:
        """(offsets, bytes) of a string tensor: int64 [elements + 1] and uint8. Raises TypeError for other dtypes."""
        value = self._named()[name]
        if not isinstance(value, np.ndarray) or value.dtype != object:
            raise TypeError(f"raw is for tensors of strings; {name!r} is not one")
        return strings_raw(value)

    def state(self, name: str) -> Any:
        """The state of the sequence of each row, as `Batch.state` gives it."""
        return self._batch_of_states().state(name)

    def save_state(self, name: str, values: Any) -> None:
        """Saves the states after this batch, as `Batch.save_state` does."""
        self._batch_of_states().save_state(name, values)

    def _batch_of_states(self) -> Batch:
        source = self._made_of()
        if isinstance(source, Batch):
            return source
        raise StateError("the function of this batch ran in another process, and the states of sequences do not travel; let "
                         "`map` run it in this process", code="state", detail="failed_precondition")

    def _position(self) -> str:
        return "" if self._source is None else position_of(self._source)

    def _made_of(self) -> Union[Batch, Facts]:
        if self._source is None:
            raise AttributeError("this MappedBatch was made of values only; it knows no batch of a loader")
        return self._source


class MappedBatch(Made, dict[str, Any]):
    """What a function given to `map` returned, or rows with nested values: a dict from names to values, yours to change.

    `number`, `epoch`, `rows`, `valid_rows`, `mask`, `lengths`, `origins`, `record_keys`, `spans`, `skipped`, `branch`,
    `ends_epoch`, `seq_idx`, `epoch_end`, `complete_frac` and `frames` are those of the batch that the function was given. They raise
    AttributeError in a MappedBatch that your program made of values only. `batch["obs.image"]` is `batch["obs"]["image"]`.
    """

    __slots__ = ("_source",)

    def __init__(self, values: Union[Mapping[str, Any], Iterable[tuple[str, Any]]] = (), source: Any = None) -> None:
        super().__init__(values)
        self._source = source

    def _named(self) -> Mapping[str, Any]:
        return named(self) if any(map(is_part, self.values())) else self

    def __missing__(self, name: str) -> Any:
        return named(self)[name]

    def __reduce__(self) -> tuple[Any, ...]:
        return MappedBatch, (dict(self), None if self._source is None else facts_of(self._source))

    def __repr__(self) -> str:
        return f"MappedBatch({', '.join(f'{name}: {_kind_of(value)}' for name, value in self.items())})"


class TupleBatch(Made, tuple[Any, ...]):
    """A batch of rows that are tuples, or the tuple that a function given to `map` returned.

        for image, label in loader: ...

    It knows what MappedBatch knows. Of named tuples it has the fields as attributes.
    """

    _kind: Any

    def __new__(cls, values: Iterable[Any] = (), source: Any = None) -> "TupleBatch":
        self = super().__new__(cls, tuple(values))
        self._source = source
        self._kind = type(values) if hasattr(values, "_fields") else getattr(values, "_kind", None)
        return self

    @property
    def tensors(self) -> "tuple[Any, ...]":
        """The same as a plain tuple, or as the named tuple that the rows were."""
        return tuple(self) if self._kind is None else self._kind(*self)

    def _named(self) -> Mapping[str, Any]:
        return named(self.tensors)

    def __getattr__(self, name: str) -> Any:
        kind = self.__dict__.get("_kind")
        if kind is not None and name in kind._fields:
            return self[kind._fields.index(name)]
        raise AttributeError(f"'TupleBatch' object has no attribute {name!r}")

    def __reduce__(self) -> "tuple[Any, ...]":
        return TupleBatch, (self.tensors, None if self._source is None else facts_of(self._source))

    def __repr__(self) -> str:
        return f"TupleBatch({', '.join(map(_kind_of, self))})"


def _kind_of(value: Any) -> str:
    """What a value is, in a few words: dtype and shape of an array, as a Batch has them."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_kind_of(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)) and len(value) < 8:
        return "[" + ", ".join(map(_kind_of, value)) + "]"
    if isinstance(getattr(value, "shape", None), tuple) and hasattr(value, "dtype"):
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    if isinstance(value, (bool, int, float)):
        return repr(value)
    return f"{type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else type(value).__name__


def by_name(batch: Any) -> Mapping[str, Any]:
    """The tensors of a batch by name, also those in dicts and tuples."""
    return batch._named() if isinstance(batch, Made) else batch


def with_tensors(batch: Any, tensors: Mapping[str, Any]) -> Any:
    """A batch with the same structure and facts, and other tensors under these names."""
    source = batch._source if isinstance(batch, Made) else batch if isinstance(batch, Batch) else None
    if isinstance(batch, TupleBatch):
        return TupleBatch(replaced(batch.tensors, tensors), source)
    return MappedBatch(replaced(dict(batch), tensors), source)


class MappedStats:
    """The Stats of a run with `map`: the same attributes, and how long the loop waited for the functions.

    batches, rows    those that the engine delivered; some of them may still be with workers
    """

    def __init__(self, stats: Stats, waits: list[tuple[str, int, float]], out: "Optional[dict[str, tuple[int, int]]]" = None) -> None:
        self._stats = stats
        self._waits = waits
        self._out = out or {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stats, name)

    @property
    def queues(self) -> "dict[str, tuple[int, int]]":
        """How full each queue is, as (held, capacity): those of the engine, and the batches that workers of `map` have or have
        finished."""
        return {**self._stats.queues, **self._out}

    @property
    def map_seconds(self) -> float:
        """Time in which the loop waited for functions given to `map`."""
        return sum(seconds for _, _, seconds in self._waits)

    @property
    def bottleneck(self) -> str:
        """The stage that limits the run, in one sentence."""
        total = self._stats.seconds
        if total <= 0 or not self._waits or self.map_seconds < max(0.1 * total, self._stats.consumer_wait_seconds):
            return self._stats.bottleneck
        name, workers, seconds = max(self._waits, key=lambda wait: wait[2])
        return (f"map is the bottleneck: the loop waited {100 * min(1.0, seconds / total):.0f} % of the time for {name} "
                f"(workers={workers}).")

    def __str__(self) -> str:
        lines = str(self._stats).splitlines()
        return "\n".join([*lines[:-1], f"map: the loop waited {self.map_seconds:.2f} s", self.bottleneck])

    __repr__ = __str__


def strings_raw(value: Any) -> tuple[Any, Any]:
    """The offsets and the bytes of an object array of bytes. Raises TypeError when an element is something else."""
    flat = value.ravel().tolist()
    offsets = np.zeros(len(flat) + 1, np.int64)
    np.cumsum([len(element) for element in flat], out=offsets[1:])
    return offsets, np.frombuffer(b"".join(flat), np.uint8)
