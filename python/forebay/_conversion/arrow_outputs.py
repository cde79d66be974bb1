# SPDX-License-Identifier: Apache-2.0
"""Parquet and Arrow IPC files as outputs of a conversion."""
from __future__ import annotations

import re
from typing import Any

import numpy as np

from forebay import _core
from forebay._arrow_files import pyarrow_module
from forebay._conversion import nested
from forebay._conversion.inputs import refused
from forebay._conversion.outputs import MIB, Check, Output, Writer
from forebay._conversion.table_note import metadata_of
from forebay.builder import Pipeline
from forebay.loader import Batch
from forebay.schema import TensorSpec
from forebay.tables import present


class _Sink:
    """What packages take for a file."""

    closed = False

    def __init__(self, file: Any) -> None:
        self.file = file
        self._at = 0

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self.file.write(piece)
        self._at += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


_LOGICAL = re.compile(r"(timestamp|duration|date|time)\[(\w+)(?:, (.+))?\]")


def arrow_type(spec: TensorSpec, text: bool) -> Any:
    """The type of the column that a tensor becomes."""
    pa = pyarrow_module("pyarrow")
    base = (pa.large_string() if text else pa.large_binary()) if spec.dtype == "string" else (
        pa.bool_() if spec.dtype == "bool" else pa.from_numpy_dtype(np.dtype(spec.dtype)))
    for size in reversed(spec.shape):
        base = pa.large_list(base) if size is None else pa.list_(base, size)
    return base


def logical_type(spec: TensorSpec) -> Any:
    """The type that gives numbers their meaning back; None: they have none."""
    pa = pyarrow_module("pyarrow")
    found = _LOGICAL.fullmatch(spec.logical)
    if found is None or spec.shape != ():
        return None
    kind, unit, zone = found.groups()
    if kind == "timestamp":
        return pa.timestamp(unit, zone)
    if kind == "duration":
        return pa.duration(unit)
    return pa.date64() if unit == "ms" and kind == "date" else None


class ArrowFiles(Output):
    """Parquet or Arrow IPC files, through pyarrow. A batch becomes a row group."""

    batch_bytes = 16 * MIB
    parquet = True

    def columns(self) -> "dict[str, TensorSpec]":
        """The columns of the file: the tensors, but for those that say where others are no nulls."""
        hidden = {present(name) for name in self.schema}
        return {name: spec for name, spec in self.schema.items() if name not in hidden}

    def optional(self) -> "list[str]":
        """The tensors that have nulls."""
        return [name for name in self.schema if present(name) in self.schema]

    def check(self) -> None:
        pyarrow_module("pyarrow.parquet" if self.parquet else "pyarrow.ipc")
        known = ("none", "snappy", "gzip", "zstd", "lz4", "brotli") if self.parquet else ("none", "zstd", "lz4")
        if self.compression not in known:
            raise refused(f"compression: must be one of {', '.join(known)}, found '{self.compression}'")
        self.refuse([name for name, spec in self.schema.items() if spec.dtype == "bfloat16" or spec.dtype.startswith("complex")],
                    "Arrow has no such types")

    def repeating(self) -> "list[str]":
        """The Parquet columns that may have a dictionary. Floats rarely repeat, and looking for that takes the most time."""
        return [name + ".list.element" * len(spec.shape) for name, spec in self.columns().items() if "float" not in spec.dtype]

    def open(self, path: str, first: int) -> Writer:
        return _ArrowWriter(self, _core.OutputFile(path, "none"))

    def read(self, path: str) -> Pipeline:
        lists = frozenset(name for name, spec in self.schema.items() if spec.shape[:2] == (None, None))
        return nested.open_tables([path], "parquet" if self.parquet else "ipc", None, lists, None,
                                  self.optional())


class Ipc(ArrowFiles):
    parquet = False


class _ArrowWriter(Writer):
    def __init__(self, output: ArrowFiles, file: Any) -> None:
        super().__init__(file)
        self._output = output
        self._sink = _Sink(file)
        self._writer: Any = None

    def _start(self, schema: Any) -> None:
        pa = pyarrow_module("pyarrow")
        output = self._output
        schema = schema.with_metadata(metadata_of(output.lists))
        if output.parquet:
            self._writer = pyarrow_module("pyarrow.parquet").ParquetWriter(self._sink, schema, compression=output.compression,
                                                    use_dictionary=output.repeating(),
                                                    write_page_checksum=True)
        else:
            options = pyarrow_module("pyarrow.ipc").IpcWriteOptions(compression=None if output.compression == "none" else output.compression)
            self._writer = pyarrow_module("pyarrow.ipc").new_file(self._sink, schema, options=options)

    def write(self, batch: Batch) -> None:
        schema = self._output.columns()
        columns = nested.joined_columns(batch.to_arrow(utf8=[name for name in schema if name in self._output.text]), schema)
        for place, (name, spec) in enumerate(schema.items()):
            meant = logical_type(spec)
            if meant is not None:
                columns = columns.set_column(place, name, columns.column(place).cast(meant))
        if self._writer is None:
            self._start(columns.schema)
        if self._output.parquet:
            self._writer.write_batch(columns, row_group_size=columns.num_rows)
        else:
            self._writer.write_batch(columns)

    def finish(self, check: Check) -> None:
        pa = pyarrow_module("pyarrow")
        if self._writer is None:
            self._start(pa.schema([(name, logical_type(spec) or arrow_type(spec, name in self._output.text))
                                   for name, spec in self._output.columns().items()]))
        self._writer.close()
        super().finish(check)

    def close(self) -> None:
        self._sink.file = self._writer = None
        super().close()
