#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long `forebay view` takes to show the first rows of a data set of 10 GB, in headless Chromium.

The data set is one TFRecord file of 100 MB under 100 names. The clock starts before the command, and the browser is open already. Prints
the seconds until the address is there, until the first rows are on the page, and the processor time of the command until it is ended.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import forebay as fb

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python" / "tests"))

from chromium import Chromium

COMMAND = ROOT / "build" / "release" / "forebay"
SIZE = 10 * 10**9     # bytes of the data set


def make(folder: pathlib.Path) -> pathlib.Path:
    """Writes the files and a document over them, and returns its path."""
    random = np.random.default_rng(1)
    first = folder / "part-000.tfrecord"
    fb.write_records(first, (fb.encode_example({
        "x": random.normal(size=1024), "image": random.bytes(6000), "label": i % 10, "name": f"n{i}".encode()}) for i in range(10_000)))
    for i in range(1, -(-SIZE // first.stat().st_size)):
        os.link(first, folder / f"part-{i:03}.tfrecord")
    features = {"x": {"dtype": "float32", "shape": [1024]}, "label": {"dtype": "int64", "shape": []}}
    document = folder.parent / "document.json"
    document.write_text(json.dumps({
        "source": {"tfrecord": {"files": [str(folder / "*.tfrecord")]}}, "decode": {"example": {"features": features}},
        "steps": [{"shuffle": {"buffer": 10_000}}, {"batch": {"size": 256}}]}))
    return document


def show(target: pathlib.Path, browser: Chromium) -> tuple[float, float, float]:
    environment = {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    began = time.monotonic()
    process = subprocess.Popen([COMMAND, "view", target], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    addressed = time.monotonic()
    browser.open(url)
    browser.wait_for("document.querySelector('#rows tbody tr')")
    shown = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, _, usage = os.wait4(process.pid, 0)
    process.stdout.close()
    return addressed - began, shown - began, usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary, Chromium(pathlib.Path(temporary) / "browser") as browser:
        folder = pathlib.Path(temporary) / "files"
        folder.mkdir()
        document = make(folder)
        for target in (document, folder):
            seconds = sorted(show(target, browser) for _ in range(asked.rounds))
            middle = [statistics.median(column) for column in zip(*seconds)]
            print("{}: address after {:.2f} s, rows after {:.2f} s [{:.2f}, {:.2f}], {:.2f} s of processor time".format(
                target.name, middle[0], middle[1], min(each[1] for each in seconds), max(each[1] for each in seconds), middle[2]), flush=True)


if __name__ == "__main__":
    main()
