# SPDX-License-Identifier: Apache-2.0
"""The spans of rows, as batches and functions of `map` see them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forebay as fb
from forebay.values import Origin, Span

LENGTHS = [3, 0, 5]


@pytest.fixture
def path(tmp_path: Path) -> str:
    out = str(tmp_path / "data.tfrecord")
    fb.write_records(out, [fb.encode_example({"x": np.arange(100 * record, 100 * record + count)})
                           for record, count in enumerate(LENGTHS)])
    return out


def _pipeline(path: str) -> fb.Pipeline:
    return fb.tfrecord(path).example({"x": fb.var_len("int64")})


def test_a_batch_of_windows_has_an_origin_for_each_span(path: str) -> None:
    loader = _pipeline(path).continuous(min_window=4, max_window=4, tail="keep").batch(size=2, pad=True).load()
    batch = next(iter(loader))
    np.testing.assert_array_equal(batch["x"], [[0, 1, 2, 200], [201, 202, 203, 204]])
    offsets = [batch.origins[0][2], batch.origins[1][2]]
    assert batch.origins == [(path, 0, offsets[0]), (path, 2, offsets[1]), (path, 2, offsets[1])]
    assert [(origin.window, origin.start, origin.row) for origin in batch.origins] == [(0, 0, 0), (0, 0, 0), (1, 1, 1)]
    assert batch.spans == [[Span(batch.origins[0], 0, 3, 0), Span(batch.origins[1], 0, 1, 3)],
                           [Span(batch.origins[2], 1, 4, 0)]]
    assert batch.record_keys == [f"{path}:{offset}" for offset in [*offsets, offsets[1]]]


def test_an_empty_row_has_no_span(path: str) -> None:
    loader = _pipeline(path).chunk(size=4).batch(size=4, pad=True, remainder="pad").load()
    batch = next(iter(loader))
    assert [len(spans) for spans in batch.spans] == [1, 1, 1, 0]
    assert [origin.row for origin in batch.origins] == [0, 1, 2]
    assert (batch.rows, batch.valid_rows) == (4, 3)


def test_rows_that_are_whole_records_have_no_spans(path: str) -> None:
    batch = next(iter(_pipeline(path).batch(size=3).load()))
    assert batch.spans is None
    assert all(type(origin) is tuple for origin in batch.origins)


def test_an_origin_is_a_tuple_that_can_be_pickled() -> None:
    origin = Origin("a", 1, 2, window=3, start=4, row=5)
    file, record, offset = origin
    assert (file, record, offset) == ("a", 1, 2)
    copy = pickle.loads(pickle.dumps(origin))
    assert (copy, copy.window, copy.start, copy.row) == (origin, 3, 4, 5)


@pytest.mark.parametrize("workers", [0, 2])
def test_map_knows_the_spans_of_its_batches(path: str, workers: int) -> None:
    pipeline = _pipeline(path).continuous(min_window=4, max_window=4, tail="keep").batch(size=2, pad=True)
    batch = next(iter(pipeline.map(_origins, workers=workers).load()))
    assert batch["origins"].tolist() == [[0, 0, 0, 0], [2, 0, 0, 0], [2, 1, 1, 1]]


@pytest.mark.parametrize("inside", ["threads", "processes"])
def test_a_fault_of_a_row_names_its_first_record(path: str, inside: Any) -> None:
    pipeline = _pipeline(path).continuous(min_window=4, max_window=4, tail="keep").batch(size=2, pad=True)
    with pytest.raises(Exception) as fault:
        next(iter(pipeline.map(_fails_at_201, per="row", workers=1, inside=inside).load()))
    assert "row 1 of batch 0 of epoch 0, record 2 of" in "\n".join([str(fault.value), *getattr(fault.value, "__notes__", [])])


@pytest.mark.parametrize("workers, inside", [(0, "threads"), (2, "threads"), (2, "processes")])
def test_what_map_returns_knows_the_spans_skipped_rows_and_branches_of_its_batch(path: str, workers: int, inside: Any) -> None:
    windows = _pipeline(path).continuous(min_window=4, max_window=4, tail="keep").batch(size=2, pad=True)
    mixed = fb.mix([_pipeline(path), _pipeline(path)], weights=[1, 2]).batch(size=3, pad=True)
    beside = fb.zip([_pipeline(path), fb.arrays({"y": np.arange(3)})]).batch(size=2, pad=True)
    for pipe in (windows, mixed, beside):
        with pipe.load() as loader, pipe.map(_same, workers=workers, inside=inside).load() as mapped:
            for one, other in zip(loader, mapped):
                for facts in (other, pickle.loads(pickle.dumps(other))):
                    assert [(facts.spans, facts.skipped, facts.branch, facts.ends_epoch, facts.origins)] == [
                        (one.spans, one.skipped, one.branch, one.ends_epoch, one.origins)]


def _same(batch: Any) -> Any:
    return dict(batch)


def _origins(batch: Any) -> dict[str, Any]:
    return {"origins": np.array([[origin[1], origin.window, origin.start, origin.row] for origin in batch.origins])}


def _fails_at_201(row: Any) -> Any:
    if row["x"][0] == 201:
        raise ValueError("not this one")
    return row
