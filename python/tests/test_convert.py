# SPDX-License-Identifier: Apache-2.0
"""fb.convert and `forebay convert`: formats, order, files, what happens when they are killed."""
from __future__ import annotations

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tarfile
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forebay as fb
from command import COMMAND

ROWS = 90
LONG = "FOREBAY_LONG_TESTS" in os.environ


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three files of Examples: floats, a label, text, bytes, and a list that some records do not have."""
    folder = tmp_path_factory.mktemp("convert")
    random_numbers = np.random.default_rng(1)
    for file in range(3):
        fb.write_records(folder / f"in-{file}.tfrecord", [fb.encode_example({
            "x": random_numbers.random(4, dtype=np.float32), "label": int(random_numbers.integers(-9, 9)),
            "score": float(np.float32(random_numbers.random())),
            "text": f"row {row}, \"é\"\n", "bytes": bytes(random_numbers.integers(0, 256, row % 7, dtype=np.uint8)) or b"\xff",
            "list": random_numbers.integers(-5, 1 << 40, row % 3)}) for row in range(ROWS // 3)], "gzip" if file == 1 else None)
    return str(folder / "in-*.tfrecord")


def records_of(pattern: "str | pathlib.Path") -> "list[dict[str, Any]]":
    """The features with values of the records of some files."""
    out = []
    for path in sorted(pathlib.Path(pattern).parent.glob(pathlib.Path(pattern).name)):
        for record in fb.read_records(path):
            features = {name: value if isinstance(value, list) else value.tolist()
                        for name, value in fb.decode_example(record).items() if value is not None}
            out.append({name: value for name, value in features.items() if value})
    return out


def files_of(folder: pathlib.Path) -> "dict[str, bytes]":
    """The files that a user sees."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


@pytest.mark.parametrize("name, select", [
    ("a.parquet", None), ("a.arrow", None), ("a.npz", ["x", "label", "score"]), ("a.npy", ["x"]),
    ("a.csv", ["label", "score", "text"]), ("a.csv.gz", ["label", "text"]), ("a.tar", None)])
def test_rows_come_back_from_every_format(inputs: str, tmp_path: pathlib.Path, name: str, select: "list[str] | None") -> None:
    made = fb.convert(inputs, tmp_path / "there" / name, files=2, select=select)
    assert [(pathlib.Path(file.path).name, file.rows) for file in made] == [
        (name.replace("a.", f"a-0000{number}-of-00002.", 1), ROWS // 2) for number in range(2)]
    fb.convert(tmp_path / "there" / "a-*", tmp_path / "back.tfrecord")
    expected = [{key: value for key, value in record.items() if select is None or key in select} for record in records_of(inputs)]
    assert records_of(tmp_path / "back.tfrecord") == expected


def test_records_of_a_round_trip_are_the_bytes_of_encode_example(inputs: str, tmp_path: pathlib.Path) -> None:
    fb.convert(inputs, tmp_path / "a.parquet", drop="list")
    fb.convert(tmp_path / "a.parquet", tmp_path / "back.tfrecord")
    fb.convert(inputs, tmp_path / "direct.tfrecord", drop="list")
    assert (tmp_path / "back.tfrecord").read_bytes() == (tmp_path / "direct.tfrecord").read_bytes()
    assert fb.read_records(tmp_path / "back.tfrecord") == [
        fb.encode_example({name: np.array(value, np.float32) if name in ("x", "score") else value
                           for name, value in record.items() if name != "list"}) for record in records_of(inputs)]


def test_every_way_of_a_shuffle_gives_one_order(inputs: str, tmp_path: pathlib.Path) -> None:
    fb.convert(inputs, tmp_path / "raw.tfrecord", shuffle=True, seed=4)
    fb.convert(inputs, tmp_path / "a.parquet", files=2)
    fb.convert(tmp_path / "a-*", tmp_path / "table.tfrecord", shuffle=True, seed=4, files=1)
    fb.convert(inputs, tmp_path / "there.parquet", files=4, shuffle=True, seed=4)
    fb.convert(tmp_path / "there-*", tmp_path / "back.tfrecord")
    shuffled = records_of(tmp_path / "raw.tfrecord")
    assert shuffled == records_of(tmp_path / "table.tfrecord") == records_of(tmp_path / "back.tfrecord")
    assert shuffled != records_of(inputs) and len(shuffled) == ROWS


def test_parquet_files_have_text_lists_shapes_and_checksums(inputs: str, tmp_path: pathlib.Path) -> None:
    fb.convert(inputs, tmp_path / "a.parquet", compression="zstd")
    file = pq.ParquetFile(tmp_path / "a.parquet", page_checksum_verification=True)
    assert dict(zip(file.schema_arrow.names, file.schema_arrow.types)) == {
        "bytes": pa.large_binary(), "label": pa.int64(), "list": pa.large_list(pa.int64()), "score": pa.float32(),
        "text": pa.large_string(), "x": pa.list_(pa.float32(), 4)}
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert file.read()["text"].to_pylist() == [record["text"][0].decode() for record in records_of(inputs)]


def test_samples_of_webdataset_have_the_members_and_keys_of_their_rows(inputs: str, tmp_path: pathlib.Path) -> None:
    fb.convert(inputs, tmp_path / "a.tar", files=3, select=["label", "text"])
    with tarfile.open(tmp_path / "a-00001-of-00003.tar") as archive:
        first = [(member.name, archive.extractfile(member).read()) for member in archive.getmembers()[:2]]  # type: ignore
    row = records_of(inputs)[ROWS // 3]
    assert first == [("000000030.label.cls", str(row["label"][0]).encode()), ("000000030.text", row["text"][0])]
    fb.convert(tmp_path / "a-00001-of-00003.tar", tmp_path / "keys.csv", select=["__key__", "label"])
    assert (tmp_path / "keys.csv").read_text().splitlines()[:2] == ["label,__key__", f"{row['label'][0]},000000030"]


def test_timestamps_and_nulls_of_tables_stay_or_are_named(tmp_path: pathlib.Path) -> None:
    table = pa.table({"t": pa.array([1, 2, 3], pa.timestamp("us", "UTC")), "x": [1.5, None, 2.5], "n": pa.array([1, 2, 3], pa.int8())})
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(fb.DataError, match="'x'.*null"):
        fb.convert(tmp_path / "in.parquet", tmp_path / "out.tfrecord", narrow=True)
    assert files_of(tmp_path).keys() == {"in.parquet"}
    fb.convert(tmp_path / "in.parquet", tmp_path / "out.arrow", nulls={"x": -1.0})
    with pa.OSFile(str(tmp_path / "out.arrow")) as source:
        out = pa.ipc.open_file(source).read_all()
    assert out.schema.types == table.schema.types and out["t"].to_pylist() == table["t"].to_pylist()
    assert out["x"].to_pylist() == [1.5, -1.0, 2.5]
    with pytest.raises(fb.ConfigError, match=r"'x' is float64, and an Example has float32 only; narrow \(--narrow\) rounds it"):
        fb.convert(tmp_path / "in.parquet", tmp_path / "out.tfrecord", nulls={"x": 0.1})
    fb.convert(tmp_path / "in.parquet", tmp_path / "out.tfrecord", nulls={"x": 0.1}, narrow=True)
    assert [record["x"] for record in records_of(tmp_path / "out.tfrecord")] == [[1.5], [np.float32(0.1)], [2.5]]


def test_csv_types_fit_the_first_rows_or_are_given(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.csv").write_text("i,f,d,s,b\n1,0.5,0.1234567890123,x,true\n-2,1e3,7,,false\n")
    fb.convert(tmp_path / "a.csv", tmp_path / "a.parquet", types={"i": "int16"})
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.schema.types == [pa.int16(), pa.float32(), pa.float64(), pa.large_string(), pa.bool_()]
    assert table.to_pylist()[1] == {"i": -2, "f": 1000.0, "d": 7.0, "s": "", "b": False}


def test_all_features_that_a_format_does_not_hold_are_named_at_once(tmp_path: pathlib.Path) -> None:
    fb.write_records(tmp_path / "a.tfrecord", [fb.encode_example({"id": [i], "a": [1] * i, "b": [b"x"] * i, "c": [1.5, 2.5]})
                                               for i in range(3)])
    with pytest.raises(fb.ConfigError) as problem:
        fb.convert(tmp_path / "a.tfrecord", tmp_path / "a.csv")
    assert str(problem.value) == ("'a' is int64[?] ragged; 'b' is string[?] ragged; 'c' is float32[2]; a CSV file has one number or "
                                  "text in a field. Leave them out with drop (--drop), or choose another format")


@pytest.mark.parametrize("what, arguments, message", [
    ("list in CSV", {"out": "a.csv"}, r"'list' is int64.* ragged; 'x' is float32\[4\]; a CSV file has one number or text in a field"),
    ("no such feature", {"out": "a.parquet", "drop": ["labl"]}, "drop: no tensor 'labl', did you mean 'label'"),
    ("no such format", {"out": "a.parquet", "to": "orc"}, "the format must be one of tfrecord, parquet, .*found 'orc'"),
    ("no such compression", {"out": "a.parquet", "compression": "xz"}, "compression: must be one of none, snappy"),
    ("several arrays in npy", {"out": "a.npy", "select": ["x", "label"]}, "an npy file has one array, and these are label, x"),
    ("both", {"out": "a.parquet", "files": 2, "file_size": 9}, "files and file_size exclude each other"),
    ("a shard that is none", {"out": "a.parquet", "shard": (2, 2)}, "the index of the shard: must be from 0 to 1, found 2")])
def test_what_cannot_be_is_refused_before_a_file_is_made(inputs: str, tmp_path: pathlib.Path, what: str, arguments: "dict[str, Any]",
                                                         message: str) -> None:
    with pytest.raises(fb.ConfigError, match=message):
        fb.convert(inputs, tmp_path / arguments.pop("out"), **arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.parquet", "a.tfrecord"])
def test_corrupt_input_is_an_error_and_no_half_file(tmp_path: pathlib.Path, name: str) -> None:
    path = tmp_path / "in.tfrecord"
    fb.write_records(path, [fb.encode_example({"x": [row]}) for row in range(100)])
    whole = bytearray(path.read_bytes())
    whole[-6] ^= 1
    path.write_bytes(whole)
    with pytest.raises(fb.DataError, match="record 99"):
        fb.convert(path, tmp_path / "out" / name)
    assert not (tmp_path / "out").exists() or files_of(tmp_path / "out") == {}
    assert not list(tmp_path.glob("out/.forebay-*"))


def test_a_file_that_reads_back_otherwise_is_not_there(inputs: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from forebay._conversion import outputs
    monkeypatch.setattr(outputs.Csv, "read", lambda self, path: fb.arrays({"label": np.zeros(ROWS, np.int64)}))
    with pytest.raises(fb.IoError, match="the file that was written reads back as something else"):
        fb.convert(inputs, tmp_path / "a.csv", select="label")
    assert files_of(tmp_path) == {} and not list(tmp_path.glob(".forebay-*"))


def test_shards_and_a_resumed_call_make_the_files_of_one_call(inputs: str, tmp_path: pathlib.Path) -> None:
    fb.convert(inputs, tmp_path / "whole" / "a.parquet", files=5, shuffle=True)
    for shard in (1, 0):
        fb.convert(inputs, tmp_path / "parts" / "a.parquet", files=5, shuffle=True, shard=(shard, 2), threads=1)
    assert files_of(tmp_path / "parts") == files_of(tmp_path / "whole")
    (tmp_path / "whole" / "a-00003-of-00005.parquet").unlink()
    again = fb.convert(inputs, tmp_path / "whole" / "a.parquet", files=5, shuffle=True, existing="resume")
    assert [file.made for file in again] == [False, False, False, True, False]
    assert files_of(tmp_path / "whole") == files_of(tmp_path / "parts")
    with pytest.raises(fb.StateError, match="seed was 0 and is 1 now"):
        fb.convert(inputs, tmp_path / "whole" / "a.parquet", files=5, shuffle=True, seed=1, existing="resume")
    with pytest.raises(fb.ConfigError, match="the file exists"):
        fb.convert(inputs, tmp_path / "whole" / "a.parquet", files=5, shuffle=True)


def test_the_command_converts_shows_json_and_needs_python_for_formats_only(inputs: str, tmp_path: pathlib.Path) -> None:
    def run(*arguments: str, path: str = os.path.dirname(sys.executable)) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([COMMAND, "convert", *arguments], env={**os.environ, "PATH": path}, capture_output=True, text=True)

    done = run(inputs, str(tmp_path / "a.parquet"), "--json", "--drop", "bytes", "--drop=list")
    assert json.loads(done.stdout) == {"ok": True, "files": [{"file": str(tmp_path / "a.parquet"), "rows": ROWS, "made": True}]}
    assert pq.read_schema(tmp_path / "a.parquet").names == ["label", "score", "text", "x"]
    copied = run(inputs, str(tmp_path / "a.tfrecord.gz"), "--file-size", "2kB", path="/nowhere")
    assert copied.returncode == 0 and copied.stdout.count(" rows\n") == len(files_of(tmp_path)) - 1 > 2
    refused = run(inputs, str(tmp_path / "b.parquet"), path="/nowhere")
    assert refused.returncode == 2 and "(which need pyarrow, too)" in refused.stderr and "`pip install forebay` gets it" in refused.stderr
    assert run(inputs, str(tmp_path / "a.parquet")).returncode == 2


def test_names_that_nothing_has_and_files_that_cannot_be_read_are_named(inputs: str, tmp_path: pathlib.Path) -> None:
    done = subprocess.run([COMMAND, "convert", inputs, str(tmp_path / "a.tfrecord"), "--compression", "snappy"], capture_output=True, text=True)
    assert done.returncode == 2 and "--compression: must be one of none, gzip" in done.stderr and "found 'snappy'" in done.stderr
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(fb.ConfigError, match="types: .*'z'"):
        fb.convert(tmp_path / "a.csv", tmp_path / "b.csv", types={"z": "int64"})
    with pytest.raises(fb.ConfigError, match="types: is for csv inputs, found 'tfrecord'"):
        fb.convert(inputs, tmp_path / "b.csv", types={"x": "int64"})
    with pytest.raises(fb.ConfigError, match="nulls: is for parquet and arrow inputs, found 'csv'"):
        fb.convert(tmp_path / "a.csv", tmp_path / "b.csv", nulls={"x": 0})
    with pytest.raises(TypeError, match="shard: must be a pair"):
        fb.convert(inputs, tmp_path / "b.csv", shard=3)  # type: ignore[arg-type]
    for name in ("bad.parquet", "bad.arrow"):
        (tmp_path / name).write_bytes(b"PAR1" + bytes(100))
        done = subprocess.run([sys.executable, "-m", "forebay", "convert", str(tmp_path / name), str(tmp_path / "b.csv")], capture_output=True, text=True)
        assert done.returncode == 3 and done.stderr.startswith("forebay: error: ") and name in done.stderr, done.stderr
    assert not (tmp_path / "b.csv").exists() and not (tmp_path / "a.tfrecord").exists()


@pytest.mark.parametrize("name, kind, kills", [("a.tfrecord.gz", "Examples", 20 if LONG else 2), ("a.parquet", "Examples", 20 if LONG else 1),
                                               ("a.parquet", "SequenceExamples", 20 if LONG else 1)])
def test_killed_at_random_moments_and_resumed_the_files_are_the_same(tmp_path: pathlib.Path, name: str, kind: str, kills: int) -> None:
    noise = np.random.default_rng(7)

    def record(row: int) -> bytes:
        if kind == "Examples":
            return fb.encode_example({"x": noise.random(250, dtype=np.float32), "id": row})
        return fb.encode_sequence_example({"id": row}, {"x": noise.random((row % 9, 50), dtype=np.float32), "w": [["a"] * (row % 3)] * (row % 4)})

    fb.write_records(tmp_path / "in.tfrecord", [record(row) for row in range(2000)])
    command = [str(COMMAND)] if name.startswith("a.tfrecord") else [sys.executable, "-m", "forebay"]

    def start(folder: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen([*command, "convert", str(tmp_path / "in.tfrecord"), str(tmp_path / folder / name), "--files", "5",
                                 "--shuffle", "--resume", "--threads", "2"], stdout=subprocess.DEVNULL)

    began = time.monotonic()
    assert start("whole").wait() == 0
    seconds = time.monotonic() - began
    whole = files_of(tmp_path / "whole")
    moments = random.Random(3)
    for _ in range(kills):
        running = start("killed")
        try:
            running.wait(moments.uniform(0, seconds))
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.wait()
        if (tmp_path / "killed").exists():
            there = files_of(tmp_path / "killed")
            assert there.items() <= whole.items()
            if len(there) == len(whole):
                for path in (tmp_path / "killed").glob("a-*"):
                    path.unlink()
    assert start("killed").wait() == 0
    assert files_of(tmp_path / "killed") == whole


@pytest.mark.parametrize("key", ["../../evil", "/abs/k", "a/../b", "", "a//b", "a\0b", "."])
def test_keys_that_lead_out_of_an_archive_are_refused(tmp_path: pathlib.Path, key: str) -> None:
    fb.write_records(tmp_path / "in.tfrecord", [fb.encode_example({"__key__": key, "txt": "a"})])
    with pytest.raises(fb.DataError, match="__key__: .* cannot be the name of a member: it must be a relative path"):
        fb.convert(tmp_path / "in.tfrecord", tmp_path / "out.tar")
    assert not (tmp_path / "out.tar").exists()
    fb.write_records(tmp_path / "in.tfrecord", [fb.encode_example({"__key__": "a/b", "txt": "a"})])
    fb.convert(tmp_path / "in.tfrecord", tmp_path / "out.tar")


def test_unknown_endings_are_refused_on_both_sides(tmp_path: pathlib.Path) -> None:
    fb.write_records(tmp_path / "a.tfrecord", [fb.encode_example({"x": 1})])
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n')
    for out in ("o.jsonl", "o.h5", "o.tsv", "o.json.gz"):
        with pytest.raises(fb.ConfigError, match=rf"out: the ending of '.*/{out}' is that of no format that can be written; endings are "
                                                 r"\.tfrecord, \.parquet, .*, or say to= \(--to\)"):
            fb.convert(tmp_path / "a.tfrecord", tmp_path / out)
        assert not (tmp_path / out).exists()
    with pytest.raises(fb.ConfigError, match=r"inputs: '.*/t\.jsonl' has the ending of no format that convert reads, and is no TFRecord "
                                             r"file; endings are .*, or say from_= \(--from\)"):
        fb.convert(tmp_path / "t.jsonl", tmp_path / "o.tfrecord")
    (tmp_path / "a.data").write_bytes((tmp_path / "a.tfrecord").read_bytes())
    for inputs, out in (("a.data", "b.tfrecord"), ("a.tfrecord", "no-ending"), ("a.tfrecord", "c.tfrecord.gz")):
        assert fb.convert(tmp_path / inputs, tmp_path / out)[0].rows == 1
        assert fb.read_records(tmp_path / out) == fb.read_records(tmp_path / "a.tfrecord")
    assert fb.convert(tmp_path / "a.tfrecord", tmp_path / "d", to="csv")[0].rows == 1


@pytest.mark.parametrize("options", [{}, {"shuffle": True, "seed": 3}, {"files": 3}])
@pytest.mark.parametrize("source, target", [("parquet", "parquet"), ("parquet", "arrow"), ("arrow", "parquet"), ("arrow", "arrow")])
def test_nulls_of_single_values_stay_nulls(tmp_path: pathlib.Path, source: str, target: str, options: "dict[str, Any]") -> None:
    table = pa.table({"n": pa.array(range(7), pa.int64()), "i": pa.array([1, None, 3, None, 5, 6, None], pa.int32()),
                      "s": ["a", None, "", "d", None, "f", "g"], "b": [None, True, False, None, True, None, False],
                      "d": pa.array([None, 1.5, None, 2.5, 0.0, None, 3.0]), "l": [[n] for n in range(7)],
                      "st": [{"x": 1, "y": None}, None, {"x": None, "y": "q"}] + [{"x": 2, "y": "r"}] * 4,
                      "t": pa.array([None, *range(6)], pa.timestamp("us", "UTC")), "c": pa.array(["u", None] * 3 + ["v"]).dictionary_encode()})
    path = tmp_path / f"in.{source}"
    if source == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    done = fb.convert(path, tmp_path / f"out.{target}", **options)
    parts = [pq.read_table(file.path) if target == "parquet" else pa.ipc.open_file(file.path).read_all() for file in done]
    found = pa.concat_tables(parts).sort_by("n").to_pydict()
    expected = table.drop_columns("st").to_pydict()
    expected["st.x"] = [row and row["x"] for row in table["st"].to_pylist()]
    expected["st.y"] = [row and row["y"] for row in table["st"].to_pylist()]
    assert found == expected


def test_nulls_that_the_output_cannot_hold_name_the_cure(tmp_path: pathlib.Path) -> None:
    pq.write_table(pa.table({"i": pa.array([1, None], pa.int32())}), tmp_path / "a.parquet")
    with pytest.raises(fb.DataError, match="column 'i' has a null; give its nulls a value with 'nulls'"):
        fb.convert(tmp_path / "a.parquet", tmp_path / "a.tfrecord")
    fb.convert(tmp_path / "a.parquet", tmp_path / "b.parquet", nulls={"i": 7})
    assert pq.read_table(tmp_path / "b.parquet").to_pydict() == {"i": [1, 7]}


def test_numbers_of_a_csv_with_empty_fields_become_strings_and_that_is_told(tmp_path: pathlib.Path,
                                                                            capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("i,j,s\n1,1,\n,2,x\n3,3,\n")
    fb.convert(tmp_path / "a.csv", tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").to_pydict() == {"i": ["1", "", "3"], "j": [1, 2, 3], "s": ["", "x", ""]}
    assert capfd.readouterr().err == (f"forebay: {tmp_path}/a.csv: column 'i' has empty fields, so its int64 numbers are written as "
                                      "strings; fill the fields, or leave it out with drop (--drop)\n")
