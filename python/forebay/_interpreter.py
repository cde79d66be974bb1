# SPDX-License-Identifier: Apache-2.0
"""Refuses sub-interpreters, before the compiled part of the package is loaded: its types are those of one interpreter of a process,
and an import in another one would take them from the first."""
from __future__ import annotations

import importlib


def _is_main() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):   # of Python 3.13 and later, and of earlier ones
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        return bool(interpreters.get_current() == interpreters.get_main())
    return True


if not _is_main():
    raise ImportError("forebay works in the main interpreter of a process only, and this is a sub-interpreter; import it in the main one, "
                      "or use processes (multiprocessing, subprocess)")
