# SPDX-License-Identifier: Apache-2.0
"""Flipped bits in compressed files whose records have no checksums of their own."""
from __future__ import annotations

import bz2
import gzip
import lzma
import pathlib
import random
import zlib
from typing import Callable

import pytest

import forebay as fb

LINES = [b"%d %d" % (i, i * i % 7919) for i in range(60_000)]
TEXT = b"\n".join(LINES) + b"\n"
FORMATS: "dict[str, Callable[[bytes], bytes]]" = {"gzip": gzip.compress, "stored": lambda text: gzip.compress(text, 0), "zlib": zlib.compress,
                                                  "xz": lzma.compress, "bzip2": lambda text: bz2.compress(text, 1)}


def flipped(content: bytes, seed: int) -> bytes:
    """With one other bit, anywhere after the header."""
    bit = random.Random(seed).randrange(8 * 20, 8 * (len(content) - 20))
    return content[:bit // 8] + bytes([content[bit // 8] ^ 1 << bit % 8]) + content[bit // 8 + 1:]


def delivered(pipe: fb.Pipeline, threads: int) -> "tuple[list[bytes], str]":
    lines: "list[bytes]" = []
    try:
        for batch in pipe.load(threads=threads):
            lines += batch["line"].tolist()
    except fb.DataError as error:
        return lines, str(error)
    return lines, ""


@pytest.mark.parametrize("kind", FORMATS)
def test_no_line_of_a_corrupt_stream_comes(tmp_path: pathlib.Path, kind: str) -> None:
    compression = "gzip" if kind == "stored" else kind
    content = FORMATS[kind](TEXT)
    path = tmp_path / "text"
    for seed in range(12):
        path.write_bytes(flipped(content, seed))
        for threads in (1, 4):
            found, error = delivered(fb.lines(path, compression=compression, verify_first=True).record("line").batch(100), threads)
            assert "corrupt" in error or "checksum" in error or "truncated" in error, (seed, error)
            # A block of bzip2 is verified before it is delivered, in any case.
            assert found == (LINES[:len(found)] if kind == "bzip2" else []), seed


def test_bzip2_gives_right_lines_only_without_the_option(tmp_path: pathlib.Path) -> None:
    content = FORMATS["bzip2"](TEXT)
    before = 0
    for seed in range(24):
        (tmp_path / "text").write_bytes(flipped(content, seed))
        found, error = delivered(fb.lines(tmp_path / "text").record("line").batch(100), threads=2)
        assert error and found == LINES[:len(found)], seed
        before += len(found)
    assert before > 0


@pytest.mark.parametrize("source", ["lines", "csv", "fixed_length"])
def test_intact_files_are_the_same_with_it_in_every_pass(tmp_path: pathlib.Path, source: str) -> None:
    rows = [f"{i:07},{i % 7}\n".encode() for i in range(3000)]
    files = [tmp_path / f"{number}.gz" for number in range(3)]
    for number, file in enumerate(files):
        file.write_bytes(gzip.compress(b"".join(rows[number::3])))
    options = {"record_bytes": 10} if source == "fixed_length" else {}
    streams = []
    for more in ({}, {"verify_first": True}):
        pipe = getattr(fb, source)(files, compression="gzip", **options, **more)
        pipe = pipe.csv({"a": {"dtype": "int64"}, "b": {"dtype": "int64"}}) if source == "csv" else pipe.record("a")
        streams.append([batch["a"].tolist() for batch in pipe.interleave(2).batch(64).epochs(2).load(threads=3)])
    assert streams[1] == streams[0] and sum(map(len, streams[0])) == 6000


def looks_cut(stream: bytes, kind: str) -> bool:
    """Whether the fault of a corrupt stream is that its data ends before it does."""
    try:
        {"zlib": zlib.decompress, "xz": lzma.decompress, "bzip2": bz2.decompress}.get(kind, gzip.decompress)(stream)
    except (EOFError, ValueError, OSError, zlib.error, lzma.LZMAError) as error:
        return "ended before" in str(error) or "truncated" in str(error)
    raise AssertionError("the stream is intact")


@pytest.mark.parametrize("policy", ["skip_file", "skip_record"])
@pytest.mark.parametrize("verify_first", [False, True])
@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_skipped_has_no_wrong_line_in_what_is_delivered(tmp_path: pathlib.Path, policy: str, verify_first: bool, kind: str) -> None:
    """A file of two streams, the second one corrupt, between two intact files: its first stream is delivered."""
    compression, compress = "gzip" if kind == "stored" else kind, FORMATS[kind]
    numbers = [range(0, 1000), range(1000, 3000), range(3000, 4000)]
    texts = [b"".join(b"%d\n" % i for i in part) for part in numbers]
    first, second = compress(texts[1][:2500]), compress(texts[1][2500:])
    for seed in range(8):
        spoiled = flipped(second, seed)
        for number, content in enumerate((compress(texts[0]), first + spoiled, compress(texts[2]))):
            (tmp_path / str(number)).write_bytes(content)
        pipe = fb.lines([tmp_path / str(number) for number in range(3)], compression=compression, verify_first=verify_first)
        for threads in (1, 3):
            lines, error = delivered(pipe.record("line").batch(100).on_corrupt(policy).epochs(2), threads)
            right = [b"%d" % i for i in (*range(1500), *range(3000, 4000))] * 2
            if looks_cut(spoiled, kind) and not verify_first:  # its lines come, and are not verified
                assert lines[:1500] == right[:1500] and lines[-1000:] == right[-1000:], seed
            else:
                assert lines == right, seed
            assert error == ""
