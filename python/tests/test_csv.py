# SPDX-License-Identifier: Apache-2.0
"""The source and the decoder `csv` against Python's csv module."""
from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import pathlib
import random
from typing import Any

import numpy as np
import pytest
from command import forebay
from conftest import DATA
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import digests, resumed

import forebay as fb

Rows = list[list[str]]


def rows_of_csv(path: pathlib.Path) -> tuple[list[str], Rows]:
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = [row for row in csv.reader(file) if row]
    return names, rows


def texts(*names: str) -> dict[str, Any]:
    return {name: {"dtype": "string", "default": ""} for name in names}


def read(pipe: fb.Pipeline, names: list[str], **options: Any) -> Rows:
    with pipe.load(**options) as loader:
        return [[cell.decode() for cell in row] for batch in loader for row in zip(*(batch[name] for name in names))]


def written(path: pathlib.Path, rows: Rows, **options: Any) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, **options).writerows(rows)
    path.write_bytes(text.getvalue().encode())
    return str(path)


@pytest.mark.parametrize("name", sorted(path.name for path in (DATA / "csv").glob("*.csv")))
def test_real_files_are_read_as_python_reads_them(name: str) -> None:
    path = DATA / "csv" / name
    names, rows = rows_of_csv(path)
    pipe = fb.csv([str(path)], header=True, skip_blank_lines=True).csv(texts(*names)).batch(1000)
    assert read(pipe, names, threads=2) == rows


def test_numbers_of_all_notations_are_those_of_python(tmp_path: pathlib.Path) -> None:
    """50,000 rows: fractions, whole numbers and powers of ten from the smallest float32 to the largest."""
    draw = random.Random(3)
    rows = [[f"{draw.uniform(0, 5):.2f}", repr(draw.gauss(0, 60)), f"{draw.uniform(-1, 1) * 10 ** draw.randint(-44, 37):.{draw.randint(0, 12)}e}",
             str(draw.randint(-2**31, 2**31 - 1))] for _ in range(50_000)]
    names = ["carat", "depth", "x", "price"]
    path = written(tmp_path / "numbers.csv", [names, *rows])
    numbers = {name: {"dtype": "float32"} for name in ("carat", "depth", "x")} | {"price": {"dtype": "int32"}}
    pipe = fb.csv([path], header=True).csv(numbers).batch(60_000)
    with pipe.load(threads=2) as loader:
        batch = next(iter(loader))
        for name in numbers:
            kind = batch[name].dtype.type  # float32 of the text: a float64 in between would round twice
            want = np.array([kind(row[names.index(name)]) for row in rows])
            assert np.array_equal(batch[name], want), name


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.lists(st.text(st.sampled_from('ab,;"\r\n é'), max_size=6), min_size=3, max_size=3), min_size=1, max_size=12),
       quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), delimiter=st.sampled_from(",;"))
def test_whatever_python_writes_is_read_back(tmp_path_factory: pytest.TempPathFactory, rows: Rows, quoting: int, delimiter: str) -> None:
    path = written(tmp_path_factory.mktemp("csv") / "x.csv", rows, quoting=quoting, delimiter=delimiter)
    pipe = fb.csv([path], field_delim=delimiter).csv(texts("a", "b", "c")).batch(5)
    assert read(pipe, ["a", "b", "c"], threads=2) == rows


@pytest.fixture(name="parts")
def _parts(tmp_path: pathlib.Path) -> list[str]:
    """Three files of 40, 0 and 27 records, some of them of several lines; the last is compressed."""
    draw = random.Random(4)
    paths = []
    for part, count in enumerate((40, 0, 27)):
        rows = [[str(100 * part + i), f"{draw.uniform(-1, 1):.6g}", "\n".join("ab\"," for _ in range(i % 3))] for i in range(count)]
        path = tmp_path / f"{part}.csv"
        written(path, [["n", "x", "s"], *rows])
        paths.append(str(path))
    packed = tmp_path / "2.csv.gz"
    packed.write_bytes(gzip.compress(pathlib.Path(paths[2]).read_bytes()))
    return [*paths[:2], str(packed)]


def pipeline(parts: list[str]) -> fb.Pipeline:
    columns = {"s": {"dtype": "string", "default": ""}, "n": {"dtype": "int64"}, "x": {"dtype": "float32"}}
    return fb.csv(parts, header=True).csv(columns)


SHUFFLES = {"none": lambda pipe: pipe, "buffer": lambda pipe: pipe.shuffle(buffer=16), "global": lambda pipe: pipe.shuffle(global_=True)}


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_the_stream_is_the_same_for_any_threads_and_after_a_restart_at_any_batch(parts: list[str], shuffle: str) -> None:
    pipe = SHUFFLES[shuffle](pipeline(parts)).batch(7).epochs(2).seed(3)
    with pipe.load(threads=1) as loader:
        states = [loader.state_dict()]
        want = []
        for batch in loader:
            want += digests([batch])
            states.append(loader.state_dict())
    with pipe.load(threads=8) as loader:
        assert digests(loader) == want
    assert len(want) == 20
    for place, state in enumerate(states):
        with resumed(pipe, state, threads=1 + place % 8) as loader:
            assert digests(loader) == want[place:], place


def test_shards_share_the_records_out(parts: list[str]) -> None:
    pipe = pipeline(parts).batch(8)
    found = []
    for rank in range(2):
        with pipe.load(threads=2, shard=(rank, 2)) as loader:
            found += [n for batch in loader for n in batch["n"].tolist()]
    assert sorted(found) == [*range(40), *range(200, 227)]


def test_a_file_with_another_header_is_an_error_that_names_it(tmp_path: pathlib.Path) -> None:
    first = written(tmp_path / "a.csv", [["n", "s"], ["1", "x"]])
    other = written(tmp_path / "b.csv", [["s", "n"], ["y", "2"]])
    pipe = fb.csv([first, other], header=True).csv({"n": {"dtype": "int64"}}).batch(1)
    with pipe.load(threads=2) as loader, pytest.raises(fb.DataError, match=r"b\.csv.*field 0 of the header row is 's'.*a\.csv"):
        assert next(iter(loader))["n"].tolist() == [1]
        list(loader)


def test_faults_of_the_document_name_their_option(tmp_path: pathlib.Path) -> None:
    path = written(tmp_path / "a.csv", [["n", "s"], ["1", "x"]])
    with pytest.raises(fb.ConfigError, match="the source 'csv' decides 'field_delim'"):
        fb.csv([path]).csv({"n": {"dtype": "int64"}}, field_delim=";").batch(1).load()
    with pytest.raises(fb.ConfigError, match="the records have no field 'm'; did you mean 'n'"):
        fb.csv([path], header=True).csv({"m": {"dtype": "int64"}}).batch(1).load()
    with pytest.raises(fb.Error, match="no-such"):
        fb.csv([str(tmp_path / "no-such.csv")], header=True).csv({"n": {"dtype": "int64"}}).batch(1).load()


def test_corrupt_records_are_skipped_one_by_one(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('1,a\nx,b\n2,c"d\n3,e,f\n4,"g\n5,h\n6,i\n')
    pipe = fb.csv([str(path)]).csv({"n": {"dtype": "int64"}, "s": {"dtype": "string"}}).batch(10)
    document = {**json.loads(pipe.to_json()), "on_corrupt": "skip_record"}
    with fb.load(document, threads=2) as loader:
        assert [n for batch in loader for n in batch["n"].tolist()] == [1, 5, 6]
    document.update(on_corrupt="fail", steps=[{"batch": {"size": 1}}])
    with fb.load(document, threads=2) as loader, pytest.raises(fb.DataError, match=r"a\.csv, line 2, record 1, byte 4, feature 'n': field 0"):
        list(loader)


def test_a_bad_field_is_named_as_its_column(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('n,s\n1,a\n2,c"d\n')
    pipe = fb.csv([str(path)], header=True).csv({"n": {"dtype": "int64"}, "s": {"dtype": "string"}}).batch(1)
    with pipe.load() as loader, pytest.raises(fb.DataError, match=r"a\.csv, line 3, record 1, byte 8, feature 's': field 1: .* quote"):
        list(loader)


@pytest.mark.parametrize("packed", [False, True])
def test_a_bad_field_says_the_line_at_which_its_record_begins(tmp_path: pathlib.Path, packed: bool) -> None:
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    content = b"# note\r\nn,s\n" + b'1,"a\nb"\r\n' * 30_000 + b"x,y\n3,z\n"
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    records = fb.csv([path], header=True, skip_header_lines=1).csv({"n": {"dtype": "int64"}, "s": {"dtype": "string"}})
    pipe = records.batch(100)

    def failure(loader: fb.Loader) -> fb.DataError:
        with loader, pytest.raises(fb.DataError) as caught:
            list(loader)
        for again in range(2):
            with pytest.raises(fb.DataError, match="line 60003, record 30000, byte"):
                next(loader)
        return caught.value

    with pipe.load() as loader:
        for _ in range(7):
            next(loader)
        state = loader.state_dict()
    for found in (failure(pipe.load(threads=1)), failure(pipe.load(threads=4)), failure(resumed(pipe, state)),
                  failure(pipe.load(shard=(0, 2))), failure(records.shuffle(global_=True).batch(100).load())):
        assert (found.line, found.column, found.record, found.pointer) == (60_003, None, 30_000, None), str(found)


def test_lines_of_branches_and_of_unclosed_quotes(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.csv").write_text("1\n2\n")
    (tmp_path / "b.csv").write_text('3\n"4\n5\n')
    branches = [fb.csv([tmp_path / name]).csv({"n": {"dtype": "int64"}}) for name in ("a.csv", "b.csv")]
    with fb.concat(branches).batch(1).load() as loader, pytest.raises(fb.DataError, match=r"b\.csv, line 2, record 1, byte 2: .*quote"):
        list(loader)


def test_the_names_of_a_header_row_are_part_of_the_plan(tmp_path: pathlib.Path) -> None:
    path = written(tmp_path / "a.csv", [["n", "m"], ["1", "2"], ["3", "4"]])
    pipe = fb.csv([path], header=True).csv({"n": {"dtype": "int64"}}).batch(1)
    with pipe.load() as loader:
        next(loader)
        state, same = loader.state_dict(), pipe.load().state_dict()
        assert state["plan"] == same["plan"]
    written(tmp_path / "a.csv", [["m", "n"], ["1", "2"], ["3", "4"]])
    with pipe.load() as loader, pytest.raises(fb.StateError, match="fields"):
        loader.load_state_dict(state)


def test_lines_with_a_dialect_in_the_decoder(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1;NA;x\n2;2024-02-29 12:00:00;y\n")
    columns = {"n": {"dtype": "uint8"}, "when": {"dtype": "int64", "timestamp": "s", "default": -1}}
    pipe = fb.lines([str(path)]).csv(columns, field_delim=";", na_value="NA", select_cols=[0, 1]).batch(2)
    with pipe.load() as loader:
        batch = next(iter(loader))
    noon = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc).timestamp()
    assert batch["n"].tolist() == [1, 2] and batch["when"].tolist() == [-1, noon]


def test_the_command_shows_the_records(tmp_path: pathlib.Path) -> None:
    written(tmp_path / "a.csv", [["n", "s"], ["1", "x\ny"], ["2", "z"]])
    document = tmp_path / "doc.json"
    pipe = fb.csv([str(tmp_path / "a.csv")], header=True).csv({"n": {"dtype": "int64"}, "s": {"dtype": "string"}}).batch(2)
    document.write_text(pipe.to_json())
    assert "x\\ny" in forebay("head", str(document)).stdout


def test_records_of_any_shape_are_decoded_by_a_function():
    """Examples of TensorFlow's decode_csv."""
    first, second, third = fb.decode_csv([[b",1,", b"0.2,3,bcd"], [b"3.0,,", b'1,2,"ab""c"']], [1.0, 0, "a"])
    assert first.tolist() == [[1.0, np.float32(0.2)], [3.0, 1.0]] and first.dtype == np.float32
    assert second.tolist() == [[1, 3], [0, 2]] and second.dtype == np.int32
    assert third.tolist() == [[b"a", b"bcd"], [b"a", b'ab"c']]
    assert [column.tolist() for column in fb.decode_csv(b"2.0,NA,aa", [1.0, [7], np.array([], "S")], na_value="NA")] == [2.0, 7, b"aa"]
    with pytest.raises(fb.DataError, match="record 1, feature 'column 0': .*required"):
        fb.decode_csv([b"1", b'""'], [np.array([], np.int32)])
    with pytest.raises(fb.ConfigError, match=r"record_defaults\[1\]: must be one value or an empty array, found an array of shape \(2,\)"):
        fb.decode_csv([b"1,2"], [0, [1, 2]])
