# SPDX-License-Identifier: Apache-2.0
"""What must hold where the wheel is installed and nothing else is. tools/wheels/check.py runs this with the interpreter of such an
environment: installed.py REPOSITORY alone|shared. `alone`: in a root folder that has no libraries but those that every Linux has.
"""
from __future__ import annotations

import ctypes
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import wave

LIMIT_IMPORT = 0.4   # seconds above NumPy's; ten times what is meant, since other programs may run meanwhile
BROUGHT_ALONG = ["libisal.so.2", "libfmt.so.9", "libjpeg.so.62", "libsndfile.so.1", "libFLAC.so.12", "libsoxr.so.0", "libmpg123.so.0", "libwebp.so.7"]
BIN = pathlib.Path(sys.executable).parent


def command(*arguments: object, code: int = 0) -> str:
    """What the console script prints; it must end with that code."""
    done = subprocess.run([BIN / "forebay", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if done.returncode != code:
        raise SystemExit(f"forebay {' '.join(map(str, arguments))}: exit {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_emptiness(alone: bool) -> None:
    for compiler in ("cc", "c++", "gcc", "g++", "clang"):
        if found := shutil.which(compiler):
            raise SystemExit(f"the environment is not empty: it has {found}")
    for library in BROUGHT_ALONG if alone else []:
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        raise SystemExit(f"the environment is not empty: it has {library}")


def check_readme(repository: pathlib.Path) -> str:
    done = subprocess.run([sys.executable, repository / "tools/run_pages.py", BIN, repository / "README.md"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"README.md:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def seconds(module: str) -> float:
    """Processor time of an import in a process of its own; the best of five."""
    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def once() -> float:
        before = used()
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        return used() - before
    return min(once() for _ in range(5))


def check_import() -> str:
    numpy, forebay = seconds("numpy"), seconds("forebay")
    if forebay > numpy + LIMIT_IMPORT:
        raise SystemExit(f"import forebay takes {forebay:.3f} s, import numpy {numpy:.3f} s")
    return f"import takes {1000 * (forebay - numpy):.0f} ms of a processor more than NumPy's {1000 * numpy:.0f}"


def check_command(repository: pathlib.Path) -> str:
    """Every verb on real files; the run delivers what that of the build folder does (expected.json)."""
    shutil.copytree(repository / "examples/taxi", "taxi")
    document, data = "taxi/loader.json", sorted(pathlib.Path("taxi/data").glob("*.gz"))
    delivered = json.loads(command("run", document, "--digest", "--json", "--batches", 20, "--save-state", "state.json"))
    if delivered != json.loads((repository / "expected.json").read_text()):
        raise SystemExit(f"forebay run delivers other rows: {delivered}")
    if "trip_miles" not in command("head", data[0]) + command("schema", data[0]):
        raise SystemExit("head and schema show no trip_miles")
    command("check", document)
    command("explain", document)
    command("state", "state.json")
    command("index", data[0], "--compression", "gzip")
    command("verify", data[0], "--compression", "gzip")
    command("bench", document)
    command("check", "nowhere.json", code=4)
    command("run", code=2)
    page = subprocess.Popen([BIN / "forebay", "view", document], stdout=subprocess.PIPE, text=True)
    assert page.stdout is not None
    try:
        address = page.stdout.readline()
        page.send_signal(signal.SIGINT)
        if not address.startswith("http://127.0.0.1:") or page.wait(20) != 130:
            raise SystemExit(f"forebay view printed {address!r} and ended with {page.returncode}")
    finally:
        page.kill()
    return "every verb runs"


def check_codecs() -> None:
    """Compressions, and sound at another rate: libraries that the wheel brings along."""
    import forebay as fb
    record = b"x" * 1000
    for compression in ("gzip", "zlib", "zstd", "bzip2", "xz"):
        fb.write_records("one", [record], compression)
        if list(fb.read_records("one", compression)) != [record]:
            raise SystemExit(f"{compression} does not give back what was written")
    with wave.open("one.wav", "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(16000))
    samples, rate = fb.decode_audio(pathlib.Path("one.wav").read_bytes(), sample_rate=16000)
    if (len(samples), rate) != (16000, 16000):
        raise SystemExit(f"decode_audio gives {len(samples)} samples at {rate} a second")


def main(repository: pathlib.Path, alone: bool) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)   # programs that are started in the background begin with it ignored
    check_emptiness(alone)
    said = [check_readme(repository), check_import()]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        said.append(check_command(repository))
        check_codecs()
        os.chdir("/")
    print("; ".join(said))
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2] == "alone"))
