# SPDX-License-Identifier: Apache-2.0
"""The programs that take part in a comparison, by the protocol of bench/README.md."""
import fnmatch
import glob
import json
import os
import select
import shlex
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = {"W4a": 32, "W4b": 32, "W4c": 32, "W5": 16, "W9": 128}



def batch_size(workload):
    return BATCH.get(workload, 256)

class Script:
    """A script in bench/rivals, kept alive with --serve, so that imports are paid once and rounds can be interleaved."""

    def __init__(self, name, info, path, python):
        self.name, self.info, self.path, self.python = name, info, path, python
        self.group = info.get("group", "peer")
        self.tune = info.get("tune", [0])
        self.proc = None

    def does(self, workload):
        return workload in self.info["workloads"]

    def command(self, o, workload, threads):
        return [self.python, self.path, "--contestant", self.name, "--workload", workload, "--data", o.data,
                "--threads", str(threads), "--batch", str(batch_size(workload))]

    def prepare(self, o, workload, threads):
        r = subprocess.run(self.command(o, workload, threads) + ["--prepare"], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=o.timeout)
        if r.returncode:
            raise RuntimeError((r.stderr.strip().splitlines() or ["?"])[-1][:300])
        return json.loads(r.stdout.strip().splitlines()[-1])["prepare_s"]

    def start(self, o, workload, threads):
        env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore")
        self.log = open(os.path.join(o.logs, f"{workload}-{threads}-{self.name}.log"), "w")
        self.proc = subprocess.Popen(self.command(o, workload, threads) + ["--serve"], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=self.log, text=True, env=env, start_new_session=True)
        self.versions = self._read(o.timeout)["versions"]

    def _read(self, timeout):
        if not select.select([self.proc.stdout], [], [], timeout)[0]:
            self.stop()
            raise RuntimeError(f"no answer within {timeout:.0f} s")
        line = self.proc.stdout.readline()
        if not line:
            code = self.proc.wait()
            with open(self.log.name) as f:
                tail = [x for x in f.read().strip().splitlines() if x.strip()][-1:]
            self.proc = None
            raise RuntimeError(f"exit {code}: {tail[0][:300] if tail else ''}")
        return json.loads(line)

    def run(self, o, **request):
        if self.proc is None:
            raise RuntimeError("not running")
        self.proc.stdin.write(json.dumps(request) + "\n")
        self.proc.stdin.flush()
        r = self._read(o.timeout)
        if r.get("error"):
            raise RuntimeError(r["error"])
        return r

    def stop(self):
        if self.proc is None:
            return
        proc, self.proc = self.proc, None
        try:
            proc.stdin.close()
            proc.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            os.killpg(proc.pid, signal.SIGKILL)  # its own session: this contestant and its workers only
            proc.wait()
        self.log.close()


class Command:
    """An external program: one process per pass, command line from a template."""

    def __init__(self, name, template):
        self.name, self.template, self.group, self.tune = name, template, "product", [0]
        self.versions = {}

    def does(self, workload):
        return True

    def prepare(self, o, workload, threads):
        return None

    def start(self, o, workload, threads):
        self.workload, self.threads = workload, threads

    def run(self, o, files=0, epochs=1, tune=0, check=False):
        line = self.template.format(workload=self.workload, data=shlex.quote(o.data), threads=self.threads,
                                    batch=batch_size(self.workload))
        line += f" --files {files} --epochs {epochs}" + (" --check" if check else "")
        cpus = sorted(os.sched_getaffinity(0))[-self.threads:]
        r = subprocess.run(shlex.split(line), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=o.timeout,
                           preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        if r.returncode:
            raise RuntimeError(f"exit {r.returncode}: {(r.stderr.strip().splitlines() or ['?'])[-1][:300]}")
        return json.loads(r.stdout.strip().splitlines()[-1])

    def stop(self):
        pass


def discover(o):
    """The contestants by name, and why the variants of a script are not known, by script."""
    found, unlisted = {}, {}
    for path in sorted(glob.glob(os.path.join(os.path.dirname(HERE), "rivals", "*.py"))):
        stem = os.path.basename(path)[:-3]
        python = sys.executable
        for pattern, value in o.python:
            if fnmatch.fnmatchcase(stem, pattern):
                python = value
                break
        r = subprocess.run([sys.executable, path, "--list"], capture_output=True, text=True)
        if r.returncode:
            r = subprocess.run([python, path, "--list"], capture_output=True, text=True)
        if r.returncode:
            unlisted[stem] = (r.stderr.strip().splitlines() or ["?"])[-1]
            print(f"{stem}: --list failed: {unlisted[stem]}", file=sys.stderr)
            continue
        for name, info in json.loads(r.stdout)["variants"].items():
            found[name] = Script(name, info, path, python)
    for spec in o.contestant:
        name, template = spec.split("=", 1)
        found[name] = Command(name, template)
    return found, unlisted
