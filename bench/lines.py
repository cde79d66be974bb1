# SPDX-License-Identifier: Apache-2.0
"""Lines of one large text file: Forebay on 1 and 2 threads, a plain Python loop, and memchr alone.

    bench/lines.py [--megabytes 512] [--line 100] [--repeat 3]

All readers go through the same file in the system's cache. Forebay delivers each line as a string in batches of 4096.
The best of the repetitions counts. memchr is a C program that finds every line feed of the mapped file.
"""
from __future__ import annotations

import argparse
import ctypes
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Callable

import numpy as np

import forebay as fb

_MEMCHR = r"""
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
long count(const char *path) {
  int file = open(path, O_RDONLY);
  struct stat about;
  fstat(file, &about);
  const char *at = mmap(0, about.st_size, PROT_READ, MAP_PRIVATE, file, 0), *end = at + about.st_size;
  long lines = 0;
  for (const char *next; (next = memchr(at, '\n', end - at)); at = next + 1) ++lines;
  return lines;
}
"""


def write_text(path: pathlib.Path, size: int, line: int) -> int:
    """Lines of `line` bytes on average, from half of it to one and a half times of it."""
    rng = np.random.default_rng(1)
    block = rng.integers(33, 127, 16 << 20, dtype=np.uint8)
    ends = np.cumsum(rng.integers(line // 2, line + line // 2 + 1, len(block) // (line // 2)))
    block[ends[ends < len(block)]] = 10
    block[-1] = 10
    with path.open("wb") as out:
        for _ in range(size // len(block)):
            out.write(block)
    return int((block == 10).sum()) * (size // len(block))


def by_memchr(folder: pathlib.Path, path: pathlib.Path) -> Callable[[], int]:
    source, library = folder / "memchr.c", folder / "memchr.so"
    source.write_text(_MEMCHR)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return lambda: ctypes.CDLL(str(library)).count(str(path).encode())


def by_python(path: pathlib.Path) -> int:
    count = 0
    with path.open("rb") as lines:
        for line in lines:
            line.rstrip(b"\r\n")
            count += 1
    return count


def by_forebay(path: pathlib.Path, threads: int) -> int:
    with fb.lines([str(path)]).record().batch(4096).load(threads=threads) as loader:
        return sum(batch.rows for batch in loader)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--line", type=int, default=100, help="bytes of a line, on average")
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "large.txt"
        expected = write_text(path, asked.megabytes << 20, asked.line)
        readers = {"memchr": by_memchr(folder, path), "Python loop": lambda: by_python(path),
                   "Forebay, 1 thread": lambda: by_forebay(path, 1), "Forebay, 2 threads": lambda: by_forebay(path, 2)}
        print(f"{asked.megabytes} MiB, {expected} lines of {asked.line} bytes on average")
        for reader, read in readers.items():
            best = float("inf")
            for _ in range(asked.repeat):
                begun = time.perf_counter()
                lines = read()
                best = min(best, time.perf_counter() - begun)
                assert lines == expected, (reader, lines, expected)
            print(f"{reader:20} {path.stat().st_size / best / 1e9:6.2f} GB/s {expected / best / 1e6:8.2f} M lines/s")


if __name__ == "__main__":
    main()
