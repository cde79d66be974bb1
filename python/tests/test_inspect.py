# SPDX-License-Identifier: Apache-2.0
"""fb.inspect, `forebay schema` and `forebay head`: what they print runs, and gives every value of every file."""
from __future__ import annotations

import gzip
import io
import json
import pathlib
import struct
import sys
import tarfile
from collections import Counter
from typing import Any

import numpy as np
import plain_messages
import pytest
from command import ROOT, forebay

import forebay as fb

TAXI = ROOT / "examples" / "taxi" / "data"
PYTHON_ON_PATH = {"PATH": f"{pathlib.Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONPATH": str(pathlib.Path(fb.__file__).parents[1])}
MNIST = ROOT / "tests" / "data" / "mnist" / "mnist.tfrecords.gz"
SEQUENCES = ROOT / "tests" / "data" / "sequence_example" / "train.tfrecords.gz"


def run_text(python: str) -> fb.Pipeline:
    """The pipeline of a printed call."""
    names: dict[str, Any] = {}
    exec(python, names)
    pipe = names["pipe"]
    assert isinstance(pipe, fb.Pipeline)
    return pipe


def column_values(batch: fb.Batch, name: str) -> list[Any]:
    """The values of each row, without padding."""
    value = batch[name]
    rows: list[Any] = value.to_list() if isinstance(value, fb.Ragged) else value.tolist()
    lengths = batch.lengths.get(name)
    if isinstance(value, fb.Ragged) or lengths is None:
        return rows
    return [row[:length] for row, length in zip(rows, lengths.tolist())]


def rows_of_loader(loader: fb.Loader) -> list[dict[str, Any]]:
    rows = []
    with loader:
        for batch in loader:
            columns = [column_values(batch, name) for name in batch]
            rows += [dict(zip(batch, row)) for row in zip(*columns)][:batch.valid_rows]
    return rows


def rows_of(pipe: fb.Pipeline) -> list[dict[str, Any]]:
    return rows_of_loader(pipe.load(threads=1))


def both(found: fb.Inspection) -> list[dict[str, Any]]:
    """The rows of the printed call, which are those of the printed document."""
    rows = rows_of(run_text(found.python))
    assert rows_of_loader(fb.load(json.loads(json.dumps(found.document)), threads=1)) == rows
    return rows


def as_delivered(values: "list[Any] | None", feature: dict[str, Any]) -> Any:
    """The values of a record as the proposed kind of feature gives them."""
    zero: Any = {"int64": 0, "float32": 0.0, "string": b""}[feature["dtype"]]
    if feature["kind"] == "var_len":
        return values or []
    sizes = json.loads(feature["shape"])
    if not values:
        values = [zero] * (sizes[0] if sizes else 1)
    return values if sizes else values[0]


def test_the_printed_call_and_document_give_every_value_of_the_taxi_files() -> None:
    found = fb.inspect(TAXI / "*-0000[0-3]-*", records=None)
    rows = both(found)
    features = found.features
    messages = [plain_messages.message(record)[0] for path in sorted(TAXI.glob("*.gz"))[:4]
                for record in plain_messages.records(path)]
    assert len(rows) == len(messages) == found.records
    assert set(features) == {name for features in messages for name in features}
    for row, values in zip(rows, messages):
        assert row == {name: as_delivered(values.get(name), feature) for name, feature in features.items()}
    for name, feature in features.items():
        flat = [value for values in messages for value in values.get(name, [])]
        assert feature["missing"] == sum(not values.get(name) for values in messages)
        numbers = feature.get("integers") or feature.get("floats")
        if numbers:
            assert (numbers["min"], numbers["max"]) == (min(flat), max(flat))
            assert numbers["mean"] == pytest.approx(np.mean(np.array(flat, np.float64)), rel=1e-9)
        counted = feature.get("integers") or feature.get("strings") or {}
        if "distinct" in counted:
            counts = Counter(value.decode() if isinstance(value, bytes) else value for value in flat)
            assert counted["distinct"] == len(counts)
            assert all(counts[each["value"]] == each["count"] for each in counted["top"])


def test_every_feature_of_sequence_examples_is_there_and_runs() -> None:
    found = fb.inspect(SEQUENCES, records=None)
    messages = [plain_messages.message(record) for record in plain_messages.records(SEQUENCES)]
    rows = both(found)
    assert len(rows) == len(messages)
    features = found.features
    for row, (context, lists) in zip(rows, messages):
        expected: dict[str, Any] = {}
        for name, feature in features.items():
            if feature["part"] == "context":
                expected[name] = as_delivered(context.get(name), feature)
            else:
                expected[name] = [step[0] for step in lists.get(name, [])]
        assert row == expected


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Records of every kind of feature: fixed, varying, optional, empty, never valued, with names that need care."""
    path = tmp_path_factory.mktemp("mixed") / "data.tfrecord"
    records = []
    for i in range(50):
        example: dict[str, Any] = {
            "image/shape": np.array([i, i + 1, 3]), "tokens": np.arange(i % 5), "text": [b"t%d" % i],
            "score": np.array([i / 2], np.float32), "flat/values": np.full(i % 3, 0.5, np.float32),
            "a \"quoted\"\n\x1b[31m name": np.array([i]), "\u202ename": [b"x", b"y"], "": np.array([7])}
        if i % 3:
            example["optional"] = np.array([i, -i])
        if i % 2:
            example["sometimes"] = [b"\xff\x00"] * (i % 4)
        records.append(fb.encode_example(example))
    fb.write_records(path, records)
    return path


def test_no_feature_is_left_out_whatever_its_lengths_and_names(mixed: pathlib.Path) -> None:
    found = fb.inspect(mixed)
    rows = both(found)
    messages = [plain_messages.message(record)[0] for record in plain_messages.records(mixed)]
    features = found.features
    assert {name for message in messages for name in message} == set(features)
    assert rows == [{name: as_delivered(message.get(name), each) for name, each in features.items()} for message in messages]
    assert {name: features[name]["kind"] for name in ("tokens", "text", "optional", "sometimes", "image/shape")} == {
        "tokens": "var_len", "text": "fixed_len", "optional": "fixed_len", "sometimes": "var_len", "image/shape": "fixed_len"}


def test_a_feature_of_two_kinds_is_reported_and_the_others_run(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.tfrecord"
    fb.write_records(path, [fb.encode_example({"x": values, "id": [1]})
                            for values in (np.array([1]), np.array([0.5], np.float32))])
    found = fb.inspect(path)
    assert found.features["x"]["kind"] == "mixed" and "1 int64, 1 float32" in found.features["x"]["note"]
    assert both(found) == [{"id": 1}, {"id": 1}]


def test_malformed_records_among_examples_are_skipped_by_the_document(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.tfrecord"
    fb.write_records(path, [fb.encode_example({"x": [i]}) for i in range(5)] + [b"\x0a\xff\xff"])
    found = fb.inspect(path)
    assert both(found) == [{"x": i} for i in range(5)]
    assert "1 of 6 records are malformed" in str(found) and "record 5" in str(found)


def write_sources(folder: pathlib.Path) -> None:
    (folder / "a.csv").write_text('name,age,score,ok,wide\nAnn,3,1.5,true,12345678.25\n"Bo, ""b""",,2.5,false,1\n')
    (folder / "b.tsv.gz").write_bytes(gzip.compress(b"1\t2\tx\n3\t4\ty\n"))
    (folder / "c.txt").write_bytes("one\r\n\nüml".encode())
    with tarfile.open(folder / "d.tar", "w") as archive:
        for i in range(3):
            for name, data in [(f"k{i}.txt", b"t%d" % i)] + [(f"k{i}.seg.png", b"\x89PNG")] * (i > 0):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    np.save(folder / "x.npy", np.arange(6, dtype=np.float32).reshape(3, 2))
    np.save(folder / "y.npy", np.array([5, 6, 7], np.int16))
    np.savez(folder / "e.npz", v=np.array([1.5, np.inf]))
    (folder / "f-idx3-ubyte").write_bytes(struct.pack(">I3i", 0x803, 2, 1, 2) + bytes(range(4)))
    for label in ("cat", "dog"):
        (folder / "images" / label).mkdir(parents=True)
        (folder / "images" / label / "0.png").write_bytes(b"\x89PNG\r\n\x1a\n" + label.encode())
    (folder / "g.bin").write_bytes(bytes(range(10)))
    fb.write_records(folder / "h.tfrecord", [b"\xffbytes", b""])
    fb.write_records(folder / "i.tfrecord.gz", [fb.encode_example({"a": [i]}) for i in range(3)], "gzip")
    (folder / "tfds").mkdir()
    for shard in range(2):
        fb.write_records(folder / "tfds" / f"m-train.tfrecord-0000{shard}-of-00002", [fb.encode_example({"a": [shard]})] * 2)
    (folder / "tfds" / "features.json").write_text('{"a": 1}')


PNG = b"\x89PNG\r\n\x1a\n"
SOURCES: dict[str, Any] = {
    "a.csv": [{"name": b"Ann", "age": 3, "score": 1.5, "ok": True, "wide": 12345678.25},
              {"name": b'Bo, "b"', "age": 0, "score": 2.5, "ok": False, "wide": 1.0}],
    "b.tsv.gz": [{"column_0": 1, "column_1": 2, "column_2": b"x"}, {"column_0": 3, "column_1": 4, "column_2": b"y"}],
    "c.txt": [{"line": b"one"}, {"line": b""}, {"line": "üml".encode()}],
    "d.tar": [{"seg.png": b"" if i == 0 else b"\x89PNG", "txt": b"t%d" % i, "__key__": b"k%d" % i} for i in range(3)],
    "*.npy": [{"x": [0.0, 1.0], "y": 5}, {"x": [2.0, 3.0], "y": 6}, {"x": [4.0, 5.0], "y": 7}],
    "e.npz": [{"v": 1.5}, {"v": np.inf}],
    "f-idx3-ubyte": [{"f": [[0, 1]]}, {"f": [[2, 3]]}],
    "images": [{"content": PNG + b"cat", "label": 0}, {"content": PNG + b"dog", "label": 1}],
    "**/*.png": [{"content": PNG + b"cat", "label": 0}, {"content": PNG + b"dog", "label": 1}],
    "h.tfrecord": [{"record": b"\xffbytes"}, {"record": b""}],
    "i.tfrecord.gz": [{"a": 0}, {"a": 1}, {"a": 2}],
    "tfds": [{"a": 0}, {"a": 0}, {"a": 1}, {"a": 1}],
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("sources")
    write_sources(folder)
    return folder


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_found_by_its_content_and_name_and_gives_its_rows(sources: pathlib.Path, name: str) -> None:
    found = fb.inspect(sources / name)
    assert both(found) == SOURCES[name]
    assert (found.records, set(found.features)) == (len(SOURCES[name]), set(SOURCES[name][0]) - {"__key__"})


def test_folders_with_pictures_are_classes(sources: pathlib.Path) -> None:
    found = fb.inspect(sources / "images")
    assert (found.features["label"]["dtype"], found.features["label"]["integers"]["max"]) == ("int64", 1)
    text = forebay("schema", sources / "images").stdout
    assert "label is the number of the folder: 0 cat, 1 dog; classes=[…] keeps the numbers where a folder is missing" in text
    assert len([line for line in text.splitlines() if line.startswith("label ")]) == 1


def test_records_of_one_length_need_their_length(sources: pathlib.Path) -> None:
    with pytest.raises(fb.ConfigError, match="g.bin: the file is in no format that is known.*fixed_length with record_bytes"):
        fb.inspect(sources / "g.bin")
    found = fb.inspect(sources / "g.bin", source="fixed_length", record_bytes=5)
    assert both(found) == [{"record": bytes(range(5))}, {"record": bytes(range(5, 10))}]
    command = forebay("schema", sources / "g.bin", "--source", "fixed_length", "--option", "record_bytes=5", "--json")
    assert json.loads(command.stdout) == found.to_dict()


def test_a_folder_is_read_by_a_pattern_and_other_files_are_named(sources: pathlib.Path) -> None:
    found = fb.inspect(sources / "tfds")
    assert found.document is not None
    assert found.document["source"] == {"tfrecord": {"files": [f"{sources}/tfds/*.tfrecord*"]}}
    assert "1 file of other kinds than tfrecord: 'features.json'" in str(found)


def test_arrays_are_named_by_their_files_without_the_number_of_a_shard(tmp_path: pathlib.Path) -> None:
    for folder, name, tensor in (("a", "train00001-of-00002.npy", "train00001-of-00002"), ("b", "00000-of-00002.npy", "00000-of-00002"),
                                 ("c", "x-00000-of-00001.npy", "x")):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / name, np.arange(3))
        assert list(fb.inspect(tmp_path / folder / name).features) == [tensor]


def test_a_pipeline_is_inspected_by_its_batches_without_padding(mixed: pathlib.Path) -> None:
    pipe = fb.tfrecord(mixed).example({"tokens": fb.var_len("int64", as_="padded"), "score": fb.fixed("float32")}).batch(8)
    features = fb.inspect(pipe, records=None).features
    assert features["tokens"]["lengths"] == {"min": 0, "max": 4, "mean": 2.0}
    assert features["tokens"]["integers"]["values"] == 100
    assert features["score"]["floats"] == {"values": 50, "min": 0.0, "max": 24.5, "mean": 12.25, "nan": 0, "inf": 0}


def test_a_sample_says_so_and_is_that_of_the_first_records(sources: pathlib.Path) -> None:
    found = fb.inspect(sources / "tfds", records=2)
    assert found.records == 2 and found.to_dict()["sample"] is True and "a sample of 2 records" in str(found)
    assert found.features["a"]["integers"]["max"] == 1
    assert fb.inspect(sources / "tfds", records=4).to_dict()["sample"] is False


@pytest.mark.parametrize("records", [None, 7])
def test_the_report_does_not_depend_on_threads(records: "int | None") -> None:
    reports = [fb.inspect(TAXI, records=records, threads=threads).to_dict() for threads in (1, 3)]
    assert reports[0] == reports[1]


def test_schema_prints_the_table_the_call_and_the_document() -> None:
    done = forebay("schema", "tests/data/mnist/mnist.tfrecords.gz", "--stats", cwd=ROOT)
    assert done.stdout == """\
tf.train.Example, 1 file: 1000 records, all that there are

feature       kind       dtype    shape  in records  values
image_class   fixed_len  int64    []     100 %       from 0 to 9
    missing 0, empty 0; 1000 values, mean 4.498
    10 different: 1 × 137, 8 × 120, 4 × 118, 7 × 107, 9 × 97, …
image_floats  fixed_len  float32  [784]  100 %       784 values; from -0.5 to 0.5
    missing 0, empty 0; 784000 values, mean -0.371405; mean length 784

In Python:

import forebay as fb

pipe = (fb.tfrecord(["tests/data/mnist/mnist.tfrecords.gz"])
        .example(features={
            "image_class": fb.fixed("int64"),
            "image_floats": fb.fixed("float32", [784]),
        })
        .batch(size=32))

As a document:

{
  "source": {
    "tfrecord": {
      "files": ["tests/data/mnist/mnist.tfrecords.gz"]
    }
  },
  "decode": {
    "example": {
      "features": {
        "image_class": {
          "dtype": "int64"
        },
        "image_floats": {
          "dtype": "float32",
          "shape": [784]
        }
      }
    }
  },
  "steps": [
    {
      "batch": {
        "size": 32
      }
    }
  ]
}
"""
    document = json.loads(forebay("schema", MNIST, "--document").stdout)
    assert document == fb.inspect(MNIST).document
    assert forebay("schema", MNIST, "--python").stdout == fb.inspect(MNIST).python
    markdown = forebay("schema", "tests/data/mnist/mnist.tfrecords.gz", "--markdown", cwd=ROOT).stdout
    assert r"| image\_class | fixed\_len | int64 | \[\] | 100 % | from 0 to 9 |" in markdown


def test_schema_of_a_document_lists_its_tensors_and_with_stats_their_values(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "doc.json"
    path.write_text(json.dumps(fb.inspect(MNIST).document))
    assert forebay("schema", path).stdout.splitlines()[2:] == [
        "feature       kind   dtype    shape  in records  values",
        "image_class   dense  int64    []", "image_floats  dense  float32  [784]"]
    assert "10 different: 1 × 137" in forebay("schema", path, "--stats").stdout


# TFRecord files show the messages as they are stored.
@pytest.mark.parametrize("name", [name for name in SOURCES if name not in ("h.tfrecord", "i.tfrecord.gz", "tfds")])
def test_head_shows_the_first_rows_of_every_source(sources: pathlib.Path, name: str) -> None:
    rows = json.loads(forebay("head", sources / name, "-n", 2, "--json").stdout)
    expected = [{key: value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value for key, value in row.items()}
                for row in SOURCES[name][:2]]
    if name == "e.npz":
        expected[1]["v"] = "inf"
    assert [row["values"] for row in rows] == expected


def test_head_shows_context_and_lists_of_sequence_examples() -> None:
    values = json.loads(forebay("head", SEQUENCES, "-n", 1, "--json").stdout)[0]["values"]
    context, lists = plain_messages.message(next(plain_messages.records(SEQUENCES)))
    texts = {name: [[text.decode() for text in step] for step in steps] for name, steps in lists.items()}
    assert values == {**context, **texts}


@pytest.mark.parametrize("arguments", [["head"], ["schema"], ["schema", "--stats"], ["schema", "--markdown", "--stats"],
                                       ["schema", "--json"]])
def test_hostile_text_reaches_no_terminal(mixed: pathlib.Path, tmp_path: pathlib.Path, arguments: list[str]) -> None:
    path = tmp_path / "hostile.tfrecord"
    bad = "\x1b]0;t\x07\x9b31m\u202e|<script>\u2028"
    fb.write_records(path, [fb.encode_example({bad: [bad.encode()], "long": [b"x" * 300_000]})] * 2)
    for file in (mixed, path):
        out = forebay(arguments[0], file, *arguments[1:]).stdout
        assert out and not set(out) & {"\x1b", "\x07", "\x9b", "\u202e", "\u2028", "\x7f"}
        assert "--json" in arguments or max(map(len, out.splitlines())) < 700
        assert "--markdown" not in arguments or "<script>" not in out[:out.index("```")]


def test_faults_name_the_file_and_the_option(sources: pathlib.Path, tmp_path: pathlib.Path) -> None:
    corrupt = tmp_path / "c.tfrecord"
    fb.write_records(corrupt, [fb.encode_example({"a": [i]}) for i in range(3)])
    data = corrupt.read_bytes()
    corrupt.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
    with pytest.raises(fb.DataError, match="c.tfrecord, record 2"):
        fb.inspect(corrupt)
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(fb.DataError, match="bad.csv, record 1.*3 fields, the first one of the data has 2"):
        fb.inspect(tmp_path / "bad.csv")
    with pytest.raises(fb.IoError, match="nothing.csv"):
        fb.inspect(tmp_path / "nothing.csv")
    with pytest.raises(fb.ConfigError, match="there is none named 'csvv'; did you mean 'csv'"):
        fb.inspect(tmp_path / "bad.csv", source="csvv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(fb.ConfigError, match="empty: the folder has no files"):
        fb.inspect(f"{tmp_path}/empty/")
    codes = [forebay("schema", path).returncode for path in (corrupt, tmp_path / "nothing.csv", sources / "g.bin")]
    assert codes == [3, 4, 2]
