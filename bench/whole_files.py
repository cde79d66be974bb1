# SPDX-License-Identifier: Apache-2.0
"""Whole files: Forebay on 1 and 2 threads against open, fstat, read and close in C, and a plain Python loop.

    bench/whole_files.py [--files 100000] [--bytes 4096] [--repeat 3]

The files lie in the system's cache. Forebay delivers each file as a string in batches of 256; the time to its first
batch counts from the return of `load`. The best of the repetitions counts.
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

_FLOOR = r"""
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
long total(const char **paths, long count) {
  static char bytes[1 << 24];
  long total = 0;
  for (long i = 0; i < count; ++i) {
    int file = open(paths[i], O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (file < 0 || fstat(file, &about)) return -1;
    total += read(file, bytes, about.st_size < (long)sizeof(bytes) ? about.st_size : (long)sizeof(bytes));
    close(file);
  }
  return total;
}
"""


def by_c(folder: pathlib.Path, paths: list[str]) -> Callable[[], int]:
    source, library = folder / "floor.c", folder / "floor.so"
    source.write_text(_FLOOR)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    function = ctypes.CDLL(str(library)).total
    function.restype, function.argtypes = ctypes.c_long, [ctypes.POINTER(ctypes.c_char_p), ctypes.c_long]
    array = (ctypes.c_char_p * len(paths))(*[path.encode() for path in paths])
    return lambda: function(array, len(paths))


def by_python(paths: list[str]) -> int:
    total = 0
    for path in paths:
        with open(path, "rb") as file:
            total += len(file.read())
    return total


def by_forebay(pipe: fb.Pipeline, threads: int, first: list[float]) -> tuple[int, float]:
    """The bytes, and the seconds from the return of `load`."""
    with pipe.load(threads=threads) as loader:
        begun = time.perf_counter()
        total = 0
        for number, batch in enumerate(loader):
            if number == 0:
                first.append(time.perf_counter() - begun)
            total += int(batch.raw("record")[0][-1])
        return total, time.perf_counter() - begun


def timed(read: Callable[[], int]) -> tuple[int, float]:
    begun = time.perf_counter()
    return read(), time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--bytes", type=int, default=4096)
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        content = np.random.default_rng(1).bytes(asked.bytes)
        paths = []
        for i in range(asked.files):
            part = folder / f"{i // 1000:04}"
            part.mkdir(exist_ok=True)
            (part / f"{i:07}.bin").write_bytes(content)
            paths.append(str(part / f"{i:07}.bin"))
        pipe = fb.whole_file(paths).record().batch(256)
        mixed = fb.whole_file(paths).record().shuffle(global_=True).batch(256)
        firsts: dict[str, list[float]] = {}
        floor = by_c(folder, paths)
        readers = {"open, fstat, read, close": lambda: timed(floor), "Python loop": lambda: timed(lambda: by_python(paths))}
        for threads in (1, 2):
            for label, each in (("in order", pipe), ("global shuffle", mixed)):
                key = f"Forebay, {threads} threads, {label}"
                firsts[key] = []
                readers[key] = lambda each=each, threads=threads, key=key: by_forebay(each, threads, firsts[key])
        print(f"{asked.files} files of {asked.bytes} bytes")
        for reader, read in readers.items():
            results = [read() for _ in range(asked.repeat)]
            assert {total for total, _ in results} == {asked.files * asked.bytes}, reader
            best = min(seconds for _, seconds in results)
            first = f"   first batch {1e3 * min(firsts[reader]):.1f} ms" if reader in firsts else ""
            print(f"{reader:36} {1e6 * best / asked.files:6.2f} us a file{first}")


if __name__ == "__main__":
    main()
