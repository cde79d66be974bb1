# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import forebay as fb


def ragged(rows):
    splits = np.cumsum([0, *map(len, rows)])
    return fb.Ragged(np.array([value for row in rows for value in row], np.int64), splits)


@given(st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=5))
def test_a_ragged_value_gives_back_its_rows(rows):
    value = ragged(rows)
    longest = max(map(len, rows), default=0)
    assert (len(value), value.to_list(), [row.tolist() for row in value]) == (len(rows), rows, rows)
    assert value.to_padded(7).tolist() == [row + [7] * (longest - len(row)) for row in rows]


def test_nested_levels_are_padded_level_by_level():
    value = fb.Ragged(np.arange(1, 7), [np.array([0, 2, 2, 3]), np.array([0, 1, 3, 6])])
    assert value.to_list() == [[[1], [2, 3]], [], [[4, 5, 6]]]
    assert value.to_padded().tolist() == [[[1, 0, 0], [2, 3, 0]], [[0, 0, 0], [0, 0, 0]], [[4, 5, 6], [0, 0, 0]]]
    assert value[2].to_list() == [[4, 5, 6]] and value[-1].to_padded(9).tolist() == [[4, 5, 6]]


def test_ragged_strings_are_padded_with_empty_ones():
    value = fb.Ragged(np.array([b"a", b"b"], object), np.array([0, 2, 2]))
    assert value.to_padded().tolist() == [[b"a", b"b"], [b"", b""]]


def test_a_sparse_value_becomes_dense():
    value = fb.Sparse(np.array([[0, 1], [1, 0]]), np.array([5.0, 6.0], np.float32), (2, 3))
    assert value.to_dense(-1).tolist() == [[-1, 5, -1], [6, -1, -1]]
    assert (value.to_dense().dtype, value.to_dense().tolist()) == (np.float32, [[0, 5, 0], [6, 0, 0]])
