# SPDX-License-Identifier: Apache-2.0
"""The sources `npy`, `npz`, `idx` and `cifar`, and the presets of `fixed_length`, over files of other machines."""
from __future__ import annotations

import gzip
import pathlib
from typing import Any, Callable

import numpy as np
import pytest
from stores import Store, new_store
from test_stored_arrays import idx

import forebay as fb

ROWS = 60


@pytest.fixture
def files(tmp_path: pathlib.Path) -> pathlib.Path:
    """Arrays of each format, plain and compressed."""
    numbers = np.arange(ROWS * 6, dtype="<f4").reshape(ROWS, 2, 3)
    np.save(tmp_path / "x-0.npy", numbers[:25])
    np.save(tmp_path / "x-1.npy", numbers[25:])
    np.save(tmp_path / "empty.npy", numbers[:0])
    np.savez(tmp_path / "plain.npz", x=numbers, y=np.arange(ROWS))
    np.savez_compressed(tmp_path / "small.npz", x=numbers, y=np.arange(ROWS))
    pictures = np.random.default_rng(1).integers(0, 255, (ROWS, 3072), np.uint8)
    images = idx([ROWS, 4, 5], pictures[:, :20].tobytes())
    (tmp_path / "images").write_bytes(images)
    (tmp_path / "images.gz").write_bytes(gzip.compress(images))
    (tmp_path / "labels").write_bytes(idx([ROWS], bytes(range(ROWS))))
    records = np.concatenate([np.arange(ROWS, dtype=np.uint8)[:, None] % 10, pictures], axis=1).tobytes()
    (tmp_path / "cifar.bin").write_bytes(records)
    (tmp_path / "cifar.bin.gz").write_bytes(gzip.compress(records))
    return tmp_path


PIPES: "dict[str, Callable[[str], Any]]" = {
    "npy": lambda at: fb.npy({"x": [f"{at}/x-0.npy", f"{at}/empty.npy", f"{at}/x-1.npy"]}),
    "npy by pattern": lambda at: fb.npy({"x": [f"{at}/x-*.npy"]}),
    "npz": lambda at: fb.npz([f"{at}/plain.npz"]),
    "npz, deflated": lambda at: fb.npz([f"{at}/small.npz"], arrays=["y"]),
    "idx": lambda at: fb.idx({"image": [f"{at}/images"], "label": [f"{at}/labels"]}),
    "idx, gzip": lambda at: fb.idx({"image": [f"{at}/images.gz"], "label": [f"{at}/labels"]}),
    "cifar": lambda at: fb.cifar([f"{at}/cifar.bin"]),
    "cifar, gzip": lambda at: fb.cifar([f"{at}/cifar.bin.gz"]),
    "preset idx": lambda at: fb.fixed_length([f"{at}/images"], preset="idx").raw("uint8"),
    "preset cifar10": lambda at: fb.fixed_length([f"{at}/cifar.bin"], preset="cifar10").raw("uint8"),
    "mixture": lambda at: fb.mix([fb.npy({"x": [f"{at}/x-*.npy"]}), fb.npz([f"{at}/plain.npz"]).select(["x"])], weights=[1, 2]),
}
ORDERS: "dict[str, Callable[[Any], Any]]" = {"": lambda pipe: pipe, "global": lambda pipe: pipe.shuffle("global"), "buffer": lambda pipe: pipe.shuffle(9)}


def stored(files: pathlib.Path) -> "tuple[str, Store]":
    root, store = new_store()
    for path in files.iterdir():
        store.put(f"{root}/{path.name}", path.read_bytes())
    return root, store


def values(loader: Any) -> "list[dict[str, Any]]":
    return [{name: value.tolist() for name, value in batch.items()} for batch in loader]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", PIPES)
def test_the_rows_are_those_of_local_files(files: pathlib.Path, name: str, order: str) -> None:
    root, _ = stored(files)
    local, remote = (ORDERS[order](PIPES[name](at)).epochs(2).seed(3).batch(8) for at in (str(files), root))
    with local.load() as loader:
        wanted = values(loader)
    for threads in (1, 4):
        with remote.load(threads=threads) as loader:
            assert values(loader) == wanted
    with remote.load() as loader, remote.load() as other:
        for batch in range(3):
            assert values([next(loader)]) == wanted[batch:batch + 1]
        other.load_state_dict(loader.state_dict())
        assert values(other) == wanted[3:]
    with remote.load(shard=(1, 2)) as loader, local.load(shard=(1, 2)) as other:
        assert values(loader) == values(other)


@pytest.mark.parametrize("name", ["npy", "npz", "npz, deflated", "idx, gzip", "cifar"])
def test_a_replaced_file_gives_rows_of_one_version_or_an_error(files: pathlib.Path, name: str) -> None:
    root, store = stored(files)
    pipe = PIPES[name](root).batch(7)
    with pipe.load() as loader:
        before = values(loader)
    versions = dict(store.objects)
    reads = sum(1 for what, _ in store.calls if what == "read")
    for at in range(1, reads + 1):
        store.objects = dict(versions)
        left = at

        def replace(path: str, start: int) -> None:
            nonlocal left
            left -= 1
            if left == 0:   # other numbers behind the same header, of the same size
                data = bytearray(store.objects[path][0])
                data[-400:-300] = bytes(100)
                store.put(path, bytes(data))
        store.before_read = replace
        try:
            with pipe.load() as loader:
                found = values(loader)
        except (fb.DataError, fb.IoError):
            continue
        finally:
            store.before_read = lambda path, start: None
        with pipe.load() as loader:
            assert found in (before, values(loader))


def test_arrays_that_do_not_fit_are_refused_by_name(files: pathlib.Path) -> None:
    root, store = new_store()
    np.save(files / "large.npy", np.zeros((4, 1 << 20), np.uint8))
    store.put(f"{root}/large.npy", (files / "large.npy").read_bytes())
    pipe = fb.npy({"x": [f"{root}/large.npy"]}).batch(1)
    with pytest.raises(fb.DataError, match=r"large\.npy: arrays that are not mapped, because their files are compressed or of another machine, take 4194432 bytes"):
        values(pipe.load(memory="6MiB"))
    assert len(values(pipe.load(memory="64MiB"))) == 4
    with pytest.raises(fb.IoError, match="none.npy"):
        fb.npy({"x": [f"{root}/none.npy"]}).batch(1).plan()


def test_looks_into_files_see_what_local_ones_show(files: pathlib.Path) -> None:
    """Kinds are found behind compression, and in the header row of CSV."""
    lines = b"".join(b"line %d\n" % i for i in range(20))
    (files / "text.gz").write_bytes(gzip.compress(lines))
    (files / "rows.csv").write_text("a,b\n" + "".join(f"{i},{i / 2}\n" for i in range(20)))
    (files / "rows.csv.gz").write_bytes(gzip.compress((files / "rows.csv").read_bytes()))
    fb.write_records(files / "records.gz", [fb.encode_example({"x": i}) for i in range(20)], "gzip")
    root, _ = stored(files)
    for name in ("text.gz", "rows.csv", "rows.csv.gz", "records.gz", "x-0.npy", "plain.npz", "small.npz", "images", "images.gz"):
        here, there = fb.inspect(str(files / name)), fb.inspect(f"{root}/{name}")
        assert str(there).replace(f"{root}/", f"{files}/") == str(here), name
        if here.document is not None:
            assert values(there.pipeline().load()) == values(here.pipeline().load()), name
