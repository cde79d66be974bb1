# SPDX-License-Identifier: Apache-2.0
"""`forebay view DOC|FILE`, which the command starts as a program of Python."""
from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Optional, Sequence

from forebay._view.view import View
from forebay.errors import Error, exit_code
from forebay.inspection import inspect
from forebay.loader import Plan, plan

__all__ = ["main", "plan_of"]


#: A sample that is read within a second, also of large records on a slow disk.
SAMPLE = 1000


def plan_of(path: str) -> Plan:
    """The plan of a document, or of the pipeline that `fb.inspect` proposes for a file or folder after a look at a sample of it."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            start = file.read(512).lstrip()
        if path.endswith(".json") or start[:1] == b"{" or start[:2] == b"//":
            return plan(path)
    return inspect(path, records=SAMPLE).pipeline().plan()


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
