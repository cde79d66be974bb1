# SPDX-License-Identifier: Apache-2.0
"""The source and the decoder `tar`: archives that Python's tarfile writes, and hostile ones."""
from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import pathlib
import tarfile
from typing import Any, Callable, Iterable, Optional

import pytest
from streams import digests, resumed

import forebay as fb

Members = list[tuple[str, bytes]]
COLUMNS = {"text": "txt", "label": "cls", "mask": "seg.png"}
FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]


def archive(members: Members, kind: int = tarfile.USTAR_FORMAT,
            change: Callable[[tarfile.TarInfo], None] = lambda member: None) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as file:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            change(member)
            file.addfile(member, io.BytesIO(content))
    return out.getvalue()


def sample(i: int, folder: str = "train/") -> Members:
    return [(f"{folder}{i:05}.txt", b"t%d" % i * (i % 90)), (f"{folder}{i:05}.cls", b"%d" % (i % 10)),
            (f"{folder}{i:05}.seg.png", bytes(i % 700))]


def samples(count: int, first: int = 0) -> Members:
    return [member for i in range(first, first + count) for member in sample(i)]


def rows(loader: Iterable[fb.Batch]) -> list[tuple[Any, ...]]:
    return [row for batch in loader for row in zip(*(batch[name].tolist() for name in ("__key__", *COLUMNS)))]


def expected(count: int, first: int = 0) -> list[tuple[Any, ...]]:
    return [(b"train/%05d" % i, *(content for _, content in sample(i))) for i in range(first, first + count)]


def fault(path: pathlib.Path, content: bytes, columns: dict[str, str] = {"x": "txt"}, good: int = 0) -> fb.DataError:
    """The error of an archive, after so many records."""
    path.write_bytes(content)
    loader = fb.tar(path).tar(columns).batch(1).load(threads=1)
    assert len(list(itertools.islice(loader, good))) == good
    with pytest.raises(fb.DataError) as caught:
        next(loader)
    assert str(path) in str(caught.value)
    return caught.value


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Archives of every compression and of unequal sizes, one of them empty."""
    folder = tmp_path_factory.mktemp("shards")
    sizes = [(40, bytes), (0, bytes), (90, gzip.compress), (30, bz2.compress), (25, lzma.compress), (60, bytes)]
    out, first = [], 0
    for i, (size, compress) in enumerate(sizes):
        out.append(str(folder / f"{i}.tar"))
        pathlib.Path(out[-1]).write_bytes(compress(archive(samples(size, first), FORMATS[i % 3])))
        first += size
    return out


@pytest.mark.parametrize("threads", [1, 8])
def test_records_are_runs_of_members_and_come_in_order_from_every_compression(shards: list[str], threads: int) -> None:
    assert rows(fb.tar(shards).tar(COLUMNS).batch(16).load(threads=threads)) == expected(245)


@pytest.mark.parametrize("order", [{}, {"buffer": 50}, {"global_": True}])
def test_a_restart_at_any_batch_is_exact_for_any_order(shards: list[str], order: dict[str, Any]) -> None:
    pipe = fb.tar(shards).tar(COLUMNS)
    pipe = (pipe.shuffle(**order) if order else pipe).batch(20).epochs(2).seed(5)
    whole = digests(pipe.load(threads=1))
    assert digests(pipe.load(threads=8)) == whole
    assert sorted(rows(pipe.epochs(1).load())) == expected(245)
    for batches in range(0, len(whole) + 1, 3):
        loader = pipe.load(threads=2)
        assert digests(itertools.islice(loader, batches)) == whole[:batches]
        assert digests(resumed(pipe, loader.state_dict(), threads=1 + batches % 3)) == whole[batches:]


def test_shards_share_all_records(shards: list[str]) -> None:
    pipe = fb.tar(shards).tar(COLUMNS).batch(12)
    parts = [rows(pipe.load(shard={"index": i, "count": 3})) for i in range(3)]
    assert sorted(sum(parts, [])) == expected(245)


@pytest.mark.parametrize("kind", FORMATS)
def test_keys_end_at_the_first_dot_after_the_last_slash_as_in_webdataset(tmp_path: pathlib.Path, kind: int) -> None:
    names = ["a.txt", "a.b.c.txt", "dir.with.dots/b.txt", "./c.txt", "/etc/x.txt", "../../y.txt", "d/e/f.TXT"]
    names += [] if kind == tarfile.USTAR_FORMAT else ["long/" * 60 + "name.txt", "ü" * 120 + ".txt"]
    path = tmp_path / "keys.tar"
    path.write_bytes(archive([(name, b"%d" % i) for i, name in enumerate(names)], kind))
    before = sorted(tmp_path.iterdir())
    batch = next(iter(fb.tar(path).tar({"x": "txt", "other": "b.c.txt"}, allow_missing=True).batch(20).load()))
    keys = [b"a", b"dir.with.dots/b", b"./c", b"/etc/x", b"../../y", b"d/e/f"]
    keys += [] if kind == tarfile.USTAR_FORMAT else [b"long/" * 60 + b"name", ("ü" * 120).encode()]
    assert batch["__key__"].tolist() == keys
    assert batch["x"].tolist() == [b"%d" % i for i in range(len(names)) if i != 1]
    assert batch["other"].tolist() == [b"1", *[b""] * (len(keys) - 1)]
    assert sorted(tmp_path.iterdir()) == before, "nothing touches the disk"


def test_folders_links_and_devices_are_passed_over(tmp_path: pathlib.Path) -> None:
    types = iter([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE,
                  tarfile.REGTYPE])

    def change(member: tarfile.TarInfo) -> None:
        member.type = next(types)
        if member.type != tarfile.REGTYPE:
            member.size, member.linkname = 0, "/etc/passwd"
    path = tmp_path / "links.tar"
    path.write_bytes(archive([("a.txt", b"1"), ("b", b""), ("c.txt", b""), ("d.txt", b""), ("e.txt", b""), ("f.txt", b""),
                              ("g.txt", b"2")], change=change))
    batch = next(iter(fb.tar(path).tar({"x": "txt"}).batch(20).load()))
    assert (batch["__key__"].tolist(), batch["x"].tolist()) == ([b"a", b"g"], [b"1", b"2"])


def test_end_blocks_may_be_missing_and_archives_may_follow_one_another(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "ends.tar"
    one = archive([("a.txt", b"1"), ("b.txt", b"22")])
    for content, count in [(one[:2048], 2), (one[:1536 + 2], 2), (one + archive([("c.txt", b"3")]), 3), (b"", 0),
                           (bytes(10240), 0)]:
        path.write_bytes(content)
        assert sum(batch.rows for batch in fb.tar(path).tar({"x": "txt"}).batch(9).load()) == count


def test_grouping_errors_name_the_record(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "bad.tar"
    interleaved = fault(path, archive([("a.txt", b""), ("b.txt", b""), ("a.cls", b"")]), {"x": "txt;cls"}, good=2)
    assert "the key 'a' comes again after another one" in str(interleaved) and "record 2" in str(interleaved)
    twice = fault(path, archive([("a.txt", b"1"), ("a.TXT", b"2")]))
    assert "two members of the record 'a' have the extension 'txt'" in str(twice)
    assert "the member 'README' has no extension" in str(fault(path, archive([("README", b"1")])))
    assert "the member 'd/.txt' has no extension" in str(fault(path, archive([("d/.txt", b"1")])))
    missing = fault(path, archive([("a.jpg", b"1"), ("a.cls", b"1")]))
    assert "has no member with the extension 'txt'; it has jpg, cls" in str(missing)
    for error in (interleaved, twice, missing):
        assert error.detail == "data_loss"


@pytest.mark.parametrize("order", [None, {"shuffle": {"buffer": 4}}, {"shuffle": {"global": True}}])
def test_bad_groups_are_skipped_as_records(tmp_path: pathlib.Path, order: Optional[dict]) -> None:
    members = [("a.txt", b"1"), ("b.txt", b"2"), ("b.txt", b"2"), ("a.txt", b"3"), ("README", b""), ("c.txt", b"4")]
    path = tmp_path / "bad.tar"
    path.write_bytes(archive(members))
    document = {"source": {"tar": {"files": [str(path)]}}, "decode": {"tar": {"columns": {"x": "txt"}}},
                "steps": [*([order] if order else []), {"batch": {"size": 9}}], "on_corrupt": "skip_record"}
    loader = fb.load(document)
    assert sorted(x for batch in loader for x in batch["x"].tolist()) == [b"1", b"4"]
    assert loader.stats().skipped_records == 3


def test_a_corrupt_header_ends_the_file_and_skip_file_goes_on(tmp_path: pathlib.Path) -> None:
    bad, good = tmp_path / "bad.tar", tmp_path / "good.tar"
    content = bytearray(archive(samples(9)))
    content[content.index(b"train/00004.cls")] ^= 1
    good.write_bytes(archive(samples(3, 50)))
    bad.write_bytes(content)
    loader = fb.tar(bad).tar(COLUMNS).batch(1).load(threads=1)
    delivered = []
    with pytest.raises(fb.DataError, match="not a tar header: its checksum is wrong"):
        for batch in loader:
            delivered += rows([batch])
    assert delivered == expected(4)
    document = {"source": {"tar": {"files": [str(bad), str(good)]}}, "decode": {"tar": {"columns": COLUMNS}},
                "steps": [{"batch": {"size": 4}}], "on_corrupt": "skip_record"}
    assert rows(fb.load(document)) == [*delivered, *expected(3, 50)]


def sized(field: bytes) -> bytes:
    """An archive whose member has this size field, with a right checksum."""
    header = bytearray(archive([("a.txt", b"1")])[:512])
    header[124:136] = field
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(1024)


@pytest.mark.parametrize("field", [b"-0000000001\0", b"0000000009\0\0", b"\xff" * 12, b"\x80" + b"\xff" * 11,
                                   b"\x80\0\0\0" + (1 << 63).to_bytes(8, "big")])
def test_a_size_that_is_no_number_or_too_large_is_corrupt(tmp_path: pathlib.Path, field: bytes) -> None:
    assert "the size of a member is no number" in str(fault(tmp_path / "bad.tar", sized(field)))


def test_sizes_and_names_have_limits(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "bad.tar"
    assert "inside a member" in str(fault(path, sized(b"00000010000\0")))
    assert "record too large" in str(fault(path, sized(b"\x80\0\0\0" + (1 << 40).to_bytes(8, "big"))))
    assert "at most" in str(fault(path, archive([("x" * (1 << 20) + ".txt", b"")], tarfile.GNU_FORMAT)))
    assert "at most" in str(fault(path, archive([("x" * (1 << 17) + ".txt", b"")], tarfile.PAX_FORMAT)))

    def pax(kind: bytes, headers: dict[str, str]) -> bytes:
        def change(member: tarfile.TarInfo) -> None:
            member.pax_headers = headers
        content = archive([("a.txt", b"1")], tarfile.PAX_FORMAT, change)
        header = bytearray(content[:512])
        header[156:157] = kind
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        return bytes(header) + content[512:]
    assert "a global pax header sets the path" in str(fault(path, pax(b"g", {"path": "b.txt"})))
    assert "sparse member" in str(fault(path, pax(b"x", {"GNU.sparse.major": "1"})))
    assert "the size in a pax header" in str(fault(path, pax(b"x", {"size": "-1"})))
    assert "inside a member" in str(fault(path, pax(b"x", {"size": "70000"})))


def test_every_cut_gives_right_records_and_then_the_fault(tmp_path: pathlib.Path) -> None:
    content = archive(samples(3))
    ends = [i for i in range(0, len(content), 131)]
    for end in ends:
        path = tmp_path / f"{end}.tar"
        path.write_bytes(content[:end])
        delivered: list[tuple[Any, ...]] = []
        try:
            for batch in fb.tar(path).tar(COLUMNS, allow_missing=True).batch(1).load(threads=1):
                delivered += rows([batch])
        except fb.DataError:
            pass
        whole = expected(3)
        assert [row[0] for row in delivered] == [row[0] for row in whole[:len(delivered)]]
        for got, want in zip(delivered, whole):
            assert all(a in (b, b"") for a, b in zip(got, want)), end


def test_other_files_are_named(tmp_path: pathlib.Path) -> None:
    error = fault(tmp_path / "x.tar", b"PAR1\x15\x04" + bytes(600))
    assert "not a tar archive, but a Parquet file" in str(error) and error.detail == "invalid_argument"
    assert "not a tar header" in str(fault(tmp_path / "y.tar", b"plain text " * 90))


def test_options_are_checked(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(archive([]))
    for columns, words in [({"x": ".txt"}, "without the first dot"), ({"x": ""}, "is no extension"),
                           ({"__key__": "txt"}, "the tensor that has the key")]:
        with pytest.raises(fb.ConfigError, match=words):
            fb.tar(path).tar(columns).batch(1).load()


def test_pickles_are_bytes(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.tar"
    bad = b"cos\nsystem\n(S'touch /tmp/never'\ntR."
    path.write_bytes(archive([("a.pkl", bad), ("a.pt", bad), ("a.pyd", bad), ("a.__key__", b"x")]))
    batch = next(iter(fb.tar(path).tar({"pkl": "pkl", "pt": "pt", "pyd": "pyd", "inner": "__key__"}).batch(1).load()))
    assert [batch[name].tolist() for name in ("pkl", "pt", "pyd", "inner", "__key__")] == [[bad], [bad], [bad], [b"x"], [b"a"]]
