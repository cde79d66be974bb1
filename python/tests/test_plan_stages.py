# SPDX-License-Identifier: Apache-2.0
"""plan.stages: what the text of a plan says, as data."""
from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

import numpy as np
import pytest
from command import COMMAND

import forebay as fb

A, B = (fb.arrays({"x": np.arange(12) + first, "y": np.zeros((12, 2), "float32")}, name=f"a{first}") for first in (0, 100))
PIPES: "dict[str, Any]" = {
    "rows": A.shuffle(5).filter("x > 3").cast("x", "int32").batch(4).normalize("y", 0),
    "a mixture": fb.mix([A.cast("x", "int32"), B.shuffle("global").cast("x", "int32")], weights=[2, 1], until="all").shuffle(7).batch(4),
    "made rows": fb.concat([A.cast("x", "int32"), B.cast("x", "int32")]).filter("x % 2 == 0").cast("y", "float64").shuffle("global")
    .constant("k", [], "int32", value=1).batch(4),
    "nested": fb.mix([fb.concat([A.cast("x", "int32"), B.cast("x", "int32")]), A.cast("x", "int32")], until="all").batch(4)}


@pytest.mark.parametrize("name", PIPES)
def test_they_say_what_the_text_says(name: str) -> None:
    plan = PIPES[name].plan()
    assert "".join(f"{stage['where']:<9} {stage['text']}\n" for stage in plan.stages) == str(plan)
    assert all(stage["plugin"] is None or str(stage["plugin"]) in str(stage["text"]) for stage in plan.stages)


@pytest.mark.parametrize("name", PIPES)
def test_steps_have_the_places_that_the_statistics_have(name: str) -> None:
    with PIPES[name].load() as loader:
        list(loader)
        timed = {stage["step"]: stage["plugin"] for stage in loader.plan.stages if stage["step"] is not None}
        names = [step.split(": ")[-1] for step, _ in loader.stats().steps]
    assert timed == dict(enumerate(names)) and len(timed) == {"rows": 2, "a mixture": 2, "made rows": 1, "nested": 1}[name]


def test_stages_know_their_branches() -> None:
    found = [(stage["where"], stage["branch"], stage["plugin"]) for stage in PIPES["a mixture"].plan().stages]
    assert found[:6] == [("combine", None, "mix"), ("branch", 0, None), ("source", 0, "arrays"), ("open", 0, None), ("late", 0, None),
                         ("late", 0, "cast")]
    assert found[6:9] == [("branch", 1, None), ("source", 1, "arrays"), ("open", 1, "shuffle")]
    assert found[11:14] == [("records", None, "shuffle"), ("batch", None, "batch"), ("late", None, None)]


def test_the_command_prints_them(tmp_path: pathlib.Path) -> None:
    fb.write_records(tmp_path / "a", [fb.encode_example({"x": [1]})])
    pipe = fb.tfrecord(str(tmp_path / "a")).example({"x": fb.fixed("int64")}).shuffle(buffer=3).batch(1)
    document = tmp_path / "doc.json"
    document.write_text(pipe.to_json())
    printed = subprocess.run([COMMAND, "explain", str(document), "--json"], capture_output=True, text=True, timeout=60, check=True).stdout
    assert json.loads(printed)["stages"] == pipe.plan().stages
