# SPDX-License-Identifier: Apache-2.0
"""What a shard by row reads, and what it costs: its own records by index against whole files.

    python bench/shard_reading.py DATA [--forebay build/release/forebay] [--mib 256] [--rounds 5] [--records 1,16,128] [--corrupt N] [--windows N]

Writes 8 files of random records of each size (KiB), and stores their indexes in a folder of their own. Each round runs every case once, one after the other, with and without the indexes: 1 shard of 2, 4 and 8, a shuffle buffer, two threads.
Prints bytes read, bytes that came from the disk when no file was in the page cache, and processor time (user and system) when
all were; the median of the rounds.
`--windows N`: each record is a sequence that `chunk` cuts into N rows; the buffer shuffles these.
`--corrupt N`: one of N records has a wrong checksum, and `on_corrupt` is skip_record.
`--small-files N`: whole_file over N files of 16 KiB instead; `--whole` names a command of another version for "whole".
"""
from __future__ import annotations

import argparse
import array
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile

import forebay as fb

SHARDS = (2, 4, 8)


def record_of(source: random.Random, size: int, sequences: bool) -> bytes:
    if not sequences:
        return source.randbytes(size * 1024 + source.randrange(200))
    frames = size * 256 + source.randrange(50)  # of 4 bytes
    return fb.encode_example({"x": [float(value) for value in array.array("H", source.randbytes(2 * frames))]})


def write_records(folder: pathlib.Path, size: int, mib: int, sequences: bool) -> pathlib.Path:
    data = folder / (f"{size}k-sequences" if sequences else f"{size}k")
    data.mkdir(parents=True, exist_ok=True)
    source = random.Random(size)
    for number in range(8):
        path = data / f"part-{number}.tfrecord"
        if path.exists():
            continue
        count = mib * 1024 // 8 // size
        fb.write_records(path, (record_of(source, size, sequences) for _ in range(count)))
    return data


def corrupt(data: pathlib.Path, one_of: int) -> pathlib.Path:
    """Copies of the files in which one of so many records has a wrong byte."""
    out = data.with_name(f"{data.name}-corrupt-{one_of}")
    out.mkdir(exist_ok=True)
    for path in data.iterdir():
        content = bytearray(path.read_bytes())
        at = 0
        for number in range(sys.maxsize):
            if at >= len(content):
                break
            if number % one_of == one_of // 2:
                content[at + 100] ^= 1
            at += int.from_bytes(content[at:at + 8], "little") + 16
        (out / path.name).write_bytes(content)
    return out


def write_small_files(folder: pathlib.Path, count: int) -> pathlib.Path:
    data = folder / f"files-{count}"
    data.mkdir(parents=True, exist_ok=True)
    source = random.Random(count)
    for number in range(count):
        path = data / f"{number:07}.bin"
        if not path.exists():
            path.write_bytes(source.randbytes(16384))
    return data


def document(folder: pathlib.Path, name: str, source: dict, on_corrupt: str = "fail", chunk: int = 0) -> pathlib.Path:
    path = folder / f"{name}.json"
    features = {"x": {"kind": "var_len", "dtype": "float32"}}
    path.write_text(json.dumps({"source": source, "decode": {"example": {"features": features}} if chunk else {"record": {}},
                                "steps": [*([{"chunk": {"size": chunk}}] if chunk else []), {"shuffle": {"buffer": 500}},
                                          {"batch": {"size": 64, "remainder": "drop", "pad": True}}],
                                "seed": 1, "on_corrupt": on_corrupt}))
    return path


def evict(data: pathlib.Path) -> None:
    for path in data.iterdir():
        with open(path, "rb") as file:
            os.fsync(file.fileno())  # pages that are not written yet stay
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run(command: list[str]) -> tuple[dict, float, int]:
    """The counters, seconds of processor time, and bytes that came from the disk."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout), seconds, 512 * (after.ru_inblock - before.ru_inblock)


def compare(name: str, data: pathlib.Path, ways: dict[str, list[str]], rounds: int) -> None:
    seconds: dict[tuple[str, int], list[float]] = {(way, count): [] for way in ways for count in SHARDS}
    read: dict[tuple[str, int], int] = {}
    disk: dict[tuple[str, int], int] = {}
    for number in range(rounds + 1):
        for count in SHARDS:
            for way, command in ways.items():
                if number == 0:
                    evict(data)
                stats, spent, fetched = run([*command, "--shard", f"0/{count}", "--threads", "2", "--json"])
                if number == 0:
                    disk[way, count] = fetched
                else:
                    seconds[way, count].append(spent)
                read[way, count] = stats["bytes_read"]
    for count in SHARDS:
        whole, own = (statistics.median(seconds[way, count]) for way in ways)
        cells = [f"{kind[way, count] / 2**20:.1f}" for kind in (read, disk) for way in ways]
        print(f"| {name} | 1 of {count} | {' | '.join(cells)} | {whole:.3f} | {own:.3f} | {own / whole:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--forebay", default="build/release/forebay")
    parser.add_argument("--whole", default=None)
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", default="1,16,128")
    parser.add_argument("--windows", type=int, default=0)
    parser.add_argument("--corrupt", type=int, default=0)
    parser.add_argument("--small-files", type=int, default=0)
    asked = parser.parse_args()
    print("| records | shard | MiB read, whole | own | MiB of the disk, whole | own | seconds, whole | own | ratio |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    whole = asked.whole or asked.forebay
    if asked.small_files:
        data = write_small_files(asked.data, asked.small_files)
        path = document(asked.data, data.name, {"whole_file": {"files": [str(data / "*.bin")]}})
        compare(f"{asked.small_files} files of 16 KiB", data,
                {"whole": [whole, "run", str(path)], "own": [asked.forebay, "run", str(path)]}, asked.rounds)
        return
    for size in (int(text) for text in asked.records.split(",")):
        data = write_records(asked.data, size, asked.mib, asked.windows > 0)
        if asked.corrupt:
            data = corrupt(data, asked.corrupt)
        chunk = (size * 256 + 49) // asked.windows + 1 if asked.windows else 0
        path = document(asked.data, data.name, {"tfrecord": {"files": [str(data / "part-*.tfrecord")]}},
                        "skip_record" if asked.corrupt else "fail", chunk)
        with tempfile.TemporaryDirectory() as none:
            indexes = asked.data / f"index-{data.name}"
            subprocess.run([asked.forebay, "index", "--document", str(path), "--index-dir", str(indexes)], check=True,
                           capture_output=True)
            compare(f"{size} KiB", data, {"whole": [whole, "run", str(path), "--index-dir", none],
                                          "own": [asked.forebay, "run", str(path), "--index-dir", str(indexes)]},
                    asked.rounds)


if __name__ == "__main__":
    main()
