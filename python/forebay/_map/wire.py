# SPDX-License-Identifier: Apache-2.0
"""Batches and results as raw memory: how they travel between the program and the processes of `map`.

A region of shared memory holds a header of JSON text and, from the next multiple of 64 bytes on, the arrays. The header
says where each tensor is, its dtype and its shape. Tensors of a loader's batch are always sent this way, and strings as
offsets and bytes. Values of other types, which only a function given to `map` can make, are pickled by the
process that has them.
"""
from __future__ import annotations

import json
import mmap
import os
import pickle
from typing import Any, Iterator, Mapping, Optional

import numpy as np

from forebay._core import Batch
from forebay._map.call import made_of
from forebay._map.output import bytes_array, numpy_type
from forebay._structure import is_part, named
from forebay.mapped import TupleBatch, strings_raw
from forebay.values import Fraction, Origin, Ragged, Span, Sparse

ALIGNMENT = 64
#: How paths become bytes: those that are not UTF-8 stay as they are.
TEXT = ("utf-8", "surrogateescape")


def aligned(size: int) -> int:
    return -size % ALIGNMENT + size


class Region:
    """Shared memory without a name, of which each side has a mapping. It grows and never shrinks.

    One side writes at a time; messages through a socket say whose turn it is.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: Optional[mmap.mmap] = None
        self._size = 0

    def view(self, size: int) -> Any:
        """The first `size` bytes as a uint8 array. Raises OSError when there is not so much memory."""
        if self._map is None or size > self._size:
            self._size = max(os.fstat(self.descriptor).st_size, aligned(size + size // 4), 1 << 16)
            # Reserved at once: a page that cannot be had later would end the process.
            os.posix_fallocate(self.descriptor, 0, self._size)
            self._map = mmap.mmap(self.descriptor, self._size)
        return np.frombuffer(self._map, np.uint8, size)

    def close(self) -> None:
        self._map = None
        os.close(self.descriptor)


class RegionWriter:
    """A header and arrays on their way into a region."""

    def __init__(self, pickled: bool) -> None:
        self._pickled = pickled
        self._arrays: list[tuple[int, Any]] = []
        self._end = 0

    def tensors(self, values: Mapping[str, Any]) -> list[Any]:
        """The descriptions of tensors, for the header. Raises TypeError for a name that is not a str."""
        out = []
        for name, value in values.items():
            if not isinstance(name, str):
                raise TypeError(f"the names of tensors must be str; found {name!r} ({type(name).__name__})")
            raw = values.raw(name) if isinstance(values, Batch) and _is_strings(value) else None
            out.append([name, self.tensor(value, raw)])
        return out

    def tree(self, value: Any) -> list[Any]:
        """The description of a nested dict or tuple of tensors."""
        if isinstance(value, Mapping):
            return ["dict", self.tensors(value)]
        if type(value) is tuple:
            return ["tuple", [self.tensor(each) for each in value]]
        return ["named", self.tensor(np.frombuffer(self._pickle(type(value)), np.uint8)), [self.tensor(each) for each in value]]

    def tensor(self, value: Any, raw: Optional[tuple[Any, Any]] = None) -> list[Any]:
        if is_part(value) and (not isinstance(value, dict) or all(isinstance(name, str) for name in value)):
            return self.tree(value)
        if isinstance(value, Ragged):
            return ["ragged", self.tensor(value.values), [self.tensor(splits) for splits in value.nested_row_splits]]
        if isinstance(value, Sparse):
            return ["sparse", self.tensor(value.indices), self.tensor(value.values), list(value.dense_shape)]
        if _is_strings(value) and (raw is not None or all(type(each) is bytes for each in value.ravel().tolist())):
            offsets, data = strings_raw(value) if raw is None else raw
            return ["strings", list(value.shape), self.tensor(offsets), self.tensor(data)]
        name = _dtype_name(value)
        if name is None:
            return ["pickled", self.tensor(np.frombuffer(self._pickle(value), np.uint8))]
        self._end = aligned(self._end)
        place = self._end
        self._arrays.append((place, value))
        self._end += value.nbytes
        return ["array", name, list(value.shape), place]

    def _pickle(self, value: Any) -> bytes:
        if not self._pickled:
            raise TypeError(f"a value of type {type(value).__name__} cannot be sent to a process")
        return pickle.dumps(value, 5)

    def write(self, header: Mapping[str, Any], region: Region) -> tuple[int, int]:
        """Writes everything. The sizes of the header, and of all."""
        text = json.dumps(header).encode()
        start = aligned(len(text))
        memory = region.view(start + self._end)
        memory[:len(text)] = np.frombuffer(text, np.uint8)
        for place, array in self._arrays:
            begin = start + place
            target = memory[begin:begin + array.nbytes].view(array.dtype).reshape(array.shape)
            np.copyto(target, array)
        return len(text), start + self._end


class RegionReader:
    """What a region holds, copied out of it, so that the region may be written again."""

    def __init__(self, region: Region, header_size: int, size: int) -> None:
        memory = region.view(size)
        self.header: dict[str, Any] = json.loads(memory[:header_size].tobytes())
        self._data = memory[aligned(header_size):].copy()

    def tensor(self, found: list[Any]) -> Any:
        kind = found[0]
        if kind == "array":
            _, name, shape, place = found
            dtype = np.dtype(np.uint16) if name == "bfloat16" and numpy_type(name) is None else _dtype_of(name)
            size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
            return self._data[place:place + size].view(dtype).reshape(shape)
        if kind == "ragged":
            return Ragged(self.tensor(found[1]), [self.tensor(splits) for splits in found[2]])
        if kind == "sparse":
            return Sparse(self.tensor(found[1]), self.tensor(found[2]), found[3])
        if kind == "strings":
            return strings_of(found[1], self.tensor(found[2]), self.tensor(found[3]))
        if kind == "dict":
            return self.tensors(found[1])
        if kind == "tuple":
            return tuple(map(self.tensor, found[1]))
        if kind == "named":
            return pickle.loads(self.tensor(found[1]).tobytes())(*map(self.tensor, found[2]))
        return pickle.loads(self.tensor(found[1]).tobytes())

    def result(self) -> Any:
        """What a function returned."""
        return self.tensor(self.header["result"])

    def tensors(self, found: list[Any]) -> dict[str, Any]:
        return {name: self.tensor(one) for name, one in found}


class SentBatch(Mapping[str, Any]):
    """A batch in a process of `map`: a mapping like forebay.Batch, with the same attributes. Its memory is its own."""

    def __init__(self, received: RegionReader) -> None:
        header = received.header
        self._received = received
        self._tensors: dict[str, Any] = {}
        self._found: dict[str, Any] = dict(header["tensors"])
        self._groups = header["inputs"], header["targets"]
        self.number: int = header["number"]
        self.epoch: int = header["epoch"]
        self.rows: int = header["rows"]
        self.valid_rows: int = header["valid_rows"]
        self.branch: list[int] = header["branch"]
        self.ends_epoch: Optional[bool] = header["ends_epoch"]
        self.seq_idx = None if header["seq_idx"] is None else np.array(header["seq_idx"], np.int64)
        self.epoch_end: bool = header["epoch_end"]
        self.complete_frac = Fraction(*header["complete_frac"])
        self.frames: dict[str, int] = header["frames"]

    def given(self) -> Any:
        """What the function gets: this batch, or a TupleBatch where rows are tuples."""
        found = self._received.header["tuple"]
        return self if found is None else TupleBatch(self._received.tensor(found), self)

    def __getitem__(self, name: str) -> Any:
        if name not in self._tensors:
            if name not in self._found and any(name.startswith(f"{part}.") for part in self._found):
                return named(dict(self))[name]
            if name not in self._found:
                from forebay.values import unknown_name
                raise KeyError(unknown_name(name, list(self._found)))
            self._tensors[name] = self._received.tensor(self._found[name])
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __contains__(self, name: object) -> bool:
        return name in self._found

    @property
    def inputs(self) -> dict[str, Any]:
        return {name: self[name] for name in self._groups[0]}

    @property
    def targets(self) -> dict[str, Any]:
        return {name: self[name] for name in self._groups[1]}

    @property
    def lengths(self) -> dict[str, Any]:
        return self._received.tensors(self._received.header["lengths"])

    @property
    def origins(self) -> list[Any]:
        header = self._received.header
        files, places = header["files"], self._received.tensor(header["origins"]).tolist()
        if header["of_rows"]:
            return [Origin(files[place[0]], *place[1:6]) for place in places]
        flat = [(files[file], record, offset) for file, record, offset in places]
        wide = header["side_by_side"]
        return [tuple(flat[at:at + wide]) for at in range(0, len(flat), wide)] if wide else flat

    @property
    def spans(self) -> Optional[list[list[Span]]]:
        header = self._received.header
        if not header["spans"]:
            return None
        out: list[list[Span]] = [[] for _ in range(self.rows)]
        for origin, (length, at) in zip(self.origins, self._received.tensor(header["origins"])[:, 6:].tolist()):
            out[origin.row].append(Span(origin, origin.start, length, at))
        return out

    @property
    def skipped(self) -> list[tuple[tuple[str, int, int], str]]:
        return [((file, record, offset), error) for file, record, offset, error in self._received.header["skipped"]]

    @property
    def mask(self) -> Any:
        spans = self.spans
        return np.arange(self.rows) < self.valid_rows if spans is None else np.array([bool(row) for row in spans], bool)

    @property
    def record_keys(self) -> list[str]:
        text = self._received.tensor(self._received.header["record_keys"]).tobytes().decode(*TEXT)
        return text.split("\0") if self.valid_rows else []

    def _identities(self) -> Any:
        return self._received.tensor(self._received.header["identities"])

    def raw(self, name: str) -> tuple[Any, Any]:
        value = self[name]
        if not _is_strings(value):
            raise TypeError(f"raw is for tensors of strings; {name!r} is not one")
        return strings_raw(value)

    def __repr__(self) -> str:
        return f"Batch(number={self.number}, rows={self.rows}, {', '.join(self._found)})"


def send_batch(batch: Any, region: Region) -> tuple[int, int]:
    """Writes a Batch, or a MappedBatch that an earlier `map` made, as SentBatch reads it."""
    writer = RegionWriter(pickled=not isinstance(batch, Batch))
    origins = batch.origins
    side_by_side = len(origins[0]) if origins and not isinstance(origins[0][0], str) else 0
    if side_by_side:
        origins = [origin for row in origins for origin in row]
    files: dict[str, int] = {}
    of_rows = bool(origins) and isinstance(origins[0], Origin)
    spans = batch.spans
    places = np.empty((len(origins), 8 if spans is not None else 6 if of_rows else 3), np.int64)
    if origins:
        names, records, offsets = zip(*origins)
        for name in dict.fromkeys(names):
            files[name] = len(files)
        places[:, 0] = [files[name] for name in names] if len(files) > 1 else 0
        places[:, 1] = np.fromiter(records, np.int64, len(records))
        places[:, 2] = np.fromiter(offsets, np.int64, len(offsets))
    if of_rows:
        places[:, 3:6] = [(origin.window, origin.start, origin.row) for origin in origins]
    if spans is not None and origins:
        places[:, 6:] = [(span.length, span.at) for row in spans for span in row]
    header = {"number": batch.number, "epoch": batch.epoch, "rows": batch.rows, "valid_rows": batch.valid_rows,
              "tensors": writer.tensors(batch) if isinstance(batch, Mapping) else [],
              "tuple": None if isinstance(batch, Mapping) else writer.tree(batch.tensors), "lengths": writer.tensors(batch.lengths), "inputs": list(batch.inputs),
              "targets": list(batch.targets), "identities": writer.tensor(made_of(batch)._identities()), "files": list(files), "origins": writer.tensor(places),
              "of_rows": of_rows, "side_by_side": side_by_side, "spans": spans is not None, "branch": batch.branch, "ends_epoch": batch.ends_epoch,
              "seq_idx": None if batch.seq_idx is None else batch.seq_idx.tolist(), "epoch_end": batch.epoch_end,
              "complete_frac": list(batch.complete_frac), "frames": batch.frames,
              "skipped": [(*origin, error) for origin, error in batch.skipped],
              "record_keys": writer.tensor(np.frombuffer("\0".join(batch.record_keys).encode(*TEXT), np.uint8))}
    return writer.write(header, region)


def send_result(result: Any, region: Region) -> tuple[int, int]:
    """Writes what a function returned; RegionReader.result reads it."""
    writer = RegionWriter(pickled=True)
    return writer.write({"result": writer.tree(result)}, region)


def strings_of(shape: list[int], offsets: Any, data: Any) -> Any:
    """An object array of bytes."""
    whole, ends = data.tobytes(), offsets.tolist()
    first = ends[0] if ends else 0
    return bytes_array([whole[begin - first:end - first] for begin, end in zip(ends[:-1], ends[1:])]).reshape(shape)


def _is_strings(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype == object


def _dtype_name(value: Any) -> Optional[str]:
    """The name by which an array's dtype travels; None: the value travels in another way."""
    if type(value) is not np.ndarray:
        return None
    if value.dtype.kind in "biufcSUmM" and value.dtype.isnative:
        return str(value.dtype.str)
    return "bfloat16" if value.dtype.name == "bfloat16" else None


def _dtype_of(name: str) -> Any:
    return numpy_type(name) if name == "bfloat16" else np.dtype(name)
