# SPDX-License-Identifier: Apache-2.0
"""The batches of a run as a dataset of Ray Data (`make test-frameworks`)."""
from __future__ import annotations

import json
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


def test_relative_paths_count_from_the_folder_of_the_driver(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_counts(tmp_path, 20)
    monkeypatch.chdir(tmp_path)
    rows: "list[Any]" = ray.data.read_datasource(fr.Datasource(counts("counts.tfrecord").batch(4), batches_per_task=2)).take_all()
    assert sorted(row["y"] for row in rows) == list(range(20))


def test_ranks_of_ray_train(tmp_path: pathlib.Path) -> None:
    """Each process of a train_loop has the shard of its rank, and goes on from the state of a checkpoint."""
    train = pytest.importorskip("ray.train")
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer
    pipeline = counts(write_counts(tmp_path, 200)).shuffle("global").batch(8).epochs(2).seed(3)

    def loop(config: "dict[str, Any]") -> None:
        rank = train.get_context().get_world_rank()
        with fr.load("train", window="10MB", local_threads=0) as loader:
            if config["from"]:
                loader.load_state_dict(json.loads((pathlib.Path(config["folder"]) / f"{rank}.state").read_text()))
            rows = [batch["y"].tolist() for _, batch in zip(range(20 if not config["from"] else 1000), loader)]
            (pathlib.Path(config["folder"]) / f"{rank}.state").write_text(json.dumps(loader.state_dict()))
        (pathlib.Path(config["folder"]) / f"{rank}.{config['from']}").write_text(json.dumps(rows))
        train.report({})

    with fr.Fleet(pipeline, "train", workers=1):
        for begin in (0, 20):
            DataParallelTrainer(loop, train_loop_config={"folder": str(tmp_path), "from": begin},
                                scaling_config=train.ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1}),
                                run_config=train.RunConfig(storage_path=str(tmp_path / "runs"))).fit()
    for rank in range(2):
        with pipeline.load(shard=(rank, 2)) as loader:
            wanted = [batch["y"].tolist() for batch in loader]
        found = [row for begin in (0, 20) for row in json.loads((tmp_path / f"{rank}.{begin}").read_text())]
        assert found == wanted


def test_an_endless_run_is_refused(tmp_path: pathlib.Path) -> None:
    pipeline = counts(write_counts(tmp_path, 20)).batch(4).epochs(None)
    with pytest.raises(ConfigError, match="the number of batches is not known, so they cannot be divided among tasks: a run for ever"):
        fr.Datasource(pipeline)
