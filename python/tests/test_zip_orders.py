# SPDX-License-Identifier: Apache-2.0
"""fb.zip keeps together what belongs together: orders in branches, and records that are skipped."""
from __future__ import annotations

import pathlib
from typing import Any, Callable

import numpy as np
import pytest

import forebay as fb

ROWS = 60


def images(folder: pathlib.Path, files: int = 4) -> Any:
    paths = []
    for number in range(files):
        paths.append(folder / f"{files}-{number}.tfrecord")
        fb.write_records(paths[-1], [fb.encode_example({"a": i}) for i in range(ROWS) if i * files // ROWS == number])
    return fb.tfrecord(paths).example({"a": fb.fixed("int64")})


def labels() -> Any:
    return fb.arrays({"b": np.arange(ROWS) * 10}, name="labels")


ALIKE: "dict[str, Callable[[Any], Any]]" = {
    "global": lambda pipe: pipe.shuffle("global"), "buffer": lambda pipe: pipe.shuffle(16),
    "taken": lambda pipe: pipe.shuffle("global").take(40), "both": lambda pipe: pipe.shuffle("global").shuffle(8),
    "repeated": lambda pipe: pipe.shuffle("global").repeat(2)}


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("threads", [1, 4])
def test_the_same_order_in_every_branch_keeps_rows_together(tmp_path: pathlib.Path, name: str, threads: int) -> None:
    pipe = fb.zip([ALIKE[name](images(tmp_path)), ALIKE[name](labels()), ALIKE[name](images(tmp_path, 7)).rename("a", "c")])
    pipe = pipe.shuffle(9).batch(7).epochs(2).seed(5)
    batches = [(batch["a"].tolist(), batch["b"].tolist(), batch["c"].tolist()) for batch in pipe.load(threads=threads)]
    a = sum((batch[0] for batch in batches), [])
    assert sum((batch[1] for batch in batches), []) == [10 * i for i in a] and sum((batch[2] for batch in batches), []) == a
    count = {"taken": 40, "repeated": 2 * ROWS}.get(name, ROWS)
    assert len(a) == 2 * count and a[:count] != a[count:] and a != sorted(a)
    loader = pipe.load(threads=threads)
    for number in range(len(batches)):
        again = pipe.load(threads=1)
        again.load_state_dict(loader.state_dict())
        assert [batch["b"].tolist() for batch in again] == [batch[1] for batch in batches[number:]]
        next(loader)


@pytest.mark.parametrize(("left", "right", "words"), [
    (lambda p: p.shuffle("global"), lambda p: p, "'shuffle' moves the rows of branch 0, and branch 1 has other orders"),
    (lambda p: p, lambda p: p.shuffle(9), "'shuffle' moves the rows of branch 1, and branch 0 has other orders"),
    (lambda p: p.shuffle(8), lambda p: p.shuffle(9), "give every branch the same orders with the same options"),
    (lambda p: p.shuffle(8).take(5), lambda p: p.take(5).shuffle(8), "give every branch the same orders"),
    (lambda p: p.interleave(2), lambda p: p, "'interleave' moves the rows of branch 0, and branch 1 has other orders"),
    (lambda p: p.shuffle(2).interleave(2), lambda p: p.interleave(2), "'shuffle' moves the rows of branch 0, and branch 1 has other orders"),
    (lambda p: p.filter("a > 3").shuffle(8), lambda p: p.filter("b > 3").shuffle(8), "'filter' decides by the values of rows"),
    (lambda p: p.sorted("a"), lambda p: p.sorted("b"), "'sorted' decides by the values of rows")])
def test_orders_that_would_separate_rows_are_refused(tmp_path: pathlib.Path, left: Any, right: Any, words: str) -> None:
    with pytest.raises(fb.ConfigError, match=words):
        fb.zip([left(images(tmp_path)), right(labels() if "interleave" not in words else images(tmp_path, 3).rename("a", "b"))]).batch(4).plan()


BY_FILES: "dict[str, Callable[[Any], Any]]" = {
    "interleave": lambda pipe: pipe.interleave(3, block=2), "files": lambda pipe: pipe.shuffle(4).interleave(1),
    "both": lambda pipe: pipe.shuffle(4).interleave(2).shuffle(5), "taken": lambda pipe: pipe.take_files(3).interleave(2)}


@pytest.mark.parametrize("name", BY_FILES)
def test_orders_of_files_keep_rows_together_where_files_have_equally_many(tmp_path: pathlib.Path, name: str) -> None:
    order = BY_FILES[name]
    pipe = fb.zip([order(images(tmp_path)), order(images(tmp_path).rename("a", "b"))]).batch(7).epochs(2).seed(5)
    batches = [(batch["a"].tolist(), batch["b"].tolist()) for batch in pipe.load(threads=4)]
    assert all(a == b for a, b in batches) and sum((a for a, _ in batches), []) != sorted(sum((a for a, _ in batches), []))
    assert len(sum((a for a, _ in batches), [])) == (90 if name == "taken" else 120)
    loader = pipe.load(threads=1)
    for number in range(len(batches)):
        again = pipe.load(threads=1)
        again.load_state_dict(loader.state_dict())
        assert [batch["b"].tolist() for batch in again] == [b for _, b in batches[number:]]
        next(loader)
    for files, found in ((3, "branch 1 of `zip` has 3 files, where branch 0 has 4"), (4, "branch 1 of `zip` has 14 rows in file 2, where branch 0 has 15")):
        other = images(tmp_path / "", files).rename("a", "b")
        if files == 4:   # one row less in one of the files
            (tmp_path / "less").mkdir()
            other = images(tmp_path / "less", 4).rename("a", "b")
            kept = list(fb.read_records(str(tmp_path / "less" / "4-2.tfrecord")))[:-1]
            fb.write_records(tmp_path / "less" / "4-2.tfrecord", kept)
        with pytest.raises(fb.DataError, match=found):
            list(fb.zip([order(images(tmp_path)), order(other)]).batch(4).load())


def test_with_the_shortest_branch_nothing_may_be_moved(tmp_path: pathlib.Path) -> None:
    branches = [images(tmp_path).shuffle(8), labels().shuffle(8)]
    with pytest.raises(fb.ConfigError, match='\'shuffle\' moves rows by their number, and with "until": "first".*leave `until` out'):
        fb.zip(branches, until="first").batch(4).plan()


def test_branches_of_different_lengths_are_an_error_of_the_pass(tmp_path: pathlib.Path) -> None:
    pipe = fb.zip([images(tmp_path).shuffle("global"), fb.arrays({"b": np.arange(ROWS - 1)}).shuffle("global")])
    with pytest.raises(fb.DataError, match="equally many rows"):
        list(pipe.batch(8).load())


def test_files_of_one_branch_are_not_skipped(tmp_path: pathlib.Path) -> None:
    with pytest.raises(fb.ConfigError, match='/on_corrupt.*use "skip_record" or "skip_row", which leave a row out of all branches'):
        fb.zip([images(tmp_path), labels()]).batch(4).on_corrupt("skip_file").plan()
    with pytest.raises(fb.ConfigError, match="/source/zip/branches/0/on_corrupt"):
        fb.zip([images(tmp_path).on_corrupt("skip_file"), labels()]).batch(4).plan()


def spoiled(path: pathlib.Path, name: str, bad: "tuple[int, ...]", rows: int = 40) -> Any:
    """Records that count from 0; those of `bad` have a wrong checksum, or are no message."""
    records = [fb.encode_example({name: i}) if i not in bad or i % 2 else b"no message" for i in range(rows)]
    fb.write_records(path, records)
    content, at = bytearray(path.read_bytes()), 0
    for i, record in enumerate(records):
        if i in bad and i % 2:
            content[at + 12 + len(record) // 2] ^= 1
        at += 16 + len(record)
    path.write_bytes(content)
    return fb.tfrecord(path).example({name: fb.fixed("int64")})


SKIPPING: "dict[str, Callable[[Any], Any]]" = {
    "batch": lambda pipe: pipe.batch(6), "shuffle": lambda pipe: pipe.shuffle(7).batch(6), "filter": lambda pipe: pipe.filter("a % 5 != 1").batch(6),
    "global": lambda pipe: pipe.shuffle("global").batch(6)}


@pytest.mark.parametrize("name", SKIPPING)
@pytest.mark.parametrize("where", ["document", "branches"])
@pytest.mark.parametrize("order", ["", "buffer", "global"])
def test_skip_record_takes_a_row_out_of_all_branches(tmp_path: pathlib.Path, name: str, where: str, order: str) -> None:
    branches = [spoiled(tmp_path / "a", "a", (3, 8)), spoiled(tmp_path / "b", "b", (8, 21, 22)), fb.arrays({"c": np.arange(40)})]
    if order:
        branches = [ALIKE[order](branch) for branch in branches]
    if where == "branches":
        branches = [branch.on_corrupt("skip_record") for branch in branches[:2]] + branches[2:]
    pipe = SKIPPING[name](fb.zip(branches)).epochs(2).seed(3)
    pipe = pipe if where == "branches" else pipe.on_corrupt("skip_record")
    loader = pipe.load(threads=4)
    batches = [[batch[key].tolist() for key in "abc"] for batch in loader]
    assert all(a == b == c for a, b, c in batches) and all(len(a) == 6 for a, _, _ in batches[:-1])
    kept = [i for i in range(40) if i not in (3, 8, 21, 22) and (name != "filter" or i % 5 != 1)]
    assert sorted(sum((a for a, _, _ in batches), [])) == sorted(kept * 2)
    assert loader.stats().skipped_records == 8
    saved = pipe.load(threads=1)
    for number in range(len(batches)):
        again = pipe.load(threads=1 + number % 4)
        again.load_state_dict(saved.state_dict())
        assert [[batch[key].tolist() for key in "abc"] for batch in again] == batches[number:]
        next(saved)


def test_a_record_of_a_branch_that_does_not_skip_is_an_error_behind_the_rows_before_it(tmp_path: pathlib.Path) -> None:
    pipe = fb.zip([spoiled(tmp_path / "a", "a", (3,)).on_corrupt("skip_record"), spoiled(tmp_path / "b", "b", (21,))]).batch(5)
    loader, rows = pipe.load(), []
    with pytest.raises(fb.DataError, match="record 21"):
        for batch in loader:
            rows += batch["a"].tolist()
    assert rows == [i for i in range(21) if i != 3][:len(rows)] and len(rows) >= 15


def test_budgets_of_what_is_skipped_side_by_side(tmp_path: pathlib.Path) -> None:
    a, b = spoiled(tmp_path / "a", "a", (3, 8)), spoiled(tmp_path / "b", "b", (8, 21))
    assert sum(batch.rows for batch in fb.zip([a, b]).batch(5).on_corrupt("skip_record", max_count=3).load()) == 37
    with pytest.raises(fb.DataError, match="max_count"):
        list(fb.zip([a, b]).batch(5).on_corrupt("skip_record", max_count=2).load())
    with pytest.raises(fb.ConfigError, match="give all branches the same `on_corrupt`"):
        fb.zip([a.on_corrupt("skip_record", max_count=3), b.on_corrupt("skip_record")]).batch(5).plan()
    with pytest.raises(fb.ConfigError, match="put what looks into records behind `zip`"):
        fb.zip([a.filter("a > 1").on_corrupt("skip_record"), b], until="first").batch(5).plan()


def test_skip_row_leaves_a_row_out_of_all_branches(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "one.tfrecord"
    fb.write_records(path, [fb.encode_example({"a": i} if i != 5 else {"z": 0}) for i in range(12)])
    left = fb.tfrecord(path).example({"a": fb.fixed("int64")})
    pipe = fb.zip([left, fb.arrays({"b": np.arange(12)})]).batch(4).on_corrupt("skip_row")
    rows = [(a, b) for batch in pipe.load() for a, b in zip(batch["a"][:batch.valid_rows].tolist(), batch["b"][:batch.valid_rows].tolist())]
    assert rows == [(i, i) for i in range(12) if i != 5]


def test_a_pass_that_would_never_end_is_refused() -> None:
    document = fb.zip([labels(), fb.arrays({"c": np.arange(3)})]).batch(4).to_dict()
    for branch in document["source"]["zip"]["branches"]:
        branch["repeat"] = True
    for until in (None, "first"):
        document["source"]["zip"]["until"] = until
        with pytest.raises(fb.ConfigError, match="every branch repeats, so a pass never ends"):
            fb.load(document)
