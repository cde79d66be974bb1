# SPDX-License-Identifier: Apache-2.0
"""Processes that do not share a stream as they believe are told so before they train."""
from __future__ import annotations

import json
import shutil
import threading
import warnings

import pytest
from streams import digests, examples, write_parts

import forebay as fb


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("replicas"), [60, 50, 70, 40], [None, "gzip", None, None])


def verify(loaders, **options):
    """What every process of such a job gets: nothing, or its failure."""
    slots, out = [None] * len(loaders), [None] * len(loaders)
    barrier = threading.Barrier(len(loaders), timeout=30)

    def process(rank):
        def allgather(mine):
            slots[rank] = mine
            barrier.wait()
            return list(slots)
        try:
            fb.verify_replicas(loaders[rank], allgather, **options)
        except fb.Error as failure:
            out[rank] = str(failure)

    threads = [threading.Thread(target=process, args=(rank,)) for rank in range(len(loaders))]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(out)) == 1, "every process comes to the same end"
    return out[0], [str(each.message) for each in caught]


def by_file(index, count):
    return {"index": index, "count": count, "by": "file"}


def test_processes_that_share_the_stream_pass_and_the_loaders_stay_where_they_were(paths):
    pipe = examples(paths).shuffle(buffer=30).batch(12, remainder="drop").epochs(2)
    for shard in (lambda index: (index, 3), lambda index: by_file(index, 3)):
        whole = [digests(pipe.load(shard=shard(index))) for index in range(3)]
        loaders = [pipe.load(shard=shard(index), threads=1 + index) for index in range(3)]
        assert verify(loaders) == (None, [])
        for loader in loaders:
            next(loader)
        assert verify(loaders, batches=1000) == (None, [])
        assert [digests(loader) for loader in loaders] == [each[1:] for each in whole]


def test_replicas_of_a_shard_pass_and_a_warning_asks_whether_they_are_meant(paths):
    pipe = examples(paths).batch(12)
    loaders = [pipe.load(shard=(index // 2, 2)) for index in range(4)]
    assert verify(loaders, replicas=2) == (None, [])
    failure, told = verify(loaders)
    assert failure is None and told == ["each of the 2 shards is read by 2 processes, which get the same batches; say replicas=2 "
                                        "if this is meant"] * 4
    single = [pipe.load() for _ in range(3)]
    assert verify(single)[1][0].startswith("each of the 1 shards is read by 3 processes"), "nobody has set the launcher up"


@pytest.mark.parametrize("shards, options, words", [
    ([(0, 2), (0, 2)], {}, "shard 0 of 2 is read by 2 processes (ranks 0, 1), not by 1"),
    ([(0, 2), (1, 2), (1, 2)], {}, "shard 0 of 2 is read by 1 processes (ranks 0), not by 1.5"),
    ([(0, 2), (1, 2)], {"replicas": 2}, "shard 0 of 2 is read by 1 processes (ranks 0), not by 2"),
    ([(1, 2), (1, 2)], {"replicas": 1}, "shard 0 of 2 is read by 0 processes, not by 1"),
    ([(0, 2), (1, 3)], {}, "rank 0 has a shard of 2 by row, rank 1 one of 3 by row"),
    ([(0, 2), by_file(1, 2)], {}, "rank 0 has a shard of 2 by row, rank 1 one of 2 by file"),
])
def test_shards_that_do_not_make_up_the_stream_are_an_error_everywhere(paths, shards, options, words):
    pipe = examples(paths).batch(12, remainder="drop")
    failure, _ = verify([pipe.load(shard=shard) for shard in shards], **options)
    assert failure == f"the processes do not share the stream: {words}"


def test_other_plans_and_other_records_are_an_error_everywhere(paths, tmp_path):
    pipe = examples(paths).shuffle(buffer=30).batch(12)
    failure, _ = verify([pipe.seed(1).load(shard=(0, 2)), pipe.seed(2).load(shard=(1, 2))])
    assert failure == "the processes do not share the stream: ranks 0 and 1 have other plans or files; what differs: seed"
    other = tmp_path / "other"
    other.mkdir()
    copies = write_parts(other, [61, 50, 70, 40], [None, "gzip", None, None])
    loaders = [examples(each).batch(12).load() for each in (paths, copies)]
    failure, _ = verify(loaders, replicas=2)
    assert failure == "the processes do not share the stream: ranks 0 and 1 have other plans or files; what differs: files"


def test_weights_of_later_passes_are_compared(paths):
    def mixed(weights):
        return fb.mix([examples(paths[:2]), examples(paths[2:])], weights=weights, until="all").batch(12).epochs(3)

    failure, _ = verify([mixed([1, 2]).load(shard=(0, 2)), mixed([(0, [1, 2]), (2, [3, 1])]).load(shard=(1, 2))])
    assert failure == "the processes do not share the stream: ranks 0 and 1 have other plans or files; what differs: weights of a mixture"
    failure, _ = verify([mixed([1, 2]).load(shard=(index, 2)) for index in range(2)])
    assert failure is None


def test_the_identity_of_a_loader_is_that_of_its_stream(paths, tmp_path):
    pipe = examples(paths).shuffle(buffer=30).batch(12).epochs(2)
    whole = pipe.load().identity()
    for options in ({"threads": 3}, {"shard": (1, 2)}, {"shard": {"index": 1, "count": 2, "by": "batch"}}, {"memory": "100MiB"}):
        assert pipe.load(**options).identity() == whole
    loader = pipe.load()
    for _ in range(3):
        next(loader)
    assert loader.identity() == whole and pipe.map(lambda batch: {"n": batch["id"]}).load().identity() == whole
    assert json.loads(json.dumps(whole)) == whole
    moved = tmp_path / "moved"
    moved.mkdir()
    copies = [shutil.copy(path, moved) for path in paths]
    assert examples(copies).shuffle(buffer=30).batch(12).epochs(2).load().identity() == whole
    others = {"seed": pipe.seed(9), "steps/0 (shuffle)": examples(paths).shuffle(buffer=31).batch(12).epochs(2),
              "files": examples(paths[:2]).shuffle(buffer=30).batch(12).epochs(2), "epochs": pipe.epochs(3)}
    for part, other in others.items():
        found = other.load().identity()
        assert part in {name for name in found if found[name] != whole[name]}


def test_files_of_the_same_sizes_with_other_records_are_an_error(paths, tmp_path):
    fb.write_records(tmp_path / "a", [b"1", b"2"])
    (tmp_path / "b").mkdir()
    fb.write_records(tmp_path / "b" / "a", [b"1", b"3"])
    loaders = [fb.tfrecord(str(path)).record("v").batch(2).load() for path in (tmp_path / "a", tmp_path / "b" / "a")]
    failure, _ = verify(loaders, replicas=2)
    assert failure == "the processes do not share the stream: ranks 0 and 1 read shard 0, and have different batches"


def test_who_cannot_read_tells_the_others(paths, tmp_path):
    pipe = examples(paths).batch(12)
    loaders = [pipe.load(shard=(index, 2)) for index in range(2)]
    loaders[1].close()
    assert verify(loaders)[0].startswith("the processes do not share the stream: rank 1 cannot read: Cancelled")
