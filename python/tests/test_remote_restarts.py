# SPDX-License-Identifier: Apache-2.0
"""Restarts of runs over files of other machines whose indexes are at hand: what comes before the place is not fetched again."""
from __future__ import annotations

import pathlib
from typing import Any, Callable

import numpy as np
import pytest
from stores import Store, new_store, store_of, write_parts

import forebay as fb


def records(files: str) -> fb.Pipeline:
    return fb.tfrecord(files).example({"id": fb.feature("int64")})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Four files; three of which one has a corrupt record; and five, two of them compressed."""
    folder = tmp_path_factory.mktemp("files")
    write_parts(folder)
    for number in range(4):
        fb.write_records(folder / f"q-{number}", [fb.encode_example({"id": [1000 + 100 * number + i], "v": np.arange(i % 5)}) for i in range(30)])
    for number, source in enumerate((0, 2, 3)):
        data = bytearray((folder / f"q-{source}").read_bytes())
        data[len(data) // 2] ^= number == 1
        (folder / f"c-{number}").write_bytes(data)
    return folder


@pytest.fixture
def stored(files: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> "tuple[str, Store]":
    """The same in a store, with the indexes of those that are whole."""
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / "cache"))
    root, store = store_of(files.iterdir())
    fb.index_files([f"{root}/{path.name}" for path in files.glob("[pq]*")])
    return root, store


PIPES: "dict[str, Callable[[str], Any]]" = {
    "in order": lambda at: records(f"{at}/q-*"),
    "buffer": lambda at: records(f"{at}/q-*").shuffle(13),
    "filter": lambda at: records(f"{at}/q-*").filter("id % 3 != 0").shuffle(7),
    "interleave": lambda at: records(f"{at}/q-*").interleave(3, block=2),
    "files": lambda at: records(f"{at}/q-*").shuffle(3).interleave(2),
    "compressed": lambda at: records(f"{at}/part-*"),
    "compressed in a buffer": lambda at: records(f"{at}/part-*").shuffle(9),
    "compressed side by side": lambda at: records(f"{at}/part-*").shuffle(4).interleave(3).filter("id % 4 != 1"),
    "compressed in a mixture": lambda at: fb.mix([records(f"{at}/part-*"), records(f"{at}/q-*")], until="all"),
    "mix": lambda at: fb.mix([records(f"{at}/q-[01]").shuffle(5), records(f"{at}/q-[23]")], until="all").shuffle(4),
    "zip": lambda at: fb.zip([records(f"{at}/q-[01]"), records(f"{at}/q-[23]").rename("id", "other")]),
    "windows": lambda at: fb.tfrecord(f"{at}/q-*").example({"id": fb.feature("int64"), "v": fb.feature("int64", shape=[None])})
                            .chunk(2, keys=["v"]).select(["id"]).shuffle(5),
    "skip_record": lambda at: records(f"{at}/c-*").on_corrupt("skip_record").shuffle(5),
    "skip_file": lambda at: records(f"{at}/c-*").on_corrupt("skip_file").shuffle(5),
    "take": lambda at: records(f"{at}/q-*").skip(11).take(70).shuffle(4),
}


def ids(loader: Any) -> "list[list[int]]":
    return [batch["id"].tolist() for batch in loader]


@pytest.mark.parametrize("name", PIPES)
def test_a_restart_at_every_batch_is_that_of_local_files(files: pathlib.Path, stored: "tuple[str, Store]", name: str) -> None:
    def pipe(at: str) -> Any:
        return PIPES[name](at).batch(8, remainder="keep").epochs(2).seed(5)

    root, _ = stored
    with pipe(str(files)).load() as loader:
        whole = ids(loader)
    states = []
    with pipe(root).load() as loader:
        for number in range(len(whole) + 1):
            states.append(loader.state_dict())
            assert number == len(whole) or next(loader)["id"].tolist() == whole[number]
    for number, state in enumerate(states):
        with pipe(root).load(threads=1 + 3 * (number % 2), memory="64MiB" if number % 3 else "16MiB") as loader:
            loader.load_state_dict(state)
            assert ids(loader) == whole[number:]
            if number < len(whole):
                loader.seek(number)
                assert next(loader)["id"].tolist() == whole[number]
    for index in range(2):
        for by in ("row", "batch"):
            shard = {"index": index, "count": 2, "by": by}
            with pipe(str(files)).load(shard=shard) as loader:
                own = ids(loader)
            with pipe(root).load(shard=shard) as loader:
                done = [next(loader)["id"].tolist() for _ in range(len(own) // 2)]
                state = loader.state_dict()
            with pipe(root).load(shard=shard) as loader:
                loader.load_state_dict(state)
                assert done + ids(loader) == own


@pytest.mark.parametrize(("order", "compression"), [("in order", None), ("buffer", None), ("in order", "gzip"), ("in order", "zstd"), ("side by side", "gzip")])
def test_what_comes_before_is_not_fetched(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, order: str, compression: "str | None") -> None:
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / "cache"))
    root, store = new_store()
    payload = np.random.default_rng(0)
    for number in range(20):
        fb.write_records(tmp_path / "one", [fb.encode_example({"id": [100 * number + i], "b": [payload.bytes(30_000)]}) for i in range(100)], compression)
        store.put(f"{root}/{number:02}", (tmp_path / "one").read_bytes())
    fb.index_files([f"{root}/{number:02}" for number in range(20)])
    pipe = {"in order": lambda pipe: pipe, "buffer": lambda pipe: pipe.shuffle(50), "side by side": lambda pipe: pipe.interleave(2)}[order](records(f"{root}/*")).batch(10)
    with pipe.load(memory="256MiB", prefetch=1) as loader:
        batches = [next(loader)["id"].tolist() for _ in range(185)]
    with pipe.load(memory="256MiB", prefetch=1) as loader:
        for _ in range(180):
            next(loader)
        state = loader.state_dict()
    store.calls.clear()
    with pipe.load(memory="256MiB", prefetch=1) as loader:
        loader.load_state_dict(state)
        assert [next(loader)["id"].tolist() for _ in range(3)] == batches[180:183]
        used = loader.stats().requests["bytes_used"]
    assert used < 20_000_000, "of 60 million bytes, the last three of twenty files and what is asked for ahead"
    touched = {path for kind, path in store.calls if kind == "read"}
    assert touched <= {f"{root}/{number:02}" for number in range(16, 20)}   # rows of 16 were in the buffer
