# SPDX-License-Identifier: Apache-2.0
"""Rows that `map` makes before the engine goes on with them: a pipeline that ends in `map`, as the source of the stages after it.

    records, orders, windows … ─► a loader of its own: batches ─► functions ─► rows ─► orders, windows, batches … of the run
"""
from __future__ import annotations

import hashlib
import itertools
import json
from typing import TYPE_CHECKING, Any, Container, Iterator, Mapping, Optional, Sequence

from forebay import _core
from forebay._builder.batchers import Batchers
from forebay._builder.orders import Orders
from forebay._builder.windows import Windows
from forebay._epoch_rows import EpochRows, OpenedRows, PassFeeder
from forebay._map.call import delivered
from forebay._map.output import Column, Output, array_of
from forebay._pump import Items, Rows
from forebay._structure import each_of, filled, flat, tree_of
from forebay.errors import ConfigError

if TYPE_CHECKING:
    from forebay._core import Stats
    from forebay._map.step import MapStep
    from forebay.loader import Loader
    from forebay._map.call import Call
    from forebay.pipeline import P, PipelineBase

ROWS = 64     # of a batch that functions get, where batches may have rows of different shapes
SAMPLE = 8    # rows that say what the columns are
BATCHERS = [name for name in vars(Batchers) if not name.startswith("_")]
ORDERS = {name for name in vars(Orders) if not name.startswith("_")}
#: What acts on rows, and never on batches.
OF_ROWS = {*BATCHERS, *ORDERS, *(name for name in vars(Windows) if not name.startswith("_"))}
#: Orders that move no row.
KEEPING = {"filter", "repeat", "skip", "skip_files", "take", "take_files", "take_while"}
#: Orders that depend on nothing but the seed and the number of rows: neither on files nor on values.
BY_NUMBER = {"repeat", "reorder", "shuffle", "skip", "take"}


class MadeRows:
    """The rows of a pipeline without a batch, after its functions.

    steps   those that a pipeline over these rows begins with
    """

    steps: "list[dict[str, Any]]" = []

    def __init__(self, pipe: "PipelineBase") -> None:
        self._pipe = pipe
        self._spare: Optional["MadePump"] = None
        text = json.dumps([pipe._document, [step.name for step in pipe._maps]], sort_keys=True, default=repr)
        functions = [step.name for step in pipe._maps] or ["items"]
        self.name = f"{', '.join(functions)} #{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def pump(self, name: str, document: Mapping[str, Any]) -> "MadePump":
        """A pump for one run of `document`, whose source these rows are."""
        spare, self._spare = self._spare, None
        return spare or MadePump(self, name, document)

    def keep(self, pump: "MadePump") -> None:
        """Takes back the pump of a plan that no run was started of: rows that are given once must not be asked for again."""
        if self.again()[0]:
            pump.stop()
        else:
            self._spare = pump

    def again(self) -> "tuple[bool, bool]":
        """Whether the rows are the same each time, and whether an epoch of them ends by itself."""
        exact = ends = True
        for rows in self._pipe._bindings.values():
            if isinstance(rows, MadeRows):
                inner_exact, inner_ends = rows.again()
                exact, ends = exact and inner_exact, ends and inner_ends
            elif isinstance(rows, OpenedRows):
                exact, ends = exact and rows._exact, False
            elif isinstance(rows, (Rows, EpochRows)) or type(rows).__name__ == "Feed":
                exact, ends = exact and isinstance(rows, EpochRows), False
        return exact, ends

    def reads_files(self) -> bool:
        """Whether records may be corrupt below the functions."""
        return _reads_files(self._pipe._document, self._pipe._bindings)


def _options(document: Any) -> "Mapping[str, Any]":
    """Those of the source; none where the document is no good, which the planner says."""
    source = document.get("source") if isinstance(document, Mapping) else None
    options = next(iter(source.values())) if isinstance(source, Mapping) and len(source) == 1 else None
    return options if isinstance(options, Mapping) else {}


def _branches(document: Any) -> "list[Any]":
    """Those of a document whose source combines some."""
    branches = _options(document).get("branches")
    return branches if isinstance(branches, list) else []


def _bound(document: Any, bind: Mapping[str, Any]) -> Any:
    """The object that the source of a document names; None: it names none."""
    return bind.get(str(_options(document).get("bind")))


def _reads_files(document: Mapping[str, Any], bind: Mapping[str, Any]) -> bool:
    branches = _branches(document)
    if branches:
        return any(_reads_files(branch, bind) for branch in branches)
    bound = _bound(document, bind)
    return bound.reads_files() if isinstance(bound, MadeRows) else bound is None


def _hidden_orders(document: Any, bind: Mapping[str, Any]) -> "list[str]":
    """The orders of a branch that stand before functions, which make its rows, as text."""
    out = [order for branch in _branches(document) for order in _hidden_orders(branch, bind)]
    rows = _bound(document, bind)
    if isinstance(rows, MadeRows):
        steps = rows._pipe._document["steps"]
        out += _hidden_orders(rows._pipe._document, rows._pipe._bindings)
        out += [json.dumps(step, sort_keys=True, default=repr) for step in steps if next(iter(step)) in ORDERS]
    return out


def _check_orders(branches: "Sequence[Any]", bind: Mapping[str, Any], shortest: bool) -> None:
    """shortest: branches may have unlike numbers of rows. Raises ConfigError where an order before a function moves the rows of one branch of a `zip` and not alike those of the others."""
    hidden = [_hidden_orders(branch, bind) for branch in branches]
    for orders in hidden:
        names = [next(iter(json.loads(order))) for order in orders]
        moving = next((name for name in names if name not in KEEPING), None)
        alike = BY_NUMBER.issuperset(names) and not shortest and all(orders == others for others in hidden)
        if moving is not None and not alike:
            raise ConfigError(f"zip: {moving} stands before the function that makes the rows of a branch, and the branches have no orders "
                              f"there that move their rows alike, so rows that belong together would be separated; put {moving} behind the function, in every "
                              "branch, or behind the zip", code="config", detail="invalid_argument")


def check_sides(document: Mapping[str, Any], bind: Mapping[str, Any], skips: bool = False, beside: bool = False) -> None:
    """Raises ConfigError where records would be skipped in one branch of a `zip` whose rows a function makes: the rows after it would
    stand beside rows that they do not belong to. skips: what is around says so; beside: a `zip` is around."""
    source, policy = document.get("source"), document.get("on_corrupt")
    if not isinstance(source, Mapping) or len(source) != 1:
        return
    name = policy.get("policy") if isinstance(policy, Mapping) else policy
    skips = skips if name is None else name != "fail"
    if "zip" in source:
        _check_orders(_branches(document), bind, _options(document).get("until") is not None)
    for branch in _branches(document):
        if isinstance(branch, Mapping):
            check_sides(branch, bind, skips, beside or "zip" in source)
    rows = _bound(document, bind)
    if skips and beside and isinstance(rows, MadeRows) and rows.reads_files():
        raise ConfigError(f"on_corrupt: a record that is skipped before {rows.name.partition(' #')[0]} makes its rows would leave the rows "
                          "after it beside rows that they do not belong to; put `map` behind the `zip`, or use \"fail\"",
                          code="config", detail="invalid_argument")


def made(pipe: "P", stage: str, taken: "Container[str]" = ()) -> "P":
    """A pipeline whose source is the rows of this one. Raises ConfigError where `map` is given batches; `stage` is what needs the rows.
    taken: names that objects have already."""
    from forebay._map.batches import MadeBatches
    batcher = next((step for step in pipe._document["steps"] if next(iter(step)) in BATCHERS), None)
    for_batches = next((step.name for step in pipe._maps if step.per != "row"), None)
    if batcher is not None and stage in OF_ROWS:
        last, name = pipe._maps[-1].name, next(iter(batcher))
        raise ConfigError(f"{stage}: map({last}) is given the batches of '{name}'; add {stage} before map({last}), or put map({last}, "
                          f"per=\"row\") before '{name}'", code="config", detail="failed_precondition")
    if for_batches is not None and batcher is None:
        raise ConfigError(f"{stage}: map({for_batches}) is given batches and stands before {stage}; put it behind the batch, or say "
                          f"map({for_batches}, per=\"row\")", code="config", detail="failed_precondition")
    if len(pipe._maps) > 1:   # what one function makes is known before the next one gets it
        first = made(type(pipe)(pipe._document, pipe._maps[:1], pipe._bindings), stage)
        return made(type(pipe)(first._document, pipe._maps[1:], first._bindings), stage, taken)
    rows = MadeRows(pipe) if batcher is None else MadeBatches(pipe, stage, batcher)
    names = itertools.chain([rows.name], (f"{rows.name}-{number}" for number in itertools.count(2)))
    rows.name = next(name for name in names if name not in taken)
    around = {name: value for name, value in pipe._document.items() if name not in ("source", "decode", "steps")}
    return type(pipe)({"source": {"feed": {"bind": rows.name}}, "steps": rows.steps, **around}, (), {rows.name: rows})


class MadePump(PassFeeder):
    """Puts the rows of each pass that a run begins into the feed of the pass.

    bound     the rows of the passes, as the core takes them
    """

    def __init__(self, rows: MadeRows, name: str, around: Mapping[str, Any]) -> None:
        super().__init__(name, "a function given to map")
        self._rows, pipe = rows, rows._pipe
        self._document = _inner(pipe._document, around)
        self._bindings = pipe._bindings
        self._threads, self._memory = around.get("threads") or None, around.get("memory") or None
        self._loader: Optional["Loader"] = None
        self._first: Optional["Loader"] = None   # that of the sample, whose run `_loader` goes on with
        self._epochs: Optional[Iterator[Any]] = None
        self._next = 0   # the epoch that `_epochs` gives next
        loader = self._start()
        steps = (*loader._maps, *pipe._maps)
        output = self._columns(loader, steps)
        self._output, self.tree = output, output.tree
        self._maps = (*pipe._maps[:-1], self._stated(pipe._maps[-1])) if pipe._maps else ()
        self._go_on(loader)
        self._specs = {column: (stated.dtype, stated.row_shape) for column, stated in output.items()}
        exact, ends = rows.again()
        self._passes = _core.make_passes([(column, *spec) for column, spec in self._specs.items()], 2 * ROWS)
        self.bound = self._passes.rows(name, True, exact, ends)

    def _start(self, epoch: int = 0) -> "Loader":
        """A run without the functions, up to epoch `epoch` at least. Its batches have one row, unless rows of any shape fit into one."""
        from forebay.loader import plan, start
        self._reach(epoch)
        one = {**self._document, "steps": [*self._document["steps"], {"batch": {"size": 1}}]}
        together = all(delivery == "ragged" or None not in shape for _, _, shape, delivery, *_ in plan(one, self._bindings).columns)
        batch = {"batch": {"size": ROWS if together else 1}}
        return start({**self._document, "steps": [*self._document["steps"], batch]}, self._bindings, self._threads, self._memory, None,
                     [0, 1], identities=True)

    def _reach(self, epoch: int) -> None:
        """Makes the document have epoch `epoch`: the order of the run repeats."""
        epochs = self._document.get("epochs", 1)
        if epochs is not None and epochs <= epoch:
            self._document = {**self._document, "epochs": epoch + 1}

    def _columns(self, loader: "Loader", steps: "Sequence[MapStep]") -> Output:
        """Those of the rows that are given."""
        return _of_plan(loader) if not steps else steps[-1].output or self._sampled(loader, steps)

    def _go_on(self, first: "Loader") -> None:
        """The run of `first`, with the functions."""
        from forebay.loader import Loader
        maps = (*first._maps, *self._maps)
        if maps and not self._maps:
            maps = (*maps[:-1], self._stated(maps[-1]))
        self._first, self._loader = first, Loader(first._run, maps)
        self._epochs, self._next = iter(self._loader.epochs()), 0

    def _stated(self, step: "MapStep") -> "MapStep":
        """The step, whose rows have these columns."""
        features = {name: column.feature() for name, column in self._output.items()}
        return step._replace(output=self._output, stated=filled(self.tree, features))

    def _sampled(self, loader: "Loader", steps: "Sequence[MapStep]") -> Output:
        """The columns of the first rows."""
        from forebay._map.call import Call, Fault
        from forebay._map.step import libraries_of
        try:
            batch: Any = loader._run.advance(False)   # stays the next one
        except StopIteration:
            raise ConfigError(f"{steps[-1].name} gets no row, so its columns are not known; say output= in map", code="config",
                              detail="invalid_argument") from None
        rows: Any = []
        try:
            for place, step in enumerate(steps):
                call = Call(step.function, step.name, step.per, step.with_rng, step.output, f"{self._document.get('seed', 0)}/{place}",
                            libraries_of(step))
                if place + 1 < len(steps):
                    batch = delivered(call(batch), batch)
                else:
                    rows = self._first_rows(call, batch)
        except Fault as fault:
            raise fault.failure from None
        return stated_by(rows, {name: shape for name, _, shape, *_ in loader.plan.columns}, steps[-1].name)

    def _first_rows(self, call: "Call", batch: Any) -> "list[Any]":
        """What the last function makes of some rows of the first batch. Raises as a call."""
        return call.results(batch, min(batch.valid_rows, SAMPLE))

    def _place(self, epoch: int) -> str:
        return f"map of epoch {epoch}"

    def _give(self, epoch: int, first: int, feed: Any) -> None:
        for batch in self._results(epoch, first):
            if first == 0 and batch.valid_rows == batch.rows:
                feed.put_rows(batch)
                continue
            made = batch if isinstance(batch, (dict, tuple)) else dict(batch.items())   # of functions, or of the run itself
            for row in range(first, batch.valid_rows):
                feed.put(each_of(lambda value: value[row], made))   # noqa: B023: used at once
            first = max(0, first - batch.valid_rows)

    def _results(self, epoch: int, first: int) -> "Iterator[Any]":
        """What the functions made of the rows of a pass. first: the row from which on they are wanted."""
        epochs = self._document.get("epochs", 1)
        if self._epochs is None or self._next != epoch or first or (epochs is not None and epoch >= epochs):
            self._close()
            self._go_on(self._start(epoch))
        assert self._epochs is not None
        self._next = -1   # until the pass is over
        for of_epoch in self._epochs:
            if of_epoch.number < epoch:
                continue   # no batch of it is made
            yield from of_epoch
            break
        self._next = epoch + 1

    def counted(self, stats: "Stats") -> "Stats":
        loader = self._loader
        return stats if loader is None else stats.with_skips(loader._run.stats)

    def _close(self) -> None:
        loader, self._loader, self._epochs = self._loader, None, None
        if loader is not None:
            loader.close()

    def unused(self) -> None:
        self._rows.keep(self)

    def stop(self) -> None:
        super().stop()
        loader = self._loader
        if loader is not None:
            loader.close()


def _of_plan(loader: "Loader") -> Output:
    """The columns of rows that no function makes."""
    out = Output()
    for name, dtype, shape, *_ in loader.plan.columns:
        if None in shape[1:]:
            raise ConfigError(f"the rows of tensor {name!r} differ in more than their first size; make them one size first", code="config",
                              detail="invalid_argument")
        out[name] = Column(dtype, tuple(size for size in shape if size is not None), "ragged" if None in shape else "equal")
    out.tree = {name: name for name in out}
    return out


def _inner(document: Mapping[str, Any], around: Mapping[str, Any]) -> "dict[str, Any]":
    """The document of the rows, with what the document around them says."""
    policy = around.get("on_corrupt")
    if "zip" in document["source"]:   # a bad row leaves all branches
        pass
    elif policy == "skip_row":
        policy = "skip_record"
    elif isinstance(policy, Mapping) and policy.get("policy") == "skip_row":
        policy = {**policy, "policy": "skip_record"}
    return {**{name: document[name] for name in ("source", "decode", "steps") if name in document},
            **{name: around[name] for name in ("seed", "epochs", "deterministic") if name in around},
            **({} if policy is None else {"on_corrupt": policy}), "epoch_boundary": "hard"}


def stated_by(rows: Sequence[Any], known: Mapping[str, "tuple[Optional[int], ...]"], function: str) -> Output:
    """The columns that rows like these have. known: shapes of the tensors before the function, where rows may differ."""
    out = Output()
    tree = tree_of(rows[0], f"what {function} returned")
    out.tree = tree
    named = [flat(tree, row, f"what {function} returned for row {place}") for place, row in enumerate(rows)]
    for name in named[0]:
        arrays = [array_of(row[name], None) for row in named]
        kinds = {"string" if array.dtype.kind in "OSU" else array.dtype.name for array in arrays}
        shapes = [array.shape for array in arrays]
        before = known.get(name, ())
        differs = [any(shape[axis] != shapes[0][axis] for shape in shapes) or (len(before) == len(shapes[0]) and before[axis] is None)
                   for axis in range(len(shapes[0]))] if len({len(shape) for shape in shapes}) == 1 else [True, True]
        if len(kinds) > 1 or any(differs[1:]):
            found = " and ".join(str(list(shape)) for shape in sorted(set(shapes), key=lambda shape: (len(shape), shape))[:2])
            raise ConfigError(f"{function} returns {name!r} with rows of {', '.join(sorted(kinds))} of shape {found}; say output= in map, "
                              "where rows may differ in their first size", code="config", detail="invalid_argument")
        steps = bool(differs) and differs[0]
        out[name] = Column(kinds.pop(), shapes[0][1:] if steps else shapes[0], "ragged" if steps else "equal")
    return out
