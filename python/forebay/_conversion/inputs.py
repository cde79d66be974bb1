# SPDX-License-Identifier: Apache-2.0
"""The inputs of a conversion: how many rows there are, and a pipeline over any range of them."""
from __future__ import annotations

import csv
import io
import re
import tarfile
import threading
from itertools import accumulate
from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np

from forebay import _core
from forebay import builder, tables
from forebay._arguments import dtype_of
from forebay._notices import inform
from forebay._arrow_files import faults_of, pyarrow_module
from forebay._conversion import nested
from forebay._conversion.arrow_columns import single_values, text_columns
from forebay._conversion.table_note import lists_of
from forebay.errors import ConfigError, DataError
from forebay.builder import Pipeline
from forebay.records import index_files
from forebay.schema import Schema, TensorSpec

#: Names of features, kept or left out.
Wanted = Callable[[str], bool]
#: The largest content of a compressed input.
MAX_BYTES = 1 << 40
#: Integers of a tar archive are text in members of this ending, other numbers arrays of NumPy.
INTEGER, ARRAY = ".cls", ".npy"


def refused(message: str) -> ConfigError:
    return ConfigError(message, code="config", detail="invalid_argument")


class Input:
    """Files of one format.

    files     their paths
    counts    the rows of each
    bytes     of content, about
    schema    the tensors of a row, those that are wanted
    text      the string tensors of which all strings are UTF-8, where that is known without reading them
    lists     the tensors that are lists of frames, of SequenceExamples or of tables made of them
    """

    files: "list[str]"
    counts: "list[int]"
    bytes: int
    schema: Schema
    text: "frozenset[str]" = frozenset()
    lists: "frozenset[str]" = frozenset()

    def __init__(self, files: "list[str]") -> None:
        self.files = files
        self.bytes = 0

    @property
    def rows(self) -> int:
        return sum(self.counts)

    def source(self, files: "list[str]") -> Pipeline:
        """A pipeline over all rows of some of the files, which delivers the wanted tensors."""
        raise NotImplementedError

    def pipe(self, first: int, rows: int, seed: Optional[int]) -> Pipeline:
        """A pipeline over `rows` rows. seed: of the global shuffle; None: the order of the files. Without a shuffle, files
        that have none of the rows are not opened."""
        files = self.files
        if seed is None and rows > 0:
            ends = list(accumulate(self.counts))
            used = [place for place, end in enumerate(ends) if end > first and end - self.counts[place] < first + rows]
            first -= ends[used[0]] - self.counts[used[0]]
            files = [self.files[place] for place in used]
        pipe = self.source(files) if seed is None else self.shuffled(seed)
        return (pipe.skip(first) if first > 0 else pipe).take(rows)

    def shuffled(self, seed: int) -> Pipeline:
        return self.source(self.files).shuffle(global_=True).seed(seed)


def schema_of(pipe: Pipeline) -> Schema:
    return Schema((column[0], TensorSpec(*column[1:])) for column in pipe.batch(size=1).plan().columns)


def rows_of(pipe: Pipeline) -> int:
    return int(pipe.batch(size=1).plan().count())


class Examples(Input):
    """TFRecord files of tf.train.Example or of tf.train.SequenceExample."""

    def __init__(self, files: "list[str]", wanted: Wanted, compression: str, threads: int) -> None:
        super().__init__(files)
        self._compression = compression
        reports = index_files(files, compression)
        self.counts = [report.records for report in reports]
        self.bytes = sum(report.bytes for report in reports)
        records, found, found_lists = _core.features_of_examples(files, compression, threads)
        text: "list[str]" = []
        self._features: "dict[str, Any]" = {}
        for name, kind, count, least, most, is_text in found:
            if wanted(name) and kind != "none":
                self._features[name] = _feature(_dtype("feature", name, kind), count == records and least == most, most)
                text += [name] if is_text else []
        self._lists: "dict[str, Any]" = {}
        for name, kind, frames, least, most, is_text in found_lists:
            if wanted(name) and frames > 0:
                self._lists[name] = _list(_dtype("list", name, kind), least == most, most)
                text += [name] if is_text else []
        for name in sorted(self._lists.keys() & self._features.keys()):
            raise refused(f"'{name}' is in the context and in the lists, and one name cannot stand for both; leave both out with "
                          "drop (--drop)")
        self.text, self.lists = frozenset(text), frozenset(self._lists)
        if not self._features and not self._lists:
            raise refused("the inputs have no feature that is to be written")
        lists_in_lists = frozenset(name for name, feature in self._lists.items() if feature["kind"] == "var_len")
        self.schema = nested.joined_schema(schema_of(self.source(files)), lists_in_lists)

    def source(self, files: "list[str]") -> Pipeline:
        records = builder.tfrecord(files, compression=self._compression,  # type: ignore[arg-type]
                                   max_decompressed_bytes=MAX_BYTES)
        return records.sequence_example(self._features, lists=self._lists) if self._lists else records.example(self._features)


def _dtype(what: str, name: str, kind: str) -> str:
    if kind in ("none", "mixed"):
        found = "values of different kinds" if kind == "mixed" else "frames, but never a value that says its type"
        raise DataError(f"{what} '{name}' has {found}; leave it out with drop (--drop)", code="data", detail="invalid_argument")
    return {"int": "int64", "float": "float32", "bytes": "string"}[kind]


def _feature(dtype: str, same: bool, size: int) -> "dict[str, Any]":
    return {"dtype": dtype, "shape": [] if size == 1 else [size]} if same else {"kind": "var_len", "dtype": dtype}


def _list(dtype: str, same: bool, size: int) -> "dict[str, Any]":
    """same: every frame has `size` values."""
    if not same or size == 0:
        return {"kind": "var_len", "dtype": dtype}
    return {"kind": "fixed_len_sequence", "dtype": dtype, "shape": [] if size == 1 else [size], "as": "ragged",
            "allow_missing": True}


class ArrowTables(Input):
    """Parquet or Arrow IPC files, through pyarrow."""

    def __init__(self, files: "list[str]", wanted: Wanted, format: str, nulls: Optional[Mapping[str, Any]],
                 keeps_nulls: bool) -> None:
        """keeps_nulls: the output holds nulls, so that those of columns of single values are kept, unless `nulls` says what they
        become."""
        super().__init__(files)
        self._parquet = format == "parquet"
        self._optional: "list[str]" = []
        self._nulls = nulls
        self._columns: "Optional[list[str]]" = None
        self._lock = threading.Lock()
        self._table: Any = None  # all rows, once they are shuffled
        self.counts = []
        first: Any = None
        for path in files:
            with faults_of(path, "footer"):
                schema = self._measure(path)
            first = schema if first is None else first
        self._columns = [name for name in ([] if first is None else first.names) if wanted(name)]
        if not self._columns:
            raise refused("the inputs have no column that is to be written")
        self._nested = nested.nested_columns(first).intersection(self._columns)
        if keeps_nulls:
            self._optional = [name for name in single_values(first, self._columns) if name not in (nulls or {})]
        self.schema = nested.joined_schema(schema_of(self.source(files)), self._nested)
        self.text = text_columns(first).intersection(self.schema)
        self.lists = lists_of(first.metadata) & frozenset(self._columns)

    def source(self, files: "list[str]") -> Pipeline:
        return nested.open_tables(files, "parquet" if self._parquet else "ipc", self._columns, self._nested, self._nulls,
                                  self._optional)

    def _measure(self, path: str) -> Any:
        """Adds the rows and bytes of a file, and returns its schema."""
        if self._parquet:
            with pyarrow_module("pyarrow.parquet").ParquetFile(path) as file:
                footer = file.metadata
                self.counts.append(footer.num_rows)
                self.bytes += sum(footer.row_group(group).total_byte_size for group in range(footer.num_row_groups))
                return file.schema_arrow
        with pyarrow_module("pyarrow").memory_map(path) as source, pyarrow_module("pyarrow.ipc").open_file(source) as file:
            rows = 0
            for number in range(file.num_record_batches):
                batch = file.get_batch(number)
                rows += batch.num_rows
                self.bytes += batch.get_total_buffer_size()
            self.counts.append(rows)
            return file.schema

    def _read(self, path: str) -> Any:
        """The wanted columns of a file."""
        with faults_of(path, "table"):
            if self._parquet:
                with pyarrow_module("pyarrow.parquet").ParquetFile(path, page_checksum_verification=True) as file:
                    return file.read(columns=self._columns)
            with pyarrow_module("pyarrow.ipc").open_file(path) as file:
                return file.read_all().select(self._columns)

    def shuffled(self, seed: int) -> Pipeline:
        """Rows of a row group cannot be reached one by one, so the table is read into memory."""
        with self._lock:
            if self._table is None:
                self._table = pyarrow_module("pyarrow").concat_tables([
                    nested.flat_table(self._read(path), self._nested, self._nulls, path) for path in self.files])
        return tables.arrow(self._table, nulls=self._nulls, present=self._optional or None, dictionaries="values").shuffle(global_=True).seed(seed)


class Csv(Input):
    """CSV files with a header. The types are those that fit the first rows; `types` names others."""

    FIRST = 1000

    def __init__(self, files: "list[str]", wanted: Wanted, compression: Any, types: Mapping[str, str]) -> None:
        super().__init__(files)
        self._compression: Any = compression
        lines = builder.lines(files[:1], compression=self._compression, max_decompressed_bytes=MAX_BYTES).record().take(1).batch(size=1)
        header = [bytes(line).decode().lstrip("\ufeff") for batch in lines.load(threads=1) for line in batch["record"]]
        names = next(csv.reader(header), [])
        strings = {name: {"dtype": "string", "default": ""} for name in names if wanted(name)}
        if not strings:
            raise refused(f"{files[0]}: the header has no column that is to be written")
        self._columns: "dict[str, dict[str, Any]]" = strings
        first = next(iter(self.source(files[:1]).take(self.FIRST).batch(size=self.FIRST).load(threads=1)), None)
        found = {name: [] if first is None else first[name].tolist() for name in strings}
        self._columns = {name: self._column(types.get(name) or guess(found[name])) for name in strings}
        for name, texts in found.items():
            full = [text for text in texts if text]
            if name not in types and 0 < len(full) < len(texts) and guess(full) != "string":
                inform(f"{files[0]}: column '{name}' has empty fields, so its {guess(full)} numbers are written as strings; fill the "
                       f"fields, or leave it out with drop (--drop)")
        self.schema = schema_of(self.source(files))
        self.counts = [rows_of(self.source([path])) for path in files]
        self.bytes = sum(report_size(path) for path in files)

    @staticmethod
    def _column(dtype: str) -> "dict[str, Any]":
        return {"dtype": "string", "default": ""} if dtype == "string" else {"dtype": dtype_of("types", dtype, ())}

    def source(self, files: "list[str]") -> Pipeline:
        return builder.csv(files, compression=self._compression, header=True, max_decompressed_bytes=MAX_BYTES).csv(self._columns)


_INTEGER = re.compile(rb"[+-]?\d{1,18}")
_FLOAT = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf|nan", re.IGNORECASE)
_DIGITS = re.compile(rb"[eE].*|\D")


def guess(texts: "Sequence[bytes]") -> str:
    """The type that all texts fit: int64, bool, float32 (at most 9 digits), float64 or string."""
    if texts and all(_INTEGER.fullmatch(text) for text in texts):
        return "int64"
    if texts and all(text.lower() in (b"true", b"false") for text in texts):
        return "bool"
    if not texts or not all(_FLOAT.fullmatch(text) for text in texts):
        return "string"
    digits = max(len(_DIGITS.sub(b"", text).lstrip(b"0")) for text in texts)
    return "float32" if digits <= 9 else "float64"


def report_size(path: str) -> int:
    import os
    return os.stat(path).st_size


class TarMembers(Input):
    """Archives of WebDataset. Every sample has the same members."""

    def __init__(self, files: "list[str]", wanted: Wanted, compression: str, with_key: bool) -> None:
        super().__init__(files)
        self._compression: Any = compression
        self.counts = []
        wanted("__key__")
        self._key = with_key
        members: "Optional[list[str]]" = None
        arrays: "dict[str, Any]" = {}
        for path in files:
            rows = 0
            for batch in self._tar([path]).record().batch(size=64).load(threads=1):
                for record in batch["record"]:
                    content = _members(record)
                    found = sorted(content)
                    if members is not None and found != members:
                        raise DataError(f"{path}: sample {rows} has the members {', '.join(found)}, the first one has "
                                        f"{', '.join(members)}; all must have the same", code="data", detail="invalid_argument")
                    members, rows = found, rows + 1
                    for name in found:
                        if name.endswith(ARRAY) and wanted(name[:-len(ARRAY)]):
                            arrays[name] = _joined(f"{path}: sample {rows - 1}: {name}", arrays.get(name), content[name])
                    self.bytes += len(record)
            self.counts.append(rows)
        self._integers = [name for name in members or [] if name.endswith(INTEGER) and wanted(name[:-len(INTEGER)])]
        self._arrays = arrays
        self._strings = [name for name in members or [] if not name.endswith((INTEGER, ARRAY)) and wanted(name)]
        if not self._strings and not self._integers and not arrays:
            raise refused("the samples have no member that is to be written")
        self.schema = schema_of(self.source(files))

    def _tar(self, files: "list[str]") -> Any:
        return builder.tar(files, compression=self._compression, max_decompressed_bytes=MAX_BYTES)

    def source(self, files: "list[str]") -> Pipeline:
        members = [*self._strings, *self._integers, *self._arrays]
        pipe = with_numbers(self._tar(files).tar({name: name for name in members}),
                            {name[:-len(INTEGER)]: "int64" for name in self._integers},
                            {name[:-len(ARRAY)]: kind for name, kind in self._arrays.items()})
        return pipe.select([*self._strings, *(name.rpartition(".")[0] for name in [*self._integers, *self._arrays]),
                            *(["__key__"] if self._key else [])])


def with_numbers(pipe: Pipeline, integers: "Mapping[str, str]", arrays: "Mapping[str, tuple[str, Sequence[Optional[int]]]]") -> Pipeline:
    """Decodes the members that hold numbers. integers: dtypes by name; arrays: dtypes and shapes."""
    for name, dtype in integers.items():
        pipe = pipe.decode(name + INTEGER, {"csv": {"columns": {name: {"dtype": dtype}}}})
    for name, (dtype, shape) in arrays.items():
        sizes = [-1 if size is None else size for size in shape]
        pipe = pipe.decode(name + ARRAY, {"npy": {"name": name, "dtype": dtype, "shape": sizes}})
    return pipe


def _members(record: bytes) -> "dict[str, bytes]":
    """The members of a sample by their ending; the bytes of arrays only."""
    out: "dict[str, bytes]" = {}
    with tarfile.open(fileobj=io.BytesIO(record + bytes(2 * tarfile.BLOCKSIZE))) as archive:
        for member in archive:
            name = member.name.rpartition("/")[2].partition(".")[2].lower()
            if member.isreg():
                content = archive.extractfile(member) if name.endswith(ARRAY) else None
                out[name] = b"" if content is None else content.read()
    return out


def _joined(place: str, before: "Optional[tuple[str, tuple[Optional[int], ...]]]",
            data: bytes) -> "tuple[str, tuple[Optional[int], ...]]":
    """Dtype and shape of an array and those before it; the first size is None where they differ."""
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except ValueError as problem:
        raise DataError(f"{place}: {problem}", code="data", detail="invalid_argument") from None
    dtype, shape = str(array.dtype), tuple(array.shape)
    if before is None or before == (dtype, shape):
        return dtype, shape
    if before[0] != dtype or len(before[1]) != len(shape) or not shape or before[1][1:] != shape[1:]:
        raise DataError(f"{place}: is {dtype}{list(shape)}, and {before[0]}{list(before[1])} in other samples", code="data",
                        detail="invalid_argument")
    return dtype, (None, *shape[1:])


class NumpyArrays(Input):
    """npz archives, or npy files of one array, whose tensor is called `x`."""

    def __init__(self, files: "list[str]", wanted: Wanted, format: str) -> None:
        super().__init__(files)
        self._npz = format == "npz"
        self._names: "list[str]" = []
        names = list(schema_of(self.source(files))) if self._npz else ["x"]
        self._names = [name for name in names if wanted(name)]
        if not self._names:
            raise refused("the inputs have no array that is to be written")
        self.schema = schema_of(self.source(files))
        self.counts = [rows_of(self.source([path])) for path in files]
        self.bytes = sum(report_size(path) for path in files)

    def source(self, files: "list[str]") -> Pipeline:
        return builder.npz(files, arrays=self._names) if self._npz else builder.npy({"x": files})
