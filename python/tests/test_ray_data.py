# SPDX-License-Identifier: Apache-2.0
"""The batches of a run as a dataset of Ray Data (`make test-frameworks`)."""
from __future__ import annotations

import pathlib
from typing import Any, Iterator

import pytest

ray = pytest.importorskip("ray")
pytest.importorskip("pandas")

from conftest import write_counts  # noqa: E402
from fleets import counts, start_cluster  # noqa: E402

import forebay.ray as fr  # noqa: E402
from forebay.errors import ConfigError  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def cluster() -> "Iterator[None]":
    start_cluster()
    yield
    ray.shutdown()


def test_every_row_once(tmp_path: pathlib.Path) -> None:
    pipeline = counts(write_counts(tmp_path, 203)).shuffle("global").batch(8, remainder="pad").seed(3)
    with pipeline.load() as loader:
        wanted = {(batch.number << 32) + row: (batch["y"][row], batch["x"][row].tolist(), batch["s"][row], batch["v"][row].tolist())
                  for batch in loader for row in range(batch.valid_rows)}
    for each in (None, 5):
        rows: "list[Any]" = ray.data.read_datasource(fr.Datasource(pipeline, batches_per_task=each)).take_all()
        found = {row["_forebay_row"]: (row["y"], row["x"].tolist(), row["s"], row["v"].tolist()) for row in rows}
        assert len(rows) == 203 and found == wanted


def test_an_endless_run_is_refused(tmp_path: pathlib.Path) -> None:
    pipeline = counts(write_counts(tmp_path, 20)).batch(4).epochs(None)
    with pytest.raises(ConfigError, match="the number of batches is not known, so they cannot be divided among tasks: a run for ever"):
        fr.Datasource(pipeline)
