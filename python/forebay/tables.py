# SPDX-License-Identifier: Apache-2.0
"""Tables in the memory layout of Apache Arrow as sources: those of a program, and files that pyarrow reads."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Mapping, Optional, Sequence, Union

from forebay import _core
from forebay._arguments import names_of, wrong_type
from forebay._paths import Paths
from forebay.builder import Pipeline
from forebay.errors import ConfigError

if TYPE_CHECKING:
    from forebay._pump import Pump

__all__ = ["ArrowFiles", "arrow", "arrow_file", "parquet", "present"]

Names = Union[str, Sequence[str], None]
Dictionaries = Literal["auto", "codes", "values"]


def arrow(table: Any, columns: Names = None, *, nulls: Optional[Mapping[str, Any]] = None, present: Names = None,
          dictionaries: Dictionaries = "auto", name: str = "arrow") -> Pipeline:
    """A pipeline over the rows of a table: a pyarrow, polars or pandas table, a DuckDB relation, a Hugging Face data set, or
    anything else with `__arrow_c_stream__`. docs/arrow.md has the types.

    table         An object that knows its number of rows is read at once, and its rows are like those of fb.arrays: columns of
                  numbers are not copied, and must not change. A stream (pyarrow.RecordBatchReader) is read by a thread,
                  once: one epoch, no state, no global shuffle.
    columns       columns that are read; left out: all. Structs become tensors `a.b`, and "a.b" names one field
    nulls         by tensor, the value of its nulls; a null of another tensor is an error. A list that is null is empty
    present       tensors beside which a boolean one, fb.present(name), says which rows are no nulls
    dictionaries  whether columns with a dictionary give "codes" (loader.schema[name].categories has their values) or "values".
                  "auto": codes for strings of tables in memory
    name          stands for a file name in record keys, origins and errors

    A document names the table as {"source": {"arrow": {"bind": NAME}}} and takes it from `load(…, bind={NAME: table})`.
    """
    if not (hasattr(table, "__arrow_c_stream__") or is_hugging_face(table)):
        raise wrong_type("table", "an object with __arrow_c_stream__: a table of pyarrow, polars, pandas or DuckDB", table)
    return _pipeline(table, columns, nulls, present, dictionaries, name)


def parquet(files: Paths, columns: Names = None, *, nulls: Optional[Mapping[str, Any]] = None, present: Names = None,
            parts: Literal["row_groups", "files"] = "row_groups", name: str = "parquet") -> Pipeline:
    """A pipeline over the rows of Parquet files, which pyarrow reads (`pip install pyarrow`).

    files      paths and patterns (*, ?, [a-z]), in this order
    columns    columns that are read, and nothing else of the files; left out: all. "a.b" gives one field of a struct
    nulls, present   as of fb.arrow
    parts      what a shuffle before the batch's order of records, `interleave` and shards by file move: "row_groups" or "files"
    name       the name that the document uses for the files

    Row groups are read in slices of about 4 MiB by a thread, a little ahead. Rows are reached in the order of the files only:
    for a random order, shuffle the parts and then a buffer: `.shuffle(buffer=1000).interleave().shuffle(buffer=100_000)`.
    Epochs and restarts are exact; a restart passes over whole parts without reading them.
    """
    return _pipeline(ArrowFiles(files, "parquet", parts), columns, nulls, present, "auto", name)


def arrow_file(files: Paths, columns: Names = None, *, nulls: Optional[Mapping[str, Any]] = None, present: Names = None,
               parts: Literal["row_groups", "files"] = "row_groups", name: str = "arrow_file") -> Pipeline:
    """A pipeline over the rows of Arrow IPC files (Feather), as `parquet`. Their record batches are the row groups."""
    return _pipeline(ArrowFiles(files, "ipc", parts), columns, nulls, present, "auto", name)


def present(name: str) -> str:
    """The boolean tensor that says in which rows a tensor is no null; `present=` of a source makes it."""
    return f"present({name})"


def bound(files: ArrowFiles, columns: Names, nulls: Optional[Mapping[str, Any]], present: Names = None) -> Pipeline:
    """A pipeline over files that are open to its runs in some way."""
    return _pipeline(files, columns, nulls, present, "auto", "files")


class ArrowFiles:
    """Parquet or Arrow IPC files, which a document names as {"source": {"arrow": {"bind": NAME}}} and takes from
    `load(…, bind={NAME: fb.ArrowFiles(files)})`.

    files   paths and patterns (*, ?, [a-z]), in this order
    format  "parquet" or "ipc"
    parts   "row_groups" or "files"
    """

    def __init__(self, files: Paths, format: Literal["parquet", "ipc"] = "parquet",
                 parts: Literal["row_groups", "files"] = "row_groups") -> None:
        from forebay._arrow_files import matched
        if format not in ("parquet", "ipc"):
            raise wrong_type("format", "'parquet' or 'ipc'", format)
        if parts not in ("row_groups", "files"):
            raise wrong_type("parts", "'row_groups' or 'files'", parts)
        self._files = matched(files)
        self._format: Literal["parquet", "ipc"] = format
        self._by_group = parts == "row_groups"

    def pump(self, name: str) -> "Pump":
        """Reads the footers of the files. Returns what reads them for one run."""
        from forebay._arrow_files import FilesPump, list_of_parts
        return FilesPump(name, list_of_parts(self._files, self._format, self._by_group))


def is_table(value: Any) -> bool:
    """Whether `bind` takes the object for a table."""
    return isinstance(value, ArrowFiles) or hasattr(value, "__arrow_c_stream__") or is_hugging_face(value)


def bound_table(value: Any, name: str) -> "tuple[_core.Table, Optional[Pump]]":
    """The table as the core takes it, and the thread that its runs need."""
    if isinstance(value, ArrowFiles):
        pump = value.pump(name)
        return pump.bound, pump
    if not hasattr(value, "__arrow_c_stream__"):
        value = table_of(value)
    stream = value.__arrow_c_stream__()
    if hasattr(value, "__len__") or hasattr(value, "num_rows"):
        return _core.arrow_table(stream, name), None
    from forebay._arrow_files import StreamPump
    streamed = StreamPump(name, stream)
    return streamed.bound, streamed


def is_hugging_face(value: Any) -> bool:
    """Whether the object is a data set of Hugging Face with its rows in an Arrow table."""
    return hasattr(value, "with_format") and hasattr(getattr(value, "data", None), "table")


def table_of(dataset: Any) -> Any:
    """The pyarrow table of a Hugging Face data set. One whose rows were chosen or shuffled is looked up by index."""
    if getattr(dataset, "_indices", None) is not None:
        return dataset.with_format("arrow")[:]
    return dataset.data.table


def _pipeline(table: Any, columns: Names, nulls: Optional[Mapping[str, Any]], present: Names, dictionaries: str,
              name: str) -> Pipeline:
    options: "dict[str, Any]" = {"bind": name}
    if columns is not None:
        options["columns"] = names_of("columns", columns)
        if not options["columns"]:
            raise ConfigError("columns: no column is named; leave it out for all", code="config", detail="invalid_argument")
    if nulls:
        options["nulls"] = dict(nulls)
    if present is not None:
        options["present"] = names_of("present", present)
    if dictionaries != "auto":
        options["dictionaries"] = dictionaries
    return Pipeline({"source": {"arrow": options}, "steps": []}, (), {name: table})
