# SPDX-License-Identifier: Apache-2.0
"""Data sets of a few rows, as every kind of source.

A row has `id`, and `x` with one to six frames; a source of single values has `id` alone. Set c is a with one corrupt record. Row n of
set d belongs to row n of a: it has as many frames, and an id that is larger by SIDE.
"""
from __future__ import annotations

import io
import json
import pathlib
import tarfile
from typing import Any, Callable, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import forebay as fb

FILES = 3
CORRUPT = 11   # the id of the record that is corrupt in set c


def _rows(first: int, count: int) -> "list[tuple[int, list[int]]]":
    return [(first + i, [(first + i) * 100 + j + 1 for j in range(1 + (i * 7) % 6)]) for i in range(count)]


SIDE = 3000
ROWS = {"a": _rows(1, 24), "b": _rows(1000, 20), "d": _rows(1 + SIDE, 24)}
ROWS["c"] = [row for row in ROWS["a"] if row[0] != CORRUPT]

#: Sources without a tensor that has frames.
ONLY_ID = {"whole_file", "fixed_length", "npy", "npz", "csv_text", "tar"}
#: Rows that the program gives once: no state, by nature.
NO_REPLAY = {"feed", "python_iterable"}
#: Rows that come one after the other.
FORWARD = NO_REPLAY | {"python_open"}
NO_FILES = {"arrays", "arrow", "python_sequence", "python_iterable", "python_open", "feed"}
#: Sources whose rows may have an image.
DRAWABLE = {"example", "json_lines", "arrays"}


def _image(i: int) -> "list[float]":
    return [i % 7 / 7.0] * 12


def write(folder: pathlib.Path) -> None:
    """Writes each set, three files of each format."""
    for name in ("a", "b", "d"):
        (folder / f"whole-{name}").mkdir(parents=True)
        for i, _ in ROWS[name]:
            (folder / f"whole-{name}/{i:05}.bin").write_bytes(np.array([i], "<i8").tobytes())
        for number in range(FILES):
            _write_files(folder / f"{name}{number}", ROWS[name][number::FILES])
    for number in range(FILES):
        content = bytearray((folder / f"a{number}.tfrecord").read_bytes())
        at = -1
        for i, _ in ROWS["a"][number::FILES]:
            at = content.find(b"img", at + 1)   # each record has one
            if i == CORRUPT:
                content[at] ^= 0x55
        (folder / f"c{number}.tfrecord").write_bytes(content)


def _write_files(stem: pathlib.Path, rows: "list[tuple[int, list[int]]]") -> None:
    fb.write_records(f"{stem}.tfrecord", [fb.encode_example({"id": [i], "x": x, "img": _image(i)}) for i, x in rows])
    fb.write_records(f"{stem}.seq", [fb.encode_sequence_example({"id": [i]}, {"x": [[v] for v in x]}) for i, x in rows])
    lines = [json.dumps({"features": {"feature": {"id": {"int64List": {"value": [str(i)]}}, "img": {"floatList": {"value": _image(i)}},
                                                  "x": {"int64List": {"value": [str(v) for v in x]}}}}}) for i, x in rows]
    pathlib.Path(f"{stem}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    pathlib.Path(f"{stem}.csv").write_text("".join(f"{i},{' '.join(map(str, x))}\n" for i, x in rows))
    ids = np.array([i for i, _ in rows])
    ids.astype("<i8").tofile(f"{stem}.bin")
    np.save(f"{stem}.npy", ids)
    np.savez(f"{stem}.npz", id=ids)
    with tarfile.open(f"{stem}.tar", "w") as archive:
        for i, _ in rows:
            content = np.array([i], "<i8").tobytes()
            member = tarfile.TarInfo(f"{i}.id")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    pq.write_table(_table(rows), f"{stem}.parquet", row_group_size=3)


def _table(rows: "list[tuple[int, list[int]]]") -> Any:
    return pa.table({"id": pa.array([i for i, _ in rows], pa.int64()), "x": pa.array([x for _, x in rows], pa.list_(pa.int64()))})


class Set(NamedTuple):
    """A data set. draws: its rows have an image, which a step may change at random."""

    folder: pathlib.Path
    name: str
    draws: bool

    @property
    def rows(self) -> "list[tuple[int, list[int]]]":
        return ROWS[self.name]

    def files(self, ending: str) -> str:
        return f"{self.folder}/{self.name}?.{ending}"

    def make(self, source: str) -> fb.Pipeline:
        return SOURCES[source](self)

    def features(self) -> "dict[str, Any]":
        features: "dict[str, Any]" = {"id": fb.fixed("int64", []), "x": fb.var_len("int64")}
        return {**features, "img": fb.fixed("float32", [2, 2, 3])} if self.draws else features

    def columns(self) -> "dict[str, Any]":
        out: "dict[str, Any]" = {"id": np.array([i for i, _ in self.rows]),
                                 "x": fb.Ragged(np.array([v for _, x in self.rows for v in x]),
                                                np.cumsum([0] + [len(x) for _, x in self.rows]))}
        if self.draws:
            out["img"] = np.array([_image(i) for i, _ in self.rows], "float32").reshape(-1, 2, 2, 3)
        return out

    def listed(self) -> "list[dict[str, Any]]":
        return [{"id": np.int64(i), "x": np.array(x)} for i, x in self.rows]


_COLUMNS = {"id": fb.fixed("int64", []), "x": fb.var_len("int64")}


def _feed(of: Set) -> fb.Pipeline:
    feed = fb.Feed(_COLUMNS, capacity=1024)
    for row in of.listed():
        feed.put(row)
    feed.close()
    return fb.feed(feed, name="feed-" + of.name)


def _opened(of: Set) -> fb.Pipeline:
    listed = of.listed()
    return fb.python(open=lambda epoch, start: iter(listed[start:]), columns=_COLUMNS, name="op-" + of.name)


SOURCES: "dict[str, Callable[[Set], fb.Pipeline]]" = {
    "example": lambda of: fb.tfrecord(of.files("tfrecord")).example(of.features()),
    "sequence_example": lambda of: fb.tfrecord(of.files("seq")).sequence_example(
        context={"id": fb.fixed("int64", [])}, lists={"x": fb.fixed_len_sequence("int64", [])}),
    "json_lines": lambda of: fb.lines(of.files("jsonl")).json_example(of.features()),
    "arrays": lambda of: fb.arrays(of.columns(), name="arrays-" + of.name),
    "arrow": lambda of: fb.arrow(_table(of.rows), name="arrow-" + of.name),
    "parquet": lambda of: fb.parquet(of.files("parquet"), name="pq-" + of.name),
    "python_sequence": lambda of: fb.python(of.listed(), name="py-" + of.name, output=_COLUMNS),
    "python_iterable": lambda of: fb.python(iter(of.listed()), _COLUMNS, name="it-" + of.name),
    "python_open": _opened,
    "feed": _feed,
    "whole_file": lambda of: fb.whole_file(f"{of.folder}/whole-{of.name}/*.bin").record("id"),
    "fixed_length": lambda of: fb.fixed_length(of.files("bin"), 8).record("id"),
    "npy": lambda of: fb.npy({"id": [of.files("npy")]}),
    "npz": lambda of: fb.npz(of.files("npz")),
    "csv_text": lambda of: fb.csv(of.files("csv"), names=["id", "t"]).csv({"id": {"dtype": "int64"}, "t": {"dtype": "string"}}),
    "tar": lambda of: fb.tar(of.files("tar")).tar({"id": "id"}),
}
