# SPDX-License-Identifier: Apache-2.0
"""Single images, decoded as the step `decode_image` does."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, Mapping, Optional, Sequence

import numpy as np

from forebay import _core
from forebay._arguments import dtype_of, integer_of, wrong_type

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["decode_image"]

_DTYPES = ("uint8", "uint16", "float32")
_SAME = {"jpg": "jpeg"}


def decode_image(data: Buffer, *, channels: Optional[int] = None, dtype: Any = None,
                 frames: Optional[Literal["first", "all"]] = None, region: Optional[Mapping[str, Any]] = None,
                 resize: Optional[Sequence[int]] = None, size: Optional[Sequence[int]] = None, method: Optional[str] = None,
                 flip: Optional[Literal["none", "random"]] = None, scale: Optional[Literal["none", "unit"]] = None,
                 normalize: Optional[Mapping[str, Any]] = None, layout: Optional[Literal["hwc", "chw"]] = None,
                 orientation: Optional[bool] = None, decoder_scale: Optional[bool] = None,
                 dct: Optional[Literal["accurate", "fast"]] = None,
                 max_image_pixels: Optional[int] = None, max_frames: Optional[int] = None, format: Optional[str] = None,
                 seed: int = 0) -> np.ndarray:
    """The pixels of an image file (JPEG, PNG, GIF, BMP, WebP): height, width, channels, as uint8.

    data: bytes, or another bytes-like object. The first bytes tell the format. The options are those of the step
    `decode_image` (`fb.explain("decode_image")`); None takes the step's default.
    format: what the image should be ("png", "jpeg", …). Warns when the bytes are of another format, and decodes them.
    seed: of a random region or flip.
    Raises DataError when the bytes are no intact image, ConfigError when an option is wrong. Thread-safe; other threads
    run meanwhile.
    """
    file = _file(data)
    if format is not None:
        _check_format(file, format)
    options = {"channels": channels, "dtype": None if dtype is None else dtype_of("dtype", dtype, _DTYPES), "frames": frames,
               "region": region, "resize": resize, "size": size, "method": method, "flip": flip, "scale": scale, "normalize": normalize,
               "layout": layout, "orientation": orientation, "decoder_scale": decoder_scale, "dct": dct,
               "max_image_pixels": max_image_pixels, "max_frames": max_frames}
    given = {name: value for name, value in options.items() if value is not None}
    pixels: np.ndarray = _core.decode_image(file, given, integer_of("seed", seed) % 2**64)
    return pixels


def _file(data: Buffer) -> bytes:
    if type(data) is bytes:
        return data
    try:
        return bytes(memoryview(data))
    except TypeError:
        raise wrong_type("data", "bytes, or another bytes-like object", data) from None


def _check_format(file: bytes, format: str) -> None:
    if not isinstance(format, str):
        raise wrong_type("format", "the name of a format, as \"png\", or None", format)
    wanted = _SAME.get(format.lower(), format.lower())
    found = _core.image_format(file)
    if wanted != found:
        warnings.warn(f"decode_image: format is {format!r}, but the bytes are {found}; they are decoded as {found}",
                      stacklevel=3)
