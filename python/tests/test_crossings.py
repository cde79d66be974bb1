# SPDX-License-Identifier: Apache-2.0
"""Features that met: shards of rows and orders on batches, keys of records and stored attributes, windows and flat batches."""
from __future__ import annotations

import gzip
import pathlib
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import forebay as fb


def compressed_lines(folder: pathlib.Path) -> str:
    """240 lines in 12 files that are reached by index, so that blocks are freed while the run goes on."""
    for file in range(12):
        (folder / f"l{file:02}.gz").write_bytes(gzip.compress(b"".join(b"%06d\n" % (100 * file + line) for line in range(20))))
    return str(folder / "l*.gz")


def pipes(folder: pathlib.Path) -> "dict[str, fb.Pipeline]":
    table = pa.table({"id": np.arange(240)})
    records = folder / "r.tfrecord.gz"
    fb.write_records(records, [fb.encode_example({"id": i, "fill": np.zeros(i % 7, np.int64)}) for i in range(240)], "gzip")
    return {"lines": fb.lines(compressed_lines(folder)).record("id").shuffle(global_=True),
            "tfrecord": fb.tfrecord(records).example({"id": fb.fixed("int64"), "fill": fb.var_len("int64")}).shuffle(global_=True),
            "readers": fb.arrow(pa.RecordBatchReader.from_batches(table.schema, table.to_batches(7))),
            "python": fb.python([{"id": i} for i in range(240)])}


@pytest.mark.parametrize("combine, wanted", [
    (fb.concat, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]), (fb.round_robin, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]), (fb.join, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])])
def test_items_of_a_sequence_are_rows_of_a_branch(combine: Any, wanted: "list[int]") -> None:
    items = fb.python([{"id": i} for i in range(5)])
    batches = combine([items, items]).batch(4).load()
    assert [i for batch in batches for i in batch["id"].tolist()] == wanted
    beside = next(fb.zip([items, fb.arrays({"z": np.arange(5)})]).batch(5).load())
    assert beside["id"].tolist() == beside["z"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("order", ["shuffle_batches", "batch_slice", "both"])
@pytest.mark.parametrize("source", ["lines", "tfrecord", "readers", "python"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_shards_of_rows_are_those_of_the_whole_run_behind_orders_on_batches(tmp_path: pathlib.Path, source: str, order: str,
                                                                            ranks: int) -> None:
    def pipe() -> fb.Pipeline:
        out = pipes(tmp_path)[source].batch(4, remainder="drop")
        out = out.shuffle_batches(20) if order != "batch_slice" else out
        out = out.batch_slice(start=1, step=3) if order != "shuffle_batches" else out
        return out.epochs(1 if source in ("readers", "python") else 2)

    whole = [batch["id"].tolist() for batch in pipe().load(threads=2)]
    assert len(whole) > 10
    for threads in (1, 3):
        shards = [[batch["id"].tolist() for batch in pipe().load(shard=(rank, ranks), threads=threads)] for rank in range(ranks)]
        assert [sum(parts, []) for parts in zip(*shards)] == whole


def stored(folder: pathlib.Path, key: str | None) -> Any:
    path = folder / "d.tfrecord"
    if not path.exists():
        fb.write_records(path, [fb.encode_example({"id": i, "tokens": np.arange(i % 10)}) for i in range(40)])
    return fb.tfrecord(path, record_key=key).example({"id": fb.fixed("int64"), "tokens": fb.var_len("int64")})


@pytest.mark.parametrize("key", [None, "key"])
def test_attributes_that_another_pipeline_has_stored_are_not_taken_for_those_of_other_steps(tmp_path: pathlib.Path, key: str | None) -> None:
    base = stored(tmp_path, key)
    cut_first = base.slice("tokens", "[:3]").filter("length(tokens) > 3").shuffle(global_=True).batch(4, pad=True)
    cut_last = base.filter("length(tokens) > 3").slice("tokens", "[:3]").shuffle(global_=True).batch(4, pad=True)
    wanted = [i for i in range(40) if i % 10 > 3]
    for _ in range(2):  # the second time, both have stored what they know
        assert [batch["id"].tolist() for batch in cut_first.load()] == []
        assert sorted(sum((batch["id"].tolist() for batch in cut_last.load()), [])) == wanted


@pytest.mark.parametrize("key", [None, "key"])
def test_a_sort_before_a_step_that_cuts_is_the_same_in_every_run(tmp_path: pathlib.Path, key: str | None) -> None:
    pipe = stored(tmp_path, key).sorted("length(tokens)").slice("tokens", "[:3]").frames(["tokens"], batch_size=8)
    first = [batch["id"].tolist() for batch in pipe.load()]
    assert [i % 10 for i in sum(first, [])] == sorted(i % 10 for i in range(40))
    loader = pipe.load()
    for number in range(len(first)):
        again = pipe.load(threads=2)
        again.load_state_dict(loader.state_dict())
        assert [batch["id"].tolist() for batch in again] == first[number:]
        assert next(loader)["id"].tolist() == first[number]


@pytest.mark.parametrize("source", ["arrays", "arrow"])
@pytest.mark.parametrize("recurrent", [False, True])
@pytest.mark.parametrize("window", ["discrete", "continuous", "chunk"])
def test_windows_in_batches_by_frames_restart_at_every_batch(source: str, recurrent: bool, window: str) -> None:
    rows = [list(range(10 * i, 10 * i + i % 4)) for i in range(8)]
    ragged = fb.Ragged(np.array(sum(rows, [])), np.cumsum([0, *map(len, rows)]))
    pipe: Any = fb.arrays({"s": ragged}) if source == "arrays" else fb.arrow(pa.table({"s": pa.array(rows, pa.list_(pa.int64()))}))
    if window == "chunk":
        pipe = pipe.chunk(4, keys=["s"])
    else:
        pipe = getattr(pipe, window)(4, 6, keys=["s"])
    pipe = pipe.frames(["s"], batch_size=4, recurrent=recurrent).epochs(2)
    whole = [batch["s"].tobytes() for batch in pipe.load(threads=1)]
    loader = pipe.load(threads=2)
    for number in range(len(whole)):
        again = pipe.load(threads=1)
        again.load_state_dict(loader.state_dict())
        assert [batch["s"].tobytes() for batch in again] == whole[number:]
        assert next(loader)["s"].tobytes() == whole[number]


@pytest.mark.parametrize("draw", [lambda p: p.random_sample(), lambda p: p.sequence_order("random_sample")])
def test_draws_before_a_filter_have_no_length_and_those_behind_it_have(tmp_path: pathlib.Path, draw: Any) -> None:
    base = stored(tmp_path, None)
    for _ in range(2):  # the second time, the verdicts are stored
        with draw(base).filter("id % 3 == 0").batch(4).load() as loader:
            with pytest.raises(TypeError):
                len(loader)
            assert len(list(loader)) > 0
    counted = base.filter("id % 3 == 0").shuffle(global_=True).batch(4)
    assert len(list(counted.load())) == 4 and len(counted.load()) == 4


@pytest.mark.parametrize("rows", [0, 3, 4, 9])
def test_the_length_counts_the_batch_that_ends_an_epoch_without_rows(rows: int) -> None:
    pipe = fb.arrays({"x": np.arange(rows)}).batch(4, remainder="drop", epoch_end=True).epoch_boundary("hard").epochs(2)
    loader = pipe.load()
    assert len(loader) == len(list(loader)) == 2 * max(1, rows // 4)


@pytest.mark.parametrize("remainder", ["keep", "pad", "drop"])
@pytest.mark.parametrize("epochs", [1, 2])
def test_no_batch_without_rows_comes_behind_the_end(remainder: str, epochs: int) -> None:
    sizes = [4, 0, 4, 4, 0, 3, 0, 0, 5]
    pipe = (fb.arrays({"x": np.arange(10)}).batch(5, size_function="sizes", remainder=remainder).epochs(epochs).epoch_boundary("hard")
            .bind({"sizes": lambda number: sizes[number] if number < len(sizes) else 5}))
    seen = [(batch.epoch, batch["x"][:batch.valid_rows].tolist()) for batch in pipe.load()]
    assert max(epoch for epoch, _ in seen) == epochs - 1
    assert [batch for epoch, batch in seen if epoch == 0] == [[0, 1, 2, 3], [], [4, 5, 6, 7], *([[8, 9]] if remainder != "drop" else [])]
    with pipe.load() as loader:
        assert [(epoch.number, batch["x"][:batch.valid_rows].tolist()) for epoch in loader.epochs() for batch in epoch] == seen
