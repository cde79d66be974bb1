# SPDX-License-Identifier: Apache-2.0
"""loader.seek: the next batch is the one with that number in the unbroken run, whatever the plan."""
from __future__ import annotations

import pathlib
import random
import time
from typing import Any, Callable

import numpy as np
import pytest
from streams import digest, digests, examples, write_parts

import forebay as fb

SIZES = (60, 0, 31, 7, 22)
PIPES: "dict[str, Callable[[fb.Pipeline, fb.Pipeline], fb.Pipeline]]" = {
    "in order": lambda a, b: a.batch(9),
    "global": lambda a, b: a.shuffle("global").batch(9, remainder="drop"),
    "buffer": lambda a, b: a.shuffle(7).interleave(2).shuffle(13).batch(8),
    "filtered": lambda a, b: a.shuffle(11).filter("id % 3 != 1").batch(8, remainder="drop"),
    "join": lambda a, b: fb.join([a, b]).batch(9, remainder="pad"),
    "mix of whole passes": lambda a, b: fb.mix([a, b], weights=[3, 1], until="all").batch(9),
    "mix that goes on": lambda a, b: fb.mix([a.shuffle(5), b], weights=[3, 1], until="first").shuffle(6).batch(9),
    "batches in another order": lambda a, b: a.batch(5, remainder="drop").shuffle_batches(4),
    "buckets": lambda a, b: a.buckets("tokens", [1, 4], [4, 6]),
    "chunks": lambda a, b: a.chunk(2, keys=["tokens"]).shuffle(9).batch(9),
    "made rows": lambda a, b: fb.mix([a, b], until="all").filter("id % 3 != 1").shuffle("global").batch(9),
    "repeated pairs": lambda a, b: fb.zip([a.shuffle("global"), a.shuffle("global").rename("id", "id2").rename("tokens", "t2")])
    .repeat(2).batch(9),
    "packed": lambda a, b: a.packed(8, 2, keys=["tokens"], longer="split"),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> "list[list[str]]":
    return [write_parts(tmp_path_factory.mktemp(str(at)), sizes, [None, "gzip", None, None, "zlib"]) for at, sizes in enumerate((SIZES, (30, 15)))]


def pipeline(folders: "list[list[str]]", name: str, boundary: str = "straddle") -> fb.Pipeline:
    a, b = (examples(paths).select(tensors=["id", "tokens"]) for paths in folders)
    return PIPES[name](a, b).epochs(3).epoch_boundary(boundary).seed(4)


def check(whole: "list[str]", load: "Callable[[], fb.Loader]", numbers: "list[int]") -> None:
    """Seeks to all of these, in one loader, and reads some batches from each; a state from there goes on, too."""
    with load() as loader:
        for number in numbers:
            loader.seek(number)
            state = loader.state_dict() if number % 5 == 0 else None
            for at in range(number, min(number + 2, len(whole))):
                assert digest(next(loader)) == whole[at], f"batch {at} after seek({number})"
            if state is not None:
                with load() as other:
                    other.load_state_dict(state)
                    assert digests(other) == whole[number:]


@pytest.mark.parametrize("name", PIPES)
@pytest.mark.parametrize("boundary", ["straddle", "hard"])
def test_every_batch_of_three_epochs_in_any_sequence(folders: "list[list[str]]", name: str, boundary: str) -> None:
    pipe = pipeline(folders, name, boundary)
    whole = digests(pipe.load())
    numbers = [*range(len(whole) + 1)]
    random.Random(7).shuffle(numbers)
    check(whole, lambda: pipe.load(threads=3), numbers)


@pytest.mark.parametrize("name", ["in order", "global", "mix of whole passes", "mix that goes on", "buckets", "made rows"])
@pytest.mark.parametrize("by", ["row", "element", "file"])
def test_in_shards_of_every_kind(folders: "list[list[str]]", name: str, by: str) -> None:
    boundary = "hard" if by == "file" else "straddle"
    pipe = pipeline(folders, name, boundary)
    if by != "row" and name not in ("buckets",):
        a, b = (examples(paths).select(tensors=["id", "tokens"]) for paths in folders)
        document = PIPES[name](a, b).epochs(3).epoch_boundary(boundary).seed(4).to_dict()
        for step in document["steps"]:
            if "batch" in step:
                step["batch"] = {"size": 8, "remainder": "drop"}
        pipe = type(pipe)(document)
    elif by == "row" and name not in ("buckets",):
        document = pipe.to_dict()
        for step in document["steps"]:
            if "batch" in step:
                step["batch"]["size"] = 8
        pipe = type(pipe)(document)
    shard = {"index": 1, "count": 2, "by": by}
    whole = digests(pipe.load(shard=shard))
    numbers = random.Random(3).sample(range(len(whole) + 1), min(8, len(whole) + 1))
    check(whole, lambda: pipe.load(shard=shard, threads=2), numbers)


@pytest.mark.parametrize("name", ["in order", "mix that goes on", "buckets"])
@pytest.mark.parametrize("worker", [0, 2])
def test_a_worker_gets_its_first_batch_from_there_on(folders: "list[list[str]]", name: str, worker: int) -> None:
    pipe = pipeline(folders, name)
    whole = digests(pipe.load())
    with pipe.load(shard={"index": worker, "count": 3, "by": "batch"}) as loader:
        for number in (0, 1, 2, 3, 7, len(whole) - 3, 5):
            loader.seek(number)
            first = number + (worker - number) % 3
            batch = next(loader)
            assert (batch.number, digest(batch)) == (first, whole[first])


def drawn(batch: Any, rng: Any) -> "dict[str, Any]":
    return {"id": batch["id"], "r": rng.integers(0, 1 << 40, len(batch["id"]))}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", ["global", "mix that goes on"])
def test_draws_of_map_are_those_of_the_unbroken_run(folders: "list[list[str]]", name: str, workers: int) -> None:
    pipe = pipeline(folders, name).map(drawn, workers=workers)
    whole = [(batch["id"].tolist(), batch["r"].tolist()) for batch in pipe.load()]
    with pipe.load() as loader:
        for number in (9, 0, 17, len(whole), 3):
            loader.seek(number)
            assert [(batch["id"].tolist(), batch["r"].tolist()) for _, batch in zip(range(3), loader)] == whole[number:number + 3]
        with pytest.raises(fb.ConfigError):
            loader.seek(len(whole) + 1)
        assert [batch["id"].tolist() for batch in loader] == [batch[0] for batch in whole[6:]], "it stays where it was"


def test_epochs_from_there_on(folders: "list[list[str]]") -> None:
    pipe = pipeline(folders, "global", "hard")
    numbers = [(batch.epoch, batch.number) for batch in pipe.load()]
    with pipe.load() as loader:
        loader.seek(numbers[-1][1] // 2)
        found = [(epoch.number, batch.number) for epoch in loader.epochs() for batch in epoch]
    assert found == numbers[numbers[-1][1] // 2:]


def test_a_run_for_ever_is_reached_anywhere(folders: "list[list[str]]") -> None:
    pipe = examples(folders[0]).shuffle("global").batch(7).epochs(None)
    with pipe.load() as loader:
        began = time.monotonic()
        loader.seek(10**12)
        batch = next(loader)
        assert time.monotonic() - began < 60, "as long as a restart"
    rows = sum(SIZES)
    assert (batch.number, batch.epoch) == (10**12, 7 * 10**12 // rows)


@pytest.mark.parametrize("name", PIPES)
def test_a_number_that_the_run_has_not_is_refused_and_the_loader_stays(folders: "list[list[str]]", name: str) -> None:
    pipe = pipeline(folders, name)
    whole = digests(pipe.load())
    with pipe.load() as loader:
        assert digest(next(loader)) == whole[0]
        for number, words in ((-1, "from 0 to"), (len(whole) + 1, "seek: the run "), (10**9, "seek: the run ")):
            with pytest.raises(fb.ConfigError, match=words):
                loader.seek(number)
        assert digests(loader) == whole[1:]
        loader.seek(len(whole))
        with pytest.raises(StopIteration):
            next(loader)


def test_where_no_batch_has_a_number(folders: "list[list[str]]") -> None:
    feed = fb.python(open=lambda *_: iter([{"id": np.int64(i)} for i in range(9)])).batch(2)
    once = fb.python(iter([{"id": np.int64(i)} for i in range(9)])).batch(2)
    with feed.load() as loader:
        loader.seek(2)
        assert next(loader)["id"].tolist() == [4, 5]
    with once.load() as loader, pytest.raises(fb.StateError, match="cannot be read again"):
        loader.seek(2)
    with examples(folders[0]).batch(4).deterministic(False).load() as loader, pytest.raises(fb.StateError, match="a number names no batch"):
        loader.seek(2)
    for number in ("2", 2.0, True, None):
        with examples(folders[0]).batch(4).load() as loader, pytest.raises(TypeError, match="number"):
            loader.seek(number)   # type: ignore[arg-type]


def test_a_closed_loader_says_so(folders: "list[list[str]]", tmp_path: pathlib.Path) -> None:
    loader = examples(folders[0]).batch(4).load()
    loader.close()
    with pytest.raises(fb.Error, match="closed"):
        loader.seek(2)


@pytest.mark.parametrize("branches", [2, 40])
def test_a_place_far_within_a_mixture_is_there_at_once(branches: int) -> None:
    parts = [fb.arrays({"x": np.broadcast_to(np.int64(i), (2 * 10**10,))}, name=f"a{i}") for i in range(branches)]
    pipe = fb.mix(parts, weights=[1 + i % 7 for i in range(branches)], until="first").batch(100)

    def rows(loader: fb.Loader, count: int) -> "list[list[int]]":
        return [next(loader)["x"].tolist() for _ in range(count)]
    with pipe.load(threads=1) as loader:
        length = len(loader)
        assert length > 10**8
        loader.seek(10**8 - 3)     # row 9,999,999,700
        whole = rows(loader, 3)
        state = loader.state_dict()
        whole += rows(loader, 3)
        loader.seek(10**8 - 2)
        assert rows(loader, 5) == whole[1:]
        loader.seek(length - 1)
        assert len(rows(loader, 1)) == 1 and next(loader, None) is None
    with pipe.load(threads=4) as loader:
        loader.load_state_dict(state)
        assert rows(loader, 3) == whole[3:]


def test_a_place_far_within_rows_side_by_side_is_there_at_once() -> None:
    count = 2 * 10**10
    even, odd, few = (fb.arrays({name: np.broadcast_to(np.int64(value), (count,))}, name=name) for name, value in (("a", 0), ("b", 1), ("c", 2)))
    short = fb.arrays({"d": np.arange(1000)}, name="d")
    pipe = fb.zip([even, odd, few, short], repeat=[False, False, False, True], until="first").batch(100)
    with pipe.load(threads=2) as loader:
        loader.seek(10**8)
        assert [next(loader)["d"].tolist() for _ in range(3)] == [list(range(first, first + 100)) for first in (0, 100, 200)]
        state = loader.state_dict()
        loader.seek(10**8 + 13)
        assert next(loader)["d"].tolist() == list(range(300, 400))
        loader.load_state_dict(state)
        assert next(loader)["d"].tolist() == list(range(300, 400))


@pytest.mark.parametrize("until", ["all", 700])
def test_a_place_behind_many_passes_of_a_mixture_is_found_pass_by_pass(until: Any) -> None:
    short, long = (fb.arrays({"x": np.arange(count) + first}, name=f"n{count}") for count, first in ((90, 0), (1000, 500)))
    pipe = fb.mix([short, long], weights=[2, 1], until=until, repeat=[True, False]).batch(7).epochs(None)
    with pipe.load() as loader:
        whole = [batch["x"].tolist() for _, batch in zip(range(5_000), loader)]
        for number in (1, 77, 1_234, 4_990):
            loader.seek(number)
            assert [next(loader)["x"].tolist() for _ in range(10)] == whole[number:number + 10]
    with pipe.load() as loader, pipe.load() as other:
        for number in (40_000, 200_000):
            loader.seek(number - 2)
            state = loader.state_dict()
            rows = [next(loader)["x"].tolist() for _ in range(4)]
            loader.seek(number)
            assert [next(loader)["x"].tolist() for _ in range(2)] == rows[2:]
            other.load_state_dict(state)
            assert [next(other)["x"].tolist() for _ in range(4)] == rows
