# SPDX-License-Identifier: Apache-2.0
"""Documents and the objects that they name, as the core plans them."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Union

from forebay import _core
from forebay._arguments import wrong_type
from forebay._paths import Path, path_of
from forebay.errors import ConfigError

if TYPE_CHECKING:
    from forebay._map.step import MapStep
    from forebay._pump import Pump
    from forebay._structure import Tree
    from forebay.rows import Bound

Document = Union[Path, Mapping[str, Any]]


class Planned(NamedTuple):
    """A plan, the threads that its runs need, the functions of `map` that come first, and the budget of a run."""

    plan: _core.Plan
    pumps: "list[Pump]"
    steps: "tuple[MapStep, ...]"
    memory: Union[int, str]


def planned(doc: Document, bind: Optional[Mapping[str, Any]], threads: int = 0, memory: Union[int, str] = 0) -> Planned:
    """The plan of a run with these threads and this budget; 0: what the document says. Raises ConfigError with every fault of the
    document, or IoError."""
    bound: "tuple[dict[str, Bound], list[Pump], tuple[MapStep, ...], Tree]" = ({}, [], (), None)
    given = doc if isinstance(doc, Mapping) else {}
    left = memory
    if bind is not None and not isinstance(bind, Mapping):
        raise wrong_type("bind", "a dict of objects by name", bind)
    if bind:
        from forebay._map.rows import MadeRows, check_sides
        from forebay.rows import bound_objects
        check_sides(given, bind)
        made = sum(isinstance(value, MadeRows) for value in bind.values())
        if made:   # each is made by a run, which shares the budget with this one
            left = (_core.memory_bytes(memory or given.get("memory") or 0) or _core.usual_resources()[1]) // (made + 1)
        bound = bound_objects(bind, {**given, "threads": threads or given.get("threads", 0), "memory": left})
    rows, pumps, steps, tree = bound
    try:
        plan = _plan(doc, rows)
    except ConfigError as problem:
        other = _with_items_made(doc, bind or {}, problem)
        if other is None:
            for pump in pumps:
                pump.stop()
            raise
        return planned(*other, threads, memory)
    if tree is not None:
        from forebay._map.step import arranging
        steps = (arranging(tree, [column[0] for column in plan.columns]), *steps)
    return Planned(plan, pumps, steps, left)


def _plan(doc: Document, bound: "dict[str, Bound]") -> _core.Plan:
    if isinstance(doc, Mapping):
        return _core.plan_document(dict(doc), ".", bound)
    if not isinstance(doc, (str, os.PathLike)):
        raise wrong_type("doc", "the path of a document, or a document as a dict", doc)
    return _core.plan_path(path_of(doc, "doc"), bound)


def _with_items_made(doc: Document, bind: Mapping[str, Any],
                     problem: ConfigError) -> "Optional[tuple[Mapping[str, Any], Mapping[str, Any]]]":
    """The document with the items of a sequence made before the first stage that asks for more than their numbers; None: there is none."""
    from forebay._map.rows import BATCHERS, MadeRows
    from forebay._pump import Items
    from forebay.builder import Pipeline
    items = {name: value for name, value in bind.items() if isinstance(value, Items)}
    if not items or not isinstance(doc, Mapping):
        return None
    first = min((_step_of(fault.pointer) for fault in problem.faults or [problem]), default=-1)
    steps = list(doc["steps"])
    if first < 0 or any(name in BATCHERS for step in steps[:first] for name in step):
        return None
    rows = MadeRows(Pipeline({"source": doc["source"], "steps": steps[:first]}, (), items))
    others = {name: value for name, value in bind.items() if name not in items}
    return {**doc, "source": {"feed": {"bind": rows.name}}, "steps": steps[first:]}, {**others, rows.name: rows}


def _step_of(pointer: Optional[str]) -> int:
    """The number of the step that a fault is in; -1: it is in none."""
    parts = (pointer or "").split("/")
    return int(parts[2]) if len(parts) > 2 and parts[1] == "steps" and parts[2].isdigit() else -1
