# SPDX-License-Identifier: Apache-2.0
"""Numbers of a run for other programs: Prometheus, TensorBoard, Perfetto."""
from __future__ import annotations

import json
import pathlib
import re
import struct
import time
from typing import Any, Iterator

import pytest
from command import forebay as run
from streams import examples
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # type: ignore[import-untyped]

import forebay as fb


def test_prometheus_reads_every_number(parts: list[str]) -> None:
    with examples(parts).shuffle(50).batch(10).load(threads=2) as loader:
        for _ in loader:
            pass
        stats = loader.stats()
        text = stats.prometheus()
    values = {}
    for line in text.splitlines():
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP forebay_\w+ .+|TYPE forebay_\w+ (counter|gauge))", line), line
            continue
        match = re.fullmatch(r'(forebay_\w+)((?:\{\w+="(?:[^"\\\n]|\\.)*"\})?) (-?[0-9.e+-]+)', line)
        assert match, line
        assert f"# TYPE {match[1]} " in text
        values[match[1] + match[2]] = float(match[3])
    assert values["forebay_batches_total"] == stats.batches == 31
    assert values["forebay_rows_total"] == values["forebay_records_total"] == 306
    assert values["forebay_read_bytes_total"] == stats.bytes_read
    assert values['forebay_skipped_total{kind="records"}'] == 0
    assert values['forebay_work_seconds_total{work="decode"}'] == pytest.approx(stats.decode_seconds)
    assert values["forebay_memory_limit_bytes"] == stats.memory_limit and values["forebay_threads"] == 2
    assert values['forebay_queue_capacity{queue="shuffle"}'] == 50
    assert values['forebay_decoded_rows_total'] == 306 and values['forebay_memory_bytes{use="order"}'] == stats.order_memory


def test_stages_have_rows_steps_and_memory_of_their_own(parts: list[str]) -> None:
    with examples(parts).shuffle(50).slice("x", "[:1]").batch(10).load(threads=2) as loader:
        held = [next(loader) for _ in range(3)]
        now = loader.stats()
        assert now.rows == 10 * len(held) <= now.decoded_rows <= now.ordered_rows <= 306
        assert min(now.scan_memory, now.order_memory, now.decode_memory) > 0
        for _ in loader:
            pass
        end = loader.stats()
    assert (end.rows, end.ordered_rows, end.decoded_rows, end.records) == (306, 306, 306, 306)
    assert [name for name, _ in end.steps] == ["slice"] and 0 < end.steps[0][1] < end.decode_seconds
    assert end.scan_memory + end.order_memory + end.decode_memory == end.memory_used


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: (number, value)."""
    at = 0

    def varint() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    while at < len(message):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(kind) or varint()
        value = message[at:at + size]
        at += size
        yield tag >> 3, value if kind == 2 else struct.unpack("<d" if kind == 1 else "<f", value)[0]


def points(path: str) -> list[tuple[int, dict[str, float]]]:
    """(step, scalars) of each event but the first, which tells the version."""
    version, *events = fb.read_records(path, None)
    assert dict(fields(version))[3] == b"brain.Event:2"
    out = []
    for event in events:
        members = dict(fields(event))
        scalars = {}
        for _, value in fields(members[5]):
            one = dict(fields(value))
            scalars[one[1].decode()] = one[2]
        out.append((members.get(2, 0), scalars))
    return out


def test_tensorboard_gets_the_rates_since_the_point_before(parts: list[str], tmp_path: pathlib.Path) -> None:
    with examples(parts).shuffle(50).batch(10).load() as loader:
        with fb.tensorboard(loader, tmp_path / "runs" / "data", seconds=1000) as scalars:
            for number, _ in enumerate(loader, 1):
                if number == 10:
                    scalars.write()
        scalars.close()
        scalars.write()
    (first, at_ten), (second, at_end) = points(scalars.path)
    assert (first, second) == (10, 31)
    for point in (at_ten, at_end):
        assert set(point) >= {f"forebay/{name}" for name in ("rows_per_second", "batches_per_second", "megabytes_per_second",
                                                             "wait_share", "ready_share", "memory_megabytes", "skipped_records",
                                                             "held/prefetch", "held/shuffle")}
        assert point["forebay/rows_per_second"] > point["forebay/batches_per_second"] > 0
        assert 0 <= point["forebay/wait_share"] <= 1 and point["forebay/skipped_records"] == 0


def test_the_reader_of_tensorboard_loads_every_scalar(parts: list[str], tmp_path: pathlib.Path) -> None:
    with examples(parts).shuffle(50).batch(10).load() as loader, fb.tensorboard(loader, tmp_path, seconds=1000) as scalars:
        for number, _ in enumerate(loader, 1):
            if number in (10, 20):
                scalars.write()
    read = EventAccumulator(str(tmp_path)).Reload()
    written = {name: [(step, point[name]) for step, point in points(scalars.path)] for name in points(scalars.path)[0][1]}
    assert {name: [(one.step, one.value) for one in read.Scalars(name)] for name in read.Tags()["scalars"]} == written
    assert [step for step, _ in written["forebay/rows_per_second"]] == [10, 20, 31] and len(written) >= 9


def test_tensorboard_writes_by_itself_and_refuses_what_it_cannot_use(parts: list[str], tmp_path: pathlib.Path) -> None:
    with examples(parts).batch(10).load() as loader:
        with fb.tensorboard(loader, tmp_path, seconds=0.01) as scalars:
            while pathlib.Path(scalars.path).stat().st_size < 1000:
                time.sleep(0.002)
        assert len(points(scalars.path)) >= 3
        with pytest.raises(TypeError, match="loader: must be a loader"):
            fb.tensorboard(examples(parts), tmp_path)  # type: ignore[arg-type]
        with pytest.raises(fb.ConfigError, match="seconds: must be a number above 0"):
            fb.tensorboard(loader, tmp_path, seconds=0)
        with pytest.raises(FileExistsError):
            fb.tensorboard(loader, parts[0])


def test_a_trace_has_the_work_of_every_thread(parts: list[str], tmp_path: pathlib.Path) -> None:
    document, trace = tmp_path / "pipe.json", tmp_path / "trace.json"
    document.write_text(json.dumps(examples(parts).shuffle(50).batch(10).to_dict()))
    done = run("run", str(document), "--threads", "2", "--trace", str(trace))
    assert done.returncode == 0, done.stderr
    events = json.loads(trace.read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    assert names == {1: "worker 1", 2: "worker 2", 3: "consumer"}
    spans = [event for event in events if event["ph"] == "X"]
    assert {span["args"]["batch"] for span in spans if span["name"] == "decode"} == set(range(31))
    assert {span["args"]["batch"] for span in spans if span["name"] == "wait"} == set(range(32))
    assert {span["args"]["file"] for span in spans if span["name"] == "scan"} <= set(parts)
    assert {"order", "decode", "wait"} <= {span["name"] for span in spans} <= {"scan", "order", "decode", "wait", "idle"}
    assert all(span["dur"] >= 0 and span["tid"] in names for span in spans)
    for tid in names:  # the work of a thread: one piece after the other
        work = sorted((span["ts"], span["ts"] + span["dur"]) for span in spans if span["tid"] == tid and span["name"] != "wait")
        assert all(end <= begin + 0.01 for (_, end), (begin, _) in zip(work, work[1:]))


def test_a_run_that_fails_leaves_its_trace(parts: list[str], tmp_path: pathlib.Path) -> None:
    broken, trace = tmp_path / "broken.tfrecord", tmp_path / "trace.json"
    data = pathlib.Path(parts[0]).read_bytes()
    broken.write_bytes(data[:-5])
    document = tmp_path / "pipe.json"
    document.write_text(json.dumps(examples([str(broken)]).batch(10).to_dict()))
    assert run("run", str(document), "--trace", str(trace)).returncode == 3
    assert any(event["ph"] == "X" for event in json.loads(trace.read_text())["traceEvents"])
    assert run("run", str(document), "--trace", str(tmp_path)).returncode == 4
