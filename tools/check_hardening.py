#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that programs and modules are compiled as cmake/hardening.cmake asks, by what is in the files.

    tools/check_hardening.py FILE...        ELF files, or wheels, whose own modules are checked

A file must have functions whose stack is guarded, calls of the C library that check sizes, places that indirect jumps may reach
(endbr64, x86-64 only), relocations that are read-only once it is loaded, all of them resolved then, and no stack that is executable.
"""
from __future__ import annotations

import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

ENDBR64 = bytes.fromhex("f30f1efa")
MIN_ENDBR64 = 1000


def output(*command: object) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def faults_of(path: pathlib.Path) -> list[str]:
    """What the file lacks."""
    dynamic, segments = output("readelf", "--wide", "--dynamic", path), output("readelf", "--wide", "--segments", path)
    names = set(re.findall(r"(\w+)(?:@\S+)?$", output("nm", "--dynamic", path), re.M))
    stack = re.search(r"GNU_STACK.*? ([RWE ]{3}) ", segments)
    found = {"a guarded stack (__stack_chk_fail)": "__stack_chk_fail" in names,
             "checked sizes (__memcpy_chk or another of _FORTIFY_SOURCE)": any(
                 re.fullmatch(r"__(mem|str|stp|v?s?n?printf|read|pread|recv|readlink|realpath|getcwd|fd|poll)\w*_chk", name) for name in names),
             "GNU_RELRO": "GNU_RELRO" in segments,
             "BIND_NOW": bool(re.search(r"BIND_NOW|FLAGS_1\).*\bNOW\b", dynamic)),
             "a stack that is not executable": stack is not None and "E" not in stack[1]}
    if platform.machine() == "x86_64":
        found["endbr64 at places that indirect jumps reach"] = path.read_bytes().count(ENDBR64) >= MIN_ENDBR64
    return [f"{path.name}: has no {what}" for what, there in found.items() if not there]


def checked(path: pathlib.Path) -> tuple[int, list[str]]:
    """How many files were looked at, and their faults. Of a wheel, our own: libraries of Debian are as Debian makes them."""
    if path.suffix != ".whl":
        return 1, faults_of(path)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as wheel:
        own = [pathlib.Path(wheel.extract(name, folder)) for name in wheel.namelist() if re.fullmatch(r"forebay/[^/]+\.so", name)]
        return len(own), [f"{path.name}: has no module"] if not own else [fault for file in own for fault in faults_of(file)]


def main(*paths: str) -> int:
    results = [checked(pathlib.Path(path)) for path in paths]
    faults = [fault for _, found in results for fault in found]
    for fault in faults:
        print(fault)
    print(f"hardening: {sum(count for count, _ in results)} files, {len(faults)} faults")
    return 1 if faults or not paths else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
