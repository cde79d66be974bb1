# SPDX-License-Identifier: Apache-2.0
"""The exceptions. All are `Error`; the class depends on the cause: document, data, files, state."""
from __future__ import annotations

import os
from typing import Optional, Sequence

__all__ = ["Error", "ConfigError", "DataError", "IoError", "StateError", "Cancelled", "EndOfData"]


class Error(Exception):
    """A failure of Forebay. Its text has the place, the value found and the allowed values.

    code     "config", "data", "io", "state", "cancelled", "end" (of EndOfData) or "internal"
    detail   finer cause: "none", "invalid_argument", "data_loss", "resource_exhausted", "not_found",
             "permission_denied" or "failed_precondition"
    file, record, offset, feature      place in the data; None where unknown
    pointer, line, column              place in the document; None where unknown. Of a text file that is data: the line
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
    """Data is corrupt, or not what the document says."""


class IoError(Error, OSError):
    """A file cannot be found, opened, read or written. `filename` is the file; `errno` and `strerror` are set where the cause
    is known, and FileNotFoundError, PermissionError or IsADirectoryError then catches it, too."""


class StateError(Error):
    """Called at a time, or with a saved state, that does not fit."""


class Cancelled(Error):
    """The loader or the queue was closed."""


class EndOfData(Error):
    """A queue is closed and has fewer elements than were asked for: the normal end of a loop over its elements."""


_CLASSES = {"config": ConfigError, "data": DataError, "io": IoError, "state": StateError, "cancelled": Cancelled,
            "end": EndOfData}
#: Exit codes of the command, by the code of an error; 1: a fault of this program.
EXIT_CODES = {"config": 2, "state": 2, "data": 3, "io": 4, "cancelled": 130}


def exit_code(problem: BaseException) -> int:
    """The command's exit code for an Error, or an OSError."""
    return EXIT_CODES.get(getattr(problem, "code", "io"), 1)


_FOLDER = 21
# Errors of the system for each detail. The end of the message decides between them.
_ERRNOS = {"not_found": (2, 20), "permission_denied": (13, 1, 30), "resource_exhausted": (12, 28, 122, 24, 23),
           "invalid_argument": (36, 40), "none": (5,)}
# An IoError that the usual `except` clauses for files catch, too. To people it is an IoError.
_BY_ERRNO = {number: type("IoError", (IoError, usual), {"__module__": __name__, "__doc__": IoError.__doc__})
             for number, usual in ((2, FileNotFoundError), (20, NotADirectoryError), (13, PermissionError), (1, PermissionError),
                                   (_FOLDER, IsADirectoryError))}


def make(code: str, detail: str, message: str, file: Optional[str], record: Optional[int], offset: Optional[int],
         feature: Optional[str], pointer: Optional[str], line: Optional[int], column: Optional[int],
         faults: list[Error]) -> Error:
    """The exception for an error of the compiled part."""
    kind = _CLASSES.get(code, Error)
    path = _path(message, file) if kind is IoError else None
    number = _errno(detail, message, path) if kind is IoError else None
    error: Error = _BY_ERRNO.get(number or 0, kind)(
        message, code=code, detail=detail, file=file, record=record, offset=offset, feature=feature, pointer=pointer,
        line=line, column=column, faults=faults)
    if isinstance(error, OSError):
        error.errno = number
        error.strerror = os.strerror(number) if number else message
        error.filename = path
    return error


def _path(message: str, file: Optional[str]) -> Optional[str]:
    """The file that could not be opened; `file` may be the document that names it."""
    import re
    found = re.search(r"cannot \w+(?: \w+)* '(.*)': ", message, re.DOTALL)
    return found[1] if found else file


def _errno(detail: str, message: str, path: Optional[str]) -> Optional[int]:
    for number in _ERRNOS.get(detail, ()):
        if message.endswith(os.strerror(number)):
            return number
    if detail == "invalid_argument" and path is not None and os.path.isdir(path):
        return _FOLDER
    return {"not_found": 2, "permission_denied": 13}.get(detail)
