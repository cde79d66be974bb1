# SPDX-License-Identifier: Apache-2.0
"""`forebay view DOC|FILE`, which the command starts as a program of Python."""
from __future__ import annotations

import argparse
import sys
import time
from typing import Any, Optional, Sequence

from forebay import _core
from forebay._view.view import View
from forebay.errors import Error
from forebay.loader import Plan, plan
from forebay.records import decode_example

__all__ = ["main", "plan_of"]


def plan_of(path: str) -> Plan:
    """The plan of a document, or one for a TFRecord file: every feature of its first 64 records, in batches of 32."""
    with open(path, "rb") as file:
        start = file.read(512).lstrip()
    if path.endswith(".json") or start[:1] == b"{" or start[:2] == b"//":
        return plan(path)
    source = {"tfrecord": {"files": [path]}}
    steps: list[dict[str, Any]] = [{"batch": {"size": 32}}]
    raw = plan({"source": source, "decode": {"record": {"name": "record"}}, "steps": [{"take": {"count": 64}}, *steps]})
    run = _core.start(raw, 1, 64 << 20, 1, None, "")
    features: dict[str, Any] = {}
    try:
        for _ in range(2):
            for record in run.next()["record"]:
                _add(features, decode_example(record))
    except (StopIteration, Error):
        pass
    finally:
        run.close()
    if not features:
        return plan({"source": source, "decode": {"record": {"name": "record"}}, "steps": steps})
    return plan({"source": source, "decode": {"example": {"features": features}}, "steps": steps})


def _add(features: dict[str, Any], record: dict[str, Any]) -> None:
    for name, values in record.items():
        if values is not None and name not in features:
            kind = getattr(values, "dtype", None)
            dtype = "string" if kind is None or kind == object else str(kind)
            features[name] = {"kind": "var_len", "dtype": dtype}


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="forebay view", description="Shows a document or a TFRecord file on a local page.")
    parser.add_argument("DOC", help="loader or pipeline document (JSON), or a TFRecord file of Examples")
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
        return {"config": 2, "data": 3}.get(getattr(problem, "code", "io"), 4)
    print(f"{view.url}\n(Ctrl-C ends it)", flush=True)
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return 130
    finally:
        view.close()
