# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""A method for each step."""
from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence, Union

from forebay._arguments import dtype_of
from forebay.features import DType, _DTYPES
from forebay.pipeline import P, PipelineBase


class Steps(PipelineBase):
    """A method for each step."""

    __slots__ = ()

    def slice(self: P, tensor: str, slice: str) -> P:
        """Cuts a rectangular piece out of one tensor; the piece replaces it.

        tensor    Tensor to cut.
        slice     Python-style, without the batch axis: [3,:,4:,:-2,1:4].
        """
        return self._then("slice", {"tensor": tensor, "slice": slice})

    def constant(self: P, tensor: str, shape: Union[Sequence[int], str], dtype: Union[DType, str], *,
                 value: Optional[Union[bool, int, float, str]] = None) -> P:
        """Makes a tensor whose elements are all the same.

        tensor    Name of the new tensor, which no other one has.
        shape     Shape of a row, [2, 3], or the name of a tensor whose rows' shapes it takes.
        dtype     Element type, or the name of a tensor whose type it takes.
        value     The element; null: 0, false or "".
        """
        return self._then("constant", {"tensor": tensor, "shape": shape, "dtype": dtype_of("dtype", dtype, _DTYPES),
                                      "value": value})

    def ones(self: P, tensor: str, shape: Union[Sequence[int], str], dtype: Union[DType, str]) -> P:
        """Makes a tensor whose elements are all 1.

        tensor    Name of the new tensor, which no other one has.
        shape     Shape of a row, [2, 3], or the name of a tensor whose rows' shapes it takes.
        dtype     Element type, or the name of a tensor whose type it takes; not string or complex.
        """
        return self._then("ones", {"tensor": tensor, "shape": shape, "dtype": dtype_of("dtype", dtype, _DTYPES)})

    def normalize(self: P, tensor: str, axis: int) -> P:
        """Shifts and scales one tensor along an axis to mean 0 and deviation 1.

        tensor    Tensor to normalize; integers become float32.
        axis      Axis the statistics are taken along, without the batch axis; -1 is the last.
        """
        return self._then("normalize", {"tensor": tensor, "axis": axis})

    def one_hot(self: P, tensor: str, depth: int, *, dtype: DType = "float32") -> P:
        """Turns each index into a vector that is 1 at that place and 0 elsewhere.

        tensor    Tensor of indices, int32 or int64.
        depth     Length of the vectors: a new last axis; an index outside gives zeros.
        dtype     Type of the result, an integer or float.
        """
        return self._then("one_hot", {"tensor": tensor, "depth": depth, "dtype": dtype_of("dtype", dtype, _DTYPES)},
                                     dtype="float32")

    def reshape(self: P, tensor: str, shape: Sequence[int]) -> P:
        """Gives one tensor another shape with as many elements, in the same order.

        tensor    Tensor to reshape.
        shape     New shape, without the batch axis; every dim is positive.
        """
        return self._then("reshape", {"tensor": tensor, "shape": shape})

    def cast(self: P, tensor: str, dtype: DType) -> P:
        """Changes the element type of one tensor.

        tensor    Tensor to convert; not a string or complex one.
        dtype     Type it gets; not string or complex.
        """
        return self._then("cast", {"tensor": tensor, "dtype": dtype_of("dtype", dtype, _DTYPES)})

    def select(self: P, tensors: Sequence[str]) -> P:
        """Keeps some tensors and forgets the others.

        tensors    Tensors to keep, in the order they are to have.
        """
        return self._then("select", {"tensors": tensors})

    def rename(self: P, from_: str, to: str) -> P:
        """Gives one tensor another name.

        from_   Tensor to rename.
        to      Its new name, which no other tensor has.
        """
        return self._then("rename", {"from": from_, "to": to})

    def decode_image(self: P, tensor: str, *, out: Optional[str] = None, channels: int = 3,
                     region: Mapping[str, Any] = {'central': None, 'random_resized': None},
                     resize: Optional[Sequence[int]] = None, flip: Literal["none", "random"] = "none",
                     dtype: DType = "uint8", layout: Literal["hwc", "chw"] = "hwc", orientation: bool = True,
                     scale: bool = True, max_image_pixels: int = 134217728) -> P:
        """Decodes images (JPEG) to pixels: orientation, region, scale, resize and flip in one step.

        tensor              Scalar strings: the bytes of an image file each.
        out                 Name of the pixels; null: they replace the tensor.
        channels            1: luminance; 3: red, green and blue.
        region              The part that is decoded; left out: the whole image.
        resize              [height, width], bilinear with antialias; null: the size of the region.
        flip                random: every other row, by a draw, is mirrored left to right.
        dtype               uint8 or float32; pixels are 0 to 255 in both.
        layout              hwc: height, width, channels; chw: channels first.
        orientation         Whether to turn images as their EXIF data says.
        scale               Whether to decode at 1/2, 1/4 or 1/8 of the size where `resize` makes the region
                            that much smaller.
        max_image_pixels    An image of more pixels is a corrupt row.
        """
        return self._then("decode_image", {"tensor": tensor, "out": out, "channels": channels, "region": region,
                                          "resize": resize, "flip": flip, "dtype": dtype_of("dtype", dtype, _DTYPES),
                                          "layout": layout, "orientation": orientation, "scale": scale,
                                          "max_image_pixels": max_image_pixels}, channels=3,
                                          region={'central': None, 'random_resized': None}, flip="none", dtype="uint8",
                                          layout="hwc", orientation=True, scale=True, max_image_pixels=134217728)

    def decode_audio(self: P, tensor: str, *, out: Optional[str] = None, mono: bool = False,
                     channels: Optional[int] = None, sample_rate: Optional[int] = None,
                     quality: Literal["quick", "low", "medium", "high", "very_high"] = "high", start: float = 0.0,
                     length: Optional[float] = None, unit: Literal["samples", "seconds"] = "samples", pad: bool = False,
                     dtype: DType = "float32", rate_out: Optional[str] = None, max_samples: int = 268435456) -> P:
        """Decodes audio files (WAV, FLAC, Ogg Vorbis, MP3) to samples: range, channels and rate.

        tensor         Scalar strings: the bytes of an audio file each.
        out            Name of the samples; null: they replace the tensor.
        mono           Whether a sample is the mean of the channels; rows are then [samples].
        channels       Channels of every row, a file of one channel is repeated; null: those of the file.
        sample_rate    Samples a second; null: the rate of the file.
        quality        Of the resampling: quick, low, medium, high or very_high.
        start          Where the range of a file that is decoded begins, in `unit`.
        length         Length of the range, in `unit`; null: to the end of the file.
        unit           samples: of the file, before resampling; or seconds.
        pad            Whether zeros follow where a file ends before `length`.
        dtype          float32: -1 to 1; or int16.
        rate_out       Name of an int32 tensor with the sample rate of each row.
        max_samples    A clip of more samples, over all channels, is a corrupt row.
        """
        return self._then("decode_audio", {"tensor": tensor, "out": out, "mono": mono, "channels": channels,
                                          "sample_rate": sample_rate, "quality": quality, "start": start,
                                          "length": length, "unit": unit, "pad": pad,
                                          "dtype": dtype_of("dtype", dtype, _DTYPES), "rate_out": rate_out,
                                          "max_samples": max_samples}, mono=False, quality="high", start=0.0,
                                          unit="samples", pad=False, dtype="float32", max_samples=268435456)
