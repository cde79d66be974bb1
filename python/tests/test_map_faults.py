# SPDX-License-Identifier: Apache-2.0
"""`map` with workers: exceptions in their place, processes that die, and ends."""
from __future__ import annotations

import gc
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import traceback
import warnings
from typing import Any, Iterator

import map_functions
import numpy as np
import pytest
from conftest import ROOT
from map_checks import WORKERS, children, gone, threads, whole
from streams import example, examples

import forebay as fb


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    gc.collect()
    assert gone(lambda: not children() and not threads()), (children(), threads())


@pytest.mark.parametrize("failure, kind, text", [("zero", ZeroDivisionError, "three"), ("odd", ValueError, "odd 3"),
                                                 ("whole", map_functions.Whole, "7"), ("exit", SystemExit, "4"),
                                                 ("stop", RuntimeError, "fail raised StopIteration"),
                                                 ("data", fb.DataError, "bad")])
@pytest.mark.parametrize("workers, inside", WORKERS)
def test_an_exception_comes_in_its_place_with_the_traceback_of_the_function(
        pipe: fb.Pipeline, monkeypatch: pytest.MonkeyPatch, failure: str, kind: Any, text: str, workers: int, inside: Any) -> None:
    monkeypatch.setenv("FAILURE", failure)
    with pipe.map(map_functions.fail, workers=workers, inside=inside).load() as loader:
        assert [next(loader).number for _ in range(3)] == [0, 1, 2]
        state, caught, depths = loader.state_dict(), [], []
        for _ in range(3):
            with pytest.raises(kind) as raised:
                next(loader)
            caught.append(raised.value)
            depths.append(len(traceback.extract_tb(raised.value.__traceback__)))
        assert caught[0] is caught[1] is caught[2] and str(caught[0]) == text
        assert failure != "odd" or type(caught[0]) is (map_functions.Odd if inside == "threads" else ValueError)
        assert failure != "whole" or caught[0].code == 7
        shown = "".join(traceback.format_exception(caught[0]))
        assert ", in fail\n" in shown and shown.count("in map: fail was given batch 3 of epoch 0, record") == 1
        assert depths[0] >= depths[1] == depths[2]  # repeating adds nothing to the traceback
        monkeypatch.setenv("FAILURE", "data")
        assert loader.state_dict() == state
    with pipe.map(map_functions.same, workers=workers, inside=inside).load() as loader:
        loader.load_state_dict(state)
        assert next(loader).number == 3


def test_a_row_that_fails_is_named(pipe: fb.Pipeline) -> None:
    def odd(row: Any) -> Any:
        return {"a": 1 // (row["id"] - 70)}

    with pipe.load() as loader:
        batch = next(batch for batch in loader if 70 in batch["id"])
    row = batch["id"].tolist().index(70)
    file, record, offset = batch.origins[row]
    where = f"row {row} of batch {batch.number} of epoch 0, record {record} of {file} at byte {offset}"
    with pipe.map(odd, per="row", workers=1).load() as loader, np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ZeroDivisionError, FloatingPointError, RuntimeWarning)) as caught:
            list(loader)
    assert caught.value.__notes__ == [f"in map: odd was given {where}"]


def test_what_cannot_be_pickled_is_an_error_of_its_batch(pipe: fb.Pipeline) -> None:
    with pipe.map(map_functions.unsendable, workers=1, inside="processes").load() as loader:
        with pytest.raises(TypeError, match="pickle.*lock") as caught:
            next(loader)
    assert "batch 0 of epoch 0" in caught.value.__notes__[0]


def test_a_fault_of_the_data_comes_after_the_results_before_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.tfrecord"
    fb.write_records(path, [example(i) for i in range(40)])
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(content)
    for inside in ("threads", "processes"):
        with examples([str(path)]).batch(4).map(map_functions.ids, per="row", workers=2, inside=inside).load() as loader:
            assert [next(loader)["id"].tolist()[0] for _ in range(9)] == list(range(0, 36, 4))
            for _ in range(2):
                with pytest.raises(fb.DataError) as caught:
                    next(loader)
                assert caught.value.record == 39


@pytest.mark.parametrize("deaths", [1, 2])
def test_the_batch_of_a_killed_process_is_made_again(pipe: fb.Pipeline, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path,
                                                     deaths: int) -> None:
    monkeypatch.setenv("COUNT", str(tmp_path / "count"))
    monkeypatch.setenv("DEATHS", str(deaths))
    with pipe.load() as other, pipe.map(map_functions.deadly, workers=2, inside="processes").load() as loader:
        assert [whole(batch) for batch in loader] == [whole(batch) for batch in other]
    assert (tmp_path / "count").read_text() == str(deaths)


def test_the_third_death_over_a_batch_is_an_error_that_names_its_rows(pipe: fb.Pipeline, monkeypatch: pytest.MonkeyPatch,
                                                                      tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("COUNT", str(tmp_path / "count"))
    monkeypatch.setenv("DEATHS", "100")
    with pipe.map(map_functions.deadly, workers=2, inside="processes").load() as loader:
        batches = [next(loader) for _ in range(3)]
        assert [batch.number for batch in batches] == [0, 1, 2]
        for _ in range(2):
            with pytest.raises(fb.Error, match="ended its process 3 times over batch 3 of epoch 0: record.*SIGKILL.*memory"):
                next(loader)
    assert (tmp_path / "count").read_text() == "3"
    with pipe.map(map_functions.leave, workers=1, inside="processes").load() as loader:
        with pytest.raises(fb.Error, match="ended with status 3"):
            next(loader)


def test_processes_that_are_killed_at_random_times_change_nothing() -> None:
    done = subprocess.run([sys.executable, ROOT / "tests/killed_workers.py", "--kills", "8"], capture_output=True, text=True,
                          timeout=300)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "8 kills" in done.stdout and "all equal" in done.stdout


@pytest.mark.parametrize("workers, inside", WORKERS)
def test_close_ends_soon_and_names_a_function_that_does_not_return(pipe: fb.Pipeline, workers: int,
                                                                                  inside: Any) -> None:
    stop = threading.Event()

    def stuck(batch: Any) -> Any:
        if batch.number == 2:
            stop.wait()
        return batch

    loader = pipe.map(stuck if inside == "threads" else map_functions.busy, workers=workers, inside=inside).load()
    assert [next(loader).number, next(loader).number] == [0, 1]
    time.sleep(0.3)
    began = time.monotonic()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        loader.close()
    assert time.monotonic() - began < 20
    said = [str(warning.message) for warning in warned]
    if inside == "threads":
        assert len(said) == 1 and re.fullmatch(r"close: stuck, given to map, .* runs in forebay-map-\d, which ends .*", said[0])
    else:
        assert (said, children()) == ([], set())
    with pytest.raises(fb.Cancelled):
        next(loader)
    loader.close()
    stop.set()


@pytest.mark.parametrize("workers, inside", WORKERS)
def test_close_from_another_thread_ends_a_next_that_waits(pipe: fb.Pipeline, workers: int, inside: Any) -> None:
    loader = pipe.map(map_functions.endless if inside == "processes" else lambda batch: time.sleep(0.5) or batch,
                      workers=workers, inside=inside).load()
    threading.Timer(0.7, loader.close).start()
    with pytest.raises(fb.Cancelled):
        for _ in loader:
            pass
    assert gone(lambda: not children())


@pytest.mark.parametrize("workers, inside", WORKERS)
@pytest.mark.parametrize("batches", [0, 1, 5])
def test_an_abandoned_loader_leaves_no_worker_and_no_file(pipe: fb.Pipeline, workers: int, inside: Any, batches: int) -> None:
    def files() -> int:
        return len(os.listdir("/proc/self/fd"))

    next(pipe.load())
    gc.collect()
    before = files()
    for _ in range(5):
        loader = pipe.map(map_functions.uneven, workers=workers, inside=inside).load()
        for _ in range(batches):
            next(loader)
        del loader
        assert gone(lambda: not children() and not threads())
    assert gone(lambda: files() == before), (before, files())


def test_a_cycle_through_the_function_is_collected(pipe: fb.Pipeline) -> None:
    holder: list[Any] = []
    holder.append(pipe.map(lambda batch: batch if holder else None, workers=2).load())
    next(holder[0])
    assert gone(lambda: len(threads()) == 2)
    holder.clear()
    gc.collect()
    assert gone(lambda: not threads())


def test_a_function_that_uses_the_loader_is_refused(pipe: fb.Pipeline) -> None:
    loader = pipe.map(lambda batch: next(loader), workers=2).load()
    with pytest.raises(fb.StateError, match="inside"):
        next(loader)
    loader.close()


@pytest.mark.parametrize("workers, inside", [(0, "threads"), *WORKERS])
def test_a_second_thread_is_refused(pipe: fb.Pipeline, workers: int, inside: Any) -> None:
    loader = pipe.epochs(None).map(map_functions.uneven, workers=workers, inside=inside).load()
    numbers: list[int] = []
    refused = []

    def consume() -> None:
        while len(numbers) < 100:
            try:
                numbers.append(next(loader).number)
            except fb.StateError as error:
                refused.append(str(error))

    both = [threading.Thread(target=consume) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    loader.close()
    assert sorted(numbers) == list(range(len(numbers))) and refused
    assert {"another thread" in text or "one thread" in text for text in refused} == {True}


def test_waiting_for_a_function_is_told(pipe: fb.Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREBAY_STALL_SECONDS", "0.05")
    with pipe.map(lambda batch: time.sleep(0.2) or batch, workers=1).load() as loader:
        with pytest.warns(RuntimeWarning, match=r"batch 0 has been waited for 0\.\d s: it is in <lambda>, given to map"):
            next(loader)
