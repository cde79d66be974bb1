# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""A method for each step."""
from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence, Union

from forebay._arguments import dtype_of
from forebay._paths import Path, path_or_none
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

    def cast(self: P, tensor: str, dtype: DType, *, out_of_range: Literal["wrap", "error"] = "wrap") -> P:
        """Changes the element type of one tensor.

        tensor          Tensor to convert; not a string or complex one.
        dtype           Type it gets; not string or complex.
        out_of_range    wrap: a value that the type does not hold loses its high bits, as in tf.cast; error: a
                        fault of the row.
        """
        return self._then("cast", {"tensor": tensor, "dtype": dtype_of("dtype", dtype, _DTYPES),
                                  "out_of_range": out_of_range}, out_of_range="wrap")

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

    def decode_image(self: P, tensor: str, *, out: Optional[str] = None,
                     format: Optional[Literal["jpeg", "png", "gif", "bmp", "webp"]] = None, channels: int = 3,
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
        format              What the images should be: the first one of another format is told, and decoded as
                            what it is.
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
        return self._then("decode_image", {"tensor": tensor, "out": out, "format": format, "channels": channels,
                                          "frames": frames, "region": region, "resize": resize, "size": size,
                                          "method": method, "flip": flip, "dtype": dtype_of("dtype", dtype, _DTYPES),
                                          "scale": scale, "normalize": normalize, "layout": layout,
                                          "orientation": orientation, "decoder_scale": decoder_scale, "dct": dct,
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

    def log_mel(self: P, tensor: str, *, out: Optional[str] = None, sample_rate: Optional[int] = None,
                n_fft: int = 2048, hop_length: int = 512, win_length: Optional[int] = None,
                window: Literal["hann", "hamming"] = "hann", center: bool = True,
                pad_mode: Literal["constant", "reflect", "edge"] = "constant", power: float = 2.0, n_mels: int = 128,
                fmin: float = 0.0, fmax: Optional[float] = None, scale: Literal["slaney", "htk"] = "slaney",
                norm: Literal["slaney", "none"] = "slaney", log: Literal["db", "ln", "log10", "none"] = "db",
                floor: float = 1e-10, top_db: float = 80.0) -> P:
        """Makes mel spectrograms of samples.

        tensor         float32 samples of one axis.
        out            Name of the result; null: it replaces the tensor.
        sample_rate    Samples a second; null: as decode_audio made them, else 22050.
        n_fft          Samples of a frame; even.
        hop_length     Samples from frame to frame.
        win_length     Samples of the window; null: n_fft.
        window         hann or hamming.
        center         Whether frames are centred: n_fft / 2 samples of padding at both ends.
        pad_mode       Of center: constant (zeros), reflect or edge.
        power          1: magnitudes; 2: energies.
        n_mels         Number of filters.
        fmin           Lowest frequency in Hz.
        fmax           Highest frequency in Hz; null: sample_rate / 2.
        scale          slaney or htk.
        norm           slaney: every filter has the same area; none: the same height.
        log            db, ln, log10 or none.
        floor          Smaller values become it before the logarithm.
        top_db         Of db: values are at most so far below a row's largest one; 0: any.
        """
        return self._then("log_mel", {"tensor": tensor, "out": out, "sample_rate": sample_rate, "n_fft": n_fft,
                                     "hop_length": hop_length, "win_length": win_length, "window": window,
                                     "center": center, "pad_mode": pad_mode, "power": power, "n_mels": n_mels,
                                     "fmin": fmin, "fmax": fmax, "scale": scale, "norm": norm, "log": log,
                                     "floor": floor, "top_db": top_db}, n_fft=2048, hop_length=512, window="hann",
                                     center=True, pad_mode="constant", power=2.0, n_mels=128, fmin=0.0, scale="slaney",
                                     norm="slaney", log="db", floor=1e-10, top_db=80.0)

    def mfcc(self: P, tensor: str, *, out: Optional[str] = None, sample_rate: Optional[int] = None, n_fft: int = 2048,
             hop_length: int = 512, win_length: Optional[int] = None, window: Literal["hann", "hamming"] = "hann",
             center: bool = True, pad_mode: Literal["constant", "reflect", "edge"] = "constant", power: float = 2.0,
             n_mels: int = 128, fmin: float = 0.0, fmax: Optional[float] = None,
             scale: Literal["slaney", "htk"] = "slaney", norm: Literal["slaney", "none"] = "slaney",
             log: Literal["db", "ln", "log10", "none"] = "db", floor: float = 1e-10, top_db: float = 80.0,
             n_mfcc: int = 20, lifter: float = 0.0) -> P:
        """Makes mel frequency cepstral coefficients of samples.

        tensor         float32 samples of one axis.
        out            Name of the result; null: it replaces the tensor.
        sample_rate    Samples a second; null: as decode_audio made them, else 22050.
        n_fft          Samples of a frame; even.
        hop_length     Samples from frame to frame.
        win_length     Samples of the window; null: n_fft.
        window         hann or hamming.
        center         Whether frames are centred: n_fft / 2 samples of padding at both ends.
        pad_mode       Of center: constant (zeros), reflect or edge.
        power          1: magnitudes; 2: energies.
        n_mels         Number of filters.
        fmin           Lowest frequency in Hz.
        fmax           Highest frequency in Hz; null: sample_rate / 2.
        scale          slaney or htk.
        norm           slaney: every filter has the same area; none: the same height.
        log            db, ln, log10 or none.
        floor          Smaller values become it before the logarithm.
        top_db         Of db: values are at most so far below a row's largest one; 0: any.
        n_mfcc         Coefficients of a frame, at most n_mels.
        lifter         Above 0: coefficient k times 1 + lifter / 2 * sin(pi * (k + 1) / lifter).
        """
        return self._then("mfcc", {"tensor": tensor, "out": out, "sample_rate": sample_rate, "n_fft": n_fft,
                                  "hop_length": hop_length, "win_length": win_length, "window": window,
                                  "center": center, "pad_mode": pad_mode, "power": power, "n_mels": n_mels,
                                  "fmin": fmin, "fmax": fmax, "scale": scale, "norm": norm, "log": log, "floor": floor,
                                  "top_db": top_db, "n_mfcc": n_mfcc, "lifter": lifter}, n_fft=2048, hop_length=512,
                                  window="hann", center=True, pad_mode="constant", power=2.0, n_mels=128, fmin=0.0,
                                  scale="slaney", norm="slaney", log="db", floor=1e-10, top_db=80.0, n_mfcc=20,
                                  lifter=0.0)

    def check_utf8(self: P, tensor: str, *, out: Optional[str] = None,
                   invalid: Literal["error", "replace"] = "error") -> P:
        """Checks that strings are UTF-8, or replaces what is not.

        tensor     Strings to check.
        out        Name of the checked strings; null: they replace the tensor.
        invalid    error: a fault of the row; replace: U+FFFD for each broken part.
        """
        return self._then("check_utf8", {"tensor": tensor, "out": out, "invalid": invalid}, invalid="error")

    def split_text(self: P, tensor: str, *, out: Optional[str] = None, separator: Optional[str] = None,
                   skip_empty: bool = False, max_tokens: Optional[int] = None) -> P:
        """Splits strings into tokens, at white space or at a separator.

        tensor        Strings to split, one for each row.
        out           Name of the tokens; null: they replace the tensor.
        separator     Stands between the tokens; null: white space of ASCII.
        skip_empty    Whether empty tokens between separators are left out.
        max_tokens    Tokens of a row at most; the text after them is dropped.
        """
        return self._then("split_text", {"tensor": tensor, "out": out, "separator": separator, "skip_empty": skip_empty,
                                        "max_tokens": max_tokens}, skip_empty=False)

    def lookup(self: P, tensor: str, *, out: Optional[str] = None, file: Optional[Path] = None,
               tokens: Sequence[str] = [], unknown: Literal["error", "id", "hash"] = "error", unknown_id: int = -1,
               buckets: int = 1, first_id: int = 0, dtype: DType = "int64") -> P:
        """Replaces strings by their numbers in a vocabulary.

        tensor        Strings to look up.
        out           Name of the numbers; null: they replace the tensor.
        file          File of the vocabulary: one token a line.
        tokens        The vocabulary, instead of a file.
        unknown       What other strings get: error, id or hash.
        unknown_id    Of id: the number of all other strings.
        buckets       Of hash: numbers after the vocabulary's, which other strings share.
        first_id      Number of the first token.
        dtype         int64 or int32.
        """
        return self._then("lookup", {"tensor": tensor, "out": out, "file": path_or_none(file, "file"), "tokens": tokens,
                                    "unknown": unknown, "unknown_id": unknown_id, "buckets": buckets,
                                    "first_id": first_id, "dtype": dtype_of("dtype", dtype, _DTYPES)}, tokens=[],
                                    unknown="error", unknown_id=-1, buckets=1, first_id=0, dtype="int64")

    def join_table(self: P, tensor: str, key: str, columns: Mapping[str, Mapping[str, Any]], *,
                   file: Optional[Path] = None, text: Optional[str] = None,
                   match: Literal["exact", "path", "stem"] = "exact", missing: Literal["error", "default"] = "error",
                   field_delim: str = ",") -> P:
        """Adds columns of a table, a CSV file with a header row: those of the line with the row's key.

        tensor         The keys, one string a row; of files: record_key of the source.
        file           The table: CSV with a header row, at most 64 MiB.
        text           The text of the table, instead of a file.
        key            The column of keys in the table.
        columns        The new tensors by their names in the header, each with dtype, default and timestamp.
        match          exact; path: the string, or what follows one of its slashes, is the key; stem: its name
                       without folders and ending is.
        missing        What a row gets whose key is not in the table: error or default.
        field_delim    One character between fields.
        """
        return self._then("join_table", {"tensor": tensor, "file": path_or_none(file, "file"), "text": text, "key": key,
                                        "columns": columns, "match": match, "missing": missing,
                                        "field_delim": field_delim}, match="exact", missing="error", field_delim=",")

    def byte_ids(self: P, tensor: str, *, out: Optional[str] = None, offset: int = 0, start: Optional[int] = None,
                 end: Optional[int] = None, max_bytes: Optional[int] = None, dtype: DType = "int64") -> P:
        """Turns strings into the numbers of their bytes.

        tensor       Strings, one for each row.
        out          Name of the numbers; null: they replace the tensor.
        offset       Added to each byte.
        start        A number before the first byte; null: none.
        end          A number after the last byte; null: none.
        max_bytes    Bytes of a row at most; the rest is dropped.
        dtype        int64, int32, int16 or uint8.
        """
        return self._then("byte_ids", {"tensor": tensor, "out": out, "offset": offset, "start": start, "end": end,
                                      "max_bytes": max_bytes, "dtype": dtype_of("dtype", dtype, _DTYPES)}, offset=0,
                                      dtype="int64")

    def ngrams(self: P, tensor: str, *, out: Optional[str] = None, min: int = 1, max: int = 2, separator: str = " ",
               buckets: Optional[int] = None) -> P:
        """Makes the n-grams of the bytes of a string, or of the tokens of a row.

        tensor       One string for each row: its bytes; or strings of one axis: tokens.
        out          Name of the n-grams; null: they replace the tensor.
        min          Items of the shortest n-grams.
        max          Items of the longest n-grams.
        separator    Stands between the tokens of an n-gram.
        buckets      Numbers from 0 to buckets - 1, by hash; null: the n-grams as strings.
        """
        return self._then("ngrams", {"tensor": tensor, "out": out, "min": min, "max": max, "separator": separator,
                                    "buckets": buckets}, min=1, max=2, separator=" ")
