# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import traceback

import numpy as np
import pytest

import forebay as fb


@pytest.fixture
def pipeline(tmp_path):
    path = tmp_path / "a.tfrecord"
    fb.write_records(path, [fb.encode_example({"y": i}) for i in range(6)])
    return fb.tfrecord(path).example({"y": fb.feature("int64")}).batch(2)


def test_functions_run_one_after_the_other(pipeline):
    loader = pipeline.map(lambda batch: {"z": batch["y"] + 1}).map(lambda batch: {"z": batch["z"] * 10}).load()
    assert [batch["z"].tolist() for batch in loader] == [[10, 20], [30, 40], [50, 60]]


def test_an_exception_keeps_its_traceback_and_is_repeated(pipeline):
    def explode(batch):
        if batch.number == 1:
            raise ZeroDivisionError("one")
        return batch

    loader = pipeline.map(explode).load()
    assert next(loader)["y"].tolist() == [0, 1]
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as caught:
            next(loader)
        assert "explode" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    loader.close()


@pytest.mark.parametrize("returned", [None, 3, [1]])
def test_what_is_no_mapping_is_a_type_error(pipeline, returned):
    with pytest.raises(TypeError, match="mapping"):
        next(pipeline.map(lambda batch: returned).load())


def test_a_function_that_asks_for_the_next_batch_is_refused(pipeline):
    loader = pipeline.map(lambda batch: next(loader)).load()
    with pytest.raises(fb.StateError, match="inside"):
        next(loader)
    loader.close()


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_loses_no_batch(pipeline, interrupt):
    calls = []

    def function(batch):
        calls.append(batch.number)
        if len(calls) == 2:
            raise interrupt
        return batch

    loader = pipeline.map(function).load()
    next(loader)
    with pytest.raises(interrupt):
        next(loader)
    assert [batch["y"].tolist() for batch in loader] == [[2, 3], [4, 5]]


def test_what_is_no_function_is_refused(pipeline):
    with pytest.raises(TypeError):
        pipeline.map(3)


def test_what_a_function_returned_is_shown_on_one_line() -> None:
    rows = {"x": np.zeros((3, 200, 2), np.float32), "y": np.arange(3)}

    def nested(batch: fb.Batch) -> "dict[str, object]":
        return {"x": batch["x"], "text": "abc", "n": {"y": batch["y"]}}
    shown = repr(next(fb.arrays(rows).batch(2).map(nested).load()))
    assert shown == "MappedBatch(x: float32[2,200,2], text: str of 3, n: {y: int64[2]})"
    shown = repr(next(fb.arrays(rows).batch(2).map(lambda batch: (batch["x"], batch["y"])).load()))
    assert shown == "TupleBatch(float32[2,200,2], int64[2])"


def test_before_the_first_batch_there_are_stats_and_a_reason_why_there_is_no_length() -> None:
    batches = fb.arrays({"x": np.arange(8)}).batch(4).map(dict)
    with batches.load() as loader:
        assert str(loader.stats()).splitlines()[-1] == loader.stats().bottleneck
    rows = fb.arrays({"x": np.arange(8)}).map(lambda row: {"x": row["x"]}, per="row").batch(4)
    with rows.load() as loader, pytest.raises(TypeError, match="^the number of batches is not known before the program has made all rows$"):
        len(loader)
    with pytest.raises(fb.StateError, match="the rows that functions of the program make are known when a run has made them: count its batches"):
        rows.plan().count()
