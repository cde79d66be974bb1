# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments. An error names the argument."""
from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence, Union

import numpy as np

from forebay.errors import ConfigError

if TYPE_CHECKING:
    from typing_extensions import Buffer


def wrong_type(name: str, allowed: str, found: object) -> TypeError:
    shown = repr(found)
    shown = shown if len(shown) <= 80 else shown[:77] + "…"
    return TypeError(f"{name}: must be {allowed}; found {shown} ({type(found).__name__})")


def integer_of(name: str, value: Any, allowed: str = "an integer or None") -> int:
    """An integer; None is 0, which leaves the choice to the run. The run checks its range."""
    if value is None:
        return 0
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise wrong_type(name, allowed, value)
    try:
        number = operator.index(value)
    except TypeError:   # an array of several numbers
        raise wrong_type(name, allowed, value) from None
    if not -2**63 <= number < 2**63:
        raise out_of_range(name, "an integer of 64 bits", number)
    return number


def flag_of(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise wrong_type(name, "True or False", value)
    return bool(value)


def out_of_range(name: str, allowed: str, found: int) -> ConfigError:
    return ConfigError(f"{name}: must be {allowed}, found {found}", code="config", detail="invalid_argument")


def memory_of(value: Any) -> Union[int, str]:
    """A number of bytes, or text such as "1GiB"."""
    return value if isinstance(value, str) else integer_of("memory", value, 'bytes, as 1073741824 or "1GiB", or None')


def compression_of(value: Optional[str]) -> str:
    """The name of a compression. The compiled part checks it."""
    if value is None:
        return "none"
    if not isinstance(value, str):
        raise wrong_type("compression", 'a str, as "gzip", or None', value)
    return value


#: What other packages call element types.
_OTHER_NAMES = {"float": "float32", "double": "float64", "half": "float16", "int": "int64", "long": "int64", "byte": "uint8",
                "str": "string", "bytes": "string", "boolean": "bool"}


def dtype_of(name: str, dtype: Union[str, "np.dtype[Any]", type], known: Sequence[str]) -> str:
    """The name of an element type. A str is one already; the checks of the document refuse an unknown one."""
    if isinstance(dtype, str):
        if dtype in _OTHER_NAMES:
            raise ConfigError(f"{name}: there is no dtype {dtype!r}; did you mean {_OTHER_NAMES[dtype]!r}?", code="config",
                              detail="invalid_argument")
        return dtype
    if dtype in (str, bytes):
        return "string"
    if isinstance(dtype, (type, np.dtype)) and dtype is not object:
        try:
            found = np.dtype(dtype)
        except TypeError:
            found = np.dtype(object)
        if found.kind in "SU" and found.itemsize == 0:
            return "string"
        if found.name in known and found.isnative:
            return found.name
    raise wrong_type(name, f"one of {', '.join(known)}, or NumPy's or Python's type of that kind", dtype)


def names_of(name: str, names: Any) -> list[str]:
    """One name or several, as a list."""
    if isinstance(names, str):
        return [names]
    if isinstance(names, (bytes, bytearray)) or not hasattr(names, "__iter__"):
        raise wrong_type(name, "a name or a list of names", names)
    out = list(names)
    for place, each in enumerate(out):
        if not isinstance(each, str):
            raise wrong_type(f"{name}[{place}]", "a name", each)
    return out


def sizes_of(shape: Any) -> list[Any]:
    """The sizes of a shape, as a list; None is an unknown size. The checks of the document check each size."""
    if isinstance(shape, (str, bytes)) or not hasattr(shape, "__iter__"):
        raise wrong_type("shape", "a list of sizes, [] for a single number", shape)
    return [-1 if size is None else size for size in shape]


def bytes_of(name: str, value: Buffer) -> bytes:
    """The bytes of a bytes-like object."""
    if type(value) is bytes:
        return value
    try:
        return bytes(memoryview(value))
    except TypeError:
        raise wrong_type(name, "bytes, or another bytes-like object", value) from None


def records_of(records: Iterable[Buffer]) -> list[bytes]:
    """A new list of the bytes of bytes-like objects."""
    if isinstance(records, (str, bytes, bytearray, memoryview)) or not hasattr(records, "__iter__"):
        raise wrong_type("records", "a list or another iterable of bytes-like objects", records)
    return [bytes_of(f"records[{place}]", record) for place, record in enumerate(records)]


def remainder_of(remainder: Any, drop_remainder: Any) -> Any:
    """The option `remainder`, by TensorFlow's option where that is given."""
    if drop_remainder is None:
        return remainder
    if not isinstance(drop_remainder, (bool, np.bool_)):
        raise wrong_type("drop_remainder", "True or False", drop_remainder)
    if remainder not in ("keep", "drop" if drop_remainder else "keep"):
        raise ConfigError(f"drop_remainder: {bool(drop_remainder)} contradicts remainder={remainder!r}; give one of them",
                          code="config", detail="invalid_argument")
    return "drop" if drop_remainder else "keep"
