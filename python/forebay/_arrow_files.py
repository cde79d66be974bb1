# SPDX-License-Identifier: Apache-2.0
"""Threads that read Parquet and Arrow IPC files with pyarrow, and streams of record batches, for the runs of a program."""
from __future__ import annotations

import os
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Literal, NamedTuple, Optional, Sequence

from forebay import _core
from forebay._parquet_pages import check_pages
from forebay._paths import Paths, paths_of
from forebay._remote_file import opened, readable, served_of
from forebay._pump import Pump
from forebay.errors import Cancelled, ConfigError, DataError, IoError

#: Bytes of a slice of a row group. A few slices are in memory at a time.
SLICE = 4 << 20
MIN_ROWS, MAX_ROWS = 256, 1 << 17
#: The first pyarrow that reads files without unpickling what they contain.
OLDEST = (14, 0, 1)
#: Bytes of a column that are read at once. A whole column of a row group would be in memory otherwise, compressed.
READ_AHEAD = 1 << 20
#: Bytes of a row group, as it is stored, whose columns are read whole.
WHOLE_GROUP = 8 << 20
#: Threads that read footers when a plan is made: they wait for the file system more than they compute.
FOOTER_THREADS = 8
#: Files that stay open; several row groups of a file are read one after the other.
OPEN_FILES = 8


class Version(NamedTuple):
    """What tells two versions of a file apart."""

    size: int
    mtime: int
    ctime: int
    inode: int


class Part(NamedTuple):
    """What is read from its beginning to its end: some row groups of a file (None: all that it has)."""

    path: str
    groups: Optional[Sequence[int]]
    rows: Optional[int]
    version: Version

    @property
    def name(self) -> str:
        return self.path if self.groups is None else f"{self.path}#{self.groups[0]}"


class Parts(NamedTuple):
    schema: Any  # a pyarrow.Schema
    parts: "list[Part]"
    format: str


def pyarrow_module(name: str, needed: str = "Parquet and Arrow files are read by the package pyarrow") -> Any:
    """pyarrow or a module of it. `needed`: for what, as the beginning of the error where it is not installed."""
    import importlib
    try:
        version = importlib.import_module("pyarrow").__version__
        if tuple(int(number) for number in version.split(".")[:3] if number.isdigit()) < OLDEST:
            raise ConfigError(f"pyarrow {version} runs code that a file contains (CVE-2023-47248); install 14.0.1 or a later one "
                              "with: pip install --upgrade pyarrow", code="config", detail="failed_precondition")
        return importlib.import_module(name)
    except ImportError as problem:
        raise ConfigError(f"{needed}, which is not installed ({problem}); "
                          "install it with: pip install pyarrow", code="config", detail="not_found") from None


def matched(files: Paths) -> "list[str]":
    """The files of paths and patterns, in their order; patterns mean what they mean for every source."""
    given = paths_of(files, "files")
    if not given:
        raise ConfigError("files: at least one file is needed", code="config", detail="invalid_argument")
    return _core.expand_files(given)


def list_of_parts(files: Sequence[str], format: Literal["parquet", "ipc"], by_group: bool) -> Parts:
    """Reads the footers of the files, several at once. Of Arrow files that are parts themselves only the first: their footers
    have no numbers of rows."""
    list_parts = _parquet_parts if format == "parquet" else _ipc_parts
    pyarrow_module("pyarrow.parquet" if format == "parquet" else "pyarrow.ipc")  # its faults come first

    def footer(path: str) -> "tuple[Any, list[Part]]":
        version = version_of(path)
        with faults_of(path, "footer"):
            return list_parts(path, by_group, version)

    schema, first = footer(files[0])
    if format == "ipc" and not by_group:
        return Parts(schema, [Part(path, None, None, version_of(path)) for path in files], format)
    parts = list(first)
    if len(files) > 1:
        with ThreadPoolExecutor(min(FOOTER_THREADS, len(files) - 1), "forebay-footers") as threads:
            for _, own in threads.map(footer, files[1:]):  # in the order of the files; so is the first fault
                parts += own
    return Parts(schema, parts, format)


@contextmanager
def faults_of(path: str, what: str) -> Iterator[None]:
    """Names the file in the errors of pyarrow."""
    try:
        yield
    except ConfigError:
        raise
    except _faults() as problem:
        raise _unreadable(path, what, problem) from None


def _faults() -> "tuple[type[BaseException], ...]":
    """What pyarrow raises for a file that it cannot read."""
    return OSError, ValueError, KeyError, pyarrow_module("pyarrow").ArrowException


def _kind_of(path: str) -> str:
    """What a file that cannot be read is, and how it is read, as the end of a message; empty: it is not known."""
    try:
        with opened(path) as file:
            head = file.read(8)
    except OSError:
        return ""
    if head.startswith(b"\xff\xff\xff\xff"):
        return "; this is the stream form of Arrow: fb.arrow(pyarrow.ipc.open_stream(path))"
    if head.startswith(b"ARROW1"):
        return "; this begins like an Arrow file: fb.arrow_file(path)"
    if head.startswith(b"FEA1"):
        return "; this is a Feather file of version 1: fb.arrow(pyarrow.feather.read_table(path))"
    return "; this begins like a Parquet file: fb.parquet(path)" if head.startswith(b"PAR1") else ""


def version_of(path: str) -> Version:
    """Of a file of another machine: what its file system says, which is asked each time."""
    try:
        served = served_of(path)
        if served is not None:
            return Version(*served.info(path), 0, 0)
        found = os.stat(path)
    except OSError as problem:
        raise IoError(f"{path}: {problem.strerror or problem}", code="io",
                      detail="not_found" if isinstance(problem, FileNotFoundError) else "permission_denied") from None
    return Version(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _parquet_parts(path: str, by_group: bool, version: Version) -> "tuple[Any, list[Part]]":
    with pyarrow_module("pyarrow.parquet").ParquetFile(readable(path)) as file:
        footer = file.metadata
        if not by_group:
            return file.schema_arrow, [Part(path, None, footer.num_rows, version)]
        return file.schema_arrow, [Part(path, [group], footer.row_group(group).num_rows, version)
                                   for group in range(footer.num_row_groups)]


def _ipc_parts(path: str, by_group: bool, version: Version) -> "tuple[Any, list[Part]]":
    with _source_of(path) as source, pyarrow_module("pyarrow.ipc").open_file(source) as file:
        if not by_group:
            return file.schema, [Part(path, None, None, version)]
        return file.schema, [Part(path, [batch], None, version) for batch in range(file.num_record_batches)]


class Opened(NamedTuple):
    """A file that pyarrow reads. streams: its columns are read in pieces."""

    file: Any
    schema: Any
    streams: bool


class OpenFiles:
    """The files that were read last."""

    def __init__(self, open_file: Callable[[str], Opened]) -> None:
        self._open_file = open_file
        self._files: "OrderedDict[str, Opened]" = OrderedDict()

    def __getitem__(self, part: Part) -> Opened:
        unchanged(part)
        if part.path not in self._files:
            with faults_of(part.path, "footer"):
                self._files[part.path] = self._open_file(part.path)
        self._files.move_to_end(part.path)
        while len(self._files) > OPEN_FILES:  # one that is read further stays until its reader is gone
            self._files.popitem(last=False)
        return self._files[part.path]


def unchanged(part: Part) -> None:
    """Raises DataError where the file is not the one that was planned: before a part is read, behind each batch and at the end, so
    that no rows of another version come."""
    if version_of(part.path) != part.version:
        raise DataError(f"{part.path}: the file has changed since the run was planned; leave files alone while they are read",
                        code="data", detail="data_loss")


def _open_parquet(path: str) -> Opened:
    """A stream of READ_AHEAD bytes takes as much memory as the header of a page claims that it needs, so it is for files only whose
    row groups are too large to be read whole, column by column, and their pages are looked at before."""
    parquet = pyarrow_module("pyarrow.parquet")
    footer = parquet.read_metadata(readable(path))
    streams = _largest_group(path, footer) > WHOLE_GROUP
    file = parquet.ParquetFile(readable(path), metadata=footer, pre_buffer=False, buffer_size=READ_AHEAD if streams else 0,
                               page_checksum_verification=True)
    return Opened(file, file.schema_arrow, streams)


def _largest_group(path: str, footer: Any) -> int:
    """Bytes of the largest row group, as it is stored. Raises DataError for a column that the file has no room for."""
    size = version_of(path).size
    largest = 0
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        stored = 0
        for place in range(group.num_columns):
            column = group.column(place)
            begin = min(column.data_page_offset, column.dictionary_page_offset or column.data_page_offset)
            if begin < 0 or column.total_compressed_size < 0 or begin + column.total_compressed_size > size:
                raise DataError(f"{path}: row group {number}: column '{column.path_in_schema}' is said to have "
                                f"{column.total_compressed_size} bytes from byte {begin} on, and the file has {size}", code="data",
                                detail="data_loss")
            stored += column.total_compressed_size
        largest = max(largest, stored)
    return largest


def _open_ipc(path: str) -> Opened:
    file = pyarrow_module("pyarrow.ipc").open_file(_source_of(path))
    return Opened(file, file.schema, False)


def _source_of(path: str) -> Any:
    pyarrow = pyarrow_module("pyarrow")
    return pyarrow.OSFile(path) if served_of(path) is None else pyarrow.PythonFile(readable(path), "r")


def _parquet_batches(opened: Opened, part: Part, fields: "list[str]", first: int) -> Iterator[Any]:
    file = opened.file
    stems = tuple(f"{field}." for field in fields)   # of the columns below a field, and of one that has no others
    groups = range(file.metadata.num_row_groups) if part.groups is None else part.groups
    for group in groups:
        footer = file.metadata.row_group(group)
        if first >= footer.num_rows:
            first -= footer.num_rows
            continue
        rows = _rows_of_slice(footer.total_byte_size, footer.num_rows)
        if opened.streams:
            columns = map(footer.column, range(footer.num_columns))
            check_pages(part.path, group, [column for column in columns if f"{column.path_in_schema}.".startswith(stems)])
        try:
            for batch in file.iter_batches(rows, row_groups=[group], columns=fields):
                yield from _after(batch, first)
                first = max(0, first - batch.num_rows)
        except _faults() as problem:
            raise _unreadable(part.path, f"row group {group}", problem) from None


def _ipc_batches(opened: Opened, part: Part, fields: "list[str]", first: int) -> Iterator[Any]:
    file = opened.file
    for number in range(file.num_record_batches) if part.groups is None else part.groups:
        try:
            batch = file.get_batch(number).select(fields)
            rows = _rows_of_slice(batch.get_total_buffer_size(), batch.num_rows)
            for begin in range(0, batch.num_rows, rows):
                piece = batch.slice(begin, rows)
                yield from _after(piece, first)
                first = max(0, first - piece.num_rows)
        except _faults() as problem:
            raise _unreadable(part.path, f"record batch {number}", problem) from None


def _after(batch: Any, first: int) -> Iterator[Any]:
    if first < batch.num_rows:
        yield batch.slice(first) if first > 0 else batch


def _rows_of_slice(size: int, rows: int) -> int:
    return max(MIN_ROWS, min(MAX_ROWS, SLICE * max(1, rows) // max(1, size)))


def _unreadable(path: str, what: str, problem: BaseException) -> DataError:
    kind = _kind_of(path) if what == "footer" else ""
    return DataError(f"{path}: {what} cannot be read: {type(problem).__name__}: {problem}{kind}", code="data", detail="data_loss")


class FilesPump(Pump):
    """Reads the parts that runs wait for, a slice at a time.

    bound     the table of the files, as the core takes it
    """

    joined_at_exit = True

    def __init__(self, name: str, parts: Parts) -> None:
        super().__init__(name, "pyarrow")
        self._parts = parts.parts
        self._schema = parts.schema
        self._parquet = parts.format == "parquet"
        self._table = _core.arrow_parts(parts.schema.__arrow_c_schema__(), [(part.name, part.rows) for part in parts.parts])
        self.bound: Any = self._table.rows()

    def _run(self) -> None:
        files = OpenFiles(_open_parquet if self._parquet else _open_ipc)
        reading: "dict[int, Iterator[Any]]" = {}
        while True:
            try:
                wanted = self._table.next()
            except Cancelled:
                return
            if wanted is None:
                continue
            id, source, part, _, first, left = wanted
            if left:
                reading.pop(id, None)
                continue
            try:
                if id not in reading:
                    reading[id] = self._batches(files, self._parts[part], source, first)
                batch = next(reading[id], None)
                if batch is None:
                    self._table.end(id)
                else:
                    self._table.put(id, source, *batch.__arrow_c_array__())
            except BaseException as failure:
                self._table.fail(id, str(failure) if isinstance(failure, (DataError, IoError))
                                 else self.failed(failure, f"reading {self._parts[part].name}"))

    def _batches(self, files: OpenFiles, part: Part, source: int, first: int) -> Iterator[Any]:
        return self._read(files, part, self._table.fields(source), first)

    def _read(self, files: OpenFiles, part: Part, fields: "list[str]", first: int) -> Iterator[Any]:
        opened = files[part]
        self._check(opened.schema, part.path, fields)
        for batch in (_parquet_batches if self._parquet else _ipc_batches)(opened, part, fields, first):
            unchanged(part)
            yield batch
        unchanged(part)

    def _check(self, schema: Any, path: str, fields: "list[str]") -> None:
        """Every file has the columns of the first one."""
        for field in fields:
            if schema.get_field_index(field) < 0:
                raise DataError(f"{path}: there is no column '{field}', which other files have", code="data",
                                detail="invalid_argument")
            found, planned = schema.field(field).type, self._schema.field(field).type
            if not found.equals(planned):
                raise DataError(f"{path}: column '{field}' is {found}, and {planned} in other files", code="data",
                                detail="invalid_argument")

    def stop(self) -> None:
        self._table.close()


class StreamPump(Pump):
    """Reads a stream of record batches, once.

    bound     the table of the stream, as the core takes it
    """

    joined_at_exit = True

    def __init__(self, name: str, stream: object) -> None:
        super().__init__(name, "the next batch of its stream")
        self._table = _core.arrow_stream(stream, name)
        self.bound: Any = self._table.rows()

    def _run(self) -> None:
        while True:
            try:
                wanted = self._table.next()
            except Cancelled:
                return
            if wanted is not None and not wanted[5]:
                self._table.pull(wanted[0], wanted[1])

    def stop(self) -> None:
        self._table.close()
