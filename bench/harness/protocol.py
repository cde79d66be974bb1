# SPDX-License-Identifier: Apache-2.0
"""Command-line protocol of a contestant (bench/README.md, section "Protocol").

A contestant script does

    from harness import protocol  # bench/ is on the path
    run = protocol.declare("name", {"name": {"workloads": [...]}, "name_variant": {...}})
    import heavy_library                      # only now: CPU affinity is set, --list already answered
    @run.workload("W1")
    def w1(c): return protocol.Pipeline(iterate, rows, tensors)
    run.main()

`iterate(epochs)` returns a fresh iterator over all batches of that many epochs, `rows(batch)` the number of rows of a
batch, `tensors(batch)` the checksum tensors (only called in a --check run).
"""
import argparse
import fnmatch
import json
import os
import resource
import sys
import time

from . import checksum

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")


PACKAGES = {"tensorflow": "tensorflow-cpu", "tf_slim": "tf-slim", "torch": "torch", "torchvision": "torchvision",
            "tfrecord": "tfrecord", "mlx": "mlx-data", "grain": "grain", "array_record": "array_record",
            "pandas": "pandas", "pyarrow": "pyarrow", "polars": "polars", "spdl": "spdl", "webdataset": "webdataset",
            "streaming": "mosaicml-streaming", "returnn": "returnn", "numpy": "numpy"}


class Unsupported(Exception):
    """Raised by a workload function for a value of --tune that makes no sense there."""


class Pipeline:
    def __init__(self, iterate, rows, tensors, close=None, extra=None):
        self.iterate, self.rows, self.tensors = iterate, rows, tensors
        self.close = close or (lambda: None)
        self.extra = extra or (lambda: {})


class Context:
    """What a workload function gets."""

    def __init__(self, args, workload):
        with open(os.path.join(args.data, "manifest.json")) as f:
            manifest = json.load(f)
        self.data, self.workload = args.data, workload
        self.spec = manifest["workloads"][workload]
        self.all_entries = self.spec["files"]
        self.entries = self.all_entries[:args.files] if args.files else self.all_entries
        self.files = [os.path.join(args.data, e["path"]) for e in self.entries]
        self.threads, self.batch, self.tune = args.threads, args.batch, args.tune
        self.variant = args.contestant
        self.options = {}

    @property
    def bytes_in(self):
        return sum(e["bytes"] for e in self.entries)

    @property
    def rows(self):
        return sum(e["rows"] for e in self.entries)

    def native(self, name):
        """Folder for data converted into the contestant's own format by --prepare."""
        path = os.path.join(self.data, "native", name)
        os.makedirs(path, exist_ok=True)
        return path


# ---------------------------------------------------------------- process accounting
def _descendants(pid):
    out, todo = [], [pid]
    while todo:
        p = todo.pop()
        try:
            for t in os.listdir(f"/proc/{p}/task"):
                with open(f"/proc/{p}/task/{t}/children") as f:
                    kids = [int(x) for x in f.read().split()]
                out += kids
                todo += kids
        except OSError:
            pass
    return out


def cpu_seconds():
    """User + system time of this process, its reaped children and its live descendants."""
    a, b = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    total = a.ru_utime + a.ru_stime + b.ru_utime + b.ru_stime
    tick = os.sysconf("SC_CLK_TCK")
    for p in _descendants(os.getpid()):
        try:
            with open(f"/proc/{p}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            total += sum(int(x) for x in fields[11:15]) / tick
        except OSError:
            pass
    return total


def _hwm(pid):
    try:
        with open(f"/proc/{pid}/status") as f:
            for line in f:
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


def peak_rss_mb():
    """Own VmHWM + VmHWM of live descendants (shared pages count once per process)."""
    return _hwm(os.getpid()) + sum(_hwm(p) for p in _descendants(os.getpid()))


def pin(threads):
    """Restricts this process to `threads` CPUs: the highest-numbered ones of those it may use."""
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cpus[-threads:])
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ[name] = str(threads)


# ---------------------------------------------------------------- the protocol
class Runner:
    def __init__(self, script, variants, args):
        self.script, self.variants, self.args = script, variants, args
        self.functions, self.preparers, self.cache = {}, {}, {}

    def workload(self, *names):
        def wrap(f):
            for n in names:
                self.functions[n] = f
            return f
        return wrap

    def prepare(self, *names):
        def wrap(f):
            for n in names:
                self.preparers[n] = f
            return f
        return wrap

    def _find(self, table, workload):
        for pattern, f in table.items():
            if fnmatch.fnmatchcase(workload, pattern):
                return f
        return None

    def one(self, args, cold):
        start = time.monotonic()
        key = (args.files, args.tune)
        if args.check or key not in self.cache:  # --serve: later passes reuse the pipeline object
            c = Context(args, args.workload)
            p = self._find(self.functions, args.workload)(c)
            if not args.check:
                self.cache[key] = c, p
        else:
            c, p = self.cache[key]
        result = {"contestant": args.contestant, "workload": args.workload, "threads": args.threads,
                  "batch": args.batch, "tune": args.tune, "files": len(c.files), "epochs": args.epochs}
        if args.check:
            total, batches = checksum.Checksum(), 0
            for b in p.iterate(1):
                total.add(p.tensors(b))
                batches += 1
            result.update(rows=total.rows, batches=batches, checksum=total.result(), **p.extra())
            return result
        if cold:
            it = iter(p.iterate(1))
            next(it)
            result["first_batch_s"] = time.monotonic() - start
            if hasattr(it, "close"):
                it.close()
            del it
        rows = batches = 0
        first = rss = None
        count = p.rows
        cpu = cpu_seconds()
        clock = time.monotonic
        t0 = last = clock()
        for b in p.iterate(args.epochs):
            last = clock()  # tearing the iterator down is not timed
            if first is None:
                first = last - t0
            rows += count(b)
            batches += 1
            if args.tune and batches & (batches - 1) == 0:  # while worker processes live; a few times per pass
                rss = peak_rss_mb()
        seconds = last - t0
        b = None
        result.update(rows=rows, batches=batches, bytes_in=c.bytes_in * args.epochs, seconds=seconds, restart_s=first,
                      cpu_s=cpu_seconds() - cpu, peak_rss_mb=max(rss or 0, peak_rss_mb()),
                      import_rss_mb=self.import_rss_mb, checksum=None, **p.extra())
        if rows != c.rows * args.epochs:
            result["error"] = f"delivered {rows} rows, expected {c.rows * args.epochs}"
        return result

    def versions(self):
        from importlib import metadata
        out = {"python": sys.version.split()[0]}
        for module, package in PACKAGES.items():
            if module in sys.modules:
                try:
                    out[package] = metadata.version(package)
                except metadata.PackageNotFoundError:
                    out[package] = getattr(sys.modules[module], "__version__", "?")
        return out

    def main(self):
        args = self.args
        self.import_rss_mb = peak_rss_mb()
        if args.prepare:
            f = self._find(self.preparers, args.workload)
            t = time.monotonic()
            if f:
                f(Context(args, args.workload))
            print(json.dumps({"contestant": args.contestant, "workload": args.workload,
                              "prepare_s": time.monotonic() - t if f else None}), flush=True)
            return
        if not args.serve:
            print(json.dumps(self.one(args, True)), flush=True)
            return
        out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)  # libraries that print must not disturb the protocol
        out.write(json.dumps({"ready": True, "versions": self.versions()}) + "\n")
        out.flush()
        cold = True
        for line in sys.stdin:
            for k, v in json.loads(line).items():
                setattr(args, k, v)
            try:
                r = self.one(args, cold and not args.check)
                cold = cold and args.check
            except Exception as e:  # reported, the round goes on
                r = {"contestant": args.contestant, "workload": args.workload, "error": f"{type(e).__name__}: {e}"[:500]}
            out.write(json.dumps(r) + "\n")
            out.flush()


def declare(script, variants):
    """Parses the command line; answers --list; pins the process.  Call before importing anything heavy."""
    ap = argparse.ArgumentParser(description=f"benchmark contestant {script}")
    ap.add_argument("--list", action="store_true", help="print the variants as JSON")
    ap.add_argument("--contestant", default=next(iter(variants)), choices=list(variants))
    ap.add_argument("--workload")
    ap.add_argument("--data")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--epochs", type=int, default=1)
    ap.add_argument("--files", type=int, default=0, help="use the first N files only")
    ap.add_argument("--tune", type=int, default=0, help="the contestant's one tuning knob, e.g. worker processes")
    ap.add_argument("--check", action="store_true", help="print the checksum instead of times")
    ap.add_argument("--prepare", action="store_true", help="convert the data into the contestant's own format")
    ap.add_argument("--serve", action="store_true", help="one result per JSON line on stdin (used by run.py)")
    args = ap.parse_args()
    if args.list:
        print(json.dumps({"script": script, "variants": variants}))
        sys.exit(0)
    if not args.workload or not args.data:
        ap.error("--workload and --data are required")
    if args.workload not in variants[args.contestant]["workloads"]:
        ap.error(f"{args.contestant} does not do {args.workload}")
    pin(args.threads)
    return Runner(script, variants, args)
