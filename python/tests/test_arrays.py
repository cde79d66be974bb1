# SPDX-License-Identifier: Apache-2.0
"""forebay.arrays: rows of NumPy arrays as a source."""
from __future__ import annotations

import gc
import json

import numpy as np
import pytest

import forebay as fb

ROWS = 1000


def columns() -> dict[str, object]:
    generator = np.random.default_rng(3)
    return {"n": np.arange(ROWS), "x": generator.standard_normal((ROWS, 3, 2), np.float32),
            "name": [f"row {i}" for i in range(ROWS)]}


def rows_of(loader: fb.Loader) -> list[int]:
    """The row numbers, in the order of delivery; every other tensor must agree with them."""
    expected = columns()
    out: list[int] = []
    for batch in loader:
        n = batch["n"]
        np.testing.assert_array_equal(batch["x"], expected["x"][n])
        assert batch["name"].tolist() == [f"row {i}".encode() for i in n]
        assert batch.record_keys == [f"arrays:{i}" for i in n]
        out += n.tolist()
    return out


def test_rows_come_in_their_order_for_any_number_of_threads() -> None:
    for threads in (1, 8):
        assert rows_of(fb.arrays(columns()).batch(size=64).load(threads=threads)) == list(range(ROWS))


@pytest.mark.parametrize("shuffle", [{"buffer": 100}, {"global_": True}])
def test_shuffled_rows_are_a_permutation_and_restart_at_every_batch(shuffle: dict[str, object]) -> None:
    pipe = fb.arrays(columns()).shuffle(**shuffle).batch(size=128).epochs(2).seed(5)
    whole = rows_of(pipe.load(threads=1))
    assert sorted(whole) == sorted([*range(ROWS), *range(ROWS)]) and whole[:ROWS] != whole[ROWS:]
    loader = pipe.load(threads=1)
    for batch in range(len(loader)):
        other = pipe.load(threads=3)
        other.load_state_dict(json.loads(json.dumps(loader.state_dict())))
        assert rows_of(other) == whole[128 * batch:]
        next(loader)


@pytest.mark.parametrize("threads", [1, 8])
def test_filters_before_an_order_by_index_decide_what_it_meets(threads: int) -> None:
    pipe = fb.arrays(columns()).filter("n % 3 == 0").filter("n >= 30")
    kept = list(range(30, ROWS, 3))
    shuffled = rows_of(pipe.shuffle(global_=True).batch(size=64).load(threads=threads))
    assert sorted(shuffled) == kept and shuffled != kept
    assert rows_of(pipe.sorted("-n").batch(size=64).epochs(2).load(threads=threads)) == kept[::-1] * 2
    assert rows_of(pipe.filter("n < 0").shuffle(global_=True).batch(size=64).load(threads=threads)) == []


def test_the_number_of_batches_is_that_of_the_order_that_draws() -> None:
    pipe = fb.arrays(columns()).random_sample(size=130).batch(size=64)
    assert len(pipe.load()) == 3 == len(list(pipe.load()))


def test_shards_take_their_rows_of_every_batch() -> None:
    pipe = fb.arrays(columns()).shuffle(global_=True).batch(size=100)
    whole = np.array(rows_of(pipe.load())).reshape(-1, 100)
    for shard in range(4):
        part = rows_of(pipe.load(shard=(shard, 4)))
        assert part == whole[:, 25 * shard:25 * shard + 25].reshape(-1).tolist()


@pytest.mark.parametrize("dtype", ["?", "i1", "<i2", ">i2", ">i4", "<i8", "u1", ">u8", "<f2", ">f2", ">f4", "<f8", ">c8", "<c16"])
def test_every_number_type_stride_and_byte_order(dtype: str) -> None:
    values = (np.arange(7 * 4 * 3) % 100).reshape(7, 4, 3).astype(dtype)
    views = [values, values[::-1], values[:, ::2], values.transpose(0, 2, 1), np.asfortranarray(values), values[:, :, ::-1],
             np.broadcast_to(values[:1], values.shape), values[:, 1, 1], values[:0],
             np.frombuffer(b"\0" + values.tobytes(), np.uint8)[1:].view(values.dtype).reshape(values.shape)]
    for view in views:
        got = [batch["v"] for batch in fb.arrays({"v": view}).batch(size=3).load()]
        assert all(one.dtype == values.dtype.newbyteorder("=") for one in got)
        np.testing.assert_array_equal(np.concatenate(got) if got else view[:0], view)


@pytest.mark.parametrize("texts", [np.array(["a", "", "long one"]), np.array([b"a", b"b", b"cc"]),
                                   np.array([b"\0x", "é", b""], object), [["a", "b"], ["c", ""], ["", "d"]],
                                   [b"x\0", b"\0", b""]])
def test_strings_of_every_kind(texts: object) -> None:
    flat = np.asarray(texts, object).reshape(-1).tolist()
    expected = [text.encode() if isinstance(text, str) else bytes(text) for text in flat]
    (batch,) = fb.arrays({"t": texts}).batch(size=8).load()
    assert batch["t"].reshape(-1).tolist() == expected
    assert batch["t"].shape == np.asarray(texts).shape


def test_steps_inputs_and_targets_work_as_for_records() -> None:
    pipe = fb.arrays(columns()).slice(tensor="x", slice="[1:,0]").batch(size=10, remainder="drop").inputs("x").targets("n")
    batch = next(pipe.load())
    np.testing.assert_array_equal(batch.inputs["x"], columns()["x"][:10, 1:, 0])
    np.testing.assert_array_equal(batch.targets["n"], np.arange(10))


def test_a_document_names_bound_arrays() -> None:
    document = {"source": {"arrays": {"bind": "train"}}, "steps": [{"batch": {"size": 400}}]}
    loader = fb.load(document, bind={"train": {"n": np.arange(ROWS)}, "eval": {"n": np.arange(3)}})
    assert len(loader) == 3
    assert np.concatenate([batch["n"] for batch in loader]).tolist() == list(range(ROWS))
    assert fb.arrays({"n": np.arange(3)}).batch(size=2).to_dict()["source"] == {"arrays": {"bind": "arrays"}}


def test_the_memory_is_released_with_the_last_user() -> None:
    memory = bytearray(8 * 100)
    loader = fb.arrays({"n": np.frombuffer(memory, np.int64)}).batch(size=10).load(threads=2)
    batch = next(loader)
    with pytest.raises(BufferError):
        memory.append(0)
    loader.close()
    del loader, batch
    gc.collect()
    memory.append(0)


@pytest.mark.parametrize("bind, words", [
    (None, "the program binds no object; give a dict of arrays to the call that loads the document"),
    ({"trian": {"x": [1]}}, "the program binds no 'train'; did you mean 'trian'? it binds: trian"),
    ({"train": [1, 2]}, "bind['train'] must be a dict of arrays, found list"),
    ({"train": {}}, "there is no array"),
    ({"train": {"x": [1, 2], "y": [1]}}, "array 'y': 1 rows, but array 'x' has 2"),
    ({"train": {"x": 3}}, "array 'x': the first axis counts the rows, but it has no axis"),
    ({"train": {"x": [object()]}}, "array 'x': element 0 is object"),
    ({"train": {"x": [[1], [1, 2]]}}, "array 'x': it is no array"),
    ({"train": {"x": np.array(["2020-01-01"], "M8[D]")}}, "an array of times becomes numbers by .view('int64')"),
])
def test_wrong_bindings_are_refused(bind: object, words: str) -> None:
    document = {"source": {"arrays": {"bind": "train"}}, "steps": [{"batch": {"size": 4}}]}
    with pytest.raises(fb.ConfigError) as failure:
        fb.load(document, bind=bind)
    assert words in str(failure.value)


def test_bind_must_be_a_dict() -> None:
    with pytest.raises(TypeError, match="a dict of objects by name"):
        fb.load({"source": {"arrays": {"bind": "x"}}, "steps": []}, bind=[1])  # type: ignore[arg-type]


def ragged_columns() -> tuple[dict[str, object], list[np.ndarray]]:
    generator = np.random.default_rng(7)
    lengths = generator.integers(0, 30, 400)
    splits = np.concatenate([[0], np.cumsum(lengths)])
    frames = generator.standard_normal((int(splits[-1]), 3), np.float32)
    tokens = np.array([f"token {i}" for i in range(int(splits[-1]))], object)
    rows = [frames[a:b] for a, b in zip(splits, splits[1:])]
    return {"frames": fb.Ragged(frames, splits), "tokens": fb.Ragged(tokens, splits.astype(np.int32)), "n": np.arange(400)}, rows


@pytest.mark.parametrize("order", [{}, {"buffer": 50}, {"global_": True}])
def test_rows_of_different_lengths_are_those_of_ragged_arrays(order: dict[str, object]) -> None:
    given, rows = ragged_columns()
    pipe = fb.arrays(given).shuffle(**order) if order else fb.arrays(given)
    for threads in (1, 8):
        seen: list[int] = []
        for batch in pipe.batch(size=37).load(threads=threads):
            for place, n in enumerate(batch["n"].tolist()):
                np.testing.assert_array_equal(batch["frames"][place], rows[n])
                first = given["tokens"].row_splits[n]
                assert batch["tokens"][place].tolist() == [f"token {first + i}".encode() for i in range(len(rows[n]))]
            seen += batch["n"].tolist()
        assert sorted(seen) == list(range(400))


def test_windows_and_batches_by_frames_over_ragged_arrays_restart_at_every_batch() -> None:
    given, rows = ragged_columns()
    pipe = (fb.arrays(given).shuffle(global_=True).select(["frames", "n"]).chunk(8, keys=["frames"])
            .frames(["frames"], batch_size=64).epochs(2))
    whole = [(batch["frames"].tobytes(), batch["n"].tolist()) for batch in pipe.load(threads=8)]
    pieces: dict[int, int] = {}
    for _, ns in whole:
        for n in ns:
            pieces[n] = pieces.get(n, 0) + 1
    assert pieces == {n: 2 * -(-len(row) // 8) for n, row in enumerate(rows) if len(row) > 0}
    loader = pipe.load()
    for at in range(0, len(whole), 7):
        again = pipe.load(threads=2)
        again.load_state_dict(loader.state_dict())
        assert [(batch["frames"].tobytes(), batch["n"].tolist()) for batch in again] == whole[at:]
        for _ in range(7):
            next(loader, None)


@pytest.mark.parametrize("values, splits, words", [
    (np.arange(3), [0, 4], "row splits from 0 to 4 lie outside of the 3 items"), (np.arange(3), [2, 1], "row splits must ascend"),
    (np.arange(3), [-1, 1], "row splits from -1 to 1 lie outside of the 3 items"),
    (np.arange(3), np.array([], np.int64), "row splits begin with the first item of the first row; found none"),
    (np.arange(3), [0.0, 1.0], "row splits are one axis of integers, found float64 of shape [2]"),
    (np.arange(3), [[0, 1], [0, 3]], "2 levels of row splits; rows of different lengths have one")])
def test_row_splits_that_do_not_fit_are_refused(values: object, splits: object, words: str) -> None:
    with pytest.raises(fb.ConfigError) as refused:
        fb.arrays({"x": fb.Ragged(values, splits)}).batch(size=1).plan()
    assert words in str(refused.value)


def test_ragged_arrays_of_another_number_of_rows_are_refused() -> None:
    with pytest.raises(fb.ConfigError, match="array 'y': 2 rows, but array 'x' has 3"):
        fb.arrays({"x": np.arange(3), "y": fb.Ragged(np.arange(9), [0, 4, 9])}).batch(size=1).plan()
