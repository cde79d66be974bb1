# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of the package `tokenizers` as functions for `map`."""
from __future__ import annotations

import hashlib
import os
import pathlib
from typing import Any, Callable, Literal, Optional, Union

import numpy as np

from forebay._arguments import integer_of, wrong_type
from forebay.errors import ConfigError, DataError, IoError
from forebay.values import Ragged

__all__ = ["Tokenizer", "tokenizer"]

_MAX_BYTES = 1 << 30


class Tokenizer:
    """A function for `map` that turns the strings of a batch into numbers of tokens. Made by `tokenizer`; thread-safe.

    path       The file.
    digest     SHA-256 of its bytes, in hexadecimal.
    """

    def __init__(self, path: pathlib.Path, digest: str, encoder: Any, tensor: str, out: str, dtype: str,
                 special_tokens: bool, pad: Optional[int], invalid: str) -> None:
        self.path, self.digest, self.tensor, self.out = path, digest, tensor, out
        self._encoder, self._dtype, self._special_tokens = encoder, dtype, special_tokens
        self._pad, self._invalid = pad, invalid
        self.__name__ = f"tokenizer({path.name})"

    def __call__(self, batch: Any) -> dict[str, Any]:
        values = batch[self.tensor] if self.tensor in batch else None
        if not isinstance(values, np.ndarray) or values.dtype != object or values.ndim != 1:
            raise wrong_type(self.tensor, "a tensor with one string for each row", values)
        valid = getattr(batch, "valid_rows", len(values))
        texts = [self._text(row, values[row]) for row in range(valid)]
        found = _of_package(lambda: self._encoder.encode_batch(texts, add_special_tokens=self._special_tokens) if texts else [],
                            self._refused)
        ids = [each.ids for each in found]
        splits = np.zeros(len(values) + 1, np.int64)
        splits[1:valid + 1] = np.cumsum([len(each) for each in ids])
        splits[valid + 1:] = splits[valid]
        flat = np.fromiter((number for each in ids for number in each), self._dtype, int(splits[-1]))
        tokens = Ragged(flat, splits)
        return {**batch, self.out: tokens if self._pad is None else tokens.to_padded(self._pad)}

    def _refused(self, error: BaseException) -> DataError:
        return DataError(f"{self.tensor}: {str(self.path)!r} cannot encode the texts of a batch: {error}", code="data",
                         detail="invalid_argument")

    def _text(self, row: int, value: Union[bytes, str]) -> str:
        if isinstance(value, str):
            return value
        try:
            return value.decode("utf-8", "strict" if self._invalid == "error" else "replace")
        except UnicodeDecodeError as fault:
            raise DataError(f"{self.tensor}, row {row}: byte {fault.start} of the string, 0x{value[fault.start]:02x}, is no UTF-8; "
                            f'invalid="replace" takes U+FFFD instead', code="data", detail="data_loss") from None


def tokenizer(path: Union[str, "os.PathLike[str]"], tensor: str, *, out: Optional[str] = None,
              special_tokens: bool = True, max_length: Optional[int] = None, pad: Optional[int] = None,
              dtype: Literal["int64", "int32"] = "int64", invalid: Literal["error", "replace"] = "error",
              digest: Optional[str] = None) -> Tokenizer:
    """A function for `map` that applies a `tokenizer.json` (BPE, WordPiece, Unigram, …) to the strings of each batch.

        pipe = fb.lines("a.txt").record("text").batch(64).map(fb.text.tokenizer("tokenizer.json", "text"), workers=2)

    tensor           One string for each row.
    out              Name of the numbers. None: they replace the strings.
    special_tokens   Whether the tokens are added that the file puts around a text.
    max_length       Tokens of a row at most, the special ones among them. None: what the file says.
    pad              The number after the end of shorter rows: an array [rows, longest]. None: a Ragged.
    dtype            "int64" or "int32".
    invalid          Of bytes that are no UTF-8. "error": a DataError. "replace": U+FFFD.
    digest           The SHA-256 of the file that a run was begun with: another file is a ConfigError.

    Needs the package `tokenizers`. Raises IoError when the file cannot be read, ConfigError when it is no tokenizer or an
    option is wrong. Padding that the file asks for is left out.
    """
    try:
        import tokenizers  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise ImportError("fb.text.tokenizer needs the package tokenizers: pip install tokenizers") from None
    for name, value, allowed in (("tensor", tensor, (str,)), ("out", out, (str, type(None))),
                                 ("digest", digest, (str, type(None)))):
        if not isinstance(value, allowed):
            raise wrong_type(name, "a str" if len(allowed) == 1 else "a str or None", value)
    for name, value, choices in (("dtype", dtype, ("int64", "int32")), ("invalid", invalid, ("error", "replace"))):
        if value not in choices:
            raise _wrong(f"{name}: must be {' or '.join(map(repr, choices))}, found {value!r}")
    file = pathlib.Path(path)
    content = _content(file)
    found = hashlib.sha256(content).hexdigest()
    if digest is not None and digest.lower() != found:
        raise _wrong(f"digest: {str(file)!r} has the digest {found}, not {digest}; it is another tokenizer")
    encoder = _encoder(tokenizers, content, file)
    if max_length is not None:
        encoder.enable_truncation(_at_least("max_length", max_length, _least(encoder, special_tokens)))
    return Tokenizer(file, found, encoder, tensor, tensor if out is None else out, dtype, bool(special_tokens),
                     None if pad is None else _at_least("pad", pad, -2**31), invalid)


def _content(file: pathlib.Path) -> bytes:
    try:
        # Of a pipe the opening would wait, and a device has no end.
        if file.exists() and not file.is_file():
            raise IoError(f"{str(file)!r} cannot be read: it is not a regular file", code="io", detail="invalid_argument")
        with file.open("rb") as opened:
            content = opened.read(_MAX_BYTES + 1)
    except OSError as error:
        if isinstance(error, IoError):
            raise
        detail = "not_found" if isinstance(error, FileNotFoundError) else "permission_denied" if isinstance(error, PermissionError) else "none"
        raise IoError(f"{str(file)!r} cannot be read: {error.strerror}", code="io", detail=detail) from None
    if len(content) > _MAX_BYTES:
        raise _wrong(f"{str(file)!r} has more than {_MAX_BYTES} bytes, the most that a tokenizer.json may have")
    return content


def _encoder(tokenizers: Any, content: bytes, file: pathlib.Path) -> Any:
    encoder = _of_package(lambda: tokenizers.Tokenizer.from_buffer(content),
                          lambda error: _wrong(f"{str(file)!r} is no tokenizer.json: {error}"))
    encoder.no_padding()
    return encoder


def _of_package(call: Callable[[], Any], refused: Callable[[BaseException], Exception]) -> Any:
    """What `call` returns; `refused` makes the error of a fault. The package raises plain exceptions, and for faults of its own one that is no Exception."""
    try:
        return call()
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
            raise
        raise refused(error) from None


def _least(encoder: Any, special_tokens: bool) -> int:
    return int(encoder.num_special_tokens_to_add(False)) if special_tokens else 1


def _at_least(name: str, value: Any, least: int) -> int:
    number = integer_of(name, value)
    if not least <= number < 2**31:
        raise _wrong(f"{name}: must be an integer from {least} to {2**31 - 1}, found {number}")
    return number


def _wrong(message: str) -> ConfigError:
    return ConfigError(message, code="config", detail="invalid_argument")
