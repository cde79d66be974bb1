# SPDX-License-Identifier: Apache-2.0
"""Blocks on their way from a worker to a trainer.

A block is pickled with its arrays out of band, so that Ray stores them as they are and maps them where they are read. The reader copies
each once, into memory of its own that may be written to and is used again, and compares the checksum of the copy. Reading a block runs what the
worker has pickled: workers are as much trusted as the program itself, as everywhere in Ray.
"""
from __future__ import annotations

import pickle
from typing import Any, List, NamedTuple, Optional

import numpy as np

from forebay._core import Batch, ReceivedMemory, crc32c, own_memory
from forebay._map.faults import sendable
from forebay.errors import DataError


class Block(NamedTuple):
    """The batches of a block, each with the share of the run up to it.

    ended     the run has no batch behind them
    failure   what making the next one raised; None: nothing
    """

    batches: "list[tuple[Any, float]]"
    ended: bool
    failure: Optional[BaseException]


class Sent(NamedTuple):
    """A block as it travels.

    checksums  CRC-32C of the header, and of each array
    size       bytes of both
    last       no block behind it has a batch
    """

    header: bytes
    checksums: List[int]
    arrays: List[Any]
    size: int
    batches: int
    seconds: float
    last: bool


def sent_of(block: Block, seconds: float) -> Sent:
    """A block that took `seconds` to make."""
    if block.failure is not None:
        block = block._replace(failure=sendable(block.failure))
    buffers: "list[pickle.PickleBuffer]" = []
    header = pickle.dumps(block, 5, buffer_callback=buffers.append)
    arrays: "List[Any]" = [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]
    size = len(header) + sum(array.nbytes for array in arrays)
    return Sent(header, [crc32c(header), *map(crc32c, arrays)], arrays, size, len(block.batches), seconds,
                block.ended or block.failure is not None)


def received(sent: Sent, memory: ReceivedMemory) -> Block:
    """The block, whose arrays lie in `memory`. Raises DataError when it is not what was sent, and IoError when memory cannot be
    page-locked."""
    parts = [memory.copy(array) for array in sent.arrays]
    if [crc32c(sent.header), *(part.checksum for part in parts)] != sent.checksums:
        raise DataError("a block of batches arrived with other bytes than its worker has sent: the checksums differ; check the memory and the "
                        "network of the machine that made it", code="data", detail="data_loss")
    block: Block = pickle.loads(sent.header, buffers=[part.array for part in parts])
    if memory.pinned:
        for batch, _ in block.batches:
            if isinstance(batch, Batch):   # not that of a function of `map`, whose copies to a GPU are waited for
                own_memory(batch, parts)
    return block
