# SPDX-License-Identifier: Apache-2.0
"""The item handler for images."""
from __future__ import annotations

import warnings
from typing import Any, Mapping, Optional, Sequence

import numpy as np

import forebay
from forebay.slim._values import data_fault, reshaped
from forebay.slim.handlers import ItemHandler
from forebay.values import Sparse

__all__ = ["Image"]

# What the first bytes of a file say about its format.
_MAGIC = {b"\xff\xd8\xff": "jpeg", b"\x89PNG": "png", b"GIF8": "gif", b"BM": "bmp", b"RIFF": "webp"}


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
    dct_method    "INTEGER_FAST", "INTEGER_ACCURATE" or "": accepted; JPEG is always decoded accurately
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
        self._shape, self.channels, self.dtype = shape, channels, np.dtype(dtype)
        self.repeated = repeated
        self._sizes = [] if height_key is None or width_key is None else [height_key, width_key]
        super().__init__([self._image_key, self._format_key, *self._sizes])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        buffers = keys_to_tensors[self._image_key]
        form = _text(self._format_key, keys_to_tensors[self._format_key])
        shape = self._shape
        if self._sizes:
            shape = [*(int(np.asarray(keys_to_tensors[key]).reshape(-1)[0]) for key in self._sizes), self.channels or 1]
        if isinstance(buffers, Sparse):
            raise TypeError(f"feature {self._image_key!r}: an image must be a dense feature (fixed_len or fixed_len_sequence)")
        if not self.repeated:
            return self._decode(_text(self._image_key, buffers), form, shape)
        images = [self._decode(buffer, form, shape) for buffer in np.asarray(buffers).reshape(-1)]
        if len({image.shape for image in images}) != 1:
            sizes = ", ".join(str(list(image.shape)) for image in images) or "there are none"
            raise data_fault(f"{self._image_key}: repeated images must have one size, and there must be one at least; {sizes}")
        return np.stack(images)

    def _decode(self, buffer: bytes, form: bytes, shape: Optional[Sequence[int]]) -> Any:
        if form in (b"raw", b"RAW"):
            if shape is None:
                raise data_fault(f"{self._image_key}: a raw image needs `shape`, or `height_key` and `width_key`")
            return reshaped(self._image_key, forebay.decode_raw([buffer], self.dtype)[0], shape)
        self._compare(buffer, form)
        image = self._decoded(buffer)
        return image if shape is None or self._sizes else reshaped(self._image_key, image, shape)

    def _decoded(self, buffer: bytes) -> Any:
        image = forebay.decode_image(buffer, channels=self.channels)
        return image.astype(self.dtype, copy=False)

    def _compare(self, buffer: bytes, form: bytes) -> None:
        content = next((name for magic, name in _MAGIC.items() if buffer.startswith(magic)), None)
        stated = form.decode("latin-1").lower().replace("jpg", "jpeg")
        if content is not None and stated in _MAGIC.values() and stated != content:
            warnings.warn(f"feature {self._format_key!r} says {stated}, and the image is {content}", stacklevel=4)


def _text(key: str, value: Any) -> bytes:
    array = np.asarray(value)
    if array.ndim != 0 or array.dtype != object:
        raise TypeError(f"feature {key!r}: must be one byte string, shape []; found {array.dtype} of shape {list(array.shape)}")
    text: bytes = array[()]
    return text
