# SPDX-License-Identifier: Apache-2.0
"""Batches in page-locked memory (`load(pin_memory=True)`), over a CUDA runtime without a GPU; torch: dlpack_cases.py."""
from __future__ import annotations

import pathlib
import subprocess
import sys

import numpy as np
import pytest
from test_dlpack import TESTS, run_cases

import forebay as fb


def fake_cudart(folder: pathlib.Path) -> pathlib.Path:
    """tests/support/cuda/fake_cudart.cc with the name by which a process finds a CUDA runtime that it has loaded."""
    library, root = folder / "libcudart.so.12", TESTS.parents[1]
    source = root / "tests" / "support" / "cuda" / "fake_cudart.cc"
    subprocess.run(["c++", "-std=c++20", "-shared", "-fPIC", "-Wl,-soname,libcudart.so.12", "-I", root, "-o", library, source],
                   check=True)
    return library


COUNTS = """
import ctypes, sys
import numpy as np
import forebay as fb

device = ctypes.CDLL(sys.argv[1])
device.fake_cuda_registered.restype = ctypes.c_long
columns = {"x": np.arange(40_000, dtype=np.float32).reshape(400, 100), "y": np.arange(400), "s": [str(i) for i in range(400)]}
pipe = fb.arrays(columns).shuffle(buffer=50).batch(size=4).epochs(2).seed(3)
with pipe.load(threads=2, prefetch=3) as plain, pipe.load(threads=2, prefetch=3, pin_memory=True) as loader:
    for expected, batch in zip(plain, loader):
        assert (batch["x"] == expected["x"]).all() and (batch["y"] == expected["y"]).all() and list(batch["s"]) == list(expected["s"])
        assert loader.state_dict() == plain.state_dict()
    assert next(loader, None) is None
    stats = loader.stats()
    assert stats.memory_pinned >= batch["x"].nbytes and plain.stats().memory_pinned == 0
    assert ", page-locked 0." in str(stats) and f"forebay_memory_pinned_bytes {stats.memory_pinned}" in stats.prometheus()
assert 2 <= device.fake_cuda_registrations() <= 15, device.fake_cuda_registrations()   # of 200 batches
held = batch["x"].tolist()
assert device.fake_cuda_registered() > 0 and held == expected["x"].tolist()
del batch, loader
assert device.fake_cuda_registered() == 0
fb.write_records(sys.argv[2], [fb.encode_example({"n": i}) for i in range(10)])
document = fb.tfrecord(sys.argv[2]).example({"n": fb.fixed("int64")}).batch(size=2).to_dict()
with fb.load(document, pin_memory=True) as loader:
    assert sum(int(batch["n"].sum()) for batch in loader) == 45 and loader.stats().memory_pinned > 0
with fb.switch({"a": pipe, "b": document}, pin_memory=True) as data:
    for name in ("a", "b"):
        data.switch_to(name)
        next(data)
        assert data.loader.stats().memory_pinned > 0
"""


def test_batches_are_page_locked_once_and_unlocked_at_the_end(tmp_path: pathlib.Path) -> None:
    done = subprocess.run([sys.executable, "-c", COUNTS, str(fake_cudart(tmp_path)), str(tmp_path / "n.tfrecord")],
                          capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


RECEIVED = """
import ctypes, pickle, sys
import numpy as np
import forebay as fb
from forebay import _core

device = ctypes.CDLL(sys.argv[1])
device.fake_cuda_registered.restype = ctypes.c_long
memory = _core.ReceivedMemory(1 << 20, _core.cuda_pinned_memory(-1, ""))
plain = _core.ReceivedMemory(1 << 20, None)
for turn in range(50):
    sent = np.arange(20_000, dtype=np.int64) * turn
    part, other = memory.copy(sent), plain.copy(sent)
    assert part.checksum == other.checksum == _core.crc32c(sent) and (part.array.view(np.int64) == sent).all()
    part.array[:] = 0   # its own
    assert sent[1] == turn and memory.pinned >= part.array.nbytes and plain.pinned == 0
assert device.fake_cuda_registrations() == 3, device.fake_cuda_registrations()   # one tries, two are in turns
assert memory.copy(b"").array.shape == (0,) and memory.copy(b"").checksum == 0
kept = memory.copy(b"four").array
del memory, part
assert bytes(kept) == b"four" and device.fake_cuda_registered() > 0
del kept
assert device.fake_cuda_registered() == 0
"""


def test_memory_of_received_batches_is_page_locked_once_and_used_again(tmp_path: pathlib.Path) -> None:
    done = subprocess.run([sys.executable, "-c", RECEIVED, str(fake_cudart(tmp_path))], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_without_a_gpu_load_says_what_it_looked_for() -> None:
    if any(pathlib.Path(device).exists() for device in ("/dev/nvidiactl", "/dev/dxg")):
        pytest.skip("a GPU is at hand")
    no_runtime = r"the CUDA runtime cannot be used: libcudart\.so\.13.* libcudart\.so: .*import torch first.*, or load without pin_memory"
    no_gpu = r"memory cannot be page-locked, as no GPU can be used: .+ \(CUDA error \d+\); load without pin_memory"
    with pytest.raises(fb.ConfigError, match=f"^(?:{no_runtime}|{no_gpu})$"):
        fb.arrays({"x": np.arange(4)}).batch(2).load(pin_memory=True)


def test_pin_memory_is_true_or_false() -> None:
    with pytest.raises(TypeError, match="pin_memory: must be True or False; found 'cuda:0'"):
        fb.arrays({"x": np.arange(4)}).batch(2).load(pin_memory="cuda:0")  # type: ignore[arg-type]


def test_torch_tensors(tmp_path: pathlib.Path) -> None:
    run_cases("pinned_cases", ["copies_of_to_go_on_and_nothing_is_overwritten", "copies_of_a_tensor_batch_do_so_too",
                               "copies_of_a_batch_of_another_process_do_so_too",
                               "an_array_of_an_unknown_batch_is_waited_for"], tmp_path)
