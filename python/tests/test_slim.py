# SPDX-License-Identifier: Apache-2.0
"""fb.slim: descriptions of data sets, item handlers and providers."""
from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import pytest
from test_decode import same

import forebay as fb
from forebay import slim

INTS, FLOATS, TEXTS = fb.var_len("int64"), fb.var_len("float32"), fb.var_len("string")


def decoded(features: dict[str, Any], handlers: dict[str, slim.ItemHandler], row: dict[str, Any]) -> list[Any]:
    return slim.TFExampleDecoder(features, handlers).decode(fb.encode_example(row))


def listed(lists: dict[str, Any], handler: slim.ItemHandler, features: Any = FLOATS) -> Any:
    decoder = slim.TFSequenceExampleDecoder({}, {key: features for key in lists}, {"v": handler})
    return decoder.decode(fb.encode_sequence_example({}, lists))[0]


# The worked examples SL-1 to SL-9.

@pytest.mark.parametrize("handler, want", [
    (slim.Tensor("a"), [1, 2, 3, 4, 5, 6]),
    (slim.Tensor("a", shape=[2, 3]), [[1, 2, 3], [4, 5, 6]]),
    (slim.Tensor("a", shape_keys=["h", "w", "d"]), [[[1], [2], [3]], [[4], [5], [6]]]),
])
def test_sl1_a_list_gets_its_shape_from_an_argument_or_from_features(handler, want):
    features = {"a": INTS, "h": fb.fixed("int64"), "w": fb.fixed("int64"), "d": fb.fixed("int64")}
    row = {"a": [1, 2, 3, 4, 5, 6], "h": 2, "w": 3, "d": 1}
    assert decoded(features, {"v": handler}, row)[0].tolist() == want


def test_sl2_a_sparse_item_is_as_large_as_its_ids_need():
    features, row = {"indices": INTS, "values": FLOATS}, {"indices": [1, 2, 5], "values": [0.1, 0.2, 0.6]}
    dense = decoded(features, {"v": slim.SparseTensor(shape=[6], densify=True)}, row)[0]
    assert dense.tolist() == np.array([0, .1, .2, 0, 0, .6], np.float32).tolist()
    found = decoded(features, {"v": slim.SparseTensor()}, row)[0]
    assert (found.dense_shape, found.indices.tolist()) == ((6,), [[1], [2], [5]])


@pytest.mark.parametrize("row, want", [
    ({"text": [b"cat", b"dog", b"guinea pig"]}, [2, 0, 1]),
    ({"text": [b"cat", b"dog", b"guinea pig"], "label": [42, 10, 900]}, [42, 10, 900]),
    ({"label": [42, 10, 901]}, [42, 10, 901]),
])
def test_sl3_a_backup_looks_words_up_where_there_are_no_labels(row, want):
    lookup = slim.LookupTensor("text", ["dog", "guinea pig", "cat"])
    handler = slim.BackupHandler(slim.Tensor("label"), lookup)
    assert handler.keys == ["label", "text"]
    assert decoded({"text": TEXTS, "label": INTS}, {"v": handler}, row)[0].tolist() == want


def test_sl4_boxes_are_counted_frame_by_frame():
    count = slim.NumBoxesSequence("p")
    assert listed({"p": [[32.0, 21.0], [55.5]]}, count).tolist() == [2, 1]
    assert listed({"p": [[], []]}, count).tolist() == [0, 0]
    assert listed({"p": [[0.0, .1], []]}, count).tolist() == [2, 0]
    two = {"p": [[32.0, 21.0], [55.5]], "q": [[32.0], [55.5]]}
    with pytest.raises(fb.DataError, match=r"'q' has \[1, 1\] boxes in the frames, and 'p' has \[2, 1\]"):
        listed(two, slim.NumBoxesSequence(["p", "q"]))
    assert listed(two, slim.NumBoxesSequence(["p", "q"], check_consistency=False)).tolist() == [2, 1]


BOXES = {"xmin": [[32.0, 21.0], [55.5]], "xmax": [[21.0, 21.0], [32.5]], "ymin": [[7.0, 21.0], [55.5]],
         "ymax": [[32.0, 21.0], [55.5]]}


def test_sl5_boxes_of_frames_have_holes():
    found = listed(BOXES, slim.BoundingBoxSequence())
    assert found.tolist() == [[[7, 32, 32, 21], [21] * 4], [[55.5, 55.5, 55.5, 32.5], [-1] * 4]]
    holes = listed(BOXES, slim.BoundingBoxSequence(default_value=float("nan")))[1, 1]
    assert np.isnan(holes).all()
    sparse = listed(BOXES, slim.BoundingBoxSequence(return_dense=False))
    assert sparse.dense_shape == (2, 2, 4) and len(sparse.values) == 12
    points = {"k/y": BOXES["ymin"], "k/x": BOXES["xmin"]}
    assert listed(points, slim.KeypointsSequence(prefix="k/")).tolist() == [[[7, 32], [21, 21]], [[55.5, 55.5], [-1, -1]]]


def png(pixels: Any) -> bytes:
    """A PNG file without filters."""
    height, width, channels = pixels.shape
    kind = {1: 0, 3: 2, 4: 6}[channels]
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")]
    chunks = [struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


IMAGE = {"image/encoded": fb.fixed("string", default=""), "image/format": fb.fixed("string", default="png")}


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_sl6_png_images_are_exact(channels):
    pixels = np.random.default_rng(channels).integers(0, 256, (2, 3, channels), np.uint8)
    found = decoded(IMAGE, {"i": slim.Image(channels=channels)}, {"image/encoded": png(pixels)})[0]
    assert found.dtype == np.uint8 and found.tolist() == pixels.tolist()


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_sl6_raw_images_are_exact(dtype):
    pixels = np.arange(18, dtype=dtype).reshape(2, 3, 3)
    row = {"image/encoded": pixels.tobytes(), "image/format": b"raw"}
    assert decoded(IMAGE, {"i": slim.Image(shape=[2, 3, 3], dtype=dtype)}, row)[0].tolist() == pixels.tolist()
    sizes = {"h": fb.fixed("int64"), "w": fb.fixed("int64")}
    handler = slim.Image(dtype=dtype, height_key="h", width_key="w")
    assert decoded({**IMAGE, **sizes}, {"i": handler}, {**row, "h": 2, "w": 3})[0].tolist() == pixels.tolist()
    with pytest.raises(fb.DataError, match="a raw image needs `shape`"):
        decoded(IMAGE, {"i": slim.Image(dtype=dtype)}, row)


def test_sl6_several_images_are_stacked():
    pixels = np.random.default_rng(0).integers(0, 256, (2, 2, 3, 3), np.uint8)
    features = {**IMAGE, "image/encoded": fb.fixed_len_sequence("string")}
    found = decoded(features, {"i": slim.Image(repeated=True)}, {"image/encoded": [png(image) for image in pixels]})[0]
    assert found.tolist() == pixels.tolist()
    with pytest.raises(fb.DataError, match="there must be one at least"):
        decoded(features, {"i": slim.Image(repeated=True)}, {})


def test_a_format_that_contradicts_the_content_gives_a_warning():
    pixels = np.zeros((2, 3, 3), np.uint8)
    with pytest.warns(UserWarning, match="format is 'jpeg', but the bytes are png"):
        found = decoded(IMAGE, {"i": slim.Image()}, {"image/encoded": png(pixels), "image/format": b"jpeg"})[0]
    assert found.tolist() == pixels.tolist()


@pytest.fixture
def files(tmp_path) -> list[str]:
    """3 files of 7 records: the text "file-record"."""
    paths = [str(tmp_path / f"flowers.tfrecord-{n}-of-3") for n in range(3)]
    for n, path in enumerate(paths):
        fb.write_records(path, [fb.encode_example({"id": 10 * n + i, "name": f"{n}-{i}"}) for i in range(7)])
    return paths


def test_sl7_readers_share_the_files(files):
    with pytest.warns(RuntimeWarning, match="num_readers is 5, but there are 3 files"):
        reader = slim.parallel_read(files, num_readers=5, num_epochs=1, shuffle=True, seed=1)
    with reader:
        groups = list(iter(lambda: reader.read_up_to(4), []))
    assert [len(group) for group in groups] == [4, 4, 4, 4, 4, 1]
    keys = [record.key for group in groups for record in group]
    assert len(set(keys)) == 21 and all(sum(key.startswith(path + ":") for key in keys) == 7 for path in files)
    assert (reader.num_records_produced, reader.num_work_units_completed()) == (21, 3)


def test_sl8_a_single_pass_reads_in_order_and_ends(files):
    with slim.single_pass_read(files[0]) as reader:
        records = list(reader)
        with pytest.raises(StopIteration):
            next(reader)
    assert [fb.decode_example(record.value)["id"][0] for record in records] == list(range(7))
    assert records[0].key == f"{files[0]}:0" and all(record.key.rpartition(":")[2].isdecimal() for record in records)


def test_sl9_whole_batches_are_padded():
    batches = [np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8], [9, 10]]), np.array([[11, 12]])]
    queue = slim.prefetch_queue(batches, dynamic_pad=True)
    assert queue.dequeue_many(3).tolist() == [[[1, 2], [3, 4], [0, 0]], [[5, 6], [7, 8], [9, 10]], [[11, 12], [0, 0], [0, 0]]]
    with pytest.raises(fb.EndOfData):
        queue.dequeue()


# Decoders.

def test_items_come_in_the_order_that_is_asked_for():
    decoder = slim.TFExampleDecoder({"a": INTS, "b": fb.fixed("float32")}, {"z": slim.Tensor("a"), "y": slim.Tensor("b")})
    data = fb.encode_example({"a": [1, 2], "b": 0.5})
    assert decoder.list_items() == ["z", "y"]
    z, y = decoder.decode(data)
    assert z.tolist() == [1, 2] and y.shape == () and y == 0.5
    assert [value.tolist() for value in decoder.decode(data, ["y", "z", "y"])] == [0.5, [1, 2], 0.5]
    with pytest.raises(KeyError, match="nope"):
        decoder.decode(data, ["nope"])
    with pytest.raises(KeyError, match="'missing'"):
        decoded({"a": INTS}, {"v": slim.Tensor("missing")}, {})
    with pytest.raises(fb.DataError, match="record 0"):
        decoder.decode(b"\xff\xff")


def test_a_sequence_decoder_takes_context_and_lists():
    handlers = {"seq": slim.Tensor("x"), "id": slim.Tensor("id"), "words": slim.Tensor("y", default_value="-")}
    decoder = slim.TFSequenceExampleDecoder({"id": fb.fixed("int64")}, {"x": fb.fixed_len_sequence("int64", [2]), "y": TEXTS},
                                            handlers)
    data = fb.encode_sequence_example({"id": 5}, {"x": [[1, 2], [3, 4]], "y": [[b"a", b"b"], [b"c"]]})
    seq, number, words = decoder.decode(data)
    assert (seq.tolist(), number.tolist(), words.tolist()) == ([[1, 2], [3, 4]], 5, [[b"a", b"b"], [b"c", b"-"]])
    with pytest.raises(ValueError, match="Context and sequence keys are not unique: 'x'"):
        slim.TFSequenceExampleDecoder({"x": fb.fixed("int64")}, {"x": INTS}, {})


@pytest.mark.parametrize("make, error, words", [
    (lambda: slim.Tensor("a", shape_keys="s", shape=[1]), ValueError, "Cannot specify both shape_keys and shape"),
    (lambda: slim.BoundingBox(["a"]), ValueError, "BoundingBox expects 4 keys but got 1"),
    (lambda: slim.BoundingBoxSequence(["a", "b"]), ValueError, "BoundingBoxSequence expects 4 keys but got 2"),
    (lambda: slim.KeypointsSequence(["a"]), ValueError, "KeypointsSequence expects 2 keys but got 1"),
    (lambda: slim.NumBoxesSequence([]), ValueError, "keys must not be empty."),
    (lambda: slim.BackupHandler("a", slim.Tensor("b")), ValueError, "Primary handler is of type str instead of ItemHandler"),
    (lambda: slim.Image(dct_method="FAST"), ValueError, "dct_method must be"),
    (lambda: slim.parallel_read(["x"], dtypes=(bytes, int)), TypeError, "dtypes must be"),
    (lambda: slim.get_data_files([]), ValueError, "No data files found in"),
    (lambda: slim.get_data_files("/nowhere/at-all-*"), ValueError, "No data files found in"),
])
def test_wrong_arguments_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("features, handler, row, error, words", [
    ({"a": INTS}, slim.Tensor("a", shape=[4, 2]), {"a": range(6)}, fb.DataError, "6 values .* cannot get shape"),
    ({"a": TEXTS}, slim.Tensor("a"), {"a": [b"x"]}, TypeError, "default_value must be text"),
    ({"a": INTS, "h": fb.fixed("int64"), "w": fb.fixed("int64", [1])}, slim.Tensor("a", shape_keys=["h", "w"]),
     {"a": [1], "h": 1, "w": 1}, ValueError, "must have one shape"),
    ({"indices": INTS, "values": FLOATS}, slim.SparseTensor(shape=[3]), {"indices": [3], "values": [.5]}, fb.DataError, "outside"),
    ({"indices": INTS, "values": FLOATS}, slim.SparseTensor(shape=[3]), {"indices": [-1], "values": [.5]}, fb.DataError, "outside"),
    ({"indices": INTS, "values": FLOATS}, slim.SparseTensor(shape=[3]), {"indices": [1, 2], "values": [.5]}, fb.DataError,
     "2 indices for 1 values"),
    ({"indices": INTS, "values": FLOATS}, slim.SparseTensor(shape=[3], densify=True), {"indices": [2, 1], "values": [.5, .5]},
     fb.DataError, "row-major order"),
    ({"indices": INTS, "values": FLOATS}, slim.SparseTensor(shape=[3], densify=True), {"indices": [1, 1], "values": [.5, .5]},
     fb.DataError, "row-major order"),
    ({"indices": INTS, "values": FLOATS, "s": INTS}, slim.SparseTensor(shape_key="s", densify=True),
     {"indices": [1], "values": [.5], "s": [2**40]}, fb.DataError, "more than"),
    ({key: FLOATS for key in ("ymin", "xmin", "ymax", "xmax")}, slim.BoundingBox(),
     {"ymin": [1.0, 2.0], "xmin": [1.0], "ymax": [1.0], "xmax": [1.0]}, fb.DataError, "ymin 2, xmin 1"),
    ({**IMAGE, "image/encoded": TEXTS}, slim.Image(repeated=True), {"image/encoded": [b"x"]}, TypeError, "must be a dense feature"),
    (IMAGE, slim.Image(shape=[2, 2, 3]), {"image/encoded": b"x" * 11, "image/format": b"raw"}, fb.DataError, "cannot get shape"),
])
def test_records_that_do_not_fit_are_refused(features, handler, row, error, words):
    with pytest.raises(error, match=words):
        decoded(features, {"v": handler}, row)


def test_a_callback_gets_the_tensors_by_key():
    handler = slim.ItemHandlerCallback(["a", "b"], lambda tensors: {key: type(value) for key, value in tensors.items()})
    found = decoded({"a": INTS, "b": fb.fixed("int64")}, {"v": handler}, {"a": [1], "b": 2})[0]
    assert found == {"a": fb.Sparse, "b": np.ndarray}


# Providers.

def dataset(files: Any, reader: Any = None) -> slim.Dataset:
    decoder = slim.TFExampleDecoder({"id": fb.fixed("int64"), "name": fb.fixed("string")},
                                    {"id": slim.Tensor("id"), "name": slim.Tensor("name")})
    return slim.Dataset(files, reader, decoder, 21, {"id": "A number.", "name": "Its text."}, labels=["a", "b"])


def test_a_provider_gives_the_items_of_one_record_after_the_other(files):
    provider = slim.DatasetDataProvider(dataset(files), shuffle=False, num_epochs=1)
    assert (provider.list_items(), provider.num_samples()) == (["id", "name", "record_key"], 21)
    assert dataset(files).labels == ["a", "b"]
    number, = provider.get(["id"])
    name, key = provider.get(["name", "record_key"])
    assert (number, name, key) == (0, b"0-0", f"{files[0]}:0")
    rest = [(int(one), text[()]) for one, text in provider.each(["id", "name"])]
    assert rest == [(10 * n + i, f"{n}-{i}".encode()) for n in range(3) for i in range(7)][1:]
    with pytest.raises(EOFError):
        provider.get(["id"])
    assert not provider.advance()


def test_a_provider_refuses_unknown_items(files):
    provider = slim.DatasetDataProvider(dataset(files))
    with pytest.raises(ValueError, match="items must be a list or tuple"):
        provider.get("id")
    with pytest.raises(ValueError, match=r"Item \[x\] is invalid. Valid entries include: \['id', 'name', 'record_key'\]"):
        provider.get(["x"])
    with pytest.raises(ValueError, match="cannot also be used for a dataset item: id"):
        slim.DatasetDataProvider(dataset(files), record_key="id")


def test_shuffled_records_come_once_an_epoch_and_differ_by_epoch(files):
    provider = slim.DatasetDataProvider(dataset(files), num_epochs=2, num_readers=2, common_queue_capacity=8, common_queue_min=5,
                                        seed=3)
    numbers = [int(number) for number, in provider.each(["id"])]
    want = sorted(10 * n + i for n in range(3) for i in range(7))
    assert sorted(numbers) == sorted(want * 2) and sorted(numbers[:21]) == want
    assert numbers[:21] != want and numbers[:21] != numbers[21:]


@pytest.mark.parametrize("taken", [0, 1, 5, 63, 64, 65, 200])
def test_a_provider_goes_on_where_its_state_was_taken(files, taken):
    def make() -> slim.DatasetDataProvider:
        return slim.DatasetDataProvider(dataset(files), num_readers=2, num_epochs=10, common_queue_min=4, seed=7)
    first, second = make(), make()
    for _ in range(taken):
        first.advance()
    state = first.state_dict()
    second.load_state_dict(state)
    assert second.state_dict() == state
    assert [key for key, in first.each(["record_key"])] == [key for key, in second.each(["record_key"])]
    assert first._reader.num_work_units_completed() == second._reader.num_work_units_completed() == 30


def test_lines_are_read_by_another_reader(tmp_path):
    (tmp_path / "text").write_text("one\ntwo\n")

    class Upper(slim.DataDecoder):
        def list_items(self) -> list[str]:
            return ["text"]

        def decode(self, data: Any, items: Any = None) -> list[Any]:
            return [bytes(data).upper() for _ in items]

    data = slim.Dataset(str(tmp_path / "te*"), fb.lines, Upper(), None, {})
    assert [text for text, in slim.DatasetDataProvider(data, shuffle=False, num_epochs=1).each(["text"])] == [b"ONE", b"TWO"]


def test_files_are_found_by_name_pattern_and_shards(tmp_path):
    for name in ("b", "a", "s-00000-of-00002", "s-00001-of-00002"):
        (tmp_path / name).touch()
    one = str(tmp_path)
    assert slim.get_data_files([f"{one}/missing", [f"{one}/[ab]"], f"{one}/s@2"]) == [
        f"{one}/missing", f"{one}/a", f"{one}/b", f"{one}/s-00000-of-00002", f"{one}/s-00001-of-00002"]
    with pytest.raises(ValueError, match="there is no .*s-00000-of-00003"):
        slim.get_data_files(f"{one}/s@3")


# Queues.

def test_a_scope_runs_the_threads_of_queues(files):
    provider = slim.DatasetDataProvider(dataset(files), shuffle=False, num_epochs=1)
    queue = slim.prefetch_queue(({"b": one, "a": two} for one, two in provider.each(["id", "name"])))
    with slim.QueueRunners(queue) as coord:
        with pytest.raises(slim.NestedQueueRunnerError), slim.QueueRunners():
            pass
        rows = list(queue)
    assert coord.should_stop() and [int(row["b"]) for row in rows] == [10 * n + i for n in range(3) for i in range(7)]
    assert list(rows[0]) == ["a", "b"]
    assert list(queue.summaries()) == ["prefetch_queue/fraction_of_8_full"]


def test_batches_of_another_shape_are_refused_without_padding():
    queue = slim.prefetch_queue([np.zeros((2, 2)), np.zeros((3, 2))])
    assert queue.dequeue().shape == (2, 2)
    with pytest.raises(fb.ConfigError):
        queue.dequeue()


def test_a_scope_ends_the_threads_of_an_endless_queue(files):
    provider = slim.DatasetDataProvider(dataset(files))
    queue = slim.prefetch_queue(provider.each(["id"]), capacity=2, num_threads=2)
    with slim.QueueRunners(queue):
        assert len([queue.dequeue() for _ in range(30)]) == 30
    assert queue.queue.closed


# Pipelines.

def test_a_dataset_becomes_a_pipeline(files, tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (6, 4, 5, 3), np.uint8)
    rows = [{"image/encoded": png(image), "a": np.arange(n), "m": range(4), "i": [1, 3], "v": [n + .5, 9.0]}
            for n, image in enumerate(pixels)]
    fb.write_records(tmp_path / "images", [fb.encode_example(row) for row in rows])
    features = {**IMAGE, "a": INTS, "m": fb.fixed("int64", [4]), "i": INTS, "v": FLOATS}
    handlers = {"image": slim.Image(), "a": slim.Tensor("a"), "m": slim.Tensor("m", shape=[2, 2]),
                "s": slim.SparseTensor("i", "v", shape=[5])}
    data = slim.Dataset(str(tmp_path / "images"), fb.tfrecord, slim.TFExampleDecoder(features, handlers), 6, {})
    batch = next(slim.pipeline(data).batch(size=6).load(threads=2))
    assert batch["image"].tolist() == pixels.tolist()
    assert batch["m"].tolist() == [[[0, 1], [2, 3]]] * 6
    same(batch["a"], fb.Ragged(np.concatenate([np.arange(n) for n in range(6)]), np.cumsum([0, 0, 1, 2, 3, 4, 5])))
    assert batch["s"].to_dense()[:, 1].tolist() == [n + .5 for n in range(6)] and batch["s"].dense_shape == (6, 5)


@pytest.mark.parametrize("handler, words", [
    (slim.Tensor("a", shape_keys="b"), "known with the record only"),
    (slim.LookupTensor("a", ["x"]), "look the words up in `map`"),
    (slim.BoundingBox(), "BoundingBox cannot be part of a pipeline"),
    (slim.SparseTensor("a", "b"), "needs a `shape`"),
    (slim.Image(repeated=True), "only single images"),
])
def test_handlers_without_a_fixed_shape_are_no_pipeline(files, handler, words):
    decoder = slim.TFExampleDecoder({"a": INTS, "b": INTS}, {"v": handler})
    with pytest.raises(fb.ConfigError, match=f"(?s)item 'v'.*{words}.*use DatasetDataProvider"):
        slim.pipeline(slim.Dataset(files, None, decoder, None, {}))
