#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks docs/promises.md, docs/bad-inputs.md, docs/faults.md and the pages of single promises (docs/memory.md,
docs/restart.md, docs/corruption.md, docs/map.md, docs/shards.md): every promise, feature, bad input, fault and case has one row, and the tests and files
that the row names exist.

A row is `| number | what | where | test |`. `where` and `test` hold names in backticks, or "not yet". A test is
`Suite.Name` (GoogleTest), `path/to/test_file.py::test_name`, or the path of a file or folder.
"""
from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEATURES = [str(n) for n in range(1, 217)] + [f"P{n}" for n in range(1, 10)]
BAD_INPUTS = [str(n) for n in range(1, 68)]
FAULTS = [str(n) for n in range(1, 16)]
TOPICS = {"docs/memory.md": ("M", 37), "docs/restart.md": ("R", 23), "docs/corruption.md": ("C", 18), "docs/map.md": ("W", 18),
          "docs/shards.md": ("S", 29)}
LIMIT_TESTS = 6  # of a row in docs/promises.md: more belong on a page of their own


def cpp_tests() -> set[str]:
    found: set[str] = set()
    for path in (ROOT / "tests").rglob("*.cc"):
        for suite, name in re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", path.read_text()):
            found.add(f"{suite}.{name}")
    return found


def python_test_exists(name: str) -> bool:
    file, _, function = name.partition("::")
    path = ROOT / file
    return path.is_file() and re.search(rf"^\s*(?:async )?def {re.escape(function.split('::')[-1])}\(", path.read_text(), re.M) is not None


def test_exists(name: str, cpp: set[str]) -> bool:
    if "::" in name:
        return python_test_exists(name)
    return name in cpp or (ROOT / name).exists()


def rows_of(table: str, columns: int, number: str) -> list[tuple[int, list[str]]]:
    out = []
    for line_number, line in enumerate((ROOT / table).read_text().splitlines(), 1):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == columns and re.fullmatch(number, cells[0]):
            out.append((line_number, cells))
    return out


def check(table: str, rows: list[tuple[int, list[str]]], expected: list[str], cpp: set[str]) -> tuple[list[str], int]:
    """Faults of a table, and the number of its rows that name a test. The last column names tests, `where` names files."""
    faults, seen, shown = [], {}, 0
    for number, cells in rows:
        row, test = cells[0], cells[-1]
        if row in seen:
            faults.append(f"line {number}: {row} has a row at line {seen[row]} already")
        seen[row] = number
        if test == "not yet":
            continue
        shown += 1
        names = re.findall(r"`([^`]+)`", test)
        if not names:
            faults.append(f"line {number}: {row} names no test and does not say \"not yet\"")
        faults += [f"line {number}: {row}: there is no test {name}" for name in names if not test_exists(name, cpp)]
    faults += [f"{row} has no row" for row in expected if row not in seen]
    faults += [f"line {line}: there is no row {row}" for row, line in seen.items() if row not in expected]
    return [f"{table}: {fault}" for fault in faults], shown


def main() -> int:
    cpp = cpp_tests()
    promises = rows_of("docs/promises.md", 4, r"P?\d+")
    faults, promised = check("docs/promises.md", promises, FEATURES, cpp)
    faults += [f"docs/promises.md: line {number}: {row} names more than {LIMIT_TESTS} tests: give it a page of its own"
               for number, (row, _, _, test) in promises if len(re.findall(r"`([^`]+)`", test)) > LIMIT_TESTS]
    faults += [f"docs/promises.md: line {number}: {row}: there is no {name}" for number, (row, _, where, test) in promises
               for name in re.findall(r"`([^`]+)`", where) if test != "not yet" and not (ROOT / name).exists()]
    bad, shown = check("docs/bad-inputs.md", rows_of("docs/bad-inputs.md", 4, r"\d+"), BAD_INPUTS, cpp)
    faults += bad
    met, tested = check("docs/faults.md", rows_of("docs/faults.md", 4, r"\d+"), FAULTS, cpp)
    faults += met
    for page, (letter, count) in TOPICS.items():
        rows = rows_of(page, 4, letter + r"\d+")
        faults += check(page, rows, [f"{letter}{n}" for n in range(1, count + 1)], cpp)[0]
    for fault in faults:
        print(fault)
    print(f"promises: {promised} of {len(FEATURES)} shown by a test, bad inputs: {shown} of {len(BAD_INPUTS)}, "
          f"faults: {tested} of {len(FAULTS)}; {len(faults)} wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
