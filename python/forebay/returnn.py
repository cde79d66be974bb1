# SPDX-License-Identifier: Apache-2.0
"""Batches and limits in the form that configurations of RETURNN expect; imported only when asked for."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Union

import numpy as np

from forebay.loader import Batch
from forebay.values import Ragged, Sparse

__all__ = ["Numbers", "collate"]

_WIDER = {np.dtype(np.uint16): np.int32, np.dtype(np.uint32): np.int64}


def collate(batch: Batch, facts: bool = False, lengths: str = "{}:seq_len") -> dict[str, Any]:
    """name → array, with `NAME:seq_len` (int32 [rows]) beside each tensor that has a first axis.

    batch    a padded batch; of `num_seqs` and `epoch` the value of the first row is given, of `complete_frac` the largest
    facts    add what the batch itself knows, where no tensor has the name: `seq_tag` (the record keys), `seq_idx`, `epoch`
             (from 1), `complete_frac`, `batch_dim` (the rows), `epoch_end` (bool [rows])
    lengths  the name of the lengths of tensor {}; older versions have "{}/size0" or "{}_seq_lens"

    uint16 becomes int32, uint32 int64. Raises TypeError for ragged and sparse tensors: pad the batch.
    """
    out: dict[str, Any] = {}
    for name, values in batch.items():
        if isinstance(values, (Ragged, Sparse)):
            raise TypeError(f"tensor {name!r} is {type(values).__name__}; use a batcher with pad=True")
        if name in ("num_seqs", "epoch") and values.ndim == 1:
            out[name] = values[0]
        elif name == "complete_frac" and values.ndim == 1:
            out[name] = values.max()
        else:
            out[name] = values.astype(_WIDER[values.dtype]) if values.dtype in _WIDER else values
        if values.ndim > 1:
            sizes = batch.lengths.get(name)
            sizes = np.full(len(values), values.shape[1]) if sizes is None else sizes.reshape(len(values), -1)[:, 0]
            out[lengths.format(name)] = sizes.astype(np.int32)
    return {**_facts(batch), **out} if facts else out


def _facts(batch: Batch) -> dict[str, Any]:
    ends = np.zeros(batch.rows, bool)
    if batch.epoch_end:
        ends[-1] = True
    tags = np.full(batch.rows, b"", object)
    keys = iter(batch.record_keys)
    counts = [1] * batch.valid_rows if batch.spans is None else [len(spans) for spans in batch.spans]
    for row, count in enumerate(counts):   # a row of several sequences has the tag of the first
        tags[row] = b"".join([next(keys).encode() for _ in range(count)][:1])
    out = {"seq_tag": tags, "epoch": batch.epoch + 1, "complete_frac": batch.complete_frac.value, "batch_dim": batch.rows,
           "epoch_end": ends}
    return out if batch.seq_idx is None else {**out, "seq_idx": batch.seq_idx}


Values = Union[int, Mapping[str, int], "Numbers"]


class Numbers:
    """A number for each key, and one for all others: what RETURNN calls a NumbersDict.

        limit = Numbers({"data": 4000}, default=500)
        Numbers({"data": 4001, "classes": 20}).any_greater(limit)    # True: data exceeds its limit
    """

    __slots__ = ("default", "keys")

    def __init__(self, values: Values, default: Optional[int] = None) -> None:
        self.default: Optional[int] = values if isinstance(values, int) else default
        self.keys: dict[str, int] = {} if isinstance(values, int) else dict(
            values.keys if isinstance(values, Numbers) else values)
        if isinstance(values, Numbers) and default is None:
            self.default = values.default

    def get(self, key: str) -> Optional[int]:
        """The number for a key; None when it has none."""
        return self.keys.get(key, self.default)

    def any_greater(self, limit: Values) -> bool:
        """Whether any number exceeds its limit. Keys without a limit are free."""
        limit = Numbers(limit)
        pairs = [(value, limit.get(key)) for key, value in self.keys.items()]
        if self.default is not None:
            pairs.append((self.default, limit.default))
        return any(most is not None and value > most for value, most in pairs)

    def max(self, other: Values) -> Numbers:
        """The larger number for each key of both."""
        return self._each(other, max)

    def min(self, other: Values) -> Numbers:
        """The smaller number for each key of both."""
        return self._each(other, min)

    def _each(self, other: Values, choose: Any) -> Numbers:
        other = Numbers(other)
        def both(a: Optional[int], b: Optional[int]) -> Any:
            return choose(a, b) if a is not None and b is not None else a if b is None else b
        keys = {key: both(self.get(key), other.get(key)) for key in {**self.keys, **other.keys}}
        return Numbers(keys, both(self.default, other.default))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numbers) and (self.default, self.keys) == (other.default, other.keys)

    def __hash__(self) -> int:
        return hash((self.default, frozenset(self.keys.items())))

    def __repr__(self) -> str:
        return f"Numbers({self.keys}, default={self.default})"
