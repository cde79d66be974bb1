# SPDX-License-Identifier: Apache-2.0
"""Indexes that lie with data of other machines: found, verified, and the data is not read to make them."""
from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any, Iterator

import pytest
from command import COMMAND
from stores import Store, new_store, write_parts

import forebay as fb


@pytest.fixture(autouse=True)
def machines(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> "Iterator[Any]":
    """Makes what follows happen on another machine, with a cache of its own."""
    def another() -> None:
        another.number += 1   # type: ignore[attr-defined]
        monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / f"cache-{another.number}"))   # type: ignore[attr-defined]
    another.number = 0   # type: ignore[attr-defined]
    another()
    yield another


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    out = tmp_path / "data"
    out.mkdir()
    write_parts(out)
    return out


def put(store: Store, root: str, folder: pathlib.Path) -> None:
    """Copies a folder with all that is below it."""
    for path in folder.rglob("*"):
        if path.is_file():
            store.put(f"{root}/{path.relative_to(folder)}", path.read_bytes())


def pipe(root: str, **options: Any) -> fb.Pipeline:
    return fb.tfrecord(f"{root}/part-*").example({"id": fb.feature("int64")}).shuffle("global").batch(8, remainder="keep").seed(3)


def ids(pipe: fb.Pipeline, **options: Any) -> "list[list[int]]":
    with pipe.load(threads=2, memory="64MiB", **options) as loader:
        return [batch["id"].tolist() for batch in loader]


def asked(store: Store, words: str) -> "list[tuple[str, str]]":
    return [call for call in store.calls if words in call[1]]


def test_the_folder_of_local_indexes_may_be_copied_with_the_data(folder: pathlib.Path, machines: Any) -> None:
    """`forebay index` of local files, then everything is copied to a bucket: their ends say that they are the same."""
    fb.index_files(f"{folder}/part-*")
    expected = ids(pipe(str(folder)))
    root, store = new_store()
    put(store, root, folder)
    machines()
    assert ids(pipe(root)) == expected
    assert len(asked(store, "catalogue-v1")) == 1 and asked(store, "index-v1")
    reports = fb.index_files([f"{root}/part-{number}" for number in range(5)])
    assert not any(report.built for report in reports), "they were taken into the cache, for the versions of the store"
    before = len(asked(store, ".forebay"))
    assert ids(pipe(root)) == expected
    assert len(asked(store, ".forebay")) == before, "a later run asks for nothing that is published"


@pytest.mark.parametrize("copied", [False, True])
def test_what_is_published_of_a_bucket_is_found_by_others(folder: pathlib.Path, machines: Any, tmp_path: pathlib.Path, copied: bool) -> None:
    root, store = new_store()
    put(store, root, folder)
    expected = ids(pipe(str(folder)))
    machines()
    fb.index_files([f"{root}/part-{number}" for number in range(5)], publish=tmp_path / "out")
    catalogue = json.loads((tmp_path / "out/catalogue-v1").read_text())
    assert [(file["name"], file["records"]) for file in catalogue["files"]] == [(f"part-{i}", rows) for i, rows in enumerate([40, 0, 33, 7, 21])]
    assert all(file["size"] == (folder / file["name"]).stat().st_size and "version" in file for file in catalogue["files"])
    if copied:   # elsewhere, where the files have other versions
        root, store = new_store()
        for _ in range(3):
            put(store, root, folder)
    for name in ("index-v1", "catalogue-v1"):
        store.put(f"{root}/.forebay/{name}", (tmp_path / "out" / name).read_bytes())
    store.calls.clear()
    machines()
    assert ids(pipe(root)) == expected
    reads = store.calls.count(("read", f"{root}/part-0"))
    store.calls.clear()
    machines()
    for name in ("index-v1", "catalogue-v1"):
        del store.objects[f"{root}/.forebay/{name}"]
    assert ids(pipe(root)) == expected
    assert reads - 2 * copied == store.calls.count(("read", f"{root}/part-0")) - 1, "but for both ends of a copy, the scan is saved"


def test_indexes_of_other_content_are_not_used(folder: pathlib.Path, machines: Any, tmp_path: pathlib.Path,
                                               capfd: pytest.CaptureFixture[str]) -> None:
    fb.index_files(f"{folder}/part-*")
    root, store = new_store()
    put(store, root, folder)
    other = bytearray((folder / "part-3").read_bytes())
    records = fb.read_records(folder / "part-3")
    fb.write_records(folder / "part-3", records[::-1], None)
    store.put(f"{root}/part-3", (folder / "part-3").read_bytes())
    assert len(other) == (folder / "part-3").stat().st_size
    machines()
    found = ids(pipe(root))
    assert sorted(sum(found, [])) == list(range(101))
    assert found == ids(pipe(str(folder)))
    assert "1 published index is not used, that of '" in capfd.readouterr().err


@pytest.mark.parametrize("harm", ["cut", "flipped", "page", "empty", "other catalogue", "no catalogue"])
def test_what_is_published_and_broken_is_made_again(folder: pathlib.Path, machines: Any, tmp_path: pathlib.Path, harm: str) -> None:
    root, store = new_store()
    put(store, root, folder)
    expected = ids(pipe(str(folder)))
    fb.index_files([f"{root}/part-{number}" for number in range(5)], publish=tmp_path / "out")
    index, catalogue = ((tmp_path / "out" / name).read_bytes() for name in ("index-v1", "catalogue-v1"))
    if harm == "cut":
        index = index[:len(index) * 2 // 3]
    elif harm == "flipped":
        middle = len(index) // 2
        index = index[:middle] + bytes([index[middle] ^ 8]) + index[middle + 1:]
    elif harm == "page":
        index = catalogue = b"<html>there is nothing here</html>"
    elif harm == "empty":
        index = catalogue = b""
    elif harm == "other catalogue":
        catalogue = json.dumps({"files": [{"name": "part-0", "size": 3, "version": "00", "records": 1, "offset": 0, "bytes": 10 ** 15}]}).encode()
    store.put(f"{root}/.forebay/index-v1", index)
    if harm != "no catalogue":
        store.put(f"{root}/.forebay/catalogue-v1", catalogue)
    machines()
    assert ids(pipe(root)) == expected


def test_formats_without_checksums_need_the_version(tmp_path: pathlib.Path, machines: Any, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    (folder / "a.jsonl").write_text("".join(f'{{"id": {row}}}\n' for row in range(50)))

    def lines(root: str) -> fb.Pipeline:
        return fb.json_lines(f"{root}/a.jsonl", {"id": "int64"}).shuffle("global").batch(8, remainder="keep").seed(3)

    expected = ids(lines(str(folder)))
    root, store = new_store()
    put(store, root, folder)
    machines()
    assert ids(lines(root)) == expected
    assert "a format without checksums needs the version of the file" in capfd.readouterr().err


def test_attributes_are_published_too(folder: pathlib.Path, machines: Any, tmp_path: pathlib.Path) -> None:
    def filtered(root: str) -> "dict[str, Any]":
        return {"source": {"tfrecord": {"files": [f"{root}/part-{number}" for number in range(5)]}},
                "decode": {"example": {"features": {"id": {"dtype": "int64"}}}},
                "steps": [{"filter": {"where": "id % 3 == 0"}}, {"shuffle": {"global": True}}, {"batch": {"size": 8, "remainder": "keep"}}], "seed": 3}

    document = folder / "train.json"
    document.write_text(json.dumps(filtered(str(folder))))
    done = subprocess.run([COMMAND, "index", "--document", document, "--publish", tmp_path / "out"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "index-v1 and catalogue-v1; copy both to" in done.stdout, done.stderr
    document.unlink()
    root, store = new_store()
    for path in folder.glob("part-*"):
        store.put(f"{root}/{path.name}", path.read_bytes())
    for name in ("index-v1", "catalogue-v1"):
        store.put(f"{root}/.forebay/{name}", (tmp_path / "out" / name).read_bytes())
    with fb.load(filtered(str(folder))) as loader:
        expected = [batch["id"].tolist() for batch in loader]
    machines()
    with fb.load(filtered(root), memory="64MiB") as loader:
        assert len(loader) == len(expected), "known before the first batch"
        assert [batch["id"].tolist() for batch in loader] == expected


def test_the_store_beside_the_data_may_be_what_is_published(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    fb.index_files(f"{folder}/part-*")
    fb.index_files(f"{folder}/part-*", publish=folder / ".forebay")
    assert sorted(path.name for path in (folder / ".forebay").iterdir()) == ["catalogue-v1", "index-v1"]
    assert not any(report.built for report in fb.index_files(f"{folder}/part-*"))


def test_what_is_wrong_with_a_publication_is_said(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "x").write_bytes((folder / "part-0").read_bytes())
    with pytest.raises(fb.ConfigError, match="files of two folders cannot be published together"):
        fb.index_files([f"{folder}/part-0", f"{other}/x"], publish=tmp_path / "out")
    (folder / "part-0").write_bytes(b"no records at all, but some bytes")
    with pytest.raises(fb.DataError):
        fb.index_files(f"{folder}/part-*", publish=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(fb.IoError):
        fb.index_files(f"{other}/x", publish=tmp_path / "file")
