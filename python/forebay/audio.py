# SPDX-License-Identifier: Apache-2.0
"""Single recordings, decoded and analysed as the steps `decode_audio`, `log_mel` and `mfcc` do."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Mapping, Optional

import numpy as np

from forebay import _core
from forebay._arguments import dtype_of, wrong_type

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["decode_audio", "log_mel", "mfcc"]


def decode_audio(data: Buffer, *, mono: bool = False, channels: Optional[int] = None, sample_rate: Optional[int] = None,
                 quality: Literal["quick", "low", "medium", "high", "very_high"] = "high", start: float = 0,
                 length: Optional[float] = None, unit: Literal["samples", "seconds"] = "samples", pad: bool = False,
                 dtype: Any = "float32", max_samples: int = 2**28) -> tuple[np.ndarray, int]:
    """The samples of an audio file (WAV, FLAC, Ogg Vorbis, MP3), and their number a second.

    data: bytes, or another bytes-like object. The first bytes tell the format. The options are those of the step
    `decode_audio` (`fb.explain("decode_audio")`). Samples are [samples, channels], or [samples] with mono.
    Raises DataError when the bytes are no intact file, ConfigError when an option is wrong. Thread-safe; other threads
    run meanwhile.
    """
    try:
        file = data if type(data) is bytes else bytes(memoryview(data))
    except TypeError:
        raise wrong_type("data", "bytes, or another bytes-like object", data) from None
    options = {"mono": mono, "channels": channels, "sample_rate": sample_rate, "quality": quality, "start": start,
               "length": length, "unit": unit, "pad": pad, "dtype": dtype_of("dtype", dtype, ("float32", "int16")),
               "max_samples": max_samples}
    samples, rate = _core.decode_audio(file, options)
    return samples, rate


def log_mel(samples: Any, *, sample_rate: int = 22050, n_fft: int = 2048, hop_length: int = 512,
            win_length: Optional[int] = None, window: Literal["hann", "hamming"] = "hann", center: bool = True,
            pad_mode: Literal["constant", "reflect", "edge"] = "constant", power: float = 2, n_mels: int = 128,
            fmin: float = 0, fmax: Optional[float] = None, scale: Literal["slaney", "htk"] = "slaney",
            norm: Literal["slaney", "none"] = "slaney", log: Literal["db", "ln", "log10", "none"] = "db",
            floor: float = 1e-10, top_db: float = 80) -> np.ndarray:
    """The mel spectrogram of samples: float32 [frames, n_mels].

    samples: floats of one axis, as decode_audio(…, mono=True) makes them. The options are those of the step `log_mel`
    (`fb.explain("log_mel")`). Raises ConfigError when one is wrong. Thread-safe; other threads run meanwhile.
    """
    options = {name: value for name, value in locals().items() if name != "samples"}
    spectrum: np.ndarray = _core.log_mel(_float32(samples), options)
    return spectrum


def mfcc(samples: Any, *, n_mfcc: int = 20, lifter: float = 0, **options: Any) -> np.ndarray:
    """The mel frequency cepstral coefficients of samples: float32 [frames, n_mfcc].

    samples: as of log_mel. options: those of log_mel, and n_mfcc and lifter (`fb.explain("mfcc")`).
    """
    given: Mapping[str, Any] = {"n_mfcc": n_mfcc, "lifter": lifter, **options}
    coefficients: np.ndarray = _core.mfcc(_float32(samples), dict(given))
    return coefficients


def _float32(samples: Any) -> np.ndarray:
    array = np.asarray(samples)
    if array.dtype.kind != "f" or array.ndim != 1:
        raise wrong_type("samples", "floats of one axis; decode_audio(…, mono=True) makes them", samples)
    return np.ascontiguousarray(array, dtype=np.float32)
