#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the sdist, compares it with the repository, and builds a wheel of it in an empty folder.

    tools/wheels/check_sdist.py build/release --files     compares, and builds nothing
    tools/wheels/check_sdist.py build/release             the Python module only, with the libraries of the build folder
    tools/wheels/check_sdist.py build/release --whole     everything; takes as long as a first `make build`
"""
from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from make import ROOT, WORK, run

LIMIT_SIZE = 2_000_000
KEPT = re.compile(r"(cli|cmake|include|src|python/(src|forebay))/|[^/.][^/]*$|python/[^/]*$")   # top files and the sources


def expected() -> set[str]:
    """The files of the repository that the sdist must have, and no others."""
    files = run("git", "ls-files", "--cached", "--others", "--exclude-standard").split()
    return {path for path in files if KEPT.match(path) and (ROOT / path).is_file()}


def check_files(archive: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    if archive.stat().st_size > LIMIT_SIZE:
        raise SystemExit(f"{archive.name} has {archive.stat().st_size} bytes, more than {LIMIT_SIZE}")
    with tarfile.open(archive) as files:
        files.extractall(folder)
    [source] = folder.glob("forebay-*/")
    found = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()} - {"PKG-INFO"}
    if found != expected():
        raise SystemExit(f"{archive.name} lacks {sorted(expected() - found)} and has {sorted(found - expected())} too much")
    changed = [path for path in found if (source / path).read_bytes() != (ROOT / path).read_bytes()]
    if changed:
        raise SystemExit(f"{archive.name} has other bytes in {changed}")
    return source


def build(source: pathlib.Path, folder: pathlib.Path, settings: list[str]) -> pathlib.Path:
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--wheel-dir", folder,
        *(f"--config-settings={setting}" for setting in settings), source, CMAKE_GENERATOR="Ninja")
    [wheel] = folder.glob("*.whl")
    return wheel


def main(libraries: str, *asked: str) -> int:
    WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sdist-", dir=WORK) as name:
        folder = pathlib.Path(name)
        run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, ROOT)
        [archive] = folder.glob("forebay-*.tar.gz")
        source = check_files(archive, folder / "source")
        if "--files" in asked:
            print(f"sdist: {archive.stat().st_size / 1e6:.1f} MB, the files of the repository")
            return 0
        settings = [f"build-dir={source / 'build/release'}", "cmake.define.CMAKE_CXX_FLAGS_RELEASE=-O3 -g1 -DNDEBUG"]
        if subprocess.run(["which", "ccache"], capture_output=True).returncode == 0:
            settings.append("cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache")
        if "--whole" not in asked:
            settings.append(f"cmake.define.FOREBAY_BUILT={pathlib.Path(libraries).resolve()}")
        wheel = build(source, folder / "wheel", settings)
        with zipfile.ZipFile(wheel) as files:
            files.extractall(folder / "installed")
            count = len(files.namelist())
        version = run(sys.executable, "-m", "forebay_command", "--version", PYTHONPATH=str(folder / "installed"))
        print(f"sdist: {archive.stat().st_size / 1e6:.1f} MB, builds a wheel of {count} files: {version.strip()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
