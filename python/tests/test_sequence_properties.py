# SPDX-License-Identifier: Apache-2.0
"""Claims about random pipelines of sequences: an order, windows, a batcher and an order on batches, over files and arrays.

`FOREBAY_LONG_TESTS=1` tries thousands of them (`make test-all`), CI a sample."""
from __future__ import annotations

import collections
import os
import pathlib
import tempfile
from typing import Any, Callable, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streams import digests, resumed

import forebay as fb

_CASES = 1500 if os.environ.get("FOREBAY_LONG_TESTS") else 25
_settings = settings(max_examples=_CASES, deadline=None, derandomize=True, database=None,
                     suppress_health_check=[HealthCheck.too_slow])

Step = Callable[[fb.Pipeline], fb.Pipeline]


class Windows(NamedTuple):
    name: str
    step: Step
    whole: bool       # every frame of every sequence is in a window, once
    padded: bool      # windows have padding of their own


def _chunk(size: int, step: int, least: int) -> Windows:
    return Windows(f"chunk({size}:{step})", lambda pipe: pipe.chunk(size, step=step, min_size=least, keys=["x", "y"]),
                   step == size and least <= 1, False)


def _context(size: int, left: int, right: int) -> Windows:
    return Windows(f"chunk({size}) context({left},{right})",
                   lambda pipe: pipe.chunk(size, keys=["x", "y"]).context(left={"x": left, "y": left}, right={"x": right, "y": right}), False, True)


windows = st.one_of(
    st.just(Windows("whole", lambda pipe: pipe, True, False)),
    st.builds(_chunk, st.integers(1, 6), st.integers(1, 7), st.integers(1, 3)),
    st.integers(1, 6).map(lambda size: _chunk(size, size, 1)),
    st.builds(_context, st.integers(1, 5), st.integers(0, 3), st.integers(0, 3)),
    st.just(Windows("unbatch", lambda pipe: pipe.unbatch(["x", "y"]), True, False)))

orders: "st.SearchStrategy[tuple[str, Step]]" = st.one_of(
    st.just(("none", lambda pipe: pipe)),
    st.integers(1, 40).map(lambda n: (f"shuffle({n})", lambda pipe: pipe.shuffle(n))),
    st.just(("global", lambda pipe: pipe.shuffle(global_=True))),
    st.just(("sorted", lambda pipe: pipe.sorted("length(x)"))),
    st.integers(2, 9).map(lambda n: (f"laplace({n})", lambda pipe: pipe.laplace(n, "length(x)"))),
    st.sampled_from(["laplace:.5", "sort_bin_shuffle:3", "random", "reverse"]).map(
        lambda mode: (mode, lambda pipe: pipe.sequence_order(mode, by="length(x)"))))

batchers: "st.SearchStrategy[tuple[str, Step]]" = st.one_of(
    st.integers(1, 9).map(lambda n: (f"batch({n})", lambda pipe: pipe.batch(n, pad=True))),
    st.integers(1, 9).map(lambda n: (f"batch({n}) pad", lambda pipe: pipe.batch(n, pad=True, remainder="pad"))),
    st.tuples(st.integers(1, 40), st.integers(1, 6)).map(
        lambda at: (f"frames{at}", lambda pipe: pipe.frames(["x"], batch_size=at[0], max_seqs=at[1]))),
    st.integers(13, 60).map(lambda n: (f"token_budget({n})", lambda pipe: pipe.token_budget(n, keys=["x"]))),
    st.tuples(st.integers(13, 20), st.integers(1, 3), st.sampled_from(["first", "best"])).map(
        lambda at: (f"packed{at}", lambda pipe: pipe.packed(at[0], at[1], keys=["x", "y"], fit=at[2]))),
    st.lists(st.integers(1, 4), min_size=3, max_size=3).map(
        lambda sizes: (f"buckets{sizes}", lambda pipe: pipe.buckets("x", [0, 4, 19], sizes))))

after: "st.SearchStrategy[tuple[str, Step]]" = st.one_of(
    st.just(("", lambda pipe: pipe)),
    st.integers(2, 5).map(lambda n: (f"shuffle_batches({n})", lambda pipe: pipe.shuffle_batches(n))))

lengths = st.lists(st.integers(0, 12), min_size=1, max_size=18)


def frames_of(sequence: int, size: int) -> Any:
    """Frame t of sequence s is 1000 s + t + 1, so a 0 is padding."""
    return 1000 * sequence + 1 + np.arange(size, dtype=np.int64)


def arrays(sizes: "list[int]") -> fb.Pipeline:
    splits = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    frames = np.concatenate([frames_of(i, size) for i, size in enumerate(sizes)])
    return fb.arrays({"x": fb.Ragged(frames, splits), "y": fb.Ragged(-frames, splits), "id": np.arange(len(sizes))})


def files(sizes: "list[int]", folder: str) -> fb.Pipeline:
    """The same sequences as sequence examples, in files of at most seven, every other one compressed."""
    paths = []
    for first in range(0, len(sizes), 7):
        records = []
        for i in range(first, min(first + 7, len(sizes))):
            frames = frames_of(i, sizes[i])
            records.append(fb.encode_sequence_example({"id": i}, {"x": [[int(f)] for f in frames],
                                                                  "y": [[-int(f)] for f in frames]}))
        paths.append(str(pathlib.Path(folder) / f"part-{first:03}.tfrecord"))
        fb.write_records(paths[-1], records, [None, "gzip"][first // 7 % 2])
    one = fb.fixed_len_sequence("int64", [], allow_missing=True)
    return fb.tfrecord(paths).sequence_example({"id": fb.fixed("int64")}, lists={"x": one, "y": one})


class Case(NamedTuple):
    pipe: fb.Pipeline
    name: str
    window: Windows
    batcher: str


def build(source: fb.Pipeline, order: Any, window: Windows, batcher: Any, last: Any, epochs: int) -> "Case | None":
    """None where these steps do not stand together, which the plan says with a reason."""
    pipe = last[1](batcher[1](window.step(order[1](source)))).epochs(epochs).seed(3)
    name = f"{order[0]} | {window.name} | {batcher[0]} | {last[0]} | {epochs} epochs"
    try:
        pipe.plan()
    except fb.ConfigError as error:
        assert len(str(error)) > 40, name
        return None
    return Case(pipe, name, window, batcher[0])


combination = st.tuples(orders, windows, batchers, after, st.integers(1, 2))
built = collections.Counter()


def with_source(sizes: "list[int]", of_files: bool, parts: Any, check: "Callable[[Case], None]") -> None:
    with tempfile.TemporaryDirectory() as folder:
        case = build(files(sizes, folder) if of_files else arrays(sizes), *parts)
        built[case is not None] += 1
        if case is not None:
            check(case)


@_settings
@given(lengths, st.booleans(), combination, st.integers(2, 8))
def test_the_stream_is_the_same_for_any_thread_count(sizes, of_files, parts, threads):
    def check(case: Case) -> None:
        assert digests(case.pipe.load(threads=threads)) == digests(case.pipe.load(threads=1)), case.name
    with_source(sizes, of_files, parts, check)


@_settings
@given(lengths, st.booleans(), combination)
def test_a_restart_at_every_batch_gives_the_rest(sizes, of_files, parts):
    def check(case: Case) -> None:
        unbroken = digests(case.pipe.load(threads=1))
        loader = case.pipe.load(threads=2)
        for done in range(len(unbroken) + 1):
            rest = digests(resumed(case.pipe, loader.state_dict(), threads=1 + done % 2))
            assert rest == unbroken[done:], f"{case.name}: after batch {done}"
            next(loader, None)
    with_source(sizes, of_files, parts, check)


def _frames(batches: Any, name: str) -> "collections.Counter[int]":
    """How often each frame comes, padding left out."""
    found: "collections.Counter[int]" = collections.Counter()
    for batch in batches:
        found.update(int(value) for value in np.asarray(batch[name]).reshape(-1) if value)
    return found


@_settings
@given(lengths, st.booleans(), combination)
def test_no_frame_is_lost_or_doubled_and_the_keys_stay_together(sizes, of_files, parts):
    def check(case: Case) -> None:
        batches = list(case.pipe.load(threads=2))
        x, y = _frames(batches, "x"), _frames(batches, "y")
        wanted = collections.Counter(int(f) for i, size in enumerate(sizes) for f in frames_of(i, size))
        if case.window.whole:
            epochs = int(case.name.split(" | ")[-1].split()[0])
            assert x == collections.Counter({f: epochs for f in wanted}), case.name
        assert set(x) <= set(wanted), case.name
        assert y == collections.Counter({-f: n for f, n in x.items()}), case.name
    with_source(sizes, of_files, parts, check)


@_settings
@given(lengths, st.booleans(), combination)
def test_padding_is_at_the_high_end_only(sizes, of_files, parts):
    def check(case: Case) -> None:
        if case.window.padded or "packed" in case.batcher:   # context and gaps of packed rows are padding inside
            return
        for batch in case.pipe.load(threads=2):
            values = np.asarray(batch["x"]).reshape(batch.rows, -1)
            size = (values != 0).sum(axis=1)
            assert (values == np.where(np.arange(values.shape[1]) < size[:, None], values, 0)).all(), case.name
            if "x" in batch.lengths:
                assert size.tolist() == np.asarray(batch.lengths["x"]).tolist(), case.name
    with_source(sizes, of_files, parts, check)


def _as_wide(rows: Any, like: Any) -> Any:
    return rows if rows.ndim == 1 else np.pad(rows, ((0, 0), (0, like.shape[1] - rows.shape[1])))


@_settings
@given(lengths, st.booleans(), combination, st.integers(2, 4))
def test_row_shards_are_the_rows_of_the_whole_batch(sizes, of_files, parts, ranks):
    def check(case: Case) -> None:
        if "batch(" in case.batcher and int(case.batcher.split("(")[1].split(")")[0]) % ranks:
            return   # a fixed number of rows is refused when it cannot be divided
        if "packed" in case.batcher:
            return   # so is that of packed rows; test_sequence_batches.py deals them
        whole = list(case.pipe.load(threads=1))
        shares = [list(case.pipe.load(threads=2, shard=(rank, ranks))) for rank in range(ranks)]
        for batch, *pieces in zip(whole, *shares):
            wanted = np.asarray(batch["x"])
            rows = [np.asarray(piece["x"]) for piece in pieces]
            if "batch(" in case.batcher:   # of a fixed number of rows: each shard is as wide as its own longest row
                rows = [_as_wide(piece, wanted) for piece in rows]
            assert np.concatenate(rows).tolist() == wanted.tolist(), case.name
        assert {len(share) for share in shares} == {len(whole)}, case.name
    with_source(sizes, of_files, parts, check)


@_settings
@given(lengths.filter(lambda sizes: len(sizes) > 3), combination, st.integers(1, 40))
def test_a_corrupt_record_in_the_middle_takes_only_its_own_windows(sizes, parts, place):
    with tempfile.TemporaryDirectory() as folder:
        source = files(sizes, folder)
        first = pathlib.Path(folder) / "part-000.tfrecord"
        data = bytearray(first.read_bytes())
        data[min(place * 7, len(data) - 5)] ^= 64   # a payload, a length or a checksum
        first.write_bytes(bytes(data))
        order, window, batcher, last, epochs = parts
        case = build(source.on_corrupt("skip_record"), order, window, batcher, last, epochs)
        if case is None:
            return
        streams = [digests(case.pipe.load(threads=threads)) for threads in (1, 4)]
        assert streams[0] == streams[1], case.name
        found = _frames(case.pipe.load(threads=2), "x")
        lost = {f // 1000 for i, size in enumerate(sizes) for f in (frames_of(i, size) - 1).tolist()} - {
            (f - 1) // 1000 for f in found}
        if window.whole:
            assert len(lost) <= 2 and all(sequence < 7 for sequence in lost), case.name


def test_chunks_pass_through_a_buffer_that_is_kept_full():
    """The chunk queue of the speech pipeline: 100 chunks, which wait until the queue is 80 % full."""
    sizes = [1 + i * 37 % 90 for i in range(60)]
    pipe = arrays(sizes).chunk(5, keys=["x", "y"])
    stored = [batch["x"][0].tolist() for batch in pipe.batch(1, pad=True).load(threads=1)]
    given = [batch["x"][0].tolist() for batch in pipe.shuffle(100).batch(1, pad=True).seed(1).load(threads=2)]
    place = {tuple(chunk): i for i, chunk in enumerate(stored)}
    order = [place[tuple(chunk)] for chunk in given]
    assert sorted(order) == list(range(len(stored))) and len(stored) > 400
    assert all(at < i + 100 for i, at in enumerate(order)), "a chunk came before the buffer was full"
    assert sum(at >= i + 50 for i, at in enumerate(order)) > 100, "the buffer is deep"


def test_most_of_the_random_pipelines_run():
    """The tests above check nothing where the plan refuses a pipeline."""
    if built:
        assert built[True] > 4 * built[False], built
