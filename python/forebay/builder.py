# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""Pipelines in Python: a function for every format, a method for every decoder, step, order, window and batcher."""
from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence

from forebay._builder.batchers import Batchers
from forebay._builder.members import Members
from forebay._builder.orders import Orders
from forebay._builder.steps import Steps
from forebay._builder.windows import Windows
from forebay._arguments import dtype_of, sizes_of
from forebay._paths import Paths, paths_by_name, paths_of
from forebay.features import DType, Feature, _DTYPES
from forebay.pipeline import StageSource, given

__all__ = ["Pipeline", "Source", "cifar", "csv", "fixed_length", "idx", "lines", "npy", "npz", "tar", "tfrecord",
           "whole_file"]


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

    def npy(self, dtype: DType, shape: Sequence[int], *, name: str = "values") -> Pipeline:
        """Decodes npy files of numpy, such as members of archives: one tensor.

        name     Name of the tensor.
        dtype    Type of the numbers; every array must have it.
        shape    Shape of every array; the first size may be -1, then the tensor is ragged.
        """
        options = given({"name": name, "dtype": dtype_of("dtype", dtype, _DTYPES), "shape": sizes_of(shape)},
                        name="values")
        return Pipeline({"source": self._source, "decode": {"npy": options}, "steps": []})

    def json(self, fields: Mapping[str, Mapping[str, Any]]) -> Pipeline:
        """Decodes JSON objects, such as the lines of a JSON lines file: one tensor for each field.

        fields    The tensors by name, each with dtype, shape, path and default.
        """
        options = given({"fields": fields})
        return Pipeline({"source": self._source, "decode": {"json": options}, "steps": []})

    def json_example(self, features: Mapping[str, Feature]) -> Pipeline:
        """Decodes tf.train.Example messages in JSON text, with the options of `example`.

        features    The tensors by name, each with kind, dtype, shape and how it is stored.
        """
        options = given({"features": features})
        return Pipeline({"source": self._source, "decode": {"json_example": options}, "steps": []})

    def tar(self, columns: Mapping[str, str], *, allow_missing: bool = False, key: str = "__key__") -> Pipeline:
        """Splits a record of the source tar into the bytes of its members, by their extensions.

        columns          The extension of each tensor, such as "jpg" or "seg.png"; "jpg;png" takes the first one
                         that is there.
        allow_missing    A record without the extension has the empty string; otherwise that is an error.
        key              Name of the tensor that has the key of the record.
        """
        options = given({"columns": columns, "allow_missing": allow_missing, "key": key}, allow_missing=False,
                        key="__key__")
        return Pipeline({"source": self._source, "decode": {"tar": options}, "steps": []})

    def csv(self, columns: Mapping[str, Mapping[str, Any]], *, field_delim: Optional[str] = None,
            use_quote_delim: Optional[bool] = None, na_value: Optional[str] = None,
            select_cols: Optional[Sequence[int]] = None, names: Optional[Sequence[str]] = None,
            max_field_bytes: Optional[int] = None) -> Pipeline:
        """Decodes comma-separated values, one scalar tensor for each column.

        columns            The tensors by name, each with dtype, default and timestamp. Without names and
                           select_cols, they are all fields of a record, in this order.
        field_delim        One character between fields; comma when left out. Given by the source `csv`.
        use_quote_delim    Fields may be in quotes; true when left out. Given by the source `csv`.
        na_value           A field of this text is an empty one. Given by the source `csv`.
        select_cols        Numbers of the fields of the columns, from 0, rising. Fields after the last one are
                           not looked at. Given by the source `csv`.
        names              Names of all fields of a record; the columns are found by them. Given by the source
                           `csv`.
        max_field_bytes    A longer field is an error; 16 MiB when left out. Given by the source `csv`.
        """
        options = given({"columns": columns, "field_delim": field_delim, "use_quote_delim": use_quote_delim,
                        "na_value": na_value, "select_cols": select_cols, "names": names,
                        "max_field_bytes": max_field_bytes})
        return Pipeline({"source": self._source, "decode": {"csv": options}, "steps": []})


def tfrecord(files: Paths, *, compression: Literal["none", "gzip", "zlib", "zstd", "bzip2", "xz", "auto"] = "auto",
             max_record_bytes: int = 1073741824, max_decompressed_bytes: int = 4294967296,
             tolerate_partial_header: bool = False, allow_trailing_zeros: bool = False, record_key: str = "") -> Source:
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
    record_key                 A tensor of this name has the key of each row's record, such as "path:offset";
                               empty: none.
    """
    return Source({"tfrecord": given({"files": paths_of(files, "files"), "compression": compression,
                                     "max_record_bytes": max_record_bytes,
                                     "max_decompressed_bytes": max_decompressed_bytes,
                                     "tolerate_partial_header": tolerate_partial_header,
                                     "allow_trailing_zeros": allow_trailing_zeros, "record_key": record_key},
                                     compression="auto", max_record_bytes=1073741824, max_decompressed_bytes=4294967296,
                                     tolerate_partial_header=False, allow_trailing_zeros=False, record_key="")})


def lines(files: Paths, *, compression: Literal["none", "gzip", "zlib", "zstd", "bzip2", "xz", "auto"] = "auto",
          skip_header_lines: int = 0, max_line_bytes: int = 16777216, max_decompressed_bytes: int = 4294967296,
          verify_first: bool = False, record_key: str = "") -> Source:
    """Reads the lines of text files, without their ends.

    files                     Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    compression               How whole files are compressed; auto knows all but zlib by their first bytes; zlib
                              must be named.
    skip_header_lines         Lines at the beginning of each file that are no records.
    max_line_bytes            A longer line is an error, before memory is taken.
    max_decompressed_bytes    A compressed file that holds more than this is an error, once that many bytes were
                              decompressed.
    verify_first              Compares the checksums of a compressed file before its first record is delivered,
                              in the first pass of a run.
    record_key                A tensor of this name has the key of each row's record, such as "path:offset";
                              empty: none.
    """
    return Source({"lines": given({"files": paths_of(files, "files"), "compression": compression,
                                  "skip_header_lines": skip_header_lines, "max_line_bytes": max_line_bytes,
                                  "max_decompressed_bytes": max_decompressed_bytes, "verify_first": verify_first,
                                  "record_key": record_key}, compression="auto", skip_header_lines=0,
                                  max_line_bytes=16777216, max_decompressed_bytes=4294967296, verify_first=False,
                                  record_key="")})


def csv(files: Paths, *, compression: Literal["none", "gzip", "zlib", "zstd", "bzip2", "xz", "auto"] = "auto",
        field_delim: str = ",", use_quote_delim: bool = True, skip_header_lines: int = 0, header: bool = False,
        names: Optional[Sequence[str]] = None, select_cols: Optional[Sequence[int]] = None, na_value: str = "",
        skip_blank_lines: bool = False, max_field_bytes: int = 16777216, max_record_bytes: int = 67108864,
        max_decompressed_bytes: int = 4294967296, verify_first: bool = False, record_key: str = "") -> Source:
    """Reads the records of files of comma-separated values.

    files                     Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    compression               How whole files are compressed; auto looks at their first bytes; zlib must be
                              named.
    field_delim               One character between fields.
    use_quote_delim           A field may be in quotes, and delimiters and line ends in it are text. False: a
                              quote is text.
    skip_header_lines         Lines at the beginning of each file that are left out, before a header row.
    header                    The first record of each file has the names of the fields; those of all files must
                              be equal.
    names                     Names of all fields of a record, where no header row has them.
    select_cols               Numbers of the fields of the decoder's columns, from 0, rising, where fields have
                              no names.
    na_value                  A field of this text is an empty one.
    skip_blank_lines          Leave empty lines out; otherwise they are records without fields.
    max_field_bytes           A longer field is an error.
    max_record_bytes          A longer record is an error, before memory is taken.
    max_decompressed_bytes    A compressed file that holds more than this is an error, once that many bytes were
                              decompressed.
    verify_first              Compares the checksums of a compressed file before its first record is delivered,
                              in the first pass of a run.
    record_key                A tensor of this name has the key of each row's record, such as "path:offset";
                              empty: none.
    """
    return Source({"csv": given({"files": paths_of(files, "files"), "compression": compression,
                                "field_delim": field_delim, "use_quote_delim": use_quote_delim,
                                "skip_header_lines": skip_header_lines, "header": header, "names": names,
                                "select_cols": select_cols, "na_value": na_value, "skip_blank_lines": skip_blank_lines,
                                "max_field_bytes": max_field_bytes, "max_record_bytes": max_record_bytes,
                                "max_decompressed_bytes": max_decompressed_bytes, "verify_first": verify_first,
                                "record_key": record_key}, compression="auto", field_delim=",", use_quote_delim=True,
                                skip_header_lines=0, header=False, na_value="", skip_blank_lines=False,
                                max_field_bytes=16777216, max_record_bytes=67108864, max_decompressed_bytes=4294967296,
                                verify_first=False, record_key="")})


def fixed_length(files: Paths, record_bytes: int = 0, *, preset: Literal["none", "idx", "cifar10", "cifar100"] = "none",
                 header_bytes: int = 0, footer_bytes: int = 0, hop_bytes: int = 0,
                 compression: Literal["none", "gzip", "zlib", "zstd", "bzip2", "xz", "auto"] = "auto",
                 strict_tail: bool = False, max_decompressed_bytes: int = 4294967296, verify_first: bool = False,
                 record_key: str = "") -> Source:
    """Reads records of one length.

    files                     Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    record_bytes              Bytes of a record. Must be given without a preset.
    preset                    idx (MNIST), cifar10 or cifar100: decides all sizes, and of the decoder raw the
                              shape and byte order; files that do not fit are errors.
    header_bytes              Bytes at the beginning of each file that belong to no record. A shorter file is an
                              error.
    footer_bytes              Bytes at the end of each file that belong to no record.
    hop_bytes                 Bytes from the beginning of a record to that of the next: fewer than record_bytes
                              make records overlap, more leave bytes out. 0: record_bytes.
    compression               How whole files are compressed; auto knows all but zlib by their first bytes; zlib
                              must be named.
    strict_tail               A file that ends inside a record is an error; otherwise these bytes are left out.
    max_decompressed_bytes    A compressed file that holds more than this is an error, once that many bytes were
                              decompressed.
    verify_first              Compares the checksums of a compressed file before its first record is delivered,
                              in the first pass of a run.
    record_key                A tensor of this name has the key of each row's record, such as "path:offset";
                              empty: none.
    """
    return Source({"fixed_length": given({"files": paths_of(files, "files"), "record_bytes": record_bytes,
                                         "preset": preset, "header_bytes": header_bytes, "footer_bytes": footer_bytes,
                                         "hop_bytes": hop_bytes, "compression": compression, "strict_tail": strict_tail,
                                         "max_decompressed_bytes": max_decompressed_bytes, "verify_first": verify_first,
                                         "record_key": record_key}, record_bytes=0, preset="none", header_bytes=0,
                                         footer_bytes=0, hop_bytes=0, compression="auto", strict_tail=False,
                                         max_decompressed_bytes=4294967296, verify_first=False, record_key="")})


def whole_file(files: Paths, *, max_file_bytes: int = 1073741824, label_from: Literal["nothing", "folder"] = "nothing",
               label: str = "label", classes: Sequence[str] = [], record_key: str = "") -> Source:
    """Reads whole files: each is one record.

    files             Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    max_file_bytes    A larger file is an error, before memory is taken.
    label_from        folder: a tensor has the number of each file's folder in the sorted names of all their
                      folders.
    label             Name of that tensor, int64.
    classes           The folders' names by label, also of folders without files; empty: the sorted names of all
                      folders.
    record_key        A tensor of this name has the key of each row's record, such as "path:offset"; empty:
                      none.
    """
    return Source({"whole_file": given({"files": paths_of(files, "files"), "max_file_bytes": max_file_bytes,
                                       "label_from": label_from, "label": label, "classes": classes,
                                       "record_key": record_key}, max_file_bytes=1073741824, label_from="nothing",
                                       label="label", classes=[], record_key="")})


def tar(files: Paths, *, compression: Literal["none", "gzip", "zlib", "zstd", "bzip2", "xz", "auto"] = "auto",
        max_record_bytes: int = 1073741824, max_decompressed_bytes: int = 1099511627776, verify_first: bool = False,
        record_key: str = "") -> Source:
    """Reads tar archives: a record is the run of members with one key.

    files                     Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    compression               How whole files are compressed; auto knows all but zlib by their first bytes; zlib
                              must be named.
    max_record_bytes          A longer record is an error, before memory is taken.
    max_decompressed_bytes    A compressed file that holds more than this is an error, once that many bytes were
                              decompressed.
    verify_first              Compares the checksums of a compressed file before its first record is delivered,
                              in the first pass of a run.
    record_key                A tensor of this name has the key of each row's record, such as "path:offset";
                              empty: none.
    """
    return Source({"tar": given({"files": paths_of(files, "files"), "compression": compression,
                                "max_record_bytes": max_record_bytes, "max_decompressed_bytes": max_decompressed_bytes,
                                "verify_first": verify_first, "record_key": record_key}, compression="auto",
                                max_record_bytes=1073741824, max_decompressed_bytes=1099511627776, verify_first=False,
                                record_key="")})


def npy(arrays: Mapping[str, Sequence[str]], *, max_bytes: int = 68719476736) -> Pipeline:
    """Reads npy files of numpy: rows of their first axis, ready without a decoder.

    arrays       The files of each tensor, by its name; file k of each one has the same number of rows.
    max_bytes    More bytes of content in all files together are an error.
    """
    return Pipeline({"source": {"npy": given({"arrays": paths_by_name(arrays, "arrays"), "max_bytes": max_bytes},
                                             max_bytes=68719476736)}, "steps": []})


def npz(files: Paths, *, arrays: Sequence[str] = [], max_bytes: int = 68719476736) -> Pipeline:
    """Reads npz files of numpy: each array is a tensor, read row by row.

    files        Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    arrays       The arrays to read; empty: all of the first file.
    max_bytes    More bytes of arrays in all files together are an error.
    """
    return Pipeline({"source": {"npz": given({"files": paths_of(files, "files"), "arrays": arrays,
                                             "max_bytes": max_bytes}, arrays=[], max_bytes=68719476736)}, "steps": []})


def idx(arrays: Mapping[str, Sequence[str]], *, max_bytes: int = 68719476736) -> Pipeline:
    """Reads IDX files, the format of MNIST: rows of their first axis, ready without a decoder.

    arrays       The files of each tensor, by its name; file k of each one has the same number of rows.
    max_bytes    More bytes of content in all files together are an error.
    """
    return Pipeline({"source": {"idx": given({"arrays": paths_by_name(arrays, "arrays"), "max_bytes": max_bytes},
                                             max_bytes=68719476736)}, "steps": []})


def cifar(files: Paths, *, classes: int = 10, max_bytes: int = 68719476736) -> Pipeline:
    """Reads the binary files of CIFAR-10 and CIFAR-100.

    files        Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    classes      10 or 100.
    max_bytes    More bytes of content in all files together are an error.
    """
    return Pipeline({"source": {"cifar": given({"files": paths_of(files, "files"), "classes": classes,
                                               "max_bytes": max_bytes}, classes=10,
                                               max_bytes=68719476736)}, "steps": []})
