#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the programs of a page from the page's own code blocks, runs them, and compares what they print.

    tools/run_doc_blocks.py docs/plugins.md build/install     (an installed Forebay)

A block whose first line is a comment with a file name ("// clip.cc", "# CMakeLists.txt") is that file. The block with the
language `output` after NAME.cc is all that the program NAME must print. Everything is built in a folder outside the tree.
"""
from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
CMAKE = """cmake_minimum_required(VERSION 3.20)
project(blocks CXX)
find_package(forebay CONFIG REQUIRED)
"""
FILE = re.compile(r"(?://|#) ([\w.]+)\n")


def run(*command: str | pathlib.Path, cwd: pathlib.Path | None = None) -> str:
    """The standard output of a command; ends the script with everything that it printed when it fails."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(source: pathlib.Path, prefix: pathlib.Path) -> pathlib.Path:
    """Builds a CMake project against the Forebay installed in `prefix`; the folder of its programs."""
    ccache = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    run("cmake", "-S", source, "-B", source / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
        f"-DCMAKE_PREFIX_PATH={prefix.resolve()}", *ccache)
    run("cmake", "--build", source / "build")
    return source / "build"


def extract(page: str, folder: pathlib.Path) -> dict[str, str]:
    """Writes the files of a page; the expected output by program."""
    expected: dict[str, str] = {}
    program = ""
    for language, text in BLOCK.findall(page):
        if language == "output":
            if not program:
                raise SystemExit("an output block without a program before it")
            expected[program], program = text, ""
        elif name := FILE.match(text):
            (folder / name[1]).write_text(text)
            program = name[1].removesuffix(".cc") if name[1].endswith(".cc") else ""
    return expected


def check(page: pathlib.Path, folder: pathlib.Path, prefix: pathlib.Path) -> int:
    """Builds and runs the programs of a page in `folder`; how many there are."""
    folder.mkdir()
    expected = extract(page.read_text(), folder)
    if not expected:
        raise SystemExit(f"{page} has no program with an output block")
    programs = build(folder, prefix)
    for program, words in expected.items():
        printed = run(programs / program, cwd=folder)
        if printed != words:
            raise SystemExit(f"{page}: {program} printed\n{printed}instead of\n{words}")
    return len(expected)


def unnamed(page: str) -> list[str]:
    """The C++ blocks of a page that are no files: programs, and statements, which get a function around them."""
    out = []
    for language, text in BLOCK.findall(page):
        if language == "cpp" and not FILE.match(text):
            includes = [line for line in text.splitlines() if line.startswith("#include")]
            rest = text if "int main(" in text else (
                "\n".join(includes) + "\nint report(const forebay::Error&);\nint statements() {\n"
                + "\n".join(line for line in text.splitlines() if line not in includes) + "\nreturn 0;\n}\n")
            out.append(rest)
    return out


def check_unnamed(pages: list[pathlib.Path], folder: pathlib.Path, prefix: pathlib.Path) -> int:
    """Builds the C++ blocks of pages that are no files, and runs the programs among them; how many there are."""
    folder.mkdir()
    blocks = {f"{page.stem}_{number}": text for page in pages for number, text in enumerate(unnamed(page.read_text()))}
    runs = [name for name, text in blocks.items() if "int main(" in text]
    lines = [f"add_{'executable' if name in runs else 'library'}({name} {'' if name in runs else 'OBJECT '}{name}.cc)\n"
             f"target_link_libraries({name} PRIVATE forebay::forebay)\n" for name in blocks]
    (folder / "CMakeLists.txt").write_text(CMAKE + "".join(lines))
    for name, text in blocks.items():
        (folder / f"{name}.cc").write_text(text)
    programs = build(folder, prefix)
    for name in runs:
        run(programs / name, cwd=folder)
    return len(blocks)


def main() -> int:
    page, prefix = map(pathlib.Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="forebay-blocks-") as name:
        print(f"{page}: {check(page, pathlib.Path(name) / 'blocks', prefix)} programs built and run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
