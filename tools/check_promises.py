#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks docs/promises.md: every promise and every numbered feature has one row, and what a row names exists.

A row is `| number | what | where | test |`. `where` and `test` hold names in backticks, or "not yet". A test is
`Suite.Name` (GoogleTest), `path/to/test_file.py::test_name`, or the path of a file or folder.
"""
from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEATURES = [str(n) for n in range(1, 217)] + [f"P{n}" for n in range(1, 10)]


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


def main() -> int:
    cpp = cpp_tests()
    faults, seen, kept = [], {}, 0
    for number, line in enumerate((ROOT / "docs/promises.md").read_text().splitlines(), 1):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 4 or not re.fullmatch(r"P?\d+", cells[0]):
            continue
        feature, _, where, test = cells
        if feature in seen:
            faults.append(f"line {number}: {feature} has a row at line {seen[feature]} already")
        seen[feature] = number
        if test == "not yet":
            continue
        kept += 1
        names = re.findall(r"`([^`]+)`", test)
        if not names:
            faults.append(f"line {number}: {feature} names no test and does not say \"not yet\"")
        faults += [f"line {number}: {feature}: there is no test {name}" for name in names if not test_exists(name, cpp)]
        faults += [f"line {number}: {feature}: there is no {name}" for name in re.findall(r"`([^`]+)`", where)
                   if not (ROOT / name).exists()]
    faults += [f"{feature} has no row" for feature in FEATURES if feature not in seen]
    faults += [f"line {line}: there is no feature {feature}" for feature, line in seen.items() if feature not in FEATURES]
    for fault in faults:
        print(f"docs/promises.md: {fault}")
    print(f"promises: {kept} of {len(FEATURES)} shown by a test, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
