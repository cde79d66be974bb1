# SPDX-License-Identifier: Apache-2.0
"""forebay.Reader: records of files that come one after the other."""
from __future__ import annotations

import os
import pathlib
import signal
import threading
from typing import Any

import numpy as np
import pytest

import forebay as fb
from forebay import tf1


@pytest.fixture
def lines(tmp_path: pathlib.Path) -> "list[pathlib.Path]":
    """Two files of three lines."""
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_text(f"{path.name}1\n{path.name}2\r\n{path.name}3")
    return paths


def test_records_come_from_a_list_a_queue_a_producer_and_an_iterator(lines: "list[pathlib.Path]") -> None:
    want = [(f"{path}:{number}", f"{path.name}{number}".encode()) for path in lines for number in (1, 2, 3)]
    queue = fb.Queue({"path": fb.fixed("string")})
    queue.enqueue_many({"path": [str(path) for path in lines]})
    queue.close()
    for works in (lines, queue, tf1.string_input_producer(lines, num_epochs=1, shuffle=False), iter(lines)):
        assert list(fb.Reader("lines").records(works)) == want


def test_a_read_of_many_stays_in_its_file_and_counters_count(lines: "list[pathlib.Path]") -> None:
    reader = fb.Reader("lines", skip_header_lines=1)
    assert [value for _, value in reader.read_up_to(lines, 9)] == [b"a2", b"a3"]
    assert (reader.num_records_produced(), reader.num_work_units_completed()) == (2, 0)
    assert reader.read(lines)[0] == f"{lines[1]}:2"
    assert reader.counters == fb.ReaderCounters(3, 1, 0, 0)
    reader.reset()
    assert reader.counters == fb.ReaderCounters(0, 0, 0, 0)
    with pytest.raises(fb.EndOfData):   # the open file is forgotten, and the list is used up
        reader.read(lines)


def test_tf_1_fixed_length_records(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"h" * 5 + b"".join(b"%03d" % i for i in range(7)) + b"ff")
    reader = tf1.FixedLengthRecordReader(record_bytes=3, header_bytes=5, footer_bytes=2)
    assert [key for key, _ in reader.records([path])] == [f"{path}:{i}" for i in range(7)]
    path.write_bytes(b"0123456")
    reader = tf1.FixedLengthRecordReader(record_bytes=3, hop_bytes=2)
    assert [value for _, value in reader.records([path])] == [b"012", b"234", b"456"]


def test_tf_2_text_lines(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t"
    for text, skip, want in ((b"0: 0\r\n0: 1\n0: 2", 0, {1: b"0: 0", 2: b"0: 1", 3: b"0: 2"}),
                             (b"0: 0\r\n0: 1\n0: 2", 1, {2: b"0: 1", 3: b"0: 2"}), (b"a\n\nb\n", 0, {1: b"a", 2: b"", 3: b"b"}),
                             (b"", 0, {}), (b"a\rb\n", 0, {1: b"a\rb"})):
        path.write_bytes(text)
        got = list(tf1.TextLineReader(skip_header_lines=skip).records([path]))
        assert got == [(f"{path}:{number}", value) for number, value in want.items()]


def test_tf_4_a_cut_record_is_an_error_once(tmp_path: pathlib.Path) -> None:
    good, cut = tmp_path / "good", tmp_path / "cut"
    fb.write_records(good, [b"abc"])
    for size in (14, 5):
        cut.write_bytes(good.read_bytes()[:size])
        reader, works = tf1.TFRecordReader(), [cut, good]
        with pytest.raises(fb.DataError, match="cut"):
            reader.read(works)
        assert reader.read(works) == (f"{good}:0", b"abc")
    cut.write_bytes(b"")
    assert list(tf1.TFRecordReader().records([cut])) == []


def test_corrupt_and_missing_files_are_left_out_where_asked(tmp_path: pathlib.Path) -> None:
    path, gone = tmp_path / "a", tmp_path / "gone"
    fb.write_records(path, [b"one", b"two", b"six"])
    content = bytearray(path.read_bytes())
    content[19 + 12] ^= 1
    path.write_bytes(content)
    reader = fb.Reader(on_corrupt="skip_record", on_missing="skip_file")
    assert [value for _, value in reader.records([gone, path])] == [b"one", b"six"]
    assert reader.counters == fb.ReaderCounters(2, 1, 1, 1)
    with pytest.raises(FileNotFoundError, match="gone"):
        fb.Reader("whole_file").read([gone])
    assert [value for _, value in fb.Reader(on_corrupt="skip_file").records([path])] == [b"one"]


@pytest.mark.parametrize("kind", ["lines", "tfrecord", "fixed_length", "whole_file", "identity"])
def test_every_reader_goes_on_from_its_state(kind: str, tmp_path: pathlib.Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_text("one\ntwo\nsix\n")
        if kind == "tfrecord":
            fb.write_records(path, [b"one", b"two", b"six"])
    options: "dict[str, Any]" = {"record_bytes": 4} if kind == "fixed_length" else {}
    whole = list(fb.Reader(kind, **options).records(paths))
    for stop in range(len(whole) + 1):
        works = iter(paths)
        first = fb.Reader(kind, **options)
        before = [first.read(works) for _ in range(stop)]
        second = fb.Reader(kind, **options)
        second.restore_state(first.serialize_state())
        assert before + list(second.records(works)) == whole
        assert second.num_records_produced() == len(whole)


def test_a_state_that_does_not_fit_is_refused(lines: "list[pathlib.Path]") -> None:
    reader = fb.Reader("lines")
    reader.read_up_to(lines, 3)
    state = reader.serialize_state()
    with pytest.raises(fb.StateError, match="not of a reader of kind 'tfrecord'"):
        fb.Reader("tfrecord").restore_state(state)
    lines[0].write_text("a1\n")
    with pytest.raises(fb.StateError, match="has 1 records now, and 3 were read"):
        fb.Reader("lines").restore_state(state)
    with pytest.raises(fb.StateError):
        fb.Reader("lines").restore_state(b"\xff")


def test_faults_of_arguments_are_named() -> None:
    with pytest.raises(fb.ConfigError, match="did you mean 'lines'"):
        fb.Reader("line")
    with pytest.raises(fb.ConfigError, match="'skip_header_lines' must be at least 0, found -1"):
        fb.Reader("lines", skip_header_lines=-1)
    with pytest.raises(fb.ConfigError, match="files"):
        fb.Reader("lines", files=["a"])
    with pytest.raises(TypeError, match="works"):
        fb.Reader("lines").read("a.txt")
    with pytest.raises(TypeError, match="a work item"):
        fb.Reader("lines").read([3])
    with pytest.raises(fb.ConfigError, match="count"):
        fb.Reader("lines").read_up_to(["a"], 0)


def test_threads_take_turns_and_every_record_comes_once(tmp_path: pathlib.Path) -> None:
    paths = []
    for number in range(20):
        paths.append(tmp_path / str(number))
        paths[-1].write_text("".join(f"{number}/{line}\n" for line in range(50)))
    reader, got = fb.Reader("lines"), []
    works = tf1.string_input_producer(paths, num_epochs=1)
    threads = [threading.Thread(target=lambda: got.extend(reader.records(works))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(value for _, value in got) == sorted(f"{n}/{k}".encode() for n in range(20) for k in range(50))
    assert reader.counters[:2] == (1000, 20)


@pytest.mark.own_process
def test_ctrl_c_ends_a_read_that_waits_for_a_file() -> None:
    queue = fb.Queue([fb.fixed("string")])
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        fb.Reader("lines").read(queue)


def test_paths_are_bytes(tmp_path: pathlib.Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff"
    with open(path, "wb") as file:
        file.write(b"one\ntwo\n")
    first = fb.Reader("lines")
    assert first.read([path])[0] == f"{os.fsdecode(path)}:1"
    second = fb.Reader("lines")
    second.restore_state(first.serialize_state())
    assert second.read([])[1] == b"two"


def test_paths_may_be_scalars_of_numpy(lines: "list[pathlib.Path]") -> None:
    assert fb.Reader("whole_file").read([np.array(os.fsencode(lines[0]), object)])[1].startswith(b"a1")
