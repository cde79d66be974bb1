# SPDX-License-Identifier: Apache-2.0
"""Shards by file of plans whose files do not tell how many rows they give: combinations, windows, batches by length, rows that are made."""
from __future__ import annotations

import collections
import pathlib
import threading
from typing import Any, Callable

import numpy as np
import pytest
from streams import digests, example, examples, resumed

import forebay as fb

SIZES = {"a": (60, 20, 51, 7, 38), "b": (33, 45, 12)}
FIRST = {"a": 0, "b": 1000}                                            # the first id of each folder
IDS = {name: [FIRST[name] + i for i in range(sum(SIZES[name]))] for name in SIZES}
Both = Callable[[fb.Pipeline, fb.Pipeline], fb.Pipeline]


def pad(pipe: fb.Pipeline) -> fb.Pipeline:
    return pipe.batch(12, remainder="pad")


# Every row of the folders that the name begins with comes once in each epoch.
WHOLE: "dict[str, Both]" = {
    "ab: join": lambda a, b: pad(fb.join([a, b])),
    "ab: concat of a shuffle": lambda a, b: pad(fb.concat([a.shuffle(9), b])),
    "ab: mix, shuffled": lambda a, b: pad(fb.mix([a, b], weights=[2, 1], until="all").shuffle(20)),
    "ab: mix, filtered": lambda a, b: pad(fb.mix([a, b], weights=[2, 1], until="all").filter("id >= 0")),
    "ab: round_robin in token_budget": lambda a, b: fb.round_robin([a, b], until="all").token_budget(40, keys=["tokens"]),
    "ab: concat in buckets": lambda a, b: fb.concat([a, b]).buckets("tokens", [1, 4], [4, 6]),
    "ab: nested": lambda a, b: pad(fb.concat([fb.concat([a]).filter("id >= 0"), b])),
    "a: token_budget": lambda a, _: a.token_budget(30, keys=["tokens"]),
    "a: buckets of a shuffle": lambda a, _: a.shuffle(11).buckets("tokens", [1, 4], [4, 6]),
    "a: a filter of sorted chunks": lambda a, _: pad(a.chunk(2, keys=["tokens"]).sorted("id").filter("id >= 0")),
    "a: chunks of a global shuffle": lambda a, _: pad(a.shuffle("global").chunk(2, keys=["tokens"]).filter("id >= 0")),
}
# Some rows, each once at most.
PART: "dict[str, Both]" = {
    "mix, dropped": lambda a, b: fb.mix([a, b], weights=[2, 1], until="all").filter("id % 3 != 0").batch(12, remainder="drop"),
    "take and filter": lambda a, _: a.take(50).filter("id % 3 != 0").batch(12, remainder="drop"),
    "take_while": lambda a, _: a.shuffle(30).take_while("id % 16 != 5").batch(6, remainder="pad"),
    "the first branch ends it": lambda a, b: fb.mix([a, b], until="first").batch(12, remainder="drop"),
    "batches in another order": lambda a, b: fb.concat([a, b]).batch(6, remainder="drop").shuffle_batches(4),
}
EVERY = {**WHOLE, **PART}
OWN_STATES = ["the first branch ends it"]   # passes go on where those before them ended, in each shard elsewhere


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> "dict[str, list[str]]":
    out = {}
    for name, sizes in SIZES.items():
        folder, ids = tmp_path_factory.mktemp(name), iter(IDS[name])
        out[name] = [str(folder / f"{part}.tfrecord") for part in range(len(sizes))]
        for path, size in zip(out[name], sizes):
            fb.write_records(path, [example(next(ids)) for _ in range(size)])
    return out


def pipeline(folders: "dict[str, list[str]]", name: str, epochs: int = 1) -> fb.Pipeline:
    a, b = (examples(folders[folder]).select(tensors=["id", "tokens"]) for folder in "ab")
    return EVERY[name](a, b).epochs(epochs).epoch_boundary("hard" if epochs > 1 else "straddle").seed(7)


def by_file(index: int, count: int) -> "dict[str, Any]":
    return {"index": index, "count": count, "by": "file"}


def ids_of(batches: "list[Any]") -> "list[int]":
    return [int(number) for batch in batches for number in np.asarray(batch["id"]).reshape(-1)[:batch.valid_rows]]


def own(index: int, count: int) -> "set[int]":
    """The ids of the files of a shard."""
    out: "set[int]" = set()
    for folder in "ab":
        ends = np.cumsum([0, *SIZES[folder]])
        for part in range(index, len(SIZES[folder]), count):
            out |= set(IDS[folder][ends[part]:ends[part + 1]])
    return out


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("epochs", [1, 2])
@pytest.mark.parametrize("count", [2, 3])
def test_every_shard_has_rows_of_its_own_files_in_as_many_batches_as_the_others(
        folders: "dict[str, list[str]]", name: str, epochs: int, count: int) -> None:
    pipe = pipeline(folders, name, epochs)
    shards = [list(pipe.load(shard=by_file(index, count), threads=1 + index)) for index in range(count)]
    assert [batch.number for batch in shards[0]] == list(range(len(shards[0]))) and shards[0]
    assert [[batch.epoch for batch in shard] for shard in shards] == [[batch.epoch for batch in shards[0]]] * count
    for index, shard in enumerate(shards):
        assert set(ids_of(shard)) <= own(index, count)
    for epoch in range(epochs):
        found = collections.Counter(i for shard in shards for i in ids_of([batch for batch in shard if batch.epoch == epoch]))
        wanted = IDS["a"] + (IDS["b"] if name.startswith("ab") else [])
        if "chunks" in name:   # as many windows as two of its tokens fill
            assert set(found) == {i for i in wanted if i % 4}
        elif name in WHOLE:
            assert found == collections.Counter(wanted)
        else:
            assert set(found.values()) == {1}


@pytest.mark.parametrize("name", EVERY)
def test_a_restart_at_every_batch_with_the_state_of_another_shard_and_other_threads_goes_on_exactly(
        folders: "dict[str, list[str]]", name: str) -> None:
    pipe = pipeline(folders, name, epochs=2)
    whole = [digests(pipe.load(shard=by_file(index, 2))) for index in range(2)]
    for index in range(2):
        source = index if name in OWN_STATES else 1 - index
        with pipe.load(shard=by_file(source, 2), threads=1) as saved:
            for at in range(len(whole[0]) + 1):
                with resumed(pipe, saved.state_dict(), shard=by_file(index, 2), threads=1 + at % 4) as rest:
                    assert digests(rest) == whole[index][at:], f"after batch {at}"
                if at < len(whole[0]):
                    next(saved)


def test_a_state_whose_branches_stand_elsewhere_in_each_shard_fits_its_own_alone(folders: "dict[str, list[str]]") -> None:
    pipe = pipeline(folders, OWN_STATES[0], epochs=2)
    with pipe.load(shard=by_file(0, 2)) as loader:
        next(loader)
        state = loader.state_dict()
    with pipe.load(shard=by_file(1, 2)) as other, pytest.raises(fb.StateError) as caught:
        other.load_state_dict(state)
    assert str(caught.value).startswith("the state was saved by a run of 2 shards by file, as shard 0, and this is one of 2 shards by file, as shard 1")


@pytest.mark.parametrize("name", ["ab: mix, filtered", "ab: concat in buckets", "mix, dropped"])
def test_shards_by_batch_take_turns_in_a_shard_by_file(folders: "dict[str, list[str]]", name: str) -> None:
    pipe = pipeline(folders, name, epochs=2)
    whole = digests(pipe.load(shard=by_file(1, 2)))
    workers = [digests(pipe.load(shard=[by_file(1, 2), {"index": worker, "count": 3, "by": "batch"}])) for worker in range(3)]
    assert [workers[at % 3][at // 3] for at in range(len(whole))] == whole and sum(map(len, workers)) == len(whole)


# ---- zip
def zipped(tmp_path: pathlib.Path, sizes: "tuple[tuple[int, ...], tuple[int, ...]]", change: "Callable[[fb.Pipeline], fb.Pipeline]" = lambda p: p) -> fb.Pipeline:
    branches = []
    for side, (name, parts) in enumerate(zip(("id", "id2"), sizes)):
        numbers, paths = iter(range(100)), []
        for part, size in enumerate(parts):
            paths.append(str(tmp_path / f"{side}-{part}.tfrecord"))
            fb.write_records(paths[-1], [fb.encode_example({name: next(numbers)}) for _ in range(size)])
        branches.append(change(fb.tfrecord(paths).example({name: fb.fixed("int64")})))
    return fb.zip(branches)


@pytest.mark.parametrize("change", [lambda p: p, lambda p: p.shuffle("global"), lambda p: p.shuffle(6)], ids=["plain", "global", "buffer"])
def test_rows_side_by_side_belong_together_in_every_shard(tmp_path: pathlib.Path, change: "Callable[[fb.Pipeline], fb.Pipeline]") -> None:
    pipe = zipped(tmp_path, ((5, 7, 4), (5, 7, 4)), change).shuffle(4).batch(4, remainder="pad").epochs(2).epoch_boundary("hard")
    rows = []
    for index in range(2):
        for batch in pipe.load(shard=by_file(index, 2)):
            a, b = (batch[name][:batch.valid_rows].tolist() for name in ("id", "id2"))
            assert a == b
            rows += a
    assert sorted(rows) == sorted([*range(16)] * 2)


def test_files_of_two_branches_with_unlike_numbers_of_records_are_refused(tmp_path: pathlib.Path) -> None:
    pipe = zipped(tmp_path, ((5, 7, 4), (5, 6, 5))).batch(4, remainder="pad")
    with pipe.load(shard=by_file(0, 2)) as loader, pytest.raises(fb.ConfigError) as caught:
        next(loader)
    assert "file 1 of a pass has 7 records in branch 0 of `zip` and 6 in branch 1" in str(caught.value)
    assert list(pipe.load(shard=(0, 2)))


# ---- what is refused, and what goes wrong
@pytest.mark.parametrize("change, words", [
    (lambda a, b: fb.concat([a, b]).batch(12), "set the batch's `remainder` to drop, pad or repeat"),
    (lambda a, b: fb.concat([a, b]).batch(12, remainder="repeat"), "set the batch's `remainder` to drop or pad"),
    (lambda a, b: fb.concat([a, b]).batch(12, remainder="drop").epochs(2), "set `epoch_boundary` to hard"),
    (lambda a, b: a.buckets("tokens", [1, 4], [4, 6]).epochs(2), "set `epoch_boundary` to hard"),
    (lambda a, b: fb.concat([a, b.take_files(1)]).batch(12, remainder="drop"), "shard: branch 1: a pass goes through 1 file, which cannot be shared out among 2"),
    (lambda a, b: fb.concat([a, fb.arrays({"id": np.arange(4), "tokens": np.arange(4, dtype=np.int32)[:, None]})]).batch(12, remainder="drop"),
     "shard: branch 1: a pass goes through 1 part, which cannot be shared out among 2"),
    (lambda a, b: fb.zip([a.filter("id != 3"), b.rename("id", "id2").rename("tokens", "t2").filter("id2 != 1003")], until="first")
     .batch(12, remainder="drop"), "shard: branch 0 of `zip` has a stage that looks into its rows"),
    (lambda a, b: fb.mix([a, b.shuffle(5).repeat()], until="first").batch(12, remainder="drop"), "shard: branch 1: an order gives rows for ever"),
])
def test_what_cannot_be_shared_out_is_refused_with_the_way_out(folders: "dict[str, list[str]]", change: Both, words: str) -> None:
    pipe = change(*(examples(folders[name]).select(tensors=["id", "tokens"]) for name in "ab"))
    with pytest.raises(fb.ConfigError) as caught:
        pipe.load(shard=by_file(0, 2))
    assert str(caught.value).startswith("shard: ") and words in str(caught.value)


def test_a_corrupt_record_of_any_file_is_found_where_the_passes_are_counted(folders: "dict[str, list[str]]", tmp_path: pathlib.Path) -> None:
    paths = [str(tmp_path / f"{part}.tfrecord") for part in range(2)]
    for part, path in enumerate(paths):
        fb.write_records(path, [example(40 * part + i) for i in range(40)])
    with open(paths[1], "r+b") as file:
        file.seek(600)
        file.write(b"\xff\xff\xff")
    pipe = fb.concat([examples(paths), examples(paths)]).filter("id >= 0").batch(6, remainder="drop")
    for index in range(2):
        with pipe.load(shard=by_file(index, 2)) as loader, pytest.raises(fb.DataError, match="1.tfrecord"):
            list(loader)
    shards = [list(pipe.on_corrupt("skip_record").load(shard=by_file(index, 2))) for index in range(2)]
    assert len(shards[0]) == len(shards[1]) > 10


def test_closing_ends_the_thread_that_counts(folders: "dict[str, list[str]]") -> None:
    before = threading.active_count(), len(list(pathlib.Path("/proc/self/task").iterdir()))
    loader = pipeline(folders, "mix, dropped").load(shard=by_file(0, 2), threads=1)
    batch = next(loader)
    loader.close()
    assert (threading.active_count(), len(list(pathlib.Path("/proc/self/task").iterdir()))) == before
    assert batch.rows == 6
