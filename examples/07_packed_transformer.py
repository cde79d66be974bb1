# SPDX-License-Identifier: Apache-2.0
"""A tiny transformer trained on packed rows: several lines of a play in each row.

`packed` fills rows of 128 characters with lines, and makes two tensors of the same shape: the segment that each character
belongs to (0: padding), and its position in the segment. The attention mask keeps the segments apart, so that the logits of
a line are those of the line alone; the example compares them. Less of the rows is padding than with a row for each line.
(`packed` also makes `cu_seqlens`, for attention kernels that take these in place of a mask.)

Needs torch; the text is in the folder text. It takes half a minute of one processor:
python examples/07_packed_transformer.py
"""
from __future__ import annotations

import argparse
import bz2
import itertools
import pathlib
import re

import numpy as np
import torch

import forebay as fb

TEXT = pathlib.Path(__file__).resolve().parent / "text" / "tinyshakespeare.txt.bz2"
LENGTH, ROWS, WIDTH, HEADS = 128, 8, 32, 2


def lines_of(text: str) -> tuple[dict[str, fb.Ragged], int]:
    """x: the codes of the characters of each line, from 1 (padding is 0). y: the next one. And the number of codes."""
    characters, codes = np.unique(np.array(list(text)), return_inverse=True)
    x = codes.astype(np.int64) + 1
    y = np.append(x[1:], x[0])
    ends = np.unique([0, *(match.end() for match in re.finditer("\n+", text)), len(text)])
    return {"x": fb.Ragged(x, ends), "y": fb.Ragged(y, ends)}, len(characters) + 1


class Network(torch.nn.Module):
    def __init__(self, codes: int):
        super().__init__()
        self.embedding = torch.nn.Embedding(codes, WIDTH)
        self.position = torch.nn.Embedding(LENGTH, WIDTH)
        options = {"dropout": 0.0, "batch_first": True, "norm_first": True}
        self.layers = torch.nn.ModuleList(torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, **options)
                                          for _ in range(2))
        self.output = torch.nn.Linear(WIDTH, codes)

    def forward(self, x: torch.Tensor, segments: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """All [rows, characters]. Returns the logits, [rows, characters, codes]."""
        count = x.shape[1]
        # A character sees itself and those before it in its segment. [rows * HEADS, count, count]; true: not seen
        same = segments[:, :, None] == segments[:, None, :]
        hidden = ~(same & torch.ones(count, count, dtype=torch.bool).tril()).repeat_interleave(HEADS, dim=0)
        values = self.embedding(x) + self.position(positions)
        for layer in self.layers:
            values = layer(values, src_mask=hidden)
        return self.output(values)


def tensors_of(batch: fb.Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    tensors = fb.torch.to(batch)
    return tensors["x"], tensors["segments"].long(), tensors["positions"].long(), tensors["y"]


def difference(network: Network, batch: fb.Batch) -> float:
    """The largest difference between the logits of a segment in its row and those of the segment alone."""
    x, segments, positions, _ = tensors_of(batch)
    differences = []
    with torch.no_grad():
        packed = network(x, segments, positions)
        for row in range(x.shape[0]):
            for segment in range(1, int(segments[row].max()) + 1):
                here = segments[row] == segment
                count = int(here.sum())
                alone = network(x[row, here][None], torch.ones(1, count), torch.arange(count)[None])
                differences.append((packed[row, here] - alone[0]).abs().max())
    return float(torch.stack(differences).max())


def train(pipe: fb.Pipeline, network: Network, steps: int) -> None:
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    losses: list[float] = []
    characters = segments_seen = longest = 0
    for batch in itertools.islice(pipe.load(threads=1), steps):
        x, segments, positions, y = tensors_of(batch)
        logits = network(x, segments, positions)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        characters += int((segments > 0).sum())
        segments_seen += int(segments.max(dim=1).values.sum())
        longest = max(longest, int(positions.max()) + 1)
        if len(losses) % max(steps // 5, 1) == 0:
            print(f"  step {len(losses)}: loss {np.mean(losses[-(steps // 5):]):.3f}")
    print(f"{100 * characters / (len(losses) * ROWS * LENGTH):.0f} % of the rows is text; with a row of {longest} characters "
          f"for each of the {segments_seen} lines it would be {100 * characters / (segments_seen * longest):.0f} %")


def main() -> None:
    options = argparse.ArgumentParser(description="A transformer trained on packed rows.")
    options.add_argument("--text", type=pathlib.Path, default=TEXT, help="a text file, plain or compressed by bzip2")
    options.add_argument("--steps", type=int, default=600, help="batches of the training")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    if not given.text.is_file():
        options.error(f"there is no file {given.text}; without --text, the example takes {TEXT}")
    torch.set_num_threads(1)
    torch.manual_seed(given.seed)
    with (bz2.open if given.text.suffix == ".bz2" else open)(given.text, "rt", encoding="utf-8") as file:
        text = file.read()
    sequences, codes = lines_of(text)
    # A line of more than 128 characters is divided, each piece a segment of its own.
    pipe = (fb.arrays(sequences).shuffle(10_000)
            .packed(length=LENGTH, rows=ROWS, fit="best", longer="split", segment_ids="segments", positions="positions")
            .epochs(100).seed(given.seed))
    network = Network(codes)
    train(pipe, network, given.steps)
    print(f"largest difference to the logits of a segment alone: {difference(network, next(pipe.load(threads=1))):.1e}")


if __name__ == "__main__":
    main()
