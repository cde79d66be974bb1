# SPDX-License-Identifier: Apache-2.0
"""The data of random pipelines: the same rows in files of every kind, in tables and in the program's own objects.

Row n of set `a` has `id` n, `x` a sequence of 0 to 6 integers that begin with 100 n + 1, and, where the format holds them, `f`
two floats, `t` a text, `im` a PNG and `au` a WAV. Set `b` begins with row 1,000. Set `c` is `a` with corrupt records."""
from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import pathlib
import random
import struct
import tarfile
import wave
import zlib
from typing import Any, Iterator

import numpy as np
import web

import forebay as fb

ROWS = {"a": range(0, 24), "b": range(1000, 1017), "c": range(0, 24)}
PARTS = 4                     # files of a set; the third one has no rows
CORRUPT = (5, 14)             # rows of set c
LARGE = 66_000                # bytes of a record that is worth a request


def frames(row: int) -> "list[int]":
    return [100 * row + 1 + j for j in range(row * 5 % 7)]


def text(row: int) -> str:
    return " ".join("abcdefg"[(row + j) % 7] * (1 + j) for j in range(row % 4))


def png(row: int) -> bytes:
    """4 × 4 pixels of one colour each row of pixels."""
    lines = b"".join(b"\0" + bytes([row % 256, y * 60, 7]) * 4 for y in range(4))

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(lines))
            + chunk(b"IEND", b""))


def wav(row: int) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(8000)
        file.writeframes(np.arange(40 + row % 5, dtype="<i2").tobytes())
    return out.getvalue()


def values(row: int) -> "dict[str, Any]":
    return {"id": [row], "x": frames(row), "f": [row / 2, row / 4], "t": text(row).encode(), "im": png(row), "au": wav(row)}


def part(name: str, number: int) -> "list[int]":
    """The rows of a file. They lie next to each other, so that the order of files is that of the rows."""
    cuts = np.array([0, .4, .7, .7, 1]) * len(ROWS[name])
    return list(ROWS[name])[int(cuts[number]):int(cuts[number + 1])]


def _spoil(path: pathlib.Path, rows: "list[int]") -> None:
    """Changes a byte of each row that is to be corrupt; `b"id"` is in the payload of each record."""
    data = bytearray(path.read_bytes())
    at = -1
    for row in rows:
        at = data.find(b"\x02id", at + 1)
        if row in CORRUPT:
            data[at + 1] ^= 0x20
    path.write_bytes(bytes(data))


def write(folder: pathlib.Path) -> None:
    for name, number in itertools.product(ROWS, range(PARTS)):
        rows, stem = part(name, number), f"{name}{number}"
        packing = [None, "gzip", None, "zstd"][number]
        fb.write_records(folder / f"{stem}.tfrecord", [fb.encode_example(values(row)) for row in rows])
        if name == "c":
            _spoil(folder / f"{stem}.tfrecord", rows)
            continue
        fb.write_records(folder / f"{stem}.large", [fb.encode_example({**values(row), "pad": [bytes(LARGE)]}) for row in rows])
        fb.write_records(folder / f"{stem}.zip.tfrecord", [fb.encode_example(values(row)) for row in rows], packing)
        fb.write_records(folder / f"{stem}.seq", [fb.encode_sequence_example({"id": [row]}, {"x": [[v] for v in frames(row)]}) for row in rows],
                         packing)
        lines = "".join(json.dumps({"id": row, "x": frames(row), "t": text(row)}) + "\n" for row in rows)
        (folder / f"{stem}.jsonl").write_text(lines)
        (folder / f"{stem}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
        (folder / f"{stem}.csv").write_text("".join(f"{row},{text(row)}\n" for row in rows))
        np.array(rows, "<i8").tofile(folder / f"{stem}.bin")
        np.save(folder / f"{stem}.npy", np.array(rows, "int64"))
        np.savez(folder / f"{stem}.npz", id=np.array(rows, "int64"))
        with tarfile.open(folder / f"{stem}.tar", "w") as tar:
            for row, ending in itertools.product(rows, ("id", "txt")):
                content = struct.pack("<q", row) if ending == "id" else text(row).encode()
                member = tarfile.TarInfo(f"{row:05}.{ending}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        texts = sorted({text(row) for rows in ROWS.values() for row in rows})
        (folder / "table.csv").write_text("key,long,other\n" + "".join(f'"{key}",{i},"x, {i}"\n' for i, key in enumerate(texts) if i % 5))
        whole = folder / f"whole-{name}"
        whole.mkdir(exist_ok=True)
        for row in rows:
            (whole / f"{row:05}.bin").write_bytes(struct.pack("<q", row))
        if arrow_tables():
            import pyarrow.parquet
            pyarrow.parquet.write_table(table(rows), folder / f"{stem}.parquet", row_group_size=3)


def arrow_tables() -> bool:
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        return False
    return True


def table(rows: Any) -> Any:
    import pyarrow as pa
    return pa.table({"id": pa.array(list(rows), pa.int64()), "x": pa.array([frames(row) for row in rows], pa.list_(pa.int64())),
                     "t": pa.array([text(row) for row in rows], pa.string())})


# ---- sources: each takes the name of a set, and is what a document of one source is
IDS = {"id": fb.fixed("int64")}
BOTH = {**IDS, "x": fb.var_len("int64")}
ALL = {**BOTH, "f": fb.fixed("float32", [2]), "t": fb.fixed("string"), "im": fb.fixed("string"), "au": fb.fixed("string")}


def example(name: str, **options: Any) -> fb.Pipeline:
    return fb.tfrecord(f"{name}?.tfrecord", **options).example(ALL)


def compressed_example(name: str, **options: Any) -> fb.Pipeline:
    return fb.tfrecord(f"{name}?.zip.tfrecord", **options).example(ALL)


class Near:
    """The files of the present folder, as those of another machine."""

    def info(self, path: str) -> "dict[str, Any]":
        found = os.stat(path.removeprefix("near://"))
        return {"size": found.st_size, "mtime": found.st_mtime_ns, "ino": found.st_ino}

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        with open(path.removeprefix("near://"), "rb") as file:
            file.seek(start)
            return file.read(max(1, (end - start) // 2))     # the engine asks for the rest

    def find(self, folder: str) -> "dict[str, dict[str, Any]]":
        """The versions of some files, too: those of the others are asked for."""
        below = folder.removeprefix("near://")
        paths = [f"near://{below}{name}" for name in os.listdir(below or ".")]
        return {path: self.info(path) if path.endswith((".large", ".bin")) else {} for path in paths}


fb.add_file_system("near", Near())


def remote_example(name: str, ending: str = "tfrecord", indexed: bool = False, **options: Any) -> fb.Pipeline:
    if indexed:
        fb.index_files(f"near://{name}?.{ending}")
    return fb.tfrecord(f"near://{name}?.{ending}", **options).example(ALL)


def remote_compressed_example(name: str, **options: Any) -> fb.Pipeline:
    return remote_example(name, "zip.tfrecord", **options)


def remote_large_example(name: str, **options: Any) -> fb.Pipeline:
    return remote_example(name, "large", **options)


def web_example(name: str, indexed: bool = False, **options: Any) -> fb.Pipeline:
    """indexed: the indexes lie with the files, and this machine has none."""
    files = [f"{web.url()}/{name}{number}.tfrecord" for number in range(PARTS)]
    if indexed:
        fb.index_files(files, index_dir="elsewhere", publish=".forebay")
    return fb.tfrecord(files, **options).example(ALL)


def remote_whole_file(name: str, **options: Any) -> fb.Pipeline:
    return fb.whole_file(f"near://whole-{name}/*.bin", **options).raw("int64", name="id", shape=[], endian="little")


def remote_json_lines(name: str, ending: str = "jsonl") -> fb.Pipeline:
    return fb.json_lines(f"near://{name}?.{ending}", {"id": "int64", "x": fb.feature("int64", [-1]), "t": "string"})


def sequence_example(name: str) -> fb.Pipeline:
    return fb.tfrecord(f"{name}?.seq").sequence_example(context=IDS, lists={"x": fb.fixed_len_sequence("int64", [], allow_missing=True)})


def json_lines(name: str, ending: str = "jsonl") -> fb.Pipeline:
    return fb.json_lines(f"{name}?.{ending}", {"id": "int64", "x": fb.feature("int64", [-1]), "t": "string"})


def csv(name: str) -> fb.Pipeline:
    return fb.csv(f"{name}?.csv", names=["id", "t"]).csv({"id": {"dtype": "int64"}, "t": {"dtype": "string"}})


def fixed_length(name: str) -> fb.Pipeline:
    return fb.fixed_length(f"{name}?.bin", 8).raw("int64", name="id", shape=[], endian="little")


def tar(name: str) -> fb.Pipeline:
    return fb.tar(f"{name}?.tar").tar({"id": "id", "t": "txt"}).decode(
        "id", {"raw": {"name": "id", "dtype": "int64", "shape": [], "endian": "little"}})


def whole_file(name: str, **options: Any) -> fb.Pipeline:
    return fb.whole_file(f"whole-{name}/*.bin", **options).raw("int64", name="id", shape=[], endian="little")


def npy(name: str) -> fb.Pipeline:
    return fb.npy({"id": [f"{name}?.npy"]})


def npz(name: str) -> fb.Pipeline:
    return fb.npz(f"{name}?.npz")


def parquet(name: str) -> fb.Pipeline:
    return fb.parquet(f"{name}?.parquet", name=f"parquet-{name}")


def arrow(name: str) -> fb.Pipeline:
    return fb.arrow(table(ROWS[name]), name=f"arrow-{name}")


def arrays(name: str) -> fb.Pipeline:
    rows = list(ROWS[name])
    splits = np.cumsum([0] + [len(frames(row)) for row in rows])
    return fb.arrays({"id": np.array(rows), "x": fb.Ragged(np.array([v for row in rows for v in frames(row)]), splits),
                      "f": np.array([[row / 2, row / 4] for row in rows], "float32")}, name=f"arrays-{name}")


def _dicts(name: str, start: int = 0) -> "Iterator[dict[str, Any]]":
    return ({"id": np.int64(row), "x": np.array(frames(row), "int64")} for row in list(ROWS[name])[start:])


def python_sequence(name: str) -> fb.Pipeline:
    return fb.python([{"id": np.int64(row)} for row in ROWS[name]], name=f"sequence-{name}")


def python_open(name: str) -> fb.Pipeline:
    return fb.python(open=lambda epoch, start: _dicts(name, start), columns=BOTH, name=f"open-{name}")


# ---- functions that pipelines bind
def backwards(epoch: int, count: int) -> Any:
    return np.arange(count - 1, -1, -1)


def halves(epoch: int, file: str, record: int, count: int) -> "list[tuple[int, int]]":
    return [(0, count // 2 or 1), (count // 2, count)] if count > 1 else [(0, count)] if count else []


def sizes(number: int) -> int:
    return 1 + number % 4


BOUND = {"backwards": backwards, "halves": halves, "sizes": sizes}


def per_row(row: Any) -> Any:
    return {"id": row["id"], "twice": 2 * row["id"]} if "id" in row else {"one": 1}


def kept(row: Any) -> Any:
    return dict(row)


def per_batch(batch: Any, rng: np.random.Generator) -> Any:
    return {"id": batch["id"], "noise": rng.random(batch.rows)} if "id" in batch else {"noise": rng.random(batch.rows)}


def draws(row: Any) -> Any:
    """Draws from the generators that libraries share."""
    return {"id": row["id"], "a": random.random(), "b": np.random.rand(2)} if "id" in row else {"a": random.random()}


def deadly(batch: Any) -> Any:
    """Kills its process once in a run."""
    try:
        os.close(os.open(f"killed-{os.getppid()}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return per_row(batch)
    os.kill(os.getpid(), 9)
