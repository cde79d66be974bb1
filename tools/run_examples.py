#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every example as its text describes; fails if one fails.  tools/run_examples.py BUILD_FOLDER

Examples that train take 30 steps, and need an interpreter that has torch; else a line says that they were left out.
python/tests/test_training_examples.py looks for such an interpreter, and checks what they print.
"""
from __future__ import annotations

import importlib.util
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
    left_out = []
    for path in sorted((ROOT / "examples").glob("*.py")):
        trains = "\nimport torch\n" in path.read_text()
        if trains and importlib.util.find_spec("torch") is None:
            left_out.append(path.stem)
        else:
            commands.append((path.stem, [sys.executable, str(path), *(["--steps", "30"] if trains else [])]))
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
    for name in left_out:
        print(f"left out {name}: {sys.executable} has no torch; python/tests/test_training_examples.py runs it with Debian's")
    print(f"{len(commands) - failed} passed, {failed} failed, {len(left_out)} left out")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
