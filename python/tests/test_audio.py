# SPDX-License-Identifier: Apache-2.0
"""decode_audio, log_mel and mfcc over real recordings and corrupt ones."""
from __future__ import annotations

import json
import pathlib
import struct
from typing import Any

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]
from conftest import DATA, ROOT

import forebay as fb

DIGITS = ROOT / "examples" / "digits"
GOLDEN = pathlib.Path(__file__).parent / "golden_mel.npz"


def clips(files: list[Any], **options: Any) -> list[Any]:
    pipe = fb.whole_file([str(file) for file in files]).record("x").decode_audio("x", rate_out="rate", **options)
    with pipe.batch(size=1).load(threads=2) as loader:
        return [(batch["x"][0], int(batch["rate"][0])) for batch in loader]


def wav(samples: bytes, *, size: int | None = None, channels: int = 1, bits: int = 16, fmt: bool = True,
        before: bytes = b"") -> bytes:
    align = channels * bits // 8 & 0xFFFF
    head = b"fmt " + struct.pack("<IHHIIHH", 16, 1, channels, 8000, 8000 * align & 0xFFFFFFFF, align, bits)
    data = b"data" + struct.pack("<I", len(samples) if size is None else size) + samples
    body = b"WAVE" + before + (head if fmt else b"") + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def test_all_recordings_are_those_of_soundfile() -> None:
    files = sorted(DIGITS.glob("*.wav")) + sorted(DATA.glob("librispeech/*.flac"))
    assert len(files) == 72
    for file, (found, rate) in zip(files, clips(files, mono=True)):
        expected, expected_rate = soundfile.read(file, dtype="float32")
        assert rate == expected_rate and np.array_equal(found, expected), file


@pytest.mark.parametrize("suffix, format, subtype", [("flac", "FLAC", "PCM_16"), ("wav", "WAV", "PCM_24"),
                                                     ("wav", "WAV", "FLOAT"), ("ogg", "OGG", "VORBIS"),
                                                     ("mp3", "MP3", "MPEG_LAYER_III"), ("wav", "RF64", "PCM_16")])
def test_every_format_and_range(tmp_path: pathlib.Path, suffix: str, format: str, subtype: str) -> None:
    rng = np.random.default_rng(1)
    file = tmp_path / f"a.{suffix}"
    soundfile.write(file, rng.uniform(-0.5, 0.5, (20000, 2)).astype("float32"), 16000, format=format, subtype=subtype)
    whole = clips([file])[0][0]
    expected = soundfile.read(file, dtype="float32")[0]  # by another build of the decoder libraries
    assert whole.shape == expected.shape
    assert np.abs(whole - expected).max() <= (0 if suffix in ("wav", "flac") else 1e-5)
    assert np.array_equal(clips([file], start=7001, length=500)[0][0], whole[7001:7501])
    assert np.array_equal(clips([file], start=0.5, length=0.25, unit="seconds")[0][0], whole[8000:12000])
    assert np.array_equal(clips([file], start=len(whole) - 3, length=8, pad=True)[0][0],
                          np.concatenate([whole[-3:], np.zeros((5, 2), "float32")]))
    assert np.allclose(clips([file], mono=True)[0][0], whole.mean(axis=1), atol=1e-7)


def test_a_tone_keeps_its_frequency_when_it_is_resampled(tmp_path: pathlib.Path) -> None:
    tone = np.sin(2 * np.pi * 440 * np.arange(16000) / 16000).astype("float32")
    soundfile.write(tmp_path / "a.wav", tone, 16000, subtype="FLOAT")
    found, rate = clips([tmp_path / "a.wav"], sample_rate=22050, mono=True)[0]
    expected = np.sin(2 * np.pi * 440 * np.arange(22050) / 22050)
    assert rate == 22050 and len(found) == 22050
    assert np.abs(found - expected)[500:-500].max() < 1e-4


BAD = {"data size 2^32-1": wav(b"\0\0" * 9, size=2**32 - 1), "data size 0": wav(b"\0\0" * 9, size=0),
       "no fmt": wav(b"\0\0" * 9, fmt=False), "0 channels": wav(b"\0\0" * 9, channels=0),
       "65535 channels": wav(b"\0\0" * 9, channels=65535), "0 bits": wav(b"\0\0" * 9, bits=0),
       "24 bits, cut": wav(b"\0\0" * 10, bits=24), "63 bits": wav(b"\0\0" * 9, bits=63),
       "LIST past the end": wav(b"\0\0" * 9, before=b"LIST" + struct.pack("<I", 2**31) + b"LIST"),
       "empty": b"", "text": b"hello"}


@pytest.mark.parametrize("name", BAD)
def test_a_header_that_cannot_be_is_a_fault_of_its_file(tmp_path: pathlib.Path, name: str) -> None:
    (tmp_path / "a.wav").write_bytes(wav(b"\1\0" * 9))
    (tmp_path / "b.wav").write_bytes(BAD[name])
    files = [str(tmp_path / "a.wav"), str(tmp_path / "b.wav")]
    with pytest.raises(fb.DataError, match="b.wav"):
        clips(files)
    pipe = fb.whole_file(files).record("x").decode_audio("x", mono=True).batch(size=2, pad=True)
    with fb.load({**pipe.to_dict(), "on_corrupt": "skip_row"}) as loader:
        assert [len(batch.skipped) for batch in loader] == [1]


def test_odd_chunks_are_padded_and_other_chunks_passed_over(tmp_path: pathlib.Path) -> None:
    odd = b"LIST" + struct.pack("<I", 5) + b"INFOx\0"
    (tmp_path / "a.wav").write_bytes(wav(struct.pack("<3h", 1, -2, 32767), before=odd))
    assert np.array_equal(clips([tmp_path / "a.wav"], mono=True, dtype="int16")[0][0], [1, -2, 32767])


def test_a_flac_with_a_flipped_bit_is_never_read_as_another_sound(tmp_path: pathlib.Path) -> None:
    soundfile.write(tmp_path / "a.flac", np.sin(np.arange(3000) / 9), 8000)
    good = (tmp_path / "a.flac").read_bytes()
    expected = clips([tmp_path / "a.flac"])[0]
    for at in range(len(good) // 2, len(good), 37):
        (tmp_path / "b.flac").write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1:])
        try:
            found = clips([tmp_path / "b.flac"])[0]
        except fb.DataError:
            continue
        assert np.array_equal(found[0], expected[0]), at


def test_spectrograms_are_those_of_librosa() -> None:
    golden = np.load(GOLDEN)
    for name in [key[4:] for key in golden if key.startswith("out_")]:
        options = json.loads(str(golden["options_" + name]))
        step = options.pop("step")
        pipe = fb.arrays({"x": golden["samples"][None]})
        with getattr(pipe, step)("x", **options).batch(size=1).load(threads=1) as loader:
            found = next(iter(loader))["x"][0].T
        expected = golden["out_" + name]
        assert found.shape == expected.shape, name
        assert np.abs(found - expected).max() <= 1e-4 * np.abs(expected).max(), name


def test_restart_at_every_batch_with_any_threads() -> None:
    files = [str(file) for file in sorted(DIGITS.glob("*.wav"))[:24]]
    pipe = (fb.whole_file(files).record("x").shuffle(buffer=8).decode_audio("x", mono=True)
            .log_mel("x", sample_rate=8000, n_fft=256, hop_length=80, n_mels=20).batch(size=4, pad=True))
    with pipe.load(threads=1) as loader:
        states, batches = [], []
        for batch in loader:
            batches.append(batch["x"].copy())
            states.append(loader.state_dict())
    for done, state in enumerate(states):
        with pipe.load(threads=8) as loader:
            loader.load_state_dict(state)
            rest = [batch["x"] for batch in loader]
        assert len(rest) == len(batches) - done - 1
        assert all(np.array_equal(a, b) for a, b in zip(rest, batches[done + 1:]))


def test_functions_give_what_the_steps_give(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "a.flac"
    soundfile.write(file, np.random.default_rng(6).uniform(-0.5, 0.5, (9000, 2)).astype("float32"), 16000)
    options: dict[str, Any] = {"mono": True, "sample_rate": 8000, "length": 0.4, "unit": "seconds"}
    samples, rate = fb.decode_audio(file.read_bytes(), **options)
    assert rate == 8000 and np.array_equal(samples, clips([file], **options)[0][0])
    assert fb.decode_audio(memoryview(file.read_bytes()), dtype="int16")[0].dtype == np.int16
    small = {"sample_rate": 8000, "n_fft": 256, "hop_length": 100, "n_mels": 20}
    for name, function in (("log_mel", fb.log_mel), ("mfcc", fb.mfcc)):
        pipe = fb.arrays({"x": samples[None]})
        with getattr(pipe, name)("x", **small).batch(size=1).load(threads=1) as loader:
            assert np.array_equal(function(samples, **small), next(iter(loader))["x"][0])
        assert np.array_equal(function(samples.astype("float64"), **small), function(samples, **small))
        with pytest.raises(fb.ConfigError, match="n_fft: must be even; found 3"):
            function(samples, n_fft=3)
        with pytest.raises(TypeError, match="samples: must be floats of one axis"):
            function(np.zeros((2, 9), "float32"))
    assert fb.mfcc(np.zeros(0, "float32")).shape == (0, 20)
    with pytest.raises(fb.DataError):
        fb.decode_audio(file.read_bytes()[:-20])
    with pytest.raises(fb.ConfigError, match="channels"):
        fb.decode_audio(file.read_bytes(), channels=0)
    with pytest.raises(TypeError, match="data: must be bytes"):
        fb.decode_audio(str(file))  # type: ignore[arg-type]


def test_windows_of_decoded_audio(tmp_path: pathlib.Path) -> None:
    files = []
    for number, size in enumerate((1000, 10, 2345)):
        files.append(str(tmp_path / f"{number}.wav"))
        soundfile.write(files[-1], np.random.default_rng(number).uniform(-0.5, 0.5, size).astype("float32"), 8000)
    pipe = fb.whole_file(files).record("x").decode_audio("x", mono=True)
    with pipe.chunk(size=400, step=200).batch(size=1, pad=True).load(threads=1) as loader:
        found = [batch["x"][0] for batch in loader]
    whole = [soundfile.read(file, dtype="float32")[0] for file in files]
    expected = [samples[first:first + 400] for samples in whole for first in range(0, len(samples), 200)]
    assert [len(window) for window in found] == [len(window) for window in expected]
    assert all(np.array_equal(*pair) for pair in zip(found, expected))


@pytest.fixture
def tone(tmp_path: pathlib.Path) -> pathlib.Path:
    """One second of 1,000 Hz at 16 kHz."""
    file = tmp_path / "tone.flac"
    soundfile.write(file, 0.5 * np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000).astype("float32"), 16000)
    return file


def peak(pipe: fb.Pipeline) -> int:
    return int(next(pipe.batch(1).load())["x"][0].mean(axis=0).argmax())


@pytest.mark.parametrize("step", ["log_mel", "mfcc"])
def test_spectrograms_take_the_rate_of_decode_audio_or_insist_on_one(tone: pathlib.Path, step: str) -> None:
    files = fb.whole_file(str(tone)).record("x")
    for between in (lambda pipe: pipe, lambda pipe: pipe.slice("x", "[:8000]"), lambda pipe: pipe.rename("x", to="y").rename("y", to="x")):
        kept, made = between(files.decode_audio("x", mono=True)), between(files.decode_audio("x", mono=True, sample_rate=16000))
        with pytest.raises(fb.ConfigError, match="sample_rate: 'x' keeps the sample rate of each file, and the frequencies depend on "
                                                 "it; say `sample_rate` in decode_audio"):
            getattr(kept, step)("x").batch(1).load()
        with pytest.raises(fb.ConfigError, match="sample_rate: decode_audio makes 16000 samples a second of 'x', found 22050; leave "
                                                 "it out here"):
            getattr(made, step)("x", sample_rate=22050).batch(1).load()
        if step == "log_mel":
            expected = peak(getattr(kept, step)("x", sample_rate=16000))
            assert expected == peak(getattr(made, step)("x")) == peak(getattr(made, step)("x", sample_rate=16000))


def test_the_rate_of_samples_is_in_the_schema(tone: pathlib.Path) -> None:
    pipe = fb.whole_file(str(tone)).record("x")
    assert pipe.decode_audio("x").batch(1, pad=True).load().schema["x"].logical == "samples"
    made = pipe.decode_audio("x", sample_rate=8000)
    assert made.batch(1, pad=True).load().schema["x"].logical == "samples[8000 Hz]"
    mel = pipe.decode_audio("x", mono=True, sample_rate=8000).log_mel("x").batch(1, pad=True).load()
    assert mel.schema["x"].logical == ""


def test_a_limit_of_frequency_is_one_of_the_rate_that_the_samples_have(tone: pathlib.Path) -> None:
    pipe = fb.whole_file(str(tone)).record("x")
    assert peak(pipe.decode_audio("x", mono=True, sample_rate=44100).log_mel("x", fmax=20000)) >= 0
    with pytest.raises(fb.ConfigError, match="fmax: must be above fmin, 0, and at most half the sample rate, 4000; found 5000"):
        pipe.decode_audio("x", mono=True, sample_rate=8000).log_mel("x", fmax=5000).batch(1).load()
