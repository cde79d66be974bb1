# SPDX-License-Identifier: Apache-2.0
"""Exceptions on their way to another process."""
from __future__ import annotations

import contextlib
import pickle
from typing import Any


def sendable(failure: BaseException) -> BaseException:
    """The exception itself if it can be pickled and loaded, else one of the nearest base class that can, with its text."""
    with contextlib.suppress(Exception):
        if type(pickle.loads(pickle.dumps(failure))) is type(failure):
            return failure
    for kind in type(failure).__mro__:
        with contextlib.suppress(Exception):
            stand_in: Any = kind(text_of(failure))
            if isinstance(stand_in, BaseException) and type(pickle.loads(pickle.dumps(stand_in))) is kind:
                return stand_in
    return RuntimeError(text_of(failure))


def text_of(failure: BaseException) -> str:
    try:
        return str(failure)
    except Exception:
        return repr(type(failure))
