#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/images/speed.svg, the picture of the README, from the first table of bench/results/rivals.md.

    bench/speed_picture.py           writes it
    bench/speed_picture.py --check   fails if it is not that of the table
"""
from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results/rivals.md"
PICTURE = ROOT / "docs/images/speed.svg"
#: Rows of the table that are drawn, and what they are in words.
SHOWN = {"W1": "64 floats and a label", "W12": "shuffle of 100,000", "W13": "global shuffle", "W6, two passes": "gzip, two passes",
         "W2": "40 features"}
WIDTH, LEFT, BAR, STEP, TOP = 760, 170, 15, 48, 44


def rate(text: str) -> float:
    """The rows a second of "9.37 M"."""
    found = re.match(r"([\d.]+) M", text.strip())
    if found is None:
        raise SystemExit(f"{RESULTS}: {text!r} is no rate")
    return float(found[1]) * 1e6


def rows() -> "list[tuple[str, float, float, str]]":
    """Of each row that is drawn: its words, Forebay's rate, the best other one, and the ratio."""
    table = RESULTS.read_text().split("## On a processor with AVX2")[1].split("## ")[0]
    found = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0] in SHOWN and cells[1] == "1":
            found[cells[0]] = (SHOWN[cells[0]], rate(cells[2]), rate(cells[3]), cells[4].split()[0])
    return [found[name] for name in SHOWN]


def picture() -> str:
    shown = rows()
    most = max(row[1] for row in shown)
    height = TOP + STEP * len(shown) + 8
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
           'font-family="sans-serif" font-size="13" role="img">',
           "<title>Rows a second on one processor, Forebay and the fastest other system</title>",
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="20" fill="#1f2933" font-weight="bold">Millions of rows a second, one processor</text>',
           f'<rect x="{WIDTH - 280}" y="10" width="12" height="12" fill="#0b6e99"/><text x="{WIDTH - 262}" y="20" '
           'fill="#1f2933">Forebay</text>',
           f'<rect x="{WIDTH - 190}" y="10" width="12" height="12" fill="#9aa5b1"/><text x="{WIDTH - 172}" y="20" '
           'fill="#1f2933">the fastest other system</text>']
    for place, (words, own, other, ratio) in enumerate(shown):
        y = TOP + STEP * place
        scale = (WIDTH - LEFT - 130) / most
        out.append(f'<text x="{LEFT - 10}" y="{y + 20}" text-anchor="end" fill="#1f2933">{words}</text>')
        for line, (value, color, weight) in enumerate(((own, "#0b6e99", "bold"), (other, "#9aa5b1", "normal"))):
            length, top = max(2.0, value * scale), y + line * (BAR + 2)
            text = f"{value / 1e6:.1f}" if value >= 1e6 else f"{value / 1e6:.2g}"
            text += (f", {ratio} times" if line == 0 else "")
            out.append(f'<rect x="{LEFT}" y="{top}" width="{length:.0f}" height="{BAR}" fill="{color}"/>')
            out.append(f'<text x="{LEFT + length + 6:.0f}" y="{top + 12}" fill="#1f2933" font-weight="{weight}">{text}</text>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(0 if PICTURE.exists() and PICTURE.read_text() == picture() else
                 f"{PICTURE}: not that of {RESULTS.name}; run bench/speed_picture.py")
    PICTURE.write_text(picture())
