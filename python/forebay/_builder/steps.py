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

    def decode(self: P, column: str, as_: Mapping[str, Any], *, keep: bool = False) -> P:
        """Decodes the strings of a column with a decoder; the decoder's tensors take their place.

        column    The strings, one a row.
        as_       The decoder and its options: {decoder: options}.
        keep      Keep the strings beside the tensors.
        """
        return self._then("decode", {"column": column, "as": as_, "keep": keep}, keep=False)

    def decode_image(self: P, tensor: str, *, out: Optional[str] = None, channels: int = 3,
                     frames: Literal["first", "all"] = "first",
                     region: Mapping[str, Any] = {'central': None, 'random_resized': None},
                     resize: Optional[Sequence[int]] = None, size: Optional[Sequence[int]] = None,
                     method: Literal["antialias_bilinear", "antialias_bicubic", "bilinear", "area", "nearest"] = "antialias_bilinear",
                     flip: Literal["none", "random"] = "none", dtype: DType = "uint8",
                     scale: Literal["none", "unit"] = "none", normalize: Optional[Mapping[str, Any]] = None,
                     layout: Literal["hwc", "chw"] = "hwc", orientation: bool = True, decoder_scale: bool = True,
                     dct: Literal["accurate", "fast"] = "accurate", max_image_pixels: int = 178956970,
                     max_frames: int = 10000) -> P:
        """Decodes images (JPEG, PNG, GIF, BMP, WebP) to pixels: orientation, region, resize and flip in one
        step.

        tensor              Scalar strings: the bytes of an image file each.
        out                 Name of the pixels; null: they replace the tensor.
        channels            1: luminance; 3: red, green and blue; 4: and alpha; 0: as each image is stored.
        frames              Of GIF and WebP animations; all: an axis of frames comes first.
        region              The part that is decoded; left out: the whole image.
        resize              [height, width]; null: the size of the region.
        size                [height, width] that every image has; another one is a corrupt row. Makes the shape
                            a fixed one.
        method              How `resize` makes pixels.
        flip                random: every other row, by a draw, is mirrored left to right.
        dtype               uint8, uint16 or float32; the latter two keep the 16 bits of a PNG that has them.
        scale               none: values as stored, 0 to 255 or 65535; unit: floats from 0 to 1.
        normalize           Subtracts a mean and divides by a deviation, after `scale`.
        layout              hwc: height, width, channels; chw: channels first.
        orientation         Whether to turn images as their EXIF data says.
        decoder_scale       Whether to decode JPEGs at 1/2, 1/4 or 1/8 of the size where `resize` makes the
                            region that much smaller.
        dct                 Of JPEGs; fast: a few levels less exact, as TensorFlow decodes them.
        max_image_pixels    An image of more pixels is a corrupt row.
        max_frames          An image of more frames is a corrupt row.
        """
        return self._then("decode_image", {"tensor": tensor, "out": out, "channels": channels, "frames": frames,
                                          "region": region, "resize": resize, "size": size, "method": method,
                                          "flip": flip, "dtype": dtype_of("dtype", dtype, _DTYPES), "scale": scale,
                                          "normalize": normalize, "layout": layout, "orientation": orientation,
                                          "decoder_scale": decoder_scale, "dct": dct,
                                          "max_image_pixels": max_image_pixels, "max_frames": max_frames}, channels=3,
                                          frames="first", region={'central': None, 'random_resized': None},
                                          method="antialias_bilinear", flip="none", dtype="uint8", scale="none",
                                          layout="hwc", orientation=True, decoder_scale=True, dct="accurate",
                                          max_image_pixels=178956970, max_frames=10000)

    def color_jitter(self: P, tensor: str, *, brightness: float = 0.0, contrast: float = 0.0, saturation: float = 0.0,
                     hue: float = 0.0, max: float = 255.0, layout: Literal["hwc", "chw"] = "hwc") -> P:
        """Changes brightness, contrast, saturation and hue of images by random amounts.

        tensor        Images of 1 or 3 channels, uint8 or float32; they are replaced.
        brightness    Values times a factor from 1 - brightness to 1 + brightness.
        contrast      Distances from the image's mean luminance, times such a factor.
        saturation    Distances from the pixel's luminance, times such a factor.
        hue           Turns colors around the circle by a share from -hue to hue; at most 0.5.
        max           The value of white, to which floats are limited; of uint8 always 255.
        layout        hwc: height, width, channels; chw: channels first.
        """
        return self._then("color_jitter", {"tensor": tensor, "brightness": brightness, "contrast": contrast,
                                          "saturation": saturation, "hue": hue, "max": max, "layout": layout},
                                          brightness=0.0, contrast=0.0, saturation=0.0, hue=0.0, max=255.0,
                                          layout="hwc")

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
