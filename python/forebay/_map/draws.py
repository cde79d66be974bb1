# SPDX-License-Identifier: Apache-2.0
"""What functions given to `map` draw from: `rng`, and the generators that libraries share.

A draw depends on the seed of the plan, the place of the `map`, and the identity of the row: epoch, number of the file, record,
occurrence in the pass, window and branch. Sizes and numbers of batches do not enter.
"""
from __future__ import annotations

import contextlib
import hashlib
import random
import sys
import threading
from typing import Any, Iterator, Optional

import numpy as np
import numpy.random  # here: numpy imports it when it is used first, and Ctrl-C in an import leaves half a module

_thread = threading.local()

#: In how many calls on threads it is looked whether the function draws from shared generators.
WATCHED_CALLS = 4


def words(text: str, count: int = 16) -> bytes:
    """Uniform bytes, at most 64, that depend on the text only."""
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=count).digest()


def generator(text: str) -> np.random.Generator:
    """A generator of random numbers whose draws depend on the text only."""
    return np.random.Generator(np.random.PCG64(int.from_bytes(words(text), "little")))


def _torch_generator() -> Any:
    """The generator of the CPU that torch's functions draw from; None: the program has not loaded torch."""
    return getattr(getattr(sys.modules.get("torch"), "random", None), "default_generator", None)


def seed_libraries(text: str) -> None:
    """Sets the generators of `random`, `numpy.random` and, where it is loaded, torch."""
    drawn = words(text, 40)  # random and numpy.random have one algorithm: equal seeds would give equal draws
    random.seed(int.from_bytes(drawn[:16], "little"))
    np.random.seed(np.frombuffer(drawn[16:32], np.uint32))
    torch = _torch_generator()
    if torch is not None:
        torch.manual_seed(int.from_bytes(drawn[32:39], "little"))


def share_libraries() -> None:
    """Says of this thread that it works beside the program, which may draw from the generators of libraries at the same time: calls on it
    leave them alone from now on."""
    _thread.shares = True


def shares_libraries() -> bool:
    return getattr(_thread, "shares", False)


class _Lent:
    """How often the shared generators were lent to a function, and how often the program had them back. The lock guards both."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.begun = self.ended = 0


_lent = _Lent()


class LibraryStates:
    """The states of the generators that libraries share, for the program to have them back. A context manager."""

    def __init__(self) -> None:
        self._torch = _torch_generator()
        self._random = random.getstate()
        self._numpy = np.random.get_state(legacy=False)
        self._of_torch: Any = None if self._torch is None else self._torch.get_state()

    def __enter__(self) -> "LibraryStates":
        with _lent.lock:
            _lent.begun += 1
        return self

    def __exit__(self, *_: object) -> None:
        random.setstate(self._random)
        np.random.set_state(self._numpy)
        if self._torch is not None:
            self._torch.set_state(self._of_torch)
        with _lent.lock:
            _lent.ended += 1

    def moved(self) -> set[str]:
        """The libraries whose states are others now."""
        out = set()
        if random.getstate() != self._random:
            out.add("random")
        now, then = np.random.get_state(legacy=False)["state"], self._numpy["state"]
        if now.keys() != then.keys() or any(not np.array_equal(now[name], then[name]) for name in then):
            out.add("numpy.random")
        if self._torch is not None and self._torch.get_state().tolist() != self._of_torch.tolist():
            out.add("torch")
        return out


class Watch:
    """Looks whether a function that runs on threads draws from generators that all threads share. One call is looked at at a time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._looking = threading.Lock()
        self._calls = 0
        self._moved: Optional[set[str]] = None

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """Around a call. Tells once, when the states moved in every call that was looked at."""
        if self._calls >= WATCHED_CALLS or not self._looking.acquire(blocking=False):
            yield
            return
        try:
            ended, before = _lent.ended, LibraryStates()
            yield
            if _lent.begun != ended:
                return   # they moved for another function
            moved = before.moved()
            self._moved = moved if self._moved is None else self._moved & moved
            self._calls += 1
        finally:
            last = self._calls == WATCHED_CALLS
            self._looking.release()
        if last and self._moved:
            from forebay._notices import warn
            warn(f"map: {' and '.join(sorted(self._moved))} gave random numbers in every call of {self._name}; threads share that "
                 "generator, so two runs of one seed differ. Draw from `rng`, or say workers=1, inside=\"processes\", where it is seeded")
