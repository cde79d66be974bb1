# SPDX-License-Identifier: Apache-2.0
"""Blocks come in order, each once, whatever happens to the workers that make them."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import random
import sys
from typing import Any

import pytest

from forebay._binding import Binding, Limits, Order, Quarantined

KILLS = 20_000 if os.environ.get("FOREBAY_LONG_TESTS") else 1_500


def taken(binding: Binding) -> "list[Any]":
    out = []
    while True:
        there, result = binding.take()
        if not there:
            return out
        out.append(result)


class Workers:
    """Workers that make blocks in their order, freeze, wake and die as a random generator says."""

    def __init__(self, rng: random.Random, binding: Binding) -> None:
        self.rng, self.binding, self.now = rng, binding, 0.0
        self.running: "dict[int, list[int]]" = {}
        self.gone: "list[tuple[int, int]]" = []      # results that come when their worker was thought to be dead
        self.frozen: "set[int]" = set()
        self.making: "dict[int, set[int]]" = {}      # workers by block
        self.deaths: "dict[int, int]" = {}
        self.names = 0
        self.kills = 0

    def join(self) -> None:
        self.running[self.names] = []
        self.binding.join(self.names)
        self.names += 1

    def ask(self) -> None:
        for worker, block in self.binding.orders(self.now):
            assert worker in self.running and block not in self.running[worker] and len(self.running[worker]) < 2
            self.running[worker].append(block)
            makers = self.making.setdefault(block, set())
            makers.add(worker)
            assert len(makers) <= self.binding.limits.copies
            assert self.binding.next <= block

    def step(self) -> None:
        self.now += self.rng.expovariate(2.0)
        what = self.rng.random()
        able = [worker for worker in self.running if self.running[worker] and worker not in self.frozen]
        if what < 0.55 and able:
            self.make(self.rng.choice(able))
        elif what < 0.65 and self.running:
            self.die(self.rng.choice(list(self.running)))
        elif what < 0.72 and self.running:
            self.frozen.add(self.rng.choice(list(self.running)))
        elif what < 0.82 and self.frozen:
            self.frozen.discard(self.rng.choice(list(self.frozen)))
        elif what < 0.86 and self.gone:   # a late result, or one that comes twice
            worker, block = self.rng.choice(self.gone)
            self.binding.made(worker, block, ("result", block), 10, self.now)
        elif len(self.running) < 12:
            self.join()
        self.ask()

    def make(self, worker: int) -> None:
        block = self.running[worker].pop(0)
        self.making[block].discard(worker)
        self.binding.made(worker, block, ("result", block), 10, self.now)
        self.gone.append((worker, block))

    def die(self, worker: int) -> None:
        held = self.running.pop(worker)
        self.frozen.discard(worker)
        self.kills += 1
        drained = self.rng.random() < 0.2
        self.binding.leave(worker, died=not drained)
        for place, block in enumerate(held):
            self.making[block].discard(worker)
            self.gone.append((worker, block))
            if place == 0 and not drained:
                self.deaths[block] = self.deaths.get(block, 0) + 1


@pytest.mark.parametrize("short", [0.0, 100.0])
def test_the_stream_is_the_plan_whatever_happens_to_workers(short: float) -> None:
    kills = again = hedged = quarantined = 0
    seed = 0
    while kills < KILLS // 2:
        seed += 1
        rng = random.Random(seed)
        blocks = rng.randint(1, 400)
        binding = Binding(first=rng.randint(0, 5), blocks=blocks, limits=Limits(short=short, bytes=rng.choice([None, 60])))
        workers, first, out = Workers(rng, binding), binding.next, []
        while not binding.over:
            workers.step()
            if rng.random() < 0.7:
                out += taken(binding)
            assert binding.waiting <= (binding.limits.bytes or 10 * 12 * binding.limits.blocks)
        out += taken(binding)
        assert len(out) == max(0, blocks - first)
        for number, result in enumerate(out, first):
            if isinstance(result, Quarantined):
                quarantined += 1
                assert result.block == number and workers.deaths[number] >= 3
            else:
                assert result == ("result", number)
        kills += workers.kills
        again += binding.stats["again"]
        hedged += binding.stats["hedged"]
    assert again > kills // 10 and hedged > kills // 20 and (quarantined > 0 or short > 0)


def test_a_slow_block_is_given_to_another_worker_and_the_first_result_counts() -> None:
    binding = Binding(blocks=9)
    for name in "ab":
        binding.join(name)
    assert binding.orders(0.0) == [Order("a", 0), Order("b", 1)]
    for number in range(1, 6):   # b makes five, each in a second
        assert binding.made("b", number, number, 1, float(number)) and taken(binding) == []
        expected = [Order("b", number + 1)] if number < 4 else [Order("b", 0)] if number == 5 else [Order("b", 5)]
        assert binding.orders(float(number)) == expected
    assert binding.stats["hedged"] == 1 and binding.made("b", 0, "second", 1, 5.5)
    assert taken(binding) == ["second", 1, 2, 3, 4, 5]
    assert not binding.made("a", 0, "first", 1, 6.0) and binding.stats["dropped"] == 1
    assert binding.orders(6.0) == [Order("b", 6), Order("a", 7)]


def test_a_short_block_is_given_to_another_worker_while_the_window_has_room() -> None:
    """Workers that always have a second block are never without one, and take a slow block all the same."""
    binding, now = Binding(limits=Limits(blocks=500)), 0.0
    running: "dict[Any, list[int]]" = {"a": [], "b": []}
    for name in running:
        binding.join(name)

    def step(*able: str) -> None:
        """A tenth of a second, in which these workers make a block each."""
        nonlocal now
        now += 0.1
        for name in able:
            if running[name]:
                binding.made(name, running[name].pop(0), "made", 1, now)
        for worker, block in [*binding.orders(now), *binding.orders(now)]:   # a first block, and a second one
            running[worker].append(block)

    for _ in range(10):
        step("a", "b")
    slow, frozen_at = running["a"][0], now
    while slow not in running["b"] and now < frozen_at + 5:
        assert len(running["b"]) == 2
        step("b")
    assert now < frozen_at + 0.45   # three times a tenth
    for _ in range(3):
        step("b")
    taken(binding)
    assert binding.next > slow and binding.stats["hedged"] > 0


def test_blocks_that_are_not_taken_are_bounded_by_their_number_and_by_bytes() -> None:
    binding = Binding(limits=Limits(blocks=3))
    binding.join("a")
    made = []
    for number in range(9):
        made += [order.block for order in binding.orders(float(number))]
        if made and made[-1] == number:
            binding.made("a", number, number, 100, number + 0.5)
    assert made == [0, 1, 2] and binding.waiting == 300
    assert taken(binding) == [0, 1, 2] and binding.orders(9.0) == [Order("a", 3)]
    small = Binding(limits=Limits(blocks=100, bytes=250))
    small.join("a")
    for number in range(9):
        for order in small.orders(float(number)):
            small.made("a", order.block, order.block, 100, number + 0.5)
    assert small.waiting == 200 and taken(small) == [0, 1]


def test_a_block_that_kills_its_workers_is_an_error_in_its_turn() -> None:
    binding = Binding(blocks=3)
    for name in range(3):
        binding.join(name)
        assert binding.orders(float(name))[0] == Order(name, 0)
        binding.leave(name)
    binding.join("last")
    assert binding.orders(4.0) == [Order("last", 1)] and binding.made("last", 1, "one", 1, 5.0)
    there, error = binding.take()
    assert there and isinstance(error, Quarantined) and str(error) == "3 workers died while they made block 0, so it is not tried again"
    assert binding.take() == (True, "one") and binding.stats["deaths"] == 3
    with pytest.raises(ValueError, match="worker 'last' is there already"):
        binding.join("last")


def test_the_simulation_uses_workers_as_the_table_says() -> None:
    path = pathlib.Path(__file__).resolve().parents[2] / "bench" / "fleet_sim.py"
    spec = importlib.util.spec_from_file_location("fleet_sim", path)
    assert spec is not None and spec.loader is not None
    sim = importlib.util.module_from_spec(spec)
    sys.modules["fleet_sim"] = sim
    spec.loader.exec_module(sim)
    efficiency, binding = sim.simulate(sim.Scene(64, 1, 100), 1)
    assert efficiency > 0.83 and 0 < binding.stats["dropped"] < 0.06 * binding.stats["made"]
    assert sim.simulate(sim.Scene(64, 1, 100, limits=Limits(copies=1)), 1)[0] < 0.6
