#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads files of http from a server that does what servers do wrong, and compares each stream with that of local files.

    tests/web_faults.py [--runs 200] [--first 0]

In a third of the runs, answers fail at random in ways that a later try mends: the stream must be that of local files. In a third, one
answer is not what was asked for: the stream ends with an error, after batches that are right. In a third, one file is replaced before
a request: the stream is that of the files before or after, or it ends with an error after batches of one of these. Runs differ in source, compression,
order, threads, memory and passes, and half of them keep parts of files on the disk.
"""
from __future__ import annotations

import argparse
import collections
import hashlib
import itertools
import pathlib
import random
import sys
import tempfile
from typing import Any, Callable, Dict, List, Optional, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python/tests"))
from web_server import Asked, Web, changes, cuts_after, resets, says, says_garbage, waits  # noqa: E402

import forebay as fb  # noqa: E402

MENDED: "Dict[str, Callable[[random.Random], Any]]" = {
    "408": lambda rng: says(408), "429": lambda rng: says(429, {"Retry-After": "0"}), "500": lambda rng: says(500), "502": lambda rng: says(502),
    "503": lambda rng: says(503, {"Retry-After": "0"}), "504": lambda rng: says(504, text=b"<html>" * 3000), "reset": lambda rng: resets,
    "cut": lambda rng: cuts_after(rng.randrange(3000)), "garbage": lambda rng: says_garbage, "late": lambda rng: waits(rng.random() * .03),
    "too long": lambda rng: changes(lambda headers: None, body=lambda data: data + b"x" * 7),
    "twice the same length": lambda rng: changes(lambda headers: headers.update({"Content-Length": "\n".join([headers["Content-Length"]] * 2)})),
    "weak": lambda rng: changes(lambda headers: headers.update({"ETag": "W/" + headers["ETag"]})),
    "redirect": lambda rng: lambda handler, asked, found: handler.say(307, {"Location": asked.path + "/"}),
    "no content": lambda rng: says(500, text=b""),
}


def drop(name: str) -> "Any":
    return changes(lambda headers: headers.pop(name, None) and None)


def put(name: str, text: str) -> "Any":
    return changes(lambda headers: headers.update({name: text}))


REFUSED: "Dict[str, Any]" = {
    "403": says(403), "404": says(404), "410": says(410), "412": says(412), "416": says(416), "418": says(418), "no range": drop("Content-Range"),
    "another range": put("Content-Range", "bytes 1-2/999"), "another size": changes(lambda headers: headers.update({"Content-Range": headers["Content-Range"] + "0"})),
    "not a range": put("Content-Range", "all"), "no version": drop("ETag"), "another version": put("ETag", '"other"'), "coded": put("Content-Encoding", "br"),
    "two lengths": changes(lambda headers: headers.update({"Content-Length": headers["Content-Length"] + "\n1"})), "nowhere": says(302),
    "to a file": says(301, {"Location": "file:///etc/hosts"}), "parts": changes(lambda headers: headers.update(
        {"Content-Type": "multipart/byteranges; boundary=x"}) or headers.pop("Content-Range")), "304": says(304), "204": says(204, text=b""),
}


def texts(rng: random.Random, version: int, rows: int) -> "List[bytes]":
    return [b"%d %d %s" % (version, row, b"x" * rng.randrange(200)) for row in range(rows)]


def written(path: pathlib.Path, kind: str, rng: random.Random, version: int, rows: int) -> None:
    """The same sizes for each version, from the same state of `rng`."""
    lines = texts(rng, version, rows)
    if kind.startswith("tfrecord"):
        fb.write_records(path, lines, kind.partition(" ")[2] or None)
    elif kind == "csv":
        path.write_bytes(b"".join(b"%d,%d\n" % (version, row + 10_000) for row in range(rows)))
    elif kind == "fixed":
        path.write_bytes(b"".join(line[:16].ljust(16, b".") for line in lines))
    else:
        path.write_bytes(b"".join(line + b"\n" for line in lines))


KINDS = ("tfrecord", "tfrecord gzip", "tfrecord zlib", "tfrecord zstd", "lines", "csv", "fixed")
ORDERS: "Dict[str, Callable[[Any], Any]]" = {
    "in order": lambda pipe: pipe, "buffer": lambda pipe: pipe.shuffle(buffer=50), "global": lambda pipe: pipe.shuffle("global"),
    "cycle": lambda pipe: pipe.interleave(cycle=3, block=7), "sample": lambda pipe: pipe.random_sample(60),
}


def pipeline(kind: str, order: str, files: "List[str]", epochs: int, seed: int) -> "Any":
    source = {"tfrecord": fb.tfrecord, "lines": fb.lines, "fixed": lambda names: fb.fixed_length(names, record_bytes=16),
              "csv": fb.csv}[kind.split()[0]](files)
    rows = source.csv({"v": fb.fixed("int64"), "row": fb.fixed("int64")}) if kind == "csv" else source.record("x")
    return ORDERS[order](rows).batch(40).epochs(epochs).seed(seed)


def streamed(pipe: Any, **options: Any) -> "Tuple[List[str], str]":
    """A digest of each batch, and the error that ends the run."""
    out: "List[str]" = []
    try:
        with pipe.load(**options) as loader:
            for batch in loader:
                out.append(hashlib.blake2b(repr([(name, batch[name].tolist()) for name in sorted(batch)]).encode(), digest_size=12).hexdigest())
    except fb.Error as error:
        return out, str(error)
    return out, ""


def is_beginning(part: "List[str]", whole: "List[str]") -> bool:
    return part == whole[:len(part)]


def run(seed: int, web: Web, folder: pathlib.Path, kept: pathlib.Path, counts: "collections.Counter[str]") -> "Optional[str]":
    """What is wrong with the run; None: nothing."""
    rng = random.Random(seed)
    kind, order, mode = rng.choice(KINDS), rng.choice(list(ORDERS)), ("mended", "refused", "replaced")[seed % 3]
    names = [f"/{seed}/{number}" for number in range(rng.randint(1, 5))]
    replaced = rng.randrange(len(names))
    other_size = rng.random() < .5
    local: "List[str]" = []
    later: "List[str]" = []
    for number, name in enumerate(names):
        rows, state = rng.randrange(1, 400), rng.random()
        path = folder / f"{number}"
        written(path, kind, random.Random(state), 1, rows)
        local.append(str(path))
        later.append(str(path))
        for alias in (name, name + "/"):
            web.put(alias, path.read_bytes())
        if number == replaced and mode == "replaced":
            path = folder / "later"
            written(path, kind, random.Random(state), 2, rows + (3 if other_size else 0))
            later[-1] = str(path)
    options = {"threads": rng.randint(1, 4), "memory": rng.choice(["64MiB", "512MiB"])}
    if seed // 3 % 2 == 0:
        options["cache"] = kept, 20 << 16
    epochs, draws = rng.randint(1, 2), rng.randrange(100)
    wanted = streamed(pipeline(kind, order, local, epochs, draws))[0]
    hit: "List[str]" = []
    with web.lock:
        web.asked.clear()
    share = rng.choice([.05, .2, .3])
    number, lucky = rng.randrange(12), random.Random(seed)

    def mended(asked: Asked) -> "Any":
        if asked.path.endswith("/"):    # where a redirect leads
            return None
        with web.lock:
            fault = lucky.choice(list(MENDED)) if lucky.random() < share else None
            if fault is None or (asked.method == "HEAD" and fault in ("cut", "too long")):
                return None
            hit.append(fault)
            return MENDED[fault](lucky)

    def refused(asked: Asked) -> "Any":
        if asked.method == "HEAD" or asked.number < number or hit:
            return None
        hit.append(rng.choice(list(REFUSED)))
        return REFUSED[hit[-1]]

    def replace(asked: Asked) -> None:
        if asked.number == number:
            hit.append("replaced")
            web.put(names[replaced], pathlib.Path(later[replaced]).read_bytes())

    web.fault = {"mended": mended, "refused": refused, "replaced": replace}[mode]
    found, error = streamed(pipeline(kind, order, [web.url + name for name in names], epochs, draws), **options)
    web.fault = lambda asked: None
    counts.update(hit)
    what = f"run {seed}: {mode}, {kind}, {order}, {len(names)} files, {options}, {epochs} epochs, faults {hit}: "
    if mode == "mended":
        return None if found == wanted and not error else f"{what}{len(found)} of {len(wanted)} batches, {error or 'another stream'}"
    if mode == "refused":
        good = is_beginning(found, wanted) and (found == wanted if not error else bool(hit))
        return None if good else f"{what}{error or 'no error, and another stream'}"
    after = streamed(pipeline(kind, order, later, epochs, draws))[0]
    good = found in (wanted, after) if not error else is_beginning(found, wanted) or is_beginning(found, after)
    return None if good else f"{what}{error or 'no error, and a stream of neither version'}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    failed = 0
    counts: "collections.Counter[str]" = collections.Counter()
    with Web() as web, tempfile.TemporaryDirectory() as kept:
        for seed in itertools.islice(itertools.count(options.first), options.runs):
            with tempfile.TemporaryDirectory() as folder:
                problem = run(seed, web, pathlib.Path(folder), pathlib.Path(kept), counts)
            web.objects.clear()
            if problem is not None:
                failed += 1
                print(problem, flush=True)
    print(f"{options.runs} runs with {sum(counts.values())} faults of {len(counts)} kinds, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
