# SPDX-License-Identifier: Apache-2.0
"""Restarts as a trainer does them, from every place: states through JSON, pickle and torch, and functions given to map."""
from __future__ import annotations

import copy
import json
import os
import pickle
import random
import subprocess
import sys

import pytest
from streams import digest, digests, examples, resumed, rows_of, write_parts
from test_dlpack import TESTS, torch_folder

import forebay as fb

ORDERS = {
    "as it lies": lambda pipe: pipe.batch(12),
    "buffer": lambda pipe: pipe.shuffle(buffer=40).batch(12, remainder="drop"),
    "interleave and padding": lambda pipe: pipe.interleave(cycle=3, block=2).shuffle(buffer=100).batch(12, pad=True),
    "take and fill up": lambda pipe: pipe.skip(5).take(250).batch(12, remainder="pad").epoch_boundary("hard"),
    "global": lambda pipe: pipe.shuffle(global_=True).batch(12),
}
CARRIERS = {"json": lambda state: json.loads(json.dumps(state)),
            "sorted json": lambda state: json.loads(json.dumps(state, indent=3, sort_keys=True)),
            "pickle": lambda state: pickle.loads(pickle.dumps(state)),
            "copy": copy.deepcopy}


def knobs(generator):
    return {"threads": generator.choice([1, 2, 3, 8]), "prefetch": generator.choice([None, 1, 2, 9]),
            "memory": generator.choice([None, "32MiB", "1GiB"])}


# ---------------------------------------------------------------- where a state may be taken and loaded

@pytest.mark.parametrize("order", ORDERS)
def test_from_every_place_comes_the_rest_of_the_unbroken_run(parts, order):
    pipe, generator = ORDERS[order](examples(parts)).epochs(2).seed(7), random.Random(order)
    loader, states, unbroken = pipe.load(threads=2), [], []
    while True:
        states.append(loader.state_dict())
        batch = next(loader, None)
        if batch is None:
            break
        unbroken.append(digest(batch))
    assert len(unbroken) > 30 and len({json.dumps(state) for state in states}) == len(states)
    assert loader.state_dict() == states[-1], "the end is a place, too"
    for at, state in enumerate(states):
        carry = generator.choice(list(CARRIERS.values()))
        with resumed(pipe, carry(state), **knobs(generator)) as again:
            assert again.state_dict() == state
            assert digests(again) == unbroken[at:], at
            assert again.state_dict() == states[-1] and next(again, None) is None


@pytest.mark.parametrize("order", ORDERS)
def test_a_hundred_restarts_in_a_row_change_nothing(parts, order):
    pipe, generator = ORDERS[order](examples(parts)).epochs(4).seed(8), random.Random(order)
    unbroken, seen, state = digests(pipe.load()), [], None
    for _ in range(100):
        with pipe.load(**knobs(generator)) as loader:
            if state is not None:
                loader.set_state(generator.choice(list(CARRIERS.values()))(state))
            seen += [digest(batch) for _, batch in zip(range(generator.choice([0, 1, 1, 2])), loader)]
            state = loader.get_state()
    assert 60 < len(seen) and seen == unbroken[:len(seen)]
    assert digests(resumed(pipe, state)) == unbroken[len(seen):]


@pytest.mark.parametrize("order", ["buffer", "global", "take and fill up"])
def test_the_number_of_processes_may_change_at_every_restart(parts, order):
    pipe, generator, state, seen = ORDERS[order](examples(parts)).epochs(3), random.Random(3), None, []
    unbroken = [rows_of(batch) for batch in pipe.load()]
    while len(seen) < len(unbroken):
        count, steps, after = generator.choice([1, 2, 3, 4, 6, 12]), generator.randrange(9), []
        together = [[] for _ in range(min(steps, len(unbroken) - len(seen)))]
        for shard in range(count):
            with pipe.load(shard=(shard, count), threads=generator.choice([1, 3])) as loader:
                if state is not None:
                    loader.load_state_dict(state)
                for rows in together:
                    rows += rows_of(next(loader))
                after.append(loader.state_dict())
        assert all(each == after[0] for each in after), "every shard stands at the same place"
        seen, state = seen + together, CARRIERS["json"](after[0])
    assert seen == unbroken


def test_a_running_loader_goes_back_and_forth(pipe):
    loader = pipe.load(threads=3)
    first, unbroken = loader.state_dict(), digests(pipe.load())
    assert [digest(next(loader)) for _ in range(9)] == unbroken[:9]
    ninth = loader.state_dict()
    for _ in range(5):
        loader.load_state_dict(first)
        assert digest(next(loader)) == unbroken[0]
        loader.load_state_dict(ninth)
        assert digests(loader) == unbroken[9:] and next(loader, None) is None
    loader.load_state_dict(loader.state_dict())
    assert next(loader, None) is None


def test_numbers_and_epochs_go_on(pipe):
    whole = [(batch.number, batch.epoch) for batch in pipe.load()]
    loader = pipe.load()
    for _ in range(40):
        next(loader)
    again = resumed(pipe, loader.state_dict())
    for number, epoch in whole[40:]:
        batch = next(again)
        assert (batch.number, batch.epoch) == (number, epoch)
        next(loader)
        assert again.complete_frac == loader.complete_frac > 0.5
    assert next(again, None) is None and again.complete_frac == 1


def test_a_failed_run_goes_on_when_the_file_is_mended(tmp_path):
    paths = write_parts(tmp_path, [50, 50], [None, None])
    pipe = examples(paths).batch(8).epochs(2)
    unbroken = digests(pipe.load())
    good = open(paths[1], "rb").read()
    with open(paths[1], "r+b") as file:
        file.seek(len(good) // 2)
        file.write(b"corruption")
    loader, seen = pipe.load(), []
    with pytest.raises(fb.DataError):
        for batch in loader:
            seen.append(digest(batch))
    state = loader.state_dict()
    assert seen == unbroken[:len(seen)] and state["sections"]["order"]["next"] == len(seen) > 5
    with pytest.raises(fb.DataError):
        next(resumed(pipe, state))
    with open(paths[1], "wb") as file:
        file.write(good)
    assert digests(resumed(pipe, state)) == unbroken[len(seen):]
    loader.load_state_dict(state)
    assert digests(loader) == unbroken[len(seen):], "also in the loader that had failed"


def test_a_state_of_an_endless_run_is_as_small_as_any(parts):
    loader = examples(parts).shuffle(global_=True).batch(100).epochs(None).load()
    for _ in range(300):
        batch = next(loader)
    state = loader.state_dict()
    assert batch.epoch > 90 and len(json.dumps(state)) < 4096
    expected = [digest(next(loader)) for _ in range(5)]
    again = resumed(examples(parts).shuffle(global_=True).batch(100).epochs(None), state)
    assert [digest(next(again)) for _ in range(5)] == expected


# ---------------------------------------------------------------- functions given to map

class Once:
    """Raises at one batch, once."""

    def __init__(self, at, failure):
        self.at, self.failure = at, failure

    def __call__(self, batch):
        if batch.number == self.at and self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        return batch


@pytest.mark.parametrize("failure", [ValueError("mine"), KeyboardInterrupt(), SystemExit(1)])
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("at", [0, 1, 19, 45])
def test_a_batch_that_a_function_did_not_give_back_comes_again(pipe, failure, closed, at):
    unbroken, seen = digests(pipe.load()), []
    loader = pipe.map(Once(at, failure)).load()
    with pytest.raises(type(failure)):
        for batch in loader:
            seen.append(digest(batch))
    if closed:
        loader.close()
    state = loader.state_dict()
    assert (len(seen), state["sections"]["order"]["next"]) == (at, at) and seen == unbroken[:at]
    assert digests(resumed(pipe, state)) == unbroken[at:]
    if not closed:
        loader.load_state_dict(state)
        assert digests(loader) == unbroken[at:], "and in the loader itself, whose failure is forgotten"
        assert next(loader, None) is None


def test_states_between_mapped_batches_are_those_without_functions(pipe):
    plain, mapped = pipe.load(), pipe.map(lambda batch: batch).map(lambda batch: batch).load()
    for _ in range(60):
        assert plain.state_dict() == mapped.state_dict()
        next(plain), next(mapped)


def test_functions_need_no_state(tmp_path, pipe):
    assert len(list(pipe.deterministic(False).map(lambda batch: batch).load())) == len(list(pipe.load()))
    paths = write_parts(tmp_path, [40], [None])
    loader = examples(paths).batch(8).map(lambda batch: batch).load()
    next(loader)
    os.unlink(paths[0])  # it is open, and stays readable
    assert len(list(loader)) == 4
    assert loader.state_dict()["data"]["files"] == 1, "it was there when the run began"


# ---------------------------------------------------------------- torch

def test_torch_keeps_model_and_state_together(tmp_path):
    code = f"import pathlib, torch_checkpoint_cases as t; t.run(pathlib.Path({str(tmp_path)!r})); print('passed')"
    done = subprocess.run([sys.executable, "-c", code, *torch_folder()], cwd=TESTS, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "passed\n"), done.stderr


def share_of(state):
    order = state["sections"]["order"]
    return (order["epoch"] + order["done"] / 1e6) / 3


def test_the_share_that_was_delivered_is_that_of_the_state_right_after_a_restart(tmp_path):
    pipe = examples(write_parts(tmp_path)).shuffle(buffer=40).batch(12).epochs(3)
    loader = pipe.load(threads=2)
    places = [(loader.state_dict(), loader.complete_frac)]
    places += [(loader.state_dict(), loader.complete_frac) for _ in loader]
    assert [share for _, share in places] == sorted(share for _, share in places) and places[0][1] == 0
    for at, (state, share) in enumerate(places[:-1:7]):
        again = resumed(pipe, state)
        assert again.complete_frac == share == share_of(state)
        assert [again.complete_frac for _ in again][:-1] == [later for _, later in places[7 * at + 1:-1]]
