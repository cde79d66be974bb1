# SPDX-License-Identifier: Apache-2.0
"""Makes golden_mel.npz, the spectrograms that test_audio.py compares with. Needs librosa; the tests do not."""
from __future__ import annotations

import json
import pathlib

import librosa
import numpy as np

CASES = {"defaults": {"step": "log_mel"},
         "whisper": {"step": "log_mel", "sample_rate": 16000, "n_fft": 400, "hop_length": 160, "n_mels": 80},
         "htk": {"step": "log_mel", "scale": "htk", "norm": "none", "power": 1.0, "n_mels": 40, "fmin": 60.0,
                 "fmax": 7600.0, "pad_mode": "reflect", "win_length": 1024, "hop_length": 300, "window": "hamming"},
         "edges": {"step": "log_mel", "center": False, "n_fft": 512, "hop_length": 400, "n_mels": 32, "log": "none"},
         "mfcc": {"step": "mfcc"}, "mfcc13": {"step": "mfcc", "n_mfcc": 13, "lifter": 22.0, "n_mels": 40}}


def expected(samples: np.ndarray, step: str, scale: str = "slaney", norm: str = "slaney", log: str = "db",
             n_mfcc: int = 20, lifter: float = 0, sample_rate: int = 22050, **rest: object) -> np.ndarray:
    mel = librosa.feature.melspectrogram(y=samples, sr=sample_rate, htk=scale == "htk",
                                         norm=None if norm == "none" else norm, **rest)
    db = mel if log == "none" else librosa.power_to_db(mel)
    return db if step == "log_mel" else librosa.feature.mfcc(S=db, n_mfcc=n_mfcc, lifter=lifter)


def main() -> None:
    rng = np.random.default_rng(3)
    time = np.arange(6000) / 22050
    samples = (0.4 * np.sin(2 * np.pi * (300 + 4000 * time) * time) + 0.05 * rng.standard_normal(6000)).astype("float32")
    arrays = {"samples": samples}
    for name, options in CASES.items():
        arrays["options_" + name] = np.array(json.dumps(options))
        arrays["out_" + name] = expected(samples, **options).astype("float32")
    np.savez_compressed(pathlib.Path(__file__).parent / "golden_mel.npz", **arrays)


main()
