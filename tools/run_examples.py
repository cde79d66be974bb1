#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every example as its text describes; fails if one fails.  tools/run_examples.py BUILD_FOLDER"""
from __future__ import annotations

import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main() -> int:
    build = pathlib.Path(sys.argv[1]).resolve()
    commands: list[tuple[str, list[str]]] = [
        ("taxi job", [str(build / "forebay"), "run", "examples/taxi/loader.json"]),
        ("pipeline document", [str(build / "forebay"), "run", "examples/02_pipeline_document.json"])]
    commands += [(p.stem, [sys.executable, str(p)]) for p in sorted((ROOT / "examples").glob("*.py"))]
    commands += [(p.name, [str(p)]) for p in sorted((build / "examples").glob("*")) if p.is_file() and p.stat().st_mode & 0o100]
    failed = 0
    for name, command in commands:
        start = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
        ok = done.returncode == 0 and done.stdout.strip() != ""
        print(f"{'ok    ' if ok else 'FAILED'} {name} ({time.monotonic() - start:.1f} s)")
        if not ok:
            failed += 1
            print(f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    print(f"{len(commands) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
