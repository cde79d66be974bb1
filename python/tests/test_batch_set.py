# SPDX-License-Identifier: Apache-2.0
"""fb.BatchSet: peek, advance, cache and reset."""
from __future__ import annotations

import json
import random
from typing import Any, Iterator

import numpy as np
import pytest

import forebay as fb


def pipe(rows: int = 10, epochs: int = 1) -> fb.Pipeline:
    return fb.arrays({"n": np.arange(rows)}).shuffle(buffer=4).batch(size=2, remainder="keep").epochs(epochs).seed(2)


def taken(batches: list[fb.Batch]) -> list[list[int]]:
    return [batch["n"].tolist() for batch in batches]


def whole(pipe: fb.Pipeline) -> list[list[int]]:
    with pipe.load() as loader:
        return taken(list(loader))


def rest(batches: fb.BatchSet) -> list[list[int]]:
    out = []
    while batches.has_more():
        out += taken(batches.peek())
        batches.advance()
    return out


def test_batches_are_looked_at_before_they_are_used() -> None:
    all_of_them = whole(pipe())
    with pipe().load() as loader:
        batches = fb.BatchSet(loader)
        assert taken(batches.peek(3)) == taken(batches.peek(3)) == all_of_them[:3]
        batches.advance(2)
        assert taken(batches.peek(9)) == all_of_them[2:] and batches.advanced == 2
        batches.advance(3)
        assert batches.peek(1) == [] and not batches.has_more()
        for n, words in ((1, r"advance\(1\): there are 0 batches left"),):
            with pytest.raises(fb.StateError, match=words):
                batches.advance(n)


def test_only_batches_that_are_there_can_be_used_up() -> None:
    with pipe().load() as loader:
        batches = fb.BatchSet(loader)
        with pytest.raises(fb.StateError, match=r"advance\(6\): there are 5 batches left"):
            batches.advance(6)
        assert batches.advanced == 0 and rest(batches) == whole(pipe())
        for call in (batches.peek, batches.advance):
            with pytest.raises(fb.ConfigError, match="n: must be an integer of 1 or more, found 0"):
                call(0)
            with pytest.raises(TypeError, match="n: must be an integer of 1 or more"):
                call("1")  # type: ignore[arg-type]


def test_the_state_is_that_of_the_last_batch_that_was_used_up() -> None:
    all_of_them = whole(pipe(epochs=2))
    with pipe(epochs=2).load() as loader, pipe(epochs=2).load() as other, pipe(epochs=2).load() as plain:
        batches = fb.BatchSet(loader)
        for at in range(len(all_of_them) + 1):
            batches.peek(4)
            state = json.loads(json.dumps(batches.state_dict()))
            other.load_state_dict(state)
            assert taken(list(other)) == all_of_them[at:]
            again = fb.BatchSet(plain)
            again.load_state_dict(state)
            assert rest(again) == all_of_them[at:]
            if at < len(all_of_them):
                batches.advance()


def test_cached_batches_come_again_in_the_order_of_seed_1234() -> None:
    all_of_them = whole(pipe(30))
    mixer, orders = random.Random(1234), []
    for _ in range(2):
        order = list(all_of_them)
        mixer.shuffle(order)
        orders.append(order)
    with pipe(30).load() as loader:
        batches = fb.BatchSet(loader, cache=True, shuffle_batches=True)
        rounds = [rest(batches)]
        loader.close()  # the loader is not needed any more
        for _ in range(2):
            batches.reset()
            rounds.append(rest(batches))
        assert rounds == [all_of_them, *orders] and orders[0] != orders[1]


def test_cached_batches_come_again_in_the_order_of_the_loader() -> None:
    with pipe().load() as loader:
        batches = fb.BatchSet(loader, cache=True)
        first = rest(batches)
        batches.reset()
        batches.advance(2)
        batches.reset()
        assert rest(batches) == first == whole(pipe())


def test_a_set_is_reset_only_when_all_of_it_is_cached() -> None:
    with pipe().load() as loader:
        batches = fb.BatchSet(loader, cache=True)
        batches.advance(2)
        with pytest.raises(fb.StateError, match="reset: 3 batches are cached, and there may be more"):
            batches.reset()
        assert rest(batches) == whole(pipe())[2:]
        batches.reset()
        assert rest(batches) == whole(pipe())
    with pipe().load() as loader, pytest.raises(fb.StateError, match="the batches are not kept; set cache=True"):
        fb.BatchSet(loader).reset()
    with pipe().load() as loader, pytest.raises(fb.ConfigError, match="shuffle_batches: only cached batches"):
        fb.BatchSet(loader, shuffle_batches=True)


def test_a_cached_set_restarts_exactly_in_every_round() -> None:
    with pipe().load() as loader, pipe().load() as other:
        batches = fb.BatchSet(loader, cache=True, shuffle_batches=True)
        for _ in range(3):
            while True:
                again = fb.BatchSet(other, cache=True, shuffle_batches=True)
                again.load_state_dict(json.loads(json.dumps(batches.state_dict())))
                assert again.advanced == batches.advanced
                assert taken(again.peek(9)) == taken(batches.peek(9))
                again.advance() if again.has_more() else again.reset()
                if not batches.has_more():
                    break
                batches.advance()
                assert taken(again.peek(9)) == taken(batches.peek(9))
            batches.reset()
        for wrong in ({"loader": 1, "round": 0, "advanced": 0}, {"round": 0, "advanced": 0}, loader.state_dict(),
                      {**batches.state_dict(), "round": -1}, {**batches.state_dict(), "advanced": True}):
            with pytest.raises(fb.StateError, match="no state of a BatchSet"):
                batches.load_state_dict(wrong)


def test_the_share_that_is_used_up() -> None:
    with pipe().load() as loader:
        batches = fb.BatchSet(loader, cache=True)
        shares = [batches.completed_frac()]
        for _ in range(5):
            batches.peek(3)
            batches.advance()
            shares.append(batches.completed_frac())
        assert shares == [1e-10, 0.2, 0.4, 0.6, 0.8, 1.0]
        batches.reset()
        assert batches.completed_frac() == 1e-10
        batches.advance(4)
        assert batches.completed_frac() == 0.8
    with fb.python({"n": i} for i in range(3)).batch(size=1).load() as loader:
        batches, shares = fb.BatchSet(loader), []
        while batches.has_more():
            batches.advance()
            shares.append(batches.completed_frac())
        assert shares == [1e-10, 0.00980198019801981, 0.013805475362566181] and batches.completed_frac() == 1.0


def test_a_failure_stands_after_the_batches_before_it() -> None:
    failure = ValueError("no more tape")

    def rows() -> Iterator[dict[str, Any]]:
        yield from ({"n": i} for i in range(3))
        raise failure

    with fb.python(rows(), {"n": fb.fixed("int64")}).batch(size=1).load() as loader:
        batches = fb.BatchSet(loader)
        assert taken(batches.peek(9)) == [[0], [1], [2]]
        for _ in range(2):
            with pytest.raises(ValueError) as raised:
                batches.advance(4)
            assert raised.value is failure
        batches.advance(3)
        for call in (batches.has_more, batches.peek, batches.advance):
            with pytest.raises(ValueError):
                call()


def test_a_set_of_an_epoch_ends_with_it() -> None:
    loader_pipe = pipe(6, epochs=3).epoch_boundary("hard")
    with loader_pipe.load() as loader:
        sets = []
        for epoch in loader.epochs():
            batches = fb.BatchSet(epoch, cache=True)
            first = rest(batches)
            assert batches.completed_frac() == 1.0
            batches.reset()
            assert rest(batches) == first
            sets += first
    assert sets == whole(loader_pipe)


def test_results_of_map_are_batches_too() -> None:
    doubled = pipe().map(lambda batch: {"n": batch["n"] * 2}, workers=2)
    with doubled.load() as loader, doubled.load() as other:
        batches = fb.BatchSet(loader)
        batches.peek(4)
        batches.advance(2)
        other.load_state_dict(batches.state_dict())
        assert taken(list(other)) == rest(batches) == [[2 * n for n in batch] for batch in whole(pipe())[2:]]


def test_a_batch_set_takes_a_loader() -> None:
    with pytest.raises(TypeError, match="batches: must be a loader, or an epoch of one"):
        fb.BatchSet([1, 2])  # type: ignore[arg-type]
