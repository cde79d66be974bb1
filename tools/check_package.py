#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs Forebay and uses it as a stranger does: from projects outside the tree that know the installed package only.

    tools/check_package.py build/release     (which has to be built)
"""
from __future__ import annotations

import pathlib
import shutil
import sys
import tempfile

from run_doc_blocks import build, check, check_unnamed, run

ROOT = pathlib.Path(__file__).resolve().parent.parent
PREFIX = ROOT / "build/install"
EXPECTED = "2000 rows, mean 332833.5\n"


def main() -> int:
    shutil.rmtree(PREFIX, ignore_errors=True)
    run("cmake", "--install", sys.argv[1], "--prefix", PREFIX)
    with tempfile.TemporaryDirectory(prefix="forebay-package-") as name:
        folder = pathlib.Path(name)
        project = folder / "04_cmake_project"
        shutil.copytree(ROOT / "examples/04_cmake_project", project)
        printed = run(build(project, PREFIX) / "mean_of_squares", cwd=folder)
        if printed != EXPECTED:
            raise SystemExit(f"examples/04_cmake_project printed {printed!r}, not {EXPECTED!r}")
        programs = check(ROOT / "docs/plugins.md", folder / "plugins", PREFIX)
        others = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if page.name != "plugins.md"]
        blocks = check_unnamed(others, folder / "blocks", PREFIX)
    print(f"package: installed; 04_cmake_project, {programs} programs of docs/plugins.md and {blocks} blocks of other pages built and run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
