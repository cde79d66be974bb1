# SPDX-License-Identifier: Apache-2.0
"""A process of `map`: `python -m forebay._worker SOCKET MEMORY PIPE`, started by forebay._map.processes only.

It reads a batch from the memory for every message that it gets, calls the function, and writes the result into the same
memory. It ends when the program closes the socket, and the kernel kills it when the program ends in any way.
"""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pickle
import select
import signal
import socket
import sys
import threading
import traceback
from typing import Any

from forebay._map import processes
from forebay._map.call import Call, Fault, batch_text
from forebay._map.faults import sendable, text_of
from forebay._map.output import output_of
from forebay._map.processes import BATCH, FAULT, MESSAGE, READY, RESULT
from forebay._map.wire import Region, RegionReader, RegionWriter, SentBatch, send_result


def main(channel: socket.socket, region: Region) -> None:
    setup = _received(channel)
    if setup is None:
        return
    try:
        call = _set_up(region, *setup[1:])
    except Exception as failure:
        _send(channel, FAULT, *_send_fault(failure, "in map: the function cannot be loaded in a process", region))
        return
    _send(channel, READY, 0, 0)
    while True:
        message = _received(channel)
        if message is None:
            return
        kind, header, size = message
        assert kind == BATCH
        _send(channel, *_answer(call, SentBatch(RegionReader(region, header, size)).given(), region))


def _received(channel: socket.socket) -> "tuple[int, int, int] | None":
    """The next message; None: the program has closed the loader."""
    message = channel.recv(MESSAGE.size)
    return MESSAGE.unpack(message) if len(message) == MESSAGE.size else None


def _send(channel: socket.socket, kind: int, header: int, size: int) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the loader is closed; the next message is its end
        channel.send(MESSAGE.pack(kind, header, size))


def _set_up(region: Region, header_size: int, size: int) -> Call:
    whole = region.view(size).tobytes()
    setup = json.loads(whole[:header_size])
    sys.path[:] = setup["path"]
    if setup["python_path"] is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = setup["python_path"]
    with contextlib.suppress(OSError):
        os.chdir(setup["folder"])
    processes.loading_function = True
    try:
        function = pickle.loads(whole[header_size:])
    finally:
        processes.loading_function = False
    return Call(function, setup["name"], setup["per"], setup["with_rng"], output_of(_tuples(setup["output"])), setup["seed"],
                "seeded")


def _tuples(stated: Any) -> Any:
    """`output` as it was before JSON made lists of its tuples: a feature has lists, too, and is a dict that names its dtype."""
    if isinstance(stated, list):
        return tuple(map(_tuples, stated))
    if isinstance(stated, dict) and isinstance(stated.get("dtype", {}), (dict, list)):
        return {name: _tuples(value) for name, value in stated.items()}
    return stated


def _answer(call: Call, batch: Any, region: Region) -> tuple[int, int, int]:
    where = batch_text(call.name, batch)
    try:
        return (RESULT, *send_result(call(batch), region))
    except Fault as fault:
        return (FAULT, *_send_fault(fault.failure, fault.where, region))
    except BaseException as failure:  # SystemExit of the function, or a result that cannot be pickled
        return (FAULT, *_send_fault(failure, where, region))


def _send_fault(failure: BaseException, where: str, region: Region) -> tuple[int, int]:
    writer = RegionWriter(pickled=True)
    kind = type(failure)
    header = {"failure": writer.tensor(sendable(failure)), "type": f"{kind.__module__}.{kind.__qualname__}",
              "text": text_of(failure), "where": where, "pid": os.getpid(),
              "traceback": "".join(traceback.format_exception(kind, failure, failure.__traceback__))}
    return writer.write(header, region)


def end_with_program(pipe: int) -> None:
    """Has the kernel kill this process when the other end of the pipe closes, also while it runs a function. Where the
    kernel cannot do that, a thread ends the process."""
    try:
        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    except (AttributeError, OSError):
        threading.Thread(target=lambda: os._exit(len(os.read(pipe, 1)) + 1), daemon=True).start()
    if select.select([pipe], [], [], 0)[0]:  # it has closed already
        os._exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for _descriptor in map(int, sys.argv[1:4]):
        os.set_inheritable(_descriptor, False)
    end_with_program(int(sys.argv[3]))
    main(socket.socket(fileno=int(sys.argv[1])), Region(int(sys.argv[2])))
