# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/migrate/torch.md: every row runs, and every argument of DataLoader and every sampler has one."""
from __future__ import annotations

import pathlib
from typing import Any

import pytest
from migration import check, names_of, rows, usual, without_row

PAGE = "torch.md"

# The arguments of torch.utils.data.DataLoader, its samplers and their arguments, and its data sets, in torch 2.6.
NAMES = """dataset batch_size shuffle sampler batch_sampler num_workers collate_fn pin_memory drop_last timeout worker_init_fn
multiprocessing_context generator prefetch_factor persistent_workers pin_memory_device in_order
Sampler SequentialSampler RandomSampler SubsetRandomSampler WeightedRandomSampler BatchSampler DistributedSampler replacement
num_samples num_replicas rank seed set_epoch
Dataset IterableDataset TensorDataset StackDataset ConcatDataset ChainDataset Subset random_split get_worker_info default_collate
default_convert""".split()


def make(folder: pathlib.Path) -> dict[str, Any]:
    """The names that the page speaks of."""
    return usual()


names = names_of(make)


@pytest.mark.parametrize(("call", "gives"), rows(PAGE))
def test_a_row_gives_what_the_table_says(call: str, gives: str, names: dict[str, Any]) -> None:
    check(call, gives, names)


def test_every_name_has_a_row() -> None:
    assert without_row(PAGE, NAMES) == []
