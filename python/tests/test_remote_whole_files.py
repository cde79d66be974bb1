# SPDX-License-Identifier: Apache-2.0
"""Files that are records, of other machines: the stream of local ones, whatever the order, or an error that names the file."""
from __future__ import annotations

import io
import itertools
import pathlib
from typing import Any, Callable, Iterator

import numpy as np
import pytest
from PIL import Image
from stores import Inside, Store, Telling, check_restarts, new_store
from web_server import Web, says

import forebay as fb

ORDERS: "dict[str, Callable[[fb.Pipeline], fb.Pipeline]]" = {
    "in order": lambda pipe: pipe, "buffer": lambda pipe: pipe.shuffle(buffer=40), "global": lambda pipe: pipe.shuffle("global"),
    "filter": lambda pipe: pipe.filter("label != 1"), "again": lambda pipe: pipe.shuffle("global").repeat(2)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    out = tmp_path_factory.mktemp("whole")
    rng = np.random.default_rng(3)
    for number in range(150):
        path = out / f"class{number % 3}" / f"{number:03}.bin"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"" if number % 41 == 7 else rng.bytes(int(rng.integers(1, 40_000))))
    (out / "class0" / "large.bin").write_bytes(rng.bytes(3 << 20))
    return out


@pytest.fixture(params=["asked", "listed"])
def stored(folder: pathlib.Path, request: pytest.FixtureRequest) -> "tuple[str, Store]":
    """With versions that lists tell, files are asked for long before their turn."""
    base, store = new_store(Telling() if request.param == "listed" else Store())
    for path in folder.rglob("*.bin"):
        store.put(f"{base}/{path.relative_to(folder)}", path.read_bytes())
    return base, store


@pytest.fixture
def web() -> "Iterator[Web]":
    with Web() as server:
        yield server


def pipeline(files: Any, order: str = "in order", size: int = 8, **options: Any) -> fb.Pipeline:
    return ORDERS[order](fb.whole_file(files, label_from="folder", **options).record("data")).epochs(2).batch(size, remainder="drop").seed(5)


def values(loader: Any) -> "list[Any]":
    return [(batch["data"].tolist(), batch["label"].tolist()) for batch in loader]


@pytest.mark.parametrize("order", ORDERS)
def test_the_stream_is_that_of_local_files_and_so_is_its_rest(folder: pathlib.Path, stored: "tuple[str, Store]", order: str) -> None:
    base, store = stored
    wanted = values(pipeline(f"{folder}/*/*.bin", order).load())
    pipe = pipeline(f"{base}/*/*.bin", order)
    for threads in (1, 4):
        assert values(pipe.load(threads=threads)) == wanted
        check_restarts(pipe, wanted, threads, 6, values)
    assert {path for kind, path in store.calls if kind == "read"} == {path for path, (data, _) in store.objects.items() if data}


@pytest.mark.parametrize("order", ["in order", "global"])
def test_they_come_over_http(folder: pathlib.Path, web: Web, order: str) -> None:
    files = sorted(folder.glob("*/*.bin"))
    urls = [f"{web.url}/{path.parent.name}/{path.name}" for path in files]
    for path in files:
        web.put(f"/{path.parent.name}/{path.name}", path.read_bytes())
    assert values(pipeline(urls, order).load(threads=2)) == values(pipeline([str(path) for path in files], order).load())


@pytest.mark.parametrize("largest", [2_000, 600_000])
def test_many_small_named_files_cost_one_request_each(tmp_path: pathlib.Path, web: Web, largest: int) -> None:
    """The version comes with the bytes, as many as the files before had. The first ones, and those that are larger, cost two."""
    rng = np.random.default_rng(largest)
    urls = []
    for number in range(1100):      # of fewer, the plan asks for the versions
        size = largest if number % 400 == 399 else int(rng.integers(0, 2_000)) if number % 50 else 0
        (tmp_path / f"{number:04}.bin").write_bytes(rng.bytes(size))
        web.put(f"/{number:04}.bin", (tmp_path / f"{number:04}.bin").read_bytes())
        urls.append(f"{web.url}/{number:04}.bin")
    for memory in ("256MiB", "4MiB"):
        web.asked.clear()
        with fb.whole_file(urls).record("data").batch(20).load(threads=2, memory=memory) as loader:
            assert [data for batch in loader for data in batch["data"].tolist()] == [path.read_bytes() for path in sorted(tmp_path.glob("*.bin"))]
            requests = loader.stats().requests
        assert len(web.asked) == sum(requests[kind] for kind in ("finds", "reads", "hedges", "refused", "failed", "broken", "stalled"))
        if memory == "256MiB":
            assert web.count("HEAD") <= 200 and len(web.asked) <= 1400


def test_shards_read_their_own_files(folder: pathlib.Path, stored: "tuple[str, Store]") -> None:
    base, store = stored
    wanted = values(pipeline(f"{folder}/*/*.bin", "global").epochs(1).load())
    seen = []
    for rank in range(2):
        store.calls.clear()
        with pipeline(f"{base}/*/*.bin", "global").epochs(1).load(shard=(rank, 2)) as loader:
            seen.append(values(loader))
        assert len({path for kind, path in store.calls if kind == "read"}) < 100, "each reads its half of 150 files"
    together = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(*seen)]
    assert together == wanted


def test_a_file_that_is_replaced_is_an_error(stored: "tuple[str, Store]") -> None:
    base, store = stored
    name = f"{base}/class2/149.bin"

    def replace(path: str, _: int) -> None:
        if [read for kind, read in store.calls if kind == "read"].count(path) == 2:     # in the second epoch
            store.put(name, b"other bytes")
    store.before_read = replace
    with pipeline(f"{base}/*/*.bin").load() as loader:
        with pytest.raises(fb.DataError, match=f"{name}.*file changed"):
            values(loader)


def test_a_file_that_is_missing_or_large_is_an_error_or_is_skipped(stored: "tuple[str, Store]") -> None:
    base, store = stored
    files = [f"{base}/class0/000.bin", f"{base}/class0/none.bin", f"{base}/class0/large.bin", f"{base}/class0/003.bin"]
    with pytest.raises(fb.IoError, match="none.bin.*there is no such file"):
        pipeline(files).plan()
    limited = pipeline(files, size=2, max_file_bytes=1 << 20)
    with pytest.raises(fb.DataError, match="large.bin.*3145728 bytes, more than max_file_bytes, 1048576"):
        values(pipeline(files[2:], size=1, max_file_bytes=1 << 20).load())
    with limited.on_corrupt("skip_file", max_fraction=1).epochs(1).load() as loader:
        assert [row for batch in values(loader) for row in batch[0]] == [store.objects[files[0]][0], store.objects[files[3]][0]]
        assert loader.stats().skipped_files == 2
    with pytest.raises(fb.DataError, match="3145728 bytes, more than `memory`"):
        values(pipeline([f"{base}/class0/large.bin"], size=1).load(memory=2 << 20))
    assert not any(kind == "read" and path.endswith("large.bin") for kind, path in store.calls), "nothing of it is asked for"


def test_faults_of_a_server_are_tried_again(folder: pathlib.Path, web: Web) -> None:
    files = sorted(folder.glob("class2/*.bin"))
    urls = [f"{web.url}/class2/{path.name}" for path in files]
    for path in files:
        web.put(f"/class2/{path.name}", path.read_bytes())
    asked: "list[int]" = []

    def fault(request: Any) -> Any:
        asked.append(1)
        return says(503) if len(asked) % 5 == 0 else None
    web.fault = fault
    assert values(pipeline(urls).load(threads=3)) == values(pipeline([str(path) for path in files]).load())


def test_pictures_in_a_bucket_are_a_data_set(tmp_path: pathlib.Path) -> None:
    base, store = new_store()
    for number in range(30):
        out = io.BytesIO()
        Image.fromarray(np.full((4, 4, 3), number, np.uint8)).save(out, "png")
        store.put(f"{base}/train/{'cats' if number % 2 else 'dogs'}/{number}.png", out.getvalue())
    pipe = fb.whole_file(f"{base}/train/*/*.png", label_from="folder", record_key="key").record("image").decode_image("image").shuffle("global")
    with pipe.batch(10).epochs(1).load() as loader:
        assert list(loader.schema["label"].categories) == [b"cats", b"dogs"]
        rows = [(int(image[0, 0, 0]), int(label), key) for batch in loader
                for image, label, key in zip(batch["image"], batch["label"], batch["key"].tolist())]
    assert sorted(rows) == sorted((n, 0 if n % 2 else 1, f"{base}/train/{'cats' if n % 2 else 'dogs'}/{n}.png".encode()) for n in range(30))


@pytest.mark.parametrize("order", ["global", "again"])
def test_files_of_later_batches_are_asked_for_while_a_batch_waits(folder: pathlib.Path, order: str) -> None:
    base, store = new_store(Telling())
    for path in folder.glob("class*/[0-9]*.bin"):
        store.put(f"{base}/{path.relative_to(folder)}", path.read_bytes())
    store.before_read = inside = Inside(.02)
    with pipeline(f"{base}/*/*.bin", order, size=2).load(threads=1, memory="64MiB", requests=12) as loader:
        found = values(loader)
    assert found == values(pipeline(sorted(map(str, folder.glob("class*/[0-9]*.bin"))), order, size=2).load())
    assert inside.most == 12


def test_files_that_are_asked_for_ahead_keep_to_the_budget(folder: pathlib.Path) -> None:
    base, store = new_store(Telling())
    for number in range(60):
        store.put(f"{base}/class0/{number:02}.bin", bytes([number]) * (1 << 20))
    with pipeline(f"{base}/*/*.bin", "global", size=4).load(threads=2, memory="16MiB") as loader:
        most, count = 0, 0
        for batch in loader:
            most, count = max(most, loader.stats().memory_used), count + 1
            del batch
    assert count == 30 and most <= 24 << 20, "the budget, and a batch that is made when it is full"


def test_a_file_that_is_replaced_when_it_was_asked_for_ahead_is_an_error(folder: pathlib.Path) -> None:
    base, store = new_store(Telling())
    for path in folder.glob("class0/0*.bin"):
        store.put(f"{base}/class0/{path.name}", path.read_bytes())
    name = f"{base}/class0/045.bin"
    with pipeline(f"{base}/*/*.bin", "global", size=2).load(threads=1) as loader:
        before = values(loader)
    store.before_read = lambda path, start: store.put(name, b"another") if path == name else None
    with pipeline(f"{base}/*/*.bin", "global", size=2).load(threads=1) as loader:
        found = []
        with pytest.raises(fb.DataError, match=f"{name}.*: the file changed while it was read"):
            for batch in loader:
                found += values([batch])
    assert found == before[:len(found)]


def test_batches_that_are_left_out_give_back_what_was_asked_for(folder: pathlib.Path) -> None:
    base, store = new_store(Telling())
    for number in range(100):
        store.put(f"{base}/class0/{number:02}.bin", bytes([number]) * 100_000)
    pipe = pipeline(f"{base}/*/*.bin", "global", size=5).epochs(None).epoch_boundary("hard")
    local = values(itertools.islice(pipe.load(), 200))
    with pipe.load(threads=2, memory="16MiB") as loader:
        for epoch in itertools.islice(loader.epochs(), 10):     # each leaves 17 batches out
            assert values(itertools.islice(epoch, 3)) == local[20 * epoch.number:20 * epoch.number + 3]
