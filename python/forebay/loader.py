# SPDX-License-Identifier: Apache-2.0
"""`load`: documents in, batches out."""
from __future__ import annotations

import collections.abc
import os
from typing import TYPE_CHECKING, Any, Mapping, NoReturn, Optional, Sequence, Union, cast

from forebay import _core
from forebay._arguments import flag_of, integer_of, memory_of, names_of, wrong_type
from forebay._at_exit import close_at_exit
from forebay._core import Batch, Plan, Stats
from forebay._epochs import Epoch, Epochs
from forebay._paths import Cache, Path, cache_of, path_of
from forebay._planned import planned
from forebay.errors import Error, StateError
from forebay.schema import Schema, TensorSpec, mapped_text

if TYPE_CHECKING:
    from forebay._map.run import MapEpochs, MapRun
    from forebay._map.step import MapStep
    from forebay._view import View

__all__ = ["Batch", "Epoch", "Epochs", "Loader", "Plan", "Schema", "Stats", "TensorSpec", "load"]

Document = Union[Path, Mapping[str, Any]]
Shard = Union[Sequence[Any], str, Mapping[str, Any]]

collections.abc.Mapping.register(Batch)

_AT_END = ("the loader is at the end of its run, which goes through all epochs once; write `for epoch in loader.epochs():` and "
           "inside it `for batch in epoch:`, with as many epochs as the pipeline has (`.epochs(3)`; None: for ever), or call "
           "loader.begin_anew() to give the same run again")


class Loader:
    """A running plan: an iterator over batches, and a context manager.

    A loader runs once, through all epochs. At the end every further `next` raises StopIteration, and `iter` raises
    StateError, so that a loop over epochs does not go on with nothing: `epochs` is that loop. After a failure every further
    `next` raises the same exception. Only one thread at a time may call `next`.
    `close` stops a run that is not at its end. It also runs when the loader is dropped, at the end
    of a `with` block, and when the interpreter ends.
    """

    # Without `map`, a batch counts as given when `__next__` returns it, which sets `_given` as its last act; the core is
    # told later (`_settle`, or the next `advance`). So a batch that Ctrl-C keeps from the caller's loop comes again. With
    # `map`, `_given` stays False: MapRun takes batches from the core ahead of the loop and knows where the loop is.
    __slots__ = ("_run", "_advance", "_maps", "_mapped", "_given", "__weakref__")

    def __init__(self, run: _core.Run, maps: tuple["MapStep", ...] = ()) -> None:
        self._run = run
        self._advance = run.advance
        self._given = False
        self._maps = maps
        self._mapped: Optional["MapRun"] = None
        if maps:
            from forebay._map.run import MapRun
            self._mapped = MapRun(run, maps)
        close_at_exit(self)

    def __iter__(self) -> "Loader":
        if self._run.ended if self._mapped is None else self._mapped.ended():
            raise StateError(_AT_END, code="state", detail="failed_precondition")
        return self

    def __next__(self) -> Batch:
        """The next batch. Raises DataError or IoError after all batches before the fault; Ctrl-C interrupts it. With
        `map`: what its function returned, or what it raised, after all batches before."""
        if self._mapped is not None:
            return self._mapped.next()
        given, self._given = self._given, False
        batch = self._advance(given)
        self._given = True
        return batch

    def _settle(self) -> None:
        """Tells the core that the caller got the last batch."""
        given, self._given = self._given, False
        if given:
            self._run.take()

    def epochs(self) -> "Epochs":
        """The epochs from here on, each an iterator of its batches.

            for epoch in loader.epochs():
                for batch in epoch:
                    train(batch)
                evaluate(epoch.number)

        Epoch e is the batches whose first row that is not empty is of epoch e. After a restart the first one is the rest
        of its epoch; a state that was saved after the last batch of an epoch goes on with the next one. Asking for the
        next epoch before the present one is used up goes past its other batches, which are not decoded. An epoch without
        batches is still yielded.
        """
        self._settle()
        return Epochs(self, self._run.epochs() if self._mapped is None else self._mapped.epochs())

    def peek(self) -> Optional[Batch]:
        """The batch that comes next, before the functions given to `map`; None at the end. It comes again with the next
        `next`, and `state_dict` stays where it is. Waits and raises as `next` does."""
        self._settle()
        try:
            return self._advance(False) if self._mapped is None else self._mapped.peek()
        except StopIteration:
            return None

    def __len__(self) -> int:
        """The number of batches of the whole run of this shard, the same after a restart.

        Known from the indexes of the files; missing ones are made, once, several files at a time, and stored. Raises
        TypeError for an endless run, whose `steps_per_epoch` is known, and when counting needs decoding: `plan.count()`
        does that. (`list` and progress bars ask for the length unasked.)"""
        return self._count(None)

    @property
    def steps_per_epoch(self) -> int:
        """The number of batches of the first epoch of this shard, also of an endless run; else like `len`."""
        return self._count(1)

    def _count(self, epochs: Optional[int]) -> int:
        what = "the number of batches"
        try:
            batches: Optional[int] = self._run.count(epochs)
        except Error as problem:  # `list` must still give the batches before the fault
            raise TypeError(f"{what} is not known, because the files cannot be counted: {problem}") from problem
        if batches is not None:
            return batches
        if self.plan.epochs is None and epochs is None:
            raise TypeError("a run for ever has no number of batches; loader.steps_per_epoch is that of an epoch")
        if any(stage["where"] == "source" and stage["plugin"] == "feed" for stage in self.plan.stages):
            raise TypeError(f"{what} is not known before the program has made all rows")
        asked = "plan.count(per_epoch=True)" if epochs else "plan.count()"
        raise TypeError(f"{what} is not known without decoding the records; loader.{asked} counts them, which may take as long as a run")

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, number: object) -> NoReturn:
        """A loader gives its batches in order. It is here for its message: a DataLoader of torch takes what has a length for a list."""
        raise TypeError("a Loader gives batches in order, not by number: loop over it, `for batch in loader:`; a DataLoader of torch takes "
                        "forebay.torch.dataset(pipeline), with batch_size=None")

    @property
    def schema(self) -> Schema:
        """The tensors of a batch by name. With `map`: as its `output` states them, else those before `map`."""
        schema = Schema((column[0], TensorSpec(*column[1:])) for column in self.plan.columns)
        maps = [step for step in self._maps if not step.arranges]
        if maps:
            stated = maps[-1].output
            if stated is not None:
                schema = Schema((name, TensorSpec(column.dtype, column.row_shape, column.delivery)) for name, column in stated.items())
            schema.mapped = tuple(step.function for step in maps)
            schema.known = stated is not None
        return schema

    @property
    def plan(self) -> Plan:
        """The plan of the run; printable. It does not contain the functions given to `map`, which run after it."""
        return self._run.plan

    def stats(self) -> Stats:
        """Counters up to now; printed, they end in a sentence that names the bottleneck."""
        if self._mapped is None:
            return self._run.stats
        return cast(Stats, self._mapped.stats())

    def view(self, vocabulary: Optional[Mapping[str, Sequence[str]]] = None) -> "View":
        """A local page over this run (docs/view.md): `.url` opens it. vocabulary: lists of words, by the tensor of their ids."""
        from forebay._view import View
        return View(self.plan, self, vocabulary)

    @property
    def complete_frac(self) -> float:
        """Share of the run that was delivered, 1.0 at the end; of an endless run, of the current epoch."""
        return self._run.complete_frac if self._mapped is None else self._mapped.complete_frac()

    def close(self) -> None:
        """Stops and joins the threads and frees what no batch or array holds. May be called any number of times.

        Ends within 2 seconds: processes of `map` are killed, and a thread whose function does not return is named in
        a warning."""
        if self._mapped is not None:
            self._mapped.close()
        self._run.close()

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def state_dict(self, after: Optional[Mapping[str, Any]] = None) -> dict[str, Any]:
        """The state at the batch that the caller's loop got last: a small dict that JSON, pickle and torch.save
        take. Any time: before the first batch, at the end, after a failure. A loader of the same plan over the same
        files goes on from there exactly, with any threads, prefetch, memory and shard; the number of epochs may differ,
        too. Raises StateError when the order depends on timing (`deterministic: false`).

        after   a batch of this loader, or of one of the same plan: the state after this batch, for code that reads ahead
                of the training. The batch may be a MappedBatch, and may have been pickled and come from another process.
        """
        import json
        if after is not None:
            text = self._run.state_at(_position_of(after))
        elif self._mapped is not None:
            text = self._mapped.state()
        else:
            self._settle()
            text = self._run.state()
        state: dict[str, Any] = json.loads(text)
        return state

    def load_state_dict(self, state: Union[Mapping[str, Any], Sequence[Mapping[str, Any]]], accept: Sequence[str] = ()) -> None:
        """Goes on from a state, before or after the first batch, any number of times.

        The plan may have another number of epochs than that of the state. A run that had ended with a short batch then
        goes on with the first row of the next epoch, and a RuntimeWarning says so. Raises StateError, and changes
        nothing, when the state is corrupt, of another version, or of another plan or other files; the message says what
        differs, and which files.

        state   what `state_dict` gave, or a list of what it gave on all row shards after the same batch: with saved states
                of sequences (`Batch.save_state`), another number of shards needs all of them
        accept  what may differ from the run of the state: "weights" of a mixture, "until", "branches" behind those of a combination. The
                new ones hold from the first row that no batch so far has needed (docs/combine.md). Later states need no `accept`
        """
        import json
        import warnings
        self._settle()
        try:
            if isinstance(state, (list, tuple)) and all(isinstance(one, Mapping) for one in state):
                text = json.dumps([dict(one) for one in state])
            elif not isinstance(state, Mapping):
                hint = "; json.loads makes it of JSON text" if isinstance(state, (str, bytes)) else ""
                raise wrong_type("state", f"the dict that state_dict gave{hint}", state)
            else:
                text = json.dumps(dict(state))
        except (TypeError, ValueError, RecursionError) as problem:
            raise StateError(f"this is no state of a Forebay loader: {problem}", code="state",
                             detail="invalid_argument") from None
        notice = self._run.restore(text, names_of("accept", accept))
        if self._mapped is not None:
            self._mapped.restored()
        if notice:
            warnings.warn(notice, RuntimeWarning, stacklevel=2)

    get_state = state_dict
    set_state = load_state_dict

    def identity(self) -> "dict[str, str]":
        """What processes compare that are to share the stream: loaders with equal identities have the same batches, each those of its
        shard.

            {"source": "7e04df08…", "seed": "af63ad4c…", …, "stream": "5bb6…", "files": "b974…", "epochs": "3", "version": "0.2"}

        Hashes of the parts of the plan, by name; "stream": of all of them and of the weights of all passes; "files": of the sizes and
        names of the files. Paths, shard, threads and the place in the run are no part of it, and functions given to `map` are not
        known. Raises StateError where a run has no state."""
        import json
        state = json.loads(self._run.state())
        parts = {name: part for name, part in state["plan"].items() if name != "weights"}   # those are of the passes so far
        return {**parts, "stream": f"{self.plan.stream:016x}", "files": state["data"]["digest"], "epochs": str(self.plan.epochs),
                "version": _core.version}

    def begin_anew(self) -> None:
        """Goes back to the beginning of the run, before or after any batch; nothing is planned again. Raises StateError, and
        changes nothing, when the rows cannot be read again."""
        self._settle()
        self._run.begin_anew()
        if self._mapped is not None:
            self._mapped.restored()

    def seek(self, number: int) -> None:
        """Goes to batch `number` of the run, forwards or back, in any epoch: the next batch is the one that has this number in
        the unbroken run, with all its draws, those of `map` included. With a shard by batch, the first one of this process from
        there on. `number` may be that of the end, behind the last batch.

            loader.seek(5000)
            batch = next(loader)     # batch.number == 5000

        Takes the time of a restart where the indexes tell how many rows an epoch has, and all have equally many; else it goes
        through the order from the beginning, without decoding. Ctrl-C interrupts it. The budgets of `skip_row` count from there on.

        Raises ConfigError for a number that is negative or past the end, and StateError where the order depends on timing, where
        the rows cannot be read again, and where the program saves states of sequences. The loader then stays where it was.
        """
        if number is None:
            raise wrong_type("number", "the number of a batch", number)
        wanted = integer_of("number", number, "the number of a batch")
        before = None if self._mapped is None else self._position()
        self._settle()
        try:
            self._run.seek(wanted)
        except BaseException:
            if before is not None and self._mapped is not None:   # the engine was ahead of the loop
                self._run.restore(self._run.state_at(before))
                self._mapped.restored()
            raise
        if self._mapped is not None:
            self._mapped.restored()

    def _position(self) -> str:
        """Where the caller's loop is, as JSON text; cheaper than a state."""
        self._settle()
        return self._run.position() if self._mapped is None else self._mapped.position()

    def __repr__(self) -> str:
        return f"Loader:\n{self.plan}" + "\n".join(mapped_text([step.name for step in self._maps if not step.arranges]))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Loader cannot be pickled or copied: its threads are in this process; send the document, or the "
                        "Pipeline, and make the Loader of it in the worker process")


def load(doc: Document, threads: Optional[int] = None, memory: Union[int, str, None] = None,
         prefetch: Optional[int] = None, shard: Optional[Shard] = None, bind: Optional[Mapping[str, Any]] = None,
         index_dir: Union[str, "os.PathLike[str]", None] = None, pin_memory: bool = False, requests: Optional[int] = None,
         cache: Optional[Cache] = None) -> Loader:
    """Plans and starts a document.

    doc         path of a loader or pipeline document, or the document itself, whose paths are then relative to the working directory
    threads     workers in the background, of which one rests while a loop that is always back at once for the next batch does its work;
                left out or 0: the document's, else one for every CPU
    memory      budget, as bytes or "1GiB"; left out or 0: the document's, else a quarter of the memory
    prefetch    finished batches kept ready; left out or 0: the document's, else chosen by their size
    shard       (index, count) or "index/count": the rows of every batch that this process takes, index · B / count up to (index + 1) · B
                / count; count must divide the batch size. "auto" asks the launcher's environment variables (torchrun, Open MPI, PMI,
                SLURM, JAX) and says on standard error which shard it picked. {"index": i, "count": n, "by": "file"} takes files i,
                i + n, … of every pass instead, in batches of B / n rows: no file is read by two processes; the batch's `remainder` must
                not be "keep". "by": "element" takes elements i, i + n, … of every pass, after all orders and filters, in such batches.
                "by": "batch" takes batches i, i + n, …: what n worker processes of one rank do. It may stand beside another one:
                [(rank, ranks), {"index": worker, "count": workers, "by": "batch"}]. {"index": "auto", "replicas": r} lets r
                neighbouring ranks take one shard. Left out: the document's, else everything
    bind        objects that the document names, by name: {"train": {"x": array, …}} for {"source": {"arrays": {"bind": "train"}}}, see
                forebay.arrays; or functions, which orders and batches ask, see Pipeline.bind
    index_dir   folder for record indexes and attributes, made if necessary; left out: `.forebay` beside the data, else the folder that
                FOREBAY_CACHE names
    pin_memory  makes the arrays of numbers of fixed shape and padded ones in page-locked memory, from which a GPU copies while the
                program goes on: `fb.torch.to(batch, "cuda")`. For the current GPU of this thread (torch.cuda.set_device). ConfigError
                where there is none, or no CUDA runtime
    requests    to other machines, in flight at once for each source, at most 1024; left out or 0: 32 (docs/remote.md)
    cache       (folder, size): parts of files of other machines are kept there for the next pass, the next run and the other ranks of
                this machine. It takes its size, such as "200GB", at once (docs/remote.md)

    None of them changes what is delivered, but for shards by file and by element, whose order is their own. Raises ConfigError with every
    fault of the document, IoError when the document or a file that it names cannot be read.
    """
    return start(doc, bind, threads, memory, prefetch, shard, index_dir=index_dir, pin_memory=pin_memory, requests=requests,
                 cache=cache)


def plan(doc: Document, bind: Optional[Mapping[str, Any]] = None) -> Plan:
    """The plan of a document; nothing is started. Raises like `load`."""
    made = planned(doc, bind)
    for pump in made.pumps:
        pump.unused()
    return made.plan


_told_of_ranks = False


def _tell_of_ranks() -> None:
    """Says once that a run takes everything although torchrun has started several processes."""
    global _told_of_ranks
    ranks = os.environ.get("WORLD_SIZE", "")
    if _told_of_ranks or "RANK" not in os.environ or not ranks.isdigit() or int(ranks) < 2:
        return
    from forebay._notices import inform
    _told_of_ranks = True
    inform(f"torchrun runs {ranks} processes, and this run has no shard: each process reads everything; `load(shard=\"auto\")` takes the "
           "part of this one")


def start(doc: Document, bind: Optional[Mapping[str, Any]], threads: Optional[int], memory: Union[int, str, None],
          prefetch: Optional[int], shard: Optional[Shard], maps: tuple["MapStep", ...] = (),
          index_dir: Union[str, "os.PathLike[str]", None] = None, pin_memory: bool = False, identities: bool = False,
          requests: Optional[int] = None, cache: Optional[Cache] = None) -> Loader:
    """`identities`: the run keeps what tells its rows apart, as it does for functions of `map`."""
    pinned = _core.cuda_pinned_memory(-1, "") if flag_of("pin_memory", pin_memory) else None
    made = planned(doc, bind, integer_of("threads", threads), memory_of(memory))
    run: Any = _core.start(made.plan, integer_of("threads", threads), made.memory, integer_of("prefetch", prefetch), shard,
                           "" if index_dir is None else path_of(index_dir, "index_dir"), pinned, bool(maps) or identities,
                           integer_of("requests", requests), *cache_of(cache))
    if shard is None and run.shard[1] == 1:
        _tell_of_ranks()
    if made.pumps:
        from forebay._pump import PumpedRun
        run = PumpedRun(run, made.pumps)
    return Loader(run, (*made.steps, *maps))


def _position_of(batch: object) -> str:
    """The position of a Batch or of a MappedBatch, as JSON text."""
    if isinstance(batch, Batch):
        return _core.position_of(batch)
    from forebay.mapped import Made
    position = batch._position() if isinstance(batch, Made) else ""
    if not position:
        raise wrong_type("after", "a batch of this loader (a dict, or a batch made of values only, has no position)", batch)
    return position
