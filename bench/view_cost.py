#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor time of a run with the page of `loader.view()` open, against the same run without it.

A browser's questions come from another process: the rows and features once, the numbers once a second. Prints the median ratio
of interleaved pairs, each of a run of about SECONDS; and what the page takes while the run stands still, which has little noise.
"""
from __future__ import annotations

import argparse
import pathlib
import resource
import statistics
import subprocess
import sys
import time

import forebay as fb

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent / "examples" / "taxi" / "loader.json"
CLIENT = """
import sys, time, urllib.request
ask = lambda question: urllib.request.urlopen(sys.argv[1] + question).read()
for question in ("", "icon.svg", "view.css", "draw.js", "data.js", "plan.js", "health.js", "view.js", "rows?row=0", "features", "plan"):
    ask(question)
while True:
    ask("stats")
    time.sleep(1)
"""


def used() -> float:
    """Processor time of this process so far, user and system."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def page_alone(seconds: int) -> tuple[float, float]:
    """Processor time of a page that opens over a run that stands still, and of each question after that."""
    with fb.load(DOCUMENT, threads=1) as loader:
        next(loader)
        time.sleep(0.5)
        before = used()
        with loader.view() as view:
            client = subprocess.Popen([sys.executable, "-c", CLIENT, view.url], stderr=subprocess.DEVNULL)
            time.sleep(2)
            opened = used()
            time.sleep(seconds)
            after = used()
            client.kill()
            client.wait()
    return opened - before, (after - opened) / seconds


def processor_seconds(batches: int, page: bool) -> float:
    loader = fb.load(DOCUMENT, threads=1)
    client = None
    if page:
        view = loader.view()
        client = subprocess.Popen([sys.executable, "-c", CLIENT, view.url], stderr=subprocess.DEVNULL)
    before = used()
    for _ in range(batches):
        try:
            next(loader)
        except StopIteration:
            loader.begin_anew()
    after = used()
    if client is not None:
        client.kill()
        client.wait()
        view.close()
    loader.close()
    return after - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=5)
    asked = parser.parse_args()
    began, batches = time.process_time(), 2000
    processor_seconds(batches, False)
    batches = int(batches * asked.seconds / max(1e-3, time.process_time() - began))
    ratios = []
    for pair in range(asked.pairs):
        first = pair % 2 == 0
        times = {page: processor_seconds(batches, page) for page in (first, not first)}
        ratios.append(times[True] / times[False])
    print(f"{asked.pairs} pairs of {batches} batches: median ratio {statistics.median(ratios):.4f}, "
          f"from {min(ratios):.4f} to {max(ratios):.4f}")
    opening, question = zip(*(page_alone(10) for _ in range(3)))
    print(f"the page alone: {1e3 * statistics.median(opening):.0f} ms to open, {1e3 * statistics.median(question):.1f} ms a second after that")


if __name__ == "__main__":
    main()
