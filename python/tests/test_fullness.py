# SPDX-License-Identifier: Apache-2.0
"""How full queues and buffers are, in `stats()` and in the command."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator

import numpy as np

import forebay as fb
from command import forebay
from streams import write_parts


def test_buffers_of_orders_and_finished_batches_are_in_stats() -> None:
    pipe = fb.arrays({"n": np.arange(1000)}).shuffle(buffer=20).shuffle(buffer=10).batch(size=5)
    with pipe.load(threads=1, prefetch=2) as loader:
        assert loader.stats().queues == {"prefetch": (0, 2)}
        next(loader)
        queues = loader.stats().queues
        assert (queues["shuffle"], queues["shuffle 2"], queues["prefetch"][1]) == ((19, 20), (9, 10), 2)
        assert "shuffle 19 of 20, shuffle 2 9 of 10" in str(loader.stats())
        assert len(list(loader)) == 199
        assert loader.stats().queues == {"prefetch": (0, 2), "shuffle": (0, 20), "shuffle 2": (0, 10)}


def test_feeds_branches_and_workers_of_map_are_in_stats() -> None:
    rows = fb.Feed({"n": fb.fixed("int64", [])}, capacity=7)
    rows.put({"n": 1})
    both = fb.concat([fb.feed(rows), fb.arrays({"n": np.arange(40)}).shuffle(buffer=4)])
    with both.batch(size=1).map(lambda batch: dict(batch), workers=1).load(threads=1) as loader:
        assert loader.stats().queues["feed 'feed'"] == (1, 7)
        rows.close()
        assert len(list(loader)) == 41
        queues = loader.stats().queues
        assert (queues["feed 'feed'"], queues["branch 1: shuffle"], queues["map 0"]) == ((0, 7), (0, 4), (0, 3))
        assert (loader.stats().requests_in_flight, loader.stats().requests_waiting) == (0, 0)


def test_the_command_says_how_full_its_queues_are(tmp_path: Path) -> None:
    document: "dict[str, Any]" = {
        "source": {"tfrecord": {"files": [str(path) for path in write_parts(tmp_path)]}}, "decode": {"record": {}},
        "steps": [{"shuffle": {"buffer": 3}}, {"interleave": {"cycle": 1}}, {"batch": {"size": 4}}]}
    (tmp_path / "doc.json").write_text(json.dumps(document))
    done = forebay("run", str(tmp_path / "doc.json"), "--json", "--batches", "1")
    queues = json.loads(done.stdout)["queues"]
    assert queues["shuffle of files"]["capacity"] == 3 and queues["prefetch"]["held"] >= 0


def test_rows_that_wait_in_buckets_passes_and_parts_are_in_stats() -> None:
    class Rows:
        def __iter__(self) -> "Iterator[dict[str, Any]]":
            return ({"x": np.zeros(1 + number % 7, np.float32)} for number in range(400))

    pipe = fb.python(Rows(), {"x": fb.var_len("float32")}, name="rows").buckets(
        key="x", boundaries=[2, 5], sizes=[4, 3, 2], longer="bucket")
    with pipe.load(threads=1, prefetch=1) as loader:
        next(loader)
        queues = loader.stats().queues
        assert queues["buckets"][1] == 9 and 0 < queues["buckets"][0] < 7, queues
        assert queues["rows of 'rows'"][1] > 0
        list(loader)
        assert (loader.stats().queues["buckets"][0], loader.stats().queues["rows of 'rows'"][0]) == (0, 0)


def test_blocks_of_files_that_are_read_ahead_are_in_stats(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    pq.write_table(pa.table({"n": np.arange(1000)}), tmp_path / "a.parquet", row_group_size=100)
    with fb.parquet(tmp_path / "a.parquet").batch(size=10).load(threads=1) as loader:
        next(loader)
        held, capacity = loader.stats().queues["blocks of parts"]
        assert 0 <= held <= capacity and capacity >= 2, (held, capacity)
        list(loader)
        assert loader.stats().queues["blocks of parts"] == (0, 0)
