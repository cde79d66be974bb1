# SPDX-License-Identifier: Apache-2.0
"""The processes of `map`, as the program sees them: started by `python -m forebay._worker`, and made again when they die.

Program and process share a socket for messages of 24 bytes, a region of memory without a name for the data, and a pipe on
which nothing is ever written: the kernel kills the process when the program's end of the pipe closes, however the program
ends. Only two things are pickled: the function, by the program, and what the function returns or raises, by the process.
"""
from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import weakref
from types import FunctionType
from typing import Any, Optional

import numpy as np

from forebay._map.call import Fault, batch_text, delivered, records_text, row_origins
from forebay._map.pool import Task, closed
from forebay._map.wire import Region, RegionReader, send_batch
from forebay.errors import Cancelled, Error

#: Kind, size of the header, size of all that is in the region.
MESSAGE = struct.Struct("<QQQ")
SETUP, BATCH, READY, RESULT, FAULT = range(1, 6)
MAX_DEATHS = 3
MAX_STARTS = 10


class Died(Exception):
    """A process ended. `status` is as Popen.returncode."""

    def __init__(self, status: int) -> None:
        self.status = status
        known = {int(number): number.name for number in signal.Signals}
        super().__init__(f"was killed by {known.get(-status, f'signal {-status}')}" if status < 0 else
                         f"ended with status {status}")


class _ByName(pickle.Pickler):
    """Pickles functions and classes by module and name only, and refuses those of the program's own script."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, (type, FunctionType)) and value.__module__ == "__main__":
            raise pickle.PicklingError(f"{value.__qualname__} is defined in the program itself, not in a module")
        return NotImplemented


def sent_function(function: Any, name: str) -> bytes:
    """The function as bytes that a process loads. Raises TypeError that names the ways out."""
    import io
    out = io.BytesIO()
    try:
        _ByName(out, 5).dump(function)
        return out.getvalue()
    except Exception as failure:
        problem = failure
    try:
        import cloudpickle  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise TypeError(f"map: {name} cannot be sent to processes by its name: {problem}. Put it into a module that can be "
                        "imported, or install the package cloudpickle; or say inside=\"threads\"") from problem
    try:
        return bytes(cloudpickle.dumps(function))
    except Exception as failure:
        raise TypeError(f"map: {name} cannot be sent to processes: {failure}; say inside=\"threads\", or give map a "
                        "function without what cannot be sent") from failure


#: Whether this is a process of `map` that imports its function. The module of the function must not start more of them.
loading_function = False


class Process:
    """One process, its socket, its region and its pipe.

    All methods are for the thread of the worker, but `shut` and `kill`, which are for any thread and close no file.
    """

    def __init__(self) -> None:
        if loading_function:
            raise RuntimeError("map: the module of a function starts processes for `map` itself while one of them imports it, "
                               "which would never end; put what the module runs below `if __name__ == \"__main__\":`")
        if not sys.executable:
            raise RuntimeError("map: sys.executable does not name the Python interpreter; say inside=\"threads\"")
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(1)
        life, self._life = os.pipe()
        self._region = Region(os.memfd_create("forebay-map"))
        fds = (theirs.fileno(), self._region.descriptor, life)
        try:
            # The module path lets the interpreter find forebay; the process then takes over path, folder and environment.
            # Another session: Ctrl-C in a terminal goes to the program only, also while the interpreter starts.
            self._popen = subprocess.Popen([sys.executable, "-m", "forebay._worker", *map(str, fds)], pass_fds=fds, cwd="/",
                                           stdin=subprocess.DEVNULL, start_new_session=True,
                                           env={**os.environ, "PYTHONPATH": os.pathsep.join(_absolute(sys.path))})
        except BaseException:
            self.close_files()
            raise
        finally:
            theirs.close()
            os.close(life)
        _live.add(self)

    def begin(self, setup: dict[str, Any], function: bytes) -> None:
        """Sends the function. Raises Fault when it cannot be loaded, or Died."""
        text = json.dumps(setup).encode()
        memory = self._region.view(len(text) + len(function))
        memory[:] = np.frombuffer(text + function, np.uint8)
        del memory  # else the traceback of an error keeps the mapping
        self._send(SETUP, len(text), len(text) + len(function))
        kind, header, size = self._receive()
        if kind == FAULT:
            raise _remote(RegionReader(self._region, header, size))

    def call(self, batch: Any) -> Any:
        """What the function makes of a batch. Raises Fault, or Died."""
        self._send(BATCH, *send_batch(batch, self._region))
        kind, header, size = self._receive()
        received = RegionReader(self._region, header, size)
        if kind == FAULT:
            raise _remote(received)
        return received.result()

    def _send(self, kind: int, header: int, size: int) -> None:
        try:
            self._socket.send(MESSAGE.pack(kind, header, size))
        except OSError:
            raise Died(self.end()) from None

    def _receive(self) -> tuple[int, int, int]:
        while True:
            try:
                message = self._socket.recv(MESSAGE.size)
            except socket.timeout:  # looks now and then: a child of the process may hold the socket
                if self._popen.poll() is None:
                    continue
                message = b""
            except OSError:
                message = b""
            if len(message) != MESSAGE.size:
                raise Died(self.end())
            kind, header, size = MESSAGE.unpack(message)
            return kind, header, size

    def shut(self) -> None:
        """An idle process ends by itself; one with a batch ends after it."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def kill(self, deadline: float) -> None:
        """Kills the process unless it ends by then."""
        try:
            self._popen.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    def end(self) -> int:
        """Kills the process if it runs, and closes the files. How it ended."""
        self._popen.kill()
        status = self._popen.wait()
        self.close_files()
        return status

    def close_files(self) -> None:
        """Also in a child of fork, so that the files close with the program."""
        _live.discard(self)
        life, self._life = self._life, -1
        if life >= 0:
            os.close(life)
            self._socket.close()
            self._region.close()


class ProcessCaller:
    """One worker: a process, and its successors if it dies."""

    def __init__(self, setup: dict[str, Any], function: bytes) -> None:
        self._setup = setup
        self._function = function
        self._process: Optional[Process] = None
        self._stopped = False
        self._lock = threading.RLock()  # a finalizer may call `stop` on the thread that has it

    def call(self, task: Task) -> Any:
        deaths = 0
        while True:
            process = self._started(task)
            try:
                return delivered(process.call(task.batch), task.batch)
            except Died as death:
                self._lost()
                deaths += 1
                if deaths == MAX_DEATHS:
                    raise Fault(_given_up(task, death), batch_text(task.call.name, task.batch)) from None

    def _started(self, task: Task) -> Process:
        """The process, which runs. Starts one; a start that a signal ends is tried again."""
        if self._process is not None:
            return self._process
        for starts in range(1, MAX_STARTS + 1):
            try:
                with self._lock:
                    if self._stopped:
                        raise closed()
                    self._process = Process()
                    if self._stopped:
                        raise closed()
                self._process.begin(self._setup, self._function)
                return self._process
            except Died as death:
                self._lost()
                if death.status >= 0 or starts == MAX_STARTS:
                    problem = Error(f"map: the process of {task.call.name} {death} while it started ({sys.executable} "
                                    "-m forebay._worker)")
                    raise Fault(problem, batch_text(task.call.name, task.batch)) from None
            except (Fault, Cancelled):
                self.finished()
                raise
            except Exception as failure:
                self.finished()
                raise Fault(failure, f"in map: starting the process of {task.call.name}") from None
        raise AssertionError("unreachable")

    def _lost(self) -> None:
        """The process has ended. Raises Cancelled when that is because of `stop`."""
        with self._lock:
            self._process = None
            if self._stopped:
                raise closed() from None

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.shut()

    def join(self, deadline: float) -> None:
        process = self._process
        if process is not None:
            process.kill(deadline)

    def finished(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.end()


def _absolute(paths: list[str]) -> list[str]:
    """Paths without those that depend on a working directory that does not exist any more."""
    out = []
    for path in paths:
        try:
            out.append(os.path.abspath(path))
        except OSError:
            continue
    return out


def _given_up(task: Task, death: Died) -> Error:
    batch = task.batch
    return Error(f"map: {task.call.name} ended its process {MAX_DEATHS} times over batch {batch.number} of epoch {batch.epoch}: "
                 f"{records_text(row_origins(batch))}. The last one {death}"
                 f"{'; the system does that when memory runs out' if death.status == -signal.SIGKILL else ''}")


def _remote(received: RegionReader) -> Fault:
    """The Fault that a process sent."""
    header = received.header
    try:
        failure = received.tensor(header["failure"])
    except Exception as problem:  # the class cannot be imported here, or refuses
        failure = RuntimeError(f"{header['type']}: {header['text']} (the exception cannot be loaded here: {problem})")
    if not isinstance(failure, BaseException):
        failure = RuntimeError(f"{header['type']}: {header['text']}")
    return Fault(failure, f"{header['where']}\nin process {header['pid']}:\n{header['traceback']}".rstrip())


_live: "weakref.WeakSet[Process]" = weakref.WeakSet()


def _after_fork() -> None:
    for process in list(_live):
        process.close_files()


os.register_at_fork(after_in_child=_after_fork)
