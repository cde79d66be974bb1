# SPDX-License-Identifier: Apache-2.0
"""What users of other libraries type first leads to the way that it goes here, in one step."""
from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import forebay as fb
from forebay import _habits

#: Calls as torch, tf.data, WebDataset, Hugging Face and pandas have them. `p` is a pipeline, `b` a batch, `l` a loader. Behind the
#: arrow: a text of the cure; nothing: the call works.
CALLS = """
torch
fb.DataLoader(p, batch_size=4) -> fb.torch.dataset
p.load(batch_size=4) -> batch(32)
p.load(shuffle=True) -> shuffle("global")
p.load(num_workers=4) -> load(threads=N)
p.load(collate_fn=len) -> map(fn)
p.load(drop_last=True) -> remainder="drop"
p.load(prefetch_factor=2) -> load(prefetch=N)
p.load(persistent_workers=True) -> live as long as the loader
p.load(sampler=None) -> shuffle, sorted, reorder
p.load(worker_init_fn=None) -> rng of map
p.load(generator=None) -> seed(7)
p.batch(4, drop_last=True) -> remainder="drop"
fb.TensorDataset(1) -> fb.arrays
fb.ImageFolder("d") -> label_from="folder"
fb.ConcatDataset([p, p]) -> fb.concat
fb.Subset(p, [1]) -> take(n)
fb.random_split(p, [1]) -> filter
fb.DistributedSampler(p) -> shard=(rank, ranks)
fb.IterableDataset() -> fb.python
p[0] -> take(n)
len(p) -> plan().batches
b.to("cuda") -> fb.torch.to
b.pin_memory() -> load(pin_memory=True)
l.dataset -> pipeline
l.set_epoch(1) -> by itself
tf.data
fb.TFRecordDataset("a") -> fb.tfrecord
fb.TextLineDataset("a") -> fb.lines
fb.FixedLengthRecordDataset("a", 3) -> fb.fixed_length
fb.Dataset.from_tensor_slices(1) -> fb.arrays
fb.from_generator(None) -> fb.python
p.batch(4, drop_remainder=True)
p.prefetch(2)
p.take(3)
p.skip(3)
p.repeat(2)
p.unbatch()
p.cache() -> fb.BatchSet
p.padded_batch(4) -> pad=True
p.ragged_batch(4) -> batch(n)
p.shuffle(buffer_size=10) -> shuffle(buffer=1000)
p.shuffle(10, reshuffle_each_iteration=True) -> by itself
p.map(len, num_parallel_calls=4) -> map(fn, workers=N)
p.filter(lambda row: True) -> filter("y > 0")
p.flat_map(len) -> map(fn)
p.interleave(4, cycle_length=4) -> interleave(n)
p.enumerate() -> batch.number
p.concatenate(p) -> fb.concat
p.zip(p) -> fb.zip([a, b])
fb.zip(p, p) -> fb.zip([a, b])
fb.mix(p, p) -> fb.mix([a, b])
p.window(3) -> chunk
p.bucket_by_sequence_length(len, [1], [1]) -> buckets
p.as_numpy_iterator() -> load()
p.cardinality() -> plan().batches
p.element_spec -> plan().columns
p.snapshot("d") -> fb.convert
fb.sample_from_datasets([p, p]) -> fb.mix
fb.FixedLenFeature([], int) -> fb.fixed
WebDataset
fb.WebDataset("a.tar") -> fb.tar
p.decode("pil") -> it takes (column, as_
p.to_tuple("x") -> batch[name]
p.rename(x="y") -> it takes from_, to
p.map_dict(x=len) -> map(fn)
p.map_tuple(len) -> map(fn)
p.select(lambda row: True) -> map
p.batched(4) -> batch(n)
p.with_epoch(10) -> epochs(n)
p.with_length(10) -> len(loader)
p.resampled() -> random_sample()
p.split_by_node() -> shard
p.split_by_worker() -> shard
p.compose(len) -> one after the other
fb.ResampledShards("a") -> random_sample()
fb.RandomMix([p, p]) -> fb.mix
fb.ShardWriter("a") -> fb.convert
fb.TarWriter("a") -> fb.convert
fb.tar("a.tar", handler=None) -> on_corrupt
fb.tar("a.tar", shardshuffle=True) -> shuffle_files
fb.WebLoader(p) -> load()
Hugging Face
fb.load_dataset("a") -> fb.parquet
fb.load_from_disk("a") -> fb.arrow_file
fb.interleave_datasets([p, p]) -> fb.mix
fb.concatenate_datasets([p, p]) -> fb.concat
fb.mix([p, p], probabilities=[1, 1]) -> weights
p.select_columns(["x"]) -> select(names)
p.remove_columns(["x"]) -> select(names)
p.rename_column("x", "y") -> rename("x", to="y")
p.cast_column("x", "int64") -> cast("x", "int64")
p.set_format("torch") -> fb.torch.to
p.with_format("torch") -> fb.torch.to
p.train_test_split(0.1) -> take(n)
p.sort("x") -> sorted
p.map(len, batched=True) -> per="row"
p.map(len, num_proc=4) -> workers=N
p.to_iterable_dataset() -> load()
p.to_pandas() -> to_arrow()
p.push_to_hub("a") -> fb.convert
p.column_names -> plan().columns
p.select("x")
p.shuffle(seed=1) -> pipeline.seed(7)
pandas
fb.read_csv("a.csv") -> fb.csv
fb.read_parquet("a") -> fb.parquet
fb.read_json("a", lines=True) -> fb.json_lines
fb.DataFrame({}) -> fb.arrow(table)
fb.from_pandas(None) -> fb.arrow(table)
fb.csv("a.csv", sep=";") -> delimiter
fb.csv("a.csv", usecols=["a"]) -> .csv(
fb.csv("a.csv", dtype={}) -> .csv(
fb.csv("a.csv", skiprows=1) -> skip_header_lines
fb.csv("a.csv", nrows=5) -> take(n)
fb.csv("a.csv", chunksize=5) -> batch(n)
fb.csv("a.csv", encoding="utf-8") -> text stays bytes
p.groupby("x") -> buckets
p.astype("int64") -> cast("x", "int64")
p.dropna() -> nulls=
p.fillna(0) -> nulls=
p.sample(3) -> random_sample()
p.dtypes -> plan().columns
p.iloc -> take(n)
p.head(3) -> take(n)
fb.arrays([1, 2], [3, 4]) -> fb.arrays({"x": x, "y": y})
b.x -> batch['x']
"""


@pytest.fixture(scope="module")
def things() -> "dict[str, object]":
    pipe = fb.arrays({"x": np.arange(8)})
    loader = pipe.batch(4).load(threads=1)
    return {"fb": fb, "p": pipe, "l": loader, "b": loader.peek()}


@pytest.mark.parametrize("line", [line for line in CALLS.splitlines() if "(" in line or "->" in line or "[" in line])
def test_the_first_try_leads_to_the_cure(things: "dict[str, object]", line: str) -> None:
    call, _, cure = line.partition(" -> ")
    if not cure:
        eval(call, things)
        return
    with pytest.raises((AttributeError, TypeError)) as found:
        eval(call, things)
    assert cure in str(found.value), str(found.value)


@pytest.mark.parametrize("table", ["MODULE", "PIPELINE", "BATCH", "LOADER", "OPTIONS"])
def test_cures_name_what_is_there(table: str) -> None:
    methods = {name for kind in (fb.Pipeline, fb.Source, fb.Loader, fb.Batch) for name in dir(kind)}
    others = {"DataLoader", "dict", "list", "len", "dataset", "to", "to_pandas", "n", "arange", "loop", "length"}
    for name, cure in getattr(_habits, table).items():
        for used in re.findall(r"\bfb\.(\w+)", cure):
            assert used == "torch" or hasattr(fb, used), (name, used)
        for used in re.findall(r"(?<![\w.])(\w+)\(", cure) + re.findall(r"\.(\w+)\(", cure):
            assert used in methods | others or hasattr(fb, used) or hasattr(np, used), (name, used)
    if table == "PIPELINE":
        assert not [name for name in _habits.PIPELINE if name in methods - set(dir(fb.Loader)) - set(dir(fb.Batch))]
    if table == "MODULE":
        assert not [name for name in _habits.MODULE if name in fb.__all__]


def test_signatures_and_help_are_those_of_the_functions() -> None:
    assert list(inspect.signature(fb.csv).parameters)[:2] == ["files", "compression"] or "files" in inspect.signature(fb.csv).parameters
    assert "remainder" in inspect.signature(fb.Pipeline.batch).parameters
    assert fb.csv.__module__ == "forebay.builder" and fb.csv.__doc__ and fb.Pipeline.batch.__doc__


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match="module 'forebay' has no attribute 'tfrecords'; did you mean 'tfrecord'\\?"):
        fb.tfrecords
    with pytest.raises(AttributeError, match="a Pipeline has no attribute 'shufle'; did you mean 'shuffle'\\?"):
        fb.arrays({"x": [1]}).shufle  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="Pipeline.batch\\(\\) got an unexpected keyword argument 'remaindr'; did you mean 'remainder'\\?"):
        fb.arrays({"x": [1]}).batch(1, remaindr="drop")  # type: ignore[call-arg]


def test_an_error_inside_a_function_keeps_its_own_text() -> None:
    with pytest.raises(TypeError) as found:
        fb.encode_example({"x": object()})
    assert str(found.value) == "feature 'x': expected integers, floats, bytes, str or None, found object"
