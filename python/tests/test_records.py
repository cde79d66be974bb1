# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pathlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import forebay as fb


@pytest.mark.parametrize("compression", [None, "gzip", "zlib", "zstd"])
def test_records_come_back_from_a_file(tmp_path, compression):
    records = [b"", b"\0" * 1000, b"abc", bytes(range(256))]
    fb.write_records(tmp_path / "a", records, compression)
    assert fb.read_records(tmp_path / "a") == records


def test_a_corrupt_record_is_a_data_error_with_its_place(tmp_path):
    path = tmp_path / "a"
    fb.write_records(path, [b"first", b"second"])
    corrupt = bytearray(path.read_bytes())
    corrupt[16 + 5 + 12] ^= 1
    path.write_bytes(corrupt)
    with pytest.raises(fb.DataError) as caught:
        fb.read_records(path)
    assert (caught.value.code, caught.value.detail, caught.value.file) == ("data", "data_loss", str(path))
    assert (caught.value.record, caught.value.offset) == (1, 33)


def test_a_missing_file_is_an_io_error_and_an_os_error(tmp_path):
    with pytest.raises(OSError) as caught:
        fb.read_records(tmp_path / "none")
    assert isinstance(caught.value, fb.IoError) and caught.value.errno == 2


def test_what_is_no_bytes_is_no_record(tmp_path):
    with pytest.raises(TypeError):
        fb.write_records(tmp_path / "a", [5])
    with pytest.raises(fb.ConfigError, match="lz4"):
        fb.write_records(tmp_path / "a", [b""], "lz4")
    assert not (tmp_path / "a").exists()


def plain(features):
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in features.items()}


def test_each_python_type_has_its_kind_of_list():
    features = {"i": 3, "b": True, "f": 0.5, "s": "é", "by": b"x", "li": [1, 2], "mix": [1, 0.5], "a": np.eye(2, dtype=np.uint8),
                "strings": ["a", b"b"], "none": None, "empty": np.zeros(0, np.float64), "np": np.float32(2)}
    decoded = fb.decode_example(fb.encode_example(features))
    assert plain(decoded) == {"a": [1, 0, 0, 1], "b": [1], "by": [b"x"], "empty": [], "f": [0.5], "i": [3], "li": [1, 2], "mix": [1, 0.5],
                              "none": None, "np": [2], "s": ["é".encode()], "strings": [b"a", b"b"]}
    assert (decoded["i"].dtype, decoded["f"].dtype, decoded["empty"].dtype) == (np.int64, np.float32, np.float32)


@pytest.mark.parametrize("value, error", [
    (2**63, OverflowError), (1e300, OverflowError), ([0.5, -1e39], OverflowError), ([1, "a"], TypeError), (object(), TypeError),
    (1j, TypeError), ({1, 2}, TypeError), ([[1], [2, 3]], ValueError)])
def test_what_no_list_holds_is_refused_by_name(value, error):
    with pytest.raises(error, match="'wide'"):
        fb.encode_example({"wide": value})


@pytest.mark.parametrize("features, found", [({1: 2}, "1 (int)"), ({b"a": 2}, "b'a' (bytes)"), ([1], "[1] (list)")])
def test_features_have_names(features, found):
    with pytest.raises(TypeError) as caught:
        fb.encode_example(features)
    assert str(caught.value).startswith("features: must be a dict") and str(caught.value).endswith(f"found {found}")


def test_infinity_and_what_float32_rounds_are_no_overflow():
    assert plain(fb.decode_example(fb.encode_example({"f": [float("inf"), 1e-300]}))) == {"f": [float("inf"), 0.0]}


@pytest.mark.parametrize("message", [0, 5, [10, 0], None, "text"])
def test_only_a_buffer_is_a_message(message):
    with pytest.raises(TypeError, match="^message: must be bytes, or another bytes-like object; found "):
        fb.decode_example(message)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_is_a_message_and_a_record(tmp_path, kind):
    message = fb.encode_example({"a": 1})
    assert plain(fb.decode_example(kind(message))) == {"a": [1]}
    fb.write_records(tmp_path / "a", [kind(message)])
    assert fb.read_records(tmp_path / "a") == [message]


@given(st.dictionaries(st.text(max_size=5), st.one_of(
    st.lists(st.integers(-2**63, 2**63 - 1), min_size=1), st.lists(st.floats(width=32, allow_nan=False), min_size=1),
    st.lists(st.binary(max_size=9), min_size=1))))
def test_an_example_comes_back_as_it_was(features):
    assert plain(fb.decode_example(fb.encode_example(features))) == features


@given(st.binary(max_size=60))
def test_arbitrary_bytes_decode_or_are_a_data_error(message):
    try:
        fb.decode_example(message)
    except fb.DataError as error:
        assert error.code == "data"


def plain_sequence(sequence):
    return plain(sequence.context), {name: [plain({0: step})[0] for step in steps] for name, steps in sequence.lists.items()}


def test_the_steps_of_a_list_are_the_first_axis_of_an_array_or_the_items_of_an_iterable():
    lists = {"mel": np.arange(6, dtype=np.float32).reshape(3, 2), "id": np.array([7, 8]), "word": ["a", b"b", ["c", "d"]],
             "gap": [1, None, [2, 3], np.zeros(0, np.int64)], "none": []}
    message = fb.encode_sequence_example({"tag": "x"}, lists)
    assert plain_sequence(fb.decode_sequence_example(message)) == ({"tag": [b"x"]}, {
        "gap": [[1], None, [2, 3], []], "id": [[7], [8]], "mel": [[0, 1], [2, 3], [4, 5]], "none": [],
        "word": [[b"a"], [b"b"], [b"c", b"d"]]})
    # Context id = 7; list x = [1.0, 2.0], [3.0], a step without a kind.
    known = "0a0d0a0b0a02696412051a030a010712210a1f0a0178121a0a0c120a0a080000803f000000400a0812060a04000040400a00"
    assert fb.encode_sequence_example({"id": 7}, {"x": [[1.0, 2.0], [3.0], None]}).hex() == known
    context, lists = fb.decode_sequence_example(bytes.fromhex(known))
    assert context["id"].dtype == np.int64 and lists["x"][0].dtype == np.float32 and lists["x"][2] is None
    assert fb.encode_sequence_example() == b"" and fb.decode_sequence_example(b"") == ({}, {})


@pytest.mark.parametrize("arguments, error, text", [
    (({}, {"x": "ab"}), TypeError, "feature 'x': expected one value for each step"),
    (({}, {"x": 5}), TypeError, "feature 'x': expected one value for each step"),
    (({}, {"x": np.array(5)}), TypeError, "feature 'x': expected one value for each step"),
    (({}, {"x": [[1], [2**63]]}), OverflowError, "feature 'x'"), (({}, {1: []}), TypeError, "lists: must be a dict"),
    (([], {}), TypeError, "context: must be a dict")])
def test_what_no_sequence_holds_is_refused_by_name(arguments, error, text):
    with pytest.raises(error) as caught:
        fb.encode_sequence_example(*arguments)
    assert str(caught.value).startswith(text)


STEP = st.one_of(st.none(), st.lists(st.integers(-2**63, 2**63 - 1), min_size=1), st.lists(st.binary(max_size=9), min_size=1),
                 st.lists(st.floats(width=32, allow_nan=False), min_size=1))


@given(st.dictionaries(st.text(max_size=5), STEP), st.dictionaries(st.text(max_size=5), st.lists(STEP, max_size=5)))
def test_a_sequence_comes_back_as_it_was(context, lists):
    assert plain_sequence(fb.decode_sequence_example(fb.encode_sequence_example(context, lists))) == (context, lists)


@given(st.binary(max_size=60))
def test_arbitrary_bytes_decode_as_a_sequence_or_are_a_data_error(message):
    try:
        fb.decode_sequence_example(message)
    except fb.DataError as error:
        assert error.code == "data"


@pytest.mark.parametrize("compression", [None, "gzip", "zstd"])
def test_a_writer_makes_the_file_of_write_records(tmp_path: pathlib.Path, compression: "str | None") -> None:
    records = [b"", b"one", bytes(70_000), b"two"] * 3
    fb.write_records(tmp_path / "a", records, compression)
    with fb.RecordWriter(tmp_path / "b", compression) as out:
        for record in records:
            out.write(record)
        out.write(memoryview(b"more"))
        assert out.records == 13 and not (tmp_path / "b").exists()
    assert fb.read_records(tmp_path / "b") == [*records, b"more"]
    with fb.RecordWriter(tmp_path / "a", compression, append=True) as out:
        assert out.records == 12
        out.write(b"more")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_writer_replaces_a_file_only_when_its_own_is_complete(tmp_path: pathlib.Path) -> None:
    fb.write_records(tmp_path / "a", [b"old"])
    with pytest.raises(KeyError):
        with fb.RecordWriter(tmp_path / "a") as out:
            out.write(b"new")
            raise KeyError
    assert fb.read_records(tmp_path / "a") == [b"old"] and [path.name for path in tmp_path.iterdir()] == ["a"]
    out = fb.RecordWriter(tmp_path / "a")
    out.write(b"new")
    out.close(), out.close()
    assert fb.read_records(tmp_path / "a") == [b"new"]
    with pytest.raises(ValueError, match="the file is closed; no record can be written any more"):
        out.write(b"late")
    with pytest.raises(TypeError, match="record: must be bytes, or another bytes-like object"):
        fb.RecordWriter(tmp_path / "b").write("text")  # type: ignore[arg-type]
    with pytest.raises(OSError, match="No such file"):
        fb.RecordWriter(tmp_path / "none" / "a")
    (tmp_path / "a").write_bytes(b"no records at all")
    with pytest.raises(fb.DataError):
        fb.RecordWriter(tmp_path / "a", append=True)


@pytest.mark.parametrize("compression", [None, "gzip", "zstd", "bzip2", "xz"])
def test_what_a_writer_flushed_is_there_and_stays(tmp_path: pathlib.Path, compression: "str | None") -> None:
    path = tmp_path / "a"
    fb.write_records(path, [b"old"])
    with pytest.raises(KeyError):
        with fb.RecordWriter(path, compression) as out:
            out.write(b"one"), out.write(bytes(3_000_000))
            assert fb.read_records(path) == [b"old"]
            out.flush(), out.flush()
            assert fb.read_records(path) == [b"one", bytes(3_000_000)]
            out.write(b"two"), out.flush()
            assert fb.read_records(path)[2:] == [b"two"]
            out.write(bytes(range(256)) * 9_000)
            raise KeyError
    assert fb.read_records(path) == [b"one", bytes(3_000_000), b"two"] and list(tmp_path.iterdir()) == [path]
    with fb.RecordWriter(path, compression, append=True) as out:
        out.write(b"three")
        out.flush()
    assert fb.read_records(path) == [b"one", bytes(3_000_000), b"two", b"three"] and list(tmp_path.iterdir()) == [path]


def test_a_flush_without_records_and_one_of_zlib(tmp_path: pathlib.Path) -> None:
    for compression in (None, "gzip", "zstd"):
        with fb.RecordWriter(tmp_path / "a", compression) as out:
            out.flush()
            assert fb.read_records(tmp_path / "a") == []
            out.write(b"one")
        assert fb.read_records(tmp_path / "a") == [b"one"]
    with pytest.raises(fb.ConfigError, match="a zlib file is one stream, which ends with the file; take gzip or zstd"):
        fb.RecordWriter(tmp_path / "b", "zlib").flush()


def test_levels_of_compression(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(1)
    records = [bytes(rng.integers(97, 105, 5_000, np.uint8)) * 2 for _ in range(40)]
    for compression, fast, small in [("gzip", 1, 9), ("zlib", 0, 6), ("zstd", 1, 19), ("bzip2", 1, 9), ("xz", 0, 6)]:
        sizes = []
        for level in (fast, small):
            with fb.RecordWriter(tmp_path / "a", compression, level=level) as out:
                for record in records:
                    out.write(record)
            sizes.append((tmp_path / "a").stat().st_size)
            assert fb.read_records(tmp_path / "a") == records
        assert sizes[1] <= sizes[0], compression
    for compression, level, allowed in [("gzip", 10, "0 to 9"), ("zstd", 0, "1 to 22"), ("bzip2", 0, "1 to 9"), ("xz", 1 << 40, "0 to 9")]:
        with pytest.raises(fb.ConfigError, match=f"level: of {compression} it is {allowed}, found {level}"):
            fb.RecordWriter(tmp_path / "b", compression, level=level)
    with pytest.raises(fb.ConfigError, match="level: without a compression there is none"):
        fb.RecordWriter(tmp_path / "b", level=3)
    with pytest.raises(TypeError, match="level: must be"):
        fb.RecordWriter(tmp_path / "b", "gzip", level="fast")  # type: ignore[arg-type]
    assert not (tmp_path / "b").exists()
