# SPDX-License-Identifier: Apache-2.0
"""What functions given to `map` may return, and the options of `map`."""
from __future__ import annotations

import re
from typing import Any

import map_functions
import numpy as np
import pytest
from map_checks import KINDS
from streams import FEATURES, examples

import forebay as fb


@pytest.fixture
def small(parts: list[str]) -> fb.Pipeline:
    return examples(parts).shuffle(buffer=40).batch(25, remainder="pad", pad=True).epochs(2).seed(5)


OUTPUT = {"id": fb.fixed("int64"), "tokens": fb.var_len("int32"), "name": fb.fixed("string"), "x": fb.fixed("float32", [2])}


@pytest.mark.parametrize("workers, inside", KINDS)
def test_output_states_the_schema_and_types(small: fb.Pipeline, workers: int, inside: Any) -> None:
    loader = small.map(lambda row: {**map_functions.lists(row), "tokens": row["tokens"][:2].astype(np.int32)}
                        if inside == "threads" else map_functions.lists(row), per="row", workers=workers, inside=inside,
                        output=OUTPUT).load()
    assert str(loader.schema) == "id      int64[]\ntokens  int32[?] ragged\nname    string[]\nx       float32[2]"
    assert loader.schema.known
    for batch in loader:
        assert isinstance(batch["tokens"], fb.Ragged) and len(batch["tokens"]) == batch.rows == 25
        assert (batch["id"].dtype, batch["x"].dtype, batch["name"].dtype) == (np.int64, np.float32, object)
        assert batch["x"].tolist() == [[1, 2.5]] * batch.valid_rows + [[0, 0]] * (25 - batch.valid_rows)
        assert batch["id"].tolist()[batch.valid_rows:] == [0] * (25 - batch.valid_rows)
    loader.close()


STEPS = {"ragged": fb.fixed_len_sequence("float32", [2], as_="ragged"), "padded": fb.fixed_len_sequence("float32", [2]),
         "free": fb.fixed("float32", [-1, 2]), "words": fb.var_len("string", as_="padded"), "ids": fb.var_len("int64", as_="padded")}


@pytest.mark.parametrize("per", ["row", "batch"])
@pytest.mark.parametrize("workers, inside", KINDS)
def test_rows_of_any_number_of_steps_are_ragged_or_padded(small: fb.Pipeline, workers: int, inside: Any, per: Any) -> None:
    """A batch of results that a second function for whole batches returns as it is, is checked alike."""
    mapped = small.map(map_functions.steps, per="row", workers=workers, inside=inside, output=STEPS)
    loader = (mapped if per == "row" else mapped.map(map_functions.same, output=STEPS)).load()
    assert str(loader.schema) == ("ragged  float32[?,2] ragged\npadded  float32[?,2] padded\nfree    float32[?,2] ragged\n"
                                  "words   string[?] padded\nids     int64[?] padded")
    for batch, plain in zip(loader, small.load()):
        rows = [map_functions.steps({"id": number}) for number in plain["id"][:plain.valid_rows]]
        counts = [len(row["ids"]) for row in rows] + [0] * (25 - plain.valid_rows)
        longest = max(counts)
        assert batch["ragged"].lengths.tolist() == batch["free"].lengths.tolist() == counts
        assert batch["padded"].shape == (25, longest, 2) and batch["words"].shape == batch["ids"].shape == (25, longest)
        for place, count in enumerate(counts):
            number = float(plain["id"][place]) if count else 0
            assert batch["ragged"][place].tolist() == batch["free"][place].tolist() == [[number] * 2] * count
            assert batch["padded"][place].tolist() == [[number] * 2] * count + [[0, 0]] * (longest - count)
            assert batch["words"][place].tolist() == [b"w\0"] * count + [b""] * (longest - count)
            assert batch["ids"][place].tolist() == [3] * count + [0] * (longest - count)
    loader.close()


def test_steps_of_another_shape_are_named(small: fb.Pipeline) -> None:
    for feature, said in ((STEPS["ragged"], "a Ragged of 25 rows of float32 of shape [any length, 2]"),
                          (STEPS["padded"], "an array of float32 of shape [25, any length, 2]")):
        with small.map(lambda batch: {"a": np.zeros((25, 4, 3), np.float32)}, output={"a": feature}).load() as loader:
            with pytest.raises(ValueError, match=re.escape(f"must return {said} as 'a'; it returned an array")):
                next(loader)
        with small.map(lambda row: {"a": np.zeros((4, 3), np.float32)}, per="row", output={"a": feature}).load() as loader:
            with pytest.raises(ValueError, match=re.escape("must return float32 of shape [any length, 2] as 'a'; for row 0")):
                next(loader)


@pytest.mark.parametrize("result, said", [
    (lambda batch: {"y": batch["id"]}, "must return 'x'; 'x' is missing"),
    (lambda batch: {"x": batch["id"], "y": 1}, "must return 'x'; 'y' is not among them"),
    (lambda batch: {"x": batch["id"][:3]}, "must return an array of int64 of shape [12] as 'x'; it returned an array of "
                                           "int64 of shape [3]"),
    (lambda batch: {"x": batch["x"]}, "it returned an array of float32 of shape [12, 2]"),
    (lambda batch: {"x": [1] * 12}, "it returned a value of type list")])
def test_a_wrong_output_names_the_tensor_and_what_was_expected(pipe: fb.Pipeline, result: Any, said: str) -> None:
    for workers in (0, 1):
        with pipe.map(result, workers=workers, output={"x": fb.fixed("int64")}).load() as loader:
            with pytest.raises(ValueError, match=re.escape(said)):
                next(loader)


@pytest.mark.parametrize("result, said", [
    (lambda row: {"a": np.zeros(int(row["id"]) % 3)}, "rows of different lengths are a Ragged with {'a': fb.var_len(\"float64\")}, "
                                                        "and padded with {'a': fb.fixed_len_sequence(\"float64\", [])}, in output= of map"),
    (lambda row: {"a": np.zeros((int(row["id"]) % 3, 2), np.int8)}, "Ragged with {'a': fb.fixed_len_sequence(\"int8\", [2], as_=\"ragged\")}, "
                                                                    "and padded with {'a': fb.fixed_len_sequence(\"int8\", [2])}"),
    (lambda row: {"a": np.zeros((2, int(row["id"]) % 3))}, "'a' is an array of float64 of shape [2, 1] in row 0 and an array of float64 of "
                                                           "shape [2, 0] in row 1\nin map"),
    (lambda row: {"a": 1 if row["id"] % 2 else 0.5}, "must return the same type and shape for every row; 'a' is"),
    (lambda row: {"a": 1} if row["id"] % 2 else {"b": 1}, "must return the same names for every row"),
    (lambda row: [1], "a function given to map returns a mapping of tensors, or a tuple of them; <lambda> returned list")])
def test_rows_that_do_not_stack_are_told_apart(pipe: fb.Pipeline, result: Any, said: str) -> None:
    with pipe.map(result, per="row").load() as loader, pytest.raises((ValueError, TypeError), match=re.escape(said)):
        next(loader)


@pytest.mark.parametrize("value, dtype, right", [(200, "uint8", True), (300, "uint8", False), (-1, "uint8", False),
                                                 (1, "float32", True), (0.5, "int64", False), (True, "int64", True),
                                                 (np.float64(1), "float32", True), (np.int32(1), "int64", False)])
def test_numbers_of_python_become_the_stated_type_if_none_is_lost(pipe: fb.Pipeline, value: Any, dtype: str, right: bool) -> None:
    with pipe.map(lambda row: {"a": value}, per="row", output={"a": fb.fixed(dtype)}).load() as loader:
        if right:
            batch = next(loader)
            assert (batch["a"].dtype.name, batch["a"].tolist()) == (dtype, [value] * 12)
        else:
            with pytest.raises(ValueError, match=f"must return {dtype} of shape \\[\\] as 'a'"):
                next(loader)


def test_no_stage_of_rows_stands_behind_map_of_batches(pipe: fb.Pipeline) -> None:
    mapped = pipe.map(map_functions.same)
    with pytest.raises(fb.ConfigError, match="^shuffle: map.same. is given the batches of 'batch'; add shuffle before map"):
        mapped.shuffle(9)
    with pytest.raises(fb.ConfigError, match="^batch: map.same. is given batches and stands before batch; put it behind the batch"):
        fb.tfrecord("a").example(FEATURES).map(map_functions.same).batch(3)
    assert mapped.epochs(2).seed(4).to_dict()["seed"] == 4


@pytest.mark.parametrize("options, said", [
    ({"per": "rows"}, "per: must be 'batch' or 'row', found 'rows'"), ({"inside": 3}, "inside: must be"),
    ({"workers": -1}, "workers: must be an integer from 0 to 1024, found -1"), ({"workers": 1.5}, "workers: must be an integer"),
    ({"output": 3}, "output: must be a dict"), ({"output": {"a": "int64"}}, "output['a']: must be fb.fixed(dtype, shape), "),
    ({"output": {"a": fb.fixed("int6")}}, "output['a']: unknown dtype 'int6'"),
    ({"output": {"a": fb.fixed("int64", [3, -1])}}, "output['a']: the sizes of shape must be integers from 0, and rows may differ in the "
                                                    "first one only, found [3, -1]"),
    ({"output": {"a": fb.fixed("int64", key="b")}}, "output['a']: must be fb.fixed(dtype, shape), fb.var_len(dtype) or "
                                                    "fb.fixed_len_sequence(dtype, shape), found the option key"),
    ({"output": {"a": fb.var_len("int64", as_="sparse")}}, "output['a']: as_ must be 'ragged' or 'padded', found 'sparse'"),
    ({"output": {"a": fb.raw("int64", endian="big")}}, "output['a']: must be")])
def test_wrong_options_are_named(pipe: fb.Pipeline, options: Any, said: str) -> None:
    with pytest.raises((fb.ConfigError, TypeError), match="^" + re.escape(said)):
        pipe.map(map_functions.same, **options)
