# SPDX-License-Identifier: Apache-2.0
"""NaN and infinity in documents, for which JSON has no number: "nan", "inf" and "-inf"."""
from __future__ import annotations

import json
import math
import pathlib
from typing import Any

import numpy as np
import pytest

import forebay as fb


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Records 0 and 1; record 1 has no x. v has as many values as the record's number."""
    out = tmp_path_factory.mktemp("data") / "a.tfrecord"
    fb.write_records(out, [fb.encode_example({"x": 1.5, "v": np.zeros(0, np.float32)}), fb.encode_example({"v": [2.0]})])
    return str(out)


def pipe(path: str, value: Any, dtype: str = "float32") -> fb.Pipeline:
    features = {"x": fb.fixed(dtype, default=value), "v": fb.var_len("float32")}  # type: ignore[arg-type]
    steps = fb.tfrecord(path).example(features).constant("c", dtype=dtype, shape=[], value=value)  # type: ignore[arg-type]
    return steps.batch(2, pad=[{"tensor": "v", "shape": [1], "value": value}])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_default_pad_and_constant(path: str, value: float, tmp_path: pathlib.Path) -> None:
    text = pipe(path, value).to_json()
    assert json.loads(text, parse_constant=pytest.fail)["steps"][0]["constant"]["value"] == str(value)
    (tmp_path / "doc.json").write_text(text)
    for run in (pipe(path, value), json.loads(text), tmp_path / "doc.json", json.loads(pipe(path, value).plan().lowered)):
        batch = next(run.load() if isinstance(run, fb.Pipeline) else fb.load(run))
        np.testing.assert_array_equal(batch["x"], np.float32([1.5, value]), strict=True)
        np.testing.assert_array_equal(batch["v"], np.float32([[value], [2]]), strict=True)
        np.testing.assert_array_equal(batch["c"], np.float32([value, value]), strict=True)


def test_a_state_of_one_spelling_fits_the_other(path: str) -> None:
    with pipe(path, math.nan).load() as loader:
        state = loader.state_dict()
    assert pipe(path, math.nan).plan().hash == pipe(path, "nan").plan().hash != pipe(path, math.inf).plan().hash
    with pipe(path, "nan").load() as loader:
        loader.load_state_dict(state)
        assert len(list(loader)) == 1


@pytest.mark.parametrize("dtype", ["int64", "string"])
def test_other_types_have_none(path: str, dtype: str) -> None:
    with pytest.raises(fb.ConfigError, match=rf'feature \'x\': default must have values of type {dtype}; found "nan"'):
        pipe(path, math.nan, dtype).plan()


def test_other_options_stay_finite(path: str) -> None:
    with pytest.raises(fb.ConfigError, match=r"/seed: .* expected an integer \(nan is not one\)"):
        pipe(path, 0.0).seed(math.nan).plan()  # type: ignore[arg-type]
    with pytest.raises(fb.ConfigError, match="/source/mix/weights/0: .* must be finite, found inf"):
        fb.load({"source": {"mix": {"weights": [math.inf, 1], "branches": [{"source": {"tfrecord": {"files": [path]}}, "decode":
                {"record": {}}}] * 2}}, "steps": [{"batch": {"size": 1}}]})
