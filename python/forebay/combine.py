# SPDX-License-Identifier: Apache-2.0
"""Several pipelines as one: mix, concat, round_robin, join and zip."""
from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence, Union

from forebay._arguments import wrong_type
from forebay._pump import Items
from forebay.builder import Pipeline
from forebay.errors import ConfigError
from forebay.pipeline import given

__all__ = ["concat", "join", "mix", "round_robin", "zip"]

Fill = Mapping[str, Union[None, bool, int, float, str]]
Repeat = Union[bool, Sequence[bool]]
#: A number for each branch, or (pass, numbers) for those from a pass on.
Weights = Union[Sequence[float], Sequence["tuple[int, Sequence[float]]"]]

#: The members of a document that a branch has.
_BRANCH = ("source", "decode", "steps", "on_corrupt")


def mix(branches: Sequence[Pipeline], weights: Optional[Weights] = None,
        until: Union[Literal["first", "all"], int] = "first", fill: Optional[Fill] = None, repeat: Repeat = False) -> Pipeline:
    """Draws the branch of every row at random.

        train = fb.mix([web.shuffle(buffer=10_000), books], weights=[0.7, 0.3], until=100_000, repeat=True)
        loader = train.shuffle(buffer=1000).batch(size=256).epochs(None).load()

    branches   pipelines without a batch; steps after the combination act on the rows of all of them. Or all of them with a batch: one is
               drawn for a whole batch, which comes as it is, and `until` counts batches
    weights    one for each branch; left out: equal. A branch of weight 0 gives no rows, keeps its place, and counts as ended. Or by
               pass: [(0, [0.7, 0.3]), (3, [0.5, 0.5])] has others from pass 3 on. A run may go on from a state with other weights
               for later passes.
    until      when a pass ends: "first" when the first branch without `repeat` has no row left for its turn; "all" when every
               branch has come to the end of an epoch, where branches without `repeat` are left out; or after a number of rows.
               The next pass goes on where each branch is.
    fill       {tensor: value} for branches that lack the tensor
    repeat     for all branches, or one for each: the branch begins its next epoch by itself, in the middle of a pass
    """
    _check_list("mix", branches)
    return _combined("mix", branches, repeat, weights=None if weights is None else _by_pass(weights), until=until, fill=fill)


def concat(branches: Sequence[Pipeline], fill: Optional[Fill] = None) -> Pipeline:
    """One branch after the other, each to its end.

    branches   pipelines without a batch, or all of them with one
    fill       {tensor: value} for branches that lack the tensor
    """
    return _combined("concat", branches, False, fill=fill)


def round_robin(branches: Sequence[Pipeline], until: Union[Literal["first", "all"], int] = "first",
                fill: Optional[Fill] = None, repeat: Repeat = False) -> Pipeline:
    """One row of each branch in turn. The arguments are those of `mix`."""
    return _combined("round_robin", branches, repeat, until=until, fill=fill)


def join(branches: Sequence[Pipeline], fill: Optional[Fill] = None, repeat: Repeat = False) -> Pipeline:
    """One row of each branch in turn; a branch that has ended is left out. The arguments are those of `mix`."""
    return _combined("join", branches, repeat, fill=fill)


def zip(branches: Sequence[Pipeline], until: Optional[Literal["first"]] = None, repeat: Repeat = False) -> Pipeline:
    """Row i of every branch side by side: a row has the tensors of all branches. Every pass begins anew with each branch.

    branches   pipelines without a batch, or all of them with one; no tensor name occurs twice
    until      "first": a pass ends with the shortest branch; left out: branches of other lengths are an error
    repeat     for all branches, or one for each: the branch begins anew when it has ended before the others
    """
    return _combined("zip", branches, repeat, until=until)


def _check_list(kind: str, branches: Any) -> None:
    if isinstance(branches, Pipeline):
        raise TypeError(f"{kind}: branches must be a list of pipelines, fb.{kind}([a, b]), found a Pipeline")


def _by_pass(weights: Weights) -> "list[Any]":
    return [[one[0], list(one[1])] if isinstance(one, (tuple, list)) and len(one) == 2 else one for one in weights]


def _combined(kind: str, branches: Sequence[Pipeline], repeat: Repeat, **options: Any) -> Pipeline:
    _check_list(kind, branches)
    pipes = list(branches)
    if not isinstance(repeat, (bool, Sequence)) or isinstance(repeat, (str, bytes)):
        raise wrong_type("repeat", "True or False, for all branches or as a list with one for each", repeat)
    repeats = [repeat] * len(pipes) if isinstance(repeat, bool) else list(repeat)
    if len(repeats) != len(pipes):
        raise _fault(f"{kind}: repeat has {len(repeats)} values for {len(pipes)} branches; give one for all, or one for each")
    bindings: dict[str, Any] = {}
    documents = [_branch(kind, number, pipe, repeats[number], bindings) for number, pipe in enumerate(pipes)]
    defaults = {"until": "first"} if kind in ("mix", "round_robin") else {}
    return Pipeline({"source": {kind: {**given(options, **defaults), "branches": documents}}, "steps": []}, (), bindings)


def _branch(kind: str, number: int, pipe: Pipeline, repeat: bool, bindings: dict[str, Any]) -> dict[str, Any]:
    where = f"{kind}: branch {number}"
    if not isinstance(pipe, Pipeline):
        raise wrong_type(where, "a pipeline, such as fb.tfrecord(…).example({…})", pipe)
    document = pipe.to_dict()
    for member in document:
        if member not in _BRANCH:
            raise _fault(f"{where}: {member} belongs to the whole run; call .{member}(…) after fb.{kind}(…)")
    if pipe._maps or any(isinstance(rows, Items) for rows in pipe._bindings.values()):
        from forebay._map.rows import made
        pipe = made(pipe, where, bindings)
        document = pipe.to_dict()
    for name, rows in pipe._bindings.items():
        if name in bindings and bindings[name] is not rows:
            raise _fault(f"{where}: two branches have objects with the name {name!r}; give each a name of its own, as in "
                         f"fb.arrays(…, name=\"{name}-{number}\")")
        bindings[name] = rows
    return {**document, "repeat": True} if repeat else document


def _fault(message: str) -> ConfigError:
    return ConfigError(message, code="config", detail="invalid_argument")
