# SPDX-License-Identifier: Apache-2.0
"""Closes the loaders that are open when the program ends, before what their threads use is gone."""
from __future__ import annotations

import atexit
import threading
import weakref
from typing import Protocol

from forebay.errors import Cancelled


class Closed(Protocol):
    def close(self) -> None: ...


_live: "weakref.WeakSet[Closed]" = weakref.WeakSet()
_live_lock = threading.Lock()
_served: "list[Closed]" = []


def close_at_exit(loader: Closed) -> None:
    with _live_lock:
        _live.add(loader)


def close_after_loaders(used: Closed) -> None:
    """`used` serves loaders until they are closed."""
    _served.append(used)


@atexit.register
def _close_all() -> None:
    _end_quietly()
    with _live_lock:
        loaders = list(_live)
    for loader in loaders:
        loader.close()
    for used in _served:
        used.close()


def _end_quietly() -> None:
    """From now on a thread ends without a traceback when its loader was closed: daemon threads at the end of a program."""
    told = threading.excepthook

    def tell(problem: threading.ExceptHookArgs) -> None:
        if not issubclass(problem.exc_type, Cancelled):
            told(problem)
    threading.excepthook = tell
