# SPDX-License-Identifier: Apache-2.0
"""forebay.tf1: producers and the functions that batch."""
from __future__ import annotations

import collections
import gc
import pathlib
import threading
import time
from typing import Any, Iterator

import numpy as np
import pytest

import forebay as fb
from forebay import tf1


def count(end: int) -> "Iterator[dict[str, int]]":
    return ({"x": number} for number in range(end))


def test_tf_15_batches_of_a_counter() -> None:
    batches = [batch["x"].tolist() for batch in tf1.batch(count(35), 10)]
    assert batches == [list(range(first, first + 10)) for first in (0, 10, 20)]
    smaller = list(tf1.batch(count(35), 10, allow_smaller_final_batch=True))
    assert smaller[3]["x"].tolist() == [30, 31, 32, 33, 34]
    texts = tf1.batch(([[b"s"] * i] for i in range(1, 5)), 2, dynamic_pad=True)
    assert [batch.tolist() for batch in texts] == [[[b"s", b""], [b"s", b"s"]], [[b"s", b"s", b"s", b""], [b"s"] * 4]]


def test_tf_16_epochs_of_a_producer() -> None:
    words = ["to", "be", "or", "not", "to", "be"]
    in_order = tf1.string_input_producer(words, num_epochs=3, shuffle=False)
    assert list(in_order) == [word.encode() for word in words] * 3
    with pytest.raises(fb.EndOfData):
        in_order.get()
    shuffled = list(tf1.string_input_producer(["x", "y", "z"], num_epochs=600, seed=3))
    epochs = [tuple(shuffled[first:first + 3]) for first in range(0, 1800, 3)]
    seen = collections.Counter(epochs)
    assert len(seen) == 6 and all(60 <= number <= 140 for number in seen.values())


def test_tf_18_buckets_by_length() -> None:
    lengths = [1, 3, 4, 5, 6, 10]
    stream = tf1.bucket_by_sequence_length("n", ({"n": n} for n in lengths), 1, [3, 4, 5, 10])
    assert sorted(int(found[0]) for found, _ in stream) == lengths
    numbered = tf1.bucket(({"n": n} for n in lengths), lambda element: int(np.searchsorted([3, 4, 5, 10], element["n"], "right")), 1, 5)
    assert sorted((int(batch["n"][0]), bucket) for bucket, batch in numbered) == [(1, 0), (3, 1), (4, 2), (5, 3), (6, 3), (10, 4)]


def test_buckets_have_sizes_capacities_and_leftovers_of_their_own() -> None:
    def elements() -> "Iterator[dict[str, Any]]":
        return ({"n": n, "s": np.full(n, n)} for n in [1, 5, 2, 6, 3, 7, 4])

    stream = tf1.bucket_by_sequence_length(lambda element: element["n"], elements(), [2, 3], [5], bucket_capacities=[4, 8],
                                           dynamic_pad=True, allow_smaller_final_batch=True, keep_input=lambda e: e["n"] != 2)
    got = sorted((lengths.tolist(), batch["s"].shape) for lengths, batch in stream)
    assert got == [([1, 3], (2, 3)), ([4], (1, 4)), ([5, 6, 7], (3, 7))]
    with pytest.raises(fb.ConfigError, match="must increase"):
        tf1.bucket_by_sequence_length("n", elements(), 2, [5, 5])
    with pytest.raises(fb.ConfigError, match="which_bucket: 2, allowed is 0 … 1"):
        tf1.bucket(elements(), lambda element: 2, 1, 2).get()


def test_the_same_seed_gives_the_same_epochs_which_differ() -> None:
    first, second = (list(tf1.range_input_producer(20, num_epochs=3, seed=5)) for _ in range(2))
    assert first == second and first[:20] != first[20:40]
    assert all(sorted(first[at:at + 20]) == list(range(20)) for at in (0, 20, 40))


def test_slices_need_as_many_rows() -> None:
    rows = list(tf1.slice_input_producer([np.arange(6).reshape(3, 2), ["a", "b", "c"]], num_epochs=1, shuffle=False))
    assert [(row[0].tolist(), row[1]) for row in rows] == [([0, 1], b"a"), ([2, 3], b"b"), ([4, 5], b"c")]
    with pytest.raises(fb.ConfigError, match="3, 2 rows"):
        tf1.slice_input_producer([np.arange(3), np.arange(2)])
    for wrong in (lambda: tf1.slice_input_producer([]), lambda: tf1.string_input_producer([]),
                  lambda: tf1.limit_epochs(1, 0), lambda: tf1.input_producer(3), lambda: tf1.range_input_producer(-1)):
        with pytest.raises(fb.ConfigError):
            wrong()


def test_files_are_matched_once_and_sorted_by_their_bytes(tmp_path: pathlib.Path) -> None:
    (tmp_path / "folder.txt").mkdir()
    for name in ("b.txt", "a.txt", ".c.txt", "\u00e9.txt", "folder.txt/d.txt", "a.csv"):
        (tmp_path / name).write_text("")
    names = [".c.txt", "a.txt", "b.txt", "folder.txt", "\u00e9.txt"]
    assert tf1.match_filenames_once(tmp_path / "*.txt") == [str(tmp_path / name) for name in names]
    assert tf1.match_filenames_once([f"{tmp_path}/[ab].txt", f"{tmp_path}/a.*"]) == [
        str(tmp_path / name) for name in ("a.csv", "a.txt", "a.txt", "b.txt")]
    assert tf1.match_filenames_once(f"{tmp_path}/*/*.txt") == [str(tmp_path / "folder.txt/d.txt")]
    assert tf1.match_filenames_once(f"{tmp_path}/none*") == []


def test_the_structure_of_elements_is_that_of_batches() -> None:
    assert tf1.batch(([1] for _ in range(2)), 2).get().tolist() == [1, 1]
    assert tf1.batch(({"x": 1} for _ in range(2)), 2).get().keys() == {"x"}
    pair = tf1.batch((("b", 1.5) for _ in range(2)), 2).get()
    assert isinstance(pair, tuple) and pair[0].tolist() == [b"b", b"b"] and pair[1].dtype == np.float64
    structure = tf1.batch({"n": tf1.range_input_producer(4, num_epochs=1, shuffle=False), "one": lambda: 1}, 4).get()
    assert (structure["n"].tolist(), structure["one"].tolist()) == ([0, 1, 2, 3], [1] * 4)
    with pytest.raises(TypeError, match="an element"):
        tf1.batch((1 for _ in range(2)), 2).get()
    with pytest.raises(fb.ConfigError, match="same structure"):
        tf1.batch(iter([[1], [1, 2]]), 2).get()


def test_rows_are_kept_by_a_function_a_component_or_one_for_each_row() -> None:
    assert [b["x"].tolist() for b in tf1.maybe_batch(count(6), lambda e: e["x"] % 2 == 0, 3)] == [[0, 2, 4]]
    rows = iter([{"x": [1, 2, 3], "keep": [True, False, True]}, {"x": [4], "keep": [False]}])
    assert tf1.maybe_batch(rows, "keep", 2, enqueue_many=True).get()["x"].tolist() == [1, 3]
    pairs = ((np.bool_(n % 2), n) for n in range(5))
    assert tf1.maybe_batch_join([pairs], 0, 2).get().tolist() == [1, 3]
    assert list(tf1.maybe_shuffle_batch(count(9), 2, 8, 2, False)) == []
    assert sorted(sum((b["x"].tolist() for b in tf1.maybe_shuffle_batch_join([count(5), count(5)], 2, 8, 2, lambda e: e["x"] > 2)),
                      [])) == [3, 3, 4, 4]
    with pytest.raises(fb.ConfigError, match="keep_input"):
        tf1.maybe_batch(count(2), [True, False], 2)
    with pytest.raises(fb.ConfigError, match="keep_input"):
        tf1.maybe_batch(count(2), lambda e: [True, False], 2).get()


def test_sparse_elements_get_a_batch_axis() -> None:
    parts = [fb.Sparse([[i]], np.array([i + 1.5]), [i + 2]) for i in range(3)]
    batch = tf1.batch(({"s": part} for part in parts), 3).get()["s"]
    assert batch.dense_shape == (3, 4) and batch.to_dense().tolist() == [[1.5, 0, 0, 0], [0, 2.5, 0, 0], [0, 0, 3.5, 0]]


def test_shuffled_batches_have_every_element_and_keep_the_floor() -> None:
    stream = tf1.shuffle_batch(count(100), 10, 40, 20, num_threads=1, seed=1)
    batches = [batch["x"].tolist() for batch in stream]
    assert sorted(sum(batches, [])) == list(range(100)) and batches[0] != list(range(10))
    endless = tf1.shuffle_batch(lambda: [1], 5, 30, 20)
    for _ in range(20):
        endless.get()
    assert 20 <= endless.stats().elements <= 30
    assert set(endless.summaries()) == {"shuffle_batch/fraction_of_30_full", "shuffle_batch/fraction_over_20_of_10_full"}
    endless.close()
    with pytest.raises(fb.ConfigError, match="capacity 20 must be bigger than min_after_dequeue 20"):
        tf1.shuffle_batch(count(3), 1, 20, 20)


def test_the_error_of_a_source_comes_out_after_the_batches_before_it() -> None:
    def source() -> "Iterator[list[int]]":
        yield from ([number] for number in range(4))
        raise fb.DataError("record 4 is corrupt", code="data", record=4)

    stream = tf1.batch(source(), 2)
    assert [stream.get().tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    for _ in range(2):
        with pytest.raises(fb.DataError, match="record 4 is corrupt"):
            stream.get()
    with pytest.raises(ZeroDivisionError):   # before the first element
        tf1.bucket(lambda: 1 // 0, lambda element: 0, 2, 1).get()


def test_a_whole_chain_ends_or_fails_through_a_coordinator(tmp_path: pathlib.Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("1\n2\n3\n")
    files = tf1.string_input_producer([tmp_path / "a", tmp_path / "b"], num_epochs=2)
    reader = tf1.TextLineReader()
    lines = tf1.shuffle_batch({"line": lambda: reader.read(files)[1], "one": lambda: 1},
                              4, 20, 5, num_threads=2)
    coord = fb.Coordinator()
    threads = fb.start_queue_runners([files, lines], coord=coord)
    assert fb.start_queue_runners(files, lines) == []
    assert sum(len(batch["line"]) for batch in lines) == 12
    coord.request_stop()
    coord.join(threads)


def test_record_files_through_files_readers_and_batches() -> None:
    """The reading of TensorFlow 1 as its programs wrote it, over the files of the example."""
    names = tf1.match_filenames_once(pathlib.Path(__file__).resolve().parents[2] / "examples/taxi/data/*.gz")
    want = collections.Counter(record for name in names for record in fb.read_records(name))
    files = tf1.string_input_producer(names, num_epochs=2, seed=1)
    readers = [tf1.TFRecordReader(options="GZIP") for _ in range(2)]
    batches = tf1.shuffle_batch_join([lambda reader=reader: reader.read(files) for reader in readers], 32, 400, 200,
                                     allow_smaller_final_batch=True)
    found = collections.Counter(value for _, values in batches for value in values.tolist())
    assert len(names) > 0 and found == collections.Counter({record: 2 * number for record, number in want.items()})
    assert sum(reader.num_work_units_completed() for reader in readers) == 2 * len(names)


def test_threads_of_a_stream_that_is_dropped_end() -> None:
    def running() -> "list[str]":
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("dropped")]

    stream = tf1.batch({"n": tf1.range_input_producer(3, capacity=2, name="dropped-producer")}, 2, name="dropped")
    stream.get()
    assert len(running()) == 2
    del stream
    gc.collect()
    until = time.monotonic() + 20
    while running() and time.monotonic() < until:
        time.sleep(0.001)
    assert running() == []


def test_inputs_of_which_nothing_is_left_end() -> None:
    assert list(tf1.batch(({"x": []} for _ in range(2000)), 2, enqueue_many=True, allow_smaller_final_batch=True)) == []
    assert list(tf1.maybe_batch(count(2000), lambda element: False, 2)) == []
    pipe = fb.arrays({"x": np.arange(2000)}).filter("x < 0").batch(size=2)
    with pipe.load(threads=1) as loader:
        assert list(loader) == []


def test_timeouts_of_a_stream() -> None:
    go = threading.Event()

    def slow() -> "list[int]":
        go.wait()
        return [1]

    with tf1.batch(slow, 1) as stream:
        with pytest.raises(TimeoutError):
            stream.get(timeout=0.01)
        go.set()
        assert stream.get().tolist() == [1]


def test_queues_by_their_names_of_tensorflow() -> None:
    queue = tf1.FIFOQueue(10, ["int32", "string"], [[], []], names=["a", "b"])
    queue.enqueue({"a": 1, "b": "x"})
    assert queue.dequeue()["b"].item() == b"x"
    assert tf1.PaddingFIFOQueue(10, [np.float32], [[None]]).components == [("0", "float32", (None,))]
    assert tf1.RandomShuffleQueue(10, 2, "int64", [2], seed=1).min_after_dequeue == 2
    first = tf1.PriorityQueue(10, [bytes], [[]])
    first.enqueue((2, "b"))
    first.enqueue((1, "a"))
    assert first.dequeue()[1].item() == b"a"
    with pytest.raises(fb.ConfigError):
        tf1.PaddingFIFOQueue(10, ["int64"], None)
    with pytest.raises(fb.ConfigError):
        tf1.FIFOQueue(10, ["int64", "int64"], [[]])


def test_sources_that_cannot_be_joined_are_refused_at_once() -> None:
    with pytest.raises(fb.ConfigError, match=r"the keys \['b'\] in tensors_list\[1\], and the keys \['a'\] in tensors_list\[0\]"):
        tf1.batch_join([{"a": lambda: 1}, {"b": lambda: 1}], 2)
    with pytest.raises(fb.ConfigError, match=r"a list of 2 tensors in tensors_list\[1\], and a list of 1 tensor in"):
        tf1.batch_join([[lambda: 1], [lambda: 1, lambda: 2]], 2)
    with pytest.raises(fb.ConfigError, match="one source or more"):
        tf1.shuffle_batch_join([], 2, 10, 5)
    numbers, names = tf1.range_input_producer(3, name="numbers"), tf1.string_input_producer(["a"], name="names")
    rows = tf1.slice_input_producer([np.zeros((4, 2))], name="rows")
    queue = fb.Queue({"x": fb.fixed("float32", [3])}, name="waiting")
    for joined, message in (
            ([{"x": numbers}, {"x": names}], r"\[1\] \('names'\) gives 'x' as string\[\], and .*\('numbers'\) gives 'x' as int32\[\]"),
            ([rows, [[np.zeros(3)], [np.zeros(3)]]], r"tensors_list\[1\] gives 0 as float64\[3\], and 'rows' gives 0 as float64\[2\]"),
            ([queue, [{"x": np.zeros(4, np.float32)}]], r"float32\[4\], and queue 'waiting' gives 'x' as float32\[3\]"),
            ([[("a",)], [(1.5,)], [("b", "c")]], "a tuple of 2 tensors")):
        for join in (tf1.batch_join, lambda sources, size: tf1.shuffle_batch_join(sources, size, 10, 2)):
            with pytest.raises(fb.ConfigError, match=message):
                join(joined, 2)
    assert tf1.batch_join([[[np.zeros(1)]], [[np.zeros(2)]]], 2, dynamic_pad=True).get().shape == (2, 2)
    assert tf1.batch_join([[[np.zeros((1, 3))]], [[np.zeros((2, 3))]]], 3, enqueue_many=True).get().shape == (3, 3)
    assert sorted(tf1.batch_join([count(3), ({"x": n} for n in (7, 8, 9))], 6).get()["x"].tolist()) == [0, 1, 2, 7, 8, 9]
