# SPDX-License-Identifier: Apache-2.0
"""Shards by row, batch and element of files of other machines: each process fetches the large records of its own rows only."""
from __future__ import annotations

import pathlib
import threading
import time
from typing import Any, Callable

import numpy as np
import pytest
from stores import Store, store_of

import forebay as fb

SIZE = 66_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Three files of records that are worth a request, one of small ones, one compressed; and two with a corrupt record."""
    folder = tmp_path_factory.mktemp("files")
    for number, (name, count, size, compression) in enumerate(
            [("a-0", 17, SIZE, None), ("a-1", 9, SIZE, None), ("a-2", 21, SIZE, None), ("b-0", 30, 200, None), ("b-1", 10, SIZE, "gzip")]):
        noise = np.random.default_rng(number)
        fb.write_records(folder / name, [fb.encode_example({"id": [100 * number + i], "v": np.arange(i % 5), "b": [noise.bytes(size)]})
                                         for i in range(count)], compression)
    for number in range(2):
        data = bytearray((folder / f"a-{number}").read_bytes())
        data[len(data) // 2] ^= 1
        (folder / f"c-{number}").write_bytes(data)
    return folder


@pytest.fixture
def stored(files: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> "tuple[str, Store]":
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / "cache"))
    return store_of(files.glob("[abc]-*"))


def records(files: str) -> fb.Pipeline:
    return fb.tfrecord(files).example({"id": fb.feature("int64")})


def cut(files: str) -> fb.Pipeline:
    return fb.tfrecord(files).example({"id": fb.feature("int64"), "v": fb.feature("int64", shape=[None])})


PIPES: "dict[str, Callable[[str], Any]]" = {
    "in order": lambda at: records(f"{at}/a-*"),
    "buffer": lambda at: records(f"{at}/a-*").shuffle(13),
    "global": lambda at: records(f"{at}/a-*").shuffle(global_=True),
    "all kinds": lambda at: records(f"{at}/[ab]-*").shuffle(9),
    "all kinds, global": lambda at: records(f"{at}/[ab]-*").shuffle(global_=True),
    "filter": lambda at: records(f"{at}/a-*").filter("id % 3 != 0").shuffle(7),
    "interleave": lambda at: records(f"{at}/a-*").interleave(3, block=2).skip(3).take(30),
    "lengths": lambda at: cut(f"{at}/a-*").buckets("v", [3, 5], [6, 6]),
    "mix": lambda at: fb.mix([records(f"{at}/a-[01]").shuffle(5), records(f"{at}/[ab]-2")], until="all").shuffle(4),
    "zip": lambda at: fb.zip([records(f"{at}/a-0"), records(f"{at}/a-2").take(17).rename("id", "other")]).shuffle(5),
    "windows": lambda at: cut(f"{at}/a-*").chunk(2, keys=["v"]).select(["id"]).shuffle(5),
    "batches": lambda at: records(f"{at}/a-*").batch(6).shuffle_batches(3),
    "skip_record": lambda at: records(f"{at}/c-*").on_corrupt("skip_record").shuffle(5),
    "skip_file": lambda at: records(f"{at}/c-*").on_corrupt("skip_file").shuffle(5),
    "repeat": lambda at: records(f"{at}/a-1").repeat(3).shuffle(20),
}


def rows(loader: Any) -> "list[Any]":
    return [{name: np.asarray(value).tolist() for name, value in batch.items()} for batch in loader]


def pipe_of(name: str, at: str, boundary: str = "straddle") -> Any:
    pipe = PIPES[name](at)
    batched = name in ("batches", "lengths")
    return (pipe if batched else pipe.batch(6, remainder="keep")).epochs(2).epoch_boundary(boundary).seed(5)


SHARDS: "list[dict[str, Any]]" = [{"index": index, "count": count, "by": by}
                                  for count, by in ((2, "row"), (3, "row"), (2, "batch"), (3, "element")) for index in range(count)]


@pytest.mark.parametrize(("indexed", "boundary"), [(True, "straddle"), (True, "hard"), (False, "straddle")])
@pytest.mark.parametrize("name", PIPES)
def test_a_shard_has_the_rows_of_local_files(files: pathlib.Path, stored: "tuple[str, Store]", name: str, indexed: bool, boundary: str) -> None:
    root, store = stored
    store.before_read = lambda path, start: time.sleep(.001 * (start // SIZE % 3))
    local, remote = pipe_of(name, str(files), boundary), pipe_of(name, root, boundary)
    if indexed:
        fb.index_files(remote)
    for number, shard in enumerate(SHARDS):
        try:
            with local.load(shard=shard) as loader:
                whole = rows(loader)
        except fb.ConfigError as refused:
            with pytest.raises(fb.ConfigError) as error:
                remote.load(shard=shard)
            assert str(error.value).replace(root, str(files)) == str(refused)
            continue
        with remote.load(shard=shard, threads=1 + 3 * (number % 2), memory="24MiB" if number % 3 else None) as loader:
            assert rows(loader) == whole
        states = []
        with remote.load(shard=shard) as loader:
            for _ in range(len(whole)):
                states.append(loader.state_dict())
                next(loader)
        for at, state in list(enumerate(states))[number % 3::3]:
            with remote.load(shard=shard, threads=4 - 3 * (number % 2)) as loader:
                loader.load_state_dict(state)
                assert rows(loader) == whole[at:]


@pytest.mark.parametrize("order", ["in order", "buffer", "global", "interleave", "filter", "mix", "windows"])
def test_a_shard_fetches_its_own_rows_and_says_so(stored: "tuple[str, Store]", order: str) -> None:
    root, store = stored
    pipe = pipe_of(order, root)
    fb.index_files(pipe)
    fetched = []
    for index in range(3):
        store.calls.clear()
        with pipe.load(shard=(index, 3), threads=2) as loader:
            for _ in loader:
                pass
            stats = loader.stats()
        assert f"{stats.shard_files[0]} files: own records only; " in stats.shard_reading
        assert stats.read_amplification < 1.001, "records and their checksums"
        if order != "windows":  # a batch asks for records that an earlier one, which is not made yet, will have brought
            assert stats.requests["bytes_used"] <= stats.bytes_read * 1.001, "and what lies between neighbours"
        fetched.append(stats.bytes_read)
    with pipe.load() as loader:
        rows_of_all = sum(len(batch["id"]) for batch in loader)
    assert sum(fetched) <= rows_of_all * (SIZE + 300)


def test_what_is_read_whole_is_said(files: pathlib.Path, stored: "tuple[str, Store]") -> None:
    root, _ = stored

    def reading(pipe: Any) -> str:
        with pipe.load(shard=(0, 2)) as loader:
            for _ in loader:
                pass
            return str(loader.stats().shard_reading)

    assert f"3 files: read whole ({root}/a-0: it has no index; `forebay index` makes one)" in reading(pipe_of("in order", root))
    assert reading(pipe_of("global", root)).startswith("3 files: own records only"), "the order by number has made the indexes"
    line = f"3 files: own records only, 2 files: read whole ({root}/b-0: its records have "
    for name in ("all kinds", "all kinds, global"):
        fb.index_files(pipe_of(name, root))
        assert reading(pipe_of(name, root)).startswith(line)


def test_rows_of_later_batches_are_asked_for_while_earlier_ones_come(stored: "tuple[str, Store]") -> None:
    root, store = stored
    pipe = records(f"{root}/a-*").shuffle(20).batch(2)
    fb.index_files(f"{root}/a-*")
    lock, here, most = threading.Lock(), set(), []

    def wait_for_others(path: str, start: int) -> None:
        with lock:
            here.add((path, start))
            most.append(len(here))
        deadline = time.monotonic() + 60
        while max(most) < 8 and time.monotonic() < deadline:
            time.sleep(0.001)
        with lock:
            here.discard((path, start))

    store.before_read = wait_for_others
    with pipe.load(shard=(0, 2), threads=1) as loader:
        next(loader)
    assert max(most) >= 8, "requests in flight, of a row each"


def test_published_indexes_are_enough(files: pathlib.Path, stored: "tuple[str, Store]", tmp_path: pathlib.Path,
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    root, store = stored
    fb.index_files(f"{root}/a-*", publish=tmp_path / "out")
    for path in (tmp_path / "out").iterdir():
        store.put(f"{root}/.forebay/{path.name}", path.read_bytes())
    for index in range(2):
        monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / f"rank-{index}"))
        with pipe_of("buffer", str(files)).load(shard=(index, 2)) as loader:
            whole = rows(loader)
        with pipe_of("buffer", root).load(shard=(index, 2)) as loader:
            assert rows(loader) == whole
            assert loader.stats().shard_files == (3, 0)


def test_a_file_that_is_replaced_is_an_error_of_the_shard_that_reads_it(stored: "tuple[str, Store]") -> None:
    root, store = stored
    pipe = records(f"{root}/a-*").batch(6)
    fb.index_files(pipe)
    with pipe.load(shard=(0, 3), memory="2MiB", prefetch=1) as loader:
        next(loader)
        store.put(f"{root}/a-2", store.objects[f"{root}/a-1"][0])
        with pytest.raises(fb.DataError, match="a-2.*changed"):
            for _ in loader:
                pass


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("order", [lambda at: records(f"{at}/c-*"), lambda at: records(f"{at}/c-*").shuffle(9), lambda at: records(f"{at}/c-*").shuffle(global_=True)])
def test_a_corrupt_record_is_an_error_after_the_batches_before_it(files: pathlib.Path, stored: "tuple[str, Store]", order: Any, indexed: bool) -> None:
    root, _ = stored

    def until_it_fails(at: str, shard: Any) -> "tuple[list[Any], str]":
        done = []
        with order(at).batch(6, remainder="keep").seed(3).load(shard=shard, threads=2) as loader:
            try:
                for batch in loader:
                    done.append(batch["id"].tolist())
            except fb.DataError as error:
                return done, str(error).replace(at, "")
        return done, ""

    if indexed:
        for at in (root, str(files)):
            fb.index_files([f"{at}/c-{number}" for number in range(2)])
    found = [until_it_fails(root, (index, 3)) for index in range(3)]
    assert found == [until_it_fails(str(files), (index, 3)) for index in range(3)]
    assert any(error for _, error in found)
