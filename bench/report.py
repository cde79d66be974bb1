#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table and the plot of a benchmark run: report.py NUMBERS.json FOLDER.

FOLDER/latest.md has a row for each workload and number of processors, FOLDER/latest.svg the ratios as bars on a logarithmic
axis. Without matplotlib there is no plot.
"""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

NAME = "forebay"


def rate(rows_per_s: float) -> str:
    return f"{rows_per_s / 1e6:.3g} M" if rows_per_s >= 1e5 else f"{rows_per_s:,.0f}"


def rows_of(numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each run in which Forebay took part."""
    out = []
    for run in numbers["runs"]:
        entries = {entry["contestant"]: entry for entry in run["results"]}
        own = entries.get(NAME)
        if own is None:
            continue
        best = entries.get(own.get("best_peer", ""))
        out.append({"workload": run["workload"], "threads": run["threads"], "valid": run["valid"], "own": own, "best": best})
    return out


def table(numbers: dict[str, Any]) -> str:
    machine = numbers["machine"]
    lines = [
        "# The latest run of `make bench`", "",
        f"{machine['cpu']}, {machine['cpus']} processors, {machine['ram_gb']:.0f} GB, scale {numbers['scale']}, "
        f"{numbers['rounds']} rounds, begun {numbers['started']}. What the columns mean: [README](../README.md).", "",
        "| workload | processors | Forebay, rows/s | best rival | its rows/s | ratio, 95 % | share of the floor | CPU-s/GB | check |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows_of(numbers):
        own, best = row["own"], row["best"]
        low, high = own.get("ratio_95", (0, 0))
        ratio = f"{own['ratio_to_best_peer']:.2f} [{low:.2f}, {high:.2f}]" if best else "–"
        floor = f"{100 * own['fraction_of_floor']:.0f} %" if own.get("fraction_of_floor") else "–"
        lines.append(f"| {row['workload']}{'' if row['valid'] else ' *'} | {row['threads']} | {rate(own['rows_per_s'])} | "
                     f"{best['contestant'] if best else '–'} | {rate(best['rows_per_s']) if best else '–'} | {ratio} | {floor} | "
                     f"{own['cpu_s_per_gb']:.2f} | {own['check']} |")
    if not all(row["valid"] for row in rows_of(numbers)):
        lines += ["", "\\* Other programs used the processors meanwhile, or the machine lost time to other guests: not valid."]
    failed = sorted({f"{name} ({run['workload']}): {why}" for run in numbers["runs"] for name, why in run["failed"].items()})
    if failed:
        lines += ["", "Took no part:", "", *(f"* {line.splitlines()[0][:160]}" for line in failed)]
    return "\n".join(lines) + "\n"


def plot(numbers: dict[str, Any], path: Path) -> None:
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    rows = [row for row in rows_of(numbers) if row["best"]]
    if not rows:
        return
    figure, axes = plt.subplots(figsize=(8, 0.34 * len(rows) + 1.2), layout="constrained")
    for place, row in enumerate(reversed(rows)):
        own = row["own"]
        ratio, (low, high) = own["ratio_to_best_peer"], own["ratio_95"]
        axes.barh(place, ratio, color="#2f6f8f" if row["threads"] == 1 else "#8fb8c9", xerr=[[max(0, ratio - low)], [max(0, high - ratio)]],
                  error_kw={"elinewidth": 1, "ecolor": "#333333"})
        axes.text(max(ratio, high) * 1.05, place, f"{ratio:.1f} × {row['best']['contestant']}", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [f"{row['workload']}, {row['threads']} CPU" for row in reversed(rows)], fontsize=8)
    axes.set_xscale("log")
    axes.axvline(1, color="#333333", linewidth=1)
    axes.set_xlim(right=axes.get_xlim()[1] * 2.5)
    axes.set_xlabel("rows/s against the best rival (median, 95 % interval)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    numbers = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "latest.md").write_text(table(numbers))
    print(f"\n{folder / 'latest.md'}")
    try:
        plot(numbers, folder / "latest.svg")
        print(folder / "latest.svg")
    except ImportError:
        print("no plot: matplotlib is not installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
