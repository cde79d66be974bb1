# SPDX-License-Identifier: Apache-2.0
"""Lines for people: on standard error, or to the logger "forebay" where the program has set it up. The core calls these functions.

The logger takes a line when it has a level or a handler of its own, or is disabled: so `logging.getLogger("forebay").setLevel("ERROR")`
turns all lines off."""
from __future__ import annotations

import sys

__all__ = ["inform", "warn"]


def inform(line: str) -> None:
    _tell(line, "INFO")


def warn(line: str) -> None:
    _tell(line, "WARNING")


def _tell(line: str, level: str) -> None:
    logging = sys.modules.get("logging")
    if logging is not None:
        logger = logging.getLogger("forebay")
        if logger.level != logging.NOTSET or logger.handlers or logger.disabled:
            logger.log(getattr(logging, level), "%s", line)
            return
    if sys.stderr is not None:
        sys.stderr.write(f"forebay: {line}\n")   # at once: other processes write there, too
