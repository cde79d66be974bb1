# SPDX-License-Identifier: Apache-2.0
"""The loaders continuous_sequence and discrete_sequence of the JSON loader, whole runs against NumPy."""
from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from command import forebay

import forebay as fb

LENGTHS = [[7, 0, 12, 3, 25, 1], [4, 4], [], [9, 30, 2, 2, 2, 11]]   # frames of each record, by file
FEATURES = [
    {"name": "x", "dtype": "float32", "shape": [2], "deserialize_type": "float", "var_len": True},
    {"name": "pcm", "dtype": "int16", "shape": [3], "deserialize_type": "raw", "deserialize_args": {"endian": "big"},
     "var_len": True},
    {"name": "word", "dtype": "string", "shape": [], "deserialize_type": "string", "var_len": True},
    {"name": "two", "dtype": "int32", "shape": [2], "deserialize_type": "int", "var_len": True},
    {"name": "id", "dtype": "int64", "shape": [], "deserialize_type": "int", "var_len": False}]
NAMES = ("x", "pcm", "word", "two")
Row = dict[str, np.ndarray]


def _row(file: int, record: int, count: int) -> Row:
    """`two` has one step more than the others."""
    first = 1000 * file + 100 * record
    frames = first + np.arange(count)
    return {"x": np.stack([frames, frames / 4], 1).astype(np.float32).reshape(count, 2),
            "pcm": (frames[:, None] + [0, 1, 2]).astype(np.int16).reshape(count, 3),
            "word": np.array([b"w" * (i % 4) + str(i).encode() for i in frames.tolist()], object),
            "two": np.stack([np.arange(count + 1), first + np.arange(count + 1)], 1).astype(np.int32)}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("sequences")
    (folder / "__manifest__.json").write_text(json.dumps({"compression": None, "allow_var_len": True, "features": FEATURES}))
    for file, records in enumerate(_rows()):
        messages = []
        for number, row in enumerate(records):
            lists = {**row, "pcm": [frame.astype(">i2").tobytes() for frame in row["pcm"]]}
            messages.append(fb.encode_sequence_example({"id": 10 * file + number}, lists))
        fb.write_records(folder / f"part-{file}.tfrecords", messages)
    return folder


def _rows() -> list[list[Row]]:
    return [[_row(file, record, count) for record, count in enumerate(lengths)] for file, lengths in enumerate(LENGTHS)]


def _document(data: pathlib.Path, kind: str, names: tuple[str, ...] = ("x", "pcm", "word"), **args: Any) -> dict[str, Any]:
    return {"type": kind, "args": {
        "dataset": {"type": "dir", "args": {"data_dir": str(data)}}, "target_batch_size": 4, "drop_remainder": False,
        "epochs": 1, "num_read_buffer_bytes": 0, "num_prefetch": 1,
        "primary_features": [{"from_name": name, "to_name": name} for name in names], **args}}


def _windows(document: dict[str, Any], **run: Any) -> list[Row]:
    """Every row of every batch, without its padding."""
    out = []
    with fb.load(document, **run) as loader:
        for batch in loader:
            lengths = dict(batch.lengths)
            out += [{name: value[row] if name not in lengths else value[row][:lengths[name][row]]
                     for name, value in batch.items()} for row in range(batch.rows)]
    return out


def _joined(rows: list[Row], names: tuple[str, ...]) -> Row:
    return {name: np.concatenate([row[name] for row in rows]) for name in names}


def _same(got: list[Row], want: list[Row]) -> None:
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert one.keys() == other.keys()
        for name, value in one.items():
            assert value.dtype == other[name].dtype and value.shape == other[name].shape and (value == other[name]).all()


@pytest.mark.parametrize("size, stride", [(5, 3), (3, None), (2, 20), (40, 7), (90, 1)])
@pytest.mark.parametrize("threads", [1, 8])
def test_continuous_windows_are_those_of_numpy(data, size, stride, threads):
    names, want = ("x", "pcm", "word"), []
    for records in filter(None, _rows()):
        frames = _joined(records, names)
        want += [{name: frames[name][at:at + size] for name in names}
                 for at in range(0, len(frames["x"]) - size + 1, stride or size)]
    args = {"min_window": size, "max_window": size, "stride": stride}
    _same(_windows(_document(data, "continuous_sequence", **args), threads=threads), want)


@pytest.mark.parametrize("last", ["drop", "keep_if_min", "keep"])
def test_the_last_window_of_a_file_is_dropped_or_kept(data, last):
    want = []
    for records in filter(None, _rows()):
        frames = _joined(records, ("x",))["x"]
        whole = len(frames) // 6 * 6
        want += [{"x": frames[at:at + 6]} for at in range(0, len(frames), 6) if at < whole or last == "keep"]
    args = {"min_window": 6, "max_window": 6, "last_window": last, "padding": True}
    _same(_windows(_document(data, "continuous_sequence", ("x",), **args)), want)


@pytest.mark.parametrize("draw", ["per_window", "per_file"])
def test_drawn_windows_are_within_their_bounds_and_follow_each_other(data, draw):
    args = {"min_window": 2, "max_window": 5, "min_stride": 1, "max_stride": 4, "window_draw": draw, "padding": True, "epochs": 3}
    document = _document(data, "continuous_sequence", ("x",), **args)
    got = _windows(document, threads=1)
    _same(_windows(document, threads=8), got)
    frames = [_joined(records, ("x",))["x"][:, 0].tolist() for records in filter(None, _rows())]
    place = {value: (file, at) for file, values in enumerate(frames) for at, value in enumerate(values)}
    sizes, strides, passes, before = set(), set(), [], None
    for window in got:
        file, at = place[window["x"][0, 0]]
        assert window["x"][:, 0].tolist() == frames[file][at:at + len(window["x"])]
        if at == 0:
            passes.append((set(), set()))
        else:
            assert before is not None and before[0] == file
            passes[-1][1].add(at - before[1])
        passes[-1][0].add(len(window["x"]))
        before = file, at
    for drawn, steps in passes:
        sizes |= drawn
        strides |= steps
        if draw == "per_file":
            assert len(drawn) == 1 and len(steps) <= 1
    assert sizes <= {2, 3, 4, 5} and strides <= {1, 2, 3, 4} and len(sizes) > 2 and len(strides) > 2
    assert len(passes) == 9  # every file that is not empty, in each epoch


@pytest.mark.parametrize("last", ["drop", "keep"])
@pytest.mark.parametrize("threads", [1, 8])
def test_discrete_windows_are_whole_records_whose_tensors_may_differ_in_length(data, last, threads):
    want = []
    for records in _rows():
        for at in range(0, len(records), 4):
            if at + 4 <= len(records) or last == "keep":
                want.append(_joined(records[at:at + 4], NAMES))
    args = {"min_window": 4, "max_window": 4, "last_window": last, "padding": True}
    _same(_windows(_document(data, "discrete_sequence", NAMES, **args), threads=threads), want)


def test_discrete_windows_of_drawn_sizes_keep_every_record_once(data):
    args = {"min_window": 1, "max_window": 3, "last_window": "keep", "padding": True}
    document = _document(data, "discrete_sequence", ("x", "two"), **args)
    for name in ("x", "two"):
        got = np.concatenate([window[name] for window in _windows(document)])
        assert (got == np.concatenate([row[name] for records in _rows() for row in records])).all()


def _splits(rows: list[Row]) -> list[int]:
    return [0, *np.cumsum([len(row["two"]) for row in rows]).tolist()]


def test_splits_say_where_the_records_of_a_window_lie(data):
    pipe = fb.tfrecord(str(data / "*.tfrecords")).sequence_example(
        lists={"two": fb.fixed_len_sequence("int32", [2]), "x": fb.fixed_len_sequence("float32", [2])})
    cut = pipe.discrete(4, 4, splits="at", tail="keep")
    want = [_splits(records[at:at + 4]) for records in _rows() for at in range(0, len(records), 4)]
    for threads in (1, 8):
        got = [batch["at"] for batch in cut.batch(size=3).load(threads=threads)]
        assert [row.tolist() for batch in got for row in batch] == want
        padded = [(batch["at"], batch.lengths["at"]) for batch in cut.batch(size=3, pad=True).load(threads=threads)]
        assert [row[:size].tolist() for rows, sizes in padded for row, size in zip(rows, sizes)] == want
    fixed = pipe.discrete(2, 2, splits="at").batch(size=4, remainder="pad", pad=True).load()
    got = np.concatenate([batch["at"] for batch in fixed])
    pairs = [_splits(records[at:at + 2]) for records in _rows() for at in range(0, len(records) - 1, 2)]
    assert got.dtype == np.int32 and got[:len(pairs)].tolist() == pairs and not got[len(pairs):].any()
    long = cut.filter("length(at) == 5").batch(size=3, pad=True).load()
    assert [row.tolist() for batch in long for row in batch["at"]] == [row for row in want if len(row) == 5]


def test_steps_and_secondary_features_act_on_records_and_normalization_on_windows(data):
    want = []
    for records in filter(None, _rows()):
        x = np.concatenate([row["x"][1:] for row in records])
        ones = np.concatenate([np.ones((max(len(row["x"]) - 1, 0), 2)) for row in records])
        for at in range(0, len(x) - 3, 4):
            window = x[at:at + 4].astype(np.float64)
            centred = (window - window.mean(0)) / (np.sqrt(window.var(0) + 1e-8) + 1e-8)
            want.append((centred.astype(np.float32), ones[at:at + 4]))
    args = {"min_window": 4, "max_window": 4, "normalization": [{"tensor": "x", "axis": 0}],
            "secondary_features": [{"to_name": "m", "type": "ones", "args": {"shape": "x", "dtype": "float32"}}],
            "processing_steps": [{"tensor": "x", "type": "slice", "args": {"slice": "[1:]"}},
                                 {"tensor": "m", "type": "slice", "args": {"slice": "[1:]"}}]}
    got = _windows(_document(data, "continuous_sequence", ("x",), **args))
    assert len(got) == len(want) > 10
    for window, (x, ones) in zip(got, want, strict=True):
        np.testing.assert_allclose(window["x"], x, atol=1e-5)
        assert (window["m"] == ones).all()


@pytest.mark.parametrize("name", ["in/x", "a `b` \\n", "7"])
def test_a_tensor_may_have_any_name(data, name):
    document = _document(data, "continuous_sequence", ("x",), min_window=9, max_window=9)
    document["args"]["primary_features"][0]["to_name"] = name
    plain = _windows(_document(data, "continuous_sequence", ("x",), min_window=9, max_window=9))
    _same([{"x": window[name]} for window in _windows(document)], plain)


SHUFFLED = {"shuffle": True, "num_shuffle_buffer_elements": 8, "num_filenames_shuffle_buffer": 3, "num_mix_files": 3,
            "padding": True, "epochs": 2}


@pytest.mark.parametrize("kind, args", [
    ("continuous_sequence", {"min_window": 2, "max_window": 6, "min_stride": 1, "max_stride": 9, **SHUFFLED}),
    ("continuous_sequence", {"min_window": 40, "max_window": 40, "stride": 2}),
    ("discrete_sequence", {"min_window": 1, "max_window": 3, "last_window": "keep", **SHUFFLED})])
def test_a_restart_at_every_batch_gives_the_rest_for_any_number_of_threads(data, kind, args):
    document = _document(data, kind, **args)
    batches, states = [], []
    with fb.load(document, threads=2) as loader:
        states.append(loader.state_dict())
        for batch in loader:
            batches.append({name: value.tolist() for name, value in batch.items()})
            states.append(loader.state_dict())
    assert len(batches) > 2
    for at, state in enumerate(states):
        with fb.load(document, threads=1 + 7 * (at % 2)) as again:
            again.load_state_dict(state)
            assert [{name: value.tolist() for name, value in batch.items()} for batch in again] == batches[at:]


def test_a_corrupt_record_ends_its_window_and_no_window_lies_on_both_sides_of_it(data, tmp_path):
    lowered = json.loads(forebay("explain", "--lowered", _written(tmp_path, data, "discrete_sequence", 2)).stdout)
    file = tmp_path / "part-0.tfrecords"
    content = bytearray((data / "part-0.tfrecords").read_bytes())
    content[_offset(data, 2) + 40] ^= 1
    file.write_bytes(content)
    lowered["source"]["tfrecord"]["files"] = [str(file)]
    with pytest.raises(fb.DataError, match="record 2"):
        _windows(lowered)
    rows = _rows()[0]
    want = [_joined(rows[:2], ("x",)), _joined(rows[3:5], ("x",)), _joined(rows[5:], ("x",))]
    for threads in (1, 8):
        _same(_windows({**lowered, "on_corrupt": "skip_record"}, threads=threads), want)


@pytest.mark.parametrize("threads", [1, 8])
def test_malformed_sequences_are_faults_of_their_record_or_are_skipped(tmp_path, threads):
    def message(number: int) -> bytes:
        steps = [[number, step] for step in range(number % 5)]
        if number % 7 == 3:
            steps.append([0.5, 1.5])         # of another kind
        if number % 11 == 5:
            steps.append([number])           # too few values
        lists = {"other": steps} if number % 13 == 8 else {"x": steps}
        whole = fb.encode_sequence_example({"id": number}, lists)
        return whole[:-3] if number % 17 == 6 else whole

    good = [i for i in range(200) if i % 7 != 3 and i % 11 != 5 and i % 13 != 8 and i % 17 != 6]
    fb.write_records(tmp_path / "a", [message(number) for number in range(200)])
    pipe = fb.tfrecord(str(tmp_path / "a")).sequence_example(
        {"id": fb.fixed("int64")}, lists={"x": fb.fixed_len_sequence("int64", [2])}).batch(size=16, pad=True)
    document = {**pipe.to_dict(), "on_corrupt": "skip_record"}
    with fb.load(document, threads=threads) as loader:
        rows = [(int(number), row[:length].tolist()) for batch in loader
                for number, row, length in zip(batch["id"], batch["x"], batch.lengths["x"])]
    assert rows == [(i, [[i, step] for step in range(i % 5)]) for i in good]
    with pytest.raises(fb.DataError, match="record 3.*feature 'x': step 3: expected a list of int64, found a list of float"):
        list(pipe.load(threads=threads))


def _written(folder: pathlib.Path, data: pathlib.Path, kind: str, size: int, **args: Any) -> pathlib.Path:
    path = folder / "loader.json"
    args = {"min_window": size, "max_window": size, "last_window": "keep", "padding": True, **args}
    path.write_text(json.dumps(_document(data, kind, ("x",), **args)))
    return path


def _offset(data: pathlib.Path, record: int) -> int:
    """The first byte of a record, after its header."""
    return sum(16 + len(one) for one in fb.read_records(data / "part-0.tfrecords")[:record]) + 12


@pytest.mark.parametrize("kind, rows", [("continuous_sequence", 10 + 2 + 12), ("discrete_sequence", 1 + 1 + 1)])
def test_the_command_runs_the_documents(data, tmp_path, kind, rows):
    size = 5 if kind == "continuous_sequence" else 6
    done = forebay("run", _written(tmp_path, data, kind, size), "--json")
    assert (done.returncode, json.loads(done.stdout)["rows"]) == (0, rows), done.stderr
    assert forebay("check", tmp_path / "loader.json").returncode == 0
    typo = forebay("check", _written(tmp_path, data, kind, size, max_windows=3))
    assert typo.returncode == 2 and "'max_windows'" in typo.stderr and "'max_window'" in typo.stderr


def test_what_cannot_be_joined_is_refused(data):
    args = {"min_window": 2, "max_window": 2}
    with pytest.raises(fb.ConfigError, match=r"tensor 'id' has the shape \[\], so it has no time axis"):
        fb.load(_document(data, "continuous_sequence", ("x", "id"), **args))
    with pytest.raises(fb.DataError, match=r"part-0.tfrecords, record 0: 'x' has 7 frames and 'two' has 8"):
        _windows(_document(data, "continuous_sequence", ("x", "two"), **args))
    with pytest.raises(fb.DataError, match="its shape differs from that of the batch's first row"):
        _windows(_document(data, "discrete_sequence", ("x",), **args))
