# SPDX-License-Identifier: Apache-2.0
"""The sources `lines` and `fixed_length` against plain Python readers of the same files."""
from __future__ import annotations

import gzip
import itertools
import json
import pathlib
import random
import subprocess
import sys
import zlib
from typing import Any, Callable, Iterable

import pytest
from command import forebay
from streams import digests, resumed

import forebay as fb

Record = tuple[str, bytes]
COMPRESSIONS = ("none", "gzip", "zlib", "zstd")


def compressed(folder: pathlib.Path, content: bytes, compression: str) -> bytes:
    if compression == "gzip":
        return gzip.compress(content, 6)
    if compression == "zlib":
        return zlib.compress(content, 6)
    if compression == "zstd":
        plain = folder / "plain.bin"
        plain.write_bytes(content)
        return subprocess.run(["zstd", "-q", "-c", str(plain)], check=True, capture_output=True).stdout
    return content


def lines_of(content: bytes) -> list[bytes]:
    """A line feed ends a line, and one carriage return before it or before the end belongs to the end."""
    lines = content.split(b"\n")
    last = lines.pop()
    lines = [line[:-1] if line.endswith(b"\r") else line for line in lines]
    last = last[:-1] if last.endswith(b"\r") else last
    return [*lines, last] if last else lines


def read_lines(path: pathlib.Path, content: bytes, header: int = 0) -> list[Record]:
    lines = [(f"{path}:{number}", line) for number, line in enumerate(lines_of(content), 1)]
    skipped = len(content.split(b"\n")) > header   # so many line feeds end a header
    return lines[header:] if skipped else []


def read_fixed(path: pathlib.Path, content: bytes, record: int, header: int, footer: int, hop: int) -> list[Record]:
    starts = range(header, len(content) - record - footer + 1, hop or record)
    return [(f"{path}:{i}", content[start:start + record]) for i, start in enumerate(starts)]


def line_files() -> dict[str, bytes]:
    rng = random.Random(5)
    mixed = b"".join(bytes(rng.choices(b"abc, \r\"", k=rng.randrange(30))) + rng.choice([b"\n", b"\r\n"])
                     for _ in range(4000))
    over_blocks = b"".join(bytes([97 + i % 26]) * (1 << 18) * (i % 7 + 1) + b"\r\n" for i in range(9))
    edge = b"x" * ((1 << 18) - 1) + b"\n" + b"y" * ((1 << 18) - 1) + b"\r\n" + b"z" * (1 << 18) + b"\nend"
    return {"crlf": b"a\r\nb\r\n", "cut": b"a\nb", "cut_cr": b"a\nb\r", "only_cr": b"a\n\r", "blank": b"\n\r\n\n",
            "empty": b"", "bom": b"\xef\xbb\xbfx\ny\n", "zlib_head": b"x \n80\n", "one": b"\n", "long": over_blocks,
            "edge": edge, "mixed": mixed, "cr_inside": b"a\rb\r\r\n", "nul": b"\x00\n\xff\x00\n"}


def stream(loader: Iterable[fb.Batch]) -> list[Record]:
    return [record for batch in loader for record in zip(batch.record_keys, batch["record"].tolist())]


def write_lines(folder: pathlib.Path, compression: str) -> dict[pathlib.Path, bytes]:
    out = {}
    for name, content in line_files().items():
        path = folder / f"{name}.txt"
        path.write_bytes(compressed(folder, content, compression))
        out[path] = content
    return out


def pipe_of(files: Iterable[pathlib.Path], compression: str = "auto", header: int = 0, size: int = 97) -> fb.Pipeline:
    return fb.lines([str(path) for path in files], compression=compression, skip_header_lines=header).record().batch(size)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("header", [0, 1, 3])
def test_lines_are_those_of_a_plain_reader(tmp_path: pathlib.Path, compression: str, header: int) -> None:
    files = write_lines(tmp_path, compression)
    expected = [record for path, content in files.items() for record in read_lines(path, content, header)]
    named = compression if compression == "zlib" else "auto"
    for threads in (1, 8):
        assert stream(pipe_of(files, named, header).load(threads=threads)) == expected


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_shuffled_lines_are_all_lines_and_the_same_for_every_thread_count(
        tmp_path: pathlib.Path, compression: str) -> None:
    files = write_lines(tmp_path, compression)
    expected = sorted(record for path, content in files.items() for record in read_lines(path, content, 1))
    for options in ({"buffer": 300}, {"global_": True}):
        pipe = fb.lines([str(path) for path in files], skip_header_lines=1).record().shuffle(**options).batch(97).seed(3)
        one, eight = stream(pipe.load(threads=1)), stream(pipe.load(threads=8))
        assert one == eight
        assert sorted(one) == expected and one != expected


@pytest.mark.parametrize("by", ["row", "file"])
def test_shards_of_lines_share_all_lines(tmp_path: pathlib.Path, by: str) -> None:
    paths = []
    for i in range(4):
        paths.append(tmp_path / f"{i}.txt")
        paths[-1].write_bytes(b"header\n" + b"".join(b"%d %d\n" % (i, j) for j in range(40)))
    pipe = fb.lines([str(path) for path in paths], skip_header_lines=1).record().batch(8, remainder="drop")
    shards = [stream(pipe.load(threads=2, shard={"index": i, "count": 2, "by": by})) for i in range(2)]
    expected = [record for path in paths for record in read_lines(path, path.read_bytes(), 1)]
    assert sorted(shards[0] + shards[1]) == sorted(expected)
    assert len(shards[0]) == len(shards[1]) == 80


@pytest.mark.parametrize("order", ["none", "buffer", "global"])
@pytest.mark.parametrize("source", ["lines", "fixed_length"])
def test_a_restart_at_every_batch_is_exact(tmp_path: pathlib.Path, source: str, order: str) -> None:
    paths = []
    for i, compression in enumerate(["none", "gzip", "none"]):
        content = b"head\r\n" + b"".join(b"%d-%d%s\r\n" % (i, j, b"x" * (j % 11)) for j in range(150))
        paths.append(str(tmp_path / f"{i}.txt"))
        pathlib.Path(paths[-1]).write_bytes(compressed(tmp_path, content, compression))
    begun = (fb.lines(paths, skip_header_lines=1) if source == "lines"
             else fb.fixed_length(paths, 9, header_bytes=6, hop_bytes=4)).record()
    shuffles: dict[str, Callable[[fb.Pipeline], fb.Pipeline]] = {
        "none": lambda pipe: pipe, "buffer": lambda pipe: pipe.shuffle(buffer=50),
        "global": lambda pipe: pipe.shuffle(global_=True)}
    pipe = shuffles[order](begun).batch(32).epochs(2).seed(9)
    whole = digests(pipe.load(threads=2))
    for batches in range(len(whole) + 1):
        loader = pipe.load(threads=2)
        assert digests(itertools.islice(loader, batches)) == whole[:batches]
        assert digests(resumed(pipe, loader.state_dict(), threads=1 + batches % 3)) == whole[batches:]


def test_a_header_that_is_longer_than_a_block_is_skipped(tmp_path: pathlib.Path) -> None:
    content = b"# " + b"h" * 3_000_000 + b"\n" + b"second\r\n" + b"1\n2"
    for compression in ("none", "gzip"):
        path = tmp_path / f"{compression}.txt"
        path.write_bytes(compressed(tmp_path, content, compression))
        assert stream(pipe_of([path], header=2).load(threads=2)) == [(f"{path}:3", b"1"), (f"{path}:4", b"2")]


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_line_that_is_too_long_is_an_error_or_is_skipped(tmp_path: pathlib.Path, compression: str) -> None:
    long = [b"a" * 100, b"b" * 101, b"c" * 99 + b"\r", b"d" * 300_000, b"e", b"f" * 500]
    path = tmp_path / "long.txt"
    path.write_bytes(compressed(tmp_path, b"\n".join(long), compression))
    pipe = fb.lines([str(path)], max_line_bytes=100).record().batch(1)
    loader = pipe.load(threads=2)
    got = []
    with pytest.raises(fb.DataError, match=r"long\.txt, line 2, record 1, byte 101: .*max_line_bytes, 100"):
        for batch in loader:
            got += batch["record"].tolist()
    assert got == [long[0]]
    document = {**json.loads(pipe.to_json()), "on_corrupt": "skip_record"}
    for steps in ([], [{"shuffle": {"global": True}}]):
        loader = fb.load({**document, "steps": [*steps, {"batch": {"size": 1}}]}, threads=2)
        assert sorted(record for _, record in stream(loader)) == [b"a" * 100, b"c" * 99, b"e"]
        assert loader.stats().skipped_ranges == 3


@pytest.mark.parametrize("policy", ["fail", "skip_record", "skip_file"])
def test_a_cut_gzip_file_is_handled_as_asked(tmp_path: pathlib.Path, policy: str) -> None:
    rng = random.Random(1)
    content = b"".join(b"%d\n" % rng.getrandbits(200) for _ in range(5000))
    cut, good = tmp_path / "cut.txt.gz", tmp_path / "good.txt"
    cut.write_bytes(gzip.compress(content)[:-40_000])
    good.write_bytes(b"x\ny\n")
    document = {"source": {"lines": {"files": [str(cut), str(good)]}}, "decode": {"record": {}},
                "steps": [{"batch": {"size": 50, "remainder": "keep"}}], "on_corrupt": policy}
    loader = fb.load(document, threads=2)
    got: list[Record] = []
    if policy == "fail":
        with pytest.raises(fb.DataError, match="cut.txt.gz.*truncated gzip data"):
            for batch in loader:
                got += zip(batch.record_keys, batch["record"].tolist())
        assert got == read_lines(cut, content)[:len(got)] and len(got) > 1000
        return
    got = stream(loader)
    assert got[-2:] == read_lines(good, b"x\ny\n")
    assert got[:-2] == read_lines(cut, content)[:len(got) - 2] and len(got) > 1000


def test_a_corrupt_gzip_file_of_text_is_never_read_as_text(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.txt.gz"
    content_gz = bytearray(gzip.compress(b"one\ntwo\n" * 100))
    content_gz[10:14] = b"\xff\n\xff\n"
    path.write_bytes(content_gz + b"\nlooks like text\n" * 10)
    document = {"source": {"lines": {"files": [str(path)]}}, "decode": {"record": {}},
                "steps": [{"batch": {"size": 5}}], "on_corrupt": "skip_record"}
    assert stream(fb.load(document, threads=1)) == []


FIXED = [dict(record_bytes=71), dict(record_bytes=33), dict(record_bytes=50, header_bytes=3, footer_bytes=2),
         dict(record_bytes=5000, hop_bytes=1700), dict(record_bytes=3, hop_bytes=300, header_bytes=11),
         dict(record_bytes=300_000, hop_bytes=250_000, footer_bytes=9), dict(record_bytes=2, hop_bytes=700_000),
         dict(record_bytes=50, header_bytes=600_000, footer_bytes=600_000)]


@pytest.mark.parametrize("options", FIXED, ids=str)
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_fixed_length_records_are_those_of_a_plain_reader(
        tmp_path: pathlib.Path, options: dict[str, int], compression: str) -> None:
    expected = []
    paths = []
    for size in (1_500_000, 600_013):
        content = random.Random(size).randbytes(size)
        paths.append(tmp_path / f"{size}.bin")
        paths[-1].write_bytes(compressed(tmp_path, content, compression))
        expected += read_fixed(paths[-1], content, options["record_bytes"], options.get("header_bytes", 0),
                               options.get("footer_bytes", 0), options.get("hop_bytes", 0))
    named = compression if compression == "zlib" else "auto"
    source = fb.fixed_length([str(path) for path in paths], **options, compression=named)
    for threads in (1, 8):
        assert stream(source.record().batch(4096).load(threads=threads)) == expected
    shuffled = stream(source.record().shuffle(global_=True).batch(4096).load(threads=2))
    assert sorted(shuffled) == sorted(expected)
    document = {**json.loads(source.record().batch(4096).to_json()), "on_corrupt": "skip_record"}
    assert stream(fb.load(document, threads=2)) == expected


def test_a_file_that_is_shorter_than_its_header_is_an_error(tmp_path: pathlib.Path) -> None:
    for name, content, end in (("empty.bin", b"", 0), ("short.bin", b"12", 2)):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(fb.DataError, match=f"{name}, record 0, byte {end}: the file ends after {end} bytes"):
            list(fb.fixed_length([str(path)], 4, header_bytes=3).record().batch(1).load())
        (tmp_path / "good.bin").write_bytes(b"...abcd")
        document = {"source": {"fixed_length": {"files": [str(path), str(tmp_path / "good.bin")], "record_bytes": 4,
                                                "header_bytes": 3}},
                    "decode": {"record": {}}, "steps": [{"batch": {"size": 1}}], "on_corrupt": "skip_record"}
        loader = fb.load(document)
        assert stream(loader) == [(f"{tmp_path}/good.bin:0", b"abcd")]
        assert loader.stats().skipped_ranges == 1


@pytest.mark.parametrize("options, content, record", [
    (dict(record_bytes=4), b"abcdefghij", 2), (dict(record_bytes=4, footer_bytes=3), b"abcdefg--", 1),
    (dict(record_bytes=4, hop_bytes=2), b"abcdefg", 2), (dict(record_bytes=2, hop_bytes=5), b"abcdeab..", None),
    (dict(record_bytes=4, hop_bytes=2), b"abcdefgh", None), (dict(record_bytes=2, hop_bytes=5), b"ab...a", 1)])
def test_a_strict_tail_refuses_bytes_after_the_last_record(
        tmp_path: pathlib.Path, options: dict[str, Any], content: bytes, record: int | None) -> None:
    path = tmp_path / "tail.bin"
    path.write_bytes(content)
    pipe = fb.fixed_length([str(path)], **options, strict_tail=True).record().batch(1)
    if record is None:
        assert stream(pipe.load()) == stream(fb.fixed_length([str(path)], **options).record().batch(1).load())
        return
    with pytest.raises(fb.DataError, match=f"record {record}, .*ends inside a record"):
        list(pipe.load())


def test_binary_records_that_begin_like_gzip_are_plain(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"\x1f\x8b\x00\x01" * 8)
    assert len(stream(fb.fixed_length([str(path)], 4).record().batch(9).load())) == 8


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_text_file_that_changes_between_two_epochs_is_an_error(tmp_path: pathlib.Path, compression: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(compressed(tmp_path, b"one\ntwo\n" * 20, compression))
    loader = fb.lines([str(path)]).record().batch(40).epochs(None).load(threads=1, prefetch=1, memory="8MiB")
    next(loader)
    path.write_bytes(compressed(tmp_path, b"six\nten\n" * 20, compression))
    got = []
    with pytest.raises(fb.DataError, match=r"a\.txt.*changed"):
        for batch in itertools.islice(loader, 100):
            got += batch["record"].tolist()
    assert set(got) <= {b"one", b"two"}


def test_an_index_of_other_options_is_not_used(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"".join(b"%d\n" % i for i in range(1000)))
    for header in (0, 5):
        pipe = fb.lines([str(path)], skip_header_lines=header).record().shuffle(global_=True).batch(10)
        assert sorted(stream(pipe.load())) == sorted(read_lines(path, path.read_bytes(), header))


def test_head_shows_lines_and_their_keys(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x,y\n1,2\n")
    document = tmp_path / "doc.json"
    document.write_text(json.dumps({"source": {"lines": {"files": ["a.txt"], "skip_header_lines": 1}},
                                    "decode": {"record": {}}, "steps": [{"batch": {"size": 4}}]}))
    done = forebay("head", str(document), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [{"origin": f"{tmp_path}/a.txt:2", "values": {"record": "1,2"}}]


def test_the_files_of_a_document_are_indexed_and_verified_in_its_format(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x,y\n1,2\n" + b"l" * 50 + b"\n3,4\n")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"x,y\n" + b"5,6\n" * 2000)[:-9])
    document = tmp_path / "doc.json"
    document.write_text(json.dumps({"source": {"lines": {"files": ["*.txt*"], "skip_header_lines": 1,
                                                         "max_line_bytes": 20}},
                                    "decode": {"record": {}}, "steps": [{"batch": {"size": 4}}]}))
    done = forebay("verify", "--document", document, "--json")
    assert done.returncode == 3, done.stderr
    found = [(file["records"], file["unreadable_ranges"], file["corruption"][0]["reason"])
             for file in json.loads(done.stdout)["files"]]
    assert found[0] == (2, 1, "a line has more than max_line_bytes, 20: is this a text file? Raise max_line_bytes if it is")
    assert found[1][1] == 1 and found[1][2].startswith("truncated gzip data")
    (tmp_path / "a.txt").write_bytes(b"x,y\n1,2\n")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"x,y\n" + b"5,6\n" * 2000))
    done = forebay("verify", "--document", document)
    assert done.returncode == 0 and "2 files, 0 of them not intact: 2001 intact records" in done.stdout
    done = forebay("index", "--document", document, "--json")
    assert [(file["built"], file["records"]) for file in json.loads(done.stdout)["files"]] == [(True, 1), (True, 2000)]
    assert forebay("index", "--document", document, "--check").returncode == 0
    shuffled = fb.load({**json.loads(document.read_text()), "steps": [{"shuffle": {"global": True}}, {"batch": {"size": 100}}],
                        "source": {"lines": {"files": [f"{tmp_path}/*.txt*"], "skip_header_lines": 1,
                                             "max_line_bytes": 20}}})
    assert len(stream(shuffled)) == 2001
    assert forebay("index", "--document", document, "--check").returncode == 0


@pytest.mark.parametrize("verb", ["verify", "index"])
def test_files_and_a_document_exclude_each_other(tmp_path: pathlib.Path, verb: str) -> None:
    assert "--document" in forebay(verb, "a.txt", "--document", "doc.json").stderr
    assert "name TFRecord files, or a document with --document" in forebay(verb).stderr


@pytest.mark.parametrize("head", [b"\x89HDF\r\n\x1a\n", b"ARROW1\0\0", b"PAR1\x15\x04", b"PK\3\4", b"\x93NUMPY\1\0"])
def test_files_of_other_kinds_are_named(tmp_path: pathlib.Path, head: bytes) -> None:
    (tmp_path / "file").write_bytes(head + bytes(100))
    for source in (fb.lines, fb.tfrecord, fb.tar):
        with pytest.raises(fb.DataError, match="not a .*, but an? ") as caught:
            next(iter(source(tmp_path / "file").record().batch(1).load()))
        assert caught.value.detail == "invalid_argument"
