# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from command import forebay
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


def test_every_member_of_a_pipeline_document_has_a_method(pipeline):
    (schema,) = [one for one in fb.json_schema()["anyOf"] if "steps" in one.get("properties", {})]
    # `decode` of a pipeline is the step; the methods of a source name the decoder of its records.
    assert [name for name in schema["properties"] if not hasattr(fb.Pipeline, name)] == ["source", "steps", "$schema"]
    document = pipeline.threads(2).memory("1GiB").prefetch(3).shard((0, 2)).to_dict()
    assert {name: document[name] for name in ("threads", "memory", "prefetch", "shard")} == {
        "threads": 2, "memory": "1GiB", "prefetch": 3, "shard": (0, 2)}
    assert pipeline.threads(2).memory("1GiB").prefetch(3).shard((0, 2)).plan().batches == pipeline.plan().batches


def test_on_corrupt_has_the_options_of_the_document(pipeline):
    assert pipeline.on_corrupt("skip_record").to_dict()["on_corrupt"] == "skip_record"
    assert pipeline.on_corrupt("skip_file", max_count=3, max_consecutive=100).to_dict()["on_corrupt"] == {
        "policy": "skip_file", "max_count": 3}
    with pytest.raises(fb.ConfigError, match="^/on_corrupt/max_fraction: .*from 0 to 1"):
        pipeline.on_corrupt("skip_record", max_fraction=2.0).plan()


def test_on_corrupt_passes_over_a_corrupt_record(tmp_path):
    path = pathlib.Path(write_counts(tmp_path, 10))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    pipe = fb.tfrecord(path).example({"y": fb.feature("int64")}).batch(20)
    with pytest.raises(fb.DataError):
        next(pipe.load())
    assert next(pipe.on_corrupt("skip_record").load())["y"].tolist() == [*range(9)]


@pytest.mark.parametrize("dtype, name", [
    (np.float32, "float32"), (np.dtype("int16"), "int16"), (float, "float64"), (int, "int64"), (bool, "bool"), (complex, "complex128"), (bytes, "string"),
    (str, "string"), (np.bytes_, "string"), ("float16", "float16")])
def test_an_element_type_may_be_numpys_or_pythons(pipeline, dtype, name):
    assert fb.feature(dtype) == {"dtype": name}
    assert pipeline.cast("x", dtype).to_dict()["steps"][-1] == {"cast": {"tensor": "x", "dtype": name}}


@pytest.mark.parametrize("dtype", [object, np.dtype(">f4"), np.datetime64, np.dtype("S3"), None, 5, list, fb.Batch])
def test_what_is_no_element_type_is_refused_with_those_there_are(dtype):
    with pytest.raises(TypeError, match=r"^dtype: must be one of bool, int8, .*, complex128, string, or NumPy's or Python's type"):
        fb.feature(dtype)


def test_each_kind_of_feature_has_a_function_with_its_own_options():
    assert fb.fixed("int64", [2], default=[0, 1]) == fb.feature("int64", [2], default=[0, 1])
    assert fb.var_len(np.int32, as_="sparse") == fb.feature("int32", kind="var_len", as_="sparse")
    assert fb.fixed_len_sequence("float32", [2]) == fb.feature("float32", [2], kind="fixed_len_sequence")
    assert fb.sparse("float32", index_key="i", value_key="v", size=9) == fb.feature(
        "float32", kind="sparse", index_key="i", value_key="v", size=9)
    assert fb.ragged("int64", value_key="v", partitions=[("row_splits", "s")], validate=False) == fb.feature(
        "int64", kind="ragged", value_key="v", partitions=[("row_splits", "s")], validate=False)
    assert fb.raw("uint8", [3], endian="little") == fb.feature("uint8", [3], kind="raw", endian="little")
    with pytest.raises(TypeError, match="endian"):
        fb.raw("uint8", [3])
    with pytest.raises(TypeError, match="partitions"):
        fb.fixed("uint8", partitions=[])


def test_the_first_option_of_an_order_may_be_given_by_place(pipeline):
    assert pipeline.shuffle(100).to_dict() == pipeline.shuffle(buffer=100).to_dict()


def test_names_may_be_one_or_several(pipeline):
    assert pipeline.inputs("x").targets("y").to_dict() == pipeline.inputs(["x"]).targets(("y",)).to_dict()
    with pytest.raises(TypeError, match=r"^inputs\[1\]: must be a name; found 5 \(int\)$"):
        pipeline.inputs(["x", 5])
    with pytest.raises(TypeError, match=r"^targets: must be a name or a list of names; found None"):
        pipeline.targets(None)


def test_explain_names_every_plugin_and_the_nearest_to_a_wrong_one():
    everything = fb.explain()
    assert all(name in everything for name in ("tfrecord", "example", "slice", "shuffle", "batch"))
    assert fb.explain("slice").startswith("slice (step)")
    with pytest.raises(fb.ConfigError, match=r"there is no plug-in, .* 'slise'; did you mean 'slice'\? explain\(\) lists them all$"):
        fb.explain("slise")


def test_explain_knows_the_parts_of_documents_and_the_kinds_of_features_as_the_command_does():
    for name, kind in (("pipeline", "document part"), ("feature", "document part"), ("manifest", "document part"), ("var_len", "feature")):
        text = fb.explain(name)
        assert text.startswith(f"{name} ({kind}): ") and re.search(rf"^{kind} +{name} ", fb.explain(), re.M)
        assert forebay("explain", name).stdout.startswith(f"{name} ({kind})\n")


def test_the_schema_of_documents_is_json_schema():
    assert fb.json_schema()["$schema"].startswith("https://json-schema.org/")


def test_checked_in_stubs_and_builder_are_up_to_date(tmp_path):
    subprocess.run([sys.executable, str(ROOT / "python/tools/make_stubs.py"), str(tmp_path)], check=True)
    package = ROOT / "python/forebay"
    written = sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.py*"))
    assert {"_core.pyi", "builder.py", "features.py", "_builder/steps.py"} <= set(written)
    for name in written:
        fresh, kept = (tmp_path / name).read_text(), (package / name).read_text()
        assert fresh == kept, f"run python/tools/make_stubs.py: {name} is old"


PROGRAM = '''
from collections.abc import KeysView, Mapping
from typing import Any

import forebay as fb
import numpy as np
source = fb.tfrecord("a").example({"x": fb.feature("float32", [2], default=0)})
pipe = source.shuffle(buffer=3).batch(4, remainder="drop").epochs(None)
loader: fb.Loader = pipe.load(threads=2, memory="1GiB")
for batch in loader:
    rows: int = batch.rows
    names: list[str] = list(batch)
    keys: KeysView[str] = batch.keys()
    records: list[str] = batch.record_keys
    plain = dict(batch)
    total = np.sum(batch["x"])
fb.write_records("a", [fb.encode_example({"x": 1})], compression="gzip")
text: str = fb.explain("slice")
schema: dict[str, Any] = fb.json_schema()
version: str = fb.__version__
small: np.dtype[Any] = fb.bfloat16
mapping: Mapping[str, Any] = batch
tensors = fb.torch.to(batch)
fb.write_records("a", [b"a", bytearray(b"b"), memoryview(b"c")])
fb.decode_example(memoryview(b""))
fb.load("a", shard=[0, 2])
fb.load({}, shard=(0, 2))
fb.load({}, shard={"index": 0, "count": 2, "by": "file"})
corrupt = pipe.on_corrupt("skip_record", max_fraction=0.1).inputs("x")
kinds = [fb.fixed("int64", [], default=0), fb.var_len("string"), fb.raw("uint8", [3], endian="little"),
         fb.sparse("float32", index_key=["i", "j"], value_key="v", size=[2, 3]),
         fb.ragged("int64", partitions=[("row_splits", "s"), ("uniform_row_length", 2)])]
typed = [fb.feature(np.float32), fb.feature(np.dtype("int64")), fb.feature(float)]
WRONG
'''


def test_programs_are_checked_by_their_types(tmp_path):
    said = {"pipe.shuffle(buffer='many')": '"Literal[\'many\']"; expected "int | Literal[\'global\'] | None"',
            "fb.explian('slice')": 'Module has no attribute "explian"', "fb.explain(5)": '"explain" has incompatible type "int"',
            "number: int = fb.json_schema()": 'expression has type "dict[str, Any]"',
            "pipe.batch(4, remainder='dorp')": 'to "batch" of "Batchers" has incompatible type "Literal[\'dorp\']"',
            "pipe.cast('x', 'flaot32')": 'to "cast" of "Steps" has incompatible type "Literal[\'flaot32\']"',
            "fb.tfrecord('a', compression='zip')": 'to "tfrecord" has incompatible type "Literal[\'zip\']"',
            "batch['x'] = 1": "Unsupported target for indexed assignment",
            "fb.decode_example(5)": '"decode_example" has incompatible type "int"'}
    (tmp_path / "right.py").write_text(PROGRAM.replace("WRONG", ""))
    (tmp_path / "wrong.py").write_text(PROGRAM.replace("WRONG", "\n".join(said)))
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "right.py", "wrong.py"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True,
                             env={**os.environ, "MYPYPATH": str(ROOT / "python")})
    errors = [line for line in checked.stdout.splitlines() if ": error: " in line]
    assert [line for line in errors if not line.startswith("wrong.py:")] == [], "a right program has no errors"
    assert [text in line for text, line in zip(said.values(), errors)] == [True] * len(said) == [True] * len(errors), errors


def test_dir_shows_what_there_is_and_nothing_else():
    shown = [name for name in dir(fb) if not name.startswith("__")]
    packages = {"jax": "jax", "tf": "tensorflow", "torch": "torch"}   # of frameworks that are not installed there is no module
    later = [name for name in ("bfloat16", "jax", "returnn", "slim", "text", "tf", "tf1", "torch")
             if name not in packages or importlib.util.find_spec(packages[name])]
    assert shown == sorted([*(name for name in fb.__all__ if not name.startswith("__")), *later])
    assert all(hasattr(fb, name) for name in fb.__all__)
    with pytest.raises(AttributeError, match="^module 'forebay' has no attribute 'nonsense'$"):
        fb.nonsense


def test_the_package_itself_has_no_type_errors(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", str(tmp_path), "-p", "forebay"]
    checked = subprocess.run(command, cwd=ROOT / "python", capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
