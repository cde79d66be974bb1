# SPDX-License-Identifier: Apache-2.0
"""What a fleet does before its workers make blocks, and where blocks arrive."""
from __future__ import annotations

import os
import pathlib
from typing import Iterator

import numpy as np
import pytest
import ray
from conftest import write_counts
from fleets import counts, start_cluster, values_of
from streams import examples, write_parts

import forebay.ray as fr
from forebay._core import ReceivedMemory, index_plan
from forebay.errors import DataError
from forebay.ray._indexes import make_indexes
from forebay.ray._wire import Block, received, sent_of
from forebay.ray._worker import job_of


@pytest.fixture(scope="module", autouse=True)
def cluster() -> "Iterator[None]":
    start_cluster()
    yield
    ray.shutdown()


def test_indexes_are_made_by_tasks(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_parts(tmp_path, 6 * [50], 6 * [None])
    monkeypatch.chdir(tmp_path)
    pipeline = examples(["part-*"]).shuffle("global").batch(4).seed(2)   # the folder is the driver's
    job = job_of(pipeline, None, None, tmp_path / "indexes")
    (tmp_path / "indexes").mkdir()
    makers = make_indexes(job)
    assert len(makers) == 4 and all(process != os.getpid() for _, process in makers)   # one for each processor
    assert [good for _, good in index_plan(pipeline.plan(), 0, 1, True, str(tmp_path / "indexes"))] == 6 * [True]
    assert make_indexes(job) == []   # they are there
    (tmp_path / "part-3.tfrecord").write_bytes(b"no records at all")
    make_indexes(job._replace(index_dir=None))   # the loader that needs the index of the fourth has the error
    assert [good for _, good in index_plan(pipeline.plan(), 0, 1, True, "")] == [True, True, True, False, True, True]
    with fr.Fleet(pipeline, "indexed", workers=1), fr.load("indexed", shard=None, window="20MB", local_threads=0) as loader, \
            pytest.raises(DataError, match="part-3"):
        next(loader)


def test_a_block_is_checked_where_it_arrives(tmp_path: pathlib.Path) -> None:
    with counts(write_counts(tmp_path, 40)).batch(8).load() as loader:
        batches = [(next(loader), 0.25), (next(loader), 0.5)]
    wanted = [values_of(batch) for batch, _ in batches]
    sent = sent_of(Block([*batches, ({"none": np.zeros((0, 3))}, 1.0)], True, None), 0.5)   # type: ignore[list-item]
    memory = ReceivedMemory(1 << 20, None)
    block = received(sent, memory)
    assert [values_of(batch) for batch, _ in block.batches[:2]] == wanted and [share for _, share in block.batches] == [0.25, 0.5, 1.0]
    assert sent.batches == 3 and sent.last and block.ended and block.batches[2][0]["none"].shape == (0, 3)
    place = next(at for at, array in enumerate(sent.arrays) if array.size)
    arrays = list(sent.arrays)
    arrays[place] = arrays[place].copy()
    arrays[place][0] ^= 1
    with pytest.raises(DataError, match="a block of batches arrived with other bytes than its worker has sent"):
        received(sent._replace(arrays=arrays), memory)
