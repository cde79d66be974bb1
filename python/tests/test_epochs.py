# SPDX-License-Identifier: Apache-2.0
"""Loops over epochs, batches that know their position, and runs that go on with more epochs."""
from __future__ import annotations

import collections
import copy
import json
import multiprocessing
import pickle
import random
import signal
import warnings

import numpy as np
import pytest
from streams import digest, digests, examples, resumed, write_parts

import forebay as fb

KINDS = {
    "straddle keep": lambda pipe: pipe.shuffle(buffer=30).batch(12),
    "straddle drop": lambda pipe: pipe.shuffle(global_=True).batch(12, remainder="drop"),
    "straddle pad": lambda pipe: pipe.interleave(cycle=3).batch(12, remainder="pad", pad=True),
    "hard keep": lambda pipe: pipe.shuffle(buffer=30).batch(12).epoch_boundary("hard"),
    "hard drop": lambda pipe: pipe.batch(12, remainder="drop").epoch_boundary("hard"),
    "hard pad": lambda pipe: pipe.shuffle(global_=True).batch(12, remainder="pad", pad=True).epoch_boundary("hard"),
}


@pytest.fixture(params=KINDS)
def three_epochs(request, tmp_path):
    paths = write_parts(tmp_path, [20, 0, 31, 7, 24])
    return KINDS[request.param](examples(paths)).epochs(3).seed(5)


def grouped(pipe):
    """[[digests of epoch 0], [digests of epoch 1], …] from a plain loop."""
    out = [[] for _ in range(3)]
    for batch in pipe.load():
        out[batch.epoch].append(digest(batch))
    return out


def by_epoch(loader):
    return [(epoch.number, digests(epoch)) for epoch in loader.epochs()]


# ---------------------------------------------------------------- epochs

@pytest.mark.parametrize("threads", [1, 8])
def test_a_loop_over_epochs_restarts_at_every_batch(three_epochs, threads):
    whole, states = grouped(three_epochs), []
    loader = three_epochs.load(threads=threads)
    for epoch in loader.epochs():
        states.append((epoch.number, 0, loader.state_dict()))
        for at, batch in enumerate(epoch):
            assert digest(batch) == whole[epoch.number][at]
            states.append((epoch.number, at + 1, loader.state_dict()))
    assert len(states) == 3 + sum(map(len, whole)) > 20
    for number, at, state in states:
        again = by_epoch(resumed(three_epochs, state, threads=9 - threads))
        later = [(epoch, whole[epoch]) for epoch in range(number + 1, 3)]
        rest = [] if at > 0 and at == len(whole[number]) else [(number, whole[number][at:])]
        assert again == rest + later, (number, at)


@pytest.mark.parametrize("threads", [1, 8])
def test_a_break_in_an_epoch_goes_on_with_the_next_one(three_epochs, threads):
    whole, loader, seen = grouped(three_epochs), three_epochs.load(threads=threads), []
    for epoch in loader.epochs():
        seen.append([])
        for batch in epoch:
            seen[-1].append(digest(batch))
            if len(seen[-1]) == 2:
                break
    assert seen == [batches[:2] for batches in whole]


def test_another_loop_over_epochs_begins_with_the_rest_of_the_present_one(three_epochs):
    whole, loader = grouped(three_epochs), three_epochs.load()
    for epoch in loader.epochs():
        next(epoch)
        break
    assert by_epoch(loader) == [(0, whole[0][1:]), (1, whole[1]), (2, whole[2])]
    assert by_epoch(loader) == [] and next(epoch, None) is None and next(loader, None) is None


def test_an_epoch_without_batches_is_still_yielded(tmp_path):
    pipe = examples(write_parts(tmp_path, [5], [None])).batch(12).epochs(6)
    loader, seen = pipe.load(), []
    for epoch in loader.epochs():
        seen.append((epoch.number, [batch.number for batch in epoch]))
        again = [(rest.number, [batch.number for batch in rest]) for rest in resumed(pipe, loader.state_dict()).epochs()]
        assert again == [(number, batches) for number, batches in [(0, [0]), (1, []), (2, [1]), (3, []), (4, [2]), (5, [])]
                         if number > epoch.number]
    assert seen == [(0, [0]), (1, []), (2, [1]), (3, []), (4, [2]), (5, [])]


def test_epochs_of_an_endless_run(tmp_path):
    pipe = examples(write_parts(tmp_path)).shuffle(buffer=50).batch(16).epochs(None)
    numbers = []
    for epoch in pipe.load(threads=2).epochs():
        if epoch.number == 40:
            break
        numbers += [batch.epoch for _, batch in zip(range(2), epoch)]
    assert numbers == sorted(list(range(40)) * 2)


def test_ends_epoch_is_known_with_hard_boundaries_only(three_epochs):
    batches = list(three_epochs.load())
    hard = "hard" in three_epochs.to_json()
    for batch, later in zip(batches, [*batches[1:], None]):
        assert batch.ends_epoch is ((later is None or later.epoch > batch.epoch) if hard else None)


def test_peek_shows_the_batch_that_comes(three_epochs):
    unbroken, loader = digests(three_epochs.load()), three_epochs.load()
    for at in range(len(unbroken)):
        state = loader.state_dict()
        assert digest(loader.peek()) == digest(loader.peek()) == unbroken[at] and loader.state_dict() == state
        assert digest(next(loader)) == unbroken[at]
    assert loader.peek() is None


def test_functions_given_to_map_see_the_batches_of_epochs(three_epochs):
    seen = []
    loader = three_epochs.map(lambda batch: {"number": batch.number}).load()
    for epoch in loader.epochs():
        seen += [(epoch.number, batch["number"]) for batch in epoch]
    assert seen == [(batch.epoch, batch.number) for batch in three_epochs.load()]


class Alarm:
    """Ctrl-C after some microseconds, again and again."""

    def __init__(self, seed):
        self.draw, self.longest = random.Random(seed), 5e-4

    def set(self):
        self.longest *= 1.02  # a slow machine gets on, too
        signal.setitimer(signal.ITIMER_REAL, self.draw.uniform(1e-4, self.longest))

    def __enter__(self):
        self.before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        return self

    def stop(self):
        signal.setitimer(signal.ITIMER_REAL, 0)

    def __exit__(self, *_):
        self.stop()
        signal.signal(signal.SIGALRM, self.before)


@pytest.mark.own_process
@pytest.mark.parametrize("workers", [None, 0, 2])
@pytest.mark.parametrize("restarts", [False, True])
def test_ctrl_c_inside_an_epoch_loses_no_batch(tmp_path, workers, restarts):
    pipe = examples(write_parts(tmp_path, [300, 200], [None, "gzip"])).batch(2).epochs(40)
    mapped = workers is not None
    pipe = pipe.map(lambda batch: {"number": [batch.number]}, workers=workers) if mapped else pipe
    interrupts = 0
    for seed in range(50):  # Python drops an interrupt that comes inside the callback of a weak reference
        interrupts += interrupted_run(pipe, mapped, restarts, seed)
        if interrupts > 10:
            return
    raise AssertionError(f"{interrupts} interrupts in 50 runs")


def interrupted_run(pipe, mapped, restarts, seed):
    """Goes through all batches; how often Ctrl-C came."""
    loader, seen, interrupts, ended = pipe.load(threads=2), [], 0, False
    with Alarm(seed) as alarm:
        while not ended:
            try:
                alarm.set()
                for epoch in loader.epochs():
                    for batch in epoch:
                        # No Python code runs between the loop's getting the batch and the end of this statement.
                        seen += batch["number"] if mapped else [batch.number]
                ended = True
                alarm.stop()  # in here, so that an alarm that came just before is caught
            except KeyboardInterrupt:
                alarm.stop()
                interrupts += 1
                if restarts and interrupts % 3 == 0:
                    state = json.loads(json.dumps(loader.state_dict()))
                    loader.close()
                    loader = resumed(pipe, state, threads=1)
    loader.close()
    assert seen == list(range(10_000))
    return interrupts


# ---------------------------------------------------------------- positions

class ReadAhead:
    """An iterator that holds up to `depth` batches before it gives the first of them."""

    def __init__(self, loader, depth):
        self.loader, self.depth, self.ahead = iter(loader), depth, collections.deque()

    def __iter__(self):
        return self

    def __next__(self):
        while len(self.ahead) <= self.depth:
            batch = next(self.loader, None)
            if batch is None:
                break
            self.ahead.append(batch)
        if not self.ahead:
            raise StopIteration
        return self.ahead.popleft()


@pytest.mark.parametrize("depth", [2, 8])
def test_a_wrapper_that_reads_ahead_restarts_without_loss_or_repetition(three_epochs, depth):
    unbroken = digests(three_epochs.load())
    loader, generator = three_epochs.load(threads=2), random.Random(depth)
    for at, batch in enumerate(ReadAhead(loader, depth)):
        assert digest(batch) == unbroken[at]
        sent = pickle.loads(pickle.dumps(batch))
        state = loader.state_dict(after=batch)
        assert state == loader.state_dict(after=sent) == three_epochs.load().state_dict(after=copy.deepcopy(sent))
        with resumed(three_epochs, state, threads=generator.choice([1, 3, 8])) as again:
            assert digests(again) == unbroken[at + 1:]


def test_a_batch_of_an_earlier_point_still_has_its_state(three_epochs):
    loader, states, batches = three_epochs.load(), [], []
    for batch in loader:
        batches.append(batch)
        states.append(loader.state_dict())
    assert [loader.state_dict(after=batch) for batch in batches] == states
    loader.load_state_dict(states[3])
    next(loader)
    assert loader.state_dict(after=batches[7]) == states[7], "also after a restart in between"


def send_batches(document, queue):
    for batch in fb.load(document):
        queue.put(pickle.dumps(batch))
    queue.put(None)


def test_batches_of_a_worker_process_have_the_states_of_this_one(tmp_path):
    pipe = examples(write_parts(tmp_path)).shuffle(buffer=40).batch(12).epochs(2)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    worker = context.Process(target=send_batches, args=(pipe.to_dict(), queue))
    worker.start()
    loader, plain = pipe.load(), pipe.load()
    for batch in plain:
        sent = pickle.loads(queue.get(timeout=60))
        assert loader.state_dict(after=sent) == plain.state_dict()
        assert (sent.number, sent.epoch, sent.rows, sent.valid_rows) == (batch.number, batch.epoch, batch.rows, batch.valid_rows)
        np.testing.assert_array_equal(sent["x"], batch["x"])
    assert queue.get(timeout=60) is None
    worker.join()


def test_a_pickled_batch_keeps_values_lengths_and_facts(tmp_path):
    pipe = (examples(write_parts(tmp_path)).batch(12, remainder="pad", pad=True).epoch_boundary("hard").inputs(["x", "tokens"])
            .targets("id"))
    for batch in pipe.load():
        sent = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(batch))))
        assert isinstance(sent, fb.Batch) and list(sent) == list(batch) and len(sent) == len(batch)
        for name in ("number", "epoch", "rows", "valid_rows", "ends_epoch"):
            assert getattr(sent, name) == getattr(batch, name)
        for group in ("inputs", "targets", "lengths"):
            ours, theirs = getattr(batch, group), getattr(sent, group)
            assert list(ours) == list(theirs)
            for name, value in ours.items():
                np.testing.assert_array_equal(value, theirs[name])
        np.testing.assert_array_equal(sent["name"], batch["name"])
        assert sent.get("nothing") is None and "x" in sent
        with pytest.raises(KeyError, match="did you mean 'tokens'"):
            sent["token"]
        for missing in (lambda: sent.origins, lambda: sent.record_keys, lambda: sent.raw("name")):
            with pytest.raises(fb.StateError, match="this batch was pickled in another process, and .* do not travel with it"):
                missing()
        assert str(sent).startswith(f"Batch(number={batch.number}, rows=12")


def test_a_state_after_something_else_is_refused(three_epochs, tmp_path):
    loader = three_epochs.load()
    other = next(three_epochs.seed(6).load())
    with pytest.raises(fb.StateError, match="the batch is of a run of another plan"):
        loader.state_dict(after=other)
    with pytest.raises(fb.StateError, match="the batch is of a run of another plan"):
        loader.state_dict(after=pickle.loads(pickle.dumps(other)))
    for wrong in ({}, 3, loader.state_dict()):
        with pytest.raises(TypeError, match="after: must be a batch of this loader"):
            loader.state_dict(after=wrong)


# ---------------------------------------------------------------- more epochs

def test_a_run_that_ended_with_a_short_batch_is_lengthened_with_a_warning(tmp_path):
    pipe = examples(write_parts(tmp_path, [50], [None])).batch(12)
    loader = pipe.epochs(2).load()
    ids = [id for batch in loader for id in batch["id"]]
    longer = pipe.epochs(3).load()
    with pytest.warns(RuntimeWarning, match="ended after 2 epochs, and batch 8 had 4 records .* first record of epoch 2"):
        longer.load_state_dict(loader.state_dict())
    assert ids + [id for batch in longer for id in batch["id"]] == list(range(50)) * 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        running = pipe.epochs(2).load()
        next(running)
        rest = digests(resumed(pipe.epochs(None), running.state_dict()).epochs().__next__())
    assert rest == [digest(batch) for batch in pipe.epochs(2).load() if batch.epoch == 0][1:]
