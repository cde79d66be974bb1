# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT, write_counts

import forebay as fb


@pytest.fixture
def pipeline(tmp_path):
    path = write_counts(tmp_path, 40)
    return (fb.tfrecord(path).example({"x": fb.feature("float32", [2]), "y": fb.feature("int64", [], default=0)})
            .shuffle(buffer=10).slice("x", "[1:]").batch(size=16, remainder="drop").epochs(3).seed(7))


def test_a_pipeline_is_its_document(pipeline):
    document = json.loads(pipeline.to_json())
    assert document == pipeline.to_dict()
    assert {name: value for name, value in document.items() if name != "source"} == {
        "decode": {"example": {"features": {"x": {"dtype": "float32", "shape": [2]},
                                            "y": {"dtype": "int64", "default": 0}}}},
        "steps": [{"shuffle": {"buffer": 10}}, {"slice": {"tensor": "x", "slice": "[1:]"}},
                  {"batch": {"size": 16, "remainder": "drop"}}],
        "epochs": 3, "seed": 7}
    assert pipeline.plan().hash == fb.load(document).plan.hash


def test_a_pipeline_gives_the_stream_of_its_document(pipeline):
    calls, document = list(pipeline.load(threads=2)), list(fb.load(pipeline.to_dict(), threads=1))
    assert len(calls) == len(document) == 7
    assert all(np.array_equal(one[name], other[name]) for one, other in zip(calls, document) for name in one)


def test_every_method_leaves_the_pipeline_as_it_was(pipeline):
    before = pipeline.to_json()
    pipeline.take(3), pipeline.epochs(None), pipeline.seed(1), pipeline.deterministic(False), pipeline.map(dict)
    pipeline.epoch_boundary(), pipeline.inputs(["x"]), pipeline.targets(["y"])
    pipeline.to_dict()["steps"].clear()
    assert pipeline.to_json() == before


def test_members_of_the_document_have_methods(pipeline):
    document = pipeline.epochs(None).epoch_boundary().deterministic(False).inputs(["x"]).targets(("y",)).to_dict()
    assert {name: document[name] for name in ("epochs", "epoch_boundary", "deterministic", "inputs", "targets")} == {
        "epochs": None, "epoch_boundary": "hard", "deterministic": False, "inputs": ["x"], "targets": ["y"]}


def test_explain_names_every_plugin_and_the_nearest_to_a_wrong_one():
    everything = fb.explain()
    assert all(name in everything for name in ("tfrecord", "example", "slice", "shuffle", "batch"))
    assert fb.explain("slice").startswith("slice (step)")
    with pytest.raises(fb.ConfigError, match="slice"):
        fb.explain("slise")


def test_the_schema_of_documents_is_json_schema():
    assert fb.json_schema()["$schema"].startswith("https://json-schema.org/")


def test_checked_in_stubs_and_builder_are_up_to_date(tmp_path):
    subprocess.run([sys.executable, str(ROOT / "python/tools/make_stubs.py"), str(tmp_path)], check=True)
    package = ROOT / "python/forebay"
    for name in ("_core.pyi", "builder.py"):
        fresh, kept = (tmp_path / name).read_text(), (package / name).read_text()
        assert fresh == kept, f"run python/tools/make_stubs.py: {name} is old"


PROGRAM = '''
import forebay as fb
import numpy as np
source = fb.tfrecord("a").example({"x": fb.feature("float32", [2], default=0)})
pipe = source.shuffle(buffer=3).batch(4, remainder="drop").epochs(None)
loader: fb.Loader = pipe.load(threads=2, memory="1GiB")
for batch in loader:
    rows: int = batch.rows
    names: list[str] = list(batch)
    keys: list[str] = list(batch.keys)
    plain = dict(batch)
    total = np.sum(batch["x"])
fb.write_records("a", [fb.encode_example({"x": 1})], compression="gzip")
text: str = fb.explain("slice")
WRONG
'''


def check_types(folder: pathlib.Path, wrong: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(PROGRAM.replace("WRONG", wrong))
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "program.py"], cwd=folder,
                          capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(ROOT / "python")})


def test_a_correct_program_has_no_type_errors(tmp_path):
    checked = check_types(tmp_path, "")
    assert checked.returncode == 0, checked.stdout


def test_a_wrong_argument_is_a_type_error(tmp_path):
    checked = check_types(tmp_path, "pipe.shuffle(buffer='many')")
    assert '"str"; expected "int | None"' in checked.stdout


def test_the_package_itself_has_no_type_errors(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", str(tmp_path), "-p", "forebay"]
    checked = subprocess.run(command, cwd=ROOT / "python", capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
