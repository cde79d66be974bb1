# SPDX-License-Identifier: Apache-2.0
"""Batches that other machines make, on a Ray cluster (docs/clusters.md). Needs `pip install forebay[ray]`.

    fleet = fr.Fleet("train.json", name="train", workers=(8, 64))     # the driver, once a job
    loader = fr.load("train", shard="auto")                           # every trainer; the interface of fb.load
"""
from __future__ import annotations

try:
    import ray as _ray
except ImportError as problem:
    raise ImportError("forebay.ray needs Ray, which is not installed: pip install 'forebay[ray]'") from problem

from typing import TYPE_CHECKING, Any

from forebay.ray.fleet import Fleet
from forebay.ray.loading import load

if TYPE_CHECKING:
    from forebay.ray.datasource import Datasource

__all__ = ["Datasource", "Fleet", "load"]

del _ray


def __getattr__(name: str) -> Any:
    if name == "Datasource":   # Ray Data has requirements of its own
        from forebay.ray.datasource import Datasource
        return Datasource
    raise AttributeError(f"module 'forebay.ray' has no attribute {name!r}; it has {', '.join(__all__)}")
