# SPDX-License-Identifier: Apache-2.0
"""The environment of the rivals: every package of requirements-rivals.txt that can be installed here.

A package that cannot be installed stops no other one. `not-installed.json` of the environment says why it is missing, and
the table of the benchmark repeats it.
"""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

WANTED = Path(__file__).resolve().parent / "requirements-rivals.txt"
SECONDS = 1800  # for one package; building from source may hang
SECONDS_TO_FIT = 600  # for the search of versions that fit all packages


def wanted() -> list[str]:
    return [line.strip() for line in WANTED.read_text().splitlines() if line.strip() and not line.startswith("#")]


def install(folder: Path) -> str:
    """The interpreter of the environment in `folder`, which is made, or completed, when its list is another one."""
    python = folder / "bin" / "python"
    done = folder / "installed"
    if done.exists() and done.read_text() == WANTED.read_text():
        return str(python)
    if not python.exists():
        subprocess.check_call([sys.executable, "-m", "venv", str(folder)])
    there: list[str] = []
    missing: dict[str, str] = {}
    for package in wanted():
        print(f"installing {package}", flush=True)
        reason = add(str(python), there, package)
        if reason is None:
            there.append(package)
        else:
            missing[package] = reason
            print(f"  not installed, its rivals are left out: {reason}", flush=True)
    (folder / "not-installed.json").write_text(json.dumps(missing, indent=1))
    done.write_text(WANTED.read_text())
    return str(python)


def not_installed(folder: Path) -> dict[str, str]:
    """Why packages are missing, by name."""
    path = folder / "not-installed.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}


def add(python: str, there: list[str], package: str) -> str | None:
    """Installs one more package. None, or the reason why it is not there.

    What is there keeps its version if that fits the package. If not, versions are looked for that fit all of them, and
    without any, the package stays out: no rival runs with versions that its packages refuse.
    """
    frozen = run(python, "freeze", "--all")[1]
    constraints = Path(python).parent.parent / "constraints.txt"
    constraints.write_text("".join(line + "\n" for line in frozen.splitlines() if "==" in line))
    code, _, reason = run(python, "install", "--constraint", str(constraints), package)
    if code:
        code, _, reason = run(python, "install", "--prefer-binary", *there, package, seconds=SECONDS_TO_FIT)
    return reason if code else None


def run(python: str, *arguments: str, seconds: float = SECONDS) -> tuple[int, str, str]:
    """Exit status and output of pip, and what it says is wrong."""
    command = [python, "-m", "pip", arguments[0], *(["--quiet"] if arguments[0] == "install" else []),
               "--disable-pip-version-check", *arguments[1:]]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return 1, "", f"it took more than {seconds} s"
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR: ") and "ResolutionImpossible" not in line]
    return done.returncode, done.stdout, (errors or lines or ["no reason given"])[-1].removeprefix("ERROR: ")
