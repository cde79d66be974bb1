# SPDX-License-Identifier: Apache-2.0
"""Makes a TFRecord file of sequence examples from recordings: python examples/audio/to_tfrecords.py OUT AUDIO...

AUDIO is a file or a folder of files: WAV of one channel and 16 bits, and with the package soundfile also FLAC and others.
A record is a tf.train.SequenceExample. A frame is 10 ms.

    context  tag      name of the file, without its ending
             text     what is said: the line of the tag in a *.trans.txt of the folder or of the one above it (LibriSpeech),
                      else the first part of the name (free-spoken-digit-dataset: 7_theo_3 is a 7)
             rate     samples a second
             length   samples
    lists    samples  for each frame its samples: int16, little-endian, as bytes; zeros fill the last frame
             mel      for each frame 40 log-mel features of the 25 ms from its beginning; each feature has mean 0 and
                      deviation 1 over the recording
"""
from __future__ import annotations

import argparse
import contextlib
import functools
import pathlib
import wave
from typing import Any, Iterable, Iterator

import numpy as np

import forebay as fb

MEL = 40
SUFFIXES = {".wav", ".flac", ".ogg"}


def features(rate: int) -> dict[str, Any]:
    """The context and the lists of records, for the decoder `sequence_example`. All recordings of a file have one rate."""
    return {"context": {"tag": fb.fixed("string"), "text": fb.fixed("string"), "length": fb.fixed("int64")},
            "lists": {"samples": fb.raw("int16", [rate // 100], endian="little"),
                      "mel": fb.fixed_len_sequence("float32", [MEL])}}


def read_audio(path: pathlib.Path) -> tuple[np.ndarray, int]:
    """The samples of the first channel as int16 [samples], and the samples a second."""
    if path.suffix == ".wav":
        with contextlib.suppress(wave.Error), wave.open(str(path)) as file:
            if (file.getnchannels(), file.getsampwidth()) == (1, 2):
                return np.frombuffer(file.readframes(file.getnframes()), "<i2"), file.getframerate()
    try:
        import soundfile  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise SystemExit(f"{path} needs the package soundfile (pip install soundfile): without it, only WAV files of one "
                         "channel and 16 bits are read") from None
    samples, rate = soundfile.read(str(path), dtype="int16", always_2d=True)
    return samples[:, 0], rate


def mel_filters(rate: int, bins: int) -> np.ndarray:
    """[bins, MEL]: triangles that are equally wide on the mel scale."""
    top = 2595 * np.log10(1 + rate / 2 / 700)
    edges = (700 * (10 ** (np.linspace(0, top, MEL + 2) / 2595) - 1))[:, None]
    frequencies = np.linspace(0, rate / 2, bins)
    rising = (frequencies - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - frequencies) / (edges[2:] - edges[1:-1])
    return np.minimum(rising, falling).clip(min=0).T


def framed(samples: np.ndarray, rate: int) -> tuple[np.ndarray, np.ndarray]:
    """The samples of each frame, int16 [frames, rate / 100], and the features of each frame, float32 [frames, MEL]."""
    hop, width = rate // 100, rate // 40
    frames = -(-len(samples) // hop)
    padded = np.zeros(frames * hop + width, np.int16)
    padded[:len(samples)] = samples
    windows = np.lib.stride_tricks.sliding_window_view(padded, width)[:frames * hop:hop]
    power = np.abs(np.fft.rfft(windows * np.hanning(width), 512)) ** 2
    mel = np.log(power @ mel_filters(rate, power.shape[1]) + 1.0)
    mel = (mel - mel.mean(axis=0)) / (mel.std(axis=0) + 1e-3)
    return padded[:frames * hop].reshape(frames, hop), mel.astype(np.float32)


def encode(path: pathlib.Path, text: str, rates: set[int]) -> bytes:
    """The sequence example of a recording, whose rate is added to `rates`."""
    samples, rate = read_audio(path)
    rates.add(rate)
    if len(rates) > 1:
        raise SystemExit(f"{path} has {rate} samples a second, and the recordings before it {sum(rates) - rate}: write a file "
                         "of records for each")
    blocks, mel = framed(samples, rate)
    return fb.encode_sequence_example({"tag": path.stem, "text": text, "rate": rate, "length": len(samples)},
                                      {"samples": [block.astype("<i2").tobytes() for block in blocks], "mel": mel})


@functools.lru_cache
def transcripts(folder: pathlib.Path) -> dict[str, str]:
    files = sorted(folder.glob("*.trans.txt"))
    return dict(line.split(" ", 1) for file in files for line in file.read_text().splitlines())


def text_of(path: pathlib.Path) -> str:
    lines = {**transcripts(path.parent.parent), **transcripts(path.parent)}
    return lines.get(path.stem, path.stem.split("_")[0])


def write(out: pathlib.Path, recordings: Iterable[pathlib.Path]) -> int:
    """Writes the records, and returns how many there are."""
    rates: set[int] = set()
    records = [encode(path, text_of(path), rates) for path in recordings]
    fb.write_records(out, records)
    return len(records)


def recordings(places: Iterable[pathlib.Path]) -> Iterator[pathlib.Path]:
    for place in places:
        yield from sorted(path for path in place.iterdir() if path.suffix in SUFFIXES) if place.is_dir() else [place]


def main() -> None:
    options = argparse.ArgumentParser(description="Makes a TFRecord file of sequence examples from recordings.")
    options.add_argument("out", type=pathlib.Path, help="the file to write")
    options.add_argument("audio", type=pathlib.Path, nargs="+", help="recordings, or folders of recordings")
    given = options.parse_args()
    print(f"{given.out}: {write(given.out, recordings(given.audio))} records")


if __name__ == "__main__":
    main()
