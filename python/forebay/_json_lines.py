# SPDX-License-Identifier: Apache-2.0
"""JSON lines: each line of a text file is an object."""
from __future__ import annotations

from typing import Any, Mapping, Union

import numpy as np

from forebay._arguments import dtype_of
from forebay._paths import Paths
from forebay.builder import Pipeline, lines
from forebay.features import _DTYPES


def json_lines(files: Paths, fields: "Mapping[str, Union[str, type, np.dtype[Any], Mapping[str, Any]]]", **options: Any) -> Pipeline:
    """Reads JSON lines files, compressed or not: one record a line, one tensor a field. Errors name line and column.

    files      Paths and patterns.
    fields     The tensors by name. A dtype is one value, which every record must have; otherwise a dictionary, or `fb.feature`:
               dtype    any integer type, float32, float64, bool or string
               shape    of the list in each record; the first size may be -1, and the tensor is ragged
               path     names that lead to the value, ["user", "name"] for example; the tensor's name when left out. A list
                        of objects on the way gives the list of their values
               default  the value where a record has none, or null
    options    Those of `fb.lines`.

        fb.json_lines("chats/*.jsonl.gz", {"id": "int64", "score": {"dtype": "float32", "default": 0},
                                           "said": {"dtype": "string", "shape": [-1], "path": ["messages", "content"]}})

    Raises TypeError for options that are not known; what is wrong in files is a DataError of the loader.
    """
    return lines(files, **options).json({name: _field(name, field) for name, field in fields.items()})


def _field(name: str, field: Any) -> "dict[str, Any]":
    out = dict(field) if isinstance(field, Mapping) else {"dtype": field}
    if "dtype" in out:
        out["dtype"] = dtype_of(f"fields[{name!r}]", out["dtype"], _DTYPES)
    if "shape" in out:
        out["shape"] = [-1 if size is None else size for size in out["shape"]]
    if isinstance(out.get("path"), str):
        raise TypeError(f"fields[{name!r}]: path must be a list of names, found {out['path']!r}; give {out['path'].split('.')!r}")
    return out
