#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes the pictures of docs/view.md in headless Chromium: python/tools/picture_view.py FOLDER. Look at them."""
from __future__ import annotations

import os
import pathlib
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "tests"))

import exhibition
from chromium import Chromium
from PIL import Image

import forebay as fb

WIDTH, HEIGHT = 1100, 860


def consume(loader: fb.Loader, stop: threading.Event) -> None:
    for _ in loader:
        if stop.wait(0.002):
            return


def corrupt(path: pathlib.Path) -> None:
    """Changes a byte of a payload, and cuts the file."""
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data[:-100])


def main() -> None:
    out = pathlib.Path(sys.argv[1]).resolve()
    taxi = ROOT / "examples" / "taxi" / "loader.json"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = pathlib.Path(temporary)
        os.chdir(folder)  # so that the pictures show short paths
        pathlib.Path("mills").mkdir()
        document = exhibition.write(pathlib.Path("mills"))
        with Chromium(folder / "browser", WIDTH, HEIGHT) as browser:
            with fb.load(document, threads=1) as loader, loader.view({"tokens": exhibition.WORDS}) as page:
                browser.open(page.url)
                browser.wait_for("document.querySelectorAll('#rows svg').length >= 16 && document.querySelector('#features .card')")
                browser.wait_for("[...document.images].slice(0, 12).every((image) => image.complete)")
                browser.picture(out / "view-data.png")
            stop = threading.Event()
            with fb.load(taxi, threads=2) as loader, loader.view() as page:
                thread = threading.Thread(target=consume, args=(loader, stop))
                thread.start()
                browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
                browser.open(page.url + "#/plan")
                time.sleep(4)
                browser.picture(out / "view-plan.png")
                stop.set()
                thread.join()
            browser.call("Emulation.setEmulatedMedia", features=[])
            corrupt(folder / "mills" / "part-1.tfrecord")
            with fb.load({**document, "on_corrupt": "skip_record"}, threads=1) as loader, loader.view() as page:
                for _ in loader:
                    pass
                browser.open(page.url + "#/health")
                browser.wait_for("document.querySelectorAll('#places li').length")
                browser.value("document.getElementById('verify').click()")
                browser.wait_for("document.querySelectorAll('#corrupt tbody tr').length")
                time.sleep(1.2)
                browser.picture(out / "view-health.png")
        print("\n".join(browser.console))
    for path in out.glob("view-*.png"):
        Image.open(path).convert("RGB").quantize(96, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
