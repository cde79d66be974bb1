# SPDX-License-Identifier: Apache-2.0
"""`switch`: several pipelines and one consumer, which goes from one to the other at any time."""
from __future__ import annotations

import os
from typing import Any, Callable, Collection, Iterator, Mapping, NoReturn, Optional, Union

from forebay._arguments import wrong_type
from forebay._core import Batch
from forebay._paths import Cache
from forebay._progress import SMALLEST, batches_before, batches_of, share_after
from forebay.errors import Cancelled, ConfigError, StateError
from forebay.loader import Document, Loader, Shard, load
from forebay.pipeline import PipelineBase
from forebay.values import unknown_name

__all__ = ["Switch", "switch"]


def switch(pipelines: Mapping[str, Union[PipelineBase, Document]], keep_warm: Union[bool, Collection[str]] = True,
           threads: Optional[int] = None, memory: Union[int, str, None] = None, prefetch: Optional[int] = None,
           shard: Optional[Shard] = None, index_dir: Union[str, "os.PathLike[str]", None] = None,
           bind: Optional[Mapping[str, Any]] = None, pin_memory: bool = False, requests: Optional[int] = None,
           cache: Optional[Cache] = None) -> "Switch":
    """Starts a loader for each pipeline. One of them is in use; `switch_to` goes to another one at any time.

        with fb.switch({"train": train, "eval": dev}) as data:
            for step, batch in enumerate(data):
                update(batch)
                if step % 1000 == 999:
                    data.switch_to("eval", anew=True)
                    score = sum(evaluate(batch) for batch in data)
                    data.switch_to("train")

    pipelines   pipelines, or documents as `load` takes them, by name. The first one is in use at the beginning.
    keep_warm   True: loaders that are not in use keep their threads and the batches that they have made ahead, so that a
                switch costs nothing. Each has a budget of its own: two warm loaders take twice `memory`. False: a loader
                is closed when another one is used, and its state is kept; a switch back starts it again at that place.
                Or the names of those that stay warm.
    bind        objects that documents name; see `load`. Pipelines have their own (Pipeline.bind).

    The other arguments are those of `load`, for each of the loaders. Raises like `load`, and starts nothing then.
    """
    return Switch(pipelines, keep_warm, threads, memory, prefetch, shard, index_dir, bind, pin_memory, requests, cache)


class Switch:
    """Several loaders and one consumer: an iterator over the batches of the loader in use, and a context manager.

    A loop ends where the run of the loader in use ends; after `switch_to` the next loop goes on with the other one.
    Batches of different loaders never mix, and none is lost: each loader goes on where it was left. An error of a loader
    is raised where its batch would be, and again at every further `next` on that loader; the others are not concerned.
    One thread at a time may use it; `close` is for any thread.
    """

    __slots__ = ("_members", "_current", "__weakref__")

    def __init__(self, pipelines: Mapping[str, Union[PipelineBase, Document]],
                 keep_warm: Union[bool, Collection[str]] = True, threads: Optional[int] = None,
                 memory: Union[int, str, None] = None, prefetch: Optional[int] = None, shard: Optional[Shard] = None,
                 index_dir: Union[str, "os.PathLike[str]", None] = None,
                 bind: Optional[Mapping[str, Any]] = None, pin_memory: bool = False, requests: Optional[int] = None,
                 cache: Optional[Cache] = None) -> None:
        if not isinstance(pipelines, Mapping) or not all(isinstance(name, str) for name in pipelines):
            raise wrong_type("pipelines", "a dict of pipelines or documents by name", pipelines)
        if not pipelines:
            raise ConfigError("pipelines: a switch needs a pipeline", code="config", detail="invalid_argument")
        warm = _warm_names(keep_warm, list(pipelines))

        def starter(pipe: Union[PipelineBase, Document]) -> Callable[[], Loader]:
            if isinstance(pipe, PipelineBase):
                return lambda: pipe.load(threads, memory, prefetch, shard, index_dir, pin_memory, requests, cache)
            return lambda: load(pipe, threads, memory, prefetch, shard, bind, index_dir, pin_memory, requests, cache)

        self._members: dict[str, _Member] = {}
        try:
            for name, pipe in pipelines.items():
                if isinstance(pipe, Loader):
                    raise wrong_type(f"pipelines['{name}']", "a pipeline or a document, of which the switch makes a loader",
                                     pipe)
                self._members[name] = _Member(name, starter(pipe), name in warm)
        except BaseException:
            for member in self._members.values():
                member.close()
            raise
        self._current = next(iter(self._members.values()))

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        """The next batch of the loader in use. Raises as its `next` does."""
        member = self._current
        loader = member.begin()
        try:
            if loader._mapped is not None:
                return loader._mapped.next()
            # As in Loader.__next__: nothing that an interrupt could end stands between `_given` and the return.
            given, loader._given = loader._given, False
            batch = loader._advance(given)
        except StopIteration:
            member.end = loader._position()
            raise
        loader._given = True
        return batch

    def switch_to(self, name: str, anew: bool = False) -> None:
        """Uses another loader from now on; also in the middle of a loop, whose next batch is then of this loader.

        anew   begins its run again from the first batch, instead of going on where it was left

        Raises ConfigError for an unknown name, and StateError when the loader that is left is not kept warm and its rows
        cannot be read again, or when the other one has to begin anew and cannot; nothing has changed then. Batches whose
        states of sequences are not all saved come again from a loader that is not kept warm (`Batch.save_state`).
        """
        if name not in self._members:
            raise ConfigError(f"switch_to: {unknown_name(name, list(self._members), 'pipeline')}", code="config",
                              detail="not_found")
        other, left = self._members[name], self._current
        left.check_open()
        if other is not left:
            left.prepare_rest()
        if anew:
            other.begin_anew()
        self._current = other
        if other is not left:
            left.rest()

    @property
    def current(self) -> str:
        """The name of the loader in use."""
        return self._current.name

    @property
    def names(self) -> list[str]:
        """The names of the loaders."""
        return list(self._members)

    @property
    def loader(self) -> Loader:
        """The loader in use, for its schema, epochs and counters. One that is not kept warm is another object after each
        switch."""
        return self._current.begin()

    def have_more_data(self) -> bool:
        """Whether the loader in use has another batch. Waits until that is known. False says that its run is over: all of
        its batches were given. Raises as `Loader.peek` does: an error is no end."""
        member = self._current
        loader = member.begin()
        more = loader.peek() is not None
        if not more:
            member.end = loader._position()
        return more

    def have_reached_end(self) -> bool:
        """Whether the loader in use was seen to be at its end, by `next` or by `have_more_data`. Never waits. An error is
        no end."""
        return self._current.at_end()

    def complete_frac(self, only_if_known: bool = False) -> Optional[float]:
        """How much of the run of the loader in use was given: above 0, at most 1, and it never falls.

        After batch i (from 0) of n it is (i + 1) / n. Where n is not known before reading, and in an endless run, it is
        0.99 · (1 − 1 / (√i / 100 + 1)) until the end, where it is 1. `Loader.complete_frac` counts bytes instead.

        only_if_known   None instead of the share where n is not known
        """
        member = self._current
        loader = member.begin()
        if member.at_end():
            return 1.0
        count = batches_of(loader)
        if count is None and only_if_known:
            return None
        given = batches_before(loader._position())
        return share_after(given - 1, count) if given else SMALLEST

    def state_dict(self) -> dict[str, Any]:
        """{"current": name, "loaders": {name: state}}: each loader's state is that of the last batch that it gave to this
        loop. Raises StateError, which names the loader, where one has no state."""
        return {"current": self.current, "loaders": {name: member.state() for name, member in self._members.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state of a switch with the same names and pipelines; the loaders may be kept warm or not. Raises
        StateError, which names the loader, and changes nothing when one of them does not fit."""
        current, states = self._checked(state)
        done: dict[str, Any] = {}
        try:
            for name, member in self._members.items():
                before = member.state()
                member.go_on(states[name])
                done[name] = before
        except BaseException:
            for name, old in done.items():
                self._members[name].go_on(old)
            raise
        left, self._current = self._current, self._members[current]
        if left is not self._current:
            left.rest()

    get_state = state_dict
    set_state = load_state_dict

    def _checked(self, state: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        if not isinstance(state, Mapping):
            raise wrong_type("state", "the dict that state_dict of a switch gave", state)
        current, loaders = state.get("current"), state.get("loaders")
        if not isinstance(current, str) or not isinstance(loaders, Mapping):
            raise _misfit('this is no state of a switch: it needs "current", a name, and "loaders", states by name')
        if set(loaders) != set(self._members):
            raise _misfit(f"the state has the loaders {sorted(map(str, loaders))}, and this switch has "
                          f"{sorted(self._members)}")
        if current not in self._members:
            raise _misfit(f"the state was using {unknown_name(current, list(self._members), 'loader')}")
        return current, loaders

    def close(self) -> None:
        """Closes all loaders. May be called any number of times, and from any thread."""
        for member in self._members.values():
            member.close()

    def __enter__(self) -> "Switch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        shown = [f"{'* ' if member is self._current else '  '}{name}" for name, member in self._members.items()]
        return "\n".join(["Switch:", *shown])

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Switch cannot be pickled or copied: its threads are in this process; send its state_dict")


class _Member:
    """One pipeline of a switch, and its loader.

        at work: `loader` ── rest, when it is not kept warm ──► at rest: `stored` ── begin ──► at work

    name   its name
    end    the position at which its end was seen; None: it was not
    """

    __slots__ = ("name", "end", "_start", "_warm", "_loader", "_stored", "_closed")

    def __init__(self, name: str, start: Callable[[], Loader], warm: bool) -> None:
        self.name = name
        self.end: Optional[str] = None
        self._start = start
        self._warm = warm
        self._loader: Optional[Loader] = start()
        self._stored: Optional[dict[str, Any]] = None
        self._closed = False

    def begin(self) -> Loader:
        """The loader; one at rest is started where it was."""
        if self._loader is None:
            self.check_open()
            loader = self._loader = self._at_stored()
            if self._closed:  # meanwhile, by another thread
                loader.close()
        return self._loader

    def _at_stored(self) -> Loader:
        loader = self._start()
        try:
            if self._stored is not None:
                loader.load_state_dict(self._stored)
        except BaseException:
            loader.close()
            raise
        return loader

    def at_end(self) -> bool:
        """Whether its end was seen where it stands now."""
        return self.end is not None and self.begin()._position() == self.end

    def prepare_rest(self) -> None:
        """Asks for the state that `rest` keeps. Raises StateError where there is none."""
        if not self._warm and self._loader is not None:
            try:
                self._stored = self._loader.state_dict()
            except StateError as problem:
                raise _of(self.name, problem, "; keep it warm (keep_warm)") from problem

    def rest(self) -> None:
        """Ends the threads of a loader that is not kept warm; `prepare_rest` has its state."""
        if not self._warm and self._loader is not None:
            loader, self._loader = self._loader, None
            loader.close()

    def begin_anew(self) -> None:
        try:
            if self._loader is None:
                self._stored = None
            else:
                self._loader.begin_anew()
        except StateError as problem:
            raise _of(self.name, problem) from problem

    def state(self) -> dict[str, Any]:
        """Where the loader stands."""
        try:
            if self._loader is not None:
                return self._loader.state_dict()
            if self._stored is None:  # at its beginning
                with self._start() as loader:
                    self._stored = loader.state_dict()
            return self._stored
        except StateError as problem:
            raise _of(self.name, problem) from problem

    def go_on(self, state: Any) -> None:
        """Goes on from a state. Raises StateError, and changes nothing, when it does not fit."""
        self.check_open()
        try:
            if self._loader is not None:
                self._loader.load_state_dict(state)
                if not self._warm:
                    self._stored = self._loader.state_dict()
            else:
                with self._start() as loader:
                    loader.load_state_dict(state)
                    self._stored = loader.state_dict()
        except StateError as problem:
            raise _of(self.name, problem) from problem

    def check_open(self) -> None:
        if self._closed:
            raise Cancelled("the switch is closed", code="cancelled", detail="failed_precondition")

    def close(self) -> None:
        self._closed = True
        if self._loader is not None:
            self._loader.close()


def _warm_names(keep_warm: Union[bool, Collection[str]], names: list[str]) -> Collection[str]:
    if isinstance(keep_warm, bool):
        return names if keep_warm else ()
    if isinstance(keep_warm, (str, bytes)) or not isinstance(keep_warm, Collection):
        raise wrong_type("keep_warm", "True, False, or the names of those that stay warm", keep_warm)
    for name in keep_warm:
        if name not in names:
            raise ConfigError(f"keep_warm: {unknown_name(name, names, 'pipeline')}", code="config", detail="not_found")
    return keep_warm


def _of(name: str, problem: StateError, advice: str = "") -> StateError:
    return StateError(f"loader '{name}': {problem.message}{advice}", code="state", detail=problem.detail)


def _misfit(message: str) -> StateError:
    return StateError(message, code="state", detail="failed_precondition")
