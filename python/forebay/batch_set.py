# SPDX-License-Identifier: Apache-2.0
"""`BatchSet`: batches that are looked at before they are used, and used again in another order."""
from __future__ import annotations

from itertools import islice
from typing import Any, Mapping, Optional, Union

from forebay._arguments import integer_of, out_of_range, wrong_type
from forebay._core import Batch
from forebay._progress import SMALLEST, batches_before, batches_of, share_after
from forebay.errors import ConfigError, StateError
from forebay.loader import Epoch, Loader, _position_of

__all__ = ["BatchSet"]

#: Seed of the order in which cached batches come again.
SEED = 1234


class BatchSet:
    """The batches of a loader, of which the next ones can be looked at before they are used.

        batches = fb.BatchSet(loader)
        while batches.has_more():
            ahead = batches.peek(4)                   # up to 4 batches; fewer before the end
            if fits(ahead):
                train(ahead[0])
            batches.advance(1)                        # the state is now that after ahead[0]

    batches           a loader: all batches of its run; or an epoch of one (Loader.epochs)
    cache             keeps every batch, so that `reset` can begin again without the loader. The batches count against the
                      loader's memory budget while they are kept
    shuffle_batches   with `cache`: `reset` shuffles the batches, by the seed 1234; the first round has the loader's order

    It takes the loader's place: nothing else may take batches from it. A failure of the loader is raised where its batch would
    be: `peek` and `advance` give the batches before it. One thread uses it.
    """

    __slots__ = ("_source", "_loader", "_cached", "_shuffle", "_random", "_read", "_order", "_ended", "_round", "_advanced",
                 "_last", "_begin")

    def __init__(self, batches: Union[Loader, Epoch], cache: bool = False, shuffle_batches: bool = False) -> None:
        if not isinstance(batches, (Loader, Epoch)):
            raise wrong_type("batches", "a loader, or an epoch of one", batches)
        if shuffle_batches and not cache:
            raise ConfigError("shuffle_batches: only cached batches are shuffled; set cache=True", code="config",
                              detail="invalid_argument")
        self._source = batches
        self._loader = batches if isinstance(batches, Loader) else batches._loader
        self._cached = cache
        self._shuffle = shuffle_batches
        self._begin_first()

    def _begin_first(self) -> None:
        """Forgets all batches: the loader stands where this set begins."""
        import random  # takes 1 ms, which `import forebay` has no need of
        self._random = random.Random(SEED)
        self._read: list[Batch] = []  # from the loader: all with `cache`, else those that were not used up
        self._order: Optional[list[Batch]] = None  # those of a round after the first one
        self._ended = False
        self._round = 0
        self._advanced = 0  # in this round
        self._last: Optional[Batch] = None
        self._begin = self._loader._position()

    def peek(self, n: int = 1) -> list[Batch]:
        """The next n batches; fewer where the end, or a failure, comes before. None of them is used up. May wait."""
        n = _positive("n", n)
        self._look(n)
        return self._ahead(n)

    def advance(self, n: int = 1) -> None:
        """Uses up the next n batches: the state is then that after the last of them. May wait. Raises StateError, and changes
        nothing, when there are fewer."""
        n = _positive("n", n)
        self._look(n)
        ahead = self._ahead(n)
        if len(ahead) < n:
            self._read_one()  # raises the failure that stands there
            raise _refused(f"advance({n}): there are {len(ahead)} batches left")
        if not self._cached:
            del self._read[:n]
        self._last = ahead[-1]
        self._advanced += n

    def has_more(self) -> bool:
        """Whether there is another batch. May wait. Raises the failure of the loader when that comes next."""
        return bool(self._ahead(1)) or self._read_one()

    def completed_frac(self) -> float:
        """How much was used up: above 0, at most 1, and it never falls in a round. Where the number of batches is not known, it
        follows the formula of Switch.complete_frac until the end was read."""
        done = self._advanced
        if self._round > 0:
            count: Optional[int] = len(self._read)
        elif isinstance(self._source, Loader):
            done = batches_before(self._position())
            count = batches_of(self._source)
        else:
            count = None
        if self._ended and self._round == 0:
            count = done + len(self._ahead(None))
        return share_after(done - 1, count) if done else SMALLEST

    @property
    def advanced(self) -> int:
        """Batches that were used up since the beginning, or since the last `reset`."""
        return self._advanced

    def reset(self) -> None:
        """Begins again with the cached batches; with `shuffle_batches` in another order. Raises StateError unless the whole
        run or epoch is cached."""
        if not self._cached:
            raise _refused("reset: the batches are not kept; set cache=True")
        if self._read_one():  # the end may not have been seen
            raise _refused(f"reset: {len(self._read)} batches are cached, and there may be more; go through all of them first")
        self._begin_round()

    def _begin_round(self) -> None:
        self._order = list(self._read)
        if self._shuffle:
            self._random.shuffle(self._order)
        self._round += 1
        self._advanced = 0
        self._last = None

    def state_dict(self) -> dict[str, Any]:
        """The state of the last batch that was used up. Without `cache` it is the loader's state there. With `cache`:
        {"loader": its state where this set begins, "round": resets, "advanced": batches used up since}."""
        if not self._cached:
            return self._loader_state(self._position())
        return {"loader": self._loader_state(self._begin), "round": self._round, "advanced": self._advanced}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state of a set with the same options. With `cache` it reads the batches again, which may wait. Raises
        StateError; when the state does not fit the loader, nothing has changed."""
        if not self._cached:
            self._loader.load_state_dict(state)
            self._begin_first()
            return
        begin, rounds, advanced = _checked(state)
        self._loader.load_state_dict(begin)
        self._begin_first()
        while rounds > 0 and self._read_one():
            pass
        for _ in range(rounds):
            self._begin_round()
        if advanced:
            self.advance(advanced)

    def _ahead(self, n: Optional[int]) -> list[Batch]:
        """The next n batches that were read; None: all."""
        batches = self._read if self._order is None else self._order
        at = self._advanced if self._cached else 0
        return batches[at:] if n is None else batches[at:at + n]

    def _look(self, n: int) -> None:
        """Reads until n batches are there. A failure after some of them stays for later."""
        try:
            while len(self._ahead(n)) < n and self._read_one():
                pass
        except Exception:
            if not self._ahead(1):
                raise

    def _read_one(self) -> bool:
        """Takes a batch from the loader. False: there is none."""
        if self._ended:
            return False
        # One call without bytecode inside: no interrupt comes between the loader and the list.
        before = len(self._read)
        self._read.extend(islice(iter(self._source.__next__, None), 1))
        self._ended = len(self._read) == before
        return not self._ended

    def _position(self) -> str:
        return self._begin if self._last is None else _position_of(self._last)

    def _loader_state(self, position: str) -> dict[str, Any]:
        import json
        state: dict[str, Any] = json.loads(self._loader._run.state_at(position))
        return state

    def __repr__(self) -> str:
        return f"BatchSet(round={self._round}, advanced={self._advanced}, ahead={len(self._ahead(None))})"


def _positive(name: str, value: int) -> int:
    number = integer_of(name, value, "an integer of 1 or more")
    if number < 1:
        raise out_of_range(name, "an integer of 1 or more", number)
    return number


def _checked(state: Mapping[str, Any]) -> tuple[Mapping[str, Any], int, int]:
    if not isinstance(state, Mapping):
        raise wrong_type("state", "the dict that state_dict gave", state)
    begin, numbers = state.get("loader"), [state.get("round"), state.get("advanced")]
    counts = [number for number in numbers if isinstance(number, int) and not isinstance(number, bool) and number >= 0]
    if not isinstance(begin, Mapping) or len(counts) < 2:
        raise _refused('this is no state of a BatchSet with cache: it needs "loader", a state, and "round" and "advanced", '
                       "integers from 0 on")
    return begin, counts[0], counts[1]


def _refused(message: str) -> StateError:
    return StateError(message, code="state", detail="failed_precondition")
