# SPDX-License-Identifier: Apache-2.0
"""What users of other packages write first."""
from __future__ import annotations

import pathlib
import sys

import pytest
from conftest import run_python
from streams import examples

import forebay as fb


def test_a_global_shuffle_is_asked_for_by_name(parts: list[str]) -> None:
    assert examples(parts).shuffle("global").to_dict() == examples(parts).shuffle(global_=True).to_dict()
    assert examples(parts).shuffle(1000).to_dict() == examples(parts).shuffle(buffer=1000).to_dict()
    with pytest.raises(fb.ConfigError, match="buffer"):
        examples(parts).shuffle().batch(2).plan()


@pytest.mark.parametrize("found, meant", [("float", "float32"), ("double", "float64"), ("int", "int64"), ("str", "string")])
def test_a_dtype_of_another_package_is_named_as_it_is_here(found: str, meant: str) -> None:
    with pytest.raises(fb.ConfigError, match=f"'{found}'; did you mean '{meant}'"):
        fb.fixed(found)  # type: ignore[arg-type]


def test_none_in_a_shape_is_an_unknown_size() -> None:
    assert fb.fixed_len_sequence("int64", [None, 3]) == fb.fixed_len_sequence("int64", [-1, 3])  # type: ignore[list-item]
    rows = fb.Feed({"x": fb.fixed("int64", [None, 1])})  # type: ignore[list-item]
    loader = fb.feed(rows).batch(2).load()
    rows.put({"x": [[1], [2]]})
    rows.put({"x": [[3]]})
    rows.close()
    assert next(loader)["x"].to_list() == [[[1], [2]], [[3]]]


def test_a_batch_of_records_that_are_not_decoded_says_what_is_missing(parts: list[str]) -> None:
    with pytest.raises(AttributeError, match=r"not decoded yet; call one of \.example\(…\).* before \.batch"):
        fb.tfrecord(parts).batch(2)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'btach'$"):
        fb.tfrecord(parts).btach  # type: ignore[attr-defined]


def test_a_source_shows_what_it_reads(parts: list[str]) -> None:
    assert repr(fb.tfrecord("a.tfrecord", compression="gzip")) == "forebay.tfrecord(files=['a.tfrecord'], compression='gzip')"


def test_a_loader_has_no_batches_by_number_and_a_pipeline_no_length(parts: list[str]) -> None:
    pipe = examples(parts).batch(2)
    with pytest.raises(TypeError, match=r"a Loader gives batches in order, not by number: loop over it"), pipe.load() as loader:
        loader[0]
    with pytest.raises(TypeError, match=r"a Pipeline .* has no length; `.plan\(\).batches` is the number of its batches"):
        len(pipe)
    assert pipe and pipe.load()


def test_a_notebook_completes_the_names_of_tensors(pipe: fb.Pipeline) -> None:
    with pipe.load() as loader:
        assert next(loader)._ipython_key_completions_() == ["id", "x", "name", "tokens"]
    assert fb.Batch({"a": 1})._ipython_key_completions_() == ["a"]


def test_help_and_members_work_without_the_frameworks() -> None:
    done = run_python("import sys; sys.modules['jax'] = None\nimport inspect, pydoc, forebay as fb\n"
                      "inspect.getmembers(fb); print(len(pydoc.render_doc(fb)) > 1000, hasattr(fb, 'jax'))")
    assert done.stdout == "True False\n", done.stderr


def test_drop_remainder_is_remainder(parts: list[str]) -> None:
    pipe = examples(parts)
    assert pipe.batch(2, drop_remainder=True).to_dict() == pipe.batch(2, remainder="drop").to_dict()
    assert pipe.batch(2, drop_remainder=False).to_dict() == pipe.batch(2).to_dict()
    with pytest.raises(fb.ConfigError, match="drop_remainder: False contradicts remainder='drop'"):
        pipe.batch(2, remainder="drop", drop_remainder=False)
    with pytest.raises(TypeError, match="drop_remainder: must be True or False; found 1"):
        pipe.batch(2, drop_remainder=1)  # type: ignore[arg-type]


def test_an_option_without_effect_is_a_fault() -> None:
    with pytest.raises(fb.ConfigError, match="'row_splits_dtype' is only for ragged \\(the row splits of other kinds are int64\\), not for var_len"):
        fb.tfrecord("none").example({"x": fb.feature("int64", kind="var_len", row_splits_dtype="int32")}).batch(1).plan()
    with pytest.raises(fb.ConfigError, match="'validate' is only for ragged, not for fixed_len"):
        fb.tfrecord("none").example({"x": fb.feature("int64", validate=False)}).batch(1).plan()


def test_a_label_that_does_not_fit_is_an_error_when_asked_for(tmp_path: pathlib.Path) -> None:
    fb.write_records(tmp_path / "a.tfrecord", [fb.encode_example({"label": label}) for label in (3, 255, 300, 7)])
    labels = fb.tfrecord(tmp_path / "a.tfrecord").example({"label": fb.fixed("int64")})
    with labels.cast("label", "uint8").batch(4).load() as loader:
        assert next(loader)["label"].tolist() == [3, 255, 44, 7]
    with labels.cast("label", "uint8", out_of_range="error").batch(4).load() as loader:
        with pytest.raises(fb.DataError, match=r"a.tfrecord, record 2, .*'label'.*: 300 is outside the range of uint8; give `dtype` "):
            next(loader)
    with labels.cast("label", "uint8", out_of_range="error").batch(4, remainder="keep").on_corrupt("skip_row").load() as loader:
        assert [batch["label"].tolist() for batch in loader] == [[3, 255, 7, 0]]  # the row of 300 is padding


def test_a_run_whose_data_are_smaller_than_a_batch_says_so(parts: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with examples(parts).batch(10**6, remainder="drop").load() as loader:
        assert list(loader) == []
    said = "forebay: this run gave no batch: what is left of 306 records does not fill one; make the batches smaller, or give the rest, too"
    assert capfd.readouterr().err.count(said) == 1
    with examples(parts).batch(100, remainder="drop").load() as loader:
        state = [loader.state_dict() for _ in loader][-1]
    with examples(parts).batch(100, remainder="drop").load() as loader:
        loader.load_state_dict(state)
        assert list(loader) == []
    assert "no batch" not in capfd.readouterr().err


@pytest.mark.parametrize("files, message", [
    ("az://bucket/x", "/source/tfrecord/files/0: 'az://bucket/x': only local files can be read without the package fsspec; `pip install "
                      "fsspec adlfs`, or name a reader of your own with forebay.add_file_system('az', …)"),
    ("hf://bucket/x-*", "/source/tfrecord/files/0: 'hf://bucket/x-*': only local files can be read without the package fsspec; `pip "
                        "install fsspec huggingface_hub`, or name a reader of your own with forebay.add_file_system('hf', …)"),
    ("{folder}", "/source/tfrecord/files/0: cannot read '{folder}': it is a folder, not a regular file; '{folder}/*' names the files in it"),
])
def test_what_is_no_file_is_one_fault_with_the_way_out(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, files: str,
                                                       message: str) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises((fb.ConfigError, fb.IoError)) as caught:
        examples([files.format(folder=tmp_path)]).batch(2).plan()
    assert str(caught.value) == message.format(folder=tmp_path)


def test_a_missing_file_that_the_source_looks_into_is_one_fault(tmp_path: pathlib.Path) -> None:
    with pytest.raises(fb.IoError) as caught:
        fb.npz(tmp_path / "none.npz").batch(2).plan()
    assert str(caught.value).count("No such file or directory") == 1


def test_a_state_of_one_file_says_one_file(parts: list[str]) -> None:
    with examples(parts[:1]).batch(2).load() as one, examples(parts).batch(2).load() as more:
        with pytest.raises(fb.StateError, match=r"; then 1 file with \d+ bytes, now 5 files with \d+ bytes; a restart"):
            more.load_state_dict(one.state_dict())


def test_more_open_files_than_the_system_allows_is_an_error_with_the_way_out(tmp_path: pathlib.Path) -> None:
    for number in range(100):
        fb.write_records(tmp_path / f"{number}.tfrecord", [fb.encode_example({"id": number})])
    done = run_python("import resource, sys, forebay as fb\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
                      "pipe = fb.tfrecord(sys.argv[1]).example({'id': fb.fixed('int64')}).interleave(cycle=90).batch(2)\n"
                      "try: print(len(list(pipe.load())))\nexcept fb.IoError as problem: print(problem)", str(tmp_path / "*"))
    assert done.stdout.rstrip().endswith("Too many open files; raise `ulimit -n`, or have fewer files open at once: a lower `cycle`, fewer threads")
