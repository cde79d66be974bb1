# SPDX-License-Identifier: Apache-2.0
"""The source `whole_file`: each file is one record, and a part is 4,096 files."""
from __future__ import annotations

import itertools
import json
import os
import pathlib
import random
import re
from typing import Iterable

import pytest
from command import forebay
from streams import digests, resumed

import forebay as fb

Record = tuple[str, bytes]


def stream(loader: Iterable[fb.Batch]) -> list[Record]:
    return [record for batch in loader for record in zip(batch.record_keys, batch["record"].tolist())]


def write_files(folder: pathlib.Path, count: int, largest: int = 3000) -> list[Record]:
    rng = random.Random(count)
    out = []
    for i in range(count):
        path = folder / f"{i:05}.bin"
        content = b"%d " % i + rng.randbytes(rng.randrange(largest)) if i % 50 else b""
        path.write_bytes(content)
        out.append((str(path), content))
    return out


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """More files than a part has."""
    return write_files(tmp_path_factory.mktemp("many"), 4600, 300)


def pipe_of(records: list[Record]) -> fb.Pipeline:
    return fb.whole_file([path for path, _ in records]).record()


@pytest.mark.parametrize("threads", [1, 8])
def test_every_file_is_a_record_and_its_path_the_key(many: list[Record], threads: int) -> None:
    assert stream(pipe_of(many).batch(100).load(threads=threads)) == many


def test_files_of_any_size_stand_beside_each_other(tmp_path: pathlib.Path) -> None:
    records = []
    for i, size in enumerate([0, 5, 1 << 20, 1, (1 << 20) + 1, 3 << 20, 0, 700_000, 700_000, 12, 33 << 20, 2]):
        path = tmp_path / f"{i}.bin"
        path.write_bytes(random.Random(i).randbytes(size))
        records.append((str(path), path.read_bytes()))
    for threads in (1, 8):
        assert stream(pipe_of(records).batch(3).load(threads=threads)) == records
        assert sorted(stream(pipe_of(records).shuffle(global_=True).batch(3).load(threads=threads))) == sorted(records)


@pytest.mark.parametrize("options", [{"buffer": 700}, {"global_": True}])
def test_shuffled_files_are_all_files_and_the_same_for_every_thread_count(many: list[Record], options: dict) -> None:
    pipe = pipe_of(many).shuffle(**options).batch(100).epochs(2).seed(3)
    one = stream(pipe.load(threads=1))
    assert one == stream(pipe.load(threads=8))
    assert sorted(one[:len(many)]) == sorted(one[len(many):]) == sorted(many)
    assert one[:len(many)] != many and one[:len(many)] != one[len(many):]
    assert not (pathlib.Path(many[0][0]).parent / ".forebay").exists()


@pytest.mark.parametrize("order", ["none", "buffer", "global"])
def test_a_restart_at_any_batch_is_exact(many: list[Record], order: str) -> None:
    orders = {"none": lambda pipe: pipe, "buffer": lambda pipe: pipe.shuffle(buffer=300),
              "global": lambda pipe: pipe.shuffle(global_=True)}
    pipe = orders[order](pipe_of(many)).batch(300).epochs(2).seed(9)
    whole = digests(pipe.load(threads=2))
    for batches in [0, 1, 2, 13, 14, 15, 16, 29, len(whole)]:
        loader = pipe.load(threads=2)
        assert digests(itertools.islice(loader, batches)) == whole[:batches]
        assert digests(resumed(pipe, loader.state_dict(), threads=1 + batches % 3)) == whole[batches:]


def test_shards_of_rows_share_all_files_and_shards_of_files_share_parts(many: list[Record]) -> None:
    pipe = pipe_of(many).batch(100, remainder="drop")
    rows = [stream(pipe.load(threads=2, shard={"index": i, "count": 2})) for i in range(2)]
    assert sorted(rows[0] + rows[1]) == sorted(many)
    parts = [stream(pipe.load(threads=2, shard={"index": i, "count": 2, "by": "file"})) for i in range(2)]
    assert parts[0] == many[:500] and parts[1] == many[4096:4596]  # as many batches on every rank


def test_shards_of_rows_of_a_global_shuffle_read_only_their_own_files(many: list[Record]) -> None:
    pipe = pipe_of(many).shuffle(global_=True).batch(100)
    records, read = [], []
    for i in range(4):
        loader = pipe.load(threads=2, shard={"index": i, "count": 4})
        records += stream(loader)
        read.append(loader.stats().bytes_read)
    assert sorted(records) == sorted(many)
    assert sum(read) == sum(len(content) for _, content in many)
    assert max(read) < 0.3 * sum(read)


def test_origins_name_the_file(many: list[Record]) -> None:
    for pipe in (pipe_of(many), pipe_of(many).shuffle(global_=True)):
        batch = next(iter(pipe.batch(4500).load()))
        assert batch.origins == [(key, 0, 0) for key in batch.record_keys]


def test_a_missing_file_is_an_error_of_the_plan(tmp_path: pathlib.Path) -> None:
    records = write_files(tmp_path, 3)
    os.unlink(records[1][0])
    with pytest.raises(fb.IoError, match=re.escape(records[1][0])):
        pipe_of(records).batch(1).load()


def test_a_file_that_vanishes_is_an_error_after_the_files_before_it(tmp_path: pathlib.Path) -> None:
    records = write_files(tmp_path, 3000)
    loader = pipe_of(records).batch(1).load(threads=1, prefetch=1)
    got = stream([next(loader)])
    os.unlink(records[2500][0])
    with pytest.raises(fb.IoError, match=re.escape(records[2500][0])):
        for batch in loader:
            got += stream([batch])
    assert got == records[:2500]


@pytest.mark.parametrize("order", [[], [{"shuffle": {"buffer": 5}}]])
def test_missing_and_too_large_files_are_skipped_as_asked(tmp_path: pathlib.Path, order: list) -> None:
    records = write_files(tmp_path, 60)
    os.unlink(records[7][0])
    pathlib.Path(records[30][0]).write_bytes(b"x" * 9000)
    expected = [record for i, record in enumerate(records) if i not in (7, 30)]
    document = {"source": {"whole_file": {"files": [path for path, _ in records], "max_file_bytes": 5000}},
                "decode": {"record": {}}, "steps": [*order, {"batch": {"size": 9}}], "on_corrupt": "skip_file"}
    loader = fb.load(document, threads=2)
    assert sorted(stream(loader)) == expected
    assert loader.stats().skipped_files == 2
    document["steps"] = [{"shuffle": {"global": True}}, {"batch": {"size": 9}}]
    with pytest.raises(fb.ConfigError, match="cannot be skipped in a global shuffle"):
        next(fb.load(document))
    document["on_corrupt"] = "fail"
    pathlib.Path(records[7][0]).write_bytes(b"")
    with pytest.raises(fb.DataError, match=r"00030\.bin: the file has 9000 bytes, more than max_file_bytes, 5000"):
        list(fb.load(document))


def test_malformed_files_are_skipped_records(tmp_path: pathlib.Path) -> None:
    records = []
    for i in range(40):
        path = tmp_path / f"{i:02}.pb"
        path.write_bytes(fb.encode_example({"id": i}) if i % 9 else b"\xff\xff malformed")
        records.append(str(path))
    document = {"source": {"whole_file": {"files": records}}, "on_corrupt": "skip_record",
                "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []}}}},
                "steps": [{"batch": {"size": 7}}]}
    loader = fb.load(document, threads=2)
    keys = {key: value for batch in loader for key, value in zip(batch.record_keys, batch["id"].tolist())}
    assert keys == {records[i]: i for i in range(40) if i % 9}
    assert loader.stats().skipped_records == 5
    with pytest.raises(fb.DataError, match=re.escape(records[0])):
        next(fb.load({**document, "on_corrupt": "fail"}))


def test_a_file_that_changes_between_two_epochs_is_an_error(tmp_path: pathlib.Path) -> None:
    records = write_files(tmp_path, 20)
    loader = pipe_of(records).batch(20).epochs(None).load(threads=1, prefetch=1)
    next(loader)
    pathlib.Path(records[11][0]).write_bytes(b"another version")
    with pytest.raises(fb.DataError, match=r"00011\.bin: the file changed while it was read"):
        for _ in range(100):
            next(loader)


def test_a_small_budget_is_enough_for_a_buffer_of_many_files(tmp_path: pathlib.Path) -> None:
    records = write_files(tmp_path, 1200, 20_000)
    for options in ({"buffer": 200}, {"global_": True}):
        loader = pipe_of(records).shuffle(**options).batch(10).load(threads=2, memory="16MiB")
        assert sorted(stream(loader)) == sorted(records)


def test_head_and_verify_work_and_an_index_is_refused(tmp_path: pathlib.Path) -> None:
    records = write_files(tmp_path, 3)
    document = tmp_path / "doc.json"
    document.write_text(json.dumps({"source": {"whole_file": {"files": ["*.bin"]}}, "decode": {"record": {}},
                                    "steps": [{"batch": {"size": 4}}]}))
    shown = json.loads(forebay("head", document, "--json").stdout)
    assert [row["origin"] for row in shown] == [path for path, _ in records]
    assert "3 files, 0 of them not intact: 3 intact records" in forebay("verify", "--document", document).stdout
    done = forebay("index", "--document", document)
    assert done.returncode == 2 and "no index is needed" in done.stderr


@pytest.mark.parametrize("threads", [1, 8])
def test_labels_are_the_sorted_folders_of_the_files(tmp_path: pathlib.Path, threads: int) -> None:
    names = ["cat", "ant", "dog"]
    for i in range(5000):
        path = tmp_path / names[i * 7 % 3] / f"{i:05}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"%d" % i)
    files = str(tmp_path / "*/*.txt")
    source = fb.whole_file(files, label_from="folder").record("text")
    for pipe in (source, source.shuffle(buffer=100), source.shuffle(global_=True)):
        seen = [(int(text), label) for batch in pipe.batch(64).load(threads=threads)
                for text, label in zip(batch["text"].tolist(), batch["label"].tolist())]
        assert sorted(seen) == [(i, sorted(names).index(names[i * 7 % 3])) for i in range(5000)]
    assert "label: ant, cat, dog" in str(source.batch(64).plan())
    with pytest.raises(fb.ConfigError, match="there is a tensor 'text' of the records, too; choose another name"):
        fb.whole_file(files, label_from="folder", label="text").record("text").batch(1).load()
