#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the code blocks of README.md and of all pages in docs/: programs, commands and documents.

    tools/run_pages.py build/release [PAGE…]

The blocks of a page run one after the other, in one folder and with the names of those before them. `tests/pages/prepare.py` makes the
files and names that a page takes for granted. By language:

* python   the program runs;
* sh       the commands run, with the command `forebay` in the path;
* json     a pipeline document is planned, with the objects of `bind`; one with `steps` only takes its source from `document`;
* output   directly after a program or command: all that it prints. `…` stands for any text. After the comment
           `<!-- numbers vary -->` any numbers agree, after `<!-- numbers and the last line vary -->` any last line does, too;
* cpp, cmake   are built by tools/check_package.py.

A block after the comment `<!-- not run: REASON -->` is left out. One after `<!-- file NAME -->` is that file, for the blocks behind it. One
after `<!-- with torch -->` runs in a process that has torch, after the other programs of its page; it is left out where torch is not
installed. Prints what failed, and fails if anything did.
"""
from __future__ import annotations

import collections
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/pages"))

BLOCK = re.compile(r"(?:^<!-- (?:not run: (?P<reason>.*?)|(?P<torch>with torch)|file (?P<file>\S+)) -->\n+)?^```(?P<language>[a-z]+)\n(?P<text>.*?)^```$"
                   r"(?:\n+(?:^<!-- (?P<varies>numbers vary|numbers and the last line vary) -->\n+)?^```output\n(?P<output>.*?)^```$)?",
                   re.M | re.S)
NUMBER = re.compile(r"-?\d[\d.]*")
ELSEWHERE = {"cpp", "cmake", "output", "text"}


class Fault(Exception):
    """What is wrong with a block."""


def pages() -> list[pathlib.Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def run_python(text: str, where: str, line: int, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        exec(compile("\n" * line + text, where, "exec"), names)  # noqa: S102 (a block of our own page)
    return printed.getvalue()


def run_shell(text: str, build: pathlib.Path) -> str:
    path = os.pathsep.join([str(build), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(["bash", "-euc", text], capture_output=True, text=True, timeout=300, env={**os.environ, "PATH": path})
    if done.returncode != 0:
        raise Fault(f"exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_json(text: str, names: dict[str, Any]) -> None:
    """Plans a document; other JSON must be JSON."""
    from forebay.loader import plan
    document = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.M))
    if "steps" in document and "source" not in document:
        document = {**names["document"], **document}
    if "source" in document:
        plan(document, names.get("bind"))


def agrees(printed: str, shown: str, varies: str | None = None) -> bool:
    printed, shown = printed.strip(), shown.strip()
    if varies and "line" in varies:
        printed, shown = ("\n".join(text.splitlines()[:-1]) for text in (printed, shown))
    if varies:
        printed, shown = (" ".join(NUMBER.sub("0", text).split()) for text in (printed, shown))
    pattern = ".*?".join(re.escape(part) for part in shown.split("…"))
    return re.fullmatch(pattern, printed, re.S) is not None


def check_block(block: re.Match[str], where: str, line: int, build: pathlib.Path, names: dict[str, Any]) -> None:
    language, text = block["language"], block["text"]
    printed = ""
    if block["file"]:
        pathlib.Path(block["file"]).write_text(text)
    elif language == "python":
        printed = run_python(text, where, line, names)
    elif language == "sh":
        printed = run_shell(text, build)
    elif language == "json":
        check_json(text, names)
    else:
        raise Fault(f"no block has the language {language!r}")
    if block["output"] is not None and not agrees(printed, block["output"], block["varies"]):
        raise Fault(f"printed\n{printed}instead of\n{block['output']}")


def check_page(page: pathlib.Path, build: pathlib.Path, count: collections.Counter[str], torch: bool = False) -> list[str]:
    """The faults of a page, each with its line. `torch`: whether this process has it."""
    import prepare
    text, faults, where = page.read_text(), [], page.relative_to(ROOT).as_posix()
    blocks = [block for block in BLOCK.finditer(text) if block["language"] not in ELSEWHERE]
    if not blocks:
        return []
    names = prepare.names_of(where.removeprefix("docs/").removesuffix(".md"))
    for block in blocks:
        line = text.count("\n", 0, block.start("text"))
        if block["reason"] is not None or (block["torch"] and not torch):
            count["left out"] += block["torch"] is None
            continue
        try:
            check_block(block, where, line, build, names)
            count[block["language"]] += 1
        except BaseException as fault:  # noqa: BLE001 (any error of a block is its fault)
            detail = str(fault) if isinstance(fault, Fault) else traceback.format_exc(limit=-2)
            faults.append(f"{where}:{line + 1}: {detail}")
    return faults


def check_torch(page: pathlib.Path, build: pathlib.Path, count: collections.Counter[str]) -> list[str]:
    """The faults of a page whose blocks use torch, in a process that has it: of this environment, or Debian's."""
    blocks = len(re.findall(r"^<!-- with torch -->$", page.read_text(), re.M))
    debian = pathlib.Path("/usr/lib/python3/dist-packages")
    version = f"{sys.version_info.major}{sys.version_info.minor}"
    found = importlib.util.find_spec("torch") is not None or list(debian.glob(f"torch/_C.cpython-{version}-*.so"))
    if not blocks or not found:
        count["without torch"] += blocks
        return []
    done = subprocess.run([sys.executable, __file__, str(build), "--torch", str(debian), str(page)], capture_output=True, text=True,
                          timeout=900)
    count["with torch"] += blocks
    return [] if done.returncode == 0 else [done.stdout + done.stderr]


def main() -> int:
    if sys.argv[2:3] == ["--torch"]:
        sys.path.append(sys.argv[3])
        with tempfile.TemporaryDirectory(prefix="forebay-torch-") as folder:   # the programs of commands find it, too
            pathlib.Path(folder, "sitecustomize.py").write_text(f"import sys\nsys.path.append({sys.argv[3]!r})\n")
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
            return run([pathlib.Path(sys.argv[4])], pathlib.Path(sys.argv[1]).resolve(), torch=True)
    chosen = [pathlib.Path(name).resolve() for name in sys.argv[2:]] or pages()
    return run(chosen, pathlib.Path(sys.argv[1]).resolve())


def run(chosen: list[pathlib.Path], build: pathlib.Path, torch: bool = False) -> int:
    """Checks pages, each in a folder of its own; 0 when nothing is wrong."""
    start = time.monotonic()
    count: collections.Counter[str] = collections.Counter()
    faults: list[str] = []
    for page in chosen:
        with tempfile.TemporaryDirectory(prefix="forebay-page-") as folder:
            os.chdir(folder)
            faults += check_page(page, build, count, torch)
            os.chdir(ROOT)
        if not torch:
            faults += check_torch(page, build, count)
    for fault in faults:
        print(fault)
    if faults:
        print("files and names that a page takes for granted are made in tests/pages/prepare.py")
    done = ", ".join(f"{number} {what}" for what, number in sorted(count.items()) if number)
    print(f"blocks of {len(chosen)} pages: {done}; {len(faults)} wrong ({time.monotonic() - start:.1f} s)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
