# SPDX-License-Identifier: Apache-2.0
"""Paths as arguments."""
from __future__ import annotations

import os
from typing import Sequence, Union

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]


def paths_of(paths: Paths) -> list[str]:
    """One path or several, as a list."""
    if isinstance(paths, (str, os.PathLike)):
        return [os.fspath(paths)]
    return [os.fspath(path) for path in paths]
