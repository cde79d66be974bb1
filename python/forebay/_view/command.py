# SPDX-License-Identifier: Apache-2.0
"""`forebay view DOC|FILE`, which the command starts as a program of Python."""
from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Optional, Sequence

from forebay._view.view import View
from forebay.builder import Pipeline
from forebay.errors import Error, exit_code
from forebay.inspection import Inspection, inspect
from forebay.loader import Plan, plan

__all__ = ["main", "plan_of"]


FIRST = 10            # records that are looked at before it is known how long the others take
SAMPLE = 1000         # records, at most
LOOK_SECONDS = 0.2    # that the look at the sample should take
BATCH_BYTES = 8 << 20


def plan_of(path: str) -> Plan:
    """The plan of a document, or of the pipeline that `fb.inspect` proposes for a file or folder after a look at a sample of it."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            start = file.read(512).lstrip()
        if path.endswith(".json") or start[:1] == b"{" or start[:2] == b"//":
            return plan(path)
    began = time.monotonic()
    found = inspect(path, records=FIRST)
    affordable = int(FIRST * LOOK_SECONDS / max(1e-6, time.monotonic() - began))
    if affordable > FIRST and found.records >= FIRST:
        found = inspect(path, records=min(SAMPLE, affordable))
    return _with_small_batches(found).plan()


def _with_small_batches(found: Inspection) -> Pipeline:
    """Fewer rows in a batch where records are large, so that the first rows come soon and fit into the memory."""
    document = found.document
    last = document["steps"][-1].get("batch") if document is not None else None
    record_bytes = int(found.to_dict().get("bytes", 0)) // max(1, found.records)
    if document is None or last is None or record_bytes * last["size"] <= BATCH_BYTES:
        return found.pipeline()
    small = {"batch": {**last, "size": max(1, BATCH_BYTES // record_bytes)}}
    return Pipeline({**document, "steps": [*document["steps"][:-1], small]})


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="forebay view", description="Shows a document, a file or a folder on a local page.")
    parser.add_argument("DOC", help="loader or pipeline document (JSON), or a file or folder of data of any kind")
    parser.add_argument("--vocabulary", action="append", default=[], metavar="TENSOR=FILE",
                        help="text for the ids of a tensor: a file with a word in each line")
    asked = parser.parse_args(arguments)
    try:
        words = {}
        for each in asked.vocabulary:
            name, _, file = each.partition("=")
            with open(file, encoding="utf-8", errors="backslashreplace") as lines:
                words[name] = lines.read().splitlines()
        view = View(plan_of(asked.DOC), vocabulary=words)
    except (Error, OSError) as problem:
        print(f"forebay: error: {problem}", file=sys.stderr)
        return exit_code(problem)
    try:
        print(f"{view.url}\n(Ctrl-C ends it)", flush=True)
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return 130
    finally:
        view.close()
