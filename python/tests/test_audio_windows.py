# SPDX-License-Identifier: Apache-2.0
"""Recordings as sequence examples (examples/audio/to_tfrecords.py), read as chunks with context in batches by frames:
the windows reassemble to the samples of the files. FOREBAY_LONG_TESTS=1 takes all digits in place of a sample."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from conftest import DATA, ROOT

import forebay as fb

sys.path.append(str(ROOT / "examples"))
from audio import to_tfrecords  # noqa: E402

LONG = os.environ.get("FOREBAY_LONG_TESTS") == "1"
KEYS = ("samples", "mel")
LEFT, RIGHT = 3, 1
LIMIT = 250  # frames of a batch with its padding


def files_of(kind: str) -> list[pathlib.Path]:
    if kind == "spoken digits":
        return sorted((ROOT / "examples" / "digits").glob("*.wav" if LONG else "*_1.wav"))
    return sorted((DATA / "librispeech").glob("*.flac"))


def samples_of(path: pathlib.Path) -> np.ndarray:
    """The samples of a file, read without the script: a WAV file ends in the chunk `data`."""
    if path.suffix != ".wav":
        return to_tfrecords.read_audio(path)[0]
    content = path.read_bytes()
    at = content.index(b"data") + 4
    return np.frombuffer(content, "<i2", int.from_bytes(content[at:at + 4], "little") // 2, at + 4)


class Recordings:
    """A file of records, and what is in them: for each tag the samples, and the frames of each key."""

    def __init__(self, paths: list[pathlib.Path], out: pathlib.Path):
        self.out, self.rate = out, to_tfrecords.read_audio(paths[0])[1]
        self.samples, self.frames = {}, {}
        for path in paths:
            self.samples[path.stem] = samples_of(path)
            self.frames[path.stem] = dict(zip(KEYS, to_tfrecords.framed(self.samples[path.stem], self.rate)))

    def decoded(self) -> fb.Pipeline:
        features = to_tfrecords.features(self.rate)
        return fb.tfrecord(self.out).sequence_example(features["context"], lists=features["lists"])


@pytest.fixture(scope="module", params=["spoken digits", "LibriSpeech"])
def recordings(request, tmp_path_factory):
    paths = files_of(request.param)
    out = tmp_path_factory.mktemp("audio") / "audio.tfrecord"
    to_tfrecords.write(out, paths)
    return Recordings(paths, out)


def expected(frames: np.ndarray, start: int, size: int) -> np.ndarray:
    """The frames of a window with its context, and zeros before and after the recording."""
    zeros = np.zeros((LEFT + RIGHT + size, *frames.shape[1:]), frames.dtype)
    padded = np.concatenate([zeros, frames, zeros])
    return padded[start + len(zeros) - LEFT:start + len(zeros) + size + RIGHT]


def check_batch(batch: fb.Batch, recordings: Recordings, size: int, step: int, rebuilt: dict[str, Any]) -> None:
    """Compares each row with the recording, and counts how often each frame was in a window without its context."""
    width = batch["mel"].shape[1]
    assert batch.rows == 1 or width * batch.rows <= LIMIT
    for row, tag in enumerate(batch["tag"].astype(str)):
        start = int(batch["chunk"][row]) * step
        assert int(batch["start"][row]) == max(start - LEFT, 0)
        total = len(recordings.frames[tag]["mel"])
        count = min(size, total - start)
        for key in KEYS:
            assert int(batch.lengths[key][row]) == LEFT + count + RIGHT
            got = batch[key][row]
            assert np.array_equal(got[:LEFT + count + RIGHT], expected(recordings.frames[tag][key], start, count))
            assert not got[LEFT + count + RIGHT:].any()
        assert int(batch["length"][row]) == len(recordings.samples[tag])
        values, seen = rebuilt.setdefault(tag, (np.zeros((total, recordings.rate // 100), np.int16), np.zeros(total, int)))
        values[start:start + count] = batch["samples"][row, LEFT:LEFT + count]
        seen[start:start + count] += 1


@pytest.mark.parametrize("size, step, shuffled", [(64, 64, False), (64, 32, False), (7, 7, True)])
def test_the_windows_reassemble_to_the_recordings(recordings, size, step, shuffled):
    pipe = recordings.decoded()
    pipe = pipe.chunk(size, keys=KEYS, step=step, number="chunk")
    pipe = pipe.context(left=dict.fromkeys(KEYS, LEFT), right=dict.fromkeys(KEYS, RIGHT), start="start")
    if shuffled:
        pipe = pipe.shuffle(buffer=500)
    pipe = pipe.frames(batch_size=LIMIT, keys=KEYS).seed(3)
    rebuilt: dict[str, Any] = {}
    batches, state = [], None
    loader = pipe.load(threads=2)
    for batch in loader:
        check_batch(batch, recordings, size, step, rebuilt)
        batches.append(batch["start"].tolist())
        if len(batches) == 1:
            state = loader.state_dict()
    assert rebuilt.keys() == recordings.samples.keys()
    for tag, (values, seen) in rebuilt.items():
        samples = recordings.samples[tag]
        assert np.array_equal(values.reshape(-1)[:len(samples)], samples)
        starts = np.arange(0, len(seen), step)
        assert np.array_equal(seen, sum((np.arange(len(seen)) >= at) & (np.arange(len(seen)) < at + size) for at in starts))
    again = pipe.load(threads=1)
    again.load_state_dict(state)
    rest = [batch["start"].tolist() for batch in again]
    assert len(batches) > 1 and rest == batches[1:]


def test_transcripts_come_with_the_recordings(recordings):
    text = {str(tag): str(text) for batch in recordings.decoded().select(["tag", "text"]).batch(100).load()
            for tag, text in zip(batch["tag"].astype(str), batch["text"].astype(str))}
    assert text.keys() == recordings.samples.keys()
    lines = dict(line.split(" ", 1) for file in (DATA / "librispeech").glob("*.trans.txt")
                 for line in file.read_text().splitlines())
    for tag, words in text.items():
        assert words == lines.get(tag, tag.split("_")[0])


def test_the_script_writes_what_its_function_writes(tmp_path):
    paths = files_of("spoken digits")[:2]
    command = [sys.executable, ROOT / "examples" / "audio" / "to_tfrecords.py", tmp_path / "script.tfrecord", *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'script.tfrecord'}: 2 records\n"), done.stderr
    assert to_tfrecords.write(tmp_path / "function.tfrecord", paths) == 2
    assert (tmp_path / "script.tfrecord").read_bytes() == (tmp_path / "function.tfrecord").read_bytes()


def test_recordings_of_other_rates_go_to_other_files(tmp_path):
    paths = files_of("spoken digits")[:1] + files_of("LibriSpeech")[:1]
    with pytest.raises(SystemExit, match=rf"{paths[1].name} has 16000 samples a second, and the recordings before it 8000"):
        to_tfrecords.write(tmp_path / "both.tfrecord", paths)
    assert not (tmp_path / "both.tfrecord").exists()
