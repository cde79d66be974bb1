#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.utils.data.DataLoader, one script for the data sets a PyTorch user would write.

torch_loader         TFRecord/Example by the `tfrecord` package (MultiTFRecordDataset-like chain of files, split by
                     file over workers), otherwise map-style datasets with `__getitem__` and the default collate
torch_loader_batched the same, with batched fetching where torch documents it (`__getitems__`, batch sampler, window
                     views); only for workloads where that is possible

--tune 0, 1, 2 is torch's num_workers; run.py picks the best.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import protocol  # noqa: E402
from harness.checksum import Dense, Padded  # noqa: E402
from harness.images import ImageCheck  # noqa: E402

TF = ["W1", "W2", "W3a", "W3b", "W3c", "W5", "W6", "W12"]
run = protocol.declare("torch_loader", {
    "torch_loader": {"workloads": TF + ["W4a", "W4b", "W4c", "W8", "W9", "W10", "W13"], "tune": [0, 1, 2]},
    "torch_loader_batched": {"workloads": ["W8", "W9", "W13"], "tune": [0, 1, 2]}})

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info  # noqa: E402

torch.set_num_threads(run.args.threads)
torch.multiprocessing.set_sharing_strategy("file_system")
FLOATS = [f"I{i}" for i in range(1, 14)]
INTS = [f"C{i}" for i in range(1, 27)]


def loader(c, ds, **kw):
    if c.tune:
        kw.update(num_workers=c.tune, prefetch_factor=2)
        kw.setdefault("multiprocessing_context", "fork")
    return DataLoader(ds, **kw)


def pipeline(make, rows, tensors, extra=None):
    def iterate(epochs):
        for e in range(epochs):
            yield from make(e)
    return protocol.Pipeline(iterate, rows, tensors, extra=extra)


# ---------------------------------------------------------------- TFRecord by the `tfrecord` package
class Records(IterableDataset):
    def __init__(self, files, description, sequence=None, compression=None, transform=None, shuffle=0):
        self.args = (files, description, sequence, compression, transform, shuffle)

    def __iter__(self):
        files, description, sequence, compression, transform, shuffle = self.args
        info = get_worker_info()
        if info is not None:
            files = files[info.id::info.num_workers]

        from tfrecord import iterator_utils, reader

        def chain():
            for f in files:  # the package could split one file over workers only with an index file
                it = reader.tfrecord_loader(data_path=f, index_path=None, description=description, shard=None,
                                            sequence_description=sequence, compression_type=compression)
                yield from map(transform, it)
        it = chain()
        if shuffle:
            it = iterator_utils.shuffle_iterator(it, shuffle)
        return it


def w1_transform(f):
    return f["x"], f["label"][0]


def w2_transform(f):
    return (np.concatenate([f[k] for k in FLOATS]), np.concatenate([f[k] for k in INTS]), f["label"][0])


def w3_transform(f):
    return f["ids"]


def w5_transform(f):
    context, lists = f
    return torch.from_numpy(np.stack(lists["mel"])), torch.from_numpy(context["labels"])


def pad_collate(items):
    mel, labels = zip(*items)
    pad = torch.nn.utils.rnn.pad_sequence
    return (pad(mel, batch_first=True), torch.tensor([len(m) for m in mel]),
            pad(labels, batch_first=True), torch.tensor([len(y) for y in labels]))


@run.workload("W1", "W6", "W12")
def w1(c):
    share = max(1, c.tune)
    ds = Records(c.files, {"x": "float", "label": "int"}, compression="gzip" if c.workload == "W6" else None,
                 transform=w1_transform, shuffle=c.spec.get("shuffle_buffer", 0) // share)
    return pipeline(lambda e: loader(c, ds, batch_size=c.batch), lambda b: len(b[1]),
                    lambda b: [Dense("x", b[0]), Dense("label", b[1])])


@run.workload("W2")
def w2(c):
    description = {k: "float" for k in FLOATS} | {k: "int" for k in INTS + ["label"]}
    ds = Records(c.files, description, transform=w2_transform)
    return pipeline(lambda e: loader(c, ds, batch_size=c.batch), lambda b: len(b[2]),
                    lambda b: [Dense("floats", b[0]), Dense("ints", b[1]), Dense("label", b[2])])


@run.workload("W3?")
def w3(c):
    ds = Records(c.files, {"ids": "int"}, transform=w3_transform)
    return pipeline(lambda e: loader(c, ds, batch_size=c.batch), len, lambda b: [Dense("ids", b)])


@run.workload("W5")
def w5(c):
    ds = Records(c.files, {"labels": "int"}, sequence={"mel": "float"}, transform=w5_transform)
    return pipeline(lambda e: loader(c, ds, batch_size=c.batch, collate_fn=pad_collate), lambda b: len(b[1]),
                    lambda b: [Padded("mel", b[0], b[1]), Padded("labels", b[2], b[3])])


# ---------------------------------------------------------------- images: one file per image
class Images(Dataset):
    def __init__(self, items, kind):
        self.items, self.kind = items, kind
        if kind == "W4c":
            from torchvision.transforms import v2
            self.crop = v2.RandomResizedCrop(224, antialias=True)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, label = self.items[i]
        if self.kind == "W4a":
            with open(path, "rb") as f:
                return f.read(), label
        from torchvision.io import ImageReadMode, decode_jpeg, read_file
        image = decode_jpeg(read_file(path), mode=ImageReadMode.RGB)
        return (self.crop(image) if self.kind == "W4c" else image), label


def list_collate(items):
    data, labels = zip(*items)
    return list(data), torch.tensor(labels)


@run.prepare("W4?")
def w4_prepare(c):
    from harness import convert
    convert.image_files(c)


@run.workload("W4?")
def w4(c):
    from harness import convert
    ds = Images(convert.image_list(c), c.workload)
    collate = list_collate if c.workload == "W4a" else None
    seen = ImageCheck(c.workload)
    return pipeline(lambda e: loader(c, ds, batch_size=c.batch, shuffle=True, collate_fn=collate), lambda b: len(b[1]),
                    seen.tensors, seen.extra)


# ---------------------------------------------------------------- fixed-length records through np.memmap
class Fixed(Dataset):
    def __init__(self, files, n):
        self.maps = [np.memmap(f, np.uint8, "r").reshape(-1, n) for f in files]
        self.at = np.concatenate([[0], np.cumsum([len(m) for m in self.maps])])

    def __len__(self):
        return int(self.at[-1])

    def __getitem__(self, i):
        k = int(np.searchsorted(self.at, i, "right")) - 1
        row = self.maps[k][i - self.at[k]]
        return row[1:].reshape(3, 32, 32), row[0]


class FixedBatched(Fixed):
    def __getitems__(self, index):
        index = np.asarray(index)
        out = np.empty((len(index), self.maps[0].shape[1]), np.uint8)
        which = np.searchsorted(self.at, index, "right") - 1
        for k in np.unique(which):
            m = which == k
            out[m] = self.maps[k][index[m] - self.at[k]]
        out = torch.from_numpy(out)
        return out[:, 1:].reshape(-1, 3, 32, 32), out[:, 0]


def identity(x):
    return x


@run.workload("W8")
def w8(c):
    batched = c.variant.endswith("batched")
    ds = (FixedBatched if batched else Fixed)(c.files, c.spec["record_bytes"])
    kw = {"collate_fn": identity} if batched else {}
    return pipeline(lambda e: loader(c, ds, batch_size=c.batch, shuffle=True, **kw), lambda b: len(b[1]),
                    lambda b: [Dense("image", b[0]), Dense("label", b[1])])


# ---------------------------------------------------------------- in-memory sequences
class Windows(IterableDataset):
    def __init__(self, c):
        self.parts = []
        for f in c.files:
            x = torch.from_numpy(np.fromfile(f + ".x.f32", np.float32).reshape(-1, 40))
            y = torch.from_numpy(np.fromfile(f + ".y.i32", np.int32))
            n = np.fromfile(f + ".len.i64", np.int64).tolist()
            self.parts += list(zip(x.split(n), y.split(n)))
        self.batched = c.variant.endswith("batched")

    def __iter__(self):
        info = get_worker_info()
        parts = self.parts if info is None else self.parts[info.id::info.num_workers]
        if self.batched:
            wx, wy, have = [], [], 0
            for x, y in parts:
                a, b = x.unfold(0, 64, 32), y.unfold(0, 64, 32)  # views, no copy
                at = 0
                while at < len(a):
                    take = min(128 - have, len(a) - at)
                    wx.append(a[at:at + take].transpose(1, 2))
                    wy.append(b[at:at + take])
                    at, have = at + take, have + take
                    if have == 128:
                        yield torch.cat(wx), torch.cat(wy)
                        wx, wy, have = [], [], 0
            if have:
                yield torch.cat(wx), torch.cat(wy)
            return
        for x, y in parts:
            for s in range(0, len(x) - 63, 32):
                yield x[s:s + 64], y[s:s + 64]


@run.workload("W9")
def w9(c):
    ds = Windows(c)
    kw = {"batch_size": None} if ds.batched else {"batch_size": 128}
    return pipeline(lambda e: loader(c, ds, **kw), lambda b: len(b[1]), lambda b: [Dense("x", b[0]), Dense("y", b[1])])


class Sequences(Dataset):
    def __init__(self, c):
        ids = torch.from_numpy(np.concatenate([np.fromfile(f + ".ids.i64", np.int64) for f in c.files]))
        self.lengths = np.concatenate([np.fromfile(f + ".len.i64", np.int64) for f in c.files])
        self.items = ids.split(self.lengths.tolist())

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class TokenBudget(torch.utils.data.Sampler):
    """Pools of 4096 shuffled items, sorted by length, cut so that rows x longest <= budget; shuffled batches."""

    def __init__(self, lengths, budget):
        self.lengths, self.budget = lengths, budget

    def __iter__(self):
        g = np.random.default_rng(1)
        order = g.permutation(len(self.lengths))
        for a in range(0, len(order), 4096):
            pool = order[a:a + 4096]
            pool = pool[np.argsort(self.lengths[pool], kind="stable")]
            batches, cur = [], []
            for i, n in zip(pool.tolist(), self.lengths[pool].tolist()):
                if cur and n * (len(cur) + 1) > self.budget:
                    batches.append(cur)
                    cur = []
                cur.append(i)
            batches.append(cur)
            for k in g.permutation(len(batches)):
                yield batches[k]


def pad_ids(items):
    return torch.nn.utils.rnn.pad_sequence(items, batch_first=True), torch.tensor([len(x) for x in items])


@run.workload("W10")
def w10(c):
    ds = Sequences(c)
    sampler = TokenBudget(ds.lengths, c.spec["tokens_per_batch"])
    seen = {"valid": 0, "padded": 0}

    def tensors(b):
        seen["valid"] += int(b[1].sum())
        seen["padded"] += b[0].numel()
        return [Padded("ids", b[0], b[1])]
    return pipeline(lambda e: loader(c, ds, batch_sampler=sampler, collate_fn=pad_ids), lambda b: len(b[1]), tensors,
                    lambda: {"pad_efficiency": seen["valid"] / seen["padded"]} if seen["padded"] else {})


# ---------------------------------------------------------------- global shuffle over .npy
class Rows(Dataset):
    def __init__(self, parts):
        self.x = [np.load(p + ".x.npy", mmap_mode="r") for p in parts]
        self.y = [np.load(p + ".y.npy", mmap_mode="r") for p in parts]
        self.at = np.concatenate([[0], np.cumsum([len(y) for y in self.y])])

    def __len__(self):
        return int(self.at[-1])

    def __getitem__(self, i):
        k = int(np.searchsorted(self.at, i, "right")) - 1
        return self.x[k][i - self.at[k]], self.y[k][i - self.at[k]]


class RowsBatched(Rows):
    def __getitems__(self, index):
        index = np.asarray(index)
        which = np.searchsorted(self.at, index, "right") - 1
        x, y = np.empty((len(index), 64), np.float32), np.empty(len(index), np.int64)
        for k in np.unique(which):
            m = which == k
            x[m] = self.x[k][index[m] - self.at[k]]
            y[m] = self.y[k][index[m] - self.at[k]]
        return torch.from_numpy(x), torch.from_numpy(y)


@run.prepare("W13")
def w13_prepare(c):
    from harness import convert
    convert.npy(c)


@run.workload("W13")
def w13(c):
    from harness import convert
    batched = c.variant.endswith("batched")
    ds = (RowsBatched if batched else Rows)(convert.npy_parts(c))
    kw = {"collate_fn": identity} if batched else {}
    return pipeline(lambda e: loader(c, ds, batch_size=c.batch, shuffle=True, **kw), lambda b: len(b[1]),
                    lambda b: [Dense("x", b[0]), Dense("label", b[1])])


run.main()
