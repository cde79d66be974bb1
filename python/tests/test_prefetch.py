# SPDX-License-Identifier: Apache-2.0
"""Batches that are staged ahead (forebay._prefetch), with NumPy in the place of torch; torch: dlpack_cases.py, gpu_cases.py."""
from __future__ import annotations

import ctypes
import json
import pathlib
import subprocess
import sys
import threading
import time
from typing import Any, Iterator

import numpy as np
import pytest
from test_dlpack import TESTS, torch_folder

import forebay as fb
from forebay import _core
from forebay._prefetch import Prefetch


def carriers(batch: Any) -> dict[str, Any]:
    return {name: value for name, value in batch.items() if isinstance(value, np.ndarray) and value.dtype != object}


def prefetch(loader: fb.Loader, ahead: int = 2) -> Prefetch:
    return Prefetch(loader, _core.make_staging(-1, ""), carriers,
                    lambda batch, names, staged: [np.from_dlpack(tensor) for tensor in staged.tensors(-1)], ahead)


def pipe(epochs: int = 2) -> fb.Pipeline:
    return (fb.arrays({"n": np.arange(10), "half": np.arange(10, dtype=np.float16), "name": [f"row {i}" for i in range(10)],
                       "list": fb.Ragged(np.arange(10), list(range(11)))})
            .shuffle(buffer=4).batch(size=3, remainder="keep").epochs(epochs).seed(1))


def seen(batches: Any) -> list[Any]:
    return [(batch.number, batch.epoch, batch["n"].tolist(), batch["half"].tolist(), batch["name"].tolist(),
             batch["list"].to_list() if isinstance(batch["list"], fb.Ragged) else None, batch.origins) for batch in batches]


@pytest.mark.parametrize("ahead", [0, 1, 4])
def test_the_batches_are_those_of_the_loader(ahead: int) -> None:
    with pipe().load() as plain, prefetch(pipe().load(), ahead) as batches:
        assert seen(batches) == seen(plain)
        assert next(batches, None) is None and batches.waiting == 0


@pytest.mark.parametrize("ahead", [0, 3])
def test_the_state_is_that_of_the_last_batch_that_the_loop_got(ahead: int) -> None:
    with pipe().load() as plain:
        whole = seen(plain)
    with pipe().load() as plain, prefetch(pipe().load(), ahead) as batches, prefetch(pipe().load(), ahead) as other:
        for at in range(len(whole) + 1):
            state = json.loads(json.dumps(batches.state_dict()))
            assert state == plain.state_dict()
            other.load_state_dict(state)
            assert seen(other) == whole[at:]
            assert (next(batches, None) is None) == (next(plain, None) is None) == (at == len(whole))


def test_batches_wait_ahead_and_not_more_than_asked_for() -> None:
    with prefetch(pipe().load(), 2) as batches:
        next(batches)
        began = time.monotonic()
        while batches.waiting < 2 and time.monotonic() - began < 20:
            time.sleep(0.01)
        time.sleep(0.05)
        assert batches.waiting == 2
        assert [thread.name for thread in threading.enumerate()].count("forebay prefetch") == 1


def test_a_batch_comes_as_soon_as_its_rows_are_there() -> None:
    rows = fb.Feed({"n": fb.fixed("int64")})
    with prefetch(fb.feed(rows).batch(size=2).load(), 3) as batches:
        for i in range(10):
            rows.put_rows({"n": [i, -i]})
            assert next(batches)["n"].tolist() == [i, -i]


def test_an_exception_is_raised_after_the_batches_before_it_and_again() -> None:
    failure = KeyError("no more")

    def rows() -> Iterator[dict[str, Any]]:
        yield {"n": 1}
        yield {"n": 2}
        raise failure

    for ahead in (0, 4):
        with prefetch(fb.python(rows(), {"n": fb.fixed("int64")}).batch(size=1).load(), ahead) as batches:
            assert [next(batches)["n"].tolist() for _ in range(2)] == [[1], [2]]
            for _ in range(2):
                with pytest.raises(KeyError) as raised:
                    next(batches)
                assert raised.value is failure


def test_results_of_map_are_staged_and_have_their_state() -> None:
    doubled = pipe().map(lambda batch: {"n": batch["n"] * 2, "half": batch["half"]}, workers=2)
    with pipe().load() as plain:
        whole = [[2 * n for n in batch["n"].tolist()] for batch in plain]
    with prefetch(doubled.load()) as batches, doubled.load() as other:
        assert [next(batches)["n"].tolist() for _ in range(3)] == whole[:3]
        other.load_state_dict(batches.state_dict())
        assert [batch["n"].tolist() for batch in other] == whole[3:]
        assert [batch["n"].tolist() for batch in batches] == whole[3:]


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    with pipe().load() as plain, fb.arrays({"n": np.arange(3)}).batch(size=1).load() as other:
        whole, state = seen(plain), other.state_dict()
    with prefetch(pipe().load()) as batches:
        first = seen([next(batches)])
        with pytest.raises(fb.StateError):
            batches.load_state_dict(state)
        assert first + seen(batches) == whole
    rows = fb.Feed({"n": fb.fixed("int64")})
    with prefetch(fb.feed(rows).batch(size=1).load()) as batches, pytest.raises(fb.StateError, match="cannot be read again"):
        batches.load_state_dict(state)


def test_close_ends_the_thread_and_a_consumer_that_waits() -> None:
    rows = fb.Feed({"n": fb.fixed("int64")})
    batches = prefetch(fb.feed(rows).batch(size=1).load())
    closer = threading.Timer(0.1, batches.close)
    closer.start()
    with pytest.raises(fb.Cancelled):
        next(batches)
    closer.join()
    batches.close()
    with pytest.raises(fb.Cancelled):
        next(batches)
    dropped = prefetch(pipe(100).load())
    next(dropped)
    del dropped
    began = time.monotonic()
    while any(thread.name == "forebay prefetch" for thread in threading.enumerate()) and time.monotonic() - began < 20:
        time.sleep(0.01)
    assert not any(thread.name == "forebay prefetch" for thread in threading.enumerate())


def test_ctrl_c_loses_no_batch() -> None:
    program = """
import os, signal, threading
import numpy as np
import forebay as fb
from test_prefetch import prefetch
rows = fb.Feed({"n": fb.fixed("int64")})
batches = prefetch(fb.feed(rows).batch(size=1).load())
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    next(batches)
except KeyboardInterrupt:
    print("interrupted")
rows.put({"n": 7})
print(next(batches)["n"].tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd=TESTS)
    assert (done.stdout, done.stderr) == ("interrupted\n[7]\n", "")


def test_an_interrupt_while_a_batch_is_staged_loses_none() -> None:
    staging, interrupted = _core.make_staging(-1, ""), []

    def carriers_and_interrupt(batch: Any) -> dict[str, Any]:
        if batch.number not in interrupted:
            interrupted.append(batch.number)
            raise KeyboardInterrupt
        return carriers(batch)

    def handover(batch: Any, names: list[str], staged: Any) -> list[Any]:
        return [np.from_dlpack(tensor) for tensor in staged.tensors(-1)]

    with pipe().load() as plain, Prefetch(pipe().load(), staging, carriers_and_interrupt, handover, 0) as batches:
        got = []
        for expected in plain:
            with pytest.raises(KeyboardInterrupt):
                next(batches)
            got += seen([next(batches)])
            assert got[-1] == seen([expected])[0]
        assert next(batches, None) is None and interrupted == list(range(7))


def test_a_prefetch_says_what_it_is_and_is_not_pickled() -> None:
    with prefetch(pipe().load()) as batches:
        assert repr(batches).startswith("Prefetch(cpu, ahead=2):") and len(batches) == 7
        assert list(batches.schema) == list(batches.plan.columns[i][0] for i in range(4)) and batches.stats().batches == 0
        with pytest.raises(TypeError, match="a Prefetch cannot be pickled"):
            __import__("pickle").dumps(batches)


def test_only_a_loader_is_prefetched() -> None:
    with fb.switch({"a": pipe()}) as data, pytest.raises(TypeError, match="loader: must be a forebay Loader; of a Switch"):
        prefetch(data)  # type: ignore[arg-type]


def test_staged_arrays_are_memory_of_the_gpu(tmp_path: pathlib.Path) -> None:
    library, root = tmp_path / "libfake_cudart.so", pathlib.Path(TESTS).parents[1]
    source = root / "tests" / "support" / "cuda" / "fake_cudart.cc"
    subprocess.run(["c++", "-std=c++20", "-shared", "-fPIC", "-I", root, "-o", library, source], check=True)
    staging = _core.make_staging(1, str(library))
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([True])
    staged = staging.begin([x, y])
    tensors = staged.tensors(1)
    assert staging.device == "cuda:1" and not staged.ready
    assert [tensor.__dlpack_device__() for tensor in tensors] == [(2, 1), (2, 1)]
    staged.wait(0)
    device = ctypes.CDLL(str(library))
    device.fake_cuda_advance(1)
    assert staged.ready
    capsule = tensors[0].__dlpack__()
    address = ctypes.c_void_p.from_address(pointer_in(capsule)).value  # the first member of a DLTensor: its data
    assert address is not None and list((ctypes.c_float * 6).from_address(address)) == x.reshape(-1).tolist()
    with pytest.raises(TypeError, match="staging: an array of numbers is wanted"):
        staging.begin([np.array(["a"], dtype=object)])
    del staged, tensors, staging, capsule
    device.fake_cuda_advance(1)


def pointer_in(capsule: Any) -> int:
    """The address of the DLTensor of a capsule, which owns it."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, b"dltensor"))


def test_a_gpu_that_is_not_there_is_named() -> None:
    with pytest.raises(fb.ConfigError, match="the CUDA runtime cannot be used: .*/nowhere/libcudart.so"):
        _core.make_staging(0, "/nowhere/libcudart.so")


def gpu_folder() -> list[str]:
    """The folder of a torch that has a GPU here."""
    if not any(pathlib.Path(device).exists() for device in ("/dev/nvidiactl", "/dev/dxg")):
        pytest.skip("no GPU is at hand: copies to it cannot be measured here")
    folder = torch_folder()
    code = "import sys; sys.path[:0] = sys.argv[1:]; import torch; sys.exit(not torch.cuda.is_available())"
    if subprocess.run([sys.executable, "-c", code, *folder], capture_output=True, timeout=120).returncode != 0:
        pytest.skip("torch finds no GPU: copies to it cannot be measured here")
    return folder


def test_copies_to_a_gpu_are_right_and_go_on_while_it_computes() -> None:
    folder = gpu_folder()
    case = pathlib.Path(TESTS, "gpu_cases.py")
    done = subprocess.run([sys.executable, case, *folder], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
