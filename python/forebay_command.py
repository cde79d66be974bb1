# SPDX-License-Identifier: Apache-2.0
"""The command `forebay` of the Python package, which its console script and `python -m forebay` run.

The compiled module has the whole command in it. It is called without the package around it, whose import (and NumPy's) would take most
of the time of a short command; so this module lies beside the package, not in it. `forebay view` is a program of Python.
"""
from __future__ import annotations

import ctypes
import os
import signal
import sys
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from typing import Optional

__all__ = ["main"]


def library() -> str:
    """The path of the package's compiled module."""
    spec = PathFinder.find_spec("forebay")
    for folder in (spec and spec.submodule_search_locations) or []:
        for suffix in EXTENSION_SUFFIXES:
            if os.path.exists(path := os.path.join(folder, "_core" + suffix)):
                return path
    raise SystemExit("forebay: error: the package forebay has no compiled module for this interpreter; install it again")


def main(arguments: Optional[list[str]] = None) -> int:
    """Runs the command with these arguments (`sys.argv` without its first) and returns its exit code. The process ends after it."""
    texts = sys.argv[1:] if arguments is None else arguments
    if texts[:1] == ["view"]:
        from forebay._view.command import main as view
        return view(texts[1:])
    os.environ["FOREBAY_PYTHON"] = sys.executable or ""  # runs the verbs that are programs of Python
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the command takes it over
    encoded = [os.fsencode(text) for text in ["forebay", *texts]]
    values = (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)
    code: int = ctypes.CDLL(library()).forebay_command(len(encoded), values)
    return code


if __name__ == "__main__":
    sys.exit(main())
