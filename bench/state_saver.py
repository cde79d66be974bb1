#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""W11, state-saving batches: time per step of `fb.StateSaver`, of `unroll` + `stateful`, and of the same rules in plain Python.

    .venv/bin/python bench/state_saver.py [--sequences 5000] [--repeat 3] [--check]

Sequences of 20 … 2,000 frames of 40 float32, segments of 20 frames, batches of 32 rows, two states of 512 float32. A step
takes a batch, looks at its frames and both states, and saves both states. The time of a step has its share of the inserts;
the time without them is in brackets, as the median of all steps. The contestants take turns; the best round counts, because
other programs only make a run slower. One thread. --check compares checksums of frames, states and their order instead.
"""
from __future__ import annotations

import argparse
import collections
import heapq
import statistics
import time
import zlib
from functools import partial
from typing import Any, Callable, Iterator, Optional

import numpy as np

import forebay as fb

FRAMES, WIDTH, ROWS, UNROLL, STATE = (20, 2000), 40, 32, 20, 512
LIVE = 64   # examples that are inserted ahead
STATES = ("h", "c")


class Data:
    """The sequences, one after the other in one array."""

    def __init__(self, sequences: int) -> None:
        rng = np.random.default_rng(11)
        self.splits = np.concatenate([[0], np.cumsum(rng.integers(FRAMES[0], FRAMES[1] + 1, sequences))])
        piece = rng.standard_normal((1 << 16, WIDTH), dtype=np.float32)
        self.x = np.resize(piece, (int(self.splits[-1]), WIDTH))

    def examples(self) -> "Iterator[tuple[str, Any]]":
        return ((str(i), self.x[begin:end]) for i, (begin, end) in enumerate(zip(self.splits[:-1], self.splits[1:])))


class PlainBatch:
    def __init__(self, saver: "PlainSaver", taken: "list[tuple[int, int, int, str]]", x: Any) -> None:
        self._saver, self._taken, self.sequences = saver, taken, {"x": x}
        self.key = [f"{number:05}_of_{count:05}:{key}" for _, number, count, key in taken]

    def state(self, name: str) -> Any:
        return np.stack([self._saver.states[name].pop(key) for _, _, _, key in self._taken])

    def save_state(self, name: str, values: Any) -> None:
        for row, (index, number, count, key) in enumerate(self._taken):
            if number + 1 < count:
                self._saver.states[name][key] = values[row].copy()
                if name == STATES[-1]:
                    heapq.heappush(self._saver.ready, (index, number + 1, count, key))


class PlainSaver:
    """The rules of the state saver with a heap of ready segments and dicts of states by key."""

    def __init__(self) -> None:
        self.ready: "list[tuple[int, int, int, str]]" = []
        self.states: "dict[str, dict[str, Any]]" = {name: {} for name in STATES}
        self.sequences: "dict[str, Any]" = {}
        self.inserted = 0
        self.zero = np.zeros(STATE, np.float32)

    def insert(self, key: str, sequences: "dict[str, Any]") -> None:
        x = sequences["x"]
        count = -(-len(x) // UNROLL)
        padded = np.zeros((count * UNROLL, WIDTH), np.float32)
        padded[:len(x)] = x
        self.sequences[key] = padded
        for name in STATES:
            self.states[name][key] = self.zero
        heapq.heappush(self.ready, (self.inserted, 0, count, key))
        self.inserted += 1

    def live(self) -> int:
        return len(self.sequences)

    def take(self) -> Optional[PlainBatch]:
        taken = [heapq.heappop(self.ready) for _ in range(min(ROWS, len(self.ready)))]
        if not taken:
            return None
        x = np.stack([self.sequences[key][number * UNROLL:(number + 1) * UNROLL] for _, number, _, key in taken])
        for _, number, count, key in taken:
            if number + 1 == count:
                del self.sequences[key]
        return PlainBatch(self, taken, x)


class Saver(fb.StateSaver):
    """`share`: `insert` does not copy the arrays."""

    def __init__(self, share: bool = False) -> None:
        zero = np.zeros(STATE, np.float32)
        super().__init__(ROWS, UNROLL, {"x": fb.fixed("float32", [WIDTH])}, {name: zero for name in STATES}, pad=True,
                         allow_small_batch=True)
        self.insert = partial(self.insert, copy=not share)  # type: ignore[method-assign]

    def live(self) -> int:
        return self.sizes.live_examples


Step = Callable[[Any], None]


def touch(batch: Any) -> None:
    """A step without a model: the states go on as they are."""
    x, h, c = batch.sequences["x"], batch.state("h"), batch.state("c")
    assert x.shape[1:] == (UNROLL, WIDTH)
    batch.save_state("h", h)
    batch.save_state("c", c)


def run_saver(make: Callable[[], Any], data: Data, step: Step) -> "tuple[float, list[float]]":
    """Seconds in all, and of each step."""
    clock, steps, examples = time.perf_counter, [], data.examples()
    more = True
    begun = clock()
    saver = make()
    while True:
        while more and saver.live() < LIVE:
            example = next(examples, None)
            more = example is not None
            if example is None:
                if isinstance(saver, fb.StateSaver):
                    saver.close()
                break
            saver.insert(example[0], {"x": example[1]})
        before = clock()
        batch = saver.take()
        if batch is None:
            return before - begun, steps
        step(batch)
        steps.append(clock() - before)


class PipelineBatch:
    """A batch of a loader with the names of a saver's batch."""

    def __init__(self, batch: fb.Batch) -> None:
        self.sequences, self.state, self.save_state = batch, batch.state, batch.save_state
        self.batch = batch


def run_pipeline(data: Data, step: Step) -> "tuple[float, list[float]]":
    clock, steps = time.perf_counter, []
    states = {name: {"dtype": "float32", "shape": [STATE]} for name in STATES}
    pipe = fb.arrays({"x": fb.Ragged(data.x, data.splits)}).unroll(UNROLL, keys=["x"]).stateful(ROWS, states=states)
    with pipe.load(threads=1) as loader:
        begun = before = clock()
        for batch in loader:
            step(PipelineBatch(batch))
            now = clock()
            steps.append(now - before)
            before = now
        return before - begun, steps


CONTESTANTS: "dict[str, Callable[[Data, Step], tuple[float, list[float]]]]" = {
    "fb.StateSaver": lambda data, step: run_saver(Saver, data, step),
    "with copy=False": lambda data, step: run_saver(lambda: Saver(share=True), data, step),
    "unroll + stateful": run_pipeline,
    "plain Python": lambda data, step: run_saver(PlainSaver, data, step)}


class Sums:
    """A step whose states are sums of frames; the checksum is of the frames and states of each sequence, in their order."""

    def __init__(self) -> None:
        self.sums: "dict[str, int]" = collections.defaultdict(int)
        self.segments = 0

    def __call__(self, batch: Any) -> None:
        x, h, c = batch.sequences["x"], batch.state("h"), batch.state("c")
        for row, key in enumerate(self.keys(batch)):
            if key is not None:
                self.sums[key] = zlib.crc32(x[row].tobytes() + h[row].tobytes() + c[row].tobytes(), self.sums[key])
                self.segments += 1
        batch.save_state("h", h + x.sum(axis=1)[:, :1])
        batch.save_state("c", c * np.float32(0.5) + np.float32(1))

    @staticmethod
    def keys(batch: Any) -> "list[Optional[str]]":
        if isinstance(batch, PipelineBatch):
            return [str(spans[0].origin[1]) if spans else None for spans in batch.batch.spans or []]
        return [key.partition(":")[2] for key in batch.key]

    def result(self) -> "tuple[int, int]":
        return self.segments, zlib.crc32(repr(sorted(self.sums.items())).encode())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    data = Data(asked.sequences)
    if asked.check:
        found = {}
        for name, run in CONTESTANTS.items():
            sums = Sums()
            run(data, sums)
            found[name] = sums.result()
            print(f"{name:18} {found[name][0]} segments, checksum {found[name][1]:08x}", flush=True)
        return len(set(found.values())) - 1
    best: "dict[str, tuple[float, float]]" = {}
    for _ in range(asked.repeat):
        for name, run in CONTESTANTS.items():
            seconds, steps = run(data, touch)
            each = (seconds / len(steps), statistics.median(steps))
            best[name] = min(best.get(name, each), each)
    for name, (whole, median) in best.items():
        print(f"{name:18} {whole * 1e6:8.1f} µs a step ({median * 1e6:.1f})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
