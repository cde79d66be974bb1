# SPDX-License-Identifier: Apache-2.0
"""Decoders as functions: records in, arrays out."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence, Union, get_args

import numpy as np

from forebay import _core
from forebay._arguments import bytes_of, dtype_of, integer_of, memory_of, records_of, wrong_type
from forebay.errors import ConfigError
from forebay.features import DType, DTypeName

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["decode", "decode_csv", "decode_json_example", "decode_raw"]


def decode(kind: str, options: Optional[Mapping[str, Any]], records: Iterable[Buffer], *,
           memory: Union[int, str, None] = None) -> dict[str, Any]:
    """The tensors of some records, by name: what a batch of these records would hold.

    kind: a decoder, "example". options: its options, as a document has them. records: bytes-like objects.
    memory: bytes that the tensors may take, or text like "1GiB" (None: a quarter of the machine's memory).
    A tensor that varies comes as its options say; "as": "ragged" keeps the true sizes.
    Raises ConfigError for wrong options, DataError with the number of the first record that cannot be decoded.
    """
    return function(kind, options, memory)(records_of(records))


def function(kind: str, options: Optional[Mapping[str, Any]], memory: Union[int, str, None] = None) -> _core.DecodeFunction:
    """A decoder that was bound to its options. The last ones are kept."""
    if not isinstance(kind, str):
        raise wrong_type("kind", 'the name of a decoder, as "example"', kind)
    if options is not None and not isinstance(options, Mapping):
        raise wrong_type("options", "a dict of the decoder's options", options)
    limit = memory_of(memory)
    try:
        import json
        return _function(kind, json.dumps(options or {}), limit)
    except TypeError:   # values that are no JSON: a path, an array of NumPy
        return _core.decode_function(kind, dict(options or {}), limit)


@functools.lru_cache(maxsize=64)
def _function(kind: str, options: str, memory: Union[int, str]) -> _core.DecodeFunction:
    import json
    return _core.decode_function(kind, json.loads(options), memory)


def decode_raw(values: Any, dtype: DType, little_endian: bool = True, fixed_length: Optional[int] = None) -> Any:
    """Bytes as numbers: an array with the shape of `values` and one more axis.

    values          bytes, or an array or nested lists of them; all must be of equal size
    dtype           any but string; bfloat16 is that of the package ml_dtypes, or without it uint16
    little_endian   the byte order of the numbers
    fixed_length    every string is first cut to so many bytes, or filled up with zeros
    Raises DataError when sizes differ or are no multiple of the element's.
    """
    options: dict[str, Any] = {"dtype": dtype_of("dtype", dtype, get_args(DTypeName)),
                               "endian": "little" if little_endian else "big"}
    if fixed_length is not None:
        options["fixed_length"] = integer_of("fixed_length", fixed_length, "an integer or None")
    shape, records = _flat(values)
    decoded = function("raw", options)(records)["values"]
    return decoded.reshape((*shape, *decoded.shape[1:]))


def decode_csv(records: Any, record_defaults: Sequence[Any], field_delim: str = ",", use_quote_delim: bool = True,
               na_value: str = "", select_cols: Optional[Sequence[int]] = None) -> list[Any]:
    """Fields of comma-separated values: an array with the shape of `records` for each column, as TensorFlow's decode_csv.

        price, count, name = fb.decode_csv([b"1.5,,tea"], [0.0, 0, np.array([], "S")])

    records           bytes, or an array or nested lists of them: a record each
    record_defaults   one for each column: the value of an empty field, alone or in a list, whose type is the column's (a Python
                      float is float32, an int is int32); an empty array makes a column of its dtype in which a field
                      must not be empty
    field_delim       one character
    use_quote_delim   False: a quote is text
    na_value          a field of this text is an empty one
    select_cols       numbers of the fields of the columns, rising; None: all fields
    Raises DataError with record and field, ConfigError for options that cannot be.
    """
    columns = {f"column {place}": _csv_column(place, value) for place, value in enumerate(record_defaults)}
    options = {"columns": columns, "field_delim": field_delim, "use_quote_delim": use_quote_delim, "na_value": na_value}
    if select_cols is not None:
        options["select_cols"] = [integer_of("select_cols", place, "integers") for place in select_cols]
    shape, flat = _flat(records)
    decoded = function("csv", options)(flat)
    return [decoded[name].reshape(shape) for name in columns]


def _csv_column(place: int, default: Any) -> dict[str, Any]:
    values = np.asarray(default)
    if values.ndim > 1 or values.size > 1:
        raise ConfigError(f"record_defaults[{place}]: must be one value or an empty array, found an array of shape {values.shape}",
                          code="config", detail="invalid_argument")
    dtype = "string" if values.dtype.kind in "SUO" else values.dtype.name
    if not isinstance(default, (np.ndarray, np.generic)):   # numbers of Python have the types that TensorFlow gives them
        dtype = {"float64": "float32", "int64": "int32"}.get(dtype, dtype)
    if values.size == 0:
        return {"dtype": dtype}
    value = values.reshape(-1)[0]
    return {"dtype": dtype, "default": value.decode() if isinstance(value, bytes) else getattr(value, "item", lambda: value)()}


def _flat(values: Any) -> tuple[tuple[int, ...], list[bytes]]:
    """The shape of a nest of bytes, and the bytes in row-major order."""
    if isinstance(values, (bytes, bytearray, memoryview)):
        return (), [bytes(values)]
    if isinstance(values, str):
        raise wrong_type("values", "bytes, or an array or lists of them", values)
    array = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    return array.shape, [bytes_of(f"values[{place}]", value) for place, value in enumerate(array.reshape(-1).tolist())]


def decode_json_example(text: Union[str, Buffer]) -> bytes:
    """The serialized tf.train.Example that is written as JSON text, by protobuf's rules for JSON.

        fb.decode_json_example('{"features": {"feature": {"age": {"int64List": {"value": ["29"]}}}}}')

    Bytes are base64, integers numbers or text, floats numbers or text with "NaN", "Infinity" and "-Infinity". Raises DataError
    with line, column and feature for text that is not JSON, an unknown or repeated name, and a value that does not fit.
    """
    return _core.decode_json_example(text.encode() if isinstance(text, str) else bytes_of("text", text))
