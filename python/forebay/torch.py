# SPDX-License-Identifier: Apache-2.0
"""Batches as torch tensors; imported only when asked for."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Protocol, Union

import numpy as np

from forebay import _core
from forebay import replicas as replicas_module
from forebay import _pytrees
from forebay._arguments import integer_of, out_of_range
from forebay._convert import arrays
from forebay._dataset import Epochs
from forebay._paths import Cache, Path
from forebay._prefetch import Prefetch
from forebay.checkpoint import atomic_file
from forebay.errors import ConfigError
from forebay.loader import Batch, Loader
from forebay._structure import each_of
from forebay.mapped import Made, MappedBatch, TupleBatch

try:
    import torch.utils.data  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError as missing:
    raise ImportError("forebay.torch needs the package torch") from missing

from forebay._torch_dataset import Dataset  # noqa: E402: it needs torch

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


def _no_batches_of_batches(batches: Any, **_: Any) -> Any:
    """Called by a DataLoader that was given `batch_size`, or has that of 1 by itself."""
    raise TypeError("the items of this data set are batches already, and this DataLoader puts several into one: give it batch_size=None, "
                    "and say the size in the pipeline, `batch(size)`")


getattr(torch.utils.data._utils.collate, "default_collate_fn_map", {}).update(dict.fromkeys((TensorBatch, TupleBatch), _no_batches_of_batches))


def dataset(pipe: Any, shard: Any = None, threads: Optional[int] = None, memory: Union[int, str, None] = None,
            prefetch: Optional[int] = None, index_dir: Optional[Path] = None, requests: Optional[int] = None,
            cache: Optional[Cache] = None) -> Dataset:
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
    return Dataset(Epochs(pipe, shard, threads, memory, prefetch, index_dir, requests, cache), to)


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
