# SPDX-License-Identifier: Apache-2.0
"""How full queues and buffers are, in `stats()` and in the command."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
