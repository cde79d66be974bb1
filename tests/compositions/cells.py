# SPDX-License-Identifier: Apache-2.0
"""All cells of the matrix: small pipelines, area by area."""
from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Optional

from data import DRAWABLE, ONLY_ID, SOURCES
from stages import BATCHERS, IN_BRANCHES, RECIPES, STAGES, WITHIN_FILES, written

COMBINATIONS = ["mix", "concat", "round_robin", "join", "zip"]
BOUNDARIES = ("straddle", "hard")
DOORS = ["switch", "batch_set", "len", "count", "epochs", "steps_per_epoch", "convert", "inspect", "view", "peek", "to_arrow", "origins",
         "verify_replicas", "complete_frac", "document", "in_a_branch"]


class Cell(NamedTuple):
    """One pipeline.

    stages    all of them: those of each branch, and those after the combination
    combo     how branches are combined; inner: the first branch is a combination, too
    shard     by what two processes share it
    epochs    the boundary of its passes; their number is `passes`
    elastic   a state of two processes goes to one, and back
    corrupt   the policy for a corrupt record
    door      what uses the pipeline, instead of a run; mapped: a function comes last
    passed    the batches of the branches are those of the run, so none is made behind the combination
    """

    area: str
    name: str
    source: str = "example"
    stages: "tuple[str, ...]" = ()
    branch: "tuple[str, ...]" = ()
    after: "tuple[str, ...]" = ()
    combo: Optional[str] = None
    inner: Optional[str] = None
    shard: Optional[str] = None
    epochs: Optional[str] = None
    passes: int = 1
    until: Any = None
    repeat: Any = None
    elastic: bool = False
    corrupt: Optional[str] = None
    door: Optional[str] = None
    mapped: bool = False
    passed: bool = False


def _combined(area: str, name: str, combo: str, branch: "list[str]" = [], after: "list[str]" = [], **more: Any) -> Cell:
    stages = more.pop("stages", None) or [*branch, *after]
    return Cell(area, name, combo=combo, branch=tuple(branch), after=tuple(after), stages=tuple(stages), **more)


def _plain(area: str, name: str, stages: "list[str]" = [], **more: Any) -> Cell:
    return Cell(area, name, stages=tuple(stages), **more)


def _after(name: str) -> "list[str]":
    """The stages behind a combination; the batch that each pipeline has by itself is not written."""
    return [] if name == "batch" else written(name)


def _sources() -> Iterator[Cell]:
    for source in SOURCES:
        yield Cell("source", source, source)
        for name, stage in STAGES.items():
            if not (stage.frames and source in ONLY_ID or name == "draw" and source not in DRAWABLE):
                yield Cell("source", f"{source} > {name}", source, tuple(written(name)))


def _pairs() -> Iterator[Cell]:
    for first, stage in STAGES.items():
        for second in STAGES:
            stages = [first, second]
            if second == "stateful" and first != "unroll" and stage.kind in ("order", "step"):
                stages = [first, "unroll", second]
            yield _plain("pair", f"{first} > {second}", stages)
            yield _plain("pair", f"arrays: {first} > {second}", stages, source="arrays")


def _combinations() -> Iterator[Cell]:
    for combo in COMBINATIONS:
        yield Cell("combine", combo, combo=combo)
        for name in STAGES:
            if name in IN_BRANCHES or name in BATCHERS:
                yield _combined("combine", f"{combo}[{name}]", combo, [name])
            yield _combined("combine", f"{combo} > {name}", combo, [], written(name))
        for batcher in BATCHERS:
            for name in ("shuffle", "filter", "sorted", "global", "chunk", "unbatch", "cut_step", "map_row"):
                yield _combined("combine", f"{combo}[{name}] > {batcher}", combo, [name], written(batcher))
        for batcher in BATCHERS:
            if batcher != "stateful":
                yield _combined("batches", f"{combo}[{batcher}]", combo, [batcher], passed=True)
                yield _combined("batches", f"{combo}[chunk, {batcher}]", combo, ["chunk", batcher], passed=True)
        for name in ("shuffle_batches", "map_batch", "cast"):
            yield _combined("batches", f"{combo}[batch] > {name}", combo, ["batch"], [name], passed=True)
            yield _combined("batches", f"{combo}[batch, {name}]", combo, ["batch", name], passed=True)
        for inner in COMBINATIONS:
            yield _combined("batches", f"{combo}[{inner}[batch]]", combo, ["batch"], inner=inner, passed=True)
        for source in SOURCES:
            yield Cell("combine", f"{combo} of {source}", source, combo=combo)
    yield Cell("combine", "zip of unlike lengths", combo="zip", until="first")
    for before in IN_BRANCHES:
        for name in STAGES:
            yield _combined("through", f"mix[{before}] > {name}", "mix", [before], written(name))
    for combo in COMBINATIONS:
        for inner in COMBINATIONS:
            yield Cell("nested", f"{combo}[{inner}]", combo=combo, inner=inner)
            for name in ("shuffle", "packed"):
                yield _combined("nested", f"{combo}[{inner}] > {name}", combo, [], [name], inner=inner)


def _shards() -> Iterator[Cell]:
    for by in ("row", "file", "element", "batch"):
        for source in ("example", "arrays", "parquet"):
            yield Cell("shard", f"{by}: {source}", source, shard=by)
        for name in STAGES:
            yield _plain("shard", f"{by}: {name}", written(name), shard=by)
            if name in WITHIN_FILES:
                yield _plain("shard", f"{by}: {name} > interleave", [name, "interleave"], shard=by)
        for combo in COMBINATIONS:
            for name in ("batch", "shuffle", "filter", "packed", "token_budget", "frames", "buckets"):
                yield _combined("shard", f"{by}: {combo} > {name}", combo, [], _after(name), stages=[name], shard=by)
                if name in ("filter", "shuffle"):
                    yield _combined("shard", f"{by}: {combo}[{name}]", combo, [name], shard=by)
            for name in ("batch", "buckets"):
                yield _combined("batches", f"{by}: {combo}[{name}]", combo, [name], shard=by, passed=True)


def _epochs() -> Iterator[Cell]:
    for boundary in BOUNDARIES:
        two: "dict[str, Any]" = {"epochs": boundary, "passes": 2}
        for name in STAGES:
            yield _plain("epochs", f"2 {boundary}: {name}", written(name), **two)
        for name in BATCHERS:
            if name != "stateful":
                yield _plain("epochs", f"2 {boundary}: draw > {name}", ["draw", name], **two)
                yield _combined("epochs", f"2 {boundary}: mix[draw] > {name}", "mix", ["draw"], [name], **two)
        for combo in COMBINATIONS:
            for name in ("batch", "shuffle", "take", "repeat", "shuffle_batches", "filter", "packed"):
                yield _combined("epochs", f"2 {boundary}: {combo} > {name}", combo, [], _after(name), stages=[name], **two)
            for name in ("shuffle", "filter", "sorted", "global", "take"):
                yield _combined("epochs", f"2 {boundary}: {combo}[{name}]", combo, [name], **two)
            for name in ("batch", "buckets"):
                yield _combined("batches", f"2 {boundary}: {combo}[{name}]", combo, [name], passed=True, **two)
    for combo in ("mix", "round_robin"):
        for until in ("first", "all", 17):
            for repeat in (False, [False, True], True):
                if repeat is True and until == "first":
                    continue   # it has no end
                for name in ("batch", "shuffle", "take", "shuffle_batches"):
                    for boundary in BOUNDARIES:
                        yield _combined("passes", f"{boundary}: {combo} until {until} repeat {repeat} > {name}", combo, ["shuffle"],
                                        _after(name), stages=["shuffle", name], until=until, repeat=repeat, epochs=boundary, passes=3)


def _restarts() -> Iterator[Cell]:
    for name in STAGES:
        yield _plain("elastic", name, written(name), elastic=True)
    for combo in COMBINATIONS:
        for name in ("batch", "shuffle"):
            yield _combined("elastic", f"{combo} > {name}", combo, ["shuffle"], _after(name), stages=["shuffle", name], elastic=True)


def _corrupt() -> Iterator[Cell]:
    after = ("shuffle", "filter", "take", "cast", "batch", "shuffle_batches", "repeat", "token_budget", "chunk", "global")
    before = ("shuffle", "filter", "sorted", "global", "take", "repeat")
    for policy in ("skip_record", "skip_row"):
        for name in STAGES:
            yield _plain("corrupt", f"{policy}: {name}", written(name), corrupt=policy)
            for combo in COMBINATIONS:
                if name in after:
                    yield _combined("corrupt", f"{policy}: {combo} > {name}", combo, [], [name], corrupt=policy)
                if name in before:
                    yield _combined("corrupt", f"{policy}: {combo}[{name}]", combo, [name], corrupt=policy)


def _recipes() -> Iterator[Cell]:
    for name, stages in RECIPES.items():
        yield _plain("recipe", name, stages)
        for combo in ("mix", "concat"):
            at = next((n for n, stage in enumerate(stages) if STAGES[stage].kind in ("batcher", "batches")), len(stages))
            yield _combined("recipe", f"{combo}[each] > {name}", combo, [], stages)
            yield _combined("recipe", f"{combo}[{name}]", combo, stages[:at], stages[at:])
            yield _combined("recipe", f"{combo} of {combo}s > {name}", combo, [], stages, inner=combo)


def _doors() -> Iterator[Cell]:
    for door in DOORS:
        for combo in (None, "mix", "concat"):
            for mapped in (False, True):
                if not (mapped and door in ("convert", "inspect", "document", "origins")):
                    yield Cell("door", f"{door} of {combo or 'one source'}{' + map' if mapped else ''}", door=door, combo=combo, mapped=mapped)
    yield Cell("door", "other weights at a restart", door="other_weights")
    yield Cell("door", "one branch more at a restart", door="another_branch")


def cells() -> "list[Cell]":
    areas = (_sources, _pairs, _combinations, _shards, _epochs, _restarts, _corrupt, _recipes, _doors)
    return [cell for area in areas for cell in area()]
