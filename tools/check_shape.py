#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the shape of the classes of src/engine and src/plan: none has more than 20 data members, 20 public functions, 8 virtual functions or
2 files that implement it.

    tools/check_shape.py               prints the faults, and fails if there are any
    tools/check_shape.py --largest 10  prints the classes with the largest numbers

Members of a private nested class count as those of the class around it. Constructors, destructors, operators and constants do not count. AGGREGATES
are values without a duty of their own. OVER has the classes that are larger than that today: a number there may only fall, and
then it falls here, too.
"""
from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import sys
from typing import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("src/engine", "src/plan")
LIMITS = {"members": 20, "functions": 20, "virtual": 8, "files": 2}
AGGREGATES = {"LoaderArgs": "the arguments of a document of the JSON pipeline"}
OVER: "dict[str, dict[str, int]]" = {
    "BlockTable": {"members": 25, "functions": 21},
    "OpenBranches": {"functions": 54},
    "IndexedReader": {"members": 23, "functions": 24},
    "OpenFiles": {"members": 59, "functions": 69, "files": 6},
    "ReaderState": {"members": 27},
    "OpenParts": {"functions": 38, "virtual": 36},
    "OrderPlane": {"members": 36},
    "WindowReader": {"functions": 24},
    "Program": {"members": 47},
    "Block": {"members": 27},
    "FileReader": {"members": 52, "files": 3},
    "Scheduler": {"members": 62, "files": 3},
    "CudaRuntime": {"members": 21},
    "Job": {"members": 27}}

NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
MACRO = re.compile(r"\b[A-Z][A-Z_]+(?:\([^()]*\))?")          # of the analysis of threads
HEAD = re.compile(r"^(?:template\s*)?(class|struct|union)\s+([A-Za-z_][\w:]*)(?:\s+final)?\s*(?::.*)?$", re.S)
FUNCTION = re.compile(r"(~?\w+|operator\W{1,3})\s*\(")


@dataclasses.dataclass
class Class:
    name: str
    place: str
    members: int = 0
    functions: int = 0
    virtual: int = 0
    files: int = 0

    def numbers(self) -> "dict[str, int]":
        return {kind: getattr(self, kind) for kind in LIMITS}


def without_templates(text: str) -> str:
    """`std::function<void(int)> f_` → `std::function f_`: what stands in angle brackets is no function."""
    out, depth = [], 0
    for i, letter in enumerate(text):
        if letter == "<" and (depth or re.search(r"\w\s*$|^template\s*$", text[:i])) and not text[:i].rstrip().endswith("operator"):
            depth += 1
        elif letter == ">" and depth:
            depth -= 1
        elif not depth:
            out.append(letter)
    return "".join(out)


def statements(body: str) -> "Iterator[tuple[str, str]]":
    """What stands in a class or namespace, one by one: its text, and what stands in its braces."""
    begin, i = 0, 0
    while i < len(body):
        if body[i] == ";":
            yield body[begin:i].strip(), ""
            begin = i + 1
        elif body[i] == "{":
            head, start, depth = body[begin:i].strip(), i + 1, 1
            while depth:
                i += 1
                depth += {"{": 1, "}": -1}.get(body[i], 0)
            is_member = re.search(r"[\w>\])]$", head) and "(" not in without_templates(MACRO.sub("", head)) and not re.match(r"(?:template|class|struct|union|enum|namespace|extern)\b", head)
            in_list = "(" in head and re.search(r":\s[^{}]*\w$", head) and not HEAD.match(head)     # a member in a list of initialisers
            if is_member or in_list:
                body = body[:start - 1] + " " * (i + 1 - (start - 1)) + body[i + 1:]
            else:
                yield head, body[start:i]
                begin = i + 1
        i += 1


def read_class(head: "re.Match[str]", body: str, place: str, found: "list[Class]") -> Class:
    out = Class(head.group(2), place)
    public = head.group(1) == "struct"
    for text, inside in statements(body):
        while access := re.match(r"(public|private|protected)\s*:(?!:)", text):
            public, text = access.group(1) == "public", text[access.end():].strip()
        nested = HEAD.match(without_templates(text)) if inside else None
        if nested:
            other = read_class(nested, inside, place, found)
            other.name = f"{out.name}::{other.name}"
            if public:
                found.append(other)
            else:
                out.members += other.members
            continue
        if not text or re.match(r"(using|friend|enum|static_assert|class|struct|static constexpr|constexpr static|template\s*class)\b", text):
            continue
        flat = MACRO.sub("", without_templates(text))
        flat = re.split(r"(?<![=!<>])=(?!=)", flat, maxsplit=1)[0] if "operator" not in flat else flat
        flat = re.sub(r"\(\*(\w+)\)\(.*", r"\1", flat, flags=re.S)      # a pointer to a function is a member
        function = FUNCTION.search(flat)
        if not function:
            out.members += flat.count(",") + 1 if not flat.startswith("static") else 0
            continue
        name = function.group(1)
        if "~" in name or name == out.name.split("::")[-1] or name.startswith("operator") or "= delete" in text:
            continue
        out.functions += public
        out.virtual += bool(re.search(r"\bvirtual\b", flat))
    return out


def classes_in(text: str, place: str, found: "list[Class]") -> None:
    for head, inside in statements(text):
        if not inside:
            continue
        match = HEAD.match(without_templates(head.split("\n\n")[-1]))
        if match:
            found.append(read_class(match, inside, place, found))
        elif re.search(r"\bnamespace\b[^;]*$", head):
            classes_in(inside, place, found)


def all_classes() -> "list[Class]":
    found: "list[Class]" = []
    defined: "dict[str, set[str]]" = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            text = re.sub(r"^\s*#.*(?:\\\n.*)*$", "", path.read_text(), flags=re.M)
            text = NO_CODE.sub(lambda m: '""' if m.group()[0] in "\"'" else " ", text)
            place = str(path.relative_to(ROOT))
            classes_in(text, place, found)
            if path.suffix == ".cc":
                for line in text.splitlines():
                    definition = re.match(r"(?! )[^()=]*?(?<![\w.>])(\w+)::~?\w+\(", line)
                    if definition:
                        defined.setdefault(definition.group(1), set()).add(place)
    for each in found:
        each.files = len(defined.get(each.name.split("::")[-1], ()))
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--largest", type=int)
    asked = parser.parse_args()
    classes = all_classes()
    if asked.largest:
        worst = sorted(classes, key=lambda c: -max(n / LIMITS[kind] for kind, n in c.numbers().items()))
        for each in worst[:asked.largest]:
            print(f"{each.name:28} {each.place:52}", ", ".join(f"{kind} {n}" for kind, n in each.numbers().items()))
        return 0
    faults = []
    for each in classes:
        for kind, number in each.numbers().items():
            if kind == "members" and each.name in AGGREGATES:
                continue
            known = OVER.get(each.name, {}).get(kind)
            limit = known or LIMITS[kind]
            if number > limit:
                faults.append(f"{each.place}: {each.name} has {number} {kind}, at most {limit} are allowed; move a job of it into a class of its own")
            elif known and number < known:
                faults.append(f"{each.place}: {each.name} has {number} {kind} and not {known} any more; say so in OVER, or take it out at {LIMITS[kind]}")
    names = {each.name for each in classes}
    faults += [f"there is no class {name} any more" for name in [*OVER, *AGGREGATES] if name not in names]
    print("\n".join(faults) + ("\n" if faults else "") + f"shape: {len(classes)} classes, {len(OVER)} over a limit, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
