# SPDX-License-Identifier: Apache-2.0
"""Filters, lengths and trial decodes of one file by several threads: the same stream, skips, errors and bounds."""
from __future__ import annotations

import pathlib
import time

import numpy as np
import pytest
from streams import digests, examples, resumed

import forebay as fb

RECORDS = 12_000
BLOCK = 256 << 10  # bytes: a block of a plain file has about as many


def record(number: int) -> bytes:
    return fb.encode_example({"id": number, "x": [number / 2, number / 4], "name": b"n" * (number % 200),
                              "tokens": np.full(number % 90, number)})


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> dict[str, str]:
    """The same file of many blocks, by compression."""
    folder = tmp_path_factory.mktemp("early")
    records = [record(i) for i in range(RECORDS)]
    paths = {}
    for compression in (None, "zstd", "gzip"):
        paths[str(compression)] = str(folder / f"{compression}.tfrecord")
        fb.write_records(paths[str(compression)], records, compression)
    assert pathlib.Path(paths["None"]).stat().st_size > 8 * BLOCK
    return paths


def filtered(path: str) -> fb.Pipeline:
    return examples([path]).filter("id // 3 % 5 != 0 and length(tokens) > 4").batch(500)


def by_frames(path: str) -> fb.Pipeline:
    return examples([path]).frames(["tokens"], batch_size=24_000).epochs(2)


def corrupt(path: str, out: pathlib.Path, every: int) -> tuple[str, int]:
    """A copy of a plain file in which one payload of each `every` is wrong; and the number of these."""
    content, at, number, wrong = bytearray(pathlib.Path(path).read_bytes()), 0, 0, 0
    while at < len(content):
        length = int.from_bytes(content[at:at + 8], "little")
        if number % every == 7:
            content[at + 12 + length // 2] ^= 1
            wrong += 1
        at, number = at + 16 + length, number + 1
    out.write_bytes(content)
    return str(out), wrong


@pytest.mark.parametrize("compression", ["None", "zstd", "gzip"])
@pytest.mark.parametrize("pipe", [filtered, by_frames])
def test_the_stream_is_the_same_for_any_number_of_threads(large, pipe, compression):
    wanted = digests(pipe(large[compression]).load(threads=1))
    assert len(wanted) > 10
    for threads in (2, 8):
        assert digests(pipe(large[compression]).load(threads=threads)) == wanted


def test_the_rows_are_those_of_plain_python(large):
    wanted = [i for i in range(RECORDS) if i // 3 % 5 != 0 and i % 90 > 4]
    assert [int(i) for batch in filtered(large["None"]).load(threads=8) for i in batch["id"]] == wanted


@pytest.mark.parametrize("compression", ["None", "zstd"])
@pytest.mark.parametrize("pipe", [filtered, by_frames])
def test_a_restart_at_every_batch_is_exact(large, pipe, compression):
    wanted, states = [], []
    loader = pipe(large[compression]).load(threads=2)
    for batch in loader:
        wanted += digests([batch])
        states.append(loader.state_dict())
    for after, state in enumerate(states, 1):
        loader = resumed(pipe(large[compression]), state, threads=8)
        assert digests([next(loader)] if after % 8 and after < len(wanted) else loader) == (
            wanted[after:after + 1] if after % 8 else wanted[after:])


@pytest.mark.parametrize("pipe", [filtered, by_frames])
def test_corrupt_records_of_every_block_are_skipped_and_counted_alike(tmp_path, large, pipe):
    path, wrong = corrupt(large["None"], tmp_path / "corrupt.tfrecord", 100)
    seen = []
    for threads in (1, 2, 8):
        loader = pipe(path).on_corrupt("skip_record").load(threads=threads)
        got = digests(loader)
        stats = loader.stats()
        seen.append((got, stats.skipped_records, stats.skipped_bytes, [str(error) for error in stats.skipped]))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][1] == wrong * (2 if pipe is by_frames else 1)


@pytest.mark.parametrize("policy", ["fail", "skip_file", "budget"])
def test_the_first_fault_in_the_order_of_the_file_counts(tmp_path, large, policy):
    path, _ = corrupt(large["None"], tmp_path / "corrupt.tfrecord", 1000)
    options = {"fail": ("fail", {}), "skip_file": ("skip_file", {}), "budget": ("skip_record", {"max_count": 5})}[policy]
    seen = []
    for threads in (1, 2, 8, 8, 8):
        ids, error = [], ""
        try:
            for batch in filtered(path).on_corrupt(options[0], **options[1]).load(threads=threads):
                ids += batch["id"].tolist()
        except fb.DataError as failed:
            error = str(failed)
        seen.append((ids, error))
    assert all(one == seen[0] for one in seen)
    last = {"fail": 7, "skip_file": 7, "budget": 5007}[policy]
    assert (f"record {last}" in seen[0][1]) == (policy != "skip_file"), seen[0][1]
    assert all(i < last for i in seen[0][0])


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_it_stops_in_the_middle_of_early_work(large, threads):
    for batches in (0, 1, 3):
        loader = filtered(large["zstd"]).epochs(None).load(threads=threads)
        for _ in range(batches):
            next(loader)
        begun = time.perf_counter()
        loader.close()
        assert time.perf_counter() - begun < 10


@pytest.mark.parametrize("compression", ["None", "zstd"])
def test_blocks_that_are_checked_count_in_the_budget(large, compression):
    wanted = digests(filtered(large[compression]).load(threads=1))
    loader = filtered(large[compression]).on_corrupt("skip_record").load(threads=8, memory="24MiB")
    used, got = 0, []
    for batch in loader:
        used = max(used, loader.stats().memory_used)
        got += digests([batch])
    assert got == wanted and 0 < used <= loader.stats().memory_limit
