# SPDX-License-Identifier: Apache-2.0
"""Parquet and Arrow files, which pyarrow reads."""
from __future__ import annotations

from typing import Any, Callable, Optional

from forebay import _core
from forebay.builder import Pipeline
from forebay.errors import ConfigError
from forebay.inspection import Inspection, inspect_batches
from forebay.tables import arrow_file, parquet

__all__ = ["inspect_tables"]

_TITLES = {"parquet": "Parquet", "arrow_file": "Arrow IPC"}


def inspect_tables(kind: str, files: "list[str]", records: Optional[int], threads: int,
                   options: "dict[str, Any]") -> Inspection:
    """Runs the rows once, with a value for every null. The pipeline that is proposed gives one to the columns that had nulls, and to
    all lists: a null among the items of a list is not counted."""
    if options:
        raise ConfigError(f"{kind} has no options here; found {', '.join(options)}", code="config", detail="invalid_argument")
    source: Callable[..., Pipeline] = parquet if kind == "parquet" else arrow_file
    plain = source(files).batch(32)
    schema = _core.inspect_schema(plain.plan())
    columns = Inspection(schema).features
    filled = {name: _zero(column["dtype"]) for name, column in columns.items()}
    asked = source(files, nulls=filled, present=list(filled)).batch(32)
    found = Inspection(inspect_batches(asked, _TITLES[kind], records, threads))
    missing = [name for name in filled if found.features[name]["missing"]]
    nulls = {name: value for name, value in filled.items()
             if name in missing or columns[name]["kind"] != "dense" or columns[name]["shape"]}
    more = {**({"nulls": nulls} if nulls else {}), **({"present": missing} if missing else {})}
    pipeline = source(files, **more).batch(32)
    arguments = "".join(f", {name}={value!r}" for name, value in more.items())
    python = f"import forebay as fb\n\npipe = (fb.{kind}({files!r}{arguments})\n        .batch(size=32))\n"
    return Inspection(found._found, pipeline, python)


def _zero(dtype: str) -> Any:
    if dtype == "string":
        return ""
    return False if dtype == "bool" else 0
