# SPDX-License-Identifier: Apache-2.0
"""The option `record_key` of sources over files: the key of each row's record as a tensor."""
from __future__ import annotations

import gzip
import itertools
import pathlib
import tarfile
from typing import Any

import pytest
from streams import digests, resumed

import forebay as fb


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    out = tmp_path_factory.mktemp("keys")
    for number in range(3):
        rows = [b"%d,%d" % (number, i) for i in range(40 * number + 7)]
        (out / f"{number}.csv").write_bytes(b"".join(row + b"\n" for row in rows))
        (out / f"{number}.gz").write_bytes(gzip.compress(b"".join(row + b"\n" for row in rows)))
        (out / f"{number}.bin").write_bytes(bytes(range(5)) * (len(rows)))
        fb.write_records(out / f"{number}.tfrecord", rows)
        with tarfile.open(out / f"{number}.tar", "w") as archive:
            archive.add(out / "0.csv", f"{number}/a.csv")
            archive.add(out / "0.csv", f"{number}/b.csv")
    return out


def pipes(folder: pathlib.Path) -> dict[str, fb.Pipeline]:
    return {
        "tfrecord": fb.tfrecord(str(folder / "*.tfrecord"), record_key="key").record(),
        "lines": fb.lines(str(folder / "*.csv"), skip_header_lines=1, record_key="key").record(),
        "gzip": fb.lines(str(folder / "*.gz"), record_key="key").record(),
        "csv": fb.csv(str(folder / "*.csv"), names=["a", "b"], record_key="key").csv({"b": {"dtype": "int64"}}),
        "fixed_length": fb.fixed_length(str(folder / "*.bin"), record_bytes=5, record_key="key").record(),
        "whole_file": fb.whole_file(str(folder / "*"), record_key="key").record(),
        "tar": fb.tar(str(folder / "*.tar"), record_key="key").tar({"text": "csv"}),
    }


def keys_of(loader: Any) -> list[str]:
    """The keys as a tensor, which are those of the batch."""
    out = []
    for batch in loader:
        assert [key.decode() for key in batch["key"]] == batch.record_keys
        out += batch.record_keys
    return out


@pytest.mark.parametrize("kind", ["tfrecord", "lines", "gzip", "csv", "fixed_length", "whole_file", "tar"])
def test_keys_are_those_of_the_batch_in_any_order(folder: pathlib.Path, kind: str) -> None:
    pipe = pipes(folder)[kind]
    in_order = keys_of(pipe.batch(16).load(threads=1))
    assert in_order and len(set(in_order)) == len(in_order)
    shards = [keys_of(pipe.batch(16).load(shard={"index": i, "count": 2})) for i in range(2)]
    assert sorted(shards[0] + shards[1]) == sorted(in_order)
    for order in ({"buffer": 30}, {"global_": True}):
        shuffled = pipe.shuffle(**order).batch(16).epochs(2).seed(1)
        assert sorted(keys_of(shuffled.load(threads=8))) == sorted(2 * in_order)
        stream = digests(shuffled.load(threads=1))
        loader = shuffled.load()
        assert digests(itertools.islice(loader, 2)) == stream[:2]
        assert digests(resumed(shuffled, loader.state_dict())) == stream[2:]


def test_keys_have_the_forms_of_the_readers_of_tensorflow_1(folder: pathlib.Path) -> None:
    firsts = {kind: keys_of(pipe.batch(16).load())[:2] for kind, pipe in pipes(folder).items()}
    assert firsts["tfrecord"] == [f"{folder}/0.tfrecord:0", f"{folder}/0.tfrecord:19"]
    assert firsts["lines"] == [f"{folder}/0.csv:2", f"{folder}/0.csv:3"]
    assert firsts["fixed_length"] == [f"{folder}/0.bin:0", f"{folder}/0.bin:1"]
    assert firsts["whole_file"] == [f"{folder}/0.bin", f"{folder}/0.csv"]


def test_keys_of_rows_that_are_windows_and_of_branches(folder: pathlib.Path) -> None:
    records = fb.tfrecord(str(folder / "*.tfrecord"), record_key="key").record()
    windows = records.byte_ids("record", out="x").chunk(keys=["x"], size=2, step=2).shuffle(buffer=9).batch(4)
    seen = [(key.decode(), start) for batch in windows.load(threads=2)
            for key, start in zip(batch["key"], [origin.start for origin in batch.origins])]
    assert len(seen) == len(set(seen)) and {key for key, _ in seen} == set(keys_of(records.batch(8).load()))
    both = fb.concat([records, fb.lines(str(folder / "0.csv"), record_key="key").record()]).batch(8)
    assert keys_of(both.load())[-1] == f"{folder}/0.csv:7"


def test_a_name_that_is_taken_and_a_condition_on_keys_are_faults(folder: pathlib.Path) -> None:
    source = fb.lines(str(folder / "0.csv"), record_key="record")
    with pytest.raises(fb.ConfigError, match="there is a tensor 'record' of the records, too"):
        source.record().batch(1).load()
    kept = source.record(name="x").filter("record != 'a'").batch(1).load()   # the rows are made before the filter
    assert sum(batch.rows for batch in kept) == sum(batch.rows for batch in source.record(name="x").batch(1).load())
