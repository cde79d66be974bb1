# SPDX-License-Identifier: Apache-2.0
"""Paths as arguments."""
from __future__ import annotations

import os
import re
from typing import Any, Mapping, Optional, Sequence, Union

from forebay._arguments import integer_of, wrong_type

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]
#: A folder and a size, in bytes or as "200GB".
Cache = tuple[Path, Union[int, str]]


#: A signature in the query of a presigned address, and what stands beside it.
_SIGNATURE = re.compile(r"([?&](?:x-(?:amz|goog|oss)-[\w-]+|signature|sig|token|access_token|policy|[\w]*accesskeyid|googleaccessid)=)"
                        r"[^&\s\"'\\]*", re.IGNORECASE)


def without_signatures(text: str) -> str:
    """A text that people read, with the signatures of presigned addresses left out."""
    return _SIGNATURE.sub(r"\1…", text) if "?" in text else text


def path_of(path: Path, name: str = "path") -> str:
    """A path as str; `name` is what the argument is called."""
    if isinstance(path, (str, os.PathLike)):
        text = os.fspath(path)
        if isinstance(text, str):
            return text
    raise wrong_type(name, "a str or a pathlib.Path", path)


def cache_of(cache: Any) -> tuple[str, Union[int, str]]:
    """The folder and the size of a cache; without one "" and 0."""
    if cache is None:
        return "", 0
    if not isinstance(cache, tuple) or len(cache) != 2:
        raise wrong_type("cache", '(folder, size), as ("/disk/cache", "200GB"), or None', cache)
    folder, size = cache
    return path_of(folder, "cache"), size if isinstance(size, str) else integer_of("cache", size, 'of bytes, as 200 * 10**9 or "200GB"')


def path_or_none(path: Optional[Path], name: str) -> Optional[str]:
    """The path of an option that may be left out."""
    return None if path is None else path_of(path, name)


def paths_of(paths: Paths, name: str = "paths") -> list[str]:
    """One path or several, as a list."""
    if isinstance(paths, (str, os.PathLike)):
        return [path_of(paths, name)]
    if isinstance(paths, (bytes, bytearray)) or not hasattr(paths, "__iter__"):
        raise wrong_type(name, "a str or a pathlib.Path, or a list of them", paths)
    return [path_of(path, f"{name}[{place}]") for place, path in enumerate(paths)]


def paths_by_name(paths: Mapping[str, Paths], name: str = "paths") -> dict[str, list[str]]:
    """Paths for each of several names."""
    if not hasattr(paths, "items"):
        raise wrong_type(name, "a dict of paths", paths)
    return {key: paths_of(some, f"{name}[{key!r}]") for key, some in paths.items()}
