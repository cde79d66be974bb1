# SPDX-License-Identifier: Apache-2.0
"""The outputs of a conversion: one class for each format, which writes batches to a file and reads the file back."""
from __future__ import annotations

import csv
import io
import tarfile
from typing import Any, Callable

import numpy as np

from forebay import _core
from forebay import builder
from forebay._conversion.inputs import ARRAY, INTEGER, refused, with_numbers
from forebay.errors import DataError
from forebay.loader import Batch
from forebay.builder import Pipeline
from forebay.schema import Schema, TensorSpec

Check = Callable[[str], None]
MIB = 1 << 20
SHOWN = 10  # tensors of a message


class Output:
    """A format. `write` and `finish` of what `open` returns are called by one thread."""

    #: Bytes of content of a batch, about.
    batch_bytes = 4 * MIB
    #: What to do with a list of frames that the format cannot hold.
    way_out = "write TFRecord, Parquet or Arrow files, which hold lists of frames"

    def __init__(self, schema: Schema, compression: str, text: "frozenset[str]", narrow: bool,
                 lists: "frozenset[str]" = frozenset()) -> None:
        self.schema = schema
        self.compression = compression
        self.text = text
        self.lists = lists
        self._narrow = narrow
        self.check()

    def check(self) -> None:
        """Refuses tensors that the format cannot hold."""

    def prepared(self, pipe: Pipeline) -> Pipeline:
        """The pipeline with the tensors as they are written."""
        return pipe

    def open(self, path: str, first: int) -> "Writer":
        """A new file, whose first row is that number of all rows."""
        raise NotImplementedError

    def read(self, path: str) -> Pipeline:
        """A pipeline over the rows of a file, with the tensors as they were written."""
        raise NotImplementedError

    def refuse(self, names: "list[str]", kinds: str) -> None:
        """Refuses these tensors, if there are any, all at once. kinds: what the format holds."""
        if not names:
            return
        found = "; ".join(f"'{name}' is {self.schema[name]}" for name in names[:SHOWN])
        more = f"; and {len(names) - SHOWN} more like these" if len(names) > SHOWN else ""
        them = "it" if len(names) == 1 else "them"
        other = self.way_out if self.lists.intersection(names) else "choose another format"
        raise refused(f"{found}{more}; {kinds}. Leave {them} out with drop (--drop), or {other}")


class Writer:
    """A file that is being written. `close` ends it; without `finish` nothing remains."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, batch: Batch) -> None:
        self._file.write(batch)

    def finish(self, check: Check) -> None:
        self._file.finish(check)

    def close(self) -> None:
        self._file = None


def is_list(spec: TensorSpec) -> bool:
    return spec.delivery != "equal" or None in spec.shape


class Examples(Output):
    """TFRecord files of tf.train.Example."""

    def check(self) -> None:
        for name, spec in self.schema.items():
            if spec.dtype == "float64" and not self._narrow:
                raise refused(f"'{name}' is float64, and an Example has float32 only; narrow (--narrow) rounds it")
            if spec.dtype.startswith("complex") or spec.delivery == "sparse" or not self.holds(name, spec):
                self.refuse([name], self.kinds(name))

    def holds(self, name: str, spec: TensorSpec) -> bool:
        """Whether the tensor has a shape that can be written."""
        return sum(size is None for size in spec.shape) <= 1

    def kinds(self, name: str) -> str:
        """What can be written, for messages."""
        nested = sum(size is None for size in self.schema[name].shape) == 2
        return "an Example has lists of integers, of float32 or of strings" + (
            ", and lists (--lists) names tensors that are lists of frames of SequenceExamples" if nested else "")

    @staticmethod
    def stored(spec: TensorSpec) -> str:
        """The dtype in the file."""
        return "float32" if spec.dtype in ("float16", "bfloat16", "float64") else spec.dtype

    def prepared(self, pipe: Pipeline) -> Pipeline:
        for name, spec in self.schema.items():
            if self.stored(spec) != spec.dtype:
                pipe = pipe.cast(name, "float32")
        return pipe

    def open(self, path: str, first: int) -> Writer:
        return Writer(_core.ExampleFile(path, self.compression))

    def features(self) -> "dict[str, Any]":
        """The options that read the tensors back."""
        return {name: {"kind": "var_len", "dtype": self.stored(spec)} if is_list(spec) else
                {"dtype": self.stored(spec), "shape": list(spec.shape)} for name, spec in self.schema.items()}

    def read(self, path: str) -> Pipeline:
        return builder.tfrecord([path], compression=self.compression,  # type: ignore[arg-type]
                                max_decompressed_bytes=1 << 40).example(self.features())


class Csv(Output):
    """CSV files with a header: numbers, bool and text, one a row."""

    def check(self) -> None:
        others = ("float16", "bfloat16", "complex64", "complex128")
        self.refuse([name for name, spec in self.schema.items()
                     if spec.shape != () or spec.delivery != "equal" or spec.dtype in others],
                    "a CSV file has one number or text in a field")

    def open(self, path: str, first: int) -> Writer:
        return _CsvWriter(self.schema, _core.OutputFile(path, self.compression))

    def read(self, path: str) -> Pipeline:
        columns: "dict[str, dict[str, Any]]" = {
            name: {"dtype": spec.dtype, **({"default": ""} if spec.dtype == "string" else {})}
            for name, spec in self.schema.items()}
        return builder.csv([path], compression=self.compression, header=True,  # type: ignore[arg-type]
                           max_decompressed_bytes=1 << 40).csv(columns)


class _CsvWriter(Writer):
    def __init__(self, schema: Schema, file: Any) -> None:
        super().__init__(file)
        self._schema = schema
        self._text([tuple(schema)])

    def _text(self, rows: Any) -> None:
        out = io.StringIO(newline="")
        csv.writer(out, lineterminator="\n").writerows(rows)
        self._file.write(out.getvalue().encode())

    def write(self, batch: Batch) -> None:
        self._text(zip(*(self._column(batch, name, spec.dtype) for name, spec in self._schema.items())))

    @staticmethod
    def _column(batch: Batch, name: str, dtype: str) -> "list[Any]":
        values = batch[name]
        if dtype == "string":
            try:
                return [value.decode() for value in values.tolist()]
            except UnicodeDecodeError:
                raise refused(f"'{name}' has strings that are no UTF-8 text, which a CSV file cannot hold; leave it out with "
                              "drop (--drop)") from None
        if dtype == "bool":
            return ["true" if value else "false" for value in values.tolist()]
        return list(values.astype(str).tolist()) if dtype == "float32" else list(values.tolist())


class Tar(Output):
    """Archives of WebDataset: strings as members, integers as text in .cls, other numbers as arrays of NumPy in .npy."""

    @staticmethod
    def holds(spec: TensorSpec) -> bool:
        one = spec.shape == () and spec.delivery == "equal"
        return ((one or spec.dtype != "string") and spec.dtype != "bfloat16" and spec.delivery != "sparse"
                and None not in spec.shape[1:])

    def check(self) -> None:
        members = {name: spec for name, spec in self.schema.items() if name != "__key__"}
        self.refuse([name for name, spec in members.items() if not self.holds(spec)],
                    "a member of a WebDataset sample is a string, an integer or an array of numbers")
        seen: "dict[str, str]" = {}
        for name, spec in members.items():
            text = spec.dtype == "string"
            if not name or "/" in name or "\0" in name or (text and name.lower().endswith((INTEGER, ARRAY))):
                raise refused(f"'{name}' cannot be the ending of a member's name; leave it out with drop (--drop)")
            if seen.setdefault(name.lower(), name) != name:
                raise refused(f"'{name}' and '{seen[name.lower()]}' would be one member: their case does not count")

    def member(self, name: str) -> str:
        """The ending of the member that a tensor becomes."""
        spec = self.schema[name]
        if spec.dtype == "string":
            return name
        return name + (INTEGER if spec.shape == () and spec.delivery == "equal" and "int" in spec.dtype else ARRAY)

    def open(self, path: str, first: int) -> Writer:
        return _TarWriter(self, first, _core.OutputFile(path, self.compression))

    def read(self, path: str) -> Pipeline:
        members = {name: self.member(name) for name in self.schema if name != "__key__"}
        pipe: Pipeline = builder.tar([path], compression=self.compression,  # type: ignore[arg-type]
                                     max_decompressed_bytes=1 << 40).tar({member: member for member in members.values()})
        ending = {name: member[len(name):] for name, member in members.items()}
        return with_numbers(pipe, {name: self.schema[name].dtype for name in members if ending[name] == INTEGER},
                            {name: (self.schema[name].dtype, self.schema[name].shape) for name in members
                             if ending[name] == ARRAY}).select(list(self.schema))


def _member_key(key: bytes) -> str:
    """The key of a sample, which is the beginning of its members' names: members stay inside the folder that an archive is extracted to."""
    text = key.decode("utf-8", "surrogateescape")
    if "\0" in text or any(part in ("", ".", "..") for part in text.split("/")):
        raise DataError(f"__key__: {text!r} cannot be the name of a member: it must be a relative path without NUL and without empty parts, "
                        "'.' or '..'; change the keys, or leave them out with drop (--drop __key__)", code="data", detail="invalid_argument")
    return text


class _TarWriter(Writer):
    def __init__(self, output: Tar, first: int, file: Any) -> None:
        super().__init__(file)
        self._members = {name: output.member(name) for name in output.schema if name != "__key__"}
        self._keyed = "__key__" in output.schema
        self._row = first

    def write(self, batch: Batch) -> None:
        columns = {name: self._texts(batch, name, member) for name, member in self._members.items()}
        keys = [_member_key(key) for key in batch["__key__"].tolist()] if self._keyed else None
        out = io.BytesIO()
        for row in range(batch.rows):
            key = keys[row] if keys else f"{self._row:09}"
            for name, member in self._members.items():
                data = columns[name][row]
                header = tarfile.TarInfo(f"{key}.{member}")
                header.size = len(data)
                out.write(header.tobuf(tarfile.GNU_FORMAT))
                out.write(data)
                out.write(bytes(-len(data) % tarfile.BLOCKSIZE))
            self._row += 1
        self._file.write(out.getvalue())

    @staticmethod
    def _texts(batch: Batch, name: str, member: str) -> "list[bytes]":
        """The bytes of the member in each row."""
        values = batch[name]
        if member == name:
            return list(values.tolist())
        if member == name + INTEGER:
            return [str(value).encode() for value in values.tolist()]
        splits = getattr(values, "row_splits", None)
        rows = values if splits is None else [values.values[splits[row]:splits[row + 1]] for row in range(batch.rows)]
        return [_npy(row) for row in rows]

    def finish(self, check: Check) -> None:
        self._file.write(bytes(2 * tarfile.BLOCKSIZE))
        super().finish(check)


def _npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, np.ascontiguousarray(array).reshape(np.shape(array)), allow_pickle=False)
    return out.getvalue()


class Numpy(Output):
    """npz archives, or npy files of one array. The arrays of a file are in memory until they are written."""

    archive = True

    def check(self) -> None:
        if self.compression != "none":
            raise refused("compression: files of NumPy are written without one")
        if not self.archive and len(self.schema) != 1:
            raise refused(f"an npy file has one array, and these are {', '.join(self.schema)}; select (--select) one, or write "
                          "npz")
        self.refuse([name for name, spec in self.schema.items() if is_list(spec) or spec.dtype in ("string", "bfloat16")],
                    "an array of NumPy has numbers in one shape")

    def open(self, path: str, first: int) -> Writer:
        return _NumpyWriter(self, _core.OutputFile(path, "none"))

    def read(self, path: str) -> Pipeline:
        if self.archive:
            return builder.npz([path])
        return builder.npy({next(iter(self.schema)): [path]})


class Npy(Numpy):
    archive = False


class _NumpyWriter(Writer):
    def __init__(self, output: Numpy, file: Any) -> None:
        super().__init__(file)
        self._output = output
        self._parts: "dict[str, list[Any]]" = {
            name: [np.empty((0, *spec.shape), np.dtype(spec.dtype))] for name, spec in output.schema.items()}

    def write(self, batch: Batch) -> None:
        for name, parts in self._parts.items():
            parts.append(batch[name])

    def finish(self, check: Check) -> None:
        arrays = {name: np.concatenate(parts) for name, parts in self._parts.items()}
        out = io.BytesIO()
        if self._output.archive:
            np.savez(out, **arrays)  # type: ignore[arg-type]
        else:
            np.save(out, next(iter(arrays.values())), allow_pickle=False)
        self._file.write(out.getvalue())
        super().finish(check)
