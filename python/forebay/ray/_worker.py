# SPDX-License-Identifier: Apache-2.0
"""What makes blocks: in an actor of its own on any machine, or in a thread of a trainer."""
from __future__ import annotations

import collections
import contextlib
import json
import os
import socket
import time
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Union

import forebay
from forebay._core import Plan
from forebay._paths import Cache, cache_of
from forebay.errors import ConfigError, StateError
from forebay.loader import Loader
from forebay.loader import plan as plan_of
from forebay.ray._wire import Block, Sent, sent_of

#: Loaders that a worker keeps, one for each shard that it has made blocks for.
LOADERS = 16


class Job(NamedTuple):
    """What all workers of a fleet make batches of.

    document   a Pipeline, a document, or the path of one
    folder     relative paths of files count from here
    threads    of one worker; None: one for every CPU
    memory     budget of one worker; None: a quarter of its machine's
    cache      as in forebay.load, on each machine
    identity   of the loader on the machine that planned it
    """

    document: Any
    folder: str
    threads: Optional[int]
    memory: "Union[int, str, None]"
    index_dir: Optional[str]
    cache: Optional[Cache]
    identity: "dict[str, str]"

    def load(self, shard: Any = None, threads: Optional[int] = None) -> Loader:
        """A loader of this job. Raises StateError when its batches are not those of the fleet: the message has the difference."""
        loader = self._start(shard, threads)
        try:
            check_identity(self.identity, loader.identity())
        except BaseException:
            loader.close()
            raise
        return loader

    def planned(self) -> "Job":
        """The same with the identity that this machine finds. Refuses what has no batches by number."""
        with self._start(None, None) as loader:
            loader.seek(0)
            return self._replace(identity=loader.identity())

    def plan(self) -> Plan:
        """The plan, without the functions of `map`."""
        made = getattr(self.document, "plan", None)
        plan: Plan = plan_of(self.document) if made is None else made()
        return plan

    @contextlib.contextmanager
    def in_its_folder(self) -> "Iterator[None]":
        """A block in which relative paths count from the folder of the job. A machine that has no such folder finds files by absolute
        paths."""
        before = os.getcwd()
        with contextlib.suppress(OSError):
            os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(before)

    def _start(self, shard: Any, threads: Optional[int]) -> Loader:
        options: "dict[str, Any]" = {"threads": threads or self.threads, "memory": self.memory, "shard": shard, "index_dir": self.index_dir,
                                     "cache": self.cache}
        load = getattr(self.document, "load", None)
        loader: Loader = forebay.load(self.document, **options) if load is None else load(**options)
        return loader


def job_of(document: Any, threads: Optional[int], memory: "Union[int, str, None]" = None, index_dir: Any = None,
           cache: Optional[Cache] = None) -> Job:
    """A job without an identity, whose document a process with another working directory reads alike."""
    if isinstance(document, (str, os.PathLike)):
        document = os.path.abspath(document)
    folder, size = cache_of(cache)
    return Job(document, os.getcwd(), threads, memory, None if index_dir is None else os.path.abspath(index_dir),
               (os.path.abspath(folder), size) if folder else None, {})


def check_identity(expected: "Mapping[str, str]", found: "Mapping[str, str]") -> None:
    """Raises StateError, with each difference, when loaders do not have the same batches.

    A shard by file or element has a stream of its own, whose other parts are those of the whole run."""
    of_shard = {name for name in found if name.startswith("shards by")}
    differ = [name for name in {**expected, **found} if expected.get(name) != found.get(name)
              and name not in of_shard and not (of_shard and name == "stream")]
    if not differ:
        return
    each = "; ".join(f"{name}: {expected.get(name, 'none')} there, {found.get(name, 'none')} here" for name in differ)
    hint = {"files": "the files here have other names or sizes", "version": "install the same version of forebay everywhere"}
    hints = [hint[name] for name in differ if name in hint] or ["the document here is another one"]
    raise StateError(f"the batches of {socket.gethostname()} are not those of the fleet ({', '.join(hints)}): {each}", code="state",
                     detail="failed_precondition")


class Worker:
    """Makes blocks by number; one call at a time. A block costs a `seek` unless it is the one behind the block before."""

    def __init__(self, job: Job, threads: Optional[int] = None, changes_folder: bool = False) -> None:
        if changes_folder:
            with contextlib.suppress(OSError):   # a machine that has no such folder finds files by absolute paths
                os.chdir(job.folder)
        self._job = job
        self._threads = threads
        self._loaders: "collections.OrderedDict[str, tuple[Loader, int]]" = collections.OrderedDict()   # and the batch that each is at

    def hello(self) -> None:
        """Plans. Raises StateError when the batches of this machine are not those of the fleet."""
        self._job.load(threads=self._threads).close()

    def make(self, shard: Any, first: int, count: int) -> Sent:
        """The batches of that shard whose numbers in the run are from `first` on, below first + count."""
        began = time.monotonic()
        key = json.dumps(shard)
        loader, at = self._loaders.pop(key, (None, 0))
        if loader is None:
            while len(self._loaders) >= LOADERS:
                self._loaders.popitem(last=False)[1][0].close()
            loader = self._job.load(shard, self._threads)
        block = _made(loader, at, first, first + count)
        if block.failure is None and not block.ended:
            self._loaders[key] = (loader, first + count)
        else:   # one that failed or is at its end stays so
            loader.close()
        return sent_of(block, time.monotonic() - began)

    def close(self) -> None:
        while self._loaders:
            self._loaders.popitem()[1][0].close()


def _made(loader: Loader, at: int, first: int, end: int) -> Block:
    batches: "list[tuple[Any, float]]" = []
    try:
        if at != first:
            try:
                loader.seek(first)
            except ConfigError as problem:
                if not str(problem).startswith("seek: the run "):
                    raise
                return Block([], True, None)   # behind the end
        while True:
            head = loader.peek()
            if head is None or head.number >= end:
                return Block(batches, head is None, None)
            batch = next(loader)
            batches.append((batch, loader.complete_frac))
    except Exception as failure:
        return Block(batches, False, failure)
