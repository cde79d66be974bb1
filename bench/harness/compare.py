#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs contestants against each other (bench/README.md).  Standard library only.

    python bench/harness/compare.py --data DIR --workloads W1,W2 --contestants tf_data,torch_loader --threads 1,2 --rounds 7 --out results.json
    python bench/harness/compare.py --data DIR --workloads W1 --contestant forebay='forebay-bench {workload} --data {data} --threads {threads} --batch {batch}'
"""
import argparse
import fnmatch
import glob
import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from harness import verify  # noqa: E402
from harness.contestants import batch_size, discover  # noqa: E402
from harness.machine import PageLock, bootstrap, cpu_times, machine, major_faults, median  # noqa: E402


# ---------------------------------------------------------------- floors
FLOORS = {"W4b": "jpeg", "W4c": "jpeg", "W6": "inflate", "W6b": "inflate", "W7": "pread", "W8": "gather", "W9": "window",
          "W10": "memcpy", "W13": "gather"}


def build_floors(o):
    """The program of the floors and the libraries it has, or None and the reason."""
    source, binary = os.path.join(HERE, "floors.cc"), os.path.join(o.logs, "floors")
    compiler = shutil.which("g++")
    if not compiler:
        return None, "there is no g++"
    isal, jpeg = ["-DHAVE_ISAL", "-lisal"], ["-DHAVE_JPEG", "-ljpeg"]
    for extra in (isal + jpeg, isal, ["-DHAVE_ZLIB", "-lz"] + jpeg, jpeg, ["-DHAVE_ZLIB", "-lz"], []):
        r = subprocess.run([compiler, "-std=c++20", "-O3", "-march=native", source, "-o", binary, "-pthread", *extra],
                           capture_output=True)
        if r.returncode == 0:
            return binary, [x for x in extra if x.startswith("-D")]
    return None, f"g++: {(r.stderr.decode(errors='replace').strip().splitlines() or ['no reason given'])[0]}"


def floor_pass(o, kind, workload, spec, threads):
    rows = sum(e["rows"] for e in spec["files"])
    command = [o.floors, kind, "--threads", str(threads), "--min-seconds", "0.2"]
    if kind == "gather":
        command += ["--rows", str(rows), "--record", "3073" if workload == "W8" else "264"]
    elif kind == "window":
        command += ["--rows", str(rows), "--record", str(64 * 164)]
    else:
        paths = [os.path.join(o.data, e["path"]) for e in spec["files"]]
        if spec.get("in_memory"):
            paths = sorted(x for p in paths for x in glob.glob(p + ".*"))
        command += paths
    cpus = sorted(os.sched_getaffinity(0))[-threads:]
    r = subprocess.run(command, capture_output=True, text=True, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    if r.returncode:
        return None
    out = json.loads(r.stdout)
    out["rows_per_s"] = rows / out["seconds"]
    return out


# ---------------------------------------------------------------- one workload
def choose(o, contestant, spec, threads):
    """Tuning value, files and epochs for timed passes; the passes made here also warm up."""
    n = len(spec["files"])
    best = None
    few = min(threads, n)  # a pipeline may be parallel by file
    first = error = None
    for value in contestant.tune:
        try:
            r = contestant.run(o, files=few, epochs=1, tune=value, check=False)
            first = first or r.get("first_batch_s")
            if r["seconds"] < o.target / 2:  # too short to judge
                plan = {"files": n, "tune": value, "check": False,
                        "epochs": max(1, min(1000, round(o.target / 2 / max(r["seconds"] * n / few, 1e-4))))}
                tries = [contestant.run(o, **plan) for _ in range(3 if len(contestant.tune) > 1 else 1)]
                r = min(tries, key=lambda x: x["seconds"])  # a slow moment of the machine must not decide
        except RuntimeError as e:  # this value is not for this workload
            error = e
            continue
        rate = r["rows"] / r["seconds"]
        if best is None or rate > best[0]:
            best = rate, value, r
    if best is None:
        raise error
    _, value, r = best
    files, epochs = (few, 1) if r["files"] == few and r["seconds"] > o.target else (n, 1)
    predicted = r["seconds"] / r["epochs"] * files / r["files"]
    if predicted < o.target:
        epochs = max(1, min(1000, round(o.target / max(predicted, 1e-4))))
    rounds = min(o.rounds, max(3, int(o.cap / (predicted * epochs))))
    return {"files": files, "epochs": epochs, "tune": value}, first, rounds


def run_workload(o, workload, threads, contestants, spec, checked):
    print(f"\n== {workload}  threads {threads}  batch {batch_size(workload)}", flush=True)
    before = cpu_times()
    load = os.getloadavg()[0]
    live, plans, failed, info, limit = [], {}, {}, {}, {}
    for c in contestants:
        try:
            if checked.get((workload, c.name)) is None:
                prepare_s = c.prepare(o, workload, threads) if o.prepare else None
            c.start(o, workload, threads)
            if checked.get((workload, c.name)) is None:
                r = c.run(o, files=1, epochs=1, tune=c.tune[0], check=True)
                v = verify.verdict(r, spec, 1)
                checked[(workload, c.name)] = (v, prepare_s, {k: r[k] for k in ("pad_efficiency", "mean_pixel") if k in r})
            v = checked[(workload, c.name)][0]
            if v not in ("exact", "approx"):
                raise RuntimeError(f"wrong output: {v}")
            plans[c.name], first, limit[c.name] = choose(o, c, spec, threads)
            if plans[c.name]["tune"] != c.tune[0]:  # the output of the value that is going to be timed
                v = verify.verdict(c.run(o, files=1, epochs=1, tune=plans[c.name]["tune"], check=True), spec, 1)
                if v not in ("exact", "approx"):
                    raise RuntimeError(f"wrong output with tune {plans[c.name]['tune']}: {v}")
            info[c.name] = {"first_batch_s": first, "versions": c.versions}
            live.append(c)
        except (RuntimeError, OSError, subprocess.TimeoutExpired, json.JSONDecodeError, KeyError) as e:
            failed[c.name] = str(e)
            print(f"  {c.name}: FAILED {e}", flush=True)
            c.stop()
    if o.lock:
        o.lock.tree(o.data)
        for c in live:
            if getattr(c, "proc", None):
                o.lock.mapped(c.proc.pid)
    faults = major_faults()
    floors = {}
    kinds = ["pread", FLOORS.get(workload, "crc")] if o.floors else []
    rounds = {c.name: [] for c in live}
    for r in range(o.rounds):
        for c in live if r % 2 == 0 else live[::-1]:
            if c.name in failed or r >= limit[c.name]:
                continue
            try:
                res = c.run(o, check=False, **plans[c.name])
                if c.group == "product" and "first_batch_s" in res:
                    info[c.name]["first_batch_s"] = res["first_batch_s"]
                rounds[c.name].append(res)
            except (RuntimeError, OSError, subprocess.TimeoutExpired, json.JSONDecodeError) as e:
                failed[c.name] = str(e)
                print(f"  {c.name}: FAILED {e}", flush=True)
        for k in dict.fromkeys(kinds):
            f = floor_pass(o, k, workload, spec, threads)
            if f:
                floors.setdefault(k, []).append(f)
    for c in live:
        c.stop()
    after = cpu_times()
    faults = major_faults() - faults
    d = {k: after[k] - before[k] for k in before}
    steal = d["steal"] / max(1, d["total"])
    foreign = max(0.0, d["busy"] - d["own"]) / d["wall"]  # CPUs that other programs (and the kernel) used meanwhile
    rows = []
    rates = {n: [x["rows"] / x["seconds"] for x in v] for n, v in rounds.items() if v and n not in failed}
    group = {c.name: c.group for c in live}
    peers = [n for n in rates if group[n] == "peer"]
    best = max(peers, key=lambda n: median(rates[n])) if peers else None
    main = kinds[-1] if kinds else None
    floor_rate = median([f["rows_per_s"] for f in floors[main]]) if main in floors else None
    for n, v in rates.items():
        last = rounds[n]
        gb = last[0]["bytes_in"] / 1e9
        lo, hi = min(v), max(v)
        entry = {
            "workload": workload, "threads": threads, "contestant": n, "group": group[n], "plan": plans[n],
            "check": checked[(workload, n)][0], "rows_per_s": median(v),
            "mb_per_s": median([x["bytes_in"] / x["seconds"] / 1e6 for x in last]),
            "cpu_s_per_gb": median([x["cpu_s"] / gb for x in last]),
            "cpu_us_per_row": median([x["cpu_s"] / x["rows"] * 1e6 for x in last]),
            "peak_rss_mb": max(x["peak_rss_mb"] for x in last), "import_rss_mb": last[0].get("import_rss_mb"),
            "restart_s": median([x["restart_s"] for x in last if x.get("restart_s") is not None] or [0.0]),
            "spread": (hi - lo) / median(v), "rounds": v, "floor": main,
            "fraction_of_floor": median(v) / floor_rate if floor_rate else None,
            **checked[(workload, n)][2], **info[n]}
        if best:
            ratio = [a / b for a, b in zip(v, rates[best])]
            entry["best_peer"] = best
            entry["ratio_to_best_peer"] = median(ratio)
            entry["ratio_95"] = bootstrap(ratio) if len(ratio) > 1 else (ratio[0], ratio[0])
        rows.append(entry)
    rows.sort(key=lambda e: -e["rows_per_s"])
    print(f"  {'contestant':22}{'group':10}{'rows/s':>12}{'MB/s':>9}{'CPU-s/GB':>10}{'RSS MB':>8}{'1st s':>8}"
          f"{'spread':>8}{'ratio':>8}  95 %{'':12}{'% floor':>8}  plan")
    for e in rows:
        lo, hi = e.get("ratio_95", (0, 0))
        frac = f"{100 * e['fraction_of_floor']:.1f}" if e["fraction_of_floor"] else "-"
        first = f"{e['first_batch_s']:.3f}" if e.get("first_batch_s") is not None else "-"
        p = e["plan"]
        print(f"  {e['contestant']:22}{e['group']:10}{e['rows_per_s']:12.0f}{e['mb_per_s']:9.1f}{e['cpu_s_per_gb']:10.2f}"
              f"{e['peak_rss_mb']:8.0f}{first:>8}{100 * e['spread']:7.0f}%{e.get('ratio_to_best_peer', 0):8.3f}  "
              f"[{lo:.3f}, {hi:.3f}]{frac:>8}  files {p['files']} epochs {p['epochs']} tune {p['tune']}")
    for k, v in floors.items():
        print(f"  floor {k}: {median([f['gb_per_s'] for f in v]):.2f} GB/s, {median([f['rows_per_s'] for f in v]):.0f} rows/s")
    print(f"  load before {load:.2f}, steal {100 * steal:.2f} %, CPUs used by others {foreign:.2f}, major faults {faults}" + ("  INVALID" if steal > 0.02 or foreign > 0.1 else ""), flush=True)
    return {"workload": workload, "threads": threads, "batch": batch_size(workload), "load_before": load,
            "load_after": os.getloadavg()[0], "steal": steal, "foreign_cpus": foreign, "major_faults": faults,
            "valid": steal <= 0.02 and foreign <= 0.1, "results": rows, "failed": failed,
            "floors": {k: {"gb_per_s": median([f["gb_per_s"] for f in v]), "rows_per_s": median([f["rows_per_s"] for f in v]),
                           "rounds_gb_per_s": [f["gb_per_s"] for f in v]} for k, v in floors.items()}}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--data", required=True)
    ap.add_argument("--workloads", default="", help="comma separated, default all in the manifest")
    ap.add_argument("--contestants", default="", help="comma separated names or patterns, default all")
    ap.add_argument("--contestant", action="append", default=[], metavar="NAME=TEMPLATE", help="external command")
    ap.add_argument("--python", action="append", default=[], metavar="PATTERN=INTERPRETER",
                    help="interpreter for contestant scripts whose file name matches")
    ap.add_argument("--skip", action="append", default=[], metavar="CONTESTANT:WORKLOAD", help="patterns to leave out")
    ap.add_argument("--threads", default="1,2")
    ap.add_argument("--rounds", type=int, default=7)
    ap.add_argument("--target", type=float, default=1.0, help="seconds per timed pass (more files / epochs until reached)")
    ap.add_argument("--cap", type=float, default=30.0,
                    help="seconds all rounds of one contestant may take; slower ones get fewer rounds, at least 3")
    ap.add_argument("--timeout", type=float, default=180.0, help="seconds one pass may take")
    ap.add_argument("--no-prepare", dest="prepare", action="store_false", help="native formats exist already")
    ap.add_argument("--no-lock", dest="lock", action="store_false", help="do not keep data and libraries in memory by mlock")
    ap.add_argument("--no-floors", dest="want_floors", action="store_false")
    ap.add_argument("--out", default="results.json")
    ap.add_argument("--logs", default="bench-logs", help="folder for contestants' stderr and the floors binary")
    o = ap.parse_args()
    o.python = [x.split("=", 1) for x in o.python]
    os.makedirs(o.logs, exist_ok=True)
    with open(os.path.join(o.data, "manifest.json")) as f:
        manifest = json.load(f)
    o.lock = PageLock() if o.lock else None
    if o.lock:
        o.lock.tree(o.data)
        print(f"locked {o.lock.bytes / 1e6:.0f} MB of data in memory" + (f", {o.lock.failed} files not" if o.lock.failed else ""))
    o.floors, floors = build_floors(o) if o.want_floors else (None, "not asked for")
    found, unlisted = discover(o)
    external = {s.split("=", 1)[0] for s in o.contestant}
    patterns = [p for p in o.contestants.split(",") if p] or ["*"]
    chosen = [c for n, c in found.items() if n in external or any(fnmatch.fnmatchcase(n, p) for p in patterns)]
    workloads = [w for w in o.workloads.split(",") if w] or list(manifest["workloads"])
    out = {"machine": machine(), "scale": manifest["scale"], "seed": manifest["seed"], "rounds": o.rounds,
           "target_seconds": o.target, "floors_built_with": floors if o.floors else None,
           "no_floors": "" if o.floors else f"The floors were not built: {floors}.", "no_data": {}, "not_listed": unlisted,
           "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "runs": []}
    checked = {}
    for w in workloads:
        if w not in manifest["workloads"]:
            out["no_data"][w] = manifest.get("left_out", {}).get(w) or "the data have no such workload"
            print(f"\n== {w}  left out: {out['no_data'][w]}", flush=True)
            continue
        for t in [int(x) for x in o.threads.split(",")]:
            c = [x for x in chosen if x.does(w) and not any(
                fnmatch.fnmatchcase(f"{x.name}:{w}", p) for p in o.skip)]
            if c:
                out["runs"].append(run_workload(o, w, t, c, manifest["workloads"][w], checked))
                with open(o.out, "w") as f:
                    json.dump(out, f, indent=1)
    out["locked_mb"] = o.lock.bytes / 1e6 if o.lock else 0
    out["finished"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with open(o.out, "w") as f:
        json.dump(out, f, indent=1)


if __name__ == "__main__":
    main()
