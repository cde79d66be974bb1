#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor time of a run with the page of `loader.view()` open, against the same run without it.

A browser's questions come from another process: the rows and features once, the numbers once a second. Prints the median ratio
of interleaved pairs, each of a run of about SECONDS.
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
for question in ("", "view.css", "draw.js", "data.js", "plan.js", "view.js", "rows?row=0", "features", "plan"):
    ask(question)
while True:
    ask("stats")
    time.sleep(1)
"""


def processor_seconds(batches: int, page: bool) -> float:
    loader = fb.load(DOCUMENT, threads=1)
    client = None
    if page:
        view = loader.view()
        client = subprocess.Popen([sys.executable, "-c", CLIENT, view.url], stderr=subprocess.DEVNULL)
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(batches):
        try:
            next(loader)
        except StopIteration:
            loader.begin_anew()
    after = resource.getrusage(resource.RUSAGE_SELF)
    if client is not None:
        client.kill()
        client.wait()
        view.close()
    loader.close()
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


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


if __name__ == "__main__":
    main()
