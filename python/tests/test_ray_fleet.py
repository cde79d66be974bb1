# SPDX-License-Identifier: Apache-2.0
"""The batches of a fleet are those of a loader without one, whatever happens to its processes."""
from __future__ import annotations

import gc
import json
import os
import pathlib
import random
import signal
import threading
import time
from typing import Any, Iterator

import numpy as np
import pytest
import ray
from conftest import write_counts
from fleets import batches_of, counts, kill_one, pids_of, start_cluster, values_of
from streams import write_parts
from test_seek import PIPES
from test_seek import pipeline as seeking

import forebay as fb
import forebay.ray as fr
from forebay.errors import Cancelled, ConfigError, DataError, StateError
from forebay.ray._security import check_cluster
from forebay.ray._wire import Block
from forebay.ray._worker import _made, check_identity

KILLS = 500 if os.environ.get("FOREBAY_LONG_TESTS") else 20


@pytest.fixture(scope="module", autouse=True)
def cluster() -> "Iterator[None]":
    start_cluster()
    yield
    ray.shutdown()


@pytest.fixture
def pipeline(tmp_path: pathlib.Path) -> Any:
    """1,000 rows a pass in an order of their own, with strings and ragged values; three passes."""
    return counts(write_counts(tmp_path, 1000)).shuffle(100).batch(8, remainder="pad").epoch_boundary("hard").epochs(3).seed(5)


def slow(batch: Any) -> Any:
    time.sleep(0.004)
    return {name: batch[name] for name in batch}


def bad_at_40(batch: Any) -> Any:
    if batch.number == 40:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"x": batch["x"]}


def raises_at_40(batch: Any) -> Any:
    if batch.number == 40:
        raise ValueError("this batch is bad")
    return {"x": batch["x"]}


def test_the_stream_is_that_of_a_loader(pipeline: Any) -> None:
    wanted = batches_of(pipeline)
    with fr.Fleet(pipeline, "equal", workers=2, cache=("kept", "1MiB")) as fleet:    # which local files do not need
        with fr.load("equal", shard=None, window="50MB", local_threads=0) as loader:
            assert len(loader) == len(wanted) and loader.schema == pipeline.load().schema
            assert [values_of(batch) for batch in loader] == wanted
            with pytest.raises(StopIteration):
                next(loader)
            stats = loader.stats()
            assert stats.batches == len(wanted) and 1 <= stats.workers <= 2 and stats.blocks > 0 and 1 <= len(stats.by_worker) <= 2
            loader.begin_anew()
            assert values_of(next(loader)) == wanted[0]
            loader.seek(200)
            assert values_of(next(loader)) == wanted[200]
        assert len(fleet.stats()) == 2


@pytest.mark.parametrize("name", PIPES if os.environ.get("FOREBAY_LONG_TESTS") else ["mix that goes on", "buckets", "made rows"])
def test_pipelines_of_every_kind(tmp_path: pathlib.Path, name: str) -> None:
    folders = []
    for folder, sizes in (("a", (60, 0, 31)), ("b", (30, 15))):
        (tmp_path / folder).mkdir()
        folders.append(write_parts(tmp_path / folder, sizes, [None, "gzip", None]))
    pipeline = seeking(folders, name)
    wanted = batches_of(pipeline)
    with fr.Fleet(pipeline, "kinds", workers=2), fr.load("kinds", shard=None, window="20MB", local_threads=0) as loader:
        assert [values_of(batch) for batch in loader] == wanted


@pytest.mark.parametrize("shard", [(1, 2), {"index": 0, "count": 2, "by": "batch"}, {"index": 1, "count": 2, "by": "element"},
                                   [(1, 2), {"index": 1, "count": 2, "by": "batch"}]], ids=["row", "batch", "element", "row and batch"])
def test_every_shard_has_its_batches(pipeline: Any, shard: Any) -> None:
    wanted = batches_of(pipeline, shard=shard)
    with fr.Fleet(pipeline, "shards", workers=2), fr.load("shards", shard=shard, window="50MB", local_threads=1) as loader:
        assert [values_of(batch) for batch in loader] == wanted


def test_epochs_and_functions(pipeline: Any) -> None:
    mapped = pipeline.map(slow)
    with mapped.load() as loader:
        wanted = [[values_of(batch) for batch in epoch] for epoch in loader.epochs()]
    with fr.Fleet(mapped, "epochs", workers=2), fr.load("epochs", shard=None, window="50MB") as loader:
        found = []
        for epoch in loader.epochs():
            found.append([values_of(batch) for batch in epoch])
        assert found == wanted
        loader.begin_anew()
        epochs = loader.epochs()
        next(next(epochs))
        assert [values_of(batch) for batch in next(epochs)] == wanted[1]   # the rest of the first is left out
        state = loader.state_dict()
    with mapped.load() as loader:
        loader.load_state_dict(state)
        assert values_of(next(loader)) == wanted[2][0]


def test_states_go_from_a_loader_to_a_fleet_and_back(pipeline: Any) -> None:
    """The number of trainers and of workers changes at each of 8 restarts, and the stream of rows is that of one loader."""
    rng = random.Random(8)
    wanted = [row for batch in batches_of(pipeline) for row in batch["y"]]
    found: "list[int]" = []
    state: Any = None
    with fr.Fleet(pipeline, "elastic", workers=(1, 4)) as fleet:
        for turn in range(9):
            ranks = rng.choice([1, 2, 4])
            fleet.scale(rng.randint(1, 4))
            count = rng.randint(10, 60) if turn < 8 else 1000
            parts = []
            for rank in range(ranks):
                here = turn % 2 == 0
                with pipeline.load(shard=(rank, ranks)) if here else fr.load("elastic", shard=(rank, ranks), window="20MB", local_threads=0) as loader:
                    if state is not None:
                        loader.load_state_dict(state)
                    parts.append([batch["y"].tolist() for _, batch in zip(range(count), loader)])
                    kept = loader.state_dict()
            state = json.loads(json.dumps(kept))
            assert len(json.dumps(state)) < 1024
            found += [row for batch in zip(*parts) for part in batch for row in part]
    assert found == wanted


def test_workers_that_are_killed(pipeline: Any) -> None:
    endless = pipeline.epochs(None).map(slow)
    rng = random.Random(3)
    with fr.Fleet(endless, "killed", workers=3) as fleet, endless.load() as local, \
            fr.load("killed", shard=None, window="20MB", local_threads=0) as loader:
        killed = 0
        while killed < KILLS:
            for _ in range(rng.randint(1, 120)):
                assert values_of(next(loader)) == values_of(next(local))
            killed += kill_one(fleet, rng)
        for _ in range(200):
            assert values_of(next(loader)) == values_of(next(local))
        assert loader.stats().deaths > 0


class Trainer:
    """Takes batches, and writes what it has taken and its state to a file after every tenth, until it is killed."""

    def train(self, fleet: str, path: str) -> None:
        kept: "dict[str, Any]" = json.loads(pathlib.Path(path).read_text()) if os.path.exists(path) else {"rows": [], "state": None}
        with fr.load(fleet, shard=None, window="10MB", local_threads=0) as loader:
            if kept["state"] is not None:
                loader.load_state_dict(kept["state"])
            rows = kept["rows"]
            for batch in loader:
                rows += batch["y"].tolist()
                if batch.number % 10 == 9:
                    pathlib.Path(path + ".new").write_text(json.dumps({"rows": rows, "state": loader.state_dict()}))
                    os.replace(path + ".new", path)
            pathlib.Path(path + ".end").write_text(json.dumps(rows))

    def pid(self) -> int:
        return os.getpid()


def test_trainers_and_the_keeper_that_are_killed(pipeline: Any, tmp_path: pathlib.Path) -> None:
    mapped, path, rng = pipeline.map(slow), tmp_path / "kept", random.Random(5)
    wanted = [row for batch in batches_of(mapped) for row in batch["y"]]
    with fr.Fleet(mapped, "trainers", workers=2) as fleet:
        for turn in range(4):
            trainer = ray.remote(Trainer).options(num_cpus=0).remote()
            pid = ray.get(trainer.pid.remote())
            run = trainer.train.remote("trainers", str(path))
            if turn < 3:
                time.sleep(rng.uniform(0.5, 2.0))
                if turn == 1:
                    ray.kill(fleet._actor, no_restart=False)
                os.kill(pid, signal.SIGKILL)
            else:
                ray.get(run)
    assert json.loads(pathlib.Path(f"{path}.end").read_text()) == wanted


def test_a_worker_that_is_frozen_and_wakes(pipeline: Any) -> None:
    endless = pipeline.epochs(None).map(slow)
    with fr.Fleet(endless, "frozen", workers=3) as fleet, endless.load() as local, \
            fr.load("frozen", shard=None, window="20MB", local_threads=0) as loader:
        def take(batches: int) -> None:
            for _ in range(batches):
                assert values_of(next(loader)) == values_of(next(local))

        take(20)
        until = time.monotonic() + 60
        while loader.stats().workers < 3 and time.monotonic() < until:
            time.sleep(0.1)
        frozen = pids_of(fleet)[0]
        os.kill(frozen, signal.SIGSTOP)
        try:
            for _ in range(100):
                take(50)
                if loader.stats().hedged:
                    break
            assert loader.stats().hedged > 0
            take(200)
        finally:
            os.kill(frozen, signal.SIGCONT)
        take(500)


def test_the_keeper_of_the_fleet_may_die(pipeline: Any) -> None:
    wanted = batches_of(pipeline)
    with fr.Fleet(pipeline, "keeper", workers=2) as fleet, fr.load("keeper", shard=None, window="20MB", local_threads=0) as loader:
        found = [values_of(next(loader)) for _ in range(30)]
        ray.kill(fleet._actor, no_restart=False)
        found += [values_of(batch) for batch in loader]
        assert found == wanted
        assert len(fleet.stats()) == 2   # it found its workers again


def test_a_block_that_kills_its_workers_is_left_alone(pipeline: Any) -> None:
    mapped = pipeline.map(bad_at_40)
    with fr.Fleet(mapped, "deadly", workers=2), fr.load("deadly", shard=None, window="20MB", local_threads=0) as loader:
        found = 0
        with pytest.raises(DataError, match=r"3 workers died while they made batches \d+ to \d+") as raised:
            for batch in loader:
                assert batch.number == found
                found += 1
        first, last = (int(word) for word in str(raised.value).split("batches ")[1].split(",")[0].split(" to "))
        assert first <= 40 <= last and found == first


def test_what_a_function_raises_comes_in_its_place(pipeline: Any) -> None:
    with fr.Fleet(pipeline.map(raises_at_40), "raises", workers=2), fr.load("raises", shard=None, window="20MB") as loader:
        numbers = []
        for _ in range(2):
            with pytest.raises(ValueError, match="this batch is bad"):
                for batch in loader:
                    numbers.append(batch.number)
        assert numbers == list(range(40))


def test_corrupt_data_comes_in_its_place(tmp_path: pathlib.Path) -> None:
    path = pathlib.Path(write_counts(tmp_path, 200))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    pipeline = counts(str(path)).batch(4)
    before = []
    with pipeline.load() as loader, pytest.raises(DataError) as wanted:
        for batch in loader:
            before.append(values_of(batch))
    found = []
    with fr.Fleet(pipeline, "corrupt", workers=2), fr.load("corrupt", shard=None, window="20MB") as loader, pytest.raises(DataError) as raised:
        for batch in loader:
            found.append(values_of(batch))
    assert found == before and str(raised.value) == str(wanted.value) and raised.value.detail == wanted.value.detail


def test_a_loader_that_is_closed_or_dropped_leaves_no_thread(pipeline: Any) -> None:
    def threads() -> "set[str]":
        return {thread.name for thread in threading.enumerate() if thread.name.startswith("forebay fleet")}

    with fr.Fleet(pipeline, "threads", workers=1):
        loader = fr.load("threads", shard=None, window="20MB")
        next(loader)
        assert threads() == {"forebay fleet", "forebay fleet members"}
        loader.close()
        for _ in range(2):
            with pytest.raises(Cancelled):
                next(loader)
        dropped = fr.load("threads", shard=None, window="20MB")
        next(dropped)
        del dropped, loader
        until = time.monotonic() + 20
        while threads() and time.monotonic() < until:
            gc.collect()
            time.sleep(0.1)
        assert not threads()


# ---- what is refused
def test_names(pipeline: Any) -> None:
    with pytest.raises(ConfigError, match="there is no fleet 'none'; there is none: start one with"):
        fr.load("none")
    with fr.Fleet(pipeline, "one", workers=1):
        with pytest.raises(ConfigError, match="a fleet 'one' runs already"):
            fr.Fleet(pipeline, "one")
        with pytest.raises(ConfigError, match="there are one"):
            fr.load("two")
        with fr.load("one", shard=None, window="80MB"), pytest.raises(ConfigError, match="of which other trainers of this machine have 80000000"):
            fr.load("one", shard=None, window="80MB")
        with pytest.raises(ConfigError, match=r"window: 1000000000 bytes are more than half of the object store of this machine, which has \d+ bytes"):
            fr.load("one", shard=None, window=10**9)
        with pytest.raises(TypeError, match="pin_memory: must be True or False; found 'cuda:0'"):
            fr.load("one", pin_memory="cuda:0")   # type: ignore[arg-type]
        if not pathlib.Path("/dev/nvidiactl").exists():
            with pytest.raises(ConfigError, match="load without pin_memory"):
                fr.load("one", pin_memory=True)


def test_ranges(pipeline: Any) -> None:
    with pytest.raises(ConfigError, match=r"workers: \(3, 2\) must be \(fewest, most\), with at least 1"):
        fr.Fleet(pipeline, "range", workers=(3, 2))
    with fr.Fleet(pipeline, "range", workers=(1, 2)) as fleet, pytest.raises(ConfigError, match="workers: 3 is not within 1 to 2"):
        fleet.scale(3)


def test_what_has_no_batches_by_number(pipeline: Any) -> None:
    for pipe, why in ((fb.python({"x": number} for number in range(10)).batch(2), "pickle"),
                      (pipeline.deterministic(False), "deterministic")):
        with pytest.raises((ConfigError, StateError), match=why):
            fr.Fleet(pipe, "numbers")


def test_functions_that_cannot_be_pickled(pipeline: Any) -> None:
    lock = __import__("threading").Lock()
    with pytest.raises(ConfigError, match="cannot be sent to workers: .*lock"):
        fr.Fleet(pipeline.map(lambda batch: lock and {"x": batch["x"]}), "lock")


def test_an_open_cluster_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    node = {"Alive": True, "NodeManagerAddress": "10.1.2.3"}
    monkeypatch.setattr(ray, "nodes", lambda: [node, {"Alive": True, "NodeManagerAddress": "127.0.0.1"}])
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(ConfigError, match="insecure: the cluster listens at 10.1.2.3 and asks for no token"):
        check_cluster(False)
    check_cluster(True)
    node["Alive"] = False
    check_cluster(False)
    node["Alive"] = True
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    check_cluster(False)


def test_other_files_and_versions_are_named() -> None:
    here = {"source": "1", "files": "2", "version": "0.1"}
    check_identity(here, dict(here))
    with pytest.raises(StateError, match=r"the files here have other names or sizes\): files: 2 there, 3 here"):
        check_identity(here, {**here, "files": "3"})
    with pytest.raises(StateError, match="install the same version of forebay everywhere.*version: 0.1 there, 0.2 here"):
        check_identity(here, {**here, "version": "0.2"})


def test_arrays_are_the_trainers_own(pipeline: Any) -> None:
    with fr.Fleet(pipeline, "own", workers=1), fr.load("own", shard=None, window="20MB", local_threads=0) as loader:
        batch = next(loader)
        batch["x"][0] += 1
        assert isinstance(batch["x"], np.ndarray) and batch["x"].flags.writeable


def test_only_the_end_of_the_run_is_the_end(pipeline: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block behind the end is empty, where the length is known and where it is not; any other error of `seek` is an error."""
    for pipe in (pipeline, counts(write_counts(tmp_path, 100)).filter("y % 7 != 1").batch(8)):
        with pipe.load() as loader:
            assert _made(loader, 0, 5000, 5010) == Block([], True, None)
    with pipeline.load() as loader:
        def fail(number: int) -> None:
            raise ConfigError("another fault", code="config", detail="invalid_argument")
        monkeypatch.setattr(type(loader), "seek", lambda self, number: fail(number))
        block = _made(loader, 0, 8, 16)
    assert not block.ended and block.batches == [] and str(block.failure) == "another fault"
