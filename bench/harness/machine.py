# SPDX-License-Identifier: Apache-2.0
"""Statistics of rounds, and what the machine did meanwhile."""
import ctypes
import os
import platform
import random
import statistics


def median(v):
    return statistics.median(v)


def bootstrap(values, seed=1, n=2000):
    """95 % interval of the median."""
    rng = random.Random(seed)
    meds = sorted(median(rng.choices(values, k=len(values))) for _ in range(n))
    return meds[int(0.025 * n)], meds[int(0.975 * n) - 1]


def cpu_times():
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:]]
    own = os.times()
    busy = sum(v[:3]) + sum(v[5:7])
    return {"total": sum(v[:8]), "steal": v[7], "busy": busy / os.sysconf("SC_CLK_TCK"), "wall": own.elapsed,
            "own": own.user + own.system + own.children_user + own.children_system}


def major_faults():
    with open("/proc/vmstat") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("pgmajfault "))


def machine():
    model = "?"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo") as f:
        ram = int(f.readline().split()[1]) / 1e6
    return {"cpu": model, "cpus": len(os.sched_getaffinity(0)), "ram_gb": round(ram, 1), "kernel": platform.release(),
            "arch": platform.machine()}


class PageLock:
    """Keeps files in the page cache with mlock for the whole run.

    Guests with proactive reclaim (DAMON, balloons) drop clean pages that were idle for a few seconds: data files between two
    passes, and the code of a waiting contestant's libraries.  Without the lock a pass then measures the disk."""

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mmap.restype = ctypes.c_void_p
        self.libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
        self.libc.mlock.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        with open("/proc/meminfo") as f:
            self.room = int(f.readline().split()[1]) * 1024 // 2
        self.seen, self.bytes, self.failed = set(), 0, 0

    def file(self, path):
        if path in self.seen:
            return
        self.seen.add(path)
        try:
            size = os.path.getsize(path)
            if not size or self.bytes + size > self.room:
                self.failed += size > 0
                return
            fd = os.open(path, os.O_RDONLY)
        except OSError:
            return
        address = self.libc.mmap(None, size, 1, 1, fd, 0)  # PROT_READ, MAP_SHARED
        os.close(fd)
        if address in (None, ctypes.c_void_p(-1).value) or self.libc.mlock(address, size):
            self.failed += 1
        else:
            self.bytes += size

    def tree(self, root):
        for base, _, names in os.walk(root):
            for n in names:
                self.file(os.path.join(base, n))

    def mapped(self, pid):
        try:
            with open(f"/proc/{pid}/maps") as f:
                paths = {line.split(maxsplit=5)[5].strip() for line in f if "/" in line and ".so" in line}
        except OSError:
            return
        for p in paths:
            self.file(p)
