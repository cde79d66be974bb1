# SPDX-License-Identifier: Apache-2.0
"""`forebay schema` and `forebay head` of Parquet and Arrow files, which the command starts as a program of Python."""
from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from typing import Any, Optional, Sequence

from forebay.errors import Error, exit_code
from forebay.inspection import Inspection, inspect

__all__ = ["main"]


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="forebay")
    parser.add_argument("verb", choices=["schema", "head"])
    parser.add_argument("FILE", nargs="+")
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=3)
    for flag in ("all", "stats", "json", "markdown", "python"):
        parser.add_argument(f"--{flag}", action="store_true")
    asked = parser.parse_args(arguments)
    try:
        if asked.verb == "schema":
            _schema(asked, inspect(asked.FILE, records=None if asked.all else asked.records))
        else:
            _head(asked, inspect(asked.FILE, records=asked.rows))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough: `forebay head a.parquet | head -n 3`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (Error, OSError) as problem:
        print(f"forebay: error: {problem}", file=sys.stderr)
        return exit_code(problem)
    return 0


def _schema(asked: argparse.Namespace, found: Inspection) -> None:
    if asked.json:
        print(json.dumps(found.to_dict(), indent=2))
    elif asked.python:
        print(found.python, end="")
    elif asked.markdown:
        print(found.markdown(asked.stats) + f"\n```python\n{found.python}```")
    else:
        print(found.text(asked.stats) + f"\nIn Python:\n\n{found.python}", end="")


def _head(asked: argparse.Namespace, found: Inspection) -> None:
    rows = list(itertools.islice(_rows(found), asked.rows))
    if asked.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(json.dumps(row["origin"])[1:-1])
        width = max(map(len, row["values"]), default=0)
        for name, value in row["values"].items():
            text = json.dumps(value)
            print(f"  {json.dumps(name)[1:-1]:<{width}}  {text[:400]}{'…' if len(text) > 400 else ''}")
    if not rows:
        print("no rows")


def _rows(found: Inspection) -> Any:
    with found.pipeline().load(threads=1) as loader:
        for batch in loader:
            for i in range(batch.valid_rows):
                yield {"origin": batch.record_keys[i],
                       "values": {name: _plain(batch[name][i]) for name in batch}}


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return [_plain(each) for each in value] if isinstance(value, list) else value
