# SPDX-License-Identifier: Apache-2.0
"""Trainings by Accelerate, Lightning and the Trainer of Hugging Face, with 1 and 2 processes that are killed in the middle of an
epoch and go on: the losses are those of an unbroken training. They run where the packages are installed:
`make test-frameworks` does that."""
from __future__ import annotations

import importlib.util
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest
from streams import write_parts

TESTS = pathlib.Path(__file__).resolve().parent
PACKAGES = {"accelerate": "accelerate", "lightning": "pytorch_lightning", "transformers": "transformers"}
DIE_AT = (18, 44)  # in the first and in the second of two epochs of 25 batches


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def train(framework: str, folder: pathlib.Path, ranks: int, die_at: int = 0) -> dict[int, float]:
    """The loss of each step, after one life of the processes. They run until the end, or until step `die_at`."""
    port = free_port()
    processes = [subprocess.Popen([sys.executable, str(TESTS / "training_cases.py"), framework, str(folder), str(rank), str(ranks),
                                   str(port), str(die_at)], cwd=TESTS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                 for rank in range(ranks)]
    try:
        end = time.monotonic() + 300
        while time.monotonic() < end and all(process.poll() is None for process in processes):
            time.sleep(0.05)
        if die_at:
            time.sleep(0.5)
            for process in processes:
                process.kill()  # of those that wait for the one that was killed
        texts = [process.communicate(timeout=60)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    expected = -signal.SIGKILL if die_at else 0
    assert [process.returncode for process in processes] == [expected] * ranks, "\n".join(texts)
    losses: dict[int, float] = {}
    for line in (folder / "losses.txt").read_text().splitlines():
        step, loss = line.split()
        assert losses.setdefault(int(step), float(loss)) == float(loss), f"step {step} has another loss after the restart"
    return losses


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("framework", sorted(PACKAGES))
def test_a_killed_training_goes_on_with_the_losses_of_the_unbroken_one(framework: str, ranks: int, tmp_path: pathlib.Path) -> None:
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec(PACKAGES[framework]) is None:
        pytest.skip(f"{PACKAGES[framework]} is not installed: make test-frameworks")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
        write_parts(folder)
    expected = train(framework, whole, ranks)
    assert sorted(expected) == list(range(1, 51))
    assert sum(expected[step] for step in range(26, 51)) < sum(expected[step] for step in range(1, 26))
    for die_at in DIE_AT:
        assert max(train(framework, broken, ranks, die_at)) == die_at
    assert train(framework, broken, ranks) == expected
