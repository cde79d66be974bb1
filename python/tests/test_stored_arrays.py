# SPDX-License-Identifier: Apache-2.0
"""The sources `npy`, `npz`, `idx` and `cifar`: rows that come ready from files, against numpy."""
from __future__ import annotations

import gzip
import io
import itertools
import os
import pathlib
import pickle
import signal
import struct
import subprocess
import sys
import zipfile
from typing import Any

import numpy as np
import pytest
from conftest import DATA
from streams import digests, resumed

import forebay as fb

DTYPES = ["?", "i1", "<i2", ">i4", "<i8", "u1", ">u2", "<u4", ">u8", "<f2", ">f4", "<f8", ">c8", "<c16"]


def all_rows(pipe: fb.Pipeline, **options: Any) -> dict[str, np.ndarray]:
    batches = list(pipe.batch(7).load(**options))
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_dtype_and_order_come_back_row_by_row(tmp_path: pathlib.Path, dtype: str, order: Any) -> None:
    values = (np.arange(23 * 3 * 4) % 120).reshape(23, 3, 4).astype(dtype, order=order)
    np.save(tmp_path / "x.npy", values)
    rows = all_rows(fb.npy({"x": tmp_path / "x.npy"}))["x"]
    assert rows.dtype == values.dtype.newbyteorder("=")
    np.testing.assert_array_equal(rows, values)


def npy(header: str, data: bytes = b"", version: int = 1) -> bytes:
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header.encode() + data


def test_files_are_concatenated_and_arrays_belong_together(tmp_path: pathlib.Path) -> None:
    whole = {"x": np.arange(60.0).reshape(20, 3), "y": np.arange(20)}
    for i, part in enumerate((slice(0, 5), slice(5, 5), slice(5, 20))):
        np.save(tmp_path / f"x-{i}.npy", whole["x"][part])
        np.save(tmp_path / f"y-{i}.npy", whole["y"][part])
    pipe = fb.npy({"x": [tmp_path / "x-*.npy"], "y": [tmp_path / "y-*.npy"]})
    for threads in (1, 8):
        rows = all_rows(pipe, threads=threads)
        np.testing.assert_array_equal(rows["x"], whole["x"])
        np.testing.assert_array_equal(rows["y"], whole["y"])
    for order in ({}, {"buffer": 8}, {"global_": True}):
        ordered = (pipe.shuffle(**order) if order else pipe).batch(3).epochs(2).seed(4)
        stream = digests(ordered.load(threads=1))
        assert digests(ordered.load(threads=8)) == stream
        for batches in range(len(stream) + 1):
            loader = ordered.load()
            assert digests(itertools.islice(loader, batches)) == stream[:batches]
            assert digests(resumed(ordered, loader.state_dict())) == stream[batches:]
    shards = [[y for batch in pipe.batch(4).load(shard={"index": i, "count": 2}) for y in batch["y"]] for i in range(2)]
    assert sorted(shards[0] + shards[1]) == list(range(20))


@pytest.mark.parametrize(("content", "words", "detail"), [
    (npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", pickle.dumps([1])), "never read", "invalid_argument"),
    (npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }", bytes(4)), "has fields", "data_loss"),
    (npy("{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,), }", bytes(8)), "is not read", "invalid_argument"),
    (npy("{'descr': __import__('os').system('x'), 'fortran_order': False, 'shape': ()}"), "expected a string", "data_loss"),
    (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"), "too large", "data_loss"),
    (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}"), "too large", "data_loss"),
    (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}"), "expected a size", "data_loss"),
    (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", bytes(15)), "names 16 bytes", "data_loss"),
    (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", bytes(17)), "the file has 17", "data_loss"),
    (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", bytes(8)), "no axis", "data_loss"),
    (npy("{'descr': '<f8', 'fortran_order': False}", bytes(8)), "must have", "data_loss"),
    (npy("{'descr': '<f8', 'shape': (1,), 'fortran_order': 1}", bytes(8)), "True or False", "data_loss"),
    (npy("{'a': 1}"), "unknown or repeated key 'a'", "data_loss"),
    (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "at most 65536", "data_loss"),
    (b"\x93NUMPY\x01\x00\xff\x00{}", "inside its header", "data_loss"),
    (b"\x93NUMPY\x09\x00\xff\x00{}", "version 9", "data_loss"),
    (b"\x89HDF\r\n\x1a\n" + bytes(90), "an HDF5 file", "invalid_argument"), (b"", "not an npy file", "data_loss")])
def test_bad_npy_files_are_errors_that_name_the_file(tmp_path: pathlib.Path, content: bytes, words: str, detail: str) -> None:
    (tmp_path / "bad.npy").write_bytes(content)
    with pytest.raises(fb.DataError, match="bad.npy.*" + words) as caught:
        fb.npy({"x": tmp_path / "bad.npy"}).batch(1).load()
    assert caught.value.detail == detail


def test_arrays_that_do_not_fit_together_are_named(tmp_path: pathlib.Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    np.save(tmp_path / "b.npy", np.zeros((4, 2)))
    np.save(tmp_path / "c.npy", np.zeros((3, 5)))
    with pytest.raises(fb.DataError, match="array 'y': 4 rows, but array 'x' has 3"):
        fb.npy({"x": tmp_path / "a.npy", "y": tmp_path / "b.npy"}).batch(1).load()
    with pytest.raises(fb.DataError, match=r"c.npy.*rows of float64 \[5\], but those of the first file are float64 \[2\]"):
        fb.npy({"x": [tmp_path / "a.npy", tmp_path / "c.npy"]}).batch(1).load()
    with pytest.raises(fb.ConfigError, match="has 2 files, but 'x' has 1"):
        fb.npy({"x": tmp_path / "a.npy", "y": [tmp_path / "a.npy", tmp_path / "b.npy"]}).batch(1).load()
    document = {"source": {"npy": {"arrays": {"x": [str(tmp_path / "a.npy")]}, "max_bytes": 100}}, "steps": [{"batch": {"size": 1}}]}
    with pytest.raises(fb.DataError, match="more than 100 bytes"):
        fb.load(document)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_files_give_all_arrays_or_those_that_are_named(tmp_path: pathlib.Path, save: Any) -> None:
    arrays = {"x": np.arange(40, dtype=">f4").reshape(20, 2), "y": np.arange(20), "z": np.ones((20, 1), order="F")}
    save(tmp_path / "a.npz", **arrays)
    rows = all_rows(fb.npz([tmp_path / "a.npz", tmp_path / "a.npz"]))
    assert list(rows) == list(arrays)
    for name, values in arrays.items():
        np.testing.assert_array_equal(rows[name], np.concatenate([values, values]))
    assert list(all_rows(fb.npz(tmp_path / "a.npz", arrays=["z", "x"]))) == ["z", "x"]
    with pytest.raises(fb.DataError, match="there is no array 'w'"):
        fb.npz(tmp_path / "a.npz", arrays=["w"]).batch(1).load()


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytearray:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, content in members:
            file.writestr(zipfile.ZipInfo(name), content, method)
    return bytearray(out.getvalue())


ONE = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", bytes(16))


def with_field(content: bytearray, signature: bytes, offset: int, value: bytes) -> bytes:
    at = content.rindex(signature) + offset
    content[at:at + len(value)] = value
    return bytes(content)


@pytest.mark.parametrize(("content", "words"), [
    (with_field(zipped(("x.npy", ONE)), b"PK\1\2", 24, b"\xff\xff\xff\x0f"), "more content than its bytes can hold"),
    (with_field(zipped(("x.npy", ONE)), b"PK\1\2", 24, b"\x61\0\0\0"), "headers of member 'x.npy' differ"),
    (with_field(zipped(("x.npy", ONE)), b"PK\1\2", 24, b"\xff\xff\xff\xff"), "zip64 field"),
    (with_field(zipped(("x.npy", ONE)), b"PK\1\2", 8, b"\1"), "encrypted"),
    (with_field(zipped(("x.npy", ONE)), b"PK\1\2", 10, b"\x0c"), "compression that numpy does not write"),
    (with_field(zipped(("x.npy", ONE)), b"PK\1\2", 16, b"\0\0\0\0"), "checksum"),
    (with_field(zipped(("x.npy", ONE), ("x.npy", ONE)), b"PK\1\2", 42, b"\0\0\0\0"), "overlap"),
    (with_field(zipped(("x.npy", ONE)), b"PK\5\6", 10, b"\2\0"), "directory is malformed"),
    (with_field(zipped(("x.npy", ONE)), b"PK\5\6", 16, b"\xff\xff\xff\x7f"), "outside of the archive"),
    (bytes(zipped(("x.npy", ONE)))[:-30], "no end record"), (bytes(zipped(("x.txt", ONE))), "no array"),
    (bytes(zipped(("x.npy", b"text"))), "not an npy file"), (b"", "too short")])
def test_bad_npz_files_are_errors_that_name_the_file(tmp_path: pathlib.Path, content: bytes, words: str) -> None:
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(fb.DataError, match="bad.npz.*" + words):
        list(fb.npz(tmp_path / "bad.npz").batch(1).load())


def test_a_bomb_is_refused_before_memory_is_taken(tmp_path: pathlib.Path) -> None:
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': (10000000,), }"
    (tmp_path / "bomb.npz").write_bytes(zipped(("x.npy", npy(header, bytes(10_000_000)))))
    with pytest.raises(fb.DataError, match="more bytes than max_bytes") as caught:
        fb.npz(tmp_path / "bomb.npz", max_bytes=1_000_000).batch(1).load()
    assert caught.value.detail == "resource_exhausted"


MEMORY = 16 << 20  # of a run; LARGE has 32 MiB
LARGE = (8192, 1024)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """An array that is larger than the memory of a run. Row i begins with i; the rest are zeros, which take no room on the disk."""
    path = tmp_path_factory.mktemp("large") / "x.npy"
    array = np.lib.format.open_memmap(path, "w+", np.int32, LARGE)
    array[:, 0] = np.arange(LARGE[0])
    array.flush()
    return path


def resident() -> int:
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_an_array_larger_than_the_memory_is_mapped_shuffled_and_restarted(large: pathlib.Path) -> None:
    before, most, rows = resident(), 0, 0
    for batch in fb.npy({"x": large}).batch(64).load(memory=MEMORY):
        assert batch["x"].shape == (64, 1024) and (batch["x"][:, 0] == np.arange(rows, rows + 64)).all() and not batch["x"][:, 1:].any()
        rows, most = rows + 64, max(most, resident())
    assert rows == LARGE[0] and most - before < MEMORY + (8 << 20)
    shuffled = fb.npy({"x": large}).shuffle(global_=True).batch(64).seed(3)
    first = [batch["x"][:, 0].tolist() for batch in shuffled.load(memory=MEMORY, threads=1)]
    assert sorted(itertools.chain(*first)) == list(range(LARGE[0]))
    loader = shuffled.load(memory=MEMORY, threads=3)
    assert [batch["x"][:, 0].tolist() for batch in itertools.islice(loader, 100)] == first[:100]
    assert [batch["x"][:, 0].tolist() for batch in resumed(shuffled, loader.state_dict(), memory=MEMORY)] == first[100:]


def test_compressed_arrays_count_against_the_memory_and_stored_ones_do_not(tmp_path: pathlib.Path) -> None:
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / save.__name__, x=np.zeros((3000, 1024), np.int32))
    pipe = fb.npz(tmp_path / "savez_compressed.npz").batch(100)
    with pytest.raises(fb.DataError, match=r"savez_compressed.npz.*take 12288128 bytes .* raise `memory`, or have them uncompressed") as caught:
        next(pipe.load(memory=MEMORY))
    assert caught.value.detail == "resource_exhausted"
    for run in (pipe.load(memory=2 * MEMORY), fb.npz(tmp_path / "savez.npz").batch(100).load(memory=MEMORY)):
        assert sum(len(batch["x"]) for batch in run) == 3000


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_a_file_that_is_cut_or_changed_while_it_is_mapped_is_an_error(tmp_path: pathlib.Path, name: str) -> None:
    path, values = tmp_path / name, np.zeros((1000, 1024), np.int32)
    pipe = (fb.npy({"x": path}) if name == "x.npy" else fb.npz(path)).batch(10)

    def run(change: Any) -> "fb.DataError":
        np.save(path, values) if name == "x.npy" else np.savez(path, x=values)
        loader = pipe.load(threads=1, prefetch=1)
        next(loader)
        change()
        with pytest.raises(fb.DataError, match=name) as caught:
            list(loader)
        return caught.value

    def write() -> None:
        with open(path, "r+b") as file:
            file.seek(-200, 2)
            file.write(b"new")

    assert "cut short" in str(run(lambda: os.truncate(path, 1 << 20)))
    assert "changed while it was read" in str(run(write))
    loader = pipe.load()
    values = values[:, :1000]
    np.save(path, values) if name == "x.npy" else np.savez(path, x=values)
    with pytest.raises(fb.DataError, match="not the one that was planned"):
        next(loader)


LATER_HANDLERS = """
import faulthandler, os, signal, sys
import numpy as np
import forebay as fb
np.save("x.npy", np.zeros((1000, 1024), np.int32))
pipe = fb.npy({"x": "x.npy"}).batch(10)
next(pipe.load(threads=1))
signal.signal(signal.SIGBUS, signal.SIG_DFL)
faulthandler.enable()
loader = pipe.load(threads=1, prefetch=1)
next(loader)
os.truncate("x.npy", 1 << 20)
try:
    list(loader)
except fb.DataError as error:
    print(error, flush=True)
os.kill(os.getpid(), signal.SIGBUS)
"""


def test_libraries_that_take_the_signal_of_cut_files_later_get_only_what_is_theirs(tmp_path: pathlib.Path) -> None:
    """As Ray does in the process of a driver."""
    done = subprocess.run([sys.executable, "-c", LATER_HANDLERS], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "cut short" in done.stdout
    assert done.returncode == -signal.SIGBUS and done.stderr.count("Fatal Python error: Bus error") == 1, done.stderr


def read_idx(path: pathlib.Path) -> np.ndarray:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    dims = struct.unpack(f">{content[3]}I", content[4:4 + 4 * content[3]])
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(dims)).reshape(dims)


@pytest.fixture(scope="module")
def mnist(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with the 1,000 digits of tests/data as MNIST has them: gzip IDX, in two pairs of files."""
    folder = tmp_path_factory.mktemp("mnist")
    pipe = fb.tfrecord(DATA / "mnist" / "mnist.tfrecords.gz").example({"image_floats": fb.fixed("float32", [784]),
                                                                      "image_class": fb.fixed("int64")})
    (batch,) = pipe.batch(1000).load()
    images = (batch["image_floats"] * 255).round().astype(np.uint8).reshape(-1, 28, 28)
    labels = batch["image_class"].astype(np.uint8)
    for name, part in (("t10k", slice(0, 300)), ("train", slice(300, 1000))):
        (folder / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx([len(images[part]), 28, 28], images[part].tobytes())))
        (folder / f"{name}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx([len(labels[part])], labels[part].tobytes())))
    return folder


def test_mnist_is_read_whole_in_two_lines(mnist: pathlib.Path) -> None:
    images = sorted(mnist.glob("*images*"))
    labels = sorted(mnist.glob("*labels*"))
    rows = all_rows(fb.idx({"image": images, "label": labels}))
    np.testing.assert_array_equal(rows["image"], np.concatenate([read_idx(path) for path in images]))
    np.testing.assert_array_equal(rows["label"], np.concatenate([read_idx(path) for path in labels]))
    assert rows["image"].shape[1:] == (28, 28) and len(rows["label"]) == 1000 and set(rows["label"].tolist()) == set(range(10))


@pytest.mark.parametrize("dtype", ["u1", "i1", ">i2", ">i4", ">f4", ">f8"])
def test_idx_files_of_every_type(tmp_path: pathlib.Path, dtype: str) -> None:
    codes = {"u1": 8, "i1": 9, ">i2": 11, ">i4": 12, ">f4": 13, ">f8": 14}
    values = np.arange(30).reshape(10, 3).astype(dtype)
    (tmp_path / "x").write_bytes(bytes([0, 0, codes[dtype], 2]) + struct.pack(">2I", 10, 3) + values.tobytes())
    np.testing.assert_array_equal(all_rows(fb.idx({"x": tmp_path / "x"}))["x"], values)


@pytest.mark.parametrize(("content", "words"), [
    (b"\0\0\x08\1\0\0\0\3ab", "names 3 bytes"), (b"\0\0\x08\1\0\0\0\3abcd", "the file has 4"), (b"\0\0\x07\1\0\0\0\0", "type 0x07"),
    (b"\0\0\x08\0", "0 axes"), (b"\0\0\x08\3\0\0\0\1", "inside its IDX header"), (b"text", "not an IDX file"), (b"", "not an IDX file"),
    (b"\0\0\x0e\x04" + b"\xff" * 16, "too large")])
def test_bad_idx_files_are_errors_that_name_the_file(tmp_path: pathlib.Path, content: bytes, words: str) -> None:
    (tmp_path / "bad.idx").write_bytes(content)
    with pytest.raises(fb.DataError, match="bad.idx.*" + words):
        fb.idx({"x": tmp_path / "bad.idx"}).batch(1).load()


@pytest.mark.parametrize("classes", [10, 100])
def test_cifar_files_give_images_and_labels(tmp_path: pathlib.Path, classes: int) -> None:
    labels = 1 if classes == 10 else 2
    records = np.random.default_rng(1).integers(0, 256, (12, labels + 3072), np.uint8)
    (tmp_path / "a.bin").write_bytes(records[:5].tobytes())
    (tmp_path / "b.bin").write_bytes(gzip.compress(records[5:].tobytes()))
    rows = all_rows(fb.cifar([tmp_path / "a.bin", tmp_path / "b.bin"], classes=classes))
    np.testing.assert_array_equal(rows["image"], records[:, labels:].reshape(12, 3, 32, 32))
    np.testing.assert_array_equal(rows["label"], records[:, labels - 1])
    if classes == 100:
        np.testing.assert_array_equal(rows["coarse_label"], records[:, 0])
    (tmp_path / "a.bin").write_bytes(records.tobytes()[:-1])
    with pytest.raises(fb.DataError, match="a.bin.*no whole records"):
        fb.cifar(tmp_path / "a.bin", classes=classes).batch(1).load()


def test_the_preset_of_fixed_length_reads_mnist_record_by_record(mnist: pathlib.Path) -> None:
    paths = sorted(mnist.glob("*-ubyte.gz"))
    assert len(paths) == 4
    for path in paths:
        expected = read_idx(path)
        batches = list(fb.fixed_length(path, preset="idx").raw("uint8").batch(99).load())
        np.testing.assert_array_equal(np.concatenate([batch["values"] for batch in batches]), expected)
        shuffled = next(fb.fixed_length(path, preset="idx").raw("uint8").shuffle(global_=True).seed(2).batch(50).load())
        numbers = [int(key.rpartition(":")[2]) for key in shuffled.record_keys]
        np.testing.assert_array_equal(shuffled["values"], expected[numbers])


def idx(dims: "list[int]", data: bytes, code: int = 8) -> bytes:
    return bytes([0, 0, code, len(dims)]) + struct.pack(f">{len(dims)}I", *dims) + data


def test_the_preset_decides_sizes_shape_and_byte_order(tmp_path: pathlib.Path) -> None:
    values = np.arange(30).reshape(5, 2, 3).astype(">i4")
    (tmp_path / "a").write_bytes(idx([2, 2, 3], values[:2].tobytes(), 12))
    (tmp_path / "b").write_bytes(gzip.compress(idx([3, 2, 3], values[2:].tobytes(), 12)))
    source = fb.fixed_length([tmp_path / "a", tmp_path / "b"], preset="idx")
    np.testing.assert_array_equal(all_rows(source.raw("int32"))["values"], values)
    with pytest.raises(fb.ConfigError, match="'fixed_length' decides 'endian'"):
        source.raw("int32", endian="little").batch(1).load()
    with pytest.raises(fb.ConfigError, match="record_bytes.*the preset 'idx' decides it"):
        fb.fixed_length(tmp_path / "a", 24, preset="idx").record().batch(1).load()
    with pytest.raises(fb.ConfigError, match="record_bytes.*or a preset"):
        fb.fixed_length(tmp_path / "a").record().batch(1).load()
    records = np.random.default_rng(1).integers(0, 256, (3, 3074), np.uint8)
    (tmp_path / "cifar").write_bytes(records.tobytes())
    np.testing.assert_array_equal(all_rows(fb.fixed_length(tmp_path / "cifar", preset="cifar100").raw("uint8"))["values"], records)
    with pytest.raises(fb.DataError, match="cifar.*ends inside a record"):
        list(fb.fixed_length(tmp_path / "cifar", preset="cifar10").record().batch(1).load())


@pytest.mark.parametrize(("files", "words"), [
    ([b"\0\1" + idx([2], b"ab")[2:]], "a,.*: not an IDX file"), ([idx([2], b"ab", 7)], "a,.*: IDX type 0x07"),
    ([idx([3, 2], b"abcd")], "a,.*: the header names 6 bytes of numbers, but the file has 4"), ([b""], "a,.*: not an IDX file"),
    ([gzip.compress(idx([3, 2], b"abcd"))], "a.*4 bytes after its header, which are not the 3 records of 2"),
    ([gzip.compress(idx([1, 2], b"abcd"))], "a.*4 bytes after its header, which are not the 1 records of 2"),
    ([idx([1, 2], b"ab"), gzip.compress(idx([1, 3], b"abc"))], r"b,.*: items of uint8 \[3\], but those of '.*a' are uint8 \[2\]"),
    ([idx([1, 0], b"")], "has 0 bytes; allowed")])
def test_files_that_do_not_fit_the_preset_are_errors(tmp_path: pathlib.Path, files: "list[bytes]", words: str) -> None:
    for name, content in zip("ab", files):
        (tmp_path / name).write_bytes(content)
    paths = [tmp_path / name for name, _ in zip("ab", files)]
    with pytest.raises(fb.DataError, match=words):
        list(fb.fixed_length(paths, preset="idx").record().batch(1).load())
