# SPDX-License-Identifier: Apache-2.0
"""The batches of a pipeline as a data set of torch, and where its loops are: in this process, and in each worker."""
from __future__ import annotations

import json
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence

import torch.utils.data  # type: ignore[import-not-found, import-untyped, unused-ignore]

from forebay._arguments import integer_of, out_of_range, wrong_type
from forebay._dataset import Begun, Epochs
from forebay._turns import Turn, Turns, place_of
from forebay.errors import StateError
from forebay.mapped import Made


class WorkerPlace(NamedTuple):
    """Where a worker of a DataLoader is in its loop.

    worker   of `workers`
    epoch    that it goes through; None: the one in which `state` stands
    share    which of the batches, dealt among workers, are its own; None: it has not begun
    state    after its last batch; None: the beginning of the epoch
    """

    worker: int
    workers: int
    epoch: Optional[int]
    share: Optional[int]
    state: Optional[Mapping[str, Any]]


#: The key of a WorkerPlace in what `Dataset.state_dict` returns in a worker.
_PLACE = "worker"


class Dataset(torch.utils.data.IterableDataset):  # type: ignore[misc]
    """The batches of a pipeline as an IterableDataset; `fb.torch.dataset` makes it."""

    def __init__(self, epochs: Epochs, tensors: Callable[[Any], Any]) -> None:
        super().__init__()
        self._epochs = epochs
        self._tensors = tensors  # what makes tensors of a batch
        self._turns = Turns()
        self._loops = 0          # of this process
        self._last: Optional[str] = None   # the place behind the last batch that this process took
        self._turn: Optional[Turn] = None  # of the loop that has begun here; it counts until there is such a batch
        self._steps: Optional[int] = None
        self._running: Optional[Begun] = None         # the loop that gave the last batch
        # In a worker:
        self._place: Optional[WorkerPlace] = None     # at the beginning of its loop, or at the end
        self._resumed: Optional[WorkerPlace] = None   # where its next loop begins

    def __getstate__(self) -> dict[str, Any]:
        """For workers, which have loops of their own."""
        return {**self.__dict__, "_running": None}

    def __iter__(self) -> Iterator[Any]:
        worker = torch.utils.data.get_worker_info()
        self._loops += 1
        if worker is None:
            self._last, self._turn = None, self._turns.take(None, 0)
            return _Loop(self, WorkerPlace(0, 1, self._turn.epoch, None, self._turn.state))
        place, self._resumed = self._resumed, None
        if place is None:
            # The seed is drawn anew for each loop of a DataLoader; workers that stay alive keep theirs, and count loops.
            turn = self._turns.take([worker.seed - worker.id, self._loops], worker.id)
            place = WorkerPlace(worker.id, worker.num_workers, turn.epoch, None, turn.state)
        self._place, self._running = place, None
        return self._loop(place)

    def _loop(self, place: "WorkerPlace") -> Iterator[Any]:
        if place.share is None:
            begun = self._epochs.begin(place.epoch, place.state, place.worker, place.workers)
        else:
            assert place.epoch is not None and place.state is not None
            begun = self._epochs.go_on(place.epoch, place.state, place.share, place.workers)
        with begun.loader:
            if begun.epoch is None:
                return
            if place.state is not None:
                self._turns.begun(begun.epoch.number)
            self._running = begun
            for batch in begun.epoch:
                out = self._tensors(batch)
                self._last = out._position()
                yield out
            if self._running is begun and self._place is not None:
                self._place, self._running = self._place_now(), None

    def __len__(self) -> int:
        """The batches of an epoch. TypeError where counting needs decoding."""
        if self._steps is None:
            self._steps = self._epochs.steps()
        return self._steps

    def set_epoch(self, epoch: int) -> None:
        """The next `iter` goes through this epoch, in all workers, and the following ones through those after it. A state of
        this epoch that was loaded stays in place."""
        number = integer_of("epoch", epoch, "an integer of 0 or more")
        if number < 0:
            raise out_of_range("epoch", "an integer of 0 or more", number)
        self._last = self._turn = None
        self._turns.set_epoch(number)

    def state_dict(self, after: Optional[Mapping[str, Any]] = None) -> dict[str, Any]:
        """The state of the loop.

        after   the last batch that was used. With workers or a thread that reads ahead only this tells where the loop is. Left
                out: the last batch that this process took from the data set, or the beginning of the next epoch. Raises
                StateError where it is left out and the batches come from workers

        In a worker it is the state of that worker, as torchdata's StatefulDataLoader asks for it.
        """
        if torch.utils.data.get_worker_info() is not None:
            return self._state_in_worker()
        position = self._last
        if after is None and self._turns.in_workers():
            raise StateError("state_dict: the batches come from workers of a DataLoader, and only the last one that was used tells where "
                             "the training is: give it, state_dict(after=batch); or take torchdata's StatefulDataLoader, whose own "
                             "state_dict() knows", code="state", detail="failed_precondition")
        if after is not None:
            position = after._position() if isinstance(after, Made) else None
            if not position:
                raise wrong_type("after", "a batch of this data set; a DataLoader that rebuilds batches loses their place: give it "
                                 "collate_fn=fb.torch.as_it_is", after)
        if position is None:
            turn = self._turn or self._turns.next()
            with self._epochs.begin(turn.epoch, turn.state, 0, 1).loader as loader:
                return loader.state_dict()
        with self._epochs.loader() as loader:
            state: dict[str, Any] = json.loads(loader._run.state_at(position))
            return state

    def load_state_dict(self, state: Mapping[str, Any], accept: Sequence[str] = ()) -> None:
        """The next `iter` gives the rest of the state's epoch, or the next epoch after its last batch. Call it before the
        DataLoader makes its workers. In a worker it takes a state of this worker, and one of the whole loop. Raises StateError
        when it does not fit. `accept` is that of `Loader.load_state_dict`."""
        worker = torch.utils.data.get_worker_info()
        if worker is None and _PLACE in state:
            place = WorkerPlace(**state[_PLACE])
            raise StateError(f"this is the state of worker {place.worker} of {place.workers} of a DataLoader, not that of the loop; "
                             "torchdata's StatefulDataLoader takes the states of all of them, by its load_state_dict", code="state",
                             detail="invalid_argument")
        if worker is not None:
            return self._load_in_worker(state, worker.id, worker.num_workers)
        with self._epochs.loader() as loader:
            loader.load_state_dict(state, accept)
            if accept:
                state = loader.state_dict()   # which knows what was accepted
        self._last = self._turn = None
        self._turns.set_state(state)

    def _state_in_worker(self) -> dict[str, Any]:
        begun = self._running is not None and self._place is not None   # else the loop is one of the process that was forked
        place = self._resumed or (self._place_now() if begun else self._place)
        if place is None:
            raise StateError("state_dict: this worker has not begun to go through the data set", code="state",
                             detail="failed_precondition")
        return {_PLACE: place._asdict()}

    def _place_now(self) -> WorkerPlace:
        assert self._place is not None and self._running is not None
        return self._place._replace(epoch=self._running.number, share=self._running.share or 0, state=self._running.loader.state_dict())

    def _load_in_worker(self, state: Mapping[str, Any], worker: int, workers: int) -> None:
        place = WorkerPlace(**state[_PLACE]) if _PLACE in state else WorkerPlace(worker, workers, None, None, state)
        if (place.worker, place.workers) != (worker, workers):
            raise StateError(f"the state is of worker {place.worker} of {place.workers}, and this is worker {worker} of {workers}; go on with "
                             f"num_workers={place.workers}, or take data.state_dict(after=batch) of the process that trains, which goes on "
                             "with any number of workers", code="state", detail="invalid_argument")
        if place.state is not None:
            with self._epochs.loader() as loader:
                loader.load_state_dict(place.state)
        self._resumed = place
        self._turns.taken_up(place_of(place.state or {}) if place.epoch is None else place.epoch)


class _Loop:
    """The batches of a loop of the process that made the data set. torchdata's StatefulDataLoader without workers keeps its state:
    unlike that of the data set it tells the end of an epoch from the beginning of the next one."""

    def __init__(self, data: Dataset, place: WorkerPlace) -> None:
        self._data, self._place, self._batches = data, place, data._loop(place)
        self._begun = False

    def __iter__(self) -> "_Loop":
        return self

    def __next__(self) -> Any:
        self._begun = True
        return next(self._batches)

    def state_dict(self) -> dict[str, Any]:
        running = self._data._running
        if not self._begun or running is None:
            return {_PLACE: self._place._asdict()}
        return {_PLACE: self._place._replace(epoch=running.number, share=0, state=self._data.state_dict())._asdict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.__init__(self._data, WorkerPlace(**state[_PLACE]))  # type: ignore[misc]
        at = place_of(self._place.state or {}) if self._place.epoch is None else self._place.epoch
        self._data._turns.taken_up(at, in_workers=False)
        self._data._last, self._data._turn = None, Turn(None if self._place.state else at, self._place.state)
