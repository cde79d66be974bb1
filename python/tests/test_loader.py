# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import json
import pathlib
import pickle
import threading

import numpy as np
import pytest

import forebay as fb


def values(loader):
    return np.concatenate([batch["y"] for batch in loader]).tolist()


def test_a_loader_runs_once_and_stays_at_the_end(counts):
    loader = fb.load(counts(5, epochs=2))
    assert values(loader) == [0, 1, 2, 3, 4] * 2
    assert next(loader, None) is None and next(loader, None) is None and loader.complete_frac == 1.0


@pytest.mark.parametrize("through", ["batches", "epochs", "map"])
def test_a_loop_after_the_end_is_an_error_that_names_epochs(counts, through):
    document = counts(5, epochs=2)
    pipe = fb.Pipeline(document).map(dict) if through == "map" else fb.Pipeline(document)
    loader = pipe.load()
    for part in loader.epochs() if through == "epochs" else [loader]:
        for _ in part:
            pass
    with pytest.raises(fb.StateError, match=r"for epoch in loader\.epochs\(\)"):
        iter(loader)
    loader.begin_anew()
    assert sum(1 for _ in loader) == 3
    with pytest.raises(TypeError, match=r"`\.load\(\)` starts it"):
        iter(pipe)


def test_a_loop_after_epochs_that_were_not_used_up_gives_the_rest(counts):
    loader = fb.load(counts(5, epochs=2))
    assert [epoch.number for epoch in loader.epochs()] == [0, 1]
    assert [batch.epoch for batch in loader] == [1]


def test_a_path_and_a_dict_are_the_same_document(counts, tmp_path, monkeypatch):
    document = counts(5, epochs=2, seed=3)
    document["source"]["tfrecord"]["files"] = ["counts.tfrecord"]
    (tmp_path / "doc.json").write_text(json.dumps(document))
    by_path = fb.load(tmp_path / "doc.json")
    monkeypatch.chdir(tmp_path)
    assert values(by_path) == values(fb.load(document)) == [0, 1, 2, 3, 4] * 2


def test_the_knobs_of_a_run_do_not_change_the_stream(counts):
    document = counts(100, 8, seed=5, epochs=2)
    document["steps"].insert(0, {"shuffle": {"buffer": 30}})
    expected = values(fb.load(document, threads=1))
    assert sorted(expected) == sorted([*range(100)] * 2)
    assert values(fb.load(document, threads=3, memory="64MiB", prefetch=1)) == expected
    assert values(fb.load(document, threads=2, memory=1 << 26, prefetch=7)) == expected


@pytest.mark.parametrize("arguments, word", [
    ({"threads": -1}, "threads"), ({"threads": 5000}, "1024"), ({"memory": "much"}, "much"), ({"memory": -1}, "memory"),
    ({"prefetch": -1}, "prefetch"), ({"shard": (0, 3)}, "counts that fit: 1, 2, 4"), ({"shard": (2, 2)}, "shard"),
    ({"shard": "2/1"}, "shard")])
def test_a_wrong_knob_is_a_config_error(counts, arguments, word):
    with pytest.raises(fb.ConfigError, match=word):
        fb.load(counts(1), **arguments)


def test_the_length_is_the_number_of_batches_or_a_type_error(counts):
    loader = fb.load(counts(5, epochs=None))
    assert bool(loader)
    with pytest.raises(TypeError):
        len(loader)


def test_schema_plan_and_stats_print_themselves(counts):
    with fb.load(counts(5), threads=2) as loader:
        assert loader.schema["x"] == fb.TensorSpec("float32", (2,), "equal")
        assert str(loader.schema).splitlines()[:2] == ["x  float32[2]", "y  int64[]"]
        assert loader.schema["v"] == fb.TensorSpec("int64", (None,), "ragged")
        assert "tfrecord" in str(loader.plan) and str(loader.plan) in repr(loader)
        assert "steps" in json.loads(loader.plan.lowered)
        assert sum(batch.rows for batch in loader) == 5
        stats = loader.stats()
        assert (stats.rows, stats.batches, stats.threads) == (5, 2, 2)
        assert stats.bottleneck in str(stats)


def twice(batch):
    return {"y": batch["y"] * 2}


def test_what_map_changes_is_said_behind_schema_and_plan(counts):
    line = "then every batch goes through map: twice, dict"
    pipe = fb.tfrecord(counts(5)["source"]["tfrecord"]["files"]).example({"y": fb.feature("int64")}).batch(4)
    with pipe.map(twice).map(dict).load() as loader:
        assert (loader.schema, loader.schema.mapped) == ({"y": fb.TensorSpec("int64", (), "equal")}, (twice, dict))
        unknown = "what map returns is unknown until it runs; output= of map states it"
        assert (str(loader.schema), loader.schema.known) == (f"y  int64[]\n{line}\n{unknown}", False)
        assert repr(loader) == f"Loader:\n{loader.plan}{line}"
    assert repr(pipe.map(twice).map(dict)) == f"{pipe.to_json()}\n{line}"
    with pipe.load() as loader:
        assert (str(loader.schema), repr(loader), repr(pipe)) == ("y  int64[]", f"Loader:\n{loader.plan}", pipe.to_json())


def test_a_run_that_has_ended_without_a_batch_says_so(counts):
    with fb.load(counts(0)) as loader:
        assert loader.stats().bottleneck == "Nothing was delivered yet."
        state = loader.state_dict()
        assert list(loader) == []
        assert loader.stats().bottleneck == "The run has ended and delivered nothing."
        assert str(loader.stats()).splitlines()[-1] == "The run has ended and delivered nothing."
        loader.load_state_dict(state)
        assert loader.stats().bottleneck == "Nothing was delivered yet."


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_what_belongs_to_a_process_cannot_be_pickled_and_says_what_can(counts, copied):
    with fb.load(counts(1)) as loader:
        with pytest.raises(TypeError, match="^a Loader cannot be pickled.* make the Loader of it in the worker process$"):
            copied(loader)
        with pytest.raises(TypeError, match="^a Plan cannot be pickled.* make the plan of that in the worker process$"):
            copied(loader.plan)


def test_all_faults_of_a_document_arrive_with_their_places(counts):
    document = counts(1)
    document["steps"] = [{"slise": {}}, {"batch": {"size": 0}}]
    document["sede"] = 1
    with pytest.raises(ValueError) as caught:
        fb.load(document)
    error = caught.value
    assert isinstance(error, fb.ConfigError) and error.code == "config"
    faults = error.faults or [error]
    assert all(isinstance(fault, fb.ConfigError) and fault.pointer is not None for fault in faults)
    assert "seed" in str(error)


def test_a_fault_in_a_file_has_line_and_column(tmp_path):
    path = tmp_path / "doc.json"
    path.write_text('{\n  "source": nothing\n}')
    with pytest.raises(fb.ConfigError) as caught:
        fb.load(path)
    assert (caught.value.file, caught.value.line) == (str(path), 2)


@pytest.mark.parametrize("document", [{1: 2}, {"a": {1, 2}}, {"a": float("nan")}, {"a": b"x"}, {"a": object()}])
def test_what_is_no_json_is_a_config_error(document):
    with pytest.raises(fb.ConfigError):
        fb.load(document)


def test_a_document_may_hold_paths_and_bytes(counts):
    document = counts(3)
    (path,) = document["source"]["tfrecord"]["files"]
    document["source"]["tfrecord"]["files"] = [pathlib.Path(path)]
    document["decode"]["example"]["features"]["none"] = {"dtype": "string", "default": "é".encode()}
    assert next(fb.load(document))["none"].tolist() == ["é".encode()] * 3
    pipe = fb.tfrecord(path).example({"none": fb.feature("string", default="é".encode())}).batch(3)
    assert next(fb.load(json.loads(pipe.to_json())))["none"].tolist() == ["é".encode()] * 3


def test_a_default_may_be_any_bytes(counts, tmp_path):
    document = counts(3)
    value = b"\xff\x00\xc3\x28\xed\xa0\x80"
    document["decode"]["example"]["features"]["none"] = {"dtype": "string", "default": value}
    (path,) = document["source"]["tfrecord"]["files"]
    pipe = fb.tfrecord(path).example({"none": fb.feature("string", default=value)}).batch(3)
    (tmp_path / "pipe.json").write_text(pipe.to_json())
    for given in (document, pipe.to_dict(), json.loads(pipe.to_json()), tmp_path / "pipe.json", json.loads(pipe.plan().lowered)):
        with fb.load(given) as loader:
            assert next(loader)["none"].tolist() == [value] * 3
    with pipe.load() as loader:
        fb.load(json.loads(pipe.to_json())).load_state_dict(json.loads(json.dumps(loader.state_dict())))


def test_a_document_that_holds_itself_is_a_config_error():
    document: dict = {}
    document["a"] = document
    with pytest.raises(fb.ConfigError, match="64"):
        fb.load(document)


def corruption(path, record_bytes):
    data = bytearray(open(path, "rb").read())
    data[len(data) - record_bytes] ^= 0xFF
    open(path, "wb").write(data)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_a_fault_arrives_behind_all_good_batches_and_is_repeated(counts, threads):
    document = counts(50, 4)
    corruption(document["source"]["tfrecord"]["files"][0], 6)
    loader = fb.load(document, threads=threads)
    good = []
    with pytest.raises(fb.DataError) as caught:
        for batch in loader:
            good += batch["y"].tolist()
    assert good == [*range(48)]
    assert (caught.value.record, caught.value.file) == (49, document["source"]["tfrecord"]["files"][0])
    with pytest.raises(fb.DataError) as again:
        next(loader)
    assert str(again.value) == str(caught.value)
    loader.close()


def test_a_missing_file_is_an_io_error():
    with pytest.raises(fb.IoError) as caught:
        list(fb.tfrecord("nowhere/none.tfrecord").example({"x": fb.feature("int64")}).batch(1).load())
    assert isinstance(caught.value, OSError)


def test_an_exception_survives_pickling(counts):
    with pytest.raises(fb.ConfigError) as caught:
        fb.load({})
    copy = pickle.loads(pickle.dumps(caught.value))
    original = caught.value
    assert (type(copy), str(copy), copy.pointer, copy.code) == (fb.ConfigError, str(original), original.pointer, "config")


def test_close_is_idempotent_and_next_after_it_is_cancelled(counts):
    loader = fb.load(counts(50))
    kept = next(loader)["y"]
    loader.close()
    loader.close()
    with pytest.raises(fb.Cancelled):
        next(loader)
    assert kept.tolist() == [0, 1, 2, 3]


def test_threads_that_take_turns_see_every_batch_once(counts):
    loader, lock, seen = fb.load(counts(400, 4), threads=2), threading.Lock(), []

    def take():
        while True:
            with lock:
                batch = next(loader, None)
            if batch is None:
                return
            seen.extend(batch["y"].tolist())

    workers = [threading.Thread(target=take) for _ in range(4)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert sorted(seen) == [*range(400)]
