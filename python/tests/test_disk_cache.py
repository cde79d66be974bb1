# SPDX-License-Identifier: Apache-2.0
"""Parts of files of other machines that are kept on a local disk: the same rows, and less is fetched."""
from __future__ import annotations

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
from typing import Any, Callable

import numpy as np
import pytest
from command import forebay
from conftest import ROOT, preloaded_library
from stores import Store, check_restarts, records, store_of, values
from web_server import Web

import forebay as fb
from forebay._dataset import Epochs

PART = 64 << 10   # bytes of a part of a small cache
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(pathlib.Path(__file__).parent), *sys.path])}   # of processes that import what tests do


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> "list[pathlib.Path]":
    """Files of 1 to 6 parts, plain and compressed, and one that is too small to be kept."""
    folder = tmp_path_factory.mktemp("parts")
    noise = np.random.default_rng(1)
    out = []
    first = 0
    for number, (count, compression) in enumerate([(90, None), (1, None), (150, "gzip"), (33, None), (60, "zlib"), (200, None)]):
        path = folder / f"part-{number}"
        fb.write_records(path, [fb.encode_example({"id": [i], "v": noise.integers(0, 2**60, 200 + i % 40)})
                                for i in range(first, first + count)], compression)
        first += count
        out.append(path)
    return out


def reads(store: Store) -> int:
    return sum(kind == "read" for kind, _ in store.calls)


ORDERS: "dict[str, Callable[[Any], Any]]" = {
    "in order": lambda files: records(files), "files shuffled": lambda files: records(files).shuffle(10).interleave(1),
    "globally": lambda files: records(files).shuffle(global_=True), "a buffer": lambda files: records(files).shuffle(20),
    "side by side": lambda files: records(files).interleave(3), "sorted": lambda files: records(files).sorted("id % 7"),
    "a mixture": lambda files: fb.mix([records(files), records(files).filter("id % 2 == 0")]),
    "made rows": lambda files: fb.concat([records(files), records(files)]).filter("id % 2 == 0"),
    "windows": lambda files: records(files).unbatch(["v"]).shuffle(300)}


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("order", ORDERS)
def test_a_second_run_asks_for_no_bytes(parts: "list[pathlib.Path]", order: str, threads: int, tmp_path: pathlib.Path,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / "indexes"))
    root, store = store_of(parts)
    large = [path.name for path in parts if path.stat().st_size >= PART // 4]

    def pipe(folder: "str | pathlib.Path") -> Any:
        return ORDERS[order]([f"{folder}/{name}" for name in large]).seed(3).batch(16).epochs(3)

    wanted = values(pipe(parts[0].parent).load())
    for first in (True, False):
        store.calls.clear()
        with pipe(root).load(threads=threads, cache=(tmp_path / "kept", 64 * PART)) as loader:
            assert values(loader) == wanted
            stats = loader.stats().requests
        if first:
            if order not in ("globally", "sorted", "made rows"):    # which fetch once a run, or by runs of their own
                assert stats["bytes_cached"] > 0, "of the third pass: the second one may be asked for while the first one comes"
        else:
            assert reads(store) == 0
            assert stats["reads"] == 0
    size = sum((parts[0].parent / name).stat().st_size for name in large)
    assert (tmp_path / "kept" / "parts-v1").stat().st_size < 64 * PART + (64 << 10), size


@pytest.mark.parametrize("order", ["in order", "globally", "a buffer", "a mixture", "made rows"])
def test_restarts(parts: "list[pathlib.Path]", order: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / "indexes"))
    root, _ = store_of(parts)

    class Kept:
        """A pipeline whose loaders have a cache with room for a part of the files."""
        def load(self, **options: Any) -> Any:
            return ORDERS[order]([f"{root}/{path.name}" for path in parts]).seed(3).batch(32).load(cache=(tmp_path / "kept", 9 * PART), **options)

    wanted = values(ORDERS[order]([str(path) for path in parts]).seed(3).batch(32).load())
    check_restarts(Kept(), wanted, 2, 3)


def best(sequence: "list[int]", slots: int) -> int:
    """The fewest parts that must be fetched."""
    kept: "set[int]" = set()
    fetched = 0
    for at, part in enumerate(sequence):
        fetched += part not in kept
        kept.add(part)
        if len(kept) > slots:
            ahead = sequence[at + 1:]
            kept.remove(max(kept, key=lambda one: ahead.index(one) if one in ahead else len(sequence)))
    return fetched


@pytest.mark.parametrize("order", ["in order", "files shuffled", "globally"])
@pytest.mark.parametrize("slots", [1, 5, 16, 31])
def test_what_gives_way_is_what_is_needed_last(slots: int, order: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of one part each, of one record, in passes."""
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / "indexes"))
    files = []
    for number in range(20):
        path = tmp_path / f"{number:02}"
        path.write_bytes(number.to_bytes(8, "little") * (PART // 8))
        files.append(path)
    root, store = store_of(files)
    pipe = fb.fixed_length([f"{root}/{path.name}" for path in files], record_bytes=PART).raw("int64", name="x", endian="little")
    if order != "in order":
        pipe = pipe.shuffle(20).interleave(1) if order == "files shuffled" else pipe.shuffle(global_=True)
    wanted = [int(batch["x"][0, 0]) for batch in pipe.seed(5).batch(1).epochs(6).load()]
    assert len(wanted) == 120
    store.calls.clear()
    with pipe.seed(5).batch(1).epochs(6).load(threads=1, cache=(tmp_path / "kept", slots * PART)) as loader:
        assert [int(batch["x"][0, 0]) for batch in loader] == wanted
    fetched = reads(store)
    assert best(wanted, slots) <= fetched <= 1.1 * best(wanted, slots) + 3, "a part that is on its way to the disk may be asked for again"


def test_data_sets_of_frameworks_have_it(parts: "list[pathlib.Path]", tmp_path: pathlib.Path) -> None:
    """`fb.torch.dataset` and `fb.tf.dataset` make their loaders by Epochs."""
    root, store = store_of(parts)
    pipe = records([f"{root}/{path.name}" for path in parts]).batch(16)
    for worker in (0, 1, 0):
        store.calls.clear()
        with Epochs(pipe, None, 1, "64MiB", None, None, 3, (tmp_path / "kept", 64 * PART)).loader(worker, 2) as loader:
            for _ in range(20):
                next(loader)
    assert sorted({path.rpartition("/")[2] for kind, path in store.calls if kind == "read"}) in ([], ["part-1"]), "part-1 is too small to be kept"


def test_ranks_fetch_once(parts: "list[pathlib.Path]", tmp_path: pathlib.Path) -> None:
    """Four shards by row read all of the data each."""
    root, store = store_of(parts)
    files = [f"{root}/{path.name}" for path in parts]
    wanted = values(records([str(path) for path in parts]).shuffle(50).seed(3).batch(32).load(shard=(1, 4)))
    got: "dict[int, Any]" = {}
    barrier = threading.Barrier(4)

    def rank(number: int) -> None:
        with records(files).shuffle(50).seed(3).batch(32).load(shard=(number, 4), cache=(tmp_path / "kept", 64 * PART)) as loader:
            barrier.wait()
            got[number] = values(loader)

    threads = [threading.Thread(target=rank, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got[1] == wanted
    whole = sum(-(-path.stat().st_size // PART) for path in parts)
    assert reads(store) <= whole + 2 * len(parts)


RANK = """
import pathlib
import sys
from web_server import Web
from stores import Store, records, values
import forebay as fb
folder, kept, rank = sys.argv[1:]
store = Store()
paths = sorted(path for path in pathlib.Path(folder).iterdir() if path.is_file())
for path in paths:
    store.put(f"far://b/{path.name}", path.read_bytes())
fb.add_file_system("far", store)
print("ready", flush=True)
sys.stdin.readline()
out = []
with records([f"far://b/{path.name}" for path in paths]).seed(3).batch(33).load(
        shard=(int(rank), 3), cache=(kept, 64 * 65536)) as loader:
    for batch in loader:
        out += batch["id"].ravel().tolist()
print(sum(kind == "read" for kind, _ in store.calls), *out)
"""


def test_processes_share_a_folder(parts: "list[pathlib.Path]", tmp_path: pathlib.Path) -> None:
    ranks = [subprocess.Popen([sys.executable, "-c", RANK, str(parts[0].parent), str(tmp_path / "kept"), str(rank)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) for rank in range(3)]
    for one in ranks:
        assert one.stdout is not None and one.stdout.readline() == "ready\n"
    fetched, ids = 0, []
    for one in ranks:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    for one in ranks:
        answer = one.communicate(timeout=120)[0].split()
        fetched += int(answer[0])
        ids += [int(number) for number in answer[1:]]
    assert sorted(ids) == list(range(sum([90, 1, 150, 33, 60, 200])))[:len(ids)] and len(ids) >= 500
    whole = sum(-(-path.stat().st_size // PART) for path in parts)
    assert fetched <= 1.5 * whole + 3 * len(parts)


def test_a_killed_process_leaves_a_cache_that_works(parts: "list[pathlib.Path]", tmp_path: pathlib.Path) -> None:
    root, _ = store_of(parts)
    files = [f"{root}/{path.name}" for path in parts]
    wanted = values(records([str(path) for path in parts]).batch(16).load())
    for round in range(6):
        killed = subprocess.Popen([sys.executable, "-c", RANK, str(parts[0].parent), str(tmp_path / "kept"), "0"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        assert killed.stdin is not None and killed.stdout is not None
        assert killed.stdout.readline() == "ready\n"
        killed.stdin.write("\n")
        killed.stdin.flush()
        try:
            killed.wait(0.004 * round)
        except subprocess.TimeoutExpired:
            pass
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        assert values(records(files).batch(16).load(cache=(tmp_path / "kept", 64 * PART))) == wanted


def test_bytes_that_were_damaged_are_fetched_again(parts: "list[pathlib.Path]", tmp_path: pathlib.Path) -> None:
    chance = random.Random(7)
    root, _ = store_of(parts)
    files = [f"{root}/{path.name}" for path in parts]
    wanted = values(records([str(path) for path in parts]).batch(16).load())
    kept = tmp_path / "kept" / "parts-v1"
    for round in range(40):
        assert values(records(files).batch(16).load(cache=(kept.parent, 64 * PART))) == wanted
        with kept.open("r+b") as file:
            for _ in range(30):
                file.seek(chance.randrange(4096, 16_384 if round % 2 else kept.stat().st_size))
                file.write(chance.randbytes(chance.randrange(1, 9)))
        if round % 7 == 6:
            os.truncate(kept, chance.randrange(kept.stat().st_size))


def test_no_fault_of_a_disk_changes_a_row() -> None:
    done = subprocess.run([sys.executable, ROOT / "tests/cache_faults.py", "--runs", "40"], capture_output=True, text=True, timeout=600,
                          env=ENVIRONMENT)
    assert done.returncode == 0 and "40 runs, 0 failed" in done.stdout, done.stdout + done.stderr


def test_a_disk_that_is_full_is_told_once(parts: "list[pathlib.Path]", tmp_path: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where a file system cannot set the bytes aside, the disk may be full later."""
    script = RANK.replace("shard=(int(rank), 3), ", "") + "print(loader.stats().requests['bytes_cached'])\n"
    done = subprocess.run([sys.executable, "-c", script, str(parts[0].parent), str(tmp_path / "kept"), "0"], input="\n", capture_output=True, text=True,
                          timeout=120, env={**ENVIRONMENT, "LD_PRELOAD": str(preloaded_library("full_disk", tmp_path_factory))})
    ids = done.stdout.split("\n")[1].split()[1:]
    assert [int(each) for each in ids] == list(range(534)), done.stderr
    assert done.stderr.count("the cache of files of other machines is off: the disk has no room left, or a fault") == 1, done.stderr


def test_another_version_is_fetched(parts: "list[pathlib.Path]", tmp_path: pathlib.Path) -> None:
    root, store = store_of(parts)
    path = f"{root}/{parts[0].name}"
    for source in (parts[0], parts[5], parts[0]):
        store.put(path, source.read_bytes())
        assert values(records(path).batch(8).load(cache=(tmp_path / "kept", 64 * PART))) == values(records(str(source)).batch(8).load())


def test_a_global_shuffle_of_small_records_that_memory_has_no_room_for(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / "indexes"))
    path = tmp_path / "x"
    fb.write_records(path, [fb.encode_example({"id": [i], "v": np.arange(i % 50)}) for i in range(20_000)])
    root, store = store_of([path])
    pipe = records(f"{root}/x").shuffle(global_=True).seed(1).batch(100)
    with pytest.raises(fb.ConfigError, match="less than a request is worth.*keep them on a local disk"):
        values(pipe.load(memory=4 << 20))
    wanted = values(records(str(path)).shuffle(global_=True).seed(1).batch(100).load())
    store.calls.clear()
    assert values(pipe.load(memory=4 << 20, cache=(tmp_path / "kept", 4 << 20))) == wanted
    assert reads(store) <= path.stat().st_size // PART + 2, "each part once"
    store.calls.clear()
    assert values(pipe.load(memory=4 << 20, cache=(tmp_path / "kept", 4 << 20))) == wanted
    assert reads(store) == 0


def test_local_files_need_none(parts: "list[pathlib.Path]", tmp_path: pathlib.Path) -> None:
    with records([str(path) for path in parts]).batch(8).load(cache=(tmp_path / "kept", 64 * PART)) as loader:
        next(loader)
    assert not (tmp_path / "kept").exists()


def test_what_is_said_of_wrong_arguments(parts: "list[pathlib.Path]", tmp_path: pathlib.Path) -> None:
    root, _ = store_of(parts)
    pipe = records(f"{root}/{parts[0].name}").batch(8)
    with pytest.raises(TypeError, match=r'cache: must be \(folder, size\), as \("/disk/cache", "200GB"\), or None; found'):
        pipe.load(cache=str(tmp_path))
    with pytest.raises(TypeError, match="cache: must be a str or a pathlib.Path; found 3"):
        pipe.load(cache=(3, "1GB"))
    for size in (0, 1000):
        with pytest.raises(fb.ConfigError, match=f"cache: must have at least 65536 bytes, found {size}"):
            pipe.load(cache=(tmp_path / "kept", size))
    for wrong in ("much", -5):
        with pytest.raises(fb.ConfigError, match=f"cache: its size must be a number of bytes, or text such as 200GB; found {wrong}"):
            pipe.load(cache=(tmp_path / "kept", wrong))
    with pytest.raises(fb.IoError, match=r"cannot take \d+ bytes for the cache"):
        pipe.load(cache=(tmp_path / "kept", 1 << 60))
    (tmp_path / "file").write_text("x")
    with pytest.raises(fb.IoError, match="file"):
        pipe.load(cache=(tmp_path / "file", "1MiB"))
    (tmp_path / "kept").mkdir(exist_ok=True)
    (tmp_path / "kept" / "parts-v1").write_text("a poem")
    with pytest.raises(fb.ConfigError, match="is not a cache of Forebay; remove it, or name another folder"):
        pipe.load(cache=(tmp_path / "kept", "1MiB"))
    assert (tmp_path / "kept" / "parts-v1").read_text() == "a poem"


@pytest.mark.parametrize("order", ["in order", "made rows"])
def test_a_child_after_a_fork(parts: "list[pathlib.Path]", tmp_path: pathlib.Path, order: str) -> None:
    """A child may drop the loader of its parent, and have one of its own over the same folder."""
    wanted = values(ORDERS[order]([str(path) for path in parts]).batch(16).load())
    script = FORKS.format(order="records(files)" if order == "in order" else 'fb.concat([records(files), records(files)]).filter("id % 2 == 0")')
    done = subprocess.run([sys.executable, "-c", script, str(parts[0].parent), str(tmp_path / "kept")], capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=60)
    assert done.stdout.split() == ["child", str(len(wanted)), "parent", str(len(wanted))], done.stderr


FORKS = """
import os, pathlib, sys
from web_server import Web
from stores import Store, records, values
import forebay as fb
folder, kept = sys.argv[1:]
paths = sorted(path for path in pathlib.Path(folder).iterdir() if path.is_file())
def name_store():
    store = Store()
    for path in paths:
        store.put(f"far://b/{{path.name}}", path.read_bytes())
    fb.add_file_system("far", store)
name_store()
files = [f"far://b/{{path.name}}" for path in paths]
pipe = {order}.batch(16)
loader = pipe.load(cache=(kept, 64 * 65536))
first = next(loader)
child = os.fork()
if child == 0:
    del loader
    name_store()
    pipe = {order}.batch(16)
    with pipe.load(cache=(kept, 64 * 65536)) as own:
        print("child", sum(1 for _ in own), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("parent", 1 + sum(1 for _ in loader), flush=True)
"""


def test_the_command(parts: "list[pathlib.Path]", tmp_path: pathlib.Path) -> None:
    """The second run of it reads all from the disk, and says so."""
    document = tmp_path / "pipeline.json"
    said = []
    with Web() as web:
        for path in parts:
            web.put(f"/{path.name}", path.read_bytes())
        document.write_text(json.dumps(records([f"{web.url}/{path.name}" for path in parts if path.name != "part-1"]).batch(16).to_dict()))
        digest = forebay("run", document, "--digest").stdout
        for _ in range(2):
            done = forebay("run", document, "--cache-dir", tmp_path / "kept", "--cache-size", "4MiB", "--json")
            assert done.returncode == 0, done.stderr
            said.append(json.loads(done.stdout))
        assert forebay("run", document, "--cache-dir", tmp_path / "kept", "--cache-size", "4MiB", "--digest").stdout == digest != ""
        refused = forebay("run", document, "--cache-dir", tmp_path / "kept", "--cache-size", "much")
    assert said[0]["requests"]["reads"] > 0 == said[1]["requests"]["reads"]
    assert said[1]["requests"]["bytes_cached"] == said[1]["requests"]["bytes_used"] > 500_000
    assert refused.returncode == 2 and "--cache-size: must be a size like 512MiB" in refused.stderr
