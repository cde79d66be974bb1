#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts instructions per record with cachegrind and compares with bench/results/instructions.json.

    bench/instructions.py [--update] [--program build/release/forebay]

One worker, instruction set capped at AVX2 (valgrind knows no AVX-512). A count is the difference between a run over the
workload's cut and a run over an empty file, so that start-up does not count. More than 1 % above the stored number fails.
The stored numbers are what a change may not exceed, and not the last ones that were counted.

Paths are relative, so that the place of the clone does not count: a file of W14 costs 40 instructions for each letter of its path.
Threads that wait for each other add to a count, by up to 2 %: a workload above its limit is counted again, alone, and its lowest
count stands.

The copy of a record out of its mapping (ADR 0009) has a column of its own, and the comparison is made without it.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import make_data
from contestant import EXAMPLES, FIELDS

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "bench/results/instructions.json"
RECORDS = {"W1": 32768, "W2": 8192, "W2-3of40": 8192, "W3a": 4096, "W3b": 4096, "W3c": 4096, "W5": 96, "W7": 8192,
           "W7-quoted": 8192, "W8": 4096, "W14": 1024, "mix": 32768, "concat": 32768}
#: Of two sources with the records of W1, a half each.
COMBINATIONS = {"mix": {"until": "all"}, "concat": {}}
WANTED = EXAMPLES | {"W2-3of40": {name: EXAMPLES["W2"][name] for name in ("I1", "C1", "label")}}
SEQUENCES = {"W5": {"context": {"labels": {"kind": "var_len", "dtype": "int64"}},
                    "lists": {"mel": {"kind": "fixed_len_sequence", "dtype": "float32", "shape": [80]}}}}
BATCHES = {"W5": {"size": 16, "pad": True}}
TOLERANCE = 0.01
COUNTS = 3  # of a workload above its limit, at most
QUOTED = '","'
COPY = "copy_records"  # of src/engine/tickets/record_copies.cc


def stages(folder: Path, workload: str, records: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Writes the data. Returns source and decoder."""
    folder.mkdir(parents=True, exist_ok=True)
    kind = workload.partition("-")[0]
    data = folder / f"{workload}-{records}.tfrecord"
    if kind == "W8":
        data.write_bytes(bytes(range(256)) * (3073 * records // 256))
        return {"fixed_length": {"files": [data.name], "record_bytes": 3073, "compression": "none"}}, \
            {"raw": {"dtype": "uint8", "shape": [3073]}}
    if kind == "W14":
        many = folder / f"{workload}-{records}-files-of-4096-bytes-with-names-of-usual-length"
        many.mkdir(exist_ok=True)
        for i in range(records + 1):  # a pattern matches at least one file
            (many / f"{i:05}").write_bytes(bytes(4096))
        return {"whole_file": {"files": [f"{many.name}/*"]}}, {"record": {}}
    plain = folder / f"{kind if kind == 'W7' else workload}-{records}.tfrecord"
    make_data.write(plain, kind, records)
    if kind == "W7":
        if workload != kind:
            data.write_text("".join(f'"{line.replace(",", QUOTED)}"\n' for line in plain.read_text().splitlines()))
        return {"csv": {"files": [data.name], "compression": "none"}}, {"csv": {"columns": FIELDS}}
    sequences = SEQUENCES.get(workload)
    decode = {"sequence_example": sequences} if sequences else {"example": {"features": WANTED.get(workload)}}
    return {"tfrecord": {"files": [data.name], "compression": "none"}}, decode


def document(folder: Path, workload: str, records: int) -> Path:
    path = folder / f"{workload}-{records}.json"
    if workload in COMBINATIONS:
        source, decode = stages(folder, "W1", records // 2)
        branches = [{"source": source, "decode": decode}] * 2
        read: dict[str, Any] = {"source": {workload: {"branches": branches, **COMBINATIONS[workload]}}}
    else:
        source, decode = stages(folder, workload, records)
        read = {"source": source, "decode": decode}
    path.write_text(json.dumps({
        **read,
        "steps": [{"batch": BATCHES.get(workload, {"size": 256, "remainder": "keep"})}], "epochs": 1, "seed": 1}))
    return path


def of_function(counts: str, name: str) -> int:
    """Instructions of the functions whose names contain `name`, of a cachegrind.out file."""
    total, inside = 0, False
    for line in counts.splitlines():
        if line.startswith("fn="):
            inside = name in line
        elif inside and line[:1].isdigit():
            total += int(line.split()[1])
    return total


def instructions(program: Path, path: Path) -> tuple[int, int]:
    """Of a whole run, and of the copy in it."""
    with tempfile.NamedTemporaryFile(prefix="cachegrind.") as out:
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={out.name}", str(program), "run",
                   path.name, "--threads", "1"]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"FOREBAY_ISA": "avx2"}, timeout=300,
                              cwd=path.parent)
        found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
        if done.returncode or not found:
            raise SystemExit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        return int(found.group(1).replace(",", "")), of_function(Path(out.name).read_text(errors="replace"), COPY)


def count(program: Path, empty: tuple[int, int], path: Path, records: int) -> tuple[float, float]:
    """Instructions a record without the copy, and of the copy."""
    total, copied = instructions(program, path)
    copy = (copied - empty[1]) / records
    return (total - empty[0]) / records - copy, copy


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="store today's numbers")
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/forebay")
    options = parser.parse_args()
    program = options.program.resolve()
    folder = ROOT / "build/bench-cuts"
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    counted, failed = {}, 0
    empties = {workload: document(folder, workload, 0) for workload in RECORDS}
    full = {workload: document(folder, workload, records) for workload, records in RECORDS.items()}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        nothing = dict(zip(RECORDS, pool.map(lambda workload: instructions(program, empties[workload]), RECORDS)))
        first = dict(zip(RECORDS, pool.map(
            lambda workload: count(program, nothing[workload], full[workload], RECORDS[workload]), RECORDS)))
    for workload, records in RECORDS.items():
        before = stored.get(workload)
        limit = before * (1 + TOLERANCE) if before else float("inf")
        counts = [first[workload]]
        while min(counts)[0] > limit and len(counts) < COUNTS:
            counts.append(count(program, nothing[workload], full[workload], records))
        each, copy = min(counts)
        counted[workload] = round(each, 1)
        change = f"{each / before - 1:+7.1%}" if before else "    new"
        worse = each > limit
        failed += worse
        print(f"{workload:9} {each:10.1f} instructions a record {change}, copy {copy:8.1f}"
              f"{'  MORE THAN +1 %' if worse else ''}", flush=True)
    if options.update:
        STORED.parent.mkdir(parents=True, exist_ok=True)
        STORED.write_text(json.dumps(counted, indent=2) + "\n")
        return 0
    print(f"{len(counted) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
