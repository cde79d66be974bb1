# SPDX-License-Identifier: Apache-2.0
"""Windows end to end, against NumPy: records, sequence examples, arrays and iterables."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import forebay as fb

Row = dict[str, Any]
LENGTHS = [[7, 0, 12, 3, 25, 1], [4, 4], [], [9, 30, 2, 2, 2, 11]]   # frames of each record, by file


def _frames(file: int, record: int, count: int) -> np.ndarray:
    return (np.arange(count * 2, dtype=np.float32).reshape(count, 2) + 1000 * file + 100 * record)


def _field(number: int, payload: bytes) -> bytes:
    """A field of a protocol buffer message that holds bytes."""
    out, size = bytes([number << 3 | 2]), len(payload)
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return out + bytes([size]) + payload


def _sequence_example(context: dict[str, Any], lists: dict[str, np.ndarray]) -> bytes:
    out = fb.encode_example(context)   # the context has the number and the type that an Example's features have
    for name, frames in lists.items():
        steps = b"".join(_field(1, _field(2, _field(1, np.ascontiguousarray(frame, "<f4").tobytes()))) for frame in frames)
        out += _field(2, _field(1, _field(1, name.encode()) + _field(2, steps)))
    return out


def _records(folder: Path) -> list[list[np.ndarray]]:
    out = []
    for file, lengths in enumerate(LENGTHS):
        out.append([_frames(file, record, count) for record, count in enumerate(lengths)])
        messages = [_sequence_example({"id": np.array([100 * file + record])}, {"x": frames, "t": frames[:, 0]})
                    for record, frames in enumerate(out[-1])]
        fb.write_records(str(folder / f"part-{file}.tfrecord"), messages)
    return out


def _pipeline(folder: Path) -> fb.Pipeline:
    return fb.tfrecord(str(folder / "part-*")).sequence_example(
        context={"id": fb.fixed("int64", [])},
        lists={"x": fb.fixed_len_sequence("float32", [2]), "t": fb.fixed_len_sequence("float32", [])})


def _rows(loader: fb.Loader, *names: str) -> list[tuple[Any, ...]]:
    """The rows of all batches; padded tensors without their padding."""
    out = []
    for batch in loader:
        lengths = {name: batch.lengths.get(name) for name in names}
        for row in range(len(batch[names[0]])):
            out.append(tuple(batch[name][row] if lengths[name] is None else batch[name][row][:lengths[name][row]]
                             for name in names))
    return out


def _equal(got: list[tuple[Any, ...]], want: list[tuple[Any, ...]]) -> None:
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def _chunks(frames: np.ndarray, size: int, step: int) -> list[np.ndarray]:
    return [frames[at:at + size] for at in range(0, len(frames), step)]


def test_continuous_windows_join_the_records_of_a_file(tmp_path: Path) -> None:
    want = []
    for file in _records(tmp_path):
        frames = np.concatenate([np.zeros((0, 2), np.float32), *file])
        want += [(frames[at:at + 5], frames[at:at + 5, 0]) for at in range(0, len(frames) - 4, 3)]
    for threads in (1, 8):
        _equal(_rows(_pipeline(tmp_path).continuous(5, 5, stride=3).batch(size=4).load(threads=threads), "x", "t"), want)


def test_chunks_have_their_context_and_the_whole_of_other_tensors(tmp_path: Path) -> None:
    want = []
    for file, records in enumerate(_records(tmp_path)):
        for record, frames in enumerate(records):
            padded = np.concatenate([np.zeros((1, 2), np.float32), frames, np.zeros((1, 2), np.float32)])
            want += [(padded[at:min(at + 4, len(frames)) + 2], 100 * file + record) for at in range(0, len(frames), 4)]
    pipe = _pipeline(tmp_path).chunk(4, keys=["x", "t"]).context(window={"x": 3}).batch(size=5, pad=True)
    for threads in (1, 8):
        _equal(_rows(pipe.load(threads=threads), "x", "id"), want)


def test_steps_before_a_window_see_records_and_steps_after_it_see_windows(tmp_path: Path) -> None:
    want = []
    for records in _records(tmp_path):
        for frames in records:
            want += [(chunk[:1],) for chunk in _chunks(frames[2:], 3, 3)]
    pipe = (_pipeline(tmp_path).slice("x", "[2:]").chunk(3, keys=["x"]).slice("x", "[:1]").select(["x"])
            .batch(size=4, pad=True))
    _equal(_rows(pipe.load(), "x"), want)


@pytest.mark.parametrize("order", [
    lambda pipe: pipe.shuffle(buffer=4).chunk(6, step=4).shuffle(buffer=9),
    lambda pipe: pipe.continuous(2, 6, tail="keep").interleave(cycle=3).shuffle(buffer=10),
    lambda pipe: pipe.shuffle(global_=True).chunk(5).filter("length(x) > 1"),
])
def test_a_restart_at_every_batch_gives_the_rest(tmp_path: Path, order: Callable[[fb.Pipeline], fb.Pipeline]) -> None:
    _records(tmp_path)
    pipe = order(_pipeline(tmp_path)).batch(size=3, pad=True).epochs(2).seed(4)
    loader = pipe.load(threads=2)
    batches, states = [], [loader.state_dict()]
    for batch in loader:
        batches.append({name: np.array(batch[name]) for name in ("x", "id")})
        states.append(loader.state_dict())
    assert len(batches) > 10
    for at, state in enumerate(states):
        again = pipe.load(threads=1 + 7 * (at % 2))
        again.load_state_dict(state)
        rest = [{name: np.array(batch[name]) for name in ("x", "id")} for batch in again]
        assert len(rest) == len(batches) - at
        for got, want in zip(rest, batches[at:], strict=True):
            for name, values in want.items():
                np.testing.assert_array_equal(got[name], values)


def test_arrays_are_cut_along_their_second_axis() -> None:
    x = np.arange(4 * 10 * 3, dtype=">f4").reshape(4, 10, 3)
    label = np.arange(4)
    want = [(chunk, label[row]) for row in range(4) for chunk in _chunks(x[row], 4, 3)]
    pipe = fb.arrays({"x": x, "label": label}).chunk(4, keys=["x"], step=3).batch(size=3, pad=True)
    for threads in (1, 8):
        _equal(_rows(pipe.load(threads=threads), "x", "label"), want)


def test_rows_of_an_iterable_are_cut() -> None:
    rows = [{"x": np.arange(count, dtype=np.int64) + 10 * count} for count in (3, 0, 8, 5)]
    want = [(chunk,) for row in rows for chunk in _chunks(row["x"], 4, 4)]
    pipe = fb.python(iter(rows), {"x": fb.var_len("int64")}).chunk(4).batch(size=2, pad=True)
    _equal(_rows(pipe.load(), "x"), want)


def test_windows_are_cut_before_the_batch_and_in_their_place(tmp_path: Path) -> None:
    _records(tmp_path)
    pipe = _pipeline(tmp_path)
    with pytest.raises(fb.ConfigError, match="'context' cuts sequences and must come after 'interleave'"):
        pipe.context(["x"], window=3).interleave(cycle=2).batch(size=2).plan()
    for condition in ("length(x) > 1 and id > 3", "present(x)"):   # rows are made before the filter
        assert "made " in str(pipe.chunk(2, keys=["x"]).filter(condition).batch(size=2).plan())
