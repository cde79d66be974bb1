# SPDX-License-Identifier: Apache-2.0
"""A character language model trained with truncated back-propagation through time.

The text is some hundred long sequences. `unroll` cuts them into segments of 8 characters, and row i of a batch of
`stateful` goes on with the sequence of row i of the batch before. Gradients end at the edge of a segment; the state of
the network is saved there and read again for the next segment. The same network, trained with a state of zeros at the
beginning of every segment, knows less of the text before a character: its loss is higher.

Needs torch; the text is in the folder text. Both trainings together take half a minute of one processor, and states save
0.11 to 0.15 nats a character of the sequences that are held out:
python examples/05_truncated_bptt.py
"""
from __future__ import annotations

import argparse
import bz2
import itertools
import pathlib
import re
from typing import Iterator, Optional

import numpy as np
import torch

import forebay as fb

TEXT = pathlib.Path(__file__).resolve().parent / "text" / "tinyshakespeare.txt.bz2"
SEGMENT, ROWS, HIDDEN = 8, 32, 64
HELD_OUT = 16  # sequences


def sequences(text: str) -> tuple[dict[str, fb.Ragged], dict[str, fb.Ragged], int]:
    """The sequences for training, those held out, and the number of codes. x: the codes of the characters, from 1
    (padding is 0). y: for each character the code of the next one."""
    characters, codes = np.unique(np.array(list(text)), return_inverse=True)
    x = codes.astype(np.int64) + 1
    y = np.append(x[1:], x[0])
    # A sequence ends at the first blank line after 2,500 characters.
    blank = np.array([0, *(match.end() for match in re.finditer("\n\n", text)), len(text)])
    after = np.searchsorted(blank, np.arange(0, len(text) + 2500, 2500))
    ends = np.unique(blank[after.clip(max=len(blank) - 1)])

    def part(ends: np.ndarray) -> dict[str, fb.Ragged]:
        first, end = ends[0], ends[-1]
        return {name: fb.Ragged(values[first:end], ends - first) for name, values in (("x", x), ("y", y))}

    return part(ends[:-HELD_OUT]), part(ends[-HELD_OUT - 1:]), len(characters) + 1


class Network(torch.nn.Module):
    def __init__(self, codes: int):
        super().__init__()
        self.embedding = torch.nn.Embedding(codes, 32)
        self.recurrent = torch.nn.GRU(32, HIDDEN, batch_first=True)
        self.output = torch.nn.Linear(HIDDEN, codes)

    def forward(self, x: torch.Tensor, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x: [rows, characters], hidden: [rows, HIDDEN]. Returns the logits and the hidden state after x."""
        values, after = self.recurrent(self.embedding(x), hidden[None])
        return self.output(values), after[0]


def losses(network: Network, pipe: fb.Pipeline, follow: bool, steps: int,
           optimizer: Optional[torch.optim.Optimizer] = None) -> Iterator[float]:
    """The loss of each of the first `steps` batches; with an optimizer, trains on them."""
    states = {"hidden": {"dtype": "float32", "shape": [HIDDEN]}} if follow else {}
    pipe = pipe.unroll(SEGMENT, keys=["x", "y"]).stateful(ROWS, states=states)
    for batch in itertools.islice(pipe.load(threads=1), steps):
        tensors = fb.torch.to(batch)
        hidden = torch.from_dlpack(batch.state("hidden")) if follow else torch.zeros(ROWS, HIDDEN)
        with torch.set_grad_enabled(optimizer is not None):
            logits, hidden = network(tensors["x"], hidden)
            # Padding, in last segments and in rows without a sequence, is code 0.
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tensors["y"].flatten(), ignore_index=0)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if follow:
            batch.save_state("hidden", hidden.detach())  # the gradient ends here
        yield loss.item()


def train(text: str, follow: bool, steps: int, seed: int) -> float:
    """Trains a network, prints its progress, and returns its loss on the sequences held out."""
    training, held_out, codes = sequences(text)
    torch.manual_seed(seed)
    network = Network(codes)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    seen = []
    for loss in losses(network, fb.arrays(training).shuffle(1000).epochs(100).seed(seed), follow, steps, optimizer):
        seen.append(loss)
        if len(seen) % max(steps // 5, 1) == 0:
            print(f"  step {len(seen)}: loss {np.mean(seen[-(steps // 5):]):.3f}")
    return float(np.mean(list(losses(network, fb.arrays(held_out), follow, steps))))


def main() -> None:
    options = argparse.ArgumentParser(description="Truncated back-propagation through time, with and without states.")
    options.add_argument("--text", type=pathlib.Path, default=TEXT, help="a text file, plain or compressed by bzip2")
    options.add_argument("--steps", type=int, default=2000, help="batches of each training")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    if not given.text.is_file():
        options.error(f"there is no file {given.text}; without --text, the example takes {TEXT}")
    torch.set_num_threads(1)
    with (bz2.open if given.text.suffix == ".bz2" else open)(given.text, "rt", encoding="utf-8") as file:
        text = file.read()
    result = {}
    for name, follow in (("with", True), ("without", False)):
        print(f"training {name} states")
        result[name] = train(text, follow, given.steps, given.seed)
        print(f"  held out: loss {result[name]:.3f} {name} states")
    print(f"states save {result['without'] - result['with']:.3f} nats a character")


if __name__ == "__main__":
    main()
