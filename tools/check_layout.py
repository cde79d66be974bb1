#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the layout of the sources (docs/tour.md); prints the faults and fails if there are any.

Includes go strictly downwards, threads live in src/engine, src/queues and src/stores, files stay small, and nothing in src/ may end the
process, print, sleep, or own memory by hand.
"""
from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The folders of src/ (rooms) from the lowest to the highest, and the other rooms that each may include. Every room may include
# include/forebay. The room of a path is the longest of these prefixes.
ROOMS: dict[str, set[str]] = {
    "base": set(),
    "config": {"base"},
    "stores": {"base", "config"},
    "io": {"base", "stores"},
    "columns": {"base"},
    "expression": {"base", "config", "columns"},
    "sources": {"base", "config", "stores", "io", "columns"},
    "decoders": {"base", "config", "columns"},
    "steps": {"base", "config", "columns"},
    "orders": {"base", "config", "expression"},
    "windows": {"base", "config", "columns"},
    "batchers": {"base", "config"},
    "combine": {"base", "config"},
    "queues": {"base", "config", "columns"},
}
LOW = {"base", "config", "stores", "io", "columns", "expression", "sources"}
ENGINE = ["engine/program", "engine/memory", "engine/requests", "engine/read", "engine/index", "engine/blocks", "engine/order", "engine/tickets", "engine/run"]
for level, room in enumerate(ENGINE):
    ROOMS[room] = LOW | set(ENGINE[:level])
ROOMS["launch"] = {"base", "config"}
ROOMS["plan/document"] = LOW | {"launch"} | set(ENGINE)
ROOMS["plan/loader"] = ROOMS["plan/document"] | {"plan/document"}
ROOMS["plan/state"] = ROOMS["plan/document"] | {"plan/document"}
ROOMS["plan"] = ROOMS["plan/loader"] | {"plan/loader", "plan/state"}
ROOMS["tools"] = ROOMS["plan"] | {"plan"}
LIMIT_FILES = 24   # of one folder of src/


DOORS = ("cli", "python")


def room_of(path: str) -> str | None:
    """The room of a path below src/."""
    parts = path.split("/")
    for length in (2, 1):
        if "/".join(parts[:length]) in ROOMS and len(parts) > length:
            return "/".join(parts[:length])
    return None


LOCKED = (("src", "engine"), ("src", "queues"), ("src", "stores"))
THREAD_HEADERS = {"thread", "mutex", "shared_mutex", "atomic", "condition_variable", "future", "semaphore", "latch",
                  "barrier", "stop_token", "pthread.h", "threads.h"}
THREAD_WORDS = re.compile(r"\bstd::(jthread|thread|mutex|atomic\w*|condition_variable|future|async|latch|barrier)\b"
                          r"|\bthread_local\b|\bpthread_\w+\s*\(")
FORBIDDEN = {
    "prints": r"\bstd::(cout|cerr|clog)\b|\b(?:std::)?f?printf\s*\(|\bputs\s*\(",
    "ends the process": r"(?<![\w.>])(?:std::)?(abort|exit|_Exit|quick_exit|terminate)\s*\(",
    "asserts": r"(?<!_)\bassert\s*\(",
    "draws from a shared generator": r"\bs?rand\s*\(|\bstd::(mt19937\w*|random_device|default_random_engine)\b",
    "sleeps": r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(",
    "owns memory by hand": r"(?<!operator )(?<!_ptr)(?<!>[({])\bnew\b",   # unique_ptr<T>{new T} owns at once
    "frees by hand": r"(?<!= )(?<!operator )\bdelete\b",
}
# The value of a failed Result was used: a bug of the calling program, which must not go on.
EXCEPTIONS = {("src/base/stop_misuse.cc", "ends the process")}
HOSTS = {"github.com", "www.apache.org", "apache.org", "json-schema.org", "keepachangelog.com", "semver.org",
         "www.tensorflow.org", "protobuf.dev", "www.cityofchicago.org", "data.cityofchicago.org", "example.com",
         "dmlc.github.io", "arxiv.org", "doi.org", "prometheus.io", "ui.perfetto.dev", "filesystem-spec.readthedocs.io",
         "www.w3.org", "docs.ray.io",
         "169.254.169.254", "169.254.170.2",   # the metadata services of AWS
         "storage.googleapis.com", "www.googleapis.com"}   # Google Cloud Storage, and the scopes of tokens
TEXT = {".h", ".cc", ".py", ".pyi", ".md", ".txt", ".json", ".cmake", ".sh", ".toml", ".cff", ".def", ".yml"}
LIMIT_SOURCE, LIMIT_PUBLIC, LIMIT_CMAKE = 400, 200, 100

faults: list[str] = []


def fault(path: pathlib.Path, line: int, message: str) -> None:
    faults.append(f"{path.relative_to(ROOT)}:{line}: {message}")


def without_comments(text: str) -> str:
    """C++ without comments and the insides of literals; line numbers stay."""
    pattern = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'')
    return pattern.sub(lambda m: "\n" * m.group().count("\n"), text)


def files(*folders: str) -> list[pathlib.Path]:
    found = []
    for folder in folders:
        found += [p for p in (ROOT / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    return sorted(found)


def check_includes(path: pathlib.Path, text: str) -> None:
    parts = path.relative_to(ROOT).parts
    public = parts[0] == "include"
    here = room_of("/".join(parts[1:])) if parts[0] == "src" else None
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        bracket, name = match.groups()
        if bracket == "<" and name in THREAD_HEADERS and parts[:2] not in LOCKED:
            fault(path, number, f"<{name}>: threads, locks and atomics live in src/engine, src/queues and src/stores only")
        room = room_of(name)
        if bracket == '"' and parts[0] in DOORS and not (path.parent / name).is_file():
            fault(path, number, f'"{name}": the doors use the public API: <forebay/…>, libraries, headers of their folder')
        if bracket == '"' and public:
            fault(path, number, f'"{name}": public headers include <forebay/…> and the standard library only')
        elif bracket == '"' and here and room and room != here and room not in ROOMS[here]:
            fault(path, number, f'"{name}": src/{here} may not use src/{room}, includes go downwards')


def check_code(path: pathlib.Path, text: str) -> None:
    parts = path.relative_to(ROOT).parts
    code = without_comments(text).splitlines()
    for number, line in enumerate(code, 1):
        if parts[:2] not in LOCKED and THREAD_WORDS.search(line):
            fault(path, number, "threads, locks and atomics live in src/engine, src/queues and src/stores only")
        if parts[0] not in ("src", "include") or line.lstrip().startswith("#"):
            continue
        for what, pattern in FORBIDDEN.items():
            if re.search(pattern, line) and ("/".join(parts), what) not in EXCEPTIONS:
                fault(path, number, f"{what}: {line.strip()[:80]}")


def check_size(path: pathlib.Path, text: str, limit: int) -> None:
    lines = text.count("\n")
    if lines > limit:
        fault(path, lines, f"{lines} lines, at most {limit}")


def check_text(path: pathlib.Path, text: str) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"\bTO" r"DO\b(?!\(#\d+\))", line):
            fault(path, number, "name the issue: TO" "DO(#12)")
        if re.search(r"(?<![\w.\-/])/(work|home|root|Users|mnt)/", line) and path.name != "check_layout.py":
            fault(path, number, "an absolute path")
        for host in re.findall(r"https?://([\w.\-]+)", line):
            if "." in host and host not in HOSTS and not host.startswith(("127.", "localhost")):
                fault(path, number, f"the host {host} is not in the list of tools/check_layout.py")


def check_licence(path: pathlib.Path, text: str) -> None:
    head = text.splitlines()[:2]
    if head and head[0].startswith("#!"):
        head = head[1:]
    if not head or "SPDX-License-Identifier: Apache-2.0" not in head[0]:
        fault(path, 1, "the first line is the SPDX line")


def main() -> int:
    sources = [p for p in files("include", "src", "cli", "python/src", "tests", "examples", "fuzz") if p.suffix in (".h", ".cc")]
    for path in sources:
        text = path.read_text()
        parts = path.relative_to(ROOT).parts
        check_licence(path, text)
        check_size(path, text, LIMIT_PUBLIC if parts[0] == "include" else LIMIT_SOURCE)
        if parts[0] in ("src", "include", "cli", "python"):
            check_includes(path, text)
            check_code(path, text)
    for path in files("python", "tests", "tools", "bench", "examples", "fuzz"):
        if path.suffix == ".py" and path.stat().st_size:
            check_licence(path, path.read_text())
            check_size(path, path.read_text(), LIMIT_SOURCE)
    for folder in sorted(p for p in (ROOT / "src").rglob("*") if p.is_dir()):
        count = sum(p.is_file() for p in folder.iterdir())
        if count > LIMIT_FILES:
            fault(folder, 0, f"{count} files, at most {LIMIT_FILES}: divide the folder")
        if count and folder.name and room_of(str(folder.relative_to(ROOT / "src")) + "/x") is None:
            fault(folder, 0, "a folder that ROOMS of tools/check_layout.py does not know")
    check_size(ROOT / "CMakeLists.txt", (ROOT / "CMakeLists.txt").read_text(), LIMIT_CMAKE)
    everything = files("include", "src", "cli", "python", "tests", "tools", "bench", "examples", "fuzz", "docs", "cmake")
    for path in everything + [p for p in ROOT.iterdir() if p.is_file()]:
        if path.suffix in TEXT or path.name in ("Makefile", "LICENSE"):
            try:
                check_text(path, path.read_text())
            except UnicodeDecodeError:
                continue
    for line in faults:
        print(line)
    print(f"layout: {len(sources)} C++ files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
