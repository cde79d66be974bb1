# SPDX-License-Identifier: Apache-2.0
"""Refuses sub-interpreters, before the compiled part of the package is loaded: its types are those of one interpreter of a process,
and an import in another one would take them from the first."""
from __future__ import annotations

from typing import Any

interpreters: Any = None
try:
    import _interpreters as interpreters  # type: ignore[import-not-found, no-redef, unused-ignore]
except ImportError:
    try:   # before Python 3.13
        import _xxsubinterpreters as interpreters  # type: ignore[import-not-found, no-redef, unused-ignore]
    except ImportError:
        pass


def _is_main() -> bool:
    return interpreters is None or bool(interpreters.get_current() == interpreters.get_main())


if not _is_main():
    raise ImportError("forebay works in the main interpreter of a process only, and this is a sub-interpreter; import it in the main one, "
                      "or in a process of its own (multiprocessing)")
