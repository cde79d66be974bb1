# SPDX-License-Identifier: Apache-2.0
"""The item handler for images."""
from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence

import numpy as np

import forebay
from forebay.slim._values import data_fault, reshaped
from forebay.slim.handlers import ItemHandler
from forebay.values import Sparse

__all__ = ["Image"]

_FORMATS = (b"jpeg", b"jpg", b"png", b"gif", b"bmp", b"webp")
_PNG, _COLORED = b"\x89PNG\r\n\x1a\n", (b"\2", b"\3", b"\6")
_DTYPES = ("uint8", "uint16", "float32")   # of forebay.decode_image


class Image(ItemHandler):
    """An image [height, width, channels].

    image_key     the feature with its bytes
    format_key    the feature with its format. "raw" or "RAW": the bytes are numbers of `dtype`, little endian, and need
                  `shape`, or features with height and width. Anything else: the content decides, and a known format that
                  contradicts it gives a warning
    shape         the shape of the result
    channels      1, 3, 4, or 0 for those of the image
    dtype         the numbers are not scaled: a float32 image has values from 0 to 255; a PNG of 16 bits keeps them where the
                  dtype holds them
    repeated      the feature is a list of images (kind fixed_len or fixed_len_sequence): [number, height, width, channels]
    dct_method    of JPEGs: "INTEGER_FAST" (also ""), or "INTEGER_ACCURATE"
    height_key, width_key    features with the sizes of raw images
    """

    def __init__(self, image_key: Optional[str] = None, format_key: Optional[str] = None, shape: Optional[Sequence[int]] = None,
                 channels: int = 3, dtype: Any = np.uint8, repeated: bool = False, dct_method: str = "",
                 height_key: Optional[str] = None, width_key: Optional[str] = None) -> None:
        if dct_method not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
            raise ValueError(f"dct_method must be '', 'INTEGER_FAST' or 'INTEGER_ACCURATE', found {dct_method!r}")
        if (height_key is None) != (width_key is None):
            raise ValueError("height_key and width_key go together")
        self._image_key = image_key or "image/encoded"
        self._format_key = format_key or "image/format"
        self.shape, self.channels, self.dtype = shape, channels, np.dtype(dtype)
        self.repeated = repeated
        self.dct: Literal["accurate", "fast"] = "accurate" if dct_method == "INTEGER_ACCURATE" else "fast"
        self._sizes = [] if height_key is None or width_key is None else [height_key, width_key]
        super().__init__([self._image_key, self._format_key, *self._sizes])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        buffers = keys_to_tensors[self._image_key]
        form = _text(self._format_key, keys_to_tensors[self._format_key])
        shape = self.shape
        if self._sizes:
            shape = [*(int(np.asarray(keys_to_tensors[key]).reshape(-1)[0]) for key in self._sizes), self.channels or 1]
        if isinstance(buffers, Sparse):
            raise TypeError(f"feature {self._image_key!r}: an image must be a dense feature (fixed_len or fixed_len_sequence)")
        if not self.repeated:
            return self._decode(_text(self._image_key, buffers), form, shape)
        images = [self._decode(buffer, form, shape) for buffer in np.asarray(buffers).reshape(-1).tolist()]
        if len({image.shape for image in images}) != 1:
            sizes = ", ".join(str(list(image.shape)) for image in images) or "there are none"
            raise data_fault(f"{self._image_key}: repeated images must have one size, and there must be one at least; {sizes}")
        return np.stack(images)

    def _decode(self, buffer: bytes, form: bytes, shape: Optional[Sequence[int]]) -> Any:
        if form in (b"raw", b"RAW"):
            if shape is None:
                raise data_fault(f"{self._image_key}: a raw image needs `shape`, or `height_key` and `width_key`")
            return reshaped(self._image_key, forebay.decode_raw([buffer], self.dtype)[0], shape)
        image = self._decoded(buffer, form)
        return image if shape is None or self._sizes else reshaped(self._image_key, image, shape)

    def _decoded(self, buffer: bytes, form: bytes) -> Any:
        stated = form.lower()
        dtype = self.dtype.name if self.dtype.name in _DTYPES else "float32" if self.dtype.itemsize > 2 else "uint8"
        gray = self.channels == 1 and buffer.startswith(_PNG) and buffer[25:26] in _COLORED
        image = forebay.decode_image(buffer, channels=3 if gray else self.channels, dtype=dtype, orientation=False,
                                     frames="first", dct=self.dct, format=stated.decode() if stated in _FORMATS else None)
        if gray:   # the weights of libpng, in 15 bits, and no rounding
            image = (image.astype(np.int64) @ np.array([[9798], [19235], [3735]])) >> 15
        return image.astype(self.dtype, copy=False)


def _text(key: str, value: Any) -> bytes:
    array = np.asarray(value)
    if array.ndim != 0 or array.dtype != object:
        raise TypeError(f"feature {key!r}: must be one byte string, shape []; found {array.dtype} of shape {list(array.shape)}")
    return bytes(array[()])
