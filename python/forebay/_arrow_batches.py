# SPDX-License-Identifier: Apache-2.0
"""Batches as record batches of pyarrow."""
from __future__ import annotations

from typing import Any

from forebay._arrow_files import pyarrow_module


class _Exported:
    """An object with the capsules of one record batch."""

    def __init__(self, schema: object, array: object) -> None:
        self._capsules = schema, array

    def __arrow_c_array__(self, requested_schema: object = None) -> "tuple[object, object]":
        return self._capsules


def record_batch(schema: object, array: object) -> Any:
    """A pyarrow.RecordBatch of two capsules."""
    pyarrow = pyarrow_module("pyarrow", "other libraries take the batch itself (__arrow_c_array__), and to_arrow() makes a "
                             "RecordBatch of pyarrow")
    return pyarrow.record_batch(_Exported(schema, array))
