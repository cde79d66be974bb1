# SPDX-License-Identifier: Apache-2.0
"""`take` and `skip` count rows; `take_files` and `skip_files` count files."""
from __future__ import annotations

import pathlib
from typing import Any, Callable

import numpy as np
import pytest

import forebay as fb

SIZES = [5, 0, 9, 7]
FIRST = np.cumsum([0, *SIZES])


@pytest.fixture
def source(tmp_path: pathlib.Path) -> Any:
    """21 records in four files, one of them empty."""
    paths = [tmp_path / f"{number}.tfrecord" for number in range(4)]
    for path, first, size in zip(paths, FIRST, SIZES):
        fb.write_records(path, [fb.encode_example({"id": i}) for i in range(first, first + size)])
    return fb.tfrecord(paths).example({"id": fb.fixed("int64")})


def ids(pipe: Any, **options: Any) -> "list[int]":
    return sum((batch["id"].tolist() for batch in pipe.batch(4).load(**options)), [])


OPENS: "dict[str, Callable[[Any], Any]]" = {
    "global": lambda p: p.shuffle("global"), "sorted": lambda p: p.sorted("-id"), "interleave": lambda p: p.interleave(2),
    "reorder": lambda p: p.reorder("back").bind({"back": lambda epoch, n: range(n - 1, -1, -1)}),
    "sample": lambda p: p.sequence_order("reverse")}


@pytest.mark.parametrize("opens", OPENS)
@pytest.mark.parametrize("count", ["take", "skip"])
def test_rows_are_not_counted_before_files_are_opened(source: Any, opens: str, count: str) -> None:
    """Before `interleave` there are files. Orders by number have rows before them, too."""
    if opens == "interleave":
        with pytest.raises(fb.ConfigError, match=f"/{count}: '{count}' counts rows: put it after 'interleave', or say '{count}_files' to count"):
            OPENS[opens](getattr(source, count)(3)).batch(4).plan()
        return
    for rows in (source, fb.arrays({"id": np.arange(21)})):
        counted = getattr(rows, count)(3)
        assert sorted(ids(OPENS[opens](counted))) == sorted(ids(counted))


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("n", [0, 1, 5, 20, 21, 99])
def test_rows_are_counted_behind_every_order(source: Any, n: int, threads: int) -> None:
    everything = list(range(21))
    assert ids(source.take(n), threads=threads) == everything[:n] and ids(source.skip(n), threads=threads) == everything[n:]
    for opens in OPENS.values():
        whole = ids(opens(source), threads=1)
        assert sorted(whole) == everything
        assert ids(opens(source).take(n), threads=threads) == whole[:n] and ids(opens(source).skip(n), threads=threads) == whole[n:]
        assert ids(opens(source).skip(n).take(3), threads=threads) == whole[n:n + 3]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 9])
def test_files_are_counted_before_they_are_opened(source: Any, n: int, threads: int) -> None:
    head, tail = list(range(FIRST[min(n, 4)])), list(range(FIRST[min(n, 4)], 21))
    assert ids(source.take_files(n), threads=threads) == head and ids(source.skip_files(n), threads=threads) == tail
    for name, opens in OPENS.items():
        for pipe, rows in ((source.take_files(n), head), (source.skip_files(n), tail)):
            if rows or name != "sample":  # sequence_order refuses to order nothing
                assert sorted(ids(opens(pipe), threads=threads)) == rows
    assert ids(source.skip_files(1).take_files(2).take(7), threads=threads) == list(range(5, 12))
    assert ids(source.take_files(n).shuffle(6), threads=threads) != [] or n == 0


def test_restarts_and_shards_over_counted_files(source: Any) -> None:
    pipe = source.shuffle(4).skip_files(1).take_files(2).interleave(2).shuffle(5).batch(3, remainder="drop").epochs(3).seed(2)
    whole = [batch["id"].tolist() for batch in pipe.load(threads=1)]
    loader = pipe.load(threads=4)
    for number in range(len(whole)):
        again = pipe.load(threads=2)
        again.load_state_dict(loader.state_dict())
        assert [batch["id"].tolist() for batch in again] == whole[number:]
        assert next(loader)["id"].tolist() == whole[number]
    shards = [[batch["id"].tolist() for batch in pipe.load(shard=(rank, 3))] for rank in range(3)]
    assert [sum(parts, []) for parts in zip(*shards)] == whole


@pytest.mark.parametrize(("change", "words"), [
    (lambda p: p.shuffle(9).take_files(2), "'take_files' counts files and must come before 'shuffle', which orders records here"),
    (lambda p: p.interleave(2).skip_files(2), "'skip_files' counts files and must come before 'interleave', which opens them")])
def test_files_are_counted_where_there_are_files(source: Any, change: Any, words: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(fb.ConfigError, match=words):
        change(source).batch(4).plan()
    with pytest.raises(fb.ConfigError, match="'take_files' counts files, and the rows of 'arrays' lie in none; count rows, with 'take' or 'skip'"):
        fb.arrays({"id": np.arange(3)}).take_files(1).batch(4).plan()
    with pytest.raises(fb.ConfigError, match="'take_files' counts files, and each file of 'whole_file' is one record"):
        fb.whole_file(str(tmp_path / "*.tfrecord")).record("id").take_files(1).batch(4).plan()
    with pytest.raises(fb.ConfigError, match="a combination has no files of its own; move it into the branches"):
        fb.concat([source, source]).take_files(1).batch(4).plan()
