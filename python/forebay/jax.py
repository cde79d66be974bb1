# SPDX-License-Identifier: Apache-2.0
"""Batches as jax arrays; imported only when asked for."""
from __future__ import annotations

from functools import partial
from typing import Any, Iterator, Mapping, Optional, Union

from forebay._convert import arrays
from forebay.loader import Loader

try:
    import jax  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import jax.numpy  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError as missing:
    raise ImportError("forebay.jax needs the package jax") from missing


def to(batch: Any) -> Any:
    """name → jax.Array, or a tuple of them for a TupleBatch; strings, ragged and sparse values are not changed."""
    return arrays(batch, jax.numpy.asarray)


def batches(loader: Loader, sharding: Union[Any, Mapping[str, Any], None] = None) -> Iterator[Any]:
    """The batches of a loader as global arrays over all devices and processes: name → jax.Array.

        mesh = jax.sharding.Mesh(jax.devices(), "data")
        loader = pipe.load(shard=(jax.process_index(), jax.process_count()))
        for batch in fb.jax.batches(loader, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))):
            state, loss = step(state, batch)

    loader     gives the rows of this process: one shard by rows for each process
    sharding   jax.sharding.Sharding of every tensor, or a mapping from names to shardings, whose other tensors go to the default
               device. None: all of them do

    The rows of the processes stand one after the other along the first axis: with 2 processes of 16 rows each an array has 32.
    Strings, ragged and sparse values are not changed; jax makes int64 int32 and float64 float32 unless `jax_enable_x64` is set. The state of the loader is that of the last batch that the loop got.
    Raises ValueError where the devices do not divide the rows of a batch: `remainder="drop"` or "pad" gives equal ones.
    """
    for batch in loader:
        if isinstance(sharding, Mapping):
            yield {name: arrays({name: value}, partial(_placed, sharding=sharding.get(name)))[name] for name, value in batch.items()}
        else:
            yield arrays(batch, partial(_placed, sharding=sharding))


def _placed(array: Any, sharding: Optional[Any]) -> Any:
    return jax.numpy.asarray(array) if sharding is None else jax.make_array_from_process_local_data(sharding, array)
