# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/migrate/tensorflow1.md and the programs of docs/queues.md: every row and every block runs."""
from __future__ import annotations

import os
import pathlib
import re
from typing import Any

import numpy as np
import pytest
from migration import DOCS, check, plain, rows

import forebay as fb
from forebay import tf1

PAGE = "tensorflow1.md"


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt").write_text("six\n")
    fb.write_records(tmp_path / "r.tfrecord", [b"abc", b"123"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("call", "gives"), rows(PAGE))
def test_a_row_gives_what_the_table_says(call: str, gives: str, folder: pathlib.Path) -> None:
    coord = fb.Coordinator()
    names = {"fb": fb, "tf1": tf1, "coord": coord, "rows": [{"x": 0}, {"x": 1}, {"x": 2}]}
    check(call, gives, names)
    coord.request_stop()


def test_every_function_has_a_row() -> None:
    calls = " ".join(call for call, _ in rows(PAGE))
    missing = [name for name in tf1.__all__ if f"tf1.{name}" not in calls]
    assert missing == ["Coordinator", "QueueRunner", "Stream", "start_queue_runners"]   # these are fb's; Stream is what comes


def test_the_blocks_of_the_page_of_queues_run(folder: pathlib.Path) -> None:
    os.mkdir("data")
    pathlib.Path("data/a.csv").write_text("x,y\n1,2\n")
    names: "dict[str, Any]" = {"fb": fb, "np": np}
    for block in re.findall(r"^```python\n(.*?)^```$", (DOCS / "queues.md").read_text(), re.M | re.S):
        exec(block, names)  # noqa: S102
    assert plain(names["first"]) == {"x": [1, 2], "text": b"one"} and names["batch"]["text"].tolist() == [b"a", b"b"]
    assert names["rest"]["text"].tolist() == [b"c"] and names["found"] == [0, 1, 4, 9, 16]
    assert (names["key"], names["value"]) == ("data/a.csv:2", b"1,2")


@pytest.mark.parametrize(("capacity", "smaller", "sizes"), [(10, True, [6, 6, 6, 2]), (10, False, [6, 6, 6]), (4, False, [6, 6, 6])])
def test_a_plan_gives_batches_of_the_same_sizes_and_elements(capacity: int, smaller: bool, sizes: "list[int]",
                                                             folder: pathlib.Path) -> None:
    pathlib.Path("n.txt").write_text("".join(f"{number}\n" for number in range(20)))
    steps = tf1.shuffle_batch_steps(6, capacity, 3, allow_smaller_final_batch=smaller)
    with fb.load({"source": {"lines": {"files": ["n.txt"]}}, "decode": {"record": {}}, "steps": steps}) as loader:
        plan = [[int(text) for text in batch["record"]] for batch in loader]
    queue = tf1.shuffle_batch(([number] for number in range(20)), 6, capacity, 3, allow_smaller_final_batch=smaller)
    queues = [batch.tolist() for batch in queue]
    assert [len(batch) for batch in plan] == [len(batch) for batch in queues] == sizes
    if smaller:
        assert sorted(sum(plan, [])) == sorted(sum(queues, [])) == list(range(20))
    with pytest.raises(fb.ConfigError, match="must be bigger"):
        tf1.shuffle_batch_steps(6, 3, 3)
    with pytest.raises(fb.ConfigError, match="batch_size"):
        tf1.batch_steps(0)
