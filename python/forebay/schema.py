# SPDX-License-Identifier: Apache-2.0
"""The tensors of a loader's batches by name."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional, Sequence

__all__ = ["Schema", "TensorSpec", "Transform", "mapped_text"]

Transform = Callable[..., Any]


class TensorSpec(NamedTuple):
    """One tensor of a batch: dtype, shape of a row (None: rows differ) and delivery.

    logical      what the numbers mean: "timestamp[us, UTC]", "date[days]", "duration[ns]", "category", "samples[16000 Hz]"; "":
                 themselves
    categories   of a "category": its values, by code
    """

    dtype: str
    shape: tuple[Optional[int], ...]
    delivery: str
    logical: str = ""
    categories: tuple[bytes, ...] = ()

    def __str__(self) -> str:
        sizes = ",".join("?" if size is None else str(size) for size in self.shape)
        how = "" if self.delivery == "equal" else f" {self.delivery}"
        return f"{self.dtype}[{sizes}]{how}{f' {self.logical}' if self.logical else ''}"


class Schema(dict[str, TensorSpec]):
    """The tensors of every batch by name, in order. Its str is a table.

    mapped   the functions given to `map`
    known    whether these are the tensors that the loop gets. False: they are those before `map`, and what the functions
             return is unknown until they run; `output` of `map` states it
    """

    mapped: tuple[Transform, ...] = ()
    known: bool = True

    def __str__(self) -> str:
        width = max(map(len, self), default=0)
        lines = [f"{name:<{width}}  {spec}" for name, spec in self.items()]
        if not self.known:
            lines += mapped_text([_name(function) for function in self.mapped])
            lines.append("what map returns is unknown until it runs; output= of map states it")
        return "\n".join(lines)

    __repr__ = __str__


def mapped_text(functions: Sequence[str]) -> list[str]:
    """A line that names the functions given to `map`; no line without functions."""
    return [f"then every batch goes through map: {', '.join(functions)}"] if functions else []


def _name(function: object) -> str:
    return str(getattr(function, "__name__", repr(function)))
