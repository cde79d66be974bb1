# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""Pipelines in Python: a function for every format, a method for every decoder, step, order, window and batcher."""
from __future__ import annotations

from typing import Literal, Mapping, Optional, Sequence

from forebay._builder.batchers import Batchers
from forebay._builder.members import Members
from forebay._builder.orders import Orders
from forebay._builder.steps import Steps
from forebay._builder.windows import Windows
from forebay._arguments import dtype_of, sizes_of
from forebay._paths import Paths, paths_of
from forebay.features import DType, Feature, _DTYPES
from forebay.pipeline import StageSource, given

__all__ = ["Pipeline", "Source", "fixed_length", "lines", "tfrecord", "whole_file"]


class Pipeline(Members, Steps, Orders, Windows, Batchers):
    """Records, how they are decoded, and what happens to them: a pipeline document."""

    __slots__ = ()


class Source(StageSource):
    """Records; the methods say how they become tensors."""

    __slots__ = ()

    def example(self, features: Mapping[str, Feature]) -> Pipeline:
        """Decodes tf.train.Example messages, one tensor per feature; only features in use are read.

        features    The tensors by name, each with kind, dtype, shape and how it is stored.
        """
        options = given({"features": features})
        return Pipeline({"source": self._source, "decode": {"example": options}, "steps": []})

    def sequence_example(self, context: Mapping[str, Feature] = {}, *, lists: Mapping[str, Feature] = {}) -> Pipeline:
        """Decodes tf.train.SequenceExample messages: features of the sequence, and lists with one feature per
        step.

        context    Tensors of the whole sequence by name: kinds fixed_len, var_len, ragged and raw.
        lists      Tensors with a time axis by name: kinds fixed_len_sequence, var_len, ragged and raw.
        """
        options = given({"context": context, "lists": lists}, context={}, lists={})
        return Pipeline({"source": self._source, "decode": {"sequence_example": options}, "steps": []})

    def record(self, name: str = "record") -> Pipeline:
        """Delivers the bytes of each record as they are, as one string.

        name    Name of the tensor.
        """
        options = given({"name": name}, name="record")
        return Pipeline({"source": self._source, "decode": {"record": options}, "steps": []})

    def raw(self, dtype: DType, *, name: str = "values", shape: Sequence[int] = [-1],
            endian: Optional[Literal["little", "big"]] = None, fixed_length: Optional[int] = None,
            as_: Optional[Literal["equal", "padded", "ragged", "sparse"]] = None) -> Pipeline:
        """Takes the bytes of each record for numbers: one tensor.

        name            Name of the tensor.
        dtype           Type of the numbers.
        shape           Shape of a record; one size may be -1.
        endian          Byte order; must be given for numbers of several bytes.
        fixed_length    Cut or zero-fill every record to so many bytes.
        as_             How a size of -1 is handed over: equal (rows of a batch must agree), padded or ragged.
        """
        options = given({"name": name, "dtype": dtype_of("dtype", dtype, _DTYPES), "shape": sizes_of(shape),
                        "endian": endian, "fixed_length": fixed_length, "as": as_}, name="values", shape=[-1])
        return Pipeline({"source": self._source, "decode": {"raw": options}, "steps": []})

    def json_example(self, features: Mapping[str, Feature]) -> Pipeline:
        """Decodes tf.train.Example messages in JSON text, with the options of `example`.

        features    The tensors by name, each with kind, dtype, shape and how it is stored.
        """
        options = given({"features": features})
        return Pipeline({"source": self._source, "decode": {"json_example": options}, "steps": []})


def tfrecord(files: Paths, *, compression: Literal["none", "gzip", "zlib", "zstd", "auto"] = "auto",
             max_record_bytes: int = 1073741824, max_decompressed_bytes: int = 4294967296,
             tolerate_partial_header: bool = False, allow_trailing_zeros: bool = False) -> Source:
    """Reads the records of TFRecord files, checksums verified.

    files                      Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    compression                How whole files are compressed; auto looks at their first bytes.
    max_record_bytes           A longer record is an error, before memory is taken.
    max_decompressed_bytes     A compressed file that holds more than this is an error, once that many bytes
                               were decompressed.
    tolerate_partial_header    A file that ends inside the header of a record ends before it: for files still
                               being written.
    allow_trailing_zeros       Zero bytes after the last record, or after the end of compressed data, are
                               padding and not an error.
    """
    return Source({"tfrecord": given({"files": paths_of(files, "files"), "compression": compression,
                                     "max_record_bytes": max_record_bytes,
                                     "max_decompressed_bytes": max_decompressed_bytes,
                                     "tolerate_partial_header": tolerate_partial_header,
                                     "allow_trailing_zeros": allow_trailing_zeros}, compression="auto",
                                     max_record_bytes=1073741824, max_decompressed_bytes=4294967296,
                                     tolerate_partial_header=False, allow_trailing_zeros=False)})


def lines(files: Paths, *, compression: Literal["none", "gzip", "zlib", "zstd", "auto"] = "auto",
          skip_header_lines: int = 0, max_line_bytes: int = 16777216,
          max_decompressed_bytes: int = 4294967296) -> Source:
    """Reads the lines of text files, without their ends.

    files                     Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    compression               How whole files are compressed; auto knows gzip and zstd by their first bytes,
                              zlib must be named.
    skip_header_lines         Lines at the beginning of each file that are no records.
    max_line_bytes            A longer line is an error, before memory is taken.
    max_decompressed_bytes    A compressed file that holds more than this is an error, once that many bytes were
                              decompressed.
    """
    return Source({"lines": given({"files": paths_of(files, "files"), "compression": compression,
                                  "skip_header_lines": skip_header_lines, "max_line_bytes": max_line_bytes,
                                  "max_decompressed_bytes": max_decompressed_bytes}, compression="auto",
                                  skip_header_lines=0, max_line_bytes=16777216, max_decompressed_bytes=4294967296)})


def fixed_length(files: Paths, record_bytes: int, *, header_bytes: int = 0, footer_bytes: int = 0, hop_bytes: int = 0,
                 compression: Literal["none", "gzip", "zlib", "zstd", "auto"] = "auto", strict_tail: bool = False,
                 max_decompressed_bytes: int = 4294967296) -> Source:
    """Reads records of one length.

    files                     Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    record_bytes              Bytes of a record.
    header_bytes              Bytes at the beginning of each file that belong to no record. A shorter file is an
                              error.
    footer_bytes              Bytes at the end of each file that belong to no record.
    hop_bytes                 Bytes from the beginning of a record to that of the next: fewer than record_bytes
                              make records overlap, more leave bytes out. 0: record_bytes.
    compression               How whole files are compressed; auto knows gzip and zstd by their first bytes,
                              zlib must be named.
    strict_tail               A file that ends inside a record is an error; otherwise these bytes are left out.
    max_decompressed_bytes    A compressed file that holds more than this is an error, once that many bytes were
                              decompressed.
    """
    return Source({"fixed_length": given({"files": paths_of(files, "files"), "record_bytes": record_bytes,
                                         "header_bytes": header_bytes, "footer_bytes": footer_bytes,
                                         "hop_bytes": hop_bytes, "compression": compression, "strict_tail": strict_tail,
                                         "max_decompressed_bytes": max_decompressed_bytes}, header_bytes=0,
                                         footer_bytes=0, hop_bytes=0, compression="auto", strict_tail=False,
                                         max_decompressed_bytes=4294967296)})


def whole_file(files: Paths, *, max_file_bytes: int = 1073741824) -> Source:
    """Reads whole files: each is one record.

    files             Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    max_file_bytes    A larger file is an error, before memory is taken.
    """
    return Source({"whole_file": given({"files": paths_of(files, "files"), "max_file_bytes": max_file_bytes},
                                       max_file_bytes=1073741824)})
