# SPDX-License-Identifier: Apache-2.0
"""fb.convert of SequenceExamples: to tables and back, what a table says about them, and what cannot be."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forebay as fb
from command import COMMAND
from test_convert import files_of

ROWS = 60
SPEECH = pathlib.Path(__file__).parents[2] / "tests/data/sequence_example/train.tfrecords.gz"


def sequence_of(row: int) -> "tuple[dict[str, Any], dict[str, Any]]":
    """Context and lists: arrays of one size, one value each, any number of values; empty ones, and one that rows 3, 10, … lack."""
    noise = np.random.default_rng(row)
    context = {"id": row, "name": f"n{row} é", "tags": [b"\xff"] * (row % 3), "weights": noise.random(2, dtype=np.float32)}
    lists = {"mel": noise.random((row % 4, 3), dtype=np.float32), "phone": list(range(row % 5)),
             "ids": [noise.integers(-9, 1 << 40, frame % 3) for frame in range(row % 6)],
             "words": [[f"w{frame}"] * (frame % 4) or None for frame in range(row % 3)], "raw": [b"\xff\x00"] * (row % 2)}
    if row % 7 == 3:
        del lists["mel"]
    return context, lists


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two files of SequenceExamples, one of them in gzip."""
    folder = tmp_path_factory.mktemp("sequences")
    for file in range(2):
        fb.write_records(folder / f"in-{file}.tfrecord", [fb.encode_sequence_example(*sequence_of(row))
                                                          for row in range(file * ROWS // 2, (file + 1) * ROWS // 2)], "gzip" if file else None)
    return str(folder / "in-*.tfrecord")


def plain(value: Any) -> "list[Any]":
    """The values of a feature."""
    return [] if value is None else value if isinstance(value, list) else value.tolist()


def sequences_of(pattern: "str | pathlib.Path", names: "set[str] | None" = None) -> "list[Any]":
    """Context and lists of the records in files, without what has no values, and without lists that have no frames."""
    out = []
    for path in sorted(pathlib.Path(pattern).parent.glob(pathlib.Path(pattern).name)):
        for record in fb.read_records(path):
            context, lists = fb.decode_sequence_example(record)
            out.append(({name: plain(value) for name, value in context.items() if plain(value) and (names is None or name in names)},
                        {name: [plain(frame) for frame in frames] for name, frames in lists.items()
                         if frames and (names is None or name in names)}))
    return out


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_sequences_come_back_from_tables(inputs: str, tmp_path: pathlib.Path, name: str) -> None:
    made = fb.convert(inputs, tmp_path / name, files=3)
    assert [file.rows for file in made] == [ROWS // 3] * 3
    fb.convert(tmp_path / "a-*", tmp_path / "back.tfrecord")
    assert sequences_of(tmp_path / "back.tfrecord") == sequences_of(inputs)


def test_records_of_a_round_trip_are_the_bytes_of_encode_sequence_example(tmp_path: pathlib.Path) -> None:
    noise = np.random.default_rng(1)
    records = [fb.encode_sequence_example(
        {"id": row, "x": noise.random(2, dtype=np.float32)},
        {"ids": [np.arange(frame % 3) << 40 for frame in range(row % 5)], "mel": noise.random((row % 4, 3), dtype=np.float32),
         "words": [["w"] * (1 + frame % 2) for frame in range(row % 3)]}) for row in range(ROWS)]
    fb.write_records(tmp_path / "in.tfrecord", records)
    fb.convert(tmp_path / "in.tfrecord", tmp_path / "a.parquet")
    fb.convert(tmp_path / "a.parquet", tmp_path / "back.tfrecord")
    assert fb.read_records(tmp_path / "back.tfrecord") == records


def test_columns_of_tables_are_lists_of_frames_and_say_so(inputs: str, tmp_path: pathlib.Path) -> None:
    fb.convert(inputs, tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    assert dict(zip(table.schema.names, table.schema.types)) == {
        "id": pa.int64(), "name": pa.large_string(), "tags": pa.large_list(pa.large_binary()), "weights": pa.list_(pa.float32(), 2),
        "ids": pa.large_list(pa.large_list(pa.int64())), "mel": pa.large_list(pa.list_(pa.float32(), 3)),
        "phone": pa.large_list(pa.int64()), "raw": pa.large_list(pa.large_binary()),
        "words": pa.large_list(pa.large_list(pa.large_string()))}
    assert table.schema.metadata[b"forebay.sequence_example"] == b'{"lists": ["ids", "mel", "phone", "raw", "words"]}'
    assert table.slice(5, 1).select(["phone", "words"]).to_pylist() == [{"phone": [], "words": [[], ["w1"]]}]
    assert table["mel"].to_pylist()[2] == sequence_of(2)[1]["mel"].tolist() and table["mel"].to_pylist()[3] == []
    fb.convert(tmp_path / "a.parquet", tmp_path / "b.arrow", drop="words")
    with pa.OSFile(str(tmp_path / "b.arrow")) as source:
        out = pa.ipc.open_file(source).read_all()
    assert out["ids"].to_pylist() == table["ids"].to_pylist()
    assert out.schema.metadata[b"forebay.sequence_example"] == b'{"lists": ["ids", "mel", "phone", "raw"]}'


def test_sequences_of_speech_come_back_and_keep_their_frames(tmp_path: pathlib.Path) -> None:
    speech = shutil.copy(SPEECH, tmp_path)
    fb.convert(speech, tmp_path / "a.parquet", files=2)
    fb.convert(tmp_path / "a-*", tmp_path / "back.tfrecord")
    assert sequences_of(tmp_path / "back.tfrecord") == sequences_of(SPEECH) != []


def test_tables_of_others_become_sequences_by_an_option(tmp_path: pathlib.Path) -> None:
    table = pa.table({"id": [1, 2], "x": pa.array([[[1.0, 2.0], [3.0, 4.0]], []], pa.list_(pa.list_(pa.float32(), 2))),
                      "w": pa.array([[["a"], []], [["b", "c"]]]), "n": pa.array([[1, 2], [3]]),
                      "square": pa.array([[5, 6], [7, 8]], pa.list_(pa.int8(), 2))})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(fb.ConfigError, match=r"'w' is string\[\?,\?\] ragged; .*lists \(--lists\) names tensors that are lists of frames"):
        fb.convert(tmp_path / "a.parquet", tmp_path / "a.tfrecord")
    fb.convert(tmp_path / "a.parquet", tmp_path / "a.tfrecord", lists=["x", "w", "square"])
    assert sequences_of(tmp_path / "a.tfrecord") == [
        ({"id": [1], "n": [1, 2]}, {"square": [[5], [6]], "w": [[b"a"], []], "x": [[1.0, 2.0], [3.0, 4.0]]}),
        ({"id": [2], "n": [3]}, {"square": [[7], [8]], "w": [[b"b", b"c"]]})]
    done = subprocess.run([COMMAND, "convert", str(tmp_path / "a.parquet"), str(tmp_path / "b.tfrecord"), "--lists=x", "--lists", "w",
                           "--lists=square"], env={**os.environ, "PATH": os.path.dirname(sys.executable)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b.tfrecord").read_bytes() == (tmp_path / "a.tfrecord").read_bytes()


def test_text_and_types_of_tables_stay_in_lists_of_lists(tmp_path: pathlib.Path) -> None:
    table = pa.table({"w": pa.array([[["é"], []], [], [["b", "c"]]]), "b": pa.array([[[b"x"]], [], []]), "t": ["a", "b", "c"],
                      "s": [{"u": "v"}] * 3, "n": pa.array([[[1], [0, 1]], [[]], []], pa.list_(pa.list_(pa.uint8()))),
                      "d": pa.array([[[0.1]], [[], [0.2, 0.3]], []], pa.list_(pa.large_list(pa.float64())))})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    fb.convert(tmp_path / "a.parquet", tmp_path / "a.arrow", lists=["w", "n"])
    with pa.OSFile(str(tmp_path / "a.arrow")) as source:
        out = pa.ipc.open_file(source).read_all()
    assert out.drop_columns("s.u").to_pylist() == table.drop_columns("s").to_pylist()
    assert {name: str(out.schema.field(name).type).replace("element", "item") for name in ("w", "b", "t", "s.u", "n")} == {
        "w": "large_list<item: large_list<item: large_string>>", "b": "large_list<item: large_list<item: large_binary>>",
        "t": "large_string", "s.u": "large_string", "n": "large_list<item: large_list<item: uint8>>"}
    with pytest.raises(fb.ConfigError, match="'d' is float64, and an Example has float32 only"):
        fb.convert(tmp_path / "a.arrow", tmp_path / "a.tfrecord", lists=["w", "b", "n", "d"])
    fb.convert(tmp_path / "a.arrow", tmp_path / "a.tfrecord", lists=["w", "b", "n", "d"], narrow=True)
    assert sequences_of(tmp_path / "a.tfrecord", {"d", "n"}) == [
        ({}, {"d": [[np.float32(0.1)]], "n": [[1], [0, 1]]}), ({}, {"d": [[], [np.float32(0.2), np.float32(0.3)]], "n": [[]]}), ({}, {})]


def test_select_and_drop_leave_sequences_behind(inputs: str, tmp_path: pathlib.Path) -> None:
    fb.convert(inputs, tmp_path / "some.tfrecord", select=["id", "ids"])
    assert sequences_of(tmp_path / "some.tfrecord") == sequences_of(inputs, {"id", "ids"})
    fb.convert(inputs, tmp_path / "rest.tfrecord", drop=["words", "raw", "ids", "mel", "phone"])
    assert fb.decode_example(fb.read_records(tmp_path / "rest.tfrecord")[2]).keys() == {"id", "name", "tags", "weights"}
    fb.convert(inputs, tmp_path / "a.tar", select=["id", "mel"])
    fb.convert(tmp_path / "a.tar", tmp_path / "back.tfrecord", lists="mel")
    assert sequences_of(tmp_path / "back.tfrecord") == sequences_of(inputs, {"id", "mel"})


def test_every_way_of_a_shuffle_gives_one_order_of_sequences(inputs: str, tmp_path: pathlib.Path) -> None:
    fb.convert(inputs, tmp_path / "raw.tfrecord", shuffle=True, seed=4)
    fb.convert(inputs, tmp_path / "a.parquet", files=2)
    fb.convert(tmp_path / "a-*", tmp_path / "table.tfrecord", shuffle=True, seed=4)
    fb.convert(inputs, tmp_path / "there.arrow", files=4, shuffle=True, seed=4)
    fb.convert(tmp_path / "there-*", tmp_path / "back.tfrecord")
    shuffled = sequences_of(tmp_path / "raw.tfrecord")
    assert shuffled == sequences_of(tmp_path / "table.tfrecord") == sequences_of(tmp_path / "back.tfrecord")
    assert shuffled != sequences_of(inputs) and len(shuffled) == ROWS


@pytest.mark.parametrize("name", ["a.parquet", "a.tfrecord"])
def test_shards_threads_and_a_resumed_call_make_the_files_of_one_call(inputs: str, tmp_path: pathlib.Path, name: str) -> None:
    fb.convert(inputs, tmp_path / "table.parquet")
    source = inputs if name == "a.parquet" else str(tmp_path / "table.parquet")
    fb.convert(source, tmp_path / "whole" / name, files=5, shuffle=True)
    for shard in (1, 0):
        fb.convert(source, tmp_path / "parts" / name, files=5, shuffle=True, shard=(shard, 2), threads=1)
    assert files_of(tmp_path / "parts") == files_of(tmp_path / "whole")
    next((tmp_path / "whole").glob("a-00003-*")).unlink()
    again = fb.convert(source, tmp_path / "whole" / name, files=5, shuffle=True, existing="resume")
    assert [file.made for file in again] == [False, False, False, True, False]
    assert files_of(tmp_path / "whole") == files_of(tmp_path / "parts")
    with pytest.raises(fb.StateError, match="lists was"):
        fb.convert(source, tmp_path / "whole" / name, files=5, shuffle=True, lists=["mel", "ids", "words"], existing="resume")


@pytest.mark.parametrize("arguments, message", [
    ({"out": "a.csv", "select": ["id", "mel"]}, r"'mel' is float32\[\?,3\] ragged; a CSV file has one number .* or write TFRecord, Parquet or "
                                                "Arrow files, which hold lists of frames"),
    ({"out": "a.npz", "select": ["id", "phone"]}, "'phone' is .* TFRecord, Parquet or Arrow files, which hold lists of frames"),
    ({"out": "a.npy", "select": "ids"}, "'ids' is .* TFRecord, Parquet or Arrow files, which hold lists of frames"),
    ({"out": "a.tar", "drop": "tags"}, "'ids' is .* TFRecord, Parquet or Arrow files, which hold lists of frames"),
    ({"out": "a.parquet", "drop": "wrods"}, "drop: no tensor 'wrods', did you mean 'words'"),
    ({"out": "a.tfrecord", "lists": "mle"}, "lists: no tensor 'mle', did you mean 'mel'"),
    ({"out": "a.tfrecord", "lists": "mel", "select": "id"}, "lists: 'mel' is not written"),
    ({"out": "a.tfrecord", "lists": ["id", "words", "ids"]}, r"'id' is int64\[\]; a list of frames \(lists\) is a list of values")])
def test_what_cannot_be_is_refused_before_a_file_is_made(inputs: str, tmp_path: pathlib.Path, arguments: "dict[str, Any]",
                                                         message: str) -> None:
    with pytest.raises(fb.ConfigError, match=message):
        fb.convert(inputs, tmp_path / arguments.pop("out"), **arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sequences, message", [
    ([({"x": 1}, {"x": [1]})], "'x' is in the context and in the lists, and one name cannot stand for both"),
    ([({}, {"x": [1]}), ({}, {"x": [0.5]})], "list 'x' has values of different kinds; leave it out with drop"),
    ([({}, {"x": [None, None]})], "list 'x' has frames, but never a value that says its type; leave it out with drop")])
def test_lists_that_no_column_holds_are_named(tmp_path: pathlib.Path, sequences: "list[Any]", message: str) -> None:
    fb.write_records(tmp_path / "in.tfrecord", [fb.encode_sequence_example(*sequence) for sequence in sequences])
    with pytest.raises(fb.Error, match=message):
        fb.convert(tmp_path / "in.tfrecord", tmp_path / "a.parquet")
    assert files_of(tmp_path).keys() == {"in.tfrecord"}


def test_nulls_of_lists_are_an_error_or_empty(tmp_path: pathlib.Path) -> None:
    table = pa.table({"w": pa.array([[[1], None, [None, 2]], None, [[3]]])})
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(fb.DataError, match="in.parquet#0: column 'w' has a list that is null; `nulls` makes it an empty one"):
        fb.convert(tmp_path / "in.parquet", tmp_path / "a.tfrecord", lists="w")
    assert files_of(tmp_path).keys() == {"in.parquet"}
    fb.convert(tmp_path / "in.parquet", tmp_path / "a.tfrecord", lists="w", nulls={"w": -1})
    assert sequences_of(tmp_path / "a.tfrecord") == [({}, {"w": [[1], [], [-1, 2]]}), ({}, {}), ({}, {"w": [[3]]})]
    deeper = pa.table({"w": pa.array([[[[1]]]])})
    pq.write_table(deeper, tmp_path / "deeper.parquet")
    with pytest.raises(fb.ConfigError, match="column 'w': a list of lists cannot be delivered"):
        fb.convert(tmp_path / "deeper.parquet", tmp_path / "b.tfrecord", lists="w")


def test_a_corrupt_sequence_is_an_error_with_its_record(tmp_path: pathlib.Path) -> None:
    records = [fb.encode_sequence_example(*sequence_of(row)) for row in range(4)]
    fb.write_records(tmp_path / "in.tfrecord", [*records[:3], records[3][:-1]])
    done = subprocess.run([sys.executable, "-m", "forebay", "convert", str(tmp_path / "in.tfrecord"), str(tmp_path / "a.parquet")],
                          capture_output=True, text=True)
    assert done.returncode == 3 and "record 3" in done.stderr and "not a tf.train.SequenceExample" in done.stderr
    assert files_of(tmp_path).keys() == {"in.tfrecord"}


def test_columns_that_are_called_lengths_are_columns_like_others(tmp_path: pathlib.Path) -> None:
    table = pa.table({"x": [[1, 2], [3]], "lengths(x)": [[5], []], "m": [[1], []]})
    pq.write_table(table, tmp_path / "a.parquet")
    fb.convert(tmp_path / "a.parquet", tmp_path / "a.tfrecord", lists="m")
    assert sequences_of(tmp_path / "a.tfrecord") == [({"x": [1, 2], "lengths(x)": [5]}, {"m": [[1]]}), ({"x": [3]}, {})]
    fb.convert(tmp_path / "a.parquet", tmp_path / "b.arrow")
    with pa.OSFile(str(tmp_path / "b.arrow")) as source:
        assert pa.ipc.open_file(source).read_all().to_pylist() == table.to_pylist()
    pq.write_table(table.drop_columns("x").append_column("x", pa.array([[[1]], []])), tmp_path / "c.parquet")
    with pytest.raises(fb.ConfigError, match=r"column 'lengths\(x\)': two columns have this name"):
        fb.convert(tmp_path / "c.parquet", tmp_path / "c.arrow")
