# SPDX-License-Identifier: Apache-2.0
"""Makes a virtual environment import the package from a build tree: link_into.py VENV BUILD/python.

Run it with the environment's interpreter. Nothing is copied, so a rebuild is all that a change needs.
"""
from __future__ import annotations

import pathlib
import sys
import sysconfig


def main(venv: str, package: str) -> int:
    environment, folder = pathlib.Path(venv).resolve(), pathlib.Path(package).resolve()
    if pathlib.Path(sys.prefix).resolve() != environment:
        print(f"run this with {venv}/bin/python, not with {sys.executable}", file=sys.stderr)
        return 2
    if not list(folder.glob("forebay/_core*")):
        print(f"{package}/forebay has no _core module: build it first", file=sys.stderr)
        return 2
    link = pathlib.Path(sysconfig.get_path("purelib")) / "forebay.pth"
    text = f"{folder}\n"
    if not link.exists() or link.read_text() != text:
        link.write_text(text)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
