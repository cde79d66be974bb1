# SPDX-License-Identifier: Apache-2.0
"""A classifier of spoken digits, trained on padded batches of recordings of similar length.

audio/to_tfrecords.py turns the recordings into sequence examples with log-mel features. `buckets` makes batches of
recordings of similar length, so that little of a batch is padding, and `batch.lengths` says how much of each row is
none: a mask keeps padding out of the network. The takes 0 to 2 of every digit and speaker are held out.

Needs torch, takes some seconds, and nearly 90 % of the digits held out are right. The folder digits has the recordings of one
speaker; all of github.com/Jakobovski/free-spoken-digit-dataset are read with --recordings FOLDER:
python examples/06_spoken_digits.py
"""
from __future__ import annotations

import argparse
import itertools
import pathlib
import tempfile

import numpy as np
import torch
from audio import to_tfrecords

import forebay as fb

RECORDINGS = pathlib.Path(__file__).resolve().parent / "digits"
RATE = 8000
HELD_OUT_TAKES = range(3)
LENGTHS = [30, 40, 50, 70]  # frames: the upper limits of the buckets; longer recordings have one of their own


def write(recordings: pathlib.Path, folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """The files for training and of what is held out."""
    files = sorted(recordings.glob("*_*_*.wav"))
    held_out = [int(file.stem.split("_")[2]) in HELD_OUT_TAKES for file in files]
    paths = folder / "training.tfrecord", folder / "held_out.tfrecord"
    for path, wanted in zip(paths, (False, True)):
        records = to_tfrecords.write(path, (file for file, out in zip(files, held_out) if out == wanted))
        print(f"{path.name}: {records} recordings")
    return paths


def decoded(path: pathlib.Path) -> fb.Pipeline:
    """The features and the digit of each recording; lists that are not named are not decoded."""
    features = to_tfrecords.features(RATE)
    return fb.tfrecord(path).sequence_example({"text": features["context"]["text"]},
                                              lists={"mel": features["lists"]["mel"]})


class Network(torch.nn.Module):
    """Two convolutions over time, and the mean of their output over the frames of the recording."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv1d(to_tfrecords.MEL, 64, 5, padding=2)
        self.second = torch.nn.Conv1d(64, 64, 5, padding=2)
        self.output = torch.nn.Linear(64, 10)

    def forward(self, mel: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """mel: [rows, frames, MEL]. Returns the logits, [rows, 10]."""
        mask = (torch.arange(mel.shape[1]) < lengths[:, None]).to(mel.dtype)[:, None]
        values = torch.relu(self.first(mel.transpose(1, 2))) * mask
        values = torch.relu(self.second(values)) * mask
        return self.output(values.sum(dim=2) / lengths[:, None])


def batch_of(batch: fb.Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    digits = torch.tensor([int(text) for text in batch["text"]])
    return torch.from_dlpack(batch["mel"]), torch.from_dlpack(batch.lengths["mel"]), digits


def train(path: pathlib.Path, steps: int, seed: int) -> Network:
    torch.manual_seed(seed)
    network = Network()
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    pipe = (decoded(path).shuffle(buffer=1000).buckets("mel", LENGTHS, [16], longer="bucket").shuffle_batches(20)
            .epochs(1000).seed(seed))
    loader = pipe.load(threads=1)
    losses = []
    for batch in itertools.islice(loader, steps):
        mel, lengths, digits = batch_of(batch)
        loss = torch.nn.functional.cross_entropy(network(mel, lengths), digits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if len(losses) % max(steps // 5, 1) == 0:
            print(f"  step {len(losses)}: loss {np.mean(losses[-(steps // 5):]):.3f}")
    stats = loader.stats()
    print(f"  padding: {100 * (1 - stats.frames / stats.padded_frames):.0f} % of the frames")
    return network


def main() -> None:
    options = argparse.ArgumentParser(description="A classifier of spoken digits.")
    options.add_argument("--recordings", type=pathlib.Path, default=RECORDINGS, help="folder of WAV files named digit_speaker_take.wav")
    options.add_argument("--steps", type=int, default=400, help="batches of the training")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    if not given.recordings.is_dir():
        options.error(f"there is no folder {given.recordings}; without --recordings, the example takes {RECORDINGS}")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        training, held_out = write(given.recordings, pathlib.Path(folder))
        network = train(training, given.steps, given.seed)
        right = rows = 0
        with torch.no_grad():
            for batch in decoded(held_out).batch(20, pad=True).load(threads=1):
                mel, lengths, digits = batch_of(batch)
                right += int((network(mel, lengths).argmax(dim=1) == digits).sum())
                rows += len(digits)
    print(f"held out: {right} of {rows} digits are right ({100 * right / rows:.0f} %)")


if __name__ == "__main__":
    main()
