# SPDX-License-Identifier: Apache-2.0
"""The base of pipelines written in Python. forebay.builder adds a method for every step, order and batcher."""
from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, Literal, Mapping, NoReturn, Optional, Sequence, TypeVar, Union

from forebay._arguments import names_of, wrong_type
from forebay._paths import Cache, without_signatures
from forebay.errors import ConfigError
from forebay.loader import Loader, Plan, Shard, plan, start
from forebay.schema import Transform, mapped_text

if TYPE_CHECKING:
    from forebay._map.step import MapStep

__all__ = ["PipelineBase", "StageSource"]

P = TypeVar("P", bound="PipelineBase")


class StageSource:
    """The records of a source, not decoded: `{format: options}` of a document."""

    __slots__ = ("_source",)

    def __init__(self, source: Mapping[str, Any]) -> None:
        self._source = dict(source)

    def __getattr__(self, name: str) -> NoReturn:
        from forebay.builder import Pipeline
        kind = type(self).__name__
        if not name.startswith("_") and hasattr(Pipeline, name):
            decoders = ", ".join(f".{each}(…)" for each in vars(type(self)) if not each.startswith("_"))
            raise AttributeError(f"{kind!r} object has no attribute {name!r}: the records are not decoded yet; call one of "
                                 f"{decoders} before .{name}")
        if name.startswith("_"):
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")
        from forebay._habits import PIPELINE, unknown
        unknown("a Source", name, PIPELINE, dir(type(self)))

    def __repr__(self) -> str:
        (kind, options), = self._source.items()
        shown = without_signatures(", ".join(f"{name}={value!r}" for name, value in options.items()))
        return f"forebay.{kind}({shown if len(shown) <= 200 else shown[:197] + '…'})"


#: Orders of batches. They know nothing of what is in a batch, so functions of `map` may as well be called after them.
_OF_BATCHES = ("shuffle_batches", "batch_slice")


class PipelineBase:
    """A pipeline document. Immutable: every method returns a new one."""

    __slots__ = ("_document", "_maps", "_bindings")

    def __init__(self, document: Mapping[str, Any], maps: tuple["MapStep", ...] = (),
                 bindings: Optional[Mapping[str, Any]] = None) -> None:
        self._document = dict(document)
        self._maps = maps
        self._bindings = dict(bindings or {})

    def _with(self: P, **members: Any) -> P:
        return type(self)({**self._document, **members}, self._maps, self._bindings)

    def _then(self: P, stage: str, options: Mapping[str, Any], /, **defaults: Any) -> P:
        if self._maps and stage not in _OF_BATCHES:
            from forebay._map.rows import made
            return made(self, stage)._then(stage, options, **defaults)
        for name, value in options.items():
            if callable(value) and not isinstance(value, type):
                cure = 'give the condition as text, filter("y > 0"), whose grammar docs/expressions.md has' if stage == "filter" else (
                    "`map` calls functions of the program, on whole batches or rows")
                raise TypeError(f"{stage}: {name} cannot be a function, found {getattr(value, '__name__', value)!r}; {cure}")
        if stage == "shuffle" and options.get("buffer") == "global":
            options = {"global": True}
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

    def map(self: P, fn: Transform, per: Literal["batch", "row"] = "batch", workers: int = 0,
            inside: Literal["threads", "processes"] = "threads", output: Optional[Mapping[str, Any]] = None) -> P:
        """Calls a function of the program with every batch or row; what it returns is delivered. With per="row" it may also stand
        before other stages, which see what it returns (docs/composition.md).

        fn        per="batch": `fn(batch)` returns a mapping from names to values, or the batch with its values changed.
                  If it has a parameter `rng`, it gets a numpy Generator that depends on the seed and on the batch's first row.
                  per="row": `fn(row, rng)`, or `fn(row)`, gets a dict of one row's values and returns one; the results
                  are stacked. `rng` depends on the seed, the epoch and the record. Rows that only fill up a last batch are
                  not given to `fn`; they become 0, False or b"". `random`, `numpy.random` and torch are seeded in the same
                  way, but not with "threads", which share them with the program.
        per       "batch" or "row".
        workers   0: `fn` runs on the thread that asks for the batch. N: N workers make batches ahead, in any time, and N + 2
                  batches are out at most. The results, their order and restarts are the same for any number.
        inside    "threads", for functions that release the GIL for most of their time, as those of Pillow, OpenCV, tokenizers
                  and large arrays do; or "processes", for pure Python. A process gets `fn` as it is now: by module and name,
                  else by the package cloudpickle. A process that is killed is replaced and makes its batch again; the
                  third death over one batch is an error.
        output    {name: fb.fixed(dtype, shape) or fb.var_len(dtype)}: what `fn` returns, checked and shown by
                  `loader.schema`. Required for rows of different lengths: a Ragged with `fb.var_len(dtype)`, padded with
                  `fb.fixed_len_sequence(dtype, shape of a step)`; `as_` chooses the other way.

        A result is a MappedBatch: a dict that also has the number, origins and lengths of the batch. An exception of `fn`
        reaches the consumer after all batches before it, with its traceback and a note that names the batch, and again at
        every further `next`. `fn` must not use the loader.
        """
        from forebay._map.step import step_of
        return type(self)(self._document, (*self._maps, step_of(fn, per, workers, inside, output)), self._bindings)

    def bind(self: P, objects: Mapping[str, Any]) -> P:
        """Binds objects of the program to the names that the pipeline uses for them.

            def curriculum(epoch, n):                        # asked once an epoch, in a thread of its own
                return range(n) if epoch == 0 else np.random.default_rng(epoch).permutation(n)
            pipe = records.reorder("curriculum").batch(size=64).bind({"curriculum": curriculum})

        objects   functions by name. A function gets integers and returns an integer, or a list or array of integers. It
                  must be pure: the same arguments give the same answer, because a restart asks again. An exception that
                  it raises is raised by the loader, the same object.
        """
        if not isinstance(objects, Mapping):
            raise wrong_type("objects", "a dict of objects by name", objects)
        return type(self)(self._document, self._maps, {**self._bindings, **objects})

    def to_dict(self) -> dict[str, Any]:
        """The pipeline document. It does not contain the functions given to `map`, and names bound objects only."""
        import copy
        return copy.deepcopy(self._document)

    def to_json(self) -> str:
        """The pipeline document as JSON text. It does not contain the functions given to `map`."""
        import json
        return json.dumps(_plain(self._document), indent=2)

    def plan(self) -> Plan:
        """The plan of a run. Starts nothing. Raises ConfigError with every fault, or IoError."""
        return plan(self._document, self._bindings)

    def load(self, threads: Optional[int] = None, memory: Union[int, str, None] = None, prefetch: Optional[int] = None,
             shard: Optional[Shard] = None, index_dir: Union[str, "os.PathLike[str]", None] = None,
             pin_memory: bool = False, requests: Optional[int] = None, cache: Optional[Cache] = None) -> Loader:
        """Starts a loader; see forebay.load. Paths are relative to the working directory."""
        return start(self._document, self._bindings, threads, memory, prefetch, shard, self._maps, index_dir, pin_memory, requests=requests,
                     cache=cache)

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(f"'Pipeline' object has no attribute {name!r}")
            from forebay._habits import PIPELINE, unknown
            unknown("a Pipeline", name, PIPELINE, dir(type(self)))

    def __getitem__(self, index: object) -> NoReturn:
        raise TypeError("a Pipeline is what to do, and has no rows by number; `take(n)` and `skip(n)` choose rows, and "
                        "`pipeline.load().peek()[name]` shows the tensors of the first batch")

    def __iter__(self) -> NoReturn:
        raise TypeError("a Pipeline is what to do, and gives no batches; `.load()` starts it: `for batch in pipeline.load():`, "
                        "or `for epoch in pipeline.load().epochs():`")

    def __len__(self) -> NoReturn:
        raise TypeError("a Pipeline is what to do, and has no length; `.plan().batches` is the number of its batches, and a DataLoader of "
                        "torch takes forebay.torch.dataset(pipeline), with batch_size=None")

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return "\n".join([without_signatures(self.to_json()), *mapped_text([step.name for step in self._maps])])


def given(options: Mapping[str, Any], /, **defaults: Any) -> dict[str, Any]:
    """The options that are neither None nor their default."""
    def silent(name: str, value: Any) -> bool:
        default = defaults.get(name)
        return value is None or (type(value) is type(default) and bool(value == default))
    return {name: value for name, value in options.items() if not silent(name, value)}


def _plain(value: Any) -> Any:
    """The value as JSON has it: of a path, of bytes ("\\udc80" to "\\udcff" where they are no UTF-8), of a NumPy number or array, and
    of a float without a number in JSON, which is "nan", "inf" or "-inf"."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "surrogateescape")
    return _plain(value.tolist()) if hasattr(value, "tolist") else repr(value)
