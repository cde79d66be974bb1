# SPDX-License-Identifier: Apache-2.0
"""Record indexes, from Python and from the command line."""
from __future__ import annotations

import gzip
import json
import os
import pathlib
import struct

import pytest
from conftest import preloaded_library
from command import forebay, interrupt_while_reading, start

import forebay as fb

RECORDS = [bytes([i % 256]) * (i % 300) for i in range(1000)]
CONTENT = sum(len(record) + 16 for record in RECORDS)
STORE = ".forebay/index-v1"


def index(*arguments):
    return forebay("index", *arguments)


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / "cache"))
    for name, compression in (("a", None), ("b.gz", "gzip"), ("c.zlib", "zlib"), ("d.zst", "zstd")):
        fb.write_records(tmp_path / name, RECORDS, compression)
    return tmp_path


def test_indexes_are_made_once(data):
    paths = [data / "a", data / "b.gz", data / "c.zlib", data / "d.zst"]
    first = fb.index_files(paths)
    assert [(r.file, r.path, r.built, r.records, r.bytes) for r in first] == \
        [(str(p), str(data / STORE), True, len(RECORDS), CONTENT) for p in paths]
    # Each entry has a head of 72 bytes and the name, padded to a multiple of 8 bytes.
    assert os.path.getsize(data / STORE) == sum(80 + (r.index_bytes + 7) // 8 * 8 for r in first)
    assert [r.built for r in fb.index_files(paths)] == [False] * 4
    assert [r.built for r in fb.index_files(paths, force=True)] == [True] * 4


def test_a_single_path_or_pattern_may_be_given(data):
    assert fb.index_files(str(data / "*.gz"))[0].records == len(RECORDS)
    assert fb.index_files(data / "a", "none")[0].records == len(RECORDS)


def test_a_pipeline_is_indexed_with_what_its_orders_need(data):
    pipe = fb.tfrecord([str(data / "a"), str(data / "b.gz")]).record().filter("length(record) > 100").shuffle(global_=True).batch(10)
    plain = fb.index_files([data / "a", data / "b.gz"])
    assert [(r.built, r.records) for r in fb.index_files(pipe)] == [(True, len(RECORDS))] * 2, "the verdicts of the filter were not stored"
    assert [(r.file, r.built) for r in fb.index_files(pipe.plan())] == [(r.file, False) for r in plain]
    stored = os.path.getsize(data / STORE)
    with pipe.load() as loader:
        assert sum(batch.rows for batch in loader) == 2 * sum(len(record) > 100 for record in RECORDS)
    assert os.path.getsize(data / STORE) == stored, "the run has made nothing"
    with pytest.raises(fb.ConfigError, match="a record is a whole file"):
        fb.index_files(fb.whole_file([str(data / "a")]).record().batch(1))


def test_what_is_stored_is_what_the_document_says(data):
    report = fb.index_files(data / "a")[0]
    entry = pathlib.Path(report.path).read_bytes()
    status = os.stat(data / "a")
    magic, size, made_by, file_size, modified, *_, kind, name, crc, _ = struct.unpack_from("<8sQQQqQQIIII", entry)
    assert (magic, size, made_by, kind, name) == (b"\x89FBENTR\n", report.index_bytes, 0, 1, 1)
    assert (file_size, modified, entry[72:80]) == (status.st_size, status.st_mtime_ns, b"a" + bytes(7))
    stored = entry[80:80 + size]
    assert len(entry) == 80 + (size + 7) // 8 * 8
    head = struct.unpack_from("<8sIIQQqQQQQQQQBB6x", stored)
    signature = b"tfrecord max_record_bytes=1073741824"
    assert head[:6] == (b"\x89FBINDX\n", 2, 2**32 - 3, len(stored), status.st_size, status.st_mtime_ns)
    assert head[8:] == (CONTENT, len(RECORDS), 0, 0, 0, 0, len(signature))
    assert stored[104:144] == signature + bytes(4)
    lengths = [len(record) for record in RECORDS]
    offsets = [sum(lengths[:i]) + 16 * i + 12 for i in range(len(RECORDS))]
    assert stored[144:-4] == struct.pack(f"<{len(RECORDS)}Q{len(RECORDS)}I", *offsets, *lengths)


def test_a_corrupt_file_is_a_data_error_after_the_others_are_done(data):
    (data / "b.gz").write_bytes((data / "b.gz").read_bytes()[:-9])
    with pytest.raises(fb.DataError) as caught:
        fb.index_files([data / "b.gz", data / "a"])
    assert caught.value.file == str(data / "b.gz")
    assert fb.index_files(data / "a")[0].built is False


def test_faults_of_the_arguments_have_their_own_errors(data):
    with pytest.raises(fb.ConfigError, match="no file matches"):
        fb.index_files(data / "none*")
    with pytest.raises(fb.ConfigError, match="lz4"):
        fb.index_files(data / "a", "lz4")
    with pytest.raises(fb.IoError):
        fb.index_files(data / "none")


def test_the_command_says_of_every_file_what_it_wrote(data):
    done = index(data / "a", data / "b.gz")
    sizes = [report.index_bytes for report in fb.index_files([data / "a", data / "b.gz"])]
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"{data / name}: {len(RECORDS)} records, {CONTENT} bytes, index of {size} bytes written to {data / STORE}"
        for name, size in zip(("a", "b.gz"), sizes)]
    assert "is good: " in index(data / "a").stdout
    assert json.loads(index(data / "a", "--json", "--force").stdout)["files"][0]["built"] is True


def test_check_only_looks(data):
    done = index("--check", data / "a")
    assert (done.returncode, done.stdout) == (3, f"{data / 'a'}: no index\n")
    assert not (data / ".forebay").exists()
    index(data / "a")
    assert index("--check", data / "a").returncode == 0
    with open(data / "a", "ab") as file:
        file.write(b"more")
    done = index("--check", "--json", data / "a")
    assert (done.returncode, json.loads(done.stdout)["files"][0]["found"]) == (3, "stale")


@pytest.mark.parametrize("arguments, code", [(["none"], 4), (["none*"], 2), ([], 2), (["a", "--compression", "lz4"], 2),
                                             (["a", "--check", "--force"], 2), (["a", "--compression", "gzip"], 3)])
def test_exit_codes_say_who_has_to_act(data, arguments, code):
    assert index(*[data / a if i == 0 else a for i, a in enumerate(arguments)]).returncode == code


def test_an_interrupt_ends_with_code_130_and_leaves_nothing(data):
    fb.write_records(data / "one", [bytes(10_000)])
    member = gzip.compress((data / "one").read_bytes() * 1000, 1)
    (data / "large.gz").write_bytes(member * 500)  # 5 GB of content
    before = sorted(path.name for path in data.iterdir())
    code, *_ = interrupt_while_reading(start("index", data / "large.gz"), data / "large.gz")
    assert code == 130
    assert sorted(path.name for path in data.iterdir()) == before


def test_ten_thousand_tiny_files_are_indexed_without_a_sync_for_each(tmp_path, tmp_path_factory, monkeypatch):
    """A sync of each file and folder took eight times as long as all the rest."""
    fb.write_records(tmp_path / "0.tfrecord", [b"tiny"])
    tiny = (tmp_path / "0.tfrecord").read_bytes()
    for number in range(1, 10_000):
        (tmp_path / f"{number}.tfrecord").write_bytes(tiny)
    log = tmp_path_factory.mktemp("log") / "syncs"
    monkeypatch.setenv("LD_PRELOAD", str(preloaded_library("counted_syncs", tmp_path_factory)))
    monkeypatch.setenv("SYNC_LOG", str(log))
    done = forebay("convert", tmp_path / "0.tfrecord", log.parent / "synced.tfrecord")
    assert done.returncode == 0 and log.stat().st_size > 0, done.stderr  # so they are counted
    log.unlink()
    done = forebay("index", tmp_path / "*", "--json")
    assert done.returncode == 0 and not log.exists(), done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".tfrecord") == [".forebay"]
    assert os.listdir(tmp_path / ".forebay") == ["index-v1"]
