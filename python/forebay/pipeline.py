# SPDX-License-Identifier: Apache-2.0
"""The base of pipelines written in Python. forebay.builder adds a method for every step, order and batcher."""
from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence, TypeVar, Union

from forebay._arguments import names_of
from forebay.loader import Loader, Plan, Shard, Transform, mapped_text, plan, start

__all__ = ["PipelineBase", "StageSource"]

P = TypeVar("P", bound="PipelineBase")


class StageSource:
    """The records of a source, not decoded: `{format: options}` of a document."""

    __slots__ = ("_source",)

    def __init__(self, source: Mapping[str, Any]) -> None:
        self._source = dict(source)


class PipelineBase:
    """A pipeline document. Immutable: every method returns a new one."""

    __slots__ = ("_document", "_transforms", "_bindings")

    def __init__(self, document: Mapping[str, Any], transforms: tuple[Transform, ...] = (),
                 bindings: Optional[Mapping[str, Any]] = None) -> None:
        self._document = dict(document)
        self._transforms = transforms
        self._bindings = dict(bindings or {})

    def _with(self: P, **members: Any) -> P:
        return type(self)({**self._document, **members}, self._transforms, self._bindings)

    def _then(self: P, stage: str, options: Mapping[str, Any], /, **defaults: Any) -> P:
        return self._with(steps=[*self._document["steps"], {stage: given(options, **defaults)}])

    def epochs(self: P, count: Optional[int]) -> P:
        """Passes over the data; None: for ever."""
        return self._with(epochs=count)

    def seed(self: P, seed: int) -> P:
        """Seed of every random choice."""
        return self._with(seed=seed)

    def epoch_boundary(self: P, boundary: str = "hard") -> P:
        """"hard": no batch holds records of two epochs; "straddle", which is the default: batches may."""
        return self._with(epoch_boundary=boundary)

    def deterministic(self: P, deterministic: bool = True) -> P:
        """False lets the order, never the content, depend on timing."""
        return self._with(deterministic=deterministic)

    def inputs(self: P, names: Union[str, Sequence[str]]) -> P:
        """Tensors of Batch.inputs, one or several. Left out: all tensors that are not targets."""
        return self._with(inputs=names_of("inputs", names))

    def targets(self: P, names: Union[str, Sequence[str]]) -> P:
        """Tensors of Batch.targets, one or several."""
        return self._with(targets=names_of("targets", names))

    def map(self: P, function: Transform) -> P:
        """Calls `function` with every batch, on the thread that asks for it; the mapping it returns is delivered.

        Functions run one after the other, after all steps of the document. An exception of a function reaches the
        consumer with its traceback, again at every further `next`. A function must not use the loader.
        """
        if not callable(function):
            raise TypeError(f"map needs a function, found {type(function).__name__}")
        return type(self)(self._document, (*self._transforms, function), self._bindings)

    def to_dict(self) -> dict[str, Any]:
        """The pipeline document. It does not contain the functions given to `map`, and names bound objects only."""
        import copy
        return copy.deepcopy(self._document)

    def to_json(self) -> str:
        """The pipeline document as JSON text. It does not contain the functions given to `map`."""
        import json
        return json.dumps(self._document, indent=2, default=_plain)

    def plan(self) -> Plan:
        """The plan of a run. Starts nothing. Raises ConfigError with every fault, or IoError."""
        return plan(self._document, self._bindings)

    def load(self, threads: Optional[int] = None, memory: Union[int, str, None] = None, prefetch: Optional[int] = None,
             shard: Optional[Shard] = None) -> Loader:
        """Starts a loader; see forebay.load. Paths are relative to the working directory."""
        return start(self.plan(), threads, memory, prefetch, shard, self._transforms)

    def __repr__(self) -> str:
        return "\n".join([self.to_json(), *mapped_text(self._transforms)])


def given(options: Mapping[str, Any], /, **defaults: Any) -> dict[str, Any]:
    """The options that are neither None nor their default."""
    def silent(name: str, value: Any) -> bool:
        default = defaults.get(name)
        return value is None or (type(value) is type(default) and bool(value == default))
    return {name: value for name, value in options.items() if not silent(name, value)}


def _plain(value: Any) -> Any:
    """The JSON value of a path, of bytes that are text, or of a NumPy number or array."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode()
    return value.tolist()
