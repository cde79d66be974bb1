# SPDX-License-Identifier: Apache-2.0
"""`queue_script`: calls on one queue, step by step, each in a thread of its own that may wait."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import compare
import forebay as fb
from forebay import tf1

Vector = dict[str, Any]
_CLASSES: dict[str, Any] = {"OutOfRange": fb.EndOfData, "Cancelled": fb.Cancelled, "InvalidArgument": fb.ConfigError,
                            "ValueError": fb.ConfigError}


def make_queue(args: dict[str, Any]) -> fb.Queue:
    dtypes, shapes = args["dtypes"], args["shapes"]
    if args["queue"] == "random_shuffle":
        return tf1.RandomShuffleQueue(args["capacity"], args["min_after_dequeue"], dtypes, shapes, seed=args.get("seed"))
    make = {"fifo": tf1.FIFOQueue, "padding_fifo": tf1.PaddingFIFOQueue}[args["queue"]]
    return make(args["capacity"], dtypes, shapes)


def _call(queue: fb.Queue, step: dict[str, Any]) -> Any:
    kind = step["do"]
    if kind in ("enqueue", "enqueue_many"):
        return getattr(queue, kind)([compare.expected(value) for value in step["value"]])
    if kind in ("dequeue_many", "dequeue_up_to"):
        return getattr(queue, kind)(step["n"])
    if kind == "close":
        return queue.close(cancel=step["cancel"])
    return {"dequeue": queue.dequeue, "size": lambda: len(queue), "is_closed": lambda: queue.closed}[kind]()


class _Step(threading.Thread):
    """One call, and what came of it."""

    def __init__(self, queue: fb.Queue, step: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self.queue, self.step = queue, step
        self.value: Any = None
        self.error: BaseException | None = None
        self.ended_after: int | None = None

    def run(self) -> None:
        try:
            self.value = _call(self.queue, self.step)
        except Exception as error:  # noqa: BLE001 (the result of this step, whatever it is)
            self.error = error


def _settle(queue: fb.Queue, steps: list[_Step], number: int) -> None:
    """Waits until each call has ended or waits in the queue."""
    while True:
        stats = queue.stats()
        if sum(step.is_alive() for step in steps) == stats.waiting_enqueues + stats.waiting_dequeues:
            break
        time.sleep(0.0002)
    for step in steps:
        if step.ended_after is None and not step.is_alive():
            step.ended_after = number


def _differs(step: _Step, want: dict[str, Any], drawn: list[Any]) -> str | None:
    if "error" in want:
        if isinstance(step.error, _CLASSES[want["error"]]):
            return None
        return f"{step.error!r} {step.value!r}, expected {want['error']}"
    if step.error is not None:
        return f"{step.error!r}, expected {compare.short(want)}"
    value = want["ok"]
    if isinstance(value, dict):   # a random queue: only the number of rows
        part = step.value[0]
        drawn += part.reshape(-1).tolist()
        rows = 1 if step.step["do"] == "dequeue" else len(part)
        return None if rows == value["rows"] else f"{rows} rows, expected {value['rows']}"
    if not isinstance(value, list):
        return None if step.value == value else f"{step.value!r}, expected {value!r}"
    wrong = [compare.array_difference(spec, got) for spec, got in zip(value, step.value, strict=True)]
    return next((text for text in wrong if text), None)


def queue_script(vector: Vector, folder: Path) -> list[str]:
    expect = vector["expect"]
    try:
        queue = make_queue(vector["args"])
    except fb.ConfigError as error:
        failed = "error" in expect or any("error" in result for result in expect["ok"]["results"])
        return [] if failed else [f"{error}"]
    if "error" in expect:
        return ["no error"]
    steps: list[_Step] = []
    for number, step in enumerate(vector["input"]["steps"]):
        steps.append(_Step(queue, step))
        steps[-1].start()
        _settle(queue, steps, number)
    drawn: list[Any] = []
    wrong = []
    for number, (step, result) in enumerate(zip(steps, expect["ok"]["results"], strict=True)):
        waits = result.get("pending") and step.step["do"] != "close"   # our close does not wait for what it comes after
        end = result["finishes_after_step"] if waits else number
        want = result["result"] if result.get("pending") else result
        if step.ended_after != end:
            wrong.append(f"step {number} ended after {step.ended_after}, expected {end}")
        elif want is not None and (difference := _differs(step, want, drawn)):
            wrong.append(f"step {number}: {difference}")
    whole = expect["ok"].get("dequeued_multiset")
    if whole is not None and Counter(drawn) != Counter(whole):
        wrong.append(f"drew {sorted(drawn)}, expected {whole}")
    return wrong
