# SPDX-License-Identifier: Apache-2.0
"""The command `verify` on real files: what it finds, what it repairs, and that it leaves whole files or none."""

import gzip
import json
import os
import resource
import signal
import tarfile
import time

import numpy as np
import pytest
from command import forebay, start

import forebay as fb

RECORDS = [b"record %d " % i * 3 for i in range(10)]  # of 27 bytes, in frames of 43


def verify_json(*arguments, **options):
    done = forebay("verify", *arguments, "--json", **options)
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def file(tmp_path):
    fb.write_records(tmp_path / "data.tfrecord", RECORDS)
    return tmp_path / "data.tfrecord"


def change(path, change_bytes):
    data = bytearray(path.read_bytes())
    change_bytes(data)
    path.write_bytes(data)
    return path


def flip(at):
    return lambda data: data.__setitem__(at, data[at] ^ 1)


def without(*indices):
    return [record for i, record in enumerate(RECORDS) if i not in indices]


CORRUPTIONS = {
    "payload": (flip(43 * 3 + 20), [("record", 3, 129, 43)], without(3)),
    "payload checksum": (flip(43 * 3 + 42), [("record", 3, 129, 43)], without(3)),
    "length": (flip(43 * 3), [("range", 3, 129, 43)], without(3)),
    "length checksum": (flip(43 * 3 + 9), [("range", 3, 129, 43)], without(3)),
    "first and last": (lambda data: (flip(2)(data), flip(-1)(data)), [("range", 0, 0, 43), ("record", 8, 387, 43)], without(0, 9)),
    "missing byte": (lambda data: data.pop(43 * 3 + 20), [("range", 3, 129, 42)], without(3)),
    "added byte": (lambda data: data.insert(43 * 3 + 20, 0), [("record", 3, 129, 43), ("range", 4, 172, 1)], without(3)),
    "cut": (lambda data: data.__delitem__(slice(400, None)), [("range", 9, 387, 13)], without(9)),
    "junk behind": (lambda data: data.extend(b"0123456789abcdef"), [("range", 10, 430, 16)], RECORDS),
    "zeros behind": (lambda data: data.extend(bytes(4096)), [("range", 10, 430, 4096)], RECORDS),
}


def test_intact_files_end_with_code_0(file):
    gz = file.with_suffix(".gz")
    fb.write_records(gz, RECORDS, "gzip")
    empty = file.with_suffix(".empty")
    empty.touch()
    code, report = verify_json(file, gz, empty)
    assert (code, report["ok"], report["records"], report["bytes"]) == (0, True, 20, 860)
    assert [(one["file"], one["compression"], one["records"]) for one in report["files"]] == [
        (str(file), "none", 10), (str(gz), "gzip", 10), (str(empty), "none", 0)]
    text = forebay("verify", file, gz)
    assert (text.returncode, len(text.stdout.splitlines()), text.stderr) == (0, 3, "")


@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_corruption_is_located_and_everything_else_repaired(file, kind):
    change_bytes, places, intact = CORRUPTIONS[kind]
    corrupt = change(file, change_bytes).read_bytes()
    code, report = verify_json(file)
    (one,) = report["files"]
    assert code == 3 and not report["ok"] and not one["intact"]
    assert [(p["what"], p["record"], p["offset"], p["bytes"]) for p in one["corruption"]] == places
    assert one["records"] == len(intact) and one["bytes"] == len(corrupt)
    assert one["corrupt_bytes"] == sum(place[3] for place in places)

    out = file.parent / "out.tfrecord"
    code, report = verify_json(file, "--repair", out)
    assert (code, report["ok"], report["files"][0]["repaired"]) == (0, False, str(out))
    assert fb.read_records(out) == intact
    assert file.read_bytes() == corrupt
    assert forebay("verify", out).returncode == 0


def test_text_names_every_corrupt_place_up_to_a_limit(file):
    fb.write_records(file, [b"x"] * 100)
    change(file, lambda data: [flip(17 * i + 12)(data) for i in range(40)])
    done = forebay("verify", file)
    lines = done.stdout.splitlines()
    assert done.returncode == 3 and len(lines) == 16 + 3
    assert "data.tfrecord, record 0, byte 12: corrupted record: payload checksum" in lines[0]
    assert lines[16].endswith("and 24 more")
    assert "60 intact records, 40 corrupt, 0 unreadable ranges (680 of 1700 bytes)" in lines[17]
    assert lines[18].startswith("1 files, 1 of them not intact")


def test_packed_data_that_break_off_give_what_came_before(file):
    whole = [os.urandom(1000) for _ in range(500)]
    fb.write_records(file, whole, "gzip")
    change(file, lambda data: data.__delitem__(slice(len(data) // 2, None)))
    code, report = verify_json(file)
    count = report["files"][0]["records"]
    assert code == 3 and 200 < count < 260
    assert "truncated gzip data" in report["files"][0]["corruption"][-1]["reason"]
    out = file.parent / "out"
    assert forebay("verify", file, "--repair", out).returncode == 0
    assert fb.read_records(out, "gzip") == whole[:count]
    assert forebay("verify", file, "--repair", out, "--force", "--output-compression", "none").returncode == 0
    assert fb.read_records(out, "none") == whole[:count]


def test_several_files_are_repaired_into_a_folder_under_their_names(file):
    other = file.parent / "other.tfrecord"
    fb.write_records(other, RECORDS, "zlib")
    change(file, flip(20))
    out = file.parent / "out"
    code, report = verify_json(file.parent / "*.tfrecord", "--repair", out, "--threads", 2)
    assert (code, sorted(os.listdir(out))) == (0, ["data.tfrecord", "other.tfrecord"])
    assert fb.read_records(out / "data.tfrecord") == without(0)
    assert fb.read_records(out / "other.tfrecord", "zlib") == RECORDS


def test_nothing_is_written_over_what_is_read_or_there(file):
    link = file.parent / "link"
    link.symlink_to(file)
    hard = file.parent / "hard"
    os.link(file, hard)
    old = file.parent / "old"
    old.write_bytes(b"old")
    before = file.read_bytes()
    for target in (file, link, hard):
        for force in ([], ["--force"]):
            done = forebay("verify", file, "--repair", target, *force)
            assert done.returncode == 2 and "one of the files that are read" in done.stderr
    done = forebay("verify", file, "--repair", old)
    assert done.returncode == 2 and "--force" in done.stderr and old.read_bytes() == b"old"
    assert file.read_bytes() == before
    assert forebay("verify", file, "--repair", old, "--force").returncode == 0
    assert fb.read_records(old) == RECORDS
    (file.parent / "sub").mkdir()
    (file.parent / "sub" / file.name).write_bytes(before)
    done = forebay("verify", file, file.parent / "sub" / file.name, "--repair", file.parent / "out")
    assert done.returncode == 2 and "both be written" in done.stderr


def test_files_that_cannot_be_read_end_with_code_4_and_the_others_are_verified(file):
    change(file, flip(20))
    missing = file.parent / "missing"
    code, report = verify_json(missing, file)
    assert code == 4
    assert report["files"][0]["error"]["detail"] == "not_found" and report["files"][1]["corrupt_records"] == 1
    done = forebay("verify", missing, file)
    assert done.returncode == 4 and "missing" in done.stderr and "9 intact records" in done.stdout
    out = file.parent / "out"
    assert forebay("verify", missing, file, "--repair", out).returncode == 4
    assert os.listdir(out) == ["data.tfrecord"]


def test_wrong_usage_ends_with_code_2(file):
    assert forebay("verify").returncode == 2
    assert forebay("verify", file, "--compression", "zip").returncode == 2
    assert forebay("verify", file, "--force").returncode == 2
    assert forebay("verify", file.parent / "*.none").returncode == 2
    assert forebay("verify", file, "--threads", 1025).returncode == 2


def test_an_interrupt_ends_with_code_130_and_leaves_no_half_file(tmp_path):
    big = tmp_path / "big"
    fb.write_records(big, [os.urandom(1 << 20)] * 64)
    out = tmp_path / "out"
    out.write_bytes(b"old")
    process = start("verify", big, "--repair", out, "--force", "--output-compression", "gzip")
    deadline = time.monotonic() + 20  # it is under way once its temporary file is there
    while not list(tmp_path.glob(".forebay-*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130 and "interrupted" in errors
    assert sorted(os.listdir(tmp_path)) == ["big", "out"] and out.read_bytes() == b"old"


@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_leaves_the_old_file_or_none(tmp_path, there):
    data, out = tmp_path / "data", tmp_path / "out"
    fb.write_records(data, [os.urandom(1000)] * 2000)
    if there:
        out.write_bytes(b"old")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = forebay("verify", data, "--repair", out, "--force", preexec_fn=limit)
    assert done.returncode == 4 and str(out) in done.stderr
    assert done.stdout.splitlines()[-1] == "1 files, 0 of them not intact, 1 not written: 2000 intact records"
    assert sorted(os.listdir(tmp_path)) == (["data", "out"] if there else ["data"])
    assert not there or out.read_bytes() == b"old"


def test_python_gives_the_same_reports(file):
    change(file, flip(43 * 3 + 20))
    good = file.with_suffix(".gz")
    good.write_bytes(gzip.compress(b""))
    bad, intact, missing = fb.verify([file, good, file.parent / "missing"])
    assert (bad.intact, bad.records, bad.corrupt_records, bad.corrupt_bytes) == (False, 9, 1, 43)
    (place,) = bad.places
    assert (place.what, place.record, place.offset, place.bytes) == ("record", 3, 129, 43)
    assert "payload checksum" in place.reason
    assert intact == fb.FileReport(str(good), "gzip", 0, 0, 0, 0, 0, (), None) and intact.intact
    assert "cannot open" in missing.error and not missing.intact
    assert fb.verify(file)[0] == bad
    with pytest.raises(fb.ConfigError):
        fb.verify(file.parent / "*.none")
    with pytest.raises(fb.ConfigError, match="threads: must be an integer from 0 to 1024, found -1"):
        fb.verify(file, threads=-1)


def test_healthy_files_of_another_kind_get_no_verdict(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(300))
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 100)
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(tmp_path / "a.csv", "one.csv")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    for ending, what in (("npy", "'npy'"), ("csv", "'csv'"), ("tar", "'tar'"), ("png", "a picture or a clip")):
        done = forebay("verify", tmp_path / f"a.{ending}")
        assert done.returncode == 2 and done.stdout == ""
        assert f"a.{ending}: the file is {what}, and without a document TFRecord files are verified; name a document that reads it: " \
               "`forebay verify --document FILE`. `forebay schema` proposes one" in done.stderr
