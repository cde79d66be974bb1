# SPDX-License-Identifier: Apache-2.0
"""The epochs of a pipeline one by one, as data sets of other packages go through them."""
from __future__ import annotations

import json
from typing import Any, Mapping, NamedTuple, Optional

from forebay import _core
from forebay._arguments import wrong_type
from forebay._progress import batches_before
from forebay._turns import place_of
from forebay.loader import Loader, start
from forebay.pipeline import PipelineBase


class Begun(NamedTuple):
    """A loop over one epoch, or what is left of it.

    loader   gives its batches
    epoch    of the loader; None: this loop gets none of the batches
    number   of the epoch; None: there is none
    share    which of the batches, dealt among workers, the loader gives; None: all of them
    """

    loader: Loader
    epoch: Any
    number: Optional[int]
    share: Optional[int]


class Epochs:
    """A pipeline whose loaders begin in any epoch, with the batches of one of several workers.

    It runs for ever, and batches end with their epoch unless the pipeline says `straddle`. Can be pickled as far as the objects
    and functions of the pipeline can.
    """

    def __init__(self, pipe: Any, shard: Any, threads: Optional[int], memory: Any, prefetch: Optional[int],
                 index_dir: Any, requests: Optional[int], cache: Any) -> None:
        if not isinstance(pipe, PipelineBase):
            raise wrong_type("pipe", "a forebay Pipeline; of a document, fb.Pipeline(document)", pipe)
        document = {"epoch_boundary": "hard", **pipe.to_dict(), "epochs": None}
        self._shard = document.pop("shard", None) if shard is None else shard
        self._pipe = type(pipe)(document, pipe._maps, pipe._bindings)
        self._options = {"threads": threads, "memory": memory, "prefetch": prefetch, "index_dir": index_dir, "requests": requests, "cache": cache}
        self._pipe.plan()  # which finds every fault now

    def loader(self, worker: int = 0, workers: int = 1) -> Loader:
        """A loader of the batches of one worker."""
        options = dict(self._options)
        shard = self._shard
        if workers > 1:
            dealt = {"index": worker, "count": workers, "by": "batch"}
            shard = dealt if shard is None else [shard, dealt]
            threads, memory = _core.usual_resources()
            options["threads"] = options["threads"] or max(1, threads // workers)
            options["memory"] = options["memory"] or memory // workers
        return start(self._pipe.to_dict(), self._pipe._bindings, options["threads"], options["memory"], options["prefetch"], shard,
                     self._pipe._maps, options["index_dir"], requests=options["requests"], cache=options["cache"])

    def steps(self) -> int:
        with self.loader() as loader:
            return loader.steps_per_epoch

    def begin(self, epoch: Optional[int], state: Optional[Mapping[str, Any]], worker: int, workers: int) -> Begun:
        """The epoch of that number, or the one in which the state stands. Worker w of W gets batches w, w + W, … of what is left
        of it."""
        loader = self.loader()
        try:
            if state is None and epoch:
                state = self._jump(loader, epoch)
            stood = 0 if state is None else place_of(state)
            if state is not None:
                loader.load_state_dict(state)
            found = _epoch(loader, epoch)
            if found is None or workers == 1:
                return Begun(loader, found, None if found is None else found.number, None)
            at = loader.state_dict()
            first = batches_before(json.dumps(at))
            following = loader.peek() if found.number > stood else None  # batches of earlier epochs may lie between
            first = first if following is None else following.number
        except BaseException:
            loader.close()
            raise
        loader.close()
        return self.go_on(found.number, at, (first + worker) % workers, workers)

    def go_on(self, number: int, state: Mapping[str, Any], index: int, workers: int) -> Begun:
        """What is left of that epoch for the share `index` of the batches. `state` is of any share."""
        loader = self.loader(index, workers)
        try:
            loader.load_state_dict(state)
            mine = _epoch(loader, number)
        except BaseException:
            loader.close()
            raise
        # Of a rest that has fewer batches than there are workers, some get none. They have no part in the epoch after it.
        return Begun(loader, mine if mine is not None and mine.number == number else None, number, index)

    def _jump(self, loader: Loader, epoch: int) -> Optional[dict[str, Any]]:
        """The state at the beginning of an epoch, where all epochs have as many batches; None: only going there tells."""
        at = json.loads(loader._position())
        if set(at["sections"]) != {"order"} or self._pipe.to_dict()["epoch_boundary"] != "hard":
            return None
        steps = loader._run.count(True)
        if steps is None:
            return None
        at["sections"]["order"].update({"epoch": epoch, "from": epoch, "begun": 0, "batch": epoch * steps, "pulled": 0,
                                        "next": epoch * steps, "cut_short": 0, "done": 0})
        state: dict[str, Any] = json.loads(loader._run.state_at(json.dumps(at)))
        return state


def _epoch(loader: Loader, number: Optional[int]) -> Any:
    """The epoch of that number, or the first one after it; None: the first one there is."""
    for found in loader.epochs():
        if number is None or found.number >= number:
            return found
    return None
