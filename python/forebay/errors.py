# SPDX-License-Identifier: Apache-2.0
"""The exceptions. All are `Error`; who has to act decides the class."""
from __future__ import annotations

from typing import Optional, Sequence

__all__ = ["Error", "ConfigError", "DataError", "IoError", "StateError", "Cancelled"]


class Error(Exception):
    """A failure of Forebay. Its text says what was found, what is allowed, and where.

    code     "config", "data", "io", "state", "cancelled" or "internal"
    detail   finer cause: "none", "invalid_argument", "data_loss", "resource_exhausted", "not_found",
             "permission_denied" or "failed_precondition"
    file, record, offset, feature      place in the data; None where unknown
    pointer, line, column              place in the document; None where unknown
    faults   every single fault when this stands for several, else empty
    """

    def __init__(self, message: str = "", *, code: str = "internal", detail: str = "none", file: Optional[str] = None,
                 record: Optional[int] = None, offset: Optional[int] = None, feature: Optional[str] = None,
                 pointer: Optional[str] = None, line: Optional[int] = None, column: Optional[int] = None,
                 faults: Sequence["Error"] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.detail = detail
        self.file = file
        self.record = record
        self.offset = offset
        self.feature = feature
        self.pointer = pointer
        self.line = line
        self.column = column
        self.faults = list(faults)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        return make, (self.code, self.detail, self.message, self.file, self.record, self.offset, self.feature,
                      self.pointer, self.line, self.column, self.faults)


class ConfigError(Error, ValueError):
    """A document or an argument is wrong; raised before any record is read, with all faults."""


class DataError(Error):
    """Data is damaged, or not what the document says."""


class IoError(Error, OSError):
    """A file cannot be found, opened or read. `errno` is set where the cause is known."""


class StateError(Error):
    """Called at a time, or with a saved state, that does not fit."""


class Cancelled(Error):
    """The loader was closed."""


_CLASSES = {"config": ConfigError, "data": DataError, "io": IoError, "state": StateError, "cancelled": Cancelled}
_ERRNO = {"not_found": 2, "permission_denied": 13, "resource_exhausted": 12}


def make(code: str, detail: str, message: str, file: Optional[str], record: Optional[int], offset: Optional[int],
         feature: Optional[str], pointer: Optional[str], line: Optional[int], column: Optional[int],
         faults: list[Error]) -> Error:
    """The exception for an error of the compiled part."""
    error = _CLASSES.get(code, Error)(message, code=code, detail=detail, file=file, record=record, offset=offset,
                                      feature=feature, pointer=pointer, line=line, column=column, faults=faults)
    if isinstance(error, OSError):
        error.errno = _ERRNO.get(detail)
    return error
