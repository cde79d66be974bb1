# SPDX-License-Identifier: Apache-2.0
"""`python -m forebay view DOC`."""
from __future__ import annotations

import sys

if __name__ == "__main__":
    if sys.argv[1:2] != ["view"]:
        sys.exit("usage: python -m forebay view DOC; the command `forebay` has the other verbs")
    from forebay._view.command import main
    sys.exit(main(sys.argv[2:]))
