# SPDX-License-Identifier: Apache-2.0
"""Checks of a --check result against the manifest (standard library only)."""


def merge(results):
    """The checksum of the union of several sets of rows."""
    out = {"rows": 0, "elements": 0, "hash": 0, "sums": {}}
    for r in results:
        out["rows"] += r["rows"]
        out["elements"] += r["elements"]
        out["hash"] = (out["hash"] + int(r["hash"], 16)) & ((1 << 64) - 1)
        for k, v in r["sums"].items():
            out["sums"][k] = out["sums"].get(k, 0.0) + v
    out["hash"] = f"{out['hash']:016x}"
    return out


def compare(got, want, rel=1e-6):
    """'exact', 'approx' (same rows, elements and sums within `rel`) or a text that names the difference."""
    for key in ("rows", "elements"):
        if got[key] != want[key]:
            return f"{key}: got {got[key]}, expected {want[key]}"
    if want["hash"] != "any" and got["hash"] == want["hash"]:
        return "exact"
    for key, value in want["sums"].items():
        have = got["sums"].get(key)
        if have is None:
            return f"{key}: missing"
        if abs(have - value) > rel * max(1.0, abs(value)):
            return f"{key}: sum {have!r}, expected {value!r}"
    return "approx"


def expected(entries):
    return merge([e["checksum"] for e in entries])


def verdict(result, spec, files=0):
    """'exact', 'approx' or the reason why the output of a --check run is not the expected one."""
    entries = spec["files"][:files] if files else spec["files"]
    if result.get("error"):
        return result["error"]
    v = compare(result["checksum"], expected(entries))
    if v in ("exact", "approx") and "mean_pixel" in result and result["workload"] == "W4b":
        want = sum(e["mean_pixel"] * e["rows"] for e in entries) / sum(e["rows"] for e in entries)
        if abs(want - result["mean_pixel"]) > 0.5:
            return f"mean pixel {result['mean_pixel']:.3f}, expected {want:.3f}"
    return v
