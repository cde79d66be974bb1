# SPDX-License-Identifier: Apache-2.0
"""Batches that frameworks take apart and put together again."""
from __future__ import annotations

import copy
import pickle
from typing import Any, Callable

import numpy as np
import pytest
from conftest import run_python

import forebay as fb


def moved(value: Any) -> Any:
    """What Lightning, Accelerate and the Trainer of Hugging Face do with a batch: the same type, of other values."""
    if isinstance(value, fb.Batch):
        return type(value)({name: moved(each) for name, each in value.items()})
    return ("moved", value)


def test_the_type_of_a_batch_makes_one_of_any_values(counts: Callable[..., Any]) -> None:
    batch = next(fb.load(counts(3)))
    rebuilt = moved(batch)
    assert type(rebuilt) is fb.Batch and list(rebuilt) == list(batch)
    assert all(rebuilt[name][1] is batch[name] for name in batch)
    assert dict(fb.Batch(zip("ab", [1, None]))) == {"a": 1, "b": None} and len(fb.Batch()) == 0
    assert repr(rebuilt) == "Batch(x, y, s, v)"


@pytest.mark.parametrize("name", ["rows", "valid_rows", "epoch", "number", "lengths", "mask", "inputs", "origins", "position"])
def test_a_batch_of_values_knows_nothing_else(name: str) -> None:
    assert not hasattr(fb.Batch({"x": 1}), name)


def test_a_batch_of_values_is_pickled_and_copied() -> None:
    batch = fb.Batch({"x": [1, 2], "y": "text"})
    for other in (pickle.loads(pickle.dumps(batch)), copy.copy(batch), copy.deepcopy(batch)):
        assert type(other) is fb.Batch and dict(other) == dict(batch)
    with pytest.raises(TypeError, match="must be a str"):
        fb.Batch({1: 2})  # type: ignore[dict-item]


def test_the_mask_says_which_rows_came_from_records(counts: Callable[..., Any]) -> None:
    document = counts(5, 4)
    document["steps"] = [{"batch": {"size": 4, "remainder": "pad"}}]
    masks = []
    for batch in fb.load(document):
        again = pickle.loads(pickle.dumps(batch))
        np.testing.assert_array_equal(batch.mask, again.mask, strict=True)
        masks.append(batch.mask.tolist())
    assert masks == [[True] * 4, [True, False, False, False]]


@pytest.mark.parametrize("first", ["import jax.tree_util\nimport forebay as fb", "import forebay as fb\nimport jax.tree_util"])
def test_a_package_of_trees_is_told_whether_it_is_imported_before_or_after(tmp_path: Any, first: str) -> None:
    """With a stand-in for JAX that keeps what is registered."""
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax/__init__.py").write_text("")
    (tmp_path / "jax/tree_util.py").write_text("kinds = {}\ndef register_pytree_node(kind, *both): kinds[kind] = both\n")
    done = run_python(f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{first}\n"
                      "import numpy as np\nfrom jax.tree_util import kinds\n"
                      "for tree in (fb.Batch({'x': 1}), fb.MappedBatch({'x': 1}), fb.Ragged([1, 2], [0, 2]),\n"
                      "             fb.Sparse([[0]], [1], [2])):\n"
                      "    flatten, build = kinds[type(tree)]\n"
                      "    children, rest = flatten(tree)\n"
                      "    back = build(rest, [object() for _ in children])\n"
                      "    print(type(back) is type(tree), len(children), hash(rest) == hash(rest))\n")
    assert done.stdout == "True 1 True\nTrue 1 True\nTrue 2 True\nTrue 2 True\n", done.stderr
