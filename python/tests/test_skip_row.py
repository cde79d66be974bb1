# SPDX-License-Identifier: Apache-2.0
"""`on_corrupt: skip_row` and images, as a training loop sees them."""
from __future__ import annotations

import base64
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import forebay as fb

TWO_PIXELS = base64.b64decode(
    "/9j/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/wAALCAABAAIBAR"
    "EA/8QAFAABAAAAAAAAAAAAAAAAAAAACP/EABsQAAAHAQAAAAAAAAAAAAAAAAACBAYHN3W0/9oACAEBAAA/AEdC9OsTBQc5B//Z")


@pytest.fixture
def images(tmp_path: pathlib.Path) -> str:
    """Twelve images of two pixels, of which the fourth of every six is cut short."""
    path = tmp_path / "images.tfrecord"
    records = [fb.encode_example({"image": [TWO_PIXELS[:100] if i % 6 == 3 else TWO_PIXELS], "id": np.array([i], np.int64)})
               for i in range(12)]
    fb.write_records(str(path), records)
    return str(path)


def pipeline(path: str) -> fb.Pipeline:
    features = {"image": fb.fixed("string", []), "id": fb.fixed("int64", [])}
    return fb.tfrecord(path).example(features).decode_image("image", channels=1, resize=[1, 2]).batch(size=6)


def test_bad_images_are_named_and_become_padding(images: str) -> None:
    for number, batch in enumerate(pipeline(images).on_corrupt("skip_row").load(threads=2)):
        first = 6 * number
        assert (batch.rows, batch.valid_rows) == (6, 5)
        assert batch["id"].tolist() == [first, first + 1, first + 2, first + 4, first + 5, 0]
        assert batch["image"].shape == (6, 1, 2, 1)
        assert batch["image"][:5].tolist() == [[[[50], [200]]]] * 5
        assert batch["image"][5].tolist() == [[[0], [0]]]
        ((origin, error),) = batch.skipped
        assert origin[:2] == (images, first + 3)
        assert "decode_image" in error and "not an intact JPEG" in error


def test_fail_names_the_image(images: str) -> None:
    with pytest.raises(fb.DataError, match="record 3.*decode_image.*not an intact JPEG"):
        list(pipeline(images).load(threads=2))


SLOW = """
    import base64, sys, time
    import numpy as np
    import forebay as fb
    fb.write_records(sys.argv[1], [fb.encode_example({"image": [base64.b64decode(sys.argv[2])]})] * 60000)
    loader = (fb.tfrecord(sys.argv[1]).example({"image": fb.fixed("string", [])})
              .decode_image("image", resize=[300, 300]).slice("image", "[0, 0]").batch(size=60000)
              .load(threads=int(sys.argv[3])))
    print("begins", flush=True)
    try:
        next(loader)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic(), flush=True)
        loader.close()
        print("closed", time.monotonic(), flush=True)
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_an_interrupt_is_seen_long_before_the_batch_is_made(tmp_path: pathlib.Path, threads: str) -> None:
    """The batch takes seconds, and little memory: one pixel each of 60,000 images, 300 pixels wide and high."""
    command = [sys.executable, "-c", textwrap.dedent(SLOW), str(tmp_path / "data"), base64.b64encode(TWO_PIXELS).decode(), threads]
    times = []
    for _ in range(5):  # the machine may be busy
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout is not None
            assert program.stdout.readline() == "begins\n"
            time.sleep(1)
            sent = time.monotonic()
            os.kill(program.pid, signal.SIGINT)
            said, seen = program.stdout.readline().split()
            closed = float(program.stdout.readline().split()[1])
        assert said == "interrupted"
        times.append((float(seen) - sent, closed - float(seen)))
        if max(times[-1]) < 1:
            return
    pytest.fail(f"seconds until the interrupt was seen, and until the run was closed: {times}")
