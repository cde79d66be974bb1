#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes include/forebay/plugins.h, which includes the options of every plug-in of src/plugins.def.

    tools/make_plugins_header.py [--check]     --check fails when the file is not what it would write
"""
from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "include/forebay/plugins.h"


def text() -> str:
    plugins = re.findall(r"^PLUGIN\((\w+), (\w+)\)", (ROOT / "src/plugins.def").read_text(), re.M)
    names = sorted(f"{kind}/{name}.h" for kind, name in plugins)
    missing = [name for name in names if not (ROOT / "include/forebay" / name).is_file()]
    if missing:
        raise SystemExit(f"src/plugins.def names plug-ins without include/forebay/{missing[0]}")
    return ("// SPDX-License-Identifier: Apache-2.0\n#pragma once\n\n"
            "/// The options of every plug-in. Written by tools/make_plugins_header.py from src/plugins.def.\n"
            + "".join(f"#include <forebay/{name}>\n" for name in names))


def main() -> int:
    if "--check" not in sys.argv[1:]:
        HEADER.write_text(text())
    elif not HEADER.is_file() or HEADER.read_text() != text():
        print("include/forebay/plugins.h is not what src/plugins.def says; run tools/make_plugins_header.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
