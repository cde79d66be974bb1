#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that comments, docs, messages and identifiers use the words of the glossary (docs/tour.md).

Each rule has a pattern, the word to use instead, and the paths where the pattern is right. A line is also right when it has
one of the words of ALLOWED: names of options that the specification gives, and names of other projects. Prints the faults
and fails if there are any.
"""
from __future__ import annotations

import pathlib
import re
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("include", "src", "cli", "python", "tests", "fuzz", "bench", "docs", "examples", "tools", "cmake")
SUFFIXES = {".h", ".cc", ".c", ".py", ".pyi", ".md", ".txt", ".cmake", ".sh", ".toml", ".def"}
# This file names the words.
SKIPPED = {"tools/check_words.py"}

# Names of options that the specification gives, words of other projects, and a method of Python's struct.
ALLOWED = re.compile(r"packed_batch_size|keep_input|remainder|kept in order|SSE|MESSAGE\.unpack|most_significant|least_significant")
# Protobuf's packed lists, sequence packing, and the software packages that a machine has.
PACKED = re.compile(r"^(src/(columns|decoders|batchers)/|tests/(batchers|columns|decoders|conformance|tools|pipelines?|compositions|support)/|"
                    r"tests/long_memory|fuzz/|bench/|docs/(batches|composition(-table)?|shards|adr/006[67]-[\w-]*|promises|bad-inputs|tour|guide/\w+|migrate/\w[\w-]*)\.md|include/forebay/(batchers/|decoders/|records\.h|"
                    r"plugins\.h)|src/plugins\.def|CHANGELOG\.md|examples/|python/(forebay/_builder|tests)/)")


class Rule(typing.NamedTuple):
    pattern: re.Pattern[str]
    instead: str
    right_in: re.Pattern[str] | None = None


def rule(pattern: str, instead: str, right_in: re.Pattern[str] | None = None) -> Rule:
    return Rule(re.compile(pattern), instead, right_in)


RULES = [
    rule(r"(?i)\bpacked\b|\bunpacked\b|\bunpack(s|ing)?\b", "compressed, decompressed", PACKED),
    rule(r"(?i)\bdamaged?\b|\bDamageFinder\b", "corrupt, corruption"),
    rule(r"\b(most|least)_[a-z]\w*", "max_, min_"),
    rule(r"(?i)\b(shelf|shelves|parcels?|morsels?|phantoms?)\b", "a word of the glossary: free list, block, placeholder"),
    rule(r"(?i)\bpatience\b", "timeout"),
    rule(r"(?i)\bwhoever\b", "a noun: the caller, a worker, the consumer"),
    rule(r"(?i)\bfor who\b|\bwho (waits|wonders|rests|calls|has had|must)\b", "a noun: the caller, a worker, the consumer"),
    rule(r"(?i)\bcallers? of `?next`?\b", "consumer"),
    rule(r"(?i)\bKept(Files|Content)\b|\bkept_files\b", "PassCache"),
    rule(r"""\.\./shared\b|/ ["']shared["']|FOREBAY_SHARED|\bROOT\.parent\b|\bparents\[3\]""",
         "a folder of the repository, or a file that the test makes: the repository needs nothing beside it"),
    rule(r"\b(Doing|Probing|Sorting|Lowering|Indexing|Building)\b(?=\s*[{(])", "a noun: a class is a thing, not an activity"),
]


def paths() -> list[pathlib.Path]:
    found = [p for p in ROOT.iterdir() if p.is_file() and (p.suffix in SUFFIXES or p.name == "Makefile")]
    for folder in FOLDERS:
        found += [p for p in (ROOT / folder).rglob("*") if p.is_file() and p.suffix in SUFFIXES and "__pycache__" not in p.parts]
    return sorted(found)


def faults_of(path: pathlib.Path) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    if name in SKIPPED:
        return []
    rules = [r for r in RULES if not (r.right_in and r.right_in.search(name))]
    out = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        for r in rules:
            match = r.pattern.search(line)
            if match and not ALLOWED.search(line):
                out.append(f"{name}:{number}: '{match.group().strip()}': use {r.instead}")
    return out


def main() -> int:
    files = paths()
    faults = [fault for path in files for fault in faults_of(path)]
    for fault in faults:
        print(fault)
    print(f"words: {len(files)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
