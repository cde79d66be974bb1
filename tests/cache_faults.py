#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does to the file of a cache what disks and other programs do, and compares each stream with that of local files.

    tests/cache_faults.py [--runs 200] [--first 0]

Before and during a run, bits are flipped, pages are zeroed, the file is cut, gets longer, is removed or is what it was some runs ago; other processes
and loaders use it, and are killed. The stream must be that of local files each time, and other files in the folder must stay as they are. Runs differ
in order, compression, threads, memory, passes, sizes of files and of the cache.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any, Callable, Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python/tests"))
import numpy as np  # noqa: E402
from stores import records, store_of, values  # noqa: E402

import forebay as fb  # noqa: E402

PART = 64 << 10
ORDERS: "dict[str, Callable[[Any], Any]]" = {
    "in order": records, "buffer": lambda files: records(files).shuffle(30), "globally": lambda files: records(files).shuffle(global_=True),
    "side by side": lambda files: records(files).interleave(2), "files": lambda files: records(files).shuffle(9).interleave(1),
    "mixture": lambda files: fb.mix([records(files), records(files).filter("id % 2 == 0")])}


def harm(file: pathlib.Path, earlier: pathlib.Path, rng: random.Random) -> str:
    """Changes the file of the cache in one way; says how."""
    if not file.exists():
        return "nothing"
    size = file.stat().st_size
    kind = rng.choice(["bits", "bits", "table", "page", "cut", "longer", "removed", "earlier", "nothing"])
    if kind == "cut":
        os.truncate(file, rng.randrange(size))
    elif kind == "longer":
        os.truncate(file, size + rng.randrange(1, 100_000))
    elif kind == "removed":
        file.unlink()
    elif kind == "earlier" and earlier.exists():
        shutil.copy(earlier, file)
    elif kind in ("bits", "table", "page"):
        with file.open("r+b") as opened:
            for _ in range(rng.randrange(1, 30)):
                opened.seek(rng.randrange(64, min(size, 20_000)) if kind == "table" else rng.randrange(size))
                opened.write(bytes(4096) if kind == "page" else rng.randbytes(rng.randrange(1, 9)))
    return kind


OTHER = """
import sys
sys.path.insert(0, sys.argv[1])
import pathlib
from stores import Store, records
import forebay as fb
root, kept, size = sys.argv[2:5]
store = Store()
for path in sys.argv[5:]:
    store.put(f"{root}/{pathlib.Path(path).name}", pathlib.Path(path).read_bytes())
fb.add_file_system(root.partition(":")[0], store)
print("ready", flush=True)
while True:
    with records([f"{root}/{pathlib.Path(path).name}" for path in sys.argv[5:]]).batch(8).load(cache=(kept, int(size))) as loader:
        for batch in loader:
            pass
"""


@contextlib.contextmanager
def other_process(root: str, kept: pathlib.Path, size: int, paths: "list[pathlib.Path]") -> "Iterator[None]":
    """One that uses the same folder, and is killed."""
    tests = str(pathlib.Path(__file__).resolve().parent.parent / "python/tests")
    process = subprocess.Popen([sys.executable, "-c", OTHER, tests, root, str(kept), str(size), *map(str, paths)], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert process.stdout is not None
    process.stdout.readline()
    killer = threading.Timer(random.random() * .05, lambda: process.send_signal(signal.SIGKILL))
    killer.start()
    yield
    killer.cancel()
    process.kill()
    process.communicate()


def check(seed: int, folder: pathlib.Path) -> str:
    """One store, and several runs over it with one cache; says what was done."""
    rng = random.Random(seed)
    noise = np.random.default_rng(seed)
    paths, first = [], 0
    for number in range(rng.randrange(1, 5)):
        count = rng.randrange(1, 160)
        path = folder / f"part-{number}"
        fb.write_records(path, [fb.encode_example({"id": [i], "v": noise.integers(0, 2**60, rng.randrange(60, 260))})
                                for i in range(first, first + count)], rng.choice([None, None, "gzip"]))
        first += count
        paths.append(path)
    root, _ = store_of(paths)
    name = rng.choice(list(ORDERS))
    passes = rng.randrange(1, 4)

    def pipe(files: "list[str]") -> Any:
        return ORDERS[name](files).seed(seed).batch(8).epochs(passes)

    wanted = values(pipe([str(path) for path in paths]).load())
    kept, earlier = folder / "kept", folder / "earlier"
    kept.mkdir()
    (kept / "poem").write_text("whose woods these are")
    done = []
    size = rng.randrange(1, 60) * PART
    for _ in range(rng.randrange(2, 6)):
        done.append(harm(kept / "parts-v1", earlier, rng))
        if rng.random() < .3 and (kept / "parts-v1").exists():
            shutil.copy(kept / "parts-v1", earlier)
        if rng.random() < .2:
            size = rng.randrange(1, 60) * PART
        beside = other_process(root, kept, size, paths) if rng.random() < .15 else contextlib.nullcontext()
        harmed_later = rng.random() < .3
        with beside, pipe([f"{root}/{path.name}" for path in paths]).load(threads=rng.choice([1, 4]), memory=rng.choice(["8MiB", "256MiB"]),
                                                                         cache=(kept, size)) as loader:
            got = []
            for number, batch in enumerate(loader):
                got += values([batch])
                if harmed_later and number == 1:
                    done.append("during the run: " + harm(kept / "parts-v1", earlier, rng))
        assert got == wanted, f"other rows after {done}"
        assert (kept / "poem").read_text() == "whose woods these are"
        assert sorted(path.name for path in kept.iterdir()) in (["parts-v1", "poem"], ["poem"]), sorted(kept.iterdir())
    return f"{name}, {passes} passes: {', '.join(done)}"


def main(arguments: "list[str] | None" = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args(arguments)
    failed = 0
    for seed in range(asked.first, asked.first + asked.runs):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["FOREBAY_CACHE"] = folder + "/indexes"
            try:
                check(seed, pathlib.Path(folder))
            except Exception as error:
                failed += 1
                print(f"seed {seed}: {error!r}"[:2000], flush=True)
    print(f"{asked.runs} runs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
