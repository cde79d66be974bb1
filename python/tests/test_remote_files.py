# SPDX-License-Identifier: Apache-2.0
"""Files of other machines, through fsspec and objects of the program: everything is as with the same files on a local disk."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tarfile
from typing import Any, Callable

import fsspec
import numpy as np
import pytest
from stores import Inside, Store, check_restarts, in_memory, new_store, records, values, write_parts

import forebay as fb


@pytest.fixture
def store() -> "tuple[str, Store]":
    return new_store()


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> "list[pathlib.Path]":
    return write_parts(tmp_path_factory.mktemp("parts"))


ORDERS = {
    "in order": lambda pipe: pipe,
    "shuffled": lambda pipe: pipe.shuffle(buffer=17),
    "global": lambda pipe: pipe.shuffle("global"),
    "interleaved": lambda pipe: pipe.interleave(cycle=3, block=2),
    "filtered": lambda pipe: pipe.filter("id % 3 != 1"),
    "sorted": lambda pipe: pipe.sorted("id", descending=True),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("threads", [1, 4])
def test_the_stream_is_that_of_local_files(parts: "list[pathlib.Path]", order: str, threads: int) -> None:
    folder = in_memory(parts)
    local = ORDERS[order](records([str(path) for path in parts])).epochs(2).batch(8)
    remote = ORDERS[order](records(f"{folder}/part-*")).epochs(2).batch(8)
    wanted = values(local.load(threads=threads))
    assert values(remote.load(threads=threads)) == wanted
    check_restarts(remote, wanted, threads, step=3)


@pytest.mark.parametrize("by", ["row", "batch", "element", "file"])
def test_shards_are_those_of_local_files(parts: "list[pathlib.Path]", by: str) -> None:
    folder = in_memory(parts)
    local = records([str(path) for path in parts]).shuffle(buffer=9).batch(6, remainder="drop")
    remote = records(f"{folder}/part-?").shuffle(buffer=9).batch(6, remainder="drop")
    for index in range(3):
        shard = {"index": index, "count": 3, "by": by}
        assert values(remote.load(threads=2, shard=shard)) == values(local.load(threads=2, shard=shard))


def test_every_kind_of_source_reads_them(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "a.csv").write_text("x,y\n1,2.5\n3,4.5\n")
    (tmp_path / "a.raw").write_bytes(bytes(range(32)))
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n{"x": 2}\n')
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text(f"in {name}")
            archive.add(tmp_path / name, name)
    here, there = str(tmp_path), in_memory([tmp_path / f"a.{end}" for end in ("txt", "csv", "raw", "jsonl", "tar")])

    def all_of(at: str) -> "list[Any]":
        return [fb.lines(f"{at}/a.txt").record("line").batch(2),
                fb.csv(f"{at}/a.csv", header=True).csv({"x": {"dtype": "int64"}, "y": {"dtype": "float32"}}).batch(2),
                fb.fixed_length(f"{at}/a.raw", record_bytes=8).record("bytes").batch(3),
                fb.json_lines(f"{at}/a.jsonl", {"x": "int64"}).batch(2),
                fb.tar(f"{at}/a.tar").tar({"t": "txt"}).batch(2)]
    for local, remote in zip(all_of(here), all_of(there)):
        assert values(remote.load()) == values(local.load())


def test_parquet_and_arrow_files_are_read_by_pyarrow(tmp_path: pathlib.Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet
    table = pyarrow.table({"id": list(range(1000)), "text": [f"row {i}" for i in range(1000)]})
    for number in range(2):
        pyarrow.parquet.write_table(table.slice(500 * number, 500), tmp_path / f"{number}.parquet", row_group_size=100)
    pyarrow.feather.write_feather(table, tmp_path / "a.arrow", compression="uncompressed")
    there = in_memory([tmp_path / "0.parquet", tmp_path / "1.parquet", tmp_path / "a.arrow"])
    for make, name in ((fb.parquet, "*.parquet"), (fb.arrow_file, "a.arrow")):
        local, remote = (make(f"{at}/{name}").shuffle(buffer=100).batch(64) for at in (tmp_path, there))
        assert values(remote.load()) == values(local.load())
    system = fsspec.filesystem("memory")
    with fb.parquet(f"{there}/*.parquet").batch(10).load() as loader:
        next(loader)
        system.pipe_file(f"{there}/1.parquet", (tmp_path / "0.parquet").read_bytes())
        with pytest.raises(fb.DataError, match="1.parquet: the file has changed since the run was planned"):
            list(loader)


def test_patterns_match_as_those_of_local_files(tmp_path: pathlib.Path, store: "tuple[str, Store]") -> None:
    root, files = store
    names = ["a/1.txt", "a/2.txt", "a/b/3.txt", "a/b/c/4.txt", "b/5.txt", "a/[x].txt", ".forebay/x.txt", "a/.forebay/y.txt"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
        files.put(f"{root}/{name}", name.encode())
        fsspec.filesystem("memory").pipe_file(f"{root.split('//')[1]}/{tmp_path.name}/{name}", name.encode())
    for pattern in ("a/*.txt", "*/*.txt", "**/*.txt", "a/**", "a/b/?.txt", "?/[0-4].txt", "a/\\[x\\].txt", "a/**/4.txt", "[!b]/1.txt"):
        wanted = values(fb.lines(f"{tmp_path}/{pattern}").record("line").batch(20).load())
        assert values(fb.lines(f"{root}/{pattern}").record("line").batch(20).load()) == wanted, pattern
        memory = f"memory://{root.split('//')[1]}/{tmp_path.name}/{pattern}"
        assert values(fb.lines(memory).record("line").batch(20).load()) == wanted, pattern
    with pytest.raises(fb.ConfigError, match=r"no file matches 't.*://bucket/none-\*'"):
        fb.lines(f"{root}/none-*").record("line").batch(1).plan()


def test_the_tools_read_them(parts: "list[pathlib.Path]", tmp_path: pathlib.Path) -> None:
    folder = in_memory(parts)
    first = f"{folder}/part-0"
    assert fb.read_records(first) == fb.read_records(parts[0])
    assert fb.inspect(first).records == fb.inspect(str(parts[0])).records == 40
    assert [report.records for report in fb.verify(f"{folder}/part-*")] == [40, 0, 33, 7, 21]
    assert fb.inspect(f"{folder}/").records == 101
    assert [(report.built, report.records) for report in fb.index_files(first, index_dir=tmp_path / "indexes")] == [(True, 40)]
    assert [report.built for report in fb.index_files(first, index_dir=tmp_path / "indexes")] == [False]
    fb.convert(f"{folder}/part-*", tmp_path / "all.tfrecord")
    assert fb.read_records(tmp_path / "all.tfrecord") == [record for path in parts for record in fb.read_records(path)]


@pytest.mark.parametrize("in_folder", [True, False])
def test_indexes_are_stored_elsewhere_and_belong_to_one_version(parts: "list[pathlib.Path]", tmp_path: pathlib.Path,
                                                                store: "tuple[str, Store]", in_folder: bool) -> None:
    root, files = store
    if not in_folder:
        root = root.partition("://")[0] + ":/"
    for path in parts:
        files.put(f"{root}/{path.name}", path.read_bytes())
    remote, indexes = records([f"{root}/{path.name}" for path in parts]).shuffle("global").batch(8), tmp_path / "indexes"

    def fetched() -> int:
        return sum(kind == "read" for kind, _ in files.calls)
    with remote.load(index_dir=indexes) as loader:
        assert len(loader) == 13
        wanted = values(loader)
        loader.seek(5)
        assert values(loader) == wanted[5:]
    assert oct(next(indexes.rglob("index-v1")).stat().st_mode)[-3:] == "600"
    files.calls.clear()
    with remote.load(index_dir=indexes) as loader:
        assert len(loader) == 13 and loader.steps_per_epoch == 13
        assert fetched() == 0 and len(files.calls) <= 4 * len(parts)     # versions alone
        assert values(loader) == wanted
    files.put(f"{root}/part-0", parts[3].read_bytes())       # 7 records in place of 40
    with remote.load(index_dir=indexes) as loader:
        assert len(loader) == 9
        assert sum(len(batch["id"]) for batch in values(loader)) == 68


@pytest.mark.parametrize("order", ["global", "buffer", "mix", "made"])
def test_versions_are_asked_for_once_until_a_restart(order: str, parts: "list[pathlib.Path]", tmp_path: pathlib.Path,
                                                     store: "tuple[str, Store]") -> None:
    where, files = store
    plain = [parts[0], parts[3]]
    for path in plain:
        files.put(f"{where}/{path.name}", path.read_bytes())
    names = [f"{where}/{path.name}" for path in plain]
    pipe = {"global": lambda: records(names).shuffle("global"), "buffer": lambda: records(names).shuffle(buffer=10),
            "mix": lambda: fb.mix([records(name) for name in names], until="all"),
            "made": lambda: fb.mix([records(name) for name in names], until="all").filter("id >= 0").shuffle("global")}[order]()
    pipe = pipe.batch(8, remainder="keep").epochs(2)
    with pipe.load(index_dir=tmp_path) as loader:
        whole = values(loader)

    def finds() -> int:
        """Calls of `info` but those that follow a range."""
        kinds = [kind for kind, _ in files.calls]
        return kinds.count("info") - kinds.count("read")

    files.calls.clear()
    with pipe.load(index_dir=tmp_path) as loader:
        for number in (3, 0, 7, 11, 5, 1, 9, 2, 10, 4, 6, 8):
            loader.seek(number)
            assert values([next(loader)]) == [whole[number]]
        # Once by the plan and once by the runs, two of which may ask at the same moment; not by each of twelve.
        assert finds() <= 4 * len(plain)
        state = loader.state_dict()
        files.put(names[0], files.objects[names[0]][0] + b"more")   # a restart sees it, a seek must not mix it in
        with pytest.raises(fb.StateError, match="the files have changed"):
            loader.load_state_dict(state)


def test_list_files_are_read_from_anywhere_and_name_files_anywhere(tmp_path: pathlib.Path) -> None:
    for number in range(2):
        fb.write_records(tmp_path / f"{number}.tfrecord", [fb.encode_example({"id": [10 * number + i]}) for i in range(10)])
    folder = in_memory([tmp_path / "0.tfrecord", tmp_path / "1.tfrecord"])
    fsspec.filesystem("memory").pipe_file(f"{folder}/files.txt", b"\xef\xbb\xbf0.tfrecord\n\n1.tfrecord\n")     # beside the list
    (tmp_path / "files.txt").write_text(f"{folder}/0.tfrecord\n1.tfrecord\n")
    (tmp_path / "manifest.json").write_text(json.dumps({"compression": None, "allow_var_len": False, "features": [
        {"name": "id", "dtype": "int64", "shape": [], "deserialize_type": "int"}]}))
    for listed in (f"{folder}/files.txt", str(tmp_path / "files.txt")):
        document = {"type": "independent", "inputs": ["id"], "targets": [], "args": {
            "dataset": {"type": "list", "args": {"list_file": listed, "manifest_file": str(tmp_path / "manifest.json")}},
            "target_batch_size": 4, "drop_remainder": False, "epochs": 1, "num_read_buffer_bytes": 1024, "num_prefetch": 1,
            "primary_features": [{"from_name": "id", "to_name": "id"}]}}
        assert [i for batch in fb.load(document) for i in batch["id"].tolist()] == list(range(20)), listed
    with pytest.raises(fb.IoError, match="cannot open 'memory://none/files.txt': there is no such file"):
        document["args"]["dataset"]["args"]["list_file"] = "memory://none/files.txt"
        fb.load(document)


@pytest.mark.parametrize("compression, said", [
    ("gzip", r"the compressed files of another machine that are read in random order have {size} bytes\. They are fetched once and stay in memory, "
             r"of which a quarter is for them: "),
    (None, r"have {size} bytes, and records of about 4\d\d bytes, less than a request is worth\. They are fetched once and stay in memory, of which a quarter "
           r"is for them: \d+ bytes\. Raise `memory` to {least}, .* a pass would fetch \d+ bytes in \d+ requests, which is \$0\.00 where a million costs \$0\.40"),
])
def test_files_whose_windows_would_fetch_them_again_are_fetched_once_or_refused(tmp_path: pathlib.Path, store: "tuple[str, Store]",
                                                                                compression: "str | None", said: str) -> None:
    root, files = store
    noise = np.random.default_rng(1)
    paths = [tmp_path / f"{number}.rec" for number in range(3)]
    for number, path in enumerate(paths):
        fb.write_records(path, [fb.encode_example({"id": [1000 * number + i], "v": noise.integers(2**55, 2**60, 50)}) for i in range(5000)], compression)
        files.put(f"{root}/{path.name}", path.read_bytes())
    size = sum(len(data) for data, _ in files.objects.values())
    fetched = counted(files)
    remote = records(f"{root}/*.rec").shuffle("global").epochs(2).batch(32)
    assert values(remote.load(memory=5 * size)) == values(records(list(map(str, paths))).shuffle("global").epochs(2).batch(32).load())
    assert sum(fetched) <= 2.1 * size      # the indexes are made of one reading, the rows of two passes of the other
    with pytest.raises(fb.ConfigError, match=said.format(size=size, least=4 * size)):
        list(remote.load(memory=2 * size))


def test_large_records_in_random_order_need_no_room_for_all(tmp_path: pathlib.Path, store: "tuple[str, Store]") -> None:
    root, files = store
    path = tmp_path / "large.rec"
    fb.write_records(path, [fb.encode_example({"id": [i], "v": np.full(9000, 2**60)}) for i in range(300)])
    files.put(f"{root}/large.rec", path.read_bytes())
    fetched = counted(files)
    remote = records(f"{root}/large.rec").shuffle("global").batch(8)
    wanted = values(records([str(path)]).shuffle("global").batch(8).load())
    size = path.stat().st_size
    assert values(remote.load(memory=size // 2)) == wanted and sum(fetched) <= 2.1 * size


def counted(files: Store) -> "list[int]":
    """The bytes of each range that is asked for from now on."""
    fetched: "list[int]" = []
    whole = files.cat_file

    def cat_file(path: str, start: int, end: int) -> bytes:
        fetched.append(end - start)
        return whole(path, start, end)
    files.cat_file = cat_file  # type: ignore[method-assign]
    return fetched


def test_the_command_reads_them_inside_python(parts: "list[pathlib.Path]") -> None:
    environment = {**os.environ, "FOREBAY_PYTHON": sys.executable}
    command = [sys.executable, "-m", "forebay", "head"]
    here = subprocess.run([*command, str(parts[0])], capture_output=True, text=True, timeout=60, env=environment)
    there = subprocess.run([*command, f"file://{parts[0]}"], capture_output=True, text=True, timeout=60, env=environment)
    assert (here.returncode, there.returncode, there.stderr) == (0, 0, "")
    assert there.stdout.replace("file://", "") == here.stdout
    wrong = subprocess.run([*command, "nonsense://a"], capture_output=True, text=True, timeout=60, env=environment)
    assert wrong.returncode == 2 and "fsspec knows no scheme 'nonsense'" in wrong.stderr


def test_a_whole_store_is_a_folder(parts: "list[pathlib.Path]", store: "tuple[str, Store]") -> None:
    root, files = store
    for path in parts:
        files.put(f"{root}/{path.name}", path.read_bytes())
    scheme = root.partition("bucket")[0]      # with its "://"
    assert fb.inspect(scheme).records == fb.inspect(f"{root}/").records == 101
    assert values(fb.inspect(scheme).pipeline().load(memory="64MB")) == values(fb.inspect(f"{root}/").pipeline().load(memory="64MB"))


def test_rows_of_a_zip_that_are_drawn_often_are_fetched_for_all_draws(parts: "list[pathlib.Path]") -> None:
    """A buffer that a seek has filled without bytes gets them later, when some of its rows were given out before."""
    remote = records([f"{in_memory(parts)}/part-0"]).random_sample(6)
    local = fb.arrays({"x": np.arange(6)}).random_sample(6)
    for seed in range(8):
        pipe = fb.zip([local, remote]).random_sample(28, buffer=4).batch(7, remainder="drop").epochs(3).seed(seed).epoch_boundary("hard")
        wanted = values(pipe.load(threads=1))
        assert len(wanted) == 12
        with pipe.load(threads=4) as loader:
            for number in (2, 4, 7, 3, 11, 0):
                loader.seek(number)
                assert values(batch for batch in [next(loader)]) == wanted[number:number + 1]


SHAPES: "dict[str, Callable[[Any], Any]]" = {
    "records": lambda base: records([f"{base}/part-0", f"{base}/part-2", f"{base}/part-3"]),
    "a mixture": lambda base: fb.mix([records([f"{base}/part-0"]), records([f"{base}/part-2", f"{base}/part-3"])], until="all"),
    "made rows": lambda base: fb.concat([records([f"{base}/part-0"]), records([f"{base}/part-2", f"{base}/part-3"])]).filter("id % 2 == 0")}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_state_knows_the_versions_of_the_files_where_they_are(shape: str, parts: "list[pathlib.Path]", store: "tuple[str, Store]") -> None:
    base, files = store
    for path in parts:
        files.put(f"{base}/{path.name}", path.read_bytes())
        files.put(f"{base}/copy/{path.name}", path.read_bytes())
        files.put(f"{base}/copy/{path.name}", path.read_bytes())   # of another version, and with the same bytes

    def pipe(folder: str) -> Any:
        return SHAPES[shape](folder).batch(8)
    with pipe(base).load() as loader:
        next(loader)
        state = json.loads(json.dumps(loader.state_dict()))
        wanted = values(loader)
    for folder in (base, f"{base}/copy"):
        with pipe(folder).load() as loader:
            loader.load_state_dict(state)
            assert values(loader) == wanted
    files.put(f"{base}/part-2", files.objects[f"{base}/part-2"][0])
    with pipe(base).load() as loader:
        with pytest.raises(fb.StateError, match=f"replaced since the state was saved, by others of the same size: '{base}/part-2'; a restart"):
            loader.load_state_dict(state)
        assert next(loader) is not None, "it stands where it stood"


def test_of_many_files_a_state_tells_which_may_have_been_replaced(store: "tuple[str, Store]") -> None:
    base, files = store
    for number in range(100):
        files.put(f"{base}/{number:02}.txt", b"a\nb\n")
    pipe = fb.lines(f"{base}/*").record("line").batch(8)
    with pipe.load() as loader:
        next(loader)
        state = loader.state_dict()
    assert len(json.dumps(state["data"]["versions"])) < 200
    files.put(f"{base}/37.txt", b"a\nc\n")
    with pipe.load() as loader:
        with pytest.raises(fb.StateError, match=f"one of '{base}/05.txt' and the 5 of every 16th file after it"):
            loader.load_state_dict(state)


@pytest.mark.parametrize("requests", [1, 3, 24])
def test_as_many_requests_are_in_flight_as_the_run_may_have(requests: int, parts: "list[pathlib.Path]", store: "tuple[str, Store]") -> None:
    base, files = store
    for number in range(40):
        files.put(f"{base}/{number:02}", parts[0].read_bytes())
    pipe = records(f"{base}/*").shuffle(global_=True).seed(1).batch(8)
    wanted = values(pipe.load())    # which makes the indexes
    files.before_read = inside = Inside(.05)
    with pipe.load(requests=requests) as loader:
        assert values(loader) == wanted
    assert inside.most == requests


def test_a_number_of_requests_that_makes_no_sense_is_an_error(parts: "list[pathlib.Path]") -> None:
    for wrong in (-1, 1025):
        with pytest.raises(fb.ConfigError, match=f"requests: must be an integer from 0 to 1024, found {wrong}"):
            records([str(parts[0])]).batch(2).load(requests=wrong)
