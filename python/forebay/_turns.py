# SPDX-License-Identifier: Apache-2.0
"""Which epoch comes next, for the processes that go through a data set together."""
from __future__ import annotations

import fcntl
import json
import os
import weakref
from typing import Any, Mapping, NamedTuple, Optional

#: Loops over the data set that are remembered: those that may be at work at the same time.
_REMEMBERED = 8


class Turn(NamedTuple):
    """One loop over the data set.

    epoch   where it goes; None: where the state stands
    state   where it begins; None: at the beginning of the epoch
    """

    epoch: Optional[int]
    state: Optional[Mapping[str, Any]]


class Turns:
    """The next epoch of a data set, in memory that the process which made it shares with its workers.

    A loop of several workers is one turn: the first worker that comes with its key takes the next epoch, and the others get
    the same one. The memory is a file without a name; workers find it by the process that made it, in any way they were started.
    """

    def __init__(self) -> None:
        self._name = f"forebay-epochs-{os.urandom(8).hex()}"
        self._keep(os.memfd_create(self._name, os.MFD_CLOEXEC))
        with open(self._path, "r+b") as file:
            file.write(json.dumps({"epoch": 0, "state": None, "turns": []}).encode())

    def _keep(self, descriptor: int) -> None:
        self._path = f"/proc/{os.getpid()}/fd/{descriptor}"
        weakref.finalize(self, _close, descriptor, os.getpid())

    def __getstate__(self) -> "tuple[str, str]":
        return self._name, self._path

    def __setstate__(self, state: "tuple[str, str]") -> None:
        self._name, path = state
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC) if _is_ours(path, self._name) else -1
        except OSError:
            descriptor = -1
        if descriptor < 0:   # it was of a process that has ended, or of another machine
            self.__init__()  # type: ignore[misc]
        else:
            self._keep(descriptor)

    def set_epoch(self, epoch: int) -> None:
        """The next loop goes through that epoch. A state of the same epoch stays, and so does one that it begins after."""
        with _Locked(self._path) as shared:
            if shared.values["state"] is not None and epoch < place_of(shared.values["state"]):
                shared.values["state"] = None
            shared.values.update(epoch=epoch, placed=True)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """The next loop goes on from a state."""
        with _Locked(self._path) as shared:
            shared.values.update(epoch=None, state=dict(state), placed=True)

    def take(self, key: Optional[list[int]], worker: int) -> Turn:
        """The turn of the loop with that key, which is None for a loop of one process."""
        with _Locked(self._path) as shared:
            values = shared.values
            for turn in reversed(values["turns"]):
                if key is not None and turn["key"] == key and worker not in turn["workers"]:
                    turn["workers"].append(worker)
                    return Turn(turn["epoch"], turn["state"])
            turn = {"key": key, "workers": [worker], "epoch": values["epoch"], "state": values["state"]}
            values["turns"] = [*values["turns"], turn][-_REMEMBERED:]
            at = values["epoch"] if values["epoch"] is not None else place_of(values["state"])
            values.update(epoch=at + 1, state=None, placed=False)
            return Turn(turn["epoch"], turn["state"])

    def begun(self, epoch: int) -> None:
        """A loop that went on from a state is in that epoch."""
        with _Locked(self._path) as shared:
            shared.values["epoch"] = max(shared.values["epoch"] or 0, epoch + 1)

    def taken_up(self, epoch: int, in_workers: bool = True) -> None:
        """A loop, or each worker of one, goes on in the middle of that epoch by a state of its own. The next loop goes through the one
        after it."""
        with _Locked(self._path) as shared:
            turn: dict[str, Any] = {"key": [] if in_workers else None, "workers": [], "epoch": epoch, "state": None}
            shared.values.update(epoch=epoch + 1, state=None, placed=False, turns=[*shared.values["turns"], turn][-_REMEMBERED:])

    def in_workers(self) -> bool:
        """Whether the last loop over the data set is one of workers."""
        with _Locked(self._path) as shared:
            turns = shared.values["turns"]
            return bool(turns) and turns[-1]["key"] is not None and not shared.values.get("placed", False)

    def next(self) -> Turn:
        """What the next loop will take."""
        with _Locked(self._path) as shared:
            return Turn(shared.values["epoch"], shared.values["state"])


class _Locked:
    """The shared values, while no other process has them."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "r+b")

    def __enter__(self) -> "_Locked":
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self.values = json.loads(self._file.read())
        return self

    def __exit__(self, *_: object) -> None:
        self._file.seek(0)
        self._file.write(json.dumps(self.values).encode())
        self._file.truncate()
        self._file.close()  # which unlocks


def place_of(state: Mapping[str, Any]) -> int:
    """The epoch in which a state stands."""
    return int(state["sections"]["order"]["from"])


def _close(descriptor: int, process: int) -> None:
    if os.getpid() == process:
        os.close(descriptor)


def _is_ours(path: str, name: str) -> bool:
    """Whether the descriptor still is the memory of that name: its number may have been given to another file."""
    return os.readlink(path).startswith(f"/memfd:{name}")
