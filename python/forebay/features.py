# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the kinds of features; do not edit.
"""Features of tf.train messages: a function for each kind, and one for all."""
from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence, Union, get_args

import numpy as np

from forebay._arguments import dtype_of, sizes_of
from forebay.pipeline import given

__all__ = ["feature", "fixed", "fixed_len_sequence", "ragged", "raw", "sparse", "var_len"]

Feature = Mapping[str, Any]

DTypeName = Literal["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                    "bfloat16", "float32", "float64", "complex64", "complex128", "string"]
#: An element type: as documents name it, or as NumPy and Python do.
DType = Union[DTypeName, "np.dtype[Any]", type]

_DTYPES: tuple[str, ...] = get_args(DTypeName)


def fixed(dtype: DType, shape: Sequence[int] = (), *, key: Optional[str] = None,
          default: Optional[Union[bool, int, float, str, bytes, Sequence[Any]]] = None,
          stored: Optional[Literal["int", "float", "bytes"]] = None,
          as_: Optional[Literal["equal", "padded", "ragged", "sparse"]] = None,
          allow_missing: bool = False) -> dict[str, Any]:
    """A feature with the same number of values in every record.

    dtype            Type of the tensor; values stored as another type are converted.
    shape            Shape of a record, or of one step of a sequence; one size may be -1.
    key              Name in the message; the tensor's name when left out.
    default          Value when missing (without: an error).
    stored           Type in the message; left out: int for integers and bool, float for floats, else bytes.
    as_              How a variable kind is handed over; left out: var_len ragged, fixed_len_sequence padded.
    allow_missing    Lists of a sequence example: take a missing list as an empty one.
    """
    return given({"dtype": dtype_of("dtype", dtype, _DTYPES), "shape": sizes_of(shape), "key": key, "default": default,
                 "stored": stored, "as": as_, "allow_missing": allow_missing}, shape=[], allow_missing=False)


def var_len(dtype: DType, *, key: Optional[str] = None, stored: Optional[Literal["int", "float", "bytes"]] = None,
            as_: Optional[Literal["equal", "padded", "ragged", "sparse"]] = None,
            allow_missing: bool = False) -> dict[str, Any]:
    """A feature with any number of values.

    dtype            Type of the tensor; values stored as another type are converted.
    key              Name in the message; the tensor's name when left out.
    stored           Type in the message; left out: int for integers and bool, float for floats, else bytes.
    as_              How a variable kind is handed over; left out: var_len ragged, fixed_len_sequence padded.
    allow_missing    Lists of a sequence example: take a missing list as an empty one.
    """
    return {"kind": "var_len", **given({"dtype": dtype_of("dtype", dtype, _DTYPES), "key": key, "stored": stored,
                                       "as": as_, "allow_missing": allow_missing}, allow_missing=False)}


def fixed_len_sequence(dtype: DType, shape: Sequence[int] = (), *, key: Optional[str] = None,
                       default: Optional[Union[bool, int, float, str, bytes, Sequence[Any]]] = None,
                       stored: Optional[Literal["int", "float", "bytes"]] = None,
                       as_: Optional[Literal["equal", "padded", "ragged", "sparse"]] = None,
                       allow_missing: bool = False) -> dict[str, Any]:
    """A feature with any number of steps of one shape.

    dtype            Type of the tensor; values stored as another type are converted.
    shape            Shape of a record, or of one step of a sequence; one size may be -1.
    key              Name in the message; the tensor's name when left out.
    default          What pads it.
    stored           Type in the message; left out: int for integers and bool, float for floats, else bytes.
    as_              How a variable kind is handed over; left out: var_len ragged, fixed_len_sequence padded.
    allow_missing    Lists of a sequence example: take a missing list as an empty one.
    """
    return {"kind": "fixed_len_sequence", **given({"dtype": dtype_of("dtype", dtype, _DTYPES), "shape": sizes_of(shape),
                                                  "key": key, "default": default, "stored": stored, "as": as_,
                                                  "allow_missing": allow_missing}, shape=[], allow_missing=False)}


def sparse(dtype: DType, *, index_key: Union[str, Sequence[str]], value_key: str, size: Union[int, Sequence[int]],
           stored: Optional[Literal["int", "float", "bytes"]] = None, already_sorted: bool = False) -> dict[str, Any]:
    """A sparse tensor: its indices and its values are stored under keys of their own.

    dtype             Type of the tensor; values stored as another type are converted.
    index_key         Key of the indices, or a list with one key per axis.
    value_key         Key of the values.
    size              Size of the dense tensor, or a list with one size per axis.
    stored            Type in the message; left out: int for integers and bool, float for floats, else bytes.
    already_sorted    Take the indices in the order in which they come.
    """
    return {"kind": "sparse", **given({"dtype": dtype_of("dtype", dtype, _DTYPES), "index_key": index_key,
                                      "value_key": value_key, "size": size, "stored": stored,
                                      "already_sorted": already_sorted}, already_sorted=False)}


def ragged(dtype: DType, *, stored: Optional[Literal["int", "float", "bytes"]] = None, value_key: Optional[str] = None,
           partitions: Optional[Sequence[tuple[str, Union[str, int]]]] = None, row_splits_dtype: Optional[DType] = None,
           validate: bool = True, allow_missing: bool = False) -> dict[str, Any]:
    """A ragged tensor: its values and its row partitions are stored under keys of their own.

    dtype               Type of the tensor; values stored as another type are converted.
    stored              Type in the message; left out: int for integers and bool, float for floats, else bytes.
    value_key           Key of the values; the tensor's name when left out.
    partitions          List of [kind, key] outermost first; kinds row_splits, row_lengths, row_starts,
                        row_limits, value_rowids, or ["uniform_row_length", length].
    row_splits_dtype    Type of the row splits, int32 or int64; int32 when left out.
    validate            Refuse partitions that do not fit the values.
    allow_missing       Lists of a sequence example: take a missing list as an empty one.
    """
    return {"kind": "ragged", **given({"dtype": dtype_of("dtype", dtype, _DTYPES), "stored": stored,
                                      "value_key": value_key, "partitions": partitions,
                                      "row_splits_dtype": row_splits_dtype and dtype_of("row_splits_dtype", row_splits_dtype, _DTYPES),
                                      "validate": validate, "allow_missing": allow_missing}, validate=True,
                                      allow_missing=False)}


def raw(dtype: DType, shape: Sequence[int] = (), *, endian: Literal["little", "big"], key: Optional[str] = None,
        as_: Optional[Literal["equal", "padded", "ragged", "sparse"]] = None, len: int = 1,
        fixed_length: Optional[int] = None, allow_missing: bool = False) -> dict[str, Any]:
    """A tensor whose numbers are stored as bytes.

    dtype            Type of the tensor; values stored as another type are converted.
    shape            Shape of a record, or of one step of a sequence; one size may be -1.
    endian           Byte order of the numbers; must be given.
    key              Name in the message; the tensor's name when left out.
    as_              How a variable kind is handed over; left out: var_len ragged, fixed_len_sequence padded.
    len              Number of byte strings; more than 1 adds a first axis.
    fixed_length     Cut or zero-fill every byte string to this length.
    allow_missing    Lists of a sequence example: take a missing list as an empty one.
    """
    return {"kind": "raw", **given({"dtype": dtype_of("dtype", dtype, _DTYPES), "shape": sizes_of(shape),
                                   "endian": endian, "key": key, "as": as_, "len": len, "fixed_length": fixed_length,
                                   "allow_missing": allow_missing}, shape=[], len=1, allow_missing=False)}


def feature(dtype: DType, shape: Sequence[int] = (), *,
            kind: Literal["fixed_len", "var_len", "fixed_len_sequence", "sparse", "ragged", "raw"] = "fixed_len",
            key: Optional[str] = None, default: Optional[Union[bool, int, float, str, bytes, Sequence[Any]]] = None,
            stored: Optional[Literal["int", "float", "bytes"]] = None,
            as_: Optional[Literal["equal", "padded", "ragged", "sparse"]] = None,
            index_key: Optional[Union[str, Sequence[str]]] = None, value_key: Optional[str] = None,
            size: Optional[Union[int, Sequence[int]]] = None, already_sorted: bool = False,
            partitions: Optional[Sequence[tuple[str, Union[str, int]]]] = None,
            row_splits_dtype: Optional[DType] = None, validate: bool = True,
            endian: Optional[Literal["little", "big"]] = None, len: int = 1, fixed_length: Optional[int] = None,
            allow_missing: bool = False) -> dict[str, Any]:
    """A feature of any kind, for `example` and `sequence_example`; `fixed`, `var_len`, … have the options of one
    kind only.

    dtype               Type of the tensor; values stored as another type are converted.
    shape               Shape of a record, or of one step of a sequence; one size may be -1.
    kind                How many values a record has, and in what shape they come out.
    key                 Name in the message; the tensor's name when left out.
    default             fixed_len: value when missing (without: an error); fixed_len_sequence: what pads it.
    stored              Type in the message; left out: int for integers and bool, float for floats, else bytes.
    as_                 How a variable kind is handed over; left out: var_len ragged, fixed_len_sequence padded.
    index_key           sparse: key of the indices, or a list with one key per axis.
    value_key           sparse, ragged: key of the values; ragged: the tensor's name when left out.
    size                sparse: size of the dense tensor, or a list with one size per axis.
    already_sorted      sparse: take the indices in the order in which they come.
    partitions          ragged: list of [kind, key] outermost first; kinds row_splits, row_lengths, row_starts,
                        row_limits, value_rowids, or ["uniform_row_length", length].
    row_splits_dtype    ragged: type of the row splits, int32 or int64; int32 when left out.
    validate            ragged: refuse partitions that do not fit the values.
    endian              raw: byte order of the numbers; must be given.
    len                 raw: number of byte strings; more than 1 adds a first axis.
    fixed_length        raw: cut or zero-fill every byte string to this length.
    allow_missing       Lists of a sequence example: take a missing list as an empty one.
    """
    return given({"dtype": dtype_of("dtype", dtype, _DTYPES), "shape": sizes_of(shape), "kind": kind, "key": key,
                 "default": default, "stored": stored, "as": as_, "index_key": index_key, "value_key": value_key,
                 "size": size, "already_sorted": already_sorted, "partitions": partitions,
                 "row_splits_dtype": row_splits_dtype and dtype_of("row_splits_dtype", row_splits_dtype, _DTYPES),
                 "validate": validate, "endian": endian, "len": len, "fixed_length": fixed_length,
                 "allow_missing": allow_missing}, shape=[], kind="fixed_len", already_sorted=False, validate=True,
                 len=1, allow_missing=False)
