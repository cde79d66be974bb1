# SPDX-License-Identifier: Apache-2.0
"""Runs a document and gathers what comes out, up to an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import forebay as fb

_ENDLESS = 100_000


@dataclass
class Run:
    values: list[Any] = field(default_factory=list)
    error: Exception | None = None
    at_load: bool = False        # the error came before the first batch was asked for
    ended: bool = False          # the source ended by itself


def run(document: Any, take: Callable[[Any], Any], most: int | None = None, threads: int = 2,
        index_dir: Path | None = None) -> Run:
    """`document` is a path or a dict; `take` copies what is wanted out of a batch."""
    out = Run()
    try:
        loader = fb.load(document if isinstance(document, dict) else str(document), threads=threads, index_dir=index_dir)
    except fb.Error as error:
        out.error, out.at_load = error, True
        return out
    with loader:
        try:
            for batch in loader:
                out.values.append(take(batch))
                if len(out.values) == (most or _ENDLESS):
                    return out
            out.ended = True
        except fb.Error as error:
            out.error = error
    return out


def read(
    files: list[Path], decode: dict[str, Any], steps: list[dict[str, Any]], compression: str = "none"
) -> dict[str, Any]:
    """A pipeline document over record files."""
    source = {"tfrecord": {"files": [str(file) for file in files], "compression": compression}}
    return {"source": source, "decode": decode, "steps": steps}
