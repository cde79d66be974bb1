# SPDX-License-Identifier: Apache-2.0
"""The readers of TensorFlow 1: `forebay.Reader` with the arguments in their order there."""
from __future__ import annotations

from typing import Optional

from forebay.errors import ConfigError
from forebay.reader import Reader

__all__ = ["FixedLengthRecordReader", "IdentityReader", "TFRecordReader", "TextLineReader", "WholeFileReader"]

_COMPRESSION = {None: "none", "": "none", "NONE": "none", "ZLIB": "zlib", "GZIP": "gzip"}


def TextLineReader(skip_header_lines: Optional[int] = None, name: Optional[str] = None) -> Reader:
    """Lines of text files. Keys are "path:line", from 1."""
    return Reader("lines", skip_header_lines=skip_header_lines or 0, compression="none")


def FixedLengthRecordReader(record_bytes: int, header_bytes: Optional[int] = None, footer_bytes: Optional[int] = None,
                            hop_bytes: Optional[int] = None, name: Optional[str] = None,
                            encoding: Optional[str] = None) -> Reader:
    """Records of one length. Keys are "path:record", from 0. encoding: None, "ZLIB" or "GZIP"."""
    return Reader("fixed_length", record_bytes=record_bytes, header_bytes=header_bytes or 0, footer_bytes=footer_bytes or 0,
                  hop_bytes=hop_bytes or 0, compression=_compression("encoding", encoding))


def TFRecordReader(name: Optional[str] = None, options: Optional[str] = None) -> Reader:
    """Records of TFRecord files. Keys are "path:offset". options: None, "ZLIB" or "GZIP"."""
    return Reader("tfrecord", compression=_compression("options", options))


def WholeFileReader(name: Optional[str] = None) -> Reader:
    """Whole files. The key is the path."""
    return Reader("whole_file")


def IdentityReader(name: Optional[str] = None) -> Reader:
    """Work items as they are: key and value are the item."""
    return Reader("identity")


def _compression(name: str, value: Optional[str]) -> str:
    if value is not None and not isinstance(value, str) or value not in _COMPRESSION:
        raise ConfigError(f"{name}: must be None, \"ZLIB\" or \"GZIP\", found {value!r}", code="config", detail="invalid_argument")
    return _COMPRESSION[value]
