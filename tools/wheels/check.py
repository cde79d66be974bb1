#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs each wheel in an empty environment and uses it there (tools/wheels/installed.py).

    tools/wheels/check.py [VERSION…]        of the interpreter; all that this machine has, from 3.9 to 3.13. dist/ must have the wheels
    tools/wheels/check.py --old-processor [VERSION…]   a run on an emulated processor without SSE4 and AVX (qemu-user)

Where `unshare` may make a mount namespace, the environment has a root folder of its own: the interpreter, the environment, and the
libraries that these need of the system. There is no compiler, no shell and no Debian library in it.
"""
from __future__ import annotations

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from make import DIST, ROOT, WORK, interpreter, run, tag

VERSIONS = ["3.9", "3.10", "3.11", "3.12", "3.13"]
LIMIT_SIZE = 10_000_000
OLD = "core2duo"   # SSE3, nothing later but SSSE3


def wheels_for(version: str) -> list[pathlib.Path]:
    """The wheel; no path where `make.py` found no interpreter to make it with."""
    return list(DIST.glob(f"forebay-*-{tag(version)}-manylinux*.whl"))


def wheel_for(version: str) -> pathlib.Path:
    found = wheels_for(version)
    if len(found) != 1:
        raise SystemExit(f"dist/ has {len(found)} wheels for Python {version}: `make wheels`")
    if found[0].stat().st_size > LIMIT_SIZE:
        raise SystemExit(f"{found[0].name} has {found[0].stat().st_size} bytes, more than {LIMIT_SIZE}")
    return found[0]


def environment(version: str, python: pathlib.Path) -> pathlib.Path:
    """An environment that has the wheel, and what pip installs with it."""
    folder = WORK / f"empty-{version}"
    if not (folder / "bin/python").exists():
        run(python, "-m", "venv", "--clear", folder)
    pip = [folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:"]
    run(*pip, wheel_for(version), "cloudpickle")   # for a function of the README that goes to processes
    run(*pip, "--force-reinstall", "--no-deps", wheel_for(version))   # which may be a new one of the same version
    return folder


def libraries(files: list[pathlib.Path]) -> set[pathlib.Path]:
    """The libraries that the loader finds for these files."""
    done = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True)
    return {pathlib.Path(path) for path in re.findall(r"(?:=> |^\t)(/\S+) \(", done.stdout, re.M)}


def own_root(root: pathlib.Path, python: pathlib.Path, empty: pathlib.Path) -> list[tuple[pathlib.Path, pathlib.Path]]:
    """Fills the folder with what the interpreter needs of the system; what else is to be mounted there, and where."""
    asks = "import sys, sysconfig; print(sys._base_executable, sysconfig.get_path('stdlib'))"
    base, stdlib = map(pathlib.Path, run(python, "-c", asks).split())
    numpy = list(empty.glob("lib/python*/site-packages/numpy*/**/*.so*"))
    needed = libraries([base, *stdlib.glob("lib-dynload/*.so"), *numpy])
    for path in {base, base.resolve(), *needed}:
        if empty not in path.parents and not (root / path.relative_to("/")).exists():
            (root / path.parent.relative_to("/")).mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, root / path.relative_to("/"))
    (root / "tmp").mkdir()
    return [(path, root / path.relative_to("/")) for path in (stdlib, empty, pathlib.Path("/proc"), pathlib.Path("/dev"))]


def delivered(command: list[object]) -> str:
    """What a run delivers, with its digests."""
    return run(*command, "run", ROOT / "examples/taxi/loader.json", "--digest", "--json", "--batches", 20)


def copy_repository(folder: pathlib.Path) -> None:
    """What tools/wheels/installed.py uses of this repository, and what a run must deliver."""
    for path in ("README.md", "tools/run_pages.py", "tools/wheels/installed.py", "tests/pages/prepare.py"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "expected.json").write_text(delivered([ROOT / "build/release/forebay"]))


def namespace() -> list[str] | None:
    """The command that makes a mount namespace, if this process may have one."""
    words = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    allowed = shutil.which("unshare") and subprocess.run([*words, "true"], capture_output=True).returncode == 0
    return words if allowed else None


def check(version: str, python: pathlib.Path) -> None:
    empty, unshare = environment(version, python), namespace()
    cleared = ["env", "-i", f"PATH={empty / 'bin'}", "HOME=/tmp", "LANG=C.UTF-8"]
    program = [str(empty / "bin/python"), "-B"]
    with tempfile.TemporaryDirectory(prefix="forebay-root-") as name:
        root = pathlib.Path(name)
        copy_repository(root / "repository")
        if unshare is None:
            said = run(*cleared, *program, root / "repository/tools/wheels/installed.py", root / "repository", "shared")
        else:
            script = ["set -e"]
            for path, place in own_root(root, python, empty):
                place.mkdir(parents=True, exist_ok=True)
                script.append(f"mount --rbind {shlex.quote(str(path))} {shlex.quote(str(place))}")
            inside = [*cleared, str(shutil.which("chroot")), name, *program, "/repository/tools/wheels/installed.py", "/repository", "alone"]
            said = run(*unshare, "sh", "-c", "\n".join([*script, "exec " + " ".join(map(shlex.quote, inside))]))
    where = "a root folder of its own" if unshare else "no root folder of its own (unshare is not allowed here)"
    print(f"wheel for Python {version}, {where}: {said.strip()}", flush=True)


def check_old_processor(version: str, python: pathlib.Path) -> None:
    program = [environment(version, python) / "bin/python", "-m", "forebay_command"]
    emulated, real = delivered(["qemu-x86_64", "-cpu", OLD, *program]), delivered([*program])
    if emulated != real:
        raise SystemExit(f"on a processor without SSE4 and AVX a run delivers {emulated} instead of {real}")
    print(f"wheel for Python {version}: the same digests on an emulated processor without SSE4 and AVX")


def main(*asked: str) -> int:
    versions = [version for version in asked if not version.startswith("-")] or VERSIONS
    for version in versions:
        python = interpreter(version)
        if python is None or not wheels_for(version):
            print(f"wheels: not tested with Python {version}: no interpreter with its headers is on this machine")
        elif "--old-processor" in asked:
            check_old_processor(version, python)
        else:
            check(version, python)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
