# SPDX-License-Identifier: Apache-2.0
"""`python -m forebay VERB`: the command `forebay`."""
from __future__ import annotations

import sys

from forebay_command import main

if __name__ == "__main__":
    sys.exit(main())
