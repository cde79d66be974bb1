# SPDX-License-Identifier: Apache-2.0
"""`load`: documents in, batches out."""
from __future__ import annotations

import atexit
import collections.abc
import os
import threading
import weakref
from typing import Any, Callable, Mapping, NamedTuple, Optional, Union

from forebay import _core
from forebay._core import Batch, Plan, Stats
from forebay._paths import Path
from forebay.errors import StateError

__all__ = ["Batch", "Loader", "Plan", "Schema", "Stats", "TensorSpec", "load"]

Document = Union[Path, Mapping[str, Any]]
Transform = Callable[[Any], Any]
Shard = Union[tuple[int, int], str, Mapping[str, Any]]

collections.abc.Mapping.register(Batch)


class TensorSpec(NamedTuple):
    """What a batch holds under one name: dtype, shape of a row (None: rows differ), and how it is handed over."""

    dtype: str
    shape: tuple[Optional[int], ...]
    delivery: str

    def __str__(self) -> str:
        sizes = ",".join("?" if size is None else str(size) for size in self.shape)
        how = "" if self.delivery == "equal" else f" {self.delivery}"
        return f"{self.dtype}[{sizes}]{how}"


class Schema(dict[str, TensorSpec]):
    """The tensors of every batch by name, in order; prints itself."""

    def __str__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:<{width}}  {spec}" for name, spec in self.items())

    __repr__ = __str__


class Loader:
    """A running plan: an iterator over batches, and a context manager.

    A loader runs once, through all epochs. At the end every further `next` raises StopIteration, also through a second
    `iter`; after a failure every further `next` raises the same exception. Only one thread at a time may call `next`.
    What `for batch in loader` leaves over is stopped by `close`, which also runs when the loader is dropped, at the end
    of a `with` block, and when the interpreter ends.
    """

    __slots__ = ("_run", "_next", "_transforms", "_transforming", "_waiting", "_withheld", "_failure", "__weakref__")

    def __init__(self, run: _core.Run, transforms: tuple[Transform, ...] = ()) -> None:
        self._run = run
        self._next = run.next
        self._transforms = transforms
        self._transforming = False
        self._waiting: Any = None
        self._withheld = False
        self._failure: Optional[Exception] = None
        with _live_lock:
            _live.add(self)

    def __iter__(self) -> "Loader":
        return self

    def __next__(self) -> Batch:
        """The next batch. Raises DataError or IoError after all batches before the fault; Ctrl-C interrupts it."""
        return self._transformed() if self._transforms else self._next()

    def _transformed(self) -> Any:
        if self._failure is not None:
            raise self._failure
        if self._transforming:
            raise StateError("next was called from inside a function given to map", code="state",
                             detail="failed_precondition")
        # Ctrl-C inside a function leaves the batch here, and the next call begins with it again.
        if self._waiting is None:
            self._waiting = self._next()
            self._withheld = True
        batch = self._waiting
        self._transforming = True
        try:
            for transform in self._transforms:
                batch = transform(batch)
                if not isinstance(batch, collections.abc.Mapping):
                    raise TypeError(f"a function given to map returns a mapping of tensors; {_name(transform)} "
                                    f"returned {type(batch).__name__}")
        except Exception as failure:
            self._failure = failure
            raise
        finally:
            self._transforming = False
        self._waiting, self._withheld = None, False
        return batch

    def __len__(self) -> int:
        """The number of batches of the whole run. Raises TypeError when that is not known before reading."""
        batches = self._run.plan.batches
        if batches is None:
            raise TypeError("the number of batches is not known before reading")
        return batches

    def __bool__(self) -> bool:
        return True

    @property
    def schema(self) -> Schema:
        """What a batch holds, by name."""
        return Schema((name, TensorSpec(dtype, shape, delivery)) for name, dtype, shape, delivery in self.plan.columns)

    @property
    def plan(self) -> Plan:
        """What the run does, stage by stage; printable."""
        return self._run.plan

    def stats(self) -> Stats:
        """Counters up to now; printed, they end in a sentence that names the bottleneck."""
        return self._run.stats

    @property
    def complete_frac(self) -> float:
        """Share of the run that was delivered, 1.0 at the end; of an endless run, of the current epoch."""
        return self._run.complete_frac

    def close(self) -> None:
        """Stops and joins the threads and frees what no batch or array holds. May be called any number of times."""
        self._run.close()
        self._waiting = None

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def state_dict(self) -> dict[str, Any]:
        """Where the run stands, behind the last batch that `next` gave: a small dict that JSON, pickle and torch.save
        take. Any time: before the first batch, at the end, after a failure. A loader of the same plan over the same
        files goes on from there exactly, with any threads, prefetch, memory and shard. Raises StateError when the order
        depends on timing (`deterministic: false`)."""
        import json
        state: dict[str, Any] = json.loads(self._run.state(self._withheld))
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state, before or after the first batch, any number of times.

        Raises StateError, and changes nothing, when the state is damaged, of a newer version, or of another plan or
        other files; the message says what differs.
        """
        import json
        try:
            text = json.dumps(dict(state))
        except (TypeError, ValueError, RecursionError) as problem:
            raise StateError(f"this is no state of a Forebay loader: {problem}", code="state",
                             detail="invalid_argument") from None
        self._run.restore(text)
        self._waiting, self._withheld = None, False
        self._failure = None

    get_state = state_dict
    set_state = load_state_dict

    def __repr__(self) -> str:
        return f"Loader:\n{self.plan}"


def load(doc: Document, threads: Optional[int] = None, memory: Union[int, str, None] = None,
         prefetch: Optional[int] = None, shard: Optional[Shard] = None) -> Loader:
    """Plans and starts a document.

    doc         path of a loader or pipeline document, or the document itself, whose paths are then relative to the
                working directory
    threads     workers in the background, of which one rests while a loop that is always back at once for the next
                batch does its work; left out: the document's, else one for every CPU
    memory      budget, as bytes or "1GiB"; left out: the document's, else a quarter of the memory
    prefetch    finished batches kept ready; left out: the document's, else chosen by their size
    shard       (index, count) or "index/count": the rows of every batch that this process takes, index · B / count up to
                (index + 1) · B / count; count must divide the batch size. "auto" asks the launcher's environment
                variables (torchrun, Open MPI, PMI, SLURM, JAX) and says on standard error what it picked.
                {"index": i, "count": n, "by": "file"} takes files i, i + n, … of every pass instead, in batches of B / n
                rows: no file is read by two processes; the batch's `remainder` must not be "keep".
                {"index": "auto", "replicas": r} lets r neighbouring ranks take one shard. Left out: the document's, else
                everything

    None of them changes what is delivered, but for shards by file, whose order is their own. Raises ConfigError with every
    fault of the document, IoError when the document or a file that it names cannot be read.
    """
    return start(plan(doc), threads, memory, prefetch, shard)


def plan(doc: Document) -> Plan:
    """The plan of a document; nothing is started. Raises like `load`."""
    if isinstance(doc, Mapping):
        return _core.plan_document(dict(doc), ".")
    return _core.plan_path(os.fspath(doc))


def start(planned: Plan, threads: Optional[int], memory: Union[int, str, None], prefetch: Optional[int],
          shard: Optional[Shard], transforms: tuple[Transform, ...] = ()) -> Loader:
    return Loader(_core.start(planned, threads, memory, prefetch, shard), transforms)


def _name(function: object) -> str:
    return str(getattr(function, "__name__", repr(function)))


_live: "weakref.WeakSet[Loader]" = weakref.WeakSet()
_live_lock = threading.Lock()


@atexit.register
def _close_all() -> None:
    for loader in list(_live):
        loader.close()
