# SPDX-License-Identifier: Apache-2.0
"""Batches as torch tensors; imported only when asked for."""
from __future__ import annotations

import json
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Protocol, Union

import numpy as np

from forebay import _core
from forebay import replicas as replicas_module
from forebay import _pytrees
from forebay._arguments import integer_of, out_of_range, wrong_type
from forebay._convert import arrays
from forebay._dataset import Begun, Epochs
from forebay._paths import Path
from forebay._prefetch import Prefetch
from forebay._turns import Turn, Turns, place_of
from forebay.checkpoint import atomic_file
from forebay.errors import ConfigError, StateError
from forebay.loader import Batch, Loader
from forebay._structure import each_of
from forebay.mapped import Made, MappedBatch, TupleBatch

try:
    import torch.utils.data  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError as missing:
    raise ImportError("forebay.torch needs the package torch") from missing

_pytrees.tell("torch.utils._pytree")


class TensorBatch(MappedBatch):
    """The tensors of a batch by name: a dict. `number`, `epoch`, `valid_rows` and so on are those of the loader's batch.

    Packages that rebuild it (`type(batch)({...})`) get the tensors only; `to` and copies keep the rest.
    """

    __slots__ = ()

    @property
    def lengths(self) -> dict[str, Any]:
        """True sizes before padding, as tensors on the CPU."""
        return {name: _tensor(value, None) for name, value in super().lengths.items()}

    @property
    def mask(self) -> Any:
        """Which rows came from records: a bool tensor [rows] on the CPU, to leave padding out of a loss or a metric."""
        return _tensor(super().mask, None)

    def to(self, device: Any, non_blocking: bool = False) -> "TensorBatch":
        """The same with the tensors on another device. With `non_blocking` the program does not wait for copies out of page-locked
        memory (`load(pin_memory=True)`); the memory is not used again before they are done."""
        def moved(value: Any) -> Any:
            return _moved(value, device, non_blocking, self._source) if isinstance(value, torch.Tensor) else value
        out = TensorBatch(each_of(moved, dict(self)), self._source)
        _record(self._source, device)
        return out

    def __copy__(self) -> "TensorBatch":
        return TensorBatch(self, self._source)

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorBatch, super().__reduce__()[1]


def to(batch: Any, device: Optional[Any] = None) -> Any:
    """name → torch.Tensor over the batch's own memory, or on `device`; strings, ragged and sparse values are not changed.

    The result, a TensorBatch, also has `lengths`, `mask`, `epoch` and all else that the batch knows. Of a TupleBatch it is another
    one. Batches of `load(pin_memory=True)` are copied to a GPU while the program goes on: in the current stream, and their memory
    is not used again before that is done."""
    source = _source_of(batch)
    made = arrays(batch, lambda value: _tensor(value, device, source))
    _record(source, device)
    return TupleBatch(made, source) if isinstance(made, tuple) else TensorBatch(made, source)


def record_stream(batch: Any, stream: Any = None) -> None:
    """Says that copies out of a batch of `load(pin_memory=True)` were put into a stream of torch, the current one if left out: its
    memory is not used again before they are done. For programs that copy by themselves in another stream than the default one;
    `to` and `TensorBatch.to` call it."""
    source = _source_of(batch)
    if isinstance(source, Batch) and torch.cuda.is_available():
        found = torch.cuda.current_stream() if stream is None else stream
        _core.record_stream(source, found.device_index, found.cuda_stream)


def _source_of(batch: Any) -> Any:
    return batch._source if isinstance(batch, Made) else batch if isinstance(batch, Batch) else None


def _record(source: Any, device: Any) -> None:
    """After copies to `device` in its current stream."""
    if device is not None and torch.device(device).type == "cuda":
        record_stream(source, torch.cuda.current_stream(device))


def _moved(tensor: Any, device: Any, non_blocking: bool, source: Any) -> Any:
    """Where it is not known which batch the memory is of, nothing keeps it until the copy is done: then this waits for it."""
    known = isinstance(source, Batch) or torch.device(device).type != "cuda"
    return tensor.to(device, non_blocking=non_blocking and (known or not tensor.is_pinned()))


def as_it_is(item: Any) -> Any:
    """`collate_fn` of a DataLoader over `dataset`: its items are batches, and nothing is to be done with them."""
    return item


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
    """The batches of a pipeline as an IterableDataset; `dataset` makes it."""

    def __init__(self, epochs: Epochs) -> None:
        super().__init__()
        self._epochs = epochs
        self._turns = Turns()
        self._loops = 0          # of this process
        self._last: Optional[str] = None   # the place behind the last batch that this process took
        self._turn: Optional[Turn] = None  # of the loop that has begun here; it counts until there is such a batch
        self._steps: Optional[int] = None
        self._running: Optional[Begun] = None         # the loop that gave the last batch
        # In a worker:
        self._place: Optional[WorkerPlace] = None     # at the beginning of its loop, or at the end
        self._resumed: Optional[WorkerPlace] = None   # where its next loop begins

    def __iter__(self) -> Iterator[TensorBatch]:
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

    def _loop(self, place: "WorkerPlace") -> Iterator[TensorBatch]:
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
                out = to(batch)
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

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next `iter` gives the rest of the state's epoch, or the next epoch after its last batch. Call it before the
        DataLoader makes its workers. In a worker it takes a state of this worker, and one of the whole loop. Raises StateError
        when it does not fit."""
        worker = torch.utils.data.get_worker_info()
        if worker is None and _PLACE in state:
            place = WorkerPlace(**state[_PLACE])
            raise StateError(f"this is the state of worker {place.worker} of {place.workers} of a DataLoader, not that of the loop; "
                             "torchdata's StatefulDataLoader takes the states of all of them, by its load_state_dict", code="state",
                             detail="invalid_argument")
        if worker is not None:
            return self._load_in_worker(state, worker.id, worker.num_workers)
        with self._epochs.loader() as loader:
            loader.load_state_dict(state)
        self._last = self._turn = None
        self._turns.set_state(state)

    def _state_in_worker(self) -> dict[str, Any]:
        place = self._resumed or (self._place_now() if self._running is not None else self._place)
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

    def __next__(self) -> TensorBatch:
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


def dataset(pipe: Any, shard: Any = None, threads: Optional[int] = None, memory: Union[int, str, None] = None,
            prefetch: Optional[int] = None, index_dir: Optional[Path] = None) -> Dataset:
    """A torch IterableDataset over the batches of a pipeline, as tensors. Every `iter` is the next epoch.

        data = fb.torch.dataset(pipe, shard=(rank, ranks))
        batches = DataLoader(data, batch_size=None, num_workers=4, collate_fn=fb.torch.as_it_is)
        for epoch in range(3):
            for batch in batches:
                train(batch["x"])
                checkpoint["data"] = data.state_dict(after=batch)

    pipe     a Pipeline. Its `epochs` does not count, and batches end with their epoch unless it says `straddle`
    others   as those of Pipeline.load. In a DataLoader each worker gets its share of threads and memory

    The stream is the same with any number of workers: worker w of W makes batches w, w + W, …. `state_dict(after=batch)` works in
    the process that trains, `load_state_dict` with any number of workers and of row shards. `len` is that of an epoch.
    """
    return Dataset(Epochs(pipe, shard, threads, memory, prefetch, index_dir))


def prefetch(loader: Loader, device: Any = "cuda", ahead: int = 2) -> Prefetch:
    """The batches of a loader as tensors on a device, copied while the batches before them are in use.

        for batch in fb.torch.prefetch(loader, device="cuda:0"):
            loss = model(batch["x"])                        # torch.Tensor on the GPU
            frames = batch.lengths["x"]                     # lengths, epoch, number, origins: as ever

    device   "cuda", "cuda:1", a torch.device. "cpu": tensors over the batch's own memory
    ahead    batches whose copies are begun before they are asked for, by a thread. They take page-locked memory of the host,
             beside the loader's budget, and memory of the GPU. 0: each batch is copied when it is asked for; there is no thread

    Numbers of fixed shape and padded ones are copied; strings, ragged and sparse values are not changed. The copies go
    through page-locked buffers, in a stream of their own; work of the current stream waits for them, the program does not. Use a
    tensor in one stream, or call its record_stream. The state is that of the last batch that the loop got. Raises ConfigError
    when there is no such GPU or no CUDA runtime.
    """
    found = torch.device(device)
    count = integer_of("ahead", ahead, "an integer of 0 or more")
    if count < 0:
        raise out_of_range("ahead", "an integer of 0 or more", count)
    if found.type == "cpu":
        return Prefetch(loader, _core.make_staging(-1, ""), _carriers, _on_host, count)
    if found.type != "cuda":
        raise ConfigError(f"device: must be a GPU ('cuda:0') or 'cpu', found '{found}'", code="config", detail="invalid_argument")
    gpu = torch.cuda.current_device() if found.index is None and torch.cuda.is_available() else found.index or 0

    def handover(batch: Mapping[str, Any], names: list[str], staged: _core.StagedTensors) -> list[Any]:
        staged.wait(torch.cuda.current_stream(gpu).cuda_stream)
        return _taken(batch, names, staged.tensors(gpu))

    return Prefetch(loader, _core.make_staging(gpu, ""), _carriers, handover, count)


def _carriers(batch: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of numbers that torch knows, by name, in types that DLPack has in every version."""
    known = {name: value for name, value in batch.items()
             if isinstance(value, np.ndarray) and value.dtype != object and hasattr(torch, value.dtype.name)}
    return {name: value.view(_VIEWS[value.dtype.name][0]) if value.dtype.name in _VIEWS else value
            for name, value in known.items()}


def _on_host(batch: Mapping[str, Any], names: list[str], staged: _core.StagedTensors) -> list[Any]:
    return _taken(batch, names, staged.tensors(-1))


def _taken(batch: Mapping[str, Any], names: list[str], staged: list[Any]) -> list[Any]:
    tensors = [torch.from_dlpack(tensor) for tensor in staged]
    views = [_VIEWS.get(batch[name].dtype.name) for name in names]
    return [tensor if view is None else tensor.view(view[1]) for tensor, view in zip(tensors, views)]


# DLPack from numpy has no bfloat16, and older torch takes no bool from it.
_VIEWS = {"bfloat16": (np.int16, torch.bfloat16), "bool": (np.uint8, torch.bool)}


class HasState(Protocol):
    """A Loader, or another object with a state: Switch, BatchSet, Prefetch."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any], /) -> None: ...


def save_with_state(path: Path, checkpoint: Any, loader: HasState) -> None:
    """Saves a model checkpoint (any object for torch.save) and the state of the loader, or of what goes through it (Switch,
    BatchSet, Prefetch), in one file: old or new, never mixed, so that the model and the data cannot get out of step."""
    together = {"checkpoint": checkpoint, "forebay": loader.state_dict()}
    with atomic_file(path) as file:
        torch.save(together, file)


def load_with_state(path: Path, loader: HasState, **options: Any) -> Any:
    """The checkpoint that `save_with_state` saved; the loader goes on from there. `options` are torch.load's."""
    together = torch.load(path, **options)
    loader.load_state_dict(together["forebay"])
    return together["checkpoint"]


def verify_replicas(loader: Loader, batches: int = 2, replicas: Optional[int] = None, group: Any = None) -> None:
    """fb.verify_replicas over the processes of torch.distributed, or of one of its groups."""
    import torch.distributed as distributed  # type: ignore[import-not-found, import-untyped, unused-ignore]

    def allgather(mine: Any) -> list[Any]:
        every: list[Any] = [None] * distributed.get_world_size(group)
        distributed.all_gather_object(every, mine, group)
        return every

    replicas_module.verify_replicas(loader, allgather, batches, replicas)


def _tensor(value: Any, device: Optional[Any], source: Any = None) -> Any:
    if not hasattr(torch, value.dtype.name):  # uint16, uint32 and uint64, before torch 2.3
        return value
    if value.dtype.name in _VIEWS:
        carrier, dtype = _VIEWS[value.dtype.name]
        tensor = torch.from_dlpack(value.view(carrier)).view(dtype)
    else:
        tensor = torch.from_dlpack(value)
    return tensor if device is None else _moved(tensor, device, True, source)
