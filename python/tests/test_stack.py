# SPDX-License-Identifier: Apache-2.0
"""The window step `stack` against NumPy."""
from __future__ import annotations

from typing import Any

import forebay as fb
import numpy as np
import pytest

LENGTHS = [5, 1, 0, 9, 2, 7]


def _sequences() -> tuple[dict[str, Any], list[Any], list[Any]]:
    splits = np.cumsum([0, *LENGTHS])
    x = np.arange(splits[-1] * 2, dtype=np.float32).reshape(-1, 2) + 1
    y = np.arange(splits[-1], dtype=np.int32) + 1
    rows = [slice(splits[i], splits[i + 1]) for i in range(len(LENGTHS))]
    return {"x": fb.Ragged(x, splits), "y": fb.Ragged(y, splits)}, [x[at] for at in rows], [y[at] for at in rows]


def _stacked(frames: Any, left: int, right: int) -> Any:
    """Frame t and its neighbours side by side."""
    edge = [(left, right)] + [(0, 0)] * (frames.ndim - 1)
    padded = np.pad(frames, edge).reshape(len(frames) + left + right, int(np.prod(frames.shape[1:])))
    return np.concatenate([padded[at:at + len(frames)] for at in range(left + 1 + right)], axis=1)


def _rows(loader: fb.Loader, *names: str) -> list[tuple[Any, ...]]:
    out = []
    for batch in loader:
        lengths = batch.lengths
        for row in range(len(batch[names[0]])):
            out.append(tuple(np.array(batch[name][row][:lengths[name][row]]) for name in names))
    return out


def _equal(got: list[tuple[Any, ...]], want: list[tuple[Any, ...]]) -> None:
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("around", [(1, 1), (0, 1), (2, 0), (3, 4), (0, 0)])
def test_frames_stand_beside_their_neighbours(around: tuple[int, int]) -> None:
    arrays, xs, ys = _sequences()
    left, right = around
    pipe = fb.arrays(arrays).stack(left={"x": left}, right={"x": right, "y": 1}).batch(size=4, pad=True)
    assert pipe.load().schema["x"].shape == (None, 2 * (left + 1 + right))
    want = [(_stacked(x, left, right), _stacked(y, 0, 1)) for x, y in zip(xs, ys, strict=True)]
    for threads in (1, 8):
        _equal(_rows(pipe.load(threads=threads), "x", "y"), want)


def test_an_even_width_has_one_frame_more_after_the_frame() -> None:
    arrays, xs, _ = _sequences()
    pipe = fb.arrays(arrays).stack(window={"x": 4}).select(["x"]).batch(size=3, pad=True)
    _equal(_rows(pipe.load(), "x"), [(_stacked(x, 1, 2),) for x in xs])


def test_chunks_have_their_neighbours_in_the_sequence() -> None:
    arrays, xs, _ = _sequences()
    pipe = fb.arrays(arrays).chunk(4, keys=["x"]).stack(window={"x": 3}).select(["x"]).batch(size=5, pad=True)
    want = [(_stacked(x, 1, 1)[at:at + 4],) for x in xs for at in range(0, len(x), 4)]
    _equal(_rows(pipe.load(threads=2), "x"), want)


def test_padding_of_context_is_padding_of_stacked_frames() -> None:
    arrays, xs, _ = _sequences()
    pipe = (fb.arrays(arrays).chunk(4, keys=["x"]).context(window={"x": 3}).stack(window={"x": 3}).select(["x"])
            .batch(size=5, pad=True))
    want = []
    for x in xs:
        wide = np.pad(_stacked(x, 1, 1), [(1, 1), (0, 0)])
        want += [(wide[at:min(at + 4, len(x)) + 2],) for at in range(0, len(x), 4)]
    _equal(_rows(pipe.load(), "x"), want)


@pytest.mark.parametrize("make, message", [
    (lambda pipe: pipe.stack(), "give `window`, or `left` and `right`"),
    (lambda pipe: pipe.stack(left={"z": 1}), "'z'"),
    (lambda pipe: pipe.stack(window={"x": 1 << 62}), "allowed are 0 to"),
    (lambda pipe: pipe.continuous(2, 2).stack(window=3), "windows over sequences"),
])
def test_what_cannot_be_stacked_is_refused(make: Any, message: str) -> None:
    arrays, _, _ = _sequences()
    with pytest.raises(fb.ConfigError, match=message):
        make(fb.arrays(arrays)).batch(size=2, pad=True).plan()
