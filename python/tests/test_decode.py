# SPDX-License-Identifier: Apache-2.0
"""Decoders as functions and as steps: fb.decode, fb.decode_raw, fb.decode_json_example, the step `decode`."""
from __future__ import annotations

import base64
import io
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import forebay as fb

FEATURES = {"x": fb.fixed("float32", [2]), "y": fb.fixed("int64", default=-1), "t": fb.var_len("int64"),
            "w": fb.var_len("string", as_="sparse"), "s": fb.fixed_len_sequence("float32", [2])}
ROWS = [{"x": [0.5, 1.5], "y": 7, "t": [1, 2, 3], "w": [b"a"], "s": [1.0, 2.0]},
        {"x": [2.5, 3.5], "t": np.array([], np.int64)},
        {"x": [4.5, 5.5], "y": 9, "t": [4], "w": [b"b", b"c"], "s": [3.0, 4.0, 5.0, 6.0]}]
MESSAGES = [fb.encode_example(row) for row in ROWS]


def same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, fb.Ragged):
        assert a.row_splits.tolist() == b.row_splits.tolist()
        a, b = a.values, b.values
    elif isinstance(a, fb.Sparse):
        assert a.indices.tolist() == b.indices.tolist() and a.dense_shape == b.dense_shape
        a, b = a.values, b.values
    assert a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()


def test_a_decoder_gives_what_a_batch_of_the_records_holds(tmp_path):
    fb.write_records(tmp_path / "a", MESSAGES)
    batch = next(fb.tfrecord(tmp_path / "a").example(FEATURES).batch(size=3).load())
    values = fb.decode("example", {"features": FEATURES}, MESSAGES)
    assert list(values) == list(batch)
    for name, value in values.items():
        same(value, batch[name])


def test_hundreds_of_records_are_decoded_in_one_call():
    records = [fb.encode_example({"n": n, "v": list(range(n % 5))}) for n in range(500)]
    out = fb.decode("example", {"features": {"n": fb.fixed("int64"), "v": fb.var_len("int32")}}, records)
    assert out["n"].tolist() == list(range(500))
    assert out["v"].to_list() == [list(range(n % 5)) for n in range(500)]


def test_no_records_are_no_rows():
    out = fb.decode("example", {"features": FEATURES}, [])
    assert out["x"].shape == (0, 2) and len(out["t"]) == 0 and out["w"].dense_shape[0] == 0


def test_sequence_examples_and_plain_records_are_decoded():
    message = fb.encode_sequence_example({"id": 5}, {"f": [[1.0], [2.0, 3.0]]})
    out = fb.decode("sequence_example", {"context": {"id": fb.fixed("int64")}, "lists": {"f": fb.var_len("float32")}}, [message])
    assert out["id"].tolist() == [5] and out["f"].values.tolist() == [1.0, 2.0, 3.0]
    assert fb.decode("record", None, [b"ab", b""])["record"].tolist() == [b"ab", b""]


def test_an_error_names_the_record_and_the_feature():
    bad = fb.encode_example({"x": [1.0]})
    with pytest.raises(fb.DataError, match=r"record 2, feature 'x': expected 2 float values") as caught:
        fb.decode("example", {"features": {"x": fb.fixed("float32", [2])}}, [MESSAGES[0], MESSAGES[1], bad])
    assert (caught.value.record, caught.value.feature) == (2, "x")


def test_faults_of_the_options_come_before_the_records():
    with pytest.raises(fb.ConfigError, match=r"there is no decoder 'exmple'; did you mean 'example'\?"):
        fb.decode("exmple", {}, [])
    with pytest.raises(fb.ConfigError) as caught:
        fb.decode("example", {"features": {"x": {"dtype": "flot32"}, "y": {"dtyp": "int64"}}}, [])
    assert [fault.pointer for fault in caught.value.faults] == ["/features/x/dtype", "/features/y/dtyp", "/features/y"] or \
        {fault.pointer for fault in caught.value.faults} >= {"/features/x/dtype"}
    with pytest.raises(TypeError, match=r"records\[1\]: must be bytes"):
        fb.decode("record", {}, [b"a", 5])


def test_a_batch_larger_than_the_memory_is_refused():
    features = {"s": fb.fixed_len_sequence("float32")}
    records = [fb.encode_example({"s": [1.0] * (100_000 if n == 0 else 1)}) for n in range(100)]
    with pytest.raises(fb.DataError, match="memory budget") as caught:
        fb.decode("example", {"features": features}, records, memory="1MiB")
    assert caught.value.detail == "resource_exhausted"


# The step `decode`.

def nested(tmp_path) -> str:
    """Records whose feature `m` is a message itself."""
    path = tmp_path / "nested"
    fb.write_records(path, [fb.encode_example({"k": n, "m": message}) for n, message in enumerate(MESSAGES * 20)])
    return str(path)


def test_the_strings_of_a_column_are_decoded(tmp_path):
    pipe = fb.tfrecord(nested(tmp_path)).example({"k": fb.fixed("int64"), "m": fb.fixed("string")})
    batch = next(pipe.decode("m", {"example": {"features": FEATURES}}).batch(size=60).load(threads=2))
    want = fb.decode("example", {"features": FEATURES}, MESSAGES * 20)
    assert list(batch) == ["k", *FEATURES]
    for name, value in want.items():
        same(batch[name], value)


def test_arrays_of_strings_are_decoded_and_may_stay():
    pipe = fb.arrays({"m": np.array(MESSAGES, object), "i": np.arange(3)})
    batch = next(pipe.decode("m", {"example": {"features": {"x": FEATURES["x"]}}}, keep=True).batch(size=3).load())
    assert list(batch) == ["m", "i", "x"]
    assert batch["m"].tolist() == MESSAGES and batch["x"].tolist() == [row["x"] for row in ROWS]


def test_what_nothing_asks_for_is_not_decoded():
    features = {**FEATURES, "absent": fb.fixed("int64", [2])}
    whole = fb.arrays({"m": np.array(MESSAGES, object)}).decode("m", {"example": {"features": features}})
    with pytest.raises(fb.DataError, match="absent"):
        next(whole.batch(size=3).load(threads=1))
    batch = next(whole.select(["x"]).batch(size=3).load(threads=1))
    assert list(batch) == ["x"] and batch["x"].tolist() == [row["x"] for row in ROWS]
    with pytest.raises(fb.DataError, match="absent"):  # the filter asks for it
        next(whole.filter(where="length(absent) > 0").select(["x"]).batch(size=3).load(threads=1))
    nothing = fb.arrays({"m": np.array(MESSAGES, object), "i": np.arange(3)}).decode("m", {"example": {"features": FEATURES}})
    assert next(nothing.select(["i"]).batch(size=3).load(threads=1))["i"].tolist() == [0, 1, 2]


def test_a_decoded_column_may_take_the_name_of_its_strings():
    batch = next(fb.arrays({"m": np.array([b"\1\0\2\0"], object)})
                 .decode("m", {"raw": {"name": "m", "dtype": "int16", "endian": "little", "shape": [2]}}).batch(size=1).load())
    assert batch["m"].tolist() == [[1, 2]]


def test_a_bad_string_names_its_row_and_is_left_out_on_demand():
    messages = np.array([*MESSAGES, b"\xff\xff", *MESSAGES], object)
    pipe = fb.arrays({"m": messages}, name="mine").decode("m", {"example": {"features": {"y": FEATURES["y"]}}}).batch(size=7)
    with pytest.raises(fb.DataError, match=r"mine, record 3.*decode: tensor 'm'") as caught:
        next(pipe.load())
    assert caught.value.record == 3
    batch = next(pipe.on_corrupt("skip_row").load())
    assert batch["y"][:batch.valid_rows].tolist() == [7, -1, 9, 7, -1, 9]
    assert [origin for origin, _ in batch.skipped] == [("mine", 3, 3)]


def test_a_restart_goes_on_behind_a_decoded_batch(tmp_path):
    pipe = fb.tfrecord(nested(tmp_path)).example({"k": fb.fixed("int64"), "m": fb.fixed("string")}).shuffle(buffer=10)
    pipe = pipe.decode("m", {"example": {"features": {"t": FEATURES["t"]}}}).batch(size=7)
    loader = pipe.load(threads=2)
    next(loader), next(loader)
    rest = pipe.load(threads=1)
    rest.load_state_dict(loader.state_dict())
    for one, other in zip(loader, rest):
        assert one["k"].tolist() == other["k"].tolist()
        same(one["t"], other["t"])


@pytest.mark.parametrize("column, decoder, words", [
    ("i", {"record": {}}, "must be one string a row; 'i' is int64"),
    ("n", {"record": {}}, "no tensor 'n'"),
    ("m", {"record": {"name": "i"}}, "there is a tensor of that name already"),
    ("m", {"rekord": {}}, "there is no decoder 'rekord'"),
    ("m", {"record": {"nam": "x"}}, "nam"),
    ("m", {}, "one decoder with its options"),
])
def test_a_wrong_step_is_refused_before_it_runs(column, decoder, words):
    pipe = fb.arrays({"m": np.array([b""], object), "i": np.arange(1)}).decode(column, decoder).batch(size=1)
    with pytest.raises(fb.ConfigError, match="(?s)" + words.replace("[", r"\[")):
        pipe.plan()


# fb.decode_raw and the decoder `raw`.

DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
          "complex64", "complex128"]


@given(st.sampled_from(DTYPES), st.booleans(), st.lists(st.binary(max_size=40), min_size=1, max_size=4),
       st.none() | st.integers(1, 48))
def test_raw_bytes_are_the_numbers_that_numpy_reads(dtype, little, values, fixed_length):
    size = np.dtype(dtype).itemsize
    padded = [value[:fixed_length].ljust(fixed_length or 0, b"\0") for value in values]
    sizes = {len(value) for value in padded}
    fits = len(sizes) == 1 and sizes.pop() % size == 0
    if not fits:
        with pytest.raises(fb.Error):
            fb.decode_raw(values, dtype, little, fixed_length)
        return
    raw = np.array([np.frombuffer(value, np.uint8) for value in padded])
    want = raw != 0 if dtype == "bool" else raw.view(np.dtype(dtype).newbyteorder("<" if little else ">")).astype(dtype)
    got = fb.decode_raw(values, dtype, little, fixed_length)
    assert got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()


def test_raw_keeps_the_shape_of_its_strings():
    values = np.array([[b"\1\2", b"\3\4"], [b"\5\6", b"\7\10"]], object)
    assert fb.decode_raw(values, "uint8").tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert fb.decode_raw(b"\1\2", np.int16, little_endian=False).tolist() == [258]
    assert fb.decode_raw([b"", b""], "float32").shape == (2, 0)


@pytest.mark.parametrize("options, words", [
    ({"dtype": "int16"}, "byte order"),
    ({"dtype": "int16", "endian": "middle"}, "endian"),
    ({"dtype": "int16", "endian": "big", "fixed_length": 0}, "fixed_length"),
    ({"dtype": "int16", "endian": "big", "fixed_length": -4}, "fixed_length"),
    ({"dtype": "int16", "endian": "big", "fixed_length": 3}, "fixed_length"),
    ({"dtype": "string", "endian": "big"}, "dtype"),
    ({"dtype": "int16", "endian": "big", "shape": [2**31, 2**31]}, "shape"),
    ({"dtype": "int16", "endian": "big", "shape": [-2]}, "shape"),
])
def test_wrong_raw_options_name_the_option(options, words):
    with pytest.raises(fb.ConfigError, match=words) as caught:
        fb.decode("raw", options, [b""])
    assert caught.value.detail == "invalid_argument"


def test_raw_bytes_that_do_not_fit_are_an_error():
    with pytest.raises(fb.DataError, match=r"record 1, feature 'values': 3 bytes are not a multiple of 2"):
        fb.decode("raw", {"dtype": "int16", "endian": "little", "as": "ragged"}, [b"ab", b"abc"])
    with pytest.raises(fb.DataError, match=r"record 0, feature 'v': expected 4 bytes for 2 int16 .*, found 2"):
        fb.decode("raw", {"name": "v", "dtype": "int16", "endian": "little", "shape": [2]}, [b"ab"])
    out = fb.decode("raw", {"dtype": "int16", "endian": "little", "as": "ragged"}, [b"ab", b"", b"abcd"])
    assert np.diff(out["values"].row_splits).tolist() == [1, 0, 2]


# fb.decode_json_example and the decoder `json_example`.

def json_of(features: dict[str, Any], choose: Any = None) -> str:
    """The JSON text of features, in one of the ways that there are to write it."""
    pick = choose or (lambda ways: ways[0])
    out = {}
    for name, value in features.items():
        if value is None:
            out[name] = {}
        elif isinstance(value, list):
            texts = [pick([base64.b64encode(v).decode(), base64.urlsafe_b64encode(v).decode().rstrip("=")]) for v in value]
            out[name] = {pick(["bytesList", "bytes_list"]): {"value": texts}}
        elif value.dtype == np.int64:
            out[name] = {pick(["int64List", "int64_list"]): {"value": [pick([int(v), str(int(v))]) for v in value]}}
        else:
            special = {math.inf: "Infinity", -math.inf: "-Infinity"}
            numbers = [special.get(v, "NaN" if math.isnan(v) else pick([v, repr(v)])) for v in value.tolist()]
            out[name] = {pick(["floatList", "float_list"]): {"value": numbers}}
    return json.dumps({"features": {"feature": out}}, indent=pick([None, 2]))


FLOATS = st.lists(st.floats(width=32), max_size=5).map(lambda v: np.array(v, np.float32))
INTS = st.lists(st.integers(-2**63, 2**63 - 1), max_size=5).map(lambda v: np.array(v, np.int64))
VALUES = st.none() | FLOATS | INTS | st.lists(st.binary(max_size=8), max_size=4)


@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=5), st.randoms(use_true_random=False))
def test_json_text_is_the_message_that_it_writes(features, random):
    found = fb.decode_example(fb.decode_json_example(json_of(features, random.choice)))
    assert found.keys() == features.keys()
    for name, value in features.items():
        if value is None or isinstance(value, list):
            assert found[name] == value
        else:
            assert found[name].dtype == value.dtype
            assert np.array_equal(found[name], value, equal_nan=value.dtype == np.float32)


@pytest.mark.parametrize("text, words", [
    ("", "line 1, column 1: the text is empty"),
    ("[]", "found a list, expected an object"),
    ("{} {}", "line 1, column 4"),
    ('{"features": {"feature": {"a": {"int64List": {"value": [1.5]}}}}}', "feature 'a'.*column 60: '1.5' is no int64"),
    ('{"features":\n {"feature": {"a": {"int64List": {"value": ["9223372036854775808"]}}}}}', "line 2, column .* no int64"),
    ('{"features": {"feature": {"a": {"floatList": {"value": [1e39]}}}}}', "'1e39' is no float32"),
    ('{"features": {"feature": {"a": {"floatList": {"value": [NaN]}}}}}', "line 1, column"),
    ('{"features": {"feature": {"a": {"bytesList": {"value": ["*"]}}}}}', "is no base64"),
    ('{"features": {"feature": {"a": {"bytesList": {"value": [1]}}}}}', "base64 text"),
    ('{"features": {"feature": {"a": {"int64List": {"value": [null]}}}}}', "found null"),
    ('{"features": {"feature": {"a": {"int64List": {"value": [true]}}}}}', "found a boolean"),
    ('{"features": {"feature": {"a": {"int64List": {"value": 1}}}}}', "found a number, expected a list of values"),
    ('{"features": {"feature": {"a": {"intList": {}}}}}', "unknown name 'intList'"),
    ('{"feature": {}}', "unknown name 'feature'; only 'features' can stand here"),
    ('{"features": {"feature": {"a": {}, "a": {}}}}', "the feature is there twice"),
    ('{"features": {}, "features": {}}', "'features' is there twice"),
    ('{"features": {"feature": {"a": {"int64List": {}, "floatList": {}}}}}', "one list, and this is its second"),
    ('{"features": {"feature": {"a": null}}}', "found null, expected a feature"),
    ("[" * 100_000, "found a list"),
])
def test_other_json_text_is_refused_with_its_place(text, words):
    with pytest.raises(fb.DataError, match=words) as caught:
        fb.decode_json_example(text)
    assert caught.value.detail == "data_loss"


def test_parts_that_are_null_or_left_out_are_not_there():
    for text in ('{}', '{"features": null}', '{"features": {}}', '{"features": {"feature": null}}', ' {"features":{"feature":{}}}\n'):
        assert fb.decode_example(fb.decode_json_example(text)) == {}
    text = '{"features": {"feature": {"a": {"int64List": null}, "b": {"int64List": {"value": null}}, "c": {"int64List": {"value": [1e3]}}}}}'
    found = fb.decode_example(fb.decode_json_example(text))
    assert found["a"] is None and found["b"].tolist() == [] and found["c"].tolist() == [1000]


def test_json_records_are_decoded_like_messages(tmp_path):
    features = {"x": fb.fixed("float32", [2]), "t": fb.var_len("int64"), "w": fb.fixed("string", default="-")}
    rows = [{"x": np.array([n, n + 0.5], np.float32), "t": np.arange(n % 3), "w": [b"w%d" % n]} for n in range(40)]
    texts = [json_of(row).encode() for row in rows]
    (tmp_path / "lines").write_bytes(b"".join(text + b"\n" for text in texts))
    want = fb.decode("example", {"features": features}, [fb.decode_json_example(text) for text in texts])
    batch = next(fb.lines(tmp_path / "lines").json_example(features).batch(size=40).load(threads=2))
    for found in (fb.decode("json_example", {"features": features}, texts), batch):
        for name, value in want.items():
            same(found[name], value)


def test_a_bad_json_record_names_its_line(tmp_path):
    (tmp_path / "lines").write_text(json_of({"x": np.array([1])}) + '\n{"features": {"feature": {"x": 5}}}\n')
    pipe = fb.lines(tmp_path / "lines").json_example({"x": fb.fixed("int64")}).batch(size=2)
    with pytest.raises(fb.DataError, match=r"lines, line 2, record 1.*feature 'x'.*line 1, column 33: found a number") as caught:
        next(pipe.load())
    assert caught.value.record == 1


def saved(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.mark.parametrize("array", [np.arange(6, dtype=np.int16).reshape(2, 3), np.float64(1.5), np.zeros((2, 0), bool),
                                   np.array([1 + 2j], np.complex64)])
def test_npy_records_are_the_arrays_that_numpy_saved(array: Any) -> None:
    options = {"dtype": str(array.dtype), "shape": list(array.shape)}
    values = fb.decode("npy", options, [saved(array), saved(array)])["values"]
    assert values.dtype == array.dtype and values.tolist() == [array.tolist()] * 2
    ragged = fb.decode("npy", {"dtype": "int64", "shape": [-1, 2]}, [saved(np.ones((rows, 2), np.int64)) for rows in (2, 0, 1)])
    assert ragged["values"].row_splits.tolist() == [0, 2, 2, 3] and ragged["values"].values.shape == (3, 2)


@pytest.mark.parametrize("record, found", [
    (saved(np.zeros((2, 3), np.float64)), r"found float64\[2,3\]"), (saved(np.zeros((3, 2), np.float32)), r"found float32\[3,2\]"),
    (saved(np.zeros((2, 3), ">f4")), "big-endian"), (saved(np.zeros((2, 3), np.float32, order="F")), "in Fortran order"),
    (saved(np.array([None], object)), "is a pickle, which can run code"), (b"abc", "not an npy file"),
    (saved(np.zeros((2, 3), np.float32))[:-1], "names 24 bytes of numbers, but the file has 23")])
def test_npy_records_of_another_type_shape_or_order_are_named(record: bytes, found: str) -> None:
    good = saved(np.zeros((2, 3), np.float32))
    with pytest.raises(fb.DataError, match=found) as caught:
        fb.decode("npy", {"dtype": "float32", "shape": [2, 3]}, [good, record])
    assert caught.value.record == 1
    with pytest.raises(fb.ConfigError, match="only the first size may be -1"):
        fb.decode("npy", {"dtype": "float32", "shape": [2, -1]}, [good])
