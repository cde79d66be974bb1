#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of a link, and of what libcurl alone reads, a run gets from a server of http.

    bench/remote_rates.py [--seconds 12]

`link`: a server whose answers come so many milliseconds after the requests, and which has so many bytes a second for all connections together. The share
is that of the bytes that the link gives between three tenths and nine tenths of a run. `libcurl`: the same files from Apache, without a limit, in
ranges of 8 MiB: libcurl alone, 32 requests at once in one thread, against a run that counts rows. Both take turns in one process; the share is that
of the medians.
"""
from __future__ import annotations

import argparse
import pathlib
import re
import socketserver
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python/tests"))
import forebay as fb  # noqa: E402

RANGE = 8 << 20


class Bucket:
    """Bytes of a link, as they come."""

    def __init__(self, rate: float) -> None:
        self.rate, self._at, self._lock = rate, 0.0, threading.Lock()

    def take(self, bytes: int) -> None:
        """Waits until the link has sent so many more."""
        with self._lock:
            self._at = max(self._at, time.monotonic() - .005) + bytes / self.rate
            until = self._at
        time.sleep(max(0.0, until - time.monotonic()))


def serve(size: int, files: int, rate: float, latency: float) -> None:
    """Serves the same records under the names 0, 1, …, and says its port."""
    bucket = Bucket(rate)
    with tempfile.NamedTemporaryFile() as made:
        fb.write_records(made.name, [bytes([i % 251]) * 100_000 for i in range(size // 100_016)])
        data = memoryview(pathlib.Path(made.name).read_bytes())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_HEAD(self) -> None:
            self.send(data[:0])

        def do_GET(self) -> None:
            found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"])
            assert found
            self.send(data[int(found[1]):int(found[2]) + 1], found)

        def send(self, part: memoryview, asked: "Any" = None) -> None:
            time.sleep(latency)
            self.send_response(206 if asked else 200)
            self.send_header("ETag", '"1"')
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(len(part) if asked else len(data)))
            if asked:
                self.send_header("Content-Range", f"bytes {asked[1]}-{int(asked[1]) + len(part) - 1}/{len(data)}")
            self.end_headers()
            for at in range(0, len(part), 256 << 10):
                bucket.take(len(part[at:at + (256 << 10)]))
                self.wfile.write(part[at:at + (256 << 10)])

        def log_message(self, *_: Any) -> None:
            pass

    class Server(socketserver.ThreadingTCPServer):
        request_queue_size = 128
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        print(server.server_address[1], len(data), flush=True)
        server.serve_forever()


def link(gigabits: float, latency: float, memory: str, seconds: float) -> str:
    rate = gigabits * 1e9 / 8
    size = 64 << 20
    files = max(2, round(rate * seconds / size))
    server = subprocess.Popen([sys.executable, __file__, "--serve", str(size), str(files), str(rate), str(latency)], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port, length = map(int, server.stdout.readline().split())
        times = []      # of the end of each batch of 16 records
        with fb.tfrecord([f"http://127.0.0.1:{port}/{number}" for number in range(files)]).record().batch(16).load(memory=memory, threads=1) as loader:
            for _ in loader:
                times.append(time.monotonic())
            asked = loader.stats().requests
        first, last = len(times) * 3 // 10, len(times) * 9 // 10
        share = (last - first) * 16 * 100_016 / (times[last] - times[first]) / rate
        least = files * -(-length // RANGE)
        return (f"link {gigabits:3} Gb/s, {latency * 1000:3.0f} ms, {memory}: {100 * share:5.1f} % of it, {asked['reads']:.0f} requests ({least} ranges of 8 MiB), "
                f"fetched {asked['bytes_fetched'] / (files * length):.3f} of the bytes")
    finally:
        server.kill()
        server.communicate()


def alone(urls: "list[tuple[str, int]]") -> float:
    """Bytes a second that libcurl reads."""
    import pycurl
    ranges = [(url, at, min(at + RANGE, size) - 1) for url, size in urls for at in range(0, size, RANGE)]
    total = sum(size for _, size in urls)
    began = time.monotonic()
    many, idle, running = pycurl.CurlMulti(), [pycurl.Curl() for _ in range(32)], 0
    handles = list(idle)
    buffers = {id(each): bytearray(RANGE) for each in handles}
    while ranges or running:
        while ranges and idle:
            url, first, last = ranges.pop()
            each, place = idle.pop(), [0]
            buffer = buffers[id(each)]

            def write(data: bytes, buffer: bytearray = buffer, place: "list[int]" = place) -> None:
                buffer[place[0]:place[0] + len(data)] = data
                place[0] += len(data)
            each.setopt(pycurl.URL, url)
            each.setopt(pycurl.RANGE, f"{first}-{last}")
            each.setopt(pycurl.BUFFERSIZE, 512 << 10)
            each.setopt(pycurl.WRITEFUNCTION, write)
            many.add_handle(each)
            running += 1
        many.perform()
        many.select(1.0)
        _, good, bad = many.info_read()
        assert not bad, bad
        for each in good:
            many.remove_handle(each)
            idle.append(each)
            running -= 1
    return total / (time.monotonic() - began)


def against_libcurl(turns: int) -> str:
    from test_web_servers import Apache
    apache = Apache("MTime Size")
    try:
        paths = []
        for number in range(8):
            path = apache.data / str(number)
            fb.write_records(path, [bytes([number]) * 100_000 for _ in range(1300)])
            paths.append(path)
        urls = [(f"{apache.url}/{path.name}", path.stat().st_size) for path in paths]
        bare, ours = [], []
        for _ in range(turns):
            bare.append(alone(urls))
            began = time.monotonic()
            with fb.tfrecord([url for url, _ in urls]).record().batch(64).load(memory="2GiB", threads=1) as loader:
                for _ in loader:
                    pass
                asked = loader.stats().requests
            ours.append(sum(size for _, size in urls) / (time.monotonic() - began))
        return (f"libcurl alone {statistics.median(bare) / 1e6:.0f} MB/s, a run {statistics.median(ours) / 1e6:.0f} MB/s: "
                f"{statistics.median(ours) / statistics.median(bare):.2f}; {asked['reads']:.0f} requests for {sum(-(-size // RANGE) for _, size in urls)} ranges")
    finally:
        apache.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--serve", nargs=4)
    asked = parser.parse_args()
    if asked.serve:
        return serve(int(asked.serve[0]), int(asked.serve[1]), float(asked.serve[2]), float(asked.serve[3]))
    for gigabits in (.5, 1, 2):
        for latency, memory in ((.02, "256MiB"), (.1, "512MiB")):
            print(link(gigabits, latency, memory, asked.seconds), flush=True)
    print(against_libcurl(7))


if __name__ == "__main__":
    main()
