#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table and the plot of a benchmark run: report.py NUMBERS.json FOLDER [NOT-INSTALLED.json].

FOLDER/latest.md has a row for each workload and number of processors, and says what took no part and why. FOLDER/latest.svg
has the ratios as bars on a logarithmic axis; without matplotlib there is no plot, and the table says so. NOT-INSTALLED.json
has the packages that are missing, with the reasons. Exit status 1: Forebay itself failed in a workload.
"""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

NAME = "forebay"


def rate(rows_per_s: float) -> str:
    return f"{rows_per_s / 1e6:.3g} M" if rows_per_s >= 1e5 else f"{rows_per_s:,.0f}"


def factor(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 1 else f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"


def rows_of(numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each run in which Forebay took part."""
    out = []
    for run in numbers["runs"]:
        entries = {entry["contestant"]: entry for entry in run["results"]}
        own = entries.get(NAME)
        if own is None:
            continue
        best = entries.get(own.get("best_peer", ""))
        out.append({"workload": run["workload"], "threads": run["threads"], "valid": run["valid"], "own": own, "best": best,
                    "rivals": len(entries) - 1})
    return out


def table(numbers: dict[str, Any], missing: dict[str, str]) -> str:
    machine = numbers["machine"]
    rows = rows_of(numbers)
    lines = [
        "# The latest run of `make bench`", "",
        f"{machine['cpu']}, {machine['cpus']} processors, {machine['ram_gb']:.0f} GB, scale {numbers['scale']}, "
        f"rounds: {numbers['rounds']}, begun {numbers['started']}. What the columns mean: [README](../README.md). All contestants "
        "in the table delivered the expected rows first, by a checksum of all values.", "",
        "| workload | processors | Forebay, rows/s | rivals | best of them | its rows/s | ratio, 95 % | share of the floor | CPU-s/GB | "
        "check |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        own, best = row["own"], row["best"]
        low, high = own.get("ratio_95", (0, 0))
        interval = f" [{low:.2f}, {high:.2f}]" if len(own["rounds"]) > 1 else ""
        ratio = f"{own['ratio_to_best_peer']:.2f}{interval}" if best else "–"
        floor = f"{100 * own['fraction_of_floor']:.0f} %" if own.get("fraction_of_floor") else "–"
        lines.append(f"| {row['workload']}{'' if row['valid'] else ' *'} | {row['threads']} | {rate(own['rows_per_s'])} | {row['rivals']} | "
                     f"{best['contestant'] if best else '–'} | {rate(best['rows_per_s']) if best else '–'} | {ratio} | {floor} | "
                     f"{own['cpu_s_per_gb']:.2f} | {own['check']} |")
    if not all(row["valid"] for row in rows):
        lines += ["", "\\* Other programs used the processors meanwhile, or the machine lost time to other guests: not valid."]
    return "\n".join(lines + absences(numbers, missing)) + "\n"


def absences(numbers: dict[str, Any], missing: dict[str, str]) -> list[str]:
    """What is not in the table, and why: workloads, floors, contestants, packages."""
    out = []
    if numbers.get("no_data"):
        out += ["", "Workloads left out:", "", *(f"* {name}: {short(why)}" for name, why in numbers["no_data"].items())]
    without = sorted({row["workload"] for row in rows_of(numbers) if not row["own"].get("fraction_of_floor")})
    if without:
        has = ", ".join(name.removeprefix("-DHAVE_") for name in numbers["floors_built_with"] or []) or "no library"
        out += ["", f"Without a floor: {', '.join(without)}. {short(numbers['no_floors'] or f'The floors were built with {has}.')}"]
    failed: dict[tuple[str, str], list[str]] = {}
    for run in numbers["runs"]:
        for name, why in run["failed"].items():
            places = failed.setdefault((name, short(why)), [])
            if run["workload"] not in places:
                places.append(run["workload"])
    for name, why in numbers.get("not_listed", {}).items():
        failed[name, short(why)] = ["all"]
    if failed:
        out += ["", "Took no part:", "", *(f"* {name} ({', '.join(places)}): {why}" for (name, why), places in sorted(failed.items()))]
    if missing:
        out += ["", "Not installed:", "", *(f"* {package}: {short(why)}" for package, why in missing.items())]
    return out


def short(text: str) -> str:
    """The first line of a reason, without what a table of Markdown would take for its own."""
    return (text.strip().splitlines() or ["no reason given"])[0][:160].replace("|", "/")


def plot(numbers: dict[str, Any], path: Path) -> None:
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    rows = [row for row in rows_of(numbers) if row["best"]]
    if not rows:
        return
    figure, axes = plt.subplots(figsize=(8, 0.3 * len(rows) + 1.4), layout="constrained")
    for place, row in enumerate(reversed(rows)):
        own = row["own"]
        ratio, (low, high) = own["ratio_to_best_peer"], own["ratio_95"]
        # From 1 on: a bar's length on the logarithmic axis is how many times as fast, or as slow.
        axes.barh(place, ratio - 1, left=1, height=0.7, color="#2f6f8f" if row["threads"] == 1 else "#8fb8c9",
                  xerr=[[max(0, ratio - low)], [max(0, high - ratio)]], error_kw={"elinewidth": 1, "ecolor": "#333333"})
        axes.annotate(f"{factor(ratio)} × {row['best']['contestant']}", (max(ratio, high, 1), place), xytext=(4, 0),
                      textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [f"{row['workload']}{'' if row['valid'] else ' *'}, {row['threads']} CPU" for row in reversed(rows)],
                    fontsize=8)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xscale("log")
    least = min(min(row["own"]["ratio_95"][0], row["own"]["ratio_to_best_peer"], 1) for row in rows)
    most = max(max(row["own"]["ratio_95"][1], row["own"]["ratio_to_best_peer"], 1) for row in rows)
    axes.set_xlim(least / 1.1, most * (most / least * 1.1) ** 0.4)  # room for the names
    axes.axvline(1, color="#333333", linewidth=1)
    axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    axes.set_xlabel("rows/s of Forebay against the best rival, logarithmic (median, 95 % interval)"
                    + ("" if all(row["valid"] for row in rows) else "\n* not valid: other programs used the processors"), fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> int:
    numbers = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(sys.argv[2])
    missing = json.loads(Path(sys.argv[3]).read_text()) if len(sys.argv) > 3 else {}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "latest.svg").unlink(missing_ok=True)  # one of another run would not belong to the table
    text = table(numbers, missing)
    try:
        plot(numbers, folder / "latest.svg")
    except ImportError as problem:
        text += f"\nThere is no plot: {problem}.\n"
    (folder / "latest.md").write_text(text)
    print("\n".join(["", *(str(path) for path in sorted(folder.glob("latest.*")))]))
    return int(any(NAME in run["failed"] for run in numbers["runs"]))


if __name__ == "__main__":
    sys.exit(main())
