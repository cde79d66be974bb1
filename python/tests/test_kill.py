# SPDX-License-Identifier: Apache-2.0
"""A trainer that is killed at random moments sees the stream of one that is not: with FOREBAY_LONG_TESTS=1 (`make test-all`) it is
killed 352 times or more in all, in CI 96 times."""
from __future__ import annotations

import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from streams import digest, examples, write_parts

import forebay as fb

TESTS = pathlib.Path(__file__).resolve().parent
KILLS = 44 if os.environ.get("FOREBAY_LONG_TESTS") else 12
PLAIN = (None,) * 5
GZIP = ("gzip",) * 5


def corrupt_parts(folder):
    """Two plain files and a compressed one with corrupt payloads and frame headers, and records that are not messages."""
    paths = write_parts(folder, packings=PLAIN)
    for path, share in ((paths[0], 0.3), (paths[2], 0.5), (paths[4], 0.8)):
        data = bytearray(pathlib.Path(path).read_bytes())
        for at in (int(len(data) * share), int(len(data) * share) + 150, int(len(data) * share) + 151):
            data[at] ^= 0x40
        pathlib.Path(path).write_bytes(gzip.compress(data) if path == paths[4] else data)
    fb.write_records(paths[3], [*fb.read_records(paths[3]), b"no message"])
    return paths


def with_skips(pipe):
    return type(pipe)({**pipe.to_dict(), "on_corrupt": "skip_record"})


CASES = {
    "plain": lambda folder: examples(write_parts(folder, packings=PLAIN)).batch(7).epochs(3),
    "gzip": lambda folder: examples(write_parts(folder, packings=GZIP)).batch(7).epochs(3).epoch_boundary("hard"),
    "buffer": lambda folder: examples(write_parts(folder)).shuffle(buffer=50).batch(7).epochs(3).seed(1),
    "global": lambda folder: examples(write_parts(folder)).shuffle(global_=True).batch(7).epochs(3).seed(2),
    "global of gzip, then buffer": lambda folder: examples(write_parts(folder, packings=GZIP)).shuffle(global_=True)
    .shuffle(buffer=20).take(300).batch(7, remainder="drop").epochs(4),
    "interleave and padding": lambda folder: examples(write_parts(folder)).shuffle(buffer=3).interleave(cycle=3, block=2)
    .shuffle(buffer=30).batch(7, pad=True, remainder="pad").epochs(3),
    "corrupt": lambda folder: with_skips(examples(corrupt_parts(folder)).shuffle(buffer=30).batch(7).epochs(3)),
    "corrupt, global": lambda folder: with_skips(examples(corrupt_parts(folder)).shuffle(global_=True).batch(7).epochs(3)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_trainer_that_is_killed_sees_the_stream_of_one_that_is_not(case, tmp_path):
    (tmp_path / "document.json").write_text(CASES[case](tmp_path).to_json())
    with fb.load(tmp_path / "document.json", threads=2) as loader:
        lines = [f"{batch.number} {digest(batch)}\n" for batch in loader]
        assert (loader.stats().skipped_records > 0) == case.startswith("corrupt")
    assert len(lines) > 90 and len(set(lines)) == len(lines)
    (tmp_path / "unbroken.log").write_text("".join(lines))
    shutil.rmtree(tmp_path / ".forebay", ignore_errors=True)
    seed = list(CASES).index(case)
    done = subprocess.run([sys.executable, TESTS / "kill_trainer.py", tmp_path, str(KILLS), str(seed)], cwd=TESTS,
                          capture_output=True, text=True, timeout=100, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    said = [line for line in done.stderr.splitlines() if not line.startswith("forebay: record indexes are stored in ")]
    assert (done.returncode, said) == (0, [])
    assert json.loads(done.stdout)["kills"] >= KILLS
