# SPDX-License-Identifier: Apache-2.0
"""fb.parquet and fb.arrow_file: files that pyarrow reads."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from conftest import DATA

import forebay as fb

ROWS, GROUP = 60, 10


@pytest.fixture(scope="module")
def files() -> Any:
    """Two files of three row groups each, with the numbers from 0 to 59."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(2):
            first = number * ROWS // 2
            table = pa.table({"x": range(first, first + ROWS // 2), "s": [f"row {i}" for i in range(first, first + ROWS // 2)],
                              "m": pa.array([{"a": i % 3, "b": None} for i in range(ROWS // 2)])})
            pq.write_table(table.drop_columns("m"), f"{folder}/{number}.parquet", row_group_size=GROUP, write_page_checksum=True)
            with pa.OSFile(f"{folder}/{number}.arrow", "wb") as out, pa.ipc.new_file(out, table.drop_columns("m").schema) as writer:
                writer.write_table(table.drop_columns("m"), GROUP)
        yield folder


def numbers(loader: "Iterable[fb.Batch]") -> "list[list[int]]":
    return [batch["x"].tolist() for batch in loader]


@pytest.mark.parametrize("parts", ["row_groups", "files"])
@pytest.mark.parametrize("threads", [1, 8])
def test_rows_come_in_the_order_of_the_files(files: str, parts: Any, threads: int) -> None:
    for pipe in (fb.parquet(f"{files}/*.parquet", parts=parts), fb.arrow_file(f"{files}/*.arrow", parts=parts)):
        with pipe.batch(size=7).epochs(2).load(threads=threads) as loader:
            batches = list(loader)
        assert sum((batch["x"].tolist() for batch in batches), []) == [*range(ROWS)] * 2
        assert batches[0]["s"].tolist() == [f"row {i}".encode() for i in range(7)]


def test_keys_name_file_row_group_and_row(files: str) -> None:
    loader = fb.parquet(f"{files}/0.parquet").batch(size=12).load()
    assert next(loader).record_keys[9:] == [f"{files}/0.parquet#0:9", f"{files}/0.parquet#1:0", f"{files}/0.parquet#1:1"]


def test_only_the_columns_that_are_asked_for(files: str) -> None:
    loader = fb.parquet([f"{files}/0.parquet"], columns="s").batch(size=2).load()
    assert list(loader.schema) == ["s"]
    assert next(loader)["s"].tolist() == [b"row 0", b"row 1"]


def shuffled(files: str) -> fb.Pipeline:
    return fb.parquet(f"{files}/*.parquet").shuffle(buffer=6).interleave(cycle=2).shuffle(buffer=15).batch(size=8).epochs(2).seed(3)


def test_row_groups_are_shuffled_and_interleaved_alike_on_any_number_of_threads(files: str) -> None:
    one = numbers(shuffled(files).load(threads=1))
    assert sorted(sum(one, [])) == sorted([*range(ROWS)] * 2) and one[0] != sorted(one[0])
    assert numbers(shuffled(files).load(threads=8)) == one


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("order", ["shuffled", "parquet", "files", "arrow"])
def test_a_restart_at_every_batch(files: str, order: str, threads: int) -> None:
    pipe = {"shuffled": lambda: shuffled(files),
            "parquet": lambda: fb.parquet(f"{files}/*.parquet").batch(size=8).epochs(2),
            "files": lambda: fb.parquet(f"{files}/*.parquet", parts="files").batch(size=8).epochs(2),
            "arrow": lambda: fb.arrow_file(f"{files}/*.arrow").batch(size=8).epochs(2)}[order]()
    whole = numbers(pipe.load(threads=threads))
    with pipe.load(threads=threads) as loader:
        for at in range(len(whole)):
            with pipe.load(threads=9 - threads) as again:
                again.load_state_dict(loader.state_dict())
                assert numbers(again) == whole[at:]
            next(loader)


def test_a_restart_reads_no_row_group_before_it(files: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from forebay import _arrow_files
    pipe = fb.parquet(f"{files}/*.parquet").batch(size=5)
    with pipe.load(threads=1) as loader:
        for _ in range(9):
            next(loader)
        state = loader.state_dict()
    read: "list[int]" = []
    plain = _arrow_files._parquet_batches
    monkeypatch.setattr(_arrow_files, "_parquet_batches",
                        lambda file, part, *rest: (read.append(part.groups[0]), plain(file, part, *rest))[1])
    with pipe.load(threads=1) as loader:
        loader.load_state_dict(state)
        assert numbers(loader) == [[*range(first, first + 5)] for first in range(45, ROWS, 5)]
    assert read == [1, 2]


def test_shards_by_row_and_by_part(files: str) -> None:
    pipe = fb.parquet(f"{files}/*.parquet").batch(size=10)
    by_row = [sum(numbers(pipe.load(shard=(rank, 2))), []) for rank in (0, 1)]
    assert by_row[0][:6] == [0, 1, 2, 3, 4, 10] and sorted(sum(by_row, [])) == [*range(ROWS)]
    pipe = fb.parquet(f"{files}/*.parquet").batch(size=10, remainder="drop")
    by_file = [sum(numbers(pipe.load(shard={"index": rank, "count": 2, "by": "file"})), []) for rank in (0, 1)]
    assert by_file[0][:11] == [*range(10), 20] and sorted(sum(by_file, [])) == [*range(ROWS)]


def test_orders_by_number_hold_the_rows_of_a_pass(files: str) -> None:
    def rows(pipe: fb.Pipeline) -> "list[str]":
        return [str([np.asarray(value).tolist() for value in batch.values()]) for batch in pipe.batch(size=1).load()]
    import numpy as np
    plain = fb.parquet(f"{files}/*.parquet")
    shuffled = rows(plain.shuffle(global_=True))
    assert sorted(shuffled) == sorted(rows(plain)) and shuffled != rows(plain)


@pytest.mark.parametrize("where", ["footer", "row group"])
def test_a_corrupt_file_is_named_with_its_row_group(files: str, tmp_path: pathlib.Path, where: str) -> None:
    path = tmp_path / "bad.parquet"
    content = bytearray(pathlib.Path(f"{files}/0.parquet").read_bytes())
    if where == "footer":
        path.write_bytes(content[:-10])
        with pytest.raises(fb.DataError, match="bad.parquet: footer cannot be read"):
            fb.parquet(path).batch(size=10).load()
        return
    group = pq.ParquetFile(f"{files}/0.parquet").metadata.row_group(1).column(0)
    content[group.data_page_offset + group.total_compressed_size - group.data_page_offset + group.dictionary_page_offset - 3] ^= 0x55
    path.write_bytes(content)
    loader = fb.parquet(path, columns="x").batch(size=10).load()
    assert next(loader)["x"].tolist() == [*range(10)]
    with pytest.raises(fb.DataError, match="bad.parquet: row group 1 cannot be read"):
        next(loader)


def test_files_that_changed_or_differ_are_named(files: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    loader = fb.parquet(path).batch(size=1).load()
    pq.write_table(pa.table({"x": [1, 2]}), path)
    with pytest.raises(fb.DataError, match="a.parquet: the file has changed"):
        next(loader)
    pq.write_table(pa.table({"x": [1.5]}), path)
    loader = fb.parquet([f"{files}/0.parquet", path], columns="x").batch(size=30).load()
    assert len(next(loader)["x"]) == 30
    with pytest.raises(fb.DataError, match="a.parquet: column 'x' is double, and int64 in other files"):
        next(loader)
    with pytest.raises(fb.ConfigError, match="no file matches"):
        fb.parquet(tmp_path / "none*.parquet")
    with pytest.raises(fb.IoError, match="none.parquet"):
        fb.parquet(tmp_path / "none.parquet").batch(size=1).load()


def test_a_null_is_an_error_of_its_row_group(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "n.parquet"
    pq.write_table(pa.table({"x": [1, 2, 3, None]}), path, row_group_size=2)
    loader = fb.parquet(path).batch(size=2).load()
    assert next(loader)["x"].tolist() == [1, 2]
    with pytest.raises(fb.DataError, match="column 'x' has a null") as failure:
        next(loader)
    assert "n.parquet#1" in str(failure.value)
    assert numbers(fb.parquet(path, nulls={"x": 0}).batch(size=4).load()) == [[1, 2, 3, 0]]


def test_without_pyarrow_the_error_says_what_to_install(files: str) -> None:
    program = f"""
import sys
sys.modules["pyarrow"] = None
import forebay as fb
try:
    fb.parquet("{files}/0.parquet").batch(size=1).load()
except fb.ConfigError as problem:
    print("pip install pyarrow" in str(problem))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_pyarrow_that_runs_code_of_files_is_refused(files: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pa, "__version__", "14.0.0")
    with pytest.raises(fb.ConfigError, match="pyarrow 14.0.0 runs code that a file contains"):
        fb.parquet(f"{files}/0.parquet").batch(size=1).load()


def test_a_loader_that_is_left_in_the_middle_ends_its_thread(files: str) -> None:
    import threading
    before = set(threading.enumerate())
    loader = shuffled(files).epochs(None).load(threads=2)
    next(loader)
    own = set(threading.enumerate()) - before
    loader.close()
    assert any(thread.name == "forebay parquet" for thread in own) and not any(thread.is_alive() for thread in own)


def test_the_taxi_data_whole(tmp_path: pathlib.Path) -> None:
    """Numbers and texts with missing cells, in row groups of 130 rows."""
    path = tmp_path / "taxi.parquet"
    table = pyarrow.csv.read_csv(DATA / "csv" / "taxi.csv", convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True))
    table = table.select([name for name, kind in zip(table.column_names, table.schema.types) if not pa.types.is_null(kind)])
    assert sum(column.null_count for column in table.columns) > 100 and {str(kind) for kind in table.schema.types} == {
        "double", "int64", "string"}
    pq.write_table(table, path, row_group_size=130)
    nulls = {name: "" if pa.types.is_string(kind) else -1 for name, kind in zip(table.column_names, table.schema.types)}
    first = 0
    for batch in fb.parquet(path, nulls=nulls).batch(size=100).load(threads=2):
        for name in table.column_names:
            part = table[name].slice(first, batch.valid_rows)
            expected = part.fill_null(nulls[name])
            if pa.types.is_string(part.type):
                assert batch[name].tolist() == [text.encode() for text in expected.to_pylist()]
            else:
                np.testing.assert_array_equal(batch[name], expected.to_numpy())
        first += batch.valid_rows
    assert first == table.num_rows


@pytest.mark.skipif("FOREBAY_LONG_TESTS" not in os.environ, reason="writes 200 MB; set FOREBAY_LONG_TESTS")
def test_memory_stays_within_the_budget(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "large.parquet"
    rng = np.random.default_rng(1)
    pq.write_table(pa.table({f"c{i}": rng.random(1_250_000) for i in range(20)}), path, row_group_size=1_250_000, compression="none")
    program = f"""
import forebay as fb, pyarrow.parquet, resource
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
pipe = fb.parquet("{path}").batch(size=4096).epochs(2)
for batch in fb.parquet("{path}", columns=["c0"]).take(4096).batch(size=4096).load(threads=2, memory="64MiB"): pass
before = peak()
for batch in pipe.load(threads=2, memory="64MiB"): pass
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stderr == "" and int(done.stdout) < (64 + 64) << 20


def test_planning_reads_footers_in_order_and_of_arrow_files_that_are_parts_the_first_only(files: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "bad").write_bytes(b"ARROW1\0\0 no footer")
    paths = [f"{files}/0.arrow", str(tmp_path / "bad"), str(tmp_path / "missing")]
    for format, read in (("arrow", fb.arrow_file), ("parquet", fb.parquet)):
        with pytest.raises(fb.DataError, match="bad.*footer"):  # not the one that is missing, which comes later
            read([f"{files}/0.{format}", *paths[1:]]).batch(size=7).load()
    loader = fb.arrow_file(paths[:2], parts="files").batch(size=15).load()
    assert numbers(next(loader) for _ in range(2)) == [[*range(15)], [*range(15, 30)]]
    with pytest.raises(fb.DataError, match="bad.*footer"):
        next(loader)


def test_a_row_group_is_never_in_memory_whole(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(1).random(3_000_000)  # 24 MB, one row group of one column
    pq.write_table(pa.table({"x": values}), tmp_path / "x.parquet", row_group_size=len(values), use_dictionary=False, compression="none")
    before, most, found = pa.total_allocated_bytes(), 0, 0.0
    for batch in fb.parquet(tmp_path / "x.parquet").batch(size=100_000).load(memory=32 << 20, prefetch=1):
        most, found = max(most, pa.total_allocated_bytes() - before), found + batch["x"].sum()
    assert found == pytest.approx(values.sum()) and most < 18 << 20


def test_patterns_mean_what_they_mean_for_every_source(tmp_path: pathlib.Path) -> None:
    places = ["data/0.parquet", "data/a/1.parquet", "data/a/b/2.parquet", "data/run[1]/3.parquet", "data/shard-00000-of-00002", "data/shard-00001-of-00002"]
    for number, place in enumerate(places):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [number]}), tmp_path / place)

    def found(pattern: str) -> "list[int]":
        return sum((batch["x"].tolist() for batch in fb.parquet(f"{tmp_path}/{pattern}").batch(10).load()), [])

    assert found("data/**/*.parquet") == [0, 1, 2, 3] and found("data/*/*.parquet") == [1, 3]
    assert found("data/run\\[1\\]/*.parquet") == [3] and found("data/run[1]/3.parquet") == [3]
    assert found("data/shard@2") == [4, 5]


@pytest.mark.parametrize("how", ["rewritten", "appended", "replaced", "touched", "cut"])
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path: pathlib.Path, how: str, kind: str) -> None:
    path = tmp_path / "t"

    def write(value: int, to: pathlib.Path) -> None:
        table = pa.table({"x": np.full(20_000, value)})
        if kind == "parquet":
            pq.write_table(table, to, row_group_size=1000)
        else:
            with pa.ipc.new_file(to, table.schema) as file:
                file.write_table(table, max_chunksize=1000)

    write(1, path)
    source = fb.parquet(path) if kind == "parquet" else fb.arrow_file(path)
    loader = source.batch(100).epochs(2).load(threads=2, prefetch=1)
    next(loader)
    if how == "rewritten":
        write(2, path)
    elif how == "appended":
        path.write_bytes(path.read_bytes() + b"more")
    elif how == "replaced":
        write(2, tmp_path / "other")
        os.replace(tmp_path / "other", path)
    elif how == "touched":
        os.utime(path)
    else:
        os.truncate(path, path.stat().st_size - 100)
    with pytest.raises(fb.DataError, match="the file has changed since the run was planned|cannot be read"):
        for batch in loader:
            assert set(batch["x"].tolist()) == {1}


def test_a_file_of_another_form_is_named_with_what_reads_it(tmp_path: pathlib.Path) -> None:
    table = pa.table({"x": [1]})
    with pa.ipc.new_stream(tmp_path / "stream", table.schema) as stream:
        stream.write_table(table)
    pq.write_table(table, tmp_path / "parquet")
    with pa.ipc.new_file(tmp_path / "file", table.schema) as file:
        file.write_table(table)
    for read, name, cure in ((fb.arrow_file, "stream", r"fb.arrow\(pyarrow.ipc.open_stream\(path\)\)"), (fb.arrow_file, "parquet", r"fb.parquet\(path\)"),
                             (fb.parquet, "file", r"fb.arrow_file\(path\)"), (fb.parquet, "stream", "stream form of Arrow")):
        with pytest.raises(fb.DataError, match=f"{name}: footer cannot be read.*{cure}"):
            read(tmp_path / name).batch(1).load()


def test_programs_that_leave_a_loop_end_with_their_own_code(tmp_path: pathlib.Path) -> None:
    pq.write_table(pa.table({"x": np.arange(4000.0)}), tmp_path / "a.parquet", row_group_size=100)
    program = f"""
import sys, forebay as fb
for batch in fb.parquet({str(tmp_path / "a.parquet")!r}).batch(50).load(threads=1): sys.exit(7)
"""
    running = [subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) for _ in range(12)]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (7, "")
