# SPDX-License-Identifier: Apache-2.0
"""Scalars of a run as event files of TensorBoard."""
from __future__ import annotations

import os
import socket
import struct
import threading
import time
from typing import IO, Any, Optional

from forebay._arguments import wrong_type
from forebay._paths import Path, path_of
from forebay.errors import ConfigError
from forebay.loader import Loader

__all__ = ["Scalars", "tensorboard"]


def tensorboard(loader: Loader, folder: Path, seconds: float = 10.0) -> "Scalars":
    """Writes scalars of a run to an event file in a folder, for TensorBoard, until `close` or the end of a `with`.

        with fb.tensorboard(loader, "runs/data"):
            for batch in loader:
                train(batch)

    loader    a loader, at any point of its run
    folder    made if necessary; each call makes a file of its own in it
    seconds   time between two points, by a thread. `write` makes one at once

    The step is the number of batches delivered. Scalars, with "forebay/" before each: rows_per_second, batches_per_second,
    megabytes_per_second and wait_share (the share of the time in which the training waited), all since the point before;
    ready_share, memory_megabytes, skipped_records, padding_share, and held/<name> for each queue and buffer. Raises OSError
    where the file cannot be made.
    """
    if not isinstance(loader, Loader):
        raise wrong_type("loader", "a loader", loader)
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        raise wrong_type("seconds", "a number of seconds", seconds)
    if not 0 < seconds < 1e6:
        raise ConfigError(f"seconds: must be a number above 0 and below 1,000,000, found {seconds}", code="config",
                          detail="invalid_argument")
    return Scalars(loader, path_of(folder, "folder"), float(seconds))


class Scalars:
    """What `tensorboard` made: it writes until it is closed."""

    def __init__(self, loader: Loader, folder: str, seconds: float) -> None:
        os.makedirs(folder, exist_ok=True)
        name = f"events.out.tfevents.{time.time():017.6f}.{socket.gethostname()}.{os.getpid()}.forebay"
        #: The event file.
        self.path = os.path.join(folder, name)
        self._loader = loader
        self._lock = threading.Lock()
        self._before = (time.monotonic(), loader.stats())
        self._file: Optional[IO[bytes]] = open(self.path, "xb")
        self._put(_number(1, time.time()) + _bytes(3, b"brain.Event:2"))
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._write_on, args=(seconds,), name="forebay-tensorboard", daemon=True)
        self._thread.start()

    def write(self) -> None:
        """Writes a point now. Nothing after `close`."""
        with self._lock:
            if self._file is None:
                return
            now, stats = time.monotonic(), self._loader.stats()
            values = b"".join(_bytes(1, _bytes(1, f"forebay/{name}".encode()) + _float(2, value))
                              for name, value in _scalars(now - self._before[0], self._before[1], stats).items())
            self._before = (now, stats)
            self._put(_number(1, time.time()) + _integer(2, stats.batches) + _bytes(5, values))

    def close(self) -> None:
        """Writes the last point and ends. May be called any number of times."""
        self._closing.set()
        self._thread.join()
        try:
            self.write()
        finally:
            with self._lock:
                file, self._file = self._file, None
            if file is not None:
                file.close()

    def __enter__(self) -> "Scalars":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _write_on(self, seconds: float) -> None:
        while not self._closing.wait(seconds):
            try:
                self.write()
            except OSError:  # `close` raises what the last point meets
                return

    def _put(self, event: bytes) -> None:
        assert self._file is not None
        length = struct.pack("<Q", len(event))
        self._file.write(length + _masked(length) + event + _masked(event))
        self._file.flush()


def _scalars(seconds: float, before: Any, now: Any) -> dict[str, float]:
    def rate(name: str) -> float:
        change: float = getattr(now, name) - getattr(before, name)
        return change / seconds if seconds > 0 else 0.0
    out = {"rows_per_second": rate("rows"), "batches_per_second": rate("batches"),
           "megabytes_per_second": rate("bytes_read") * 1e-6, "wait_share": min(1.0, rate("consumer_wait_seconds")),
           "ready_share": now.ready_fill, "memory_megabytes": now.memory_used * 1e-6,
           "skipped_records": float(now.skipped_records)}
    if now.padded_frames:
        out["padding_share"] = 1 - now.frames / now.padded_frames
    for name, (held, _) in now.queues.items():
        out[f"held/{name}"] = float(held)
    return out


# The messages tensorflow.Event and Summary, https://github.com/tensorflow/tensorboard/tree/master/tensorboard/compat/proto
def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _integer(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _number(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc_table()


def _masked(data: bytes) -> bytes:
    """The masked CRC-32C of TFRecord; the events of a run are short."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
