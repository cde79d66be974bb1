#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well workers are used that make blocks for consumers, on simulated clocks, by the class that binds blocks to workers in earnest.

    .venv/bin/python bench/fleet_sim.py [--seeds 3]     the table of ADR 71
    .venv/bin/python bench/fleet_sim.py --real          64 processes that sleep, beside the same on simulated clocks

Making a block takes a time that is drawn anew each time: lognormal with mean 1 and sigma 0.5, and with some probability ten times as long.
Efficiency is useful work over workers times time; a copy that loses is not cancelled. Consumers take blocks as soon as they are there, each
those of its own workers, and all of them in step.
"""
from __future__ import annotations

import argparse
import heapq
import math
import multiprocessing
import multiprocessing.connection
import random
import statistics
import sys
import time
from typing import Any, NamedTuple

from forebay._binding import Binding, Limits

SIGMA = 0.5


class Scene(NamedTuple):
    """workers and hosts: in all; blocks: for each worker; long: the part of blocks that take ten times as long."""

    workers: int
    hosts: int = 1
    blocks: int = 100
    long: float = 0.01
    limits: Limits = Limits()
    lifetime: float = 0.0   # mean seconds until a worker dies, and is back after 5 s; 0: none does


def draw(rng: random.Random, long: float) -> float:
    seconds = rng.lognormvariate(-SIGMA * SIGMA / 2, SIGMA)
    return seconds * 10 if rng.random() < long else seconds


def simulate(scene: Scene, seed: int) -> "tuple[float, Binding]":
    """The efficiency, and the binding of the first host."""
    rng = random.Random(seed)
    each = scene.workers // scene.hosts
    bindings = [Binding(blocks=scene.blocks * each, limits=scene.limits) for _ in range(scene.hosts)]
    events: "list[tuple[float, int, str, int, Any, int]]" = []   # time, number, what, host, worker, block
    numbers = iter(range(1 << 60))
    running: "dict[Any, list[int]]" = {}
    names = iter(range(1 << 60))

    def push(at: float, what: str, host: int, worker: Any = None, block: int = 0) -> None:
        heapq.heappush(events, (at, next(numbers), what, host, worker, block))

    def begin(now: float, host: int, worker: Any) -> None:
        push(now + draw(rng, scene.long), "made", host, worker, running[worker][0])

    def ask(now: float, host: int) -> None:
        for order in bindings[host].orders(now):
            running[order.worker].append(order.block)
            if len(running[order.worker]) == 1:
                begin(now, host, order.worker)
        wake = bindings[host].wake_at()
        if wake is not None and wake > now:
            push(wake, "wake", host)

    def join(now: float, host: int) -> None:
        worker = (host, next(names))
        running[worker] = []
        bindings[host].join(worker)
        if scene.lifetime:
            push(now + rng.expovariate(1 / scene.lifetime), "dies", host, worker)

    for host in range(scene.hosts):
        for _ in range(each):
            join(0.0, host)
        ask(0.0, host)
    step, now = 0, 0.0
    while not all(binding.over for binding in bindings):
        now, _, what, host, worker, block = heapq.heappop(events)
        if what == "made" and worker in running:
            running[worker].remove(block)
            bindings[host].made(worker, block, None, 1, now)
            if running[worker]:
                begin(now, host, worker)
        elif what == "dies":
            del running[worker]
            bindings[host].leave(worker)
            push(now + 5, "back", host)
        elif what == "back":
            join(now, host)
        elif what == "made":
            continue   # it died
        before = step
        while all(binding.ready for binding in bindings):
            for binding in bindings:
                binding.take()
            step += 1
        for number in range(scene.hosts) if step > before else [host]:
            ask(now, number)
    useful = scene.hosts * each * scene.blocks
    return useful / (scene.workers * now), bindings[0]


def _sleeper(pipe: Any, seed: int, long: float, scale: float) -> None:
    rng = random.Random(seed)
    while True:
        block = pipe.recv()
        if block is None:
            return
        time.sleep(draw(rng, long) * scale)
        pipe.send((block, bytes(1024)))


def real(scene: Scene, seed: int, scale: float) -> float:
    """The efficiency of processes that sleep. scale: seconds of a block."""
    each = scene.workers * scene.blocks
    binding = Binding(blocks=each, limits=scene.limits._replace(short=scene.limits.short * scale))
    pipes: "dict[Any, int]" = {}
    processes = []
    for worker in range(scene.workers):
        own, other = multiprocessing.Pipe()
        process = multiprocessing.Process(target=_sleeper, args=(other, seed * 1000 + worker, scene.long, scale), daemon=True)
        process.start()
        processes.append(process)
        pipes[own] = worker
    time.sleep(1)   # all have begun
    ends: "dict[Any, Any]" = {worker: pipe for pipe, worker in pipes.items()}
    for worker in ends:
        binding.join(worker)
    begin = time.monotonic()
    while not binding.over:
        now = time.monotonic()
        for order in binding.orders(now):
            ends[order.worker].send(order.block)
        wake = binding.wake_at()
        ready: "list[Any]" = multiprocessing.connection.wait(list(pipes), None if wake is None else max(0.001, wake - now))
        for pipe in ready:
            block, payload = pipe.recv()
            binding.made(pipes[pipe], block, payload, len(payload), time.monotonic())
        while binding.take()[0]:
            pass
    took = time.monotonic() - begin
    for pipe in pipes:
        pipe.send(None)
    for process in processes:
        process.terminate()
    return each * scale / (scene.workers * took)


TABLE = [("64 workers, 1 host", Scene(64, 1, 400)), ("256, 8 hosts in step", Scene(256, 8, 200)), ("1,024, 32 hosts in step", Scene(1024, 32, 100))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--real", action="store_true")
    args = parser.parse_args()
    if args.real:
        scene = Scene(64, 1, 40)
        found = statistics.median(real(scene, seed, 0.2) for seed in range(args.seeds))
        expected = statistics.median(simulate(scene, seed)[0] for seed in range(20))
        print(f"64 processes that sleep: {found:.3f}, simulated: {expected:.3f}")
        return 0 if math.isclose(found, expected, rel_tol=0.05) else 1
    for name, scene in TABLE:
        for what, changed in (("", scene), (", window of 4", scene._replace(limits=Limits(blocks=4))), (", no hedge", scene._replace(limits=Limits(copies=1))),
                              (", each dies once in 600 s", scene._replace(lifetime=600.0))):
            runs = [simulate(changed, seed) for seed in range(args.seeds)]
            made = runs[0][1].stats
            print(f"{name}{what}: {statistics.median(run[0] for run in runs):.3f}, "
                  f"{100 * made['dropped'] / max(1, made['made']):.1f} % made twice", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
