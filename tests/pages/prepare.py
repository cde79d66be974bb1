# SPDX-License-Identifier: Apache-2.0
"""What the code blocks of a page take for granted: files in the working directory, and names. tools/run_pages.py asks for it."""
from __future__ import annotations

import gzip
import json
import os
import pathlib
from typing import Any, Callable

import numpy as np

import forebay as fb

ROOT = pathlib.Path(__file__).resolve().parents[2]
Names = dict[str, Any]
PAGES: dict[str, Callable[[Names], None]] = {}


def page(*names: str) -> Callable[[Callable[[Names], None]], Callable[[Names], None]]:
    """The function prepares these pages, named by their paths in docs/ without .md."""
    def register(function: Callable[[Names], None]) -> Callable[[Names], None]:
        PAGES.update(dict.fromkeys(names, function))
        return function
    return register


def names_of(name: str) -> Names:
    """Prepares the working directory for a page; the names that its blocks begin with."""
    names: Names = {"fb": fb, "np": np}
    if name in PAGES:
        PAGES[name](names)
    return names


def write_train(files: int = 4, rows: int = 100) -> None:
    """data/train-N.tfrecord: examples of x (8 floats), label (0, 1 or 2) and id (0, 1, … over all files)."""
    os.makedirs("data", exist_ok=True)
    rng = np.random.default_rng(1)
    for number in range(files):
        fb.write_records(f"data/train-{number}.tfrecord", [
            fb.encode_example({"x": rng.normal(size=8).astype(np.float32), "label": int(rng.integers(3)), "id": rows * number + row})
            for row in range(rows)])


FEATURES = {"x": fb.fixed("float32", [8]), "label": fb.fixed("int64"), "id": fb.fixed("int64")}


@page("guide/shuffling", "guide/restarting", "guide/sharding", "guide/corrupt-data", "guide/memory", "guide/performance")
def guides(names: Names) -> None:
    write_train()
    names["records"] = fb.tfrecord("data/train-*.tfrecord").example(FEATURES)


@page("inspect")
def train_files(names: Names) -> None:
    write_train()


@page("convert")
def conversions(names: Names) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    write_train()
    frames = {"mel": [[0.5, 1.5], [2.5, 3.5]], "words": [[b"a"], [b"b", b"c"]]}
    for number in range(2):
        fb.write_records(f"speech-{number}.tfrecord", [fb.encode_sequence_example({"id": row}, frames) for row in range(3)])
    pq.write_table(pa.table({name: [values] for name, values in frames.items()}).cast(pa.schema({
        "mel": pa.list_(pa.list_(pa.float32(), 2)), "words": pa.list_(pa.list_(pa.string()))})), "others.parquet")


@page("guide/sequences")
def sequences(names: Names) -> None:
    lengths = np.arange(5, 45)
    data = fb.Ragged(np.zeros((lengths.sum(), 2), np.float32), np.cumsum([0, *lengths]))
    names["speech"] = fb.arrays({"data": data, "label": np.arange(40)})


@page("metrics")
def metrics(names: Names) -> None:
    write_train()
    names.update(pipe=fb.tfrecord("data/train-*.tfrecord").example(FEATURES).batch(4), train=len)
    write_json("pipeline.json", names["pipe"].to_dict())


SHARDED = {"source": {"tfrecord": {"files": ["data/train-*.tfrecord"]}},
           "decode": {"example": {"features": {"x": {"dtype": "float32", "shape": [8]}}}}}
ARRAYS = {"source": {"arrays": {"bind": "train"}}, "steps": [{"batch": {"size": 4}}]}


def write_json(name: str, document: Any) -> None:
    pathlib.Path(name).write_text(json.dumps(document))


def write_idx(name: str, values: np.ndarray[Any, Any]) -> None:
    header = bytes([0, 0, 8, values.ndim]) + b"".join(size.to_bytes(4, "big") for size in values.shape)
    with gzip.open(name, "wb") as file:
        file.write(header + values.astype(np.uint8).tobytes())


def write_mnist() -> None:
    write_idx("train-images-idx3-ubyte.gz", np.zeros((3, 28, 28)))
    write_idx("train-labels-idx1-ubyte.gz", np.arange(3))


def ragged(lengths: list[int]) -> fb.Ragged:
    return fb.Ragged(np.arange(sum(lengths)), np.cumsum([0, *lengths]))


@page("index")
def index(names: Names) -> None:
    write_train()


@page("README", "guide/in-short")
def readme(names: Names) -> None:
    os.symlink(ROOT / "examples", "examples")
    os.mkdir("data")
    fb.write_records("data/train-0.tfrecord.gz", [fb.encode_example({"pixels": np.zeros(784, np.float32), "label": row % 10})
                                                  for row in range(300)], "gzip")
    write_json("train.json", {"source": {"tfrecord": {"files": ["data/train-*.tfrecord.gz"]}},
                              "decode": {"example": {"features": {"label": {"dtype": "int64", "shape": []}}}},
                              "steps": [{"batch": {"size": 4}}]})
    write_json("rows.json", ARRAYS)
    names.update(images=np.zeros((8, 2, 2)), labels=np.arange(8), rank=0, ranks=2, train=len, evaluate=str)


@page("arrow")
def arrow(names: Names) -> None:
    import pyarrow.parquet
    os.mkdir("data")
    pyarrow.parquet.write_table(pyarrow.table({"x": [1, 2], "word": ["a", "b"]}), "data/a.parquet")


@page("batches")
def batches(names: Names) -> None:
    names["document"] = {"source": {"arrays": {"bind": "train"}}}
    names["bind"] = {"train": {"audio": ragged([3, 4, 1])}}
    names["pipe"] = fb.arrays({"tokens": ragged([3, 4, 1])})


@page("combine")
def combine(names: Names) -> None:
    for name in ("web", "books"):
        os.mkdir(name)
        fb.write_records(f"{name}/0", [fb.encode_example({"x": np.zeros(4, np.float32)})])
        names[name] = fb.tfrecord(f"{name}/*").example({"x": fb.fixed("float32", [4])})


@page("composition")
def composition(names: Names) -> None:
    for name in ("web", "books"):
        names[name] = fb.arrays({"ids": ragged([20, 3, 12, 9])}, name=name)


@page("files")
def files(names: Names) -> None:
    write_mnist()


@page("functions")
def functions(names: Names) -> None:
    fb.write_records("train-0", [fb.encode_example({"x": np.zeros(4, np.float32)}) for _ in range(20)])
    write_json("train.json", {"source": {"tfrecord": {"files": ["train-*"]}},
                              "decode": {"example": {"features": {"x": {"dtype": "float32", "shape": [4]}}}},
                              "steps": [{"reorder": {"bind": "curriculum"}}, {"batch": {"size": 512, "size_function": "warm_up"}}]})
    names["bind"] = {"curriculum": lambda epoch, count: range(count), "warm_up": lambda number: 1}


@page("images")
def images(names: Names) -> None:
    os.mkdir("data")
    fb.write_records("data/train-0.tfrecord", [b""])


@page("view")
def view(names: Names) -> None:
    write_train(1)
    write_json("train.json", {**SHARDED, "steps": [{"batch": {"size": 16}}]})


@page("queues")
def queues(names: Names) -> None:
    os.mkdir("data")
    pathlib.Path("data/a.csv").write_text("x,y\n1,2\n")


@page("rows")
def rows(names: Names) -> None:
    for name, values in {"images": np.zeros((8, 2)), "labels": np.arange(8), "images-0": np.zeros((2, 3)), "labels-0": np.arange(2),
                         "tokens": np.arange(5), "row_splits": np.array([0, 2, 5])}.items():
        np.save(f"{name}.npy", values)
    write_json("train.json", ARRAYS)
    names["bind"] = {"train": {"image": np.zeros((8, 2))}}
    names.update(dataset=[{"n": number} for number in range(3)], generator=lambda: ({"n": number} for number in range(3)))


@page("sequence-orders")
def sequence_orders(names: Names) -> None:
    fb.write_records("train-0", [fb.encode_sequence_example({}, {"audio": [[0.5], [1.5]]})])


@page("shards")
def shards(names: Names) -> None:
    write_train()
    write_json("train.json", {**SHARDED, "steps": [{"batch": {"size": 4}}]})
    names.update(rank=1, ranks=2, worker=0, workers=3)


@page("slim")
def slim_page(names: Names) -> None:
    from forebay import slim
    names["slim"] = slim
    for number, values in enumerate([(0, 1), (2,)]):
        fb.write_records(f"d-{number:05}-of-00002", [fb.encode_example({"id": value}) for value in values])


@page("switching")
def switching(names: Names) -> None:
    names["train"] = fb.arrays({"n": np.arange(1001)}, name="train").batch(size=1)
    names["dev"] = fb.arrays({"n": np.arange(4)}, name="dev").batch(size=2)
    names.update(update=len, evaluate=len, loader=names["train"].load())


@page("text")
def text_page(names: Names) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    tokenizer = Tokenizer(models.WordLevel({"one": 0, "[UNK]": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save("tokenizer.json")
    os.mkdir("corpus")
    pathlib.Path("corpus/a.txt").write_text("one two\n")
    pathlib.Path("words.txt").write_text("one\n")


@page("frameworks")
def frameworks(names: Names) -> None:
    write_train()
    names["pipe"] = fb.tfrecord("data/train-*.tfrecord").example(FEATURES).shuffle("global").batch(size=80)
    names.update(rank=0, ranks=2, train=len)


@page("stateful")
def stateful(names: Names) -> None:
    import importlib.util
    if importlib.util.find_spec("torch"):
        import torch
        names["torch"] = torch
