# SPDX-License-Identifier: Apache-2.0
"""Conversion of the generated TFRecord files into the native formats of peers that cannot read TFRecord.

Every function is idempotent; the result is kept under DIR/native.  Conversion time is not part of any measurement.
"""
import os
import struct

import numpy as np


def tfrecords(path):
    """Raw records of an uncompressed TFRecord file (no CRC check: used for conversion only)."""
    with open(path, "rb") as f:
        data = f.read()
    at = 0
    while at < len(data):
        (n,) = struct.unpack_from("<Q", data, at)
        yield data[at + 12:at + 12 + n]
        at += 16 + n


def _varint(b, at):
    out = shift = 0
    while True:
        c = b[at]
        at += 1
        out |= (c & 127) << shift
        if c < 128:
            return out, at
        shift += 7


def _fields(b, at, end):
    """(field number, start, end) of the length-delimited fields of a message."""
    while at < end:
        tag, at = _varint(b, at)
        n, at = _varint(b, at)
        yield tag >> 3, at, at + n
        at += n


def example(b):
    """{key: bytes | np.float32 array | list of int} of a serialized tf.train.Example in packed form."""
    out = {}
    for _, a, e in _fields(b, 0, len(b)):
        for _, a1, e1 in _fields(b, a, e):
            key = value = None
            for num, a2, e2 in _fields(b, a1, e1):
                if num == 1:
                    key = b[a2:e2].decode()
                else:
                    for kind, a3, e3 in _fields(b, a2, e2):
                        for _, a4, e4 in _fields(b, a3, e3):
                            if kind == 1:
                                value = b[a4:e4]
                            elif kind == 2:
                                value = np.frombuffer(b, "<f4", (e4 - a4) // 4, a4)
                            else:
                                value = []
                                while a4 < e4:
                                    v, a4 = _varint(b, a4)
                                    value.append(v)
            out[key] = value
    return out


def _stem(entry):
    return os.path.splitext(os.path.basename(entry["path"]))[0]


def _done(path):
    return os.path.exists(path + ".done")


def _mark(path):
    with open(path + ".done", "w"):
        pass


# ---------------------------------------------------------------- images
def image_files(c):
    """native/images/PART/NNNNNN_LABEL.jpg"""
    for e in c.all_entries:
        root = os.path.join(c.native("images"), _stem(e))
        if _done(root):
            continue
        os.makedirs(root, exist_ok=True)
        for i, rec in enumerate(tfrecords(os.path.join(c.data, e["path"]))):
            f = example(rec)
            with open(os.path.join(root, f"{i:06d}_{f['label'][0]}.jpg"), "wb") as out:
                out.write(f["image/encoded"])
        _mark(root)


def image_list(c):
    out = []
    for e in c.entries:
        root = os.path.join(c.native("images"), _stem(e))
        out += [(os.path.join(root, n), int(n[7:-4])) for n in sorted(os.listdir(root))]
    return out


def image_tars(c):
    """native/tar/PART.tar with NNNNNN.jpg and NNNNNN.cls, the WebDataset layout."""
    import io
    import tarfile
    for e in c.all_entries:
        path = tar_path(c, e)
        if _done(path):
            continue
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as t:
            for i, rec in enumerate(tfrecords(os.path.join(c.data, e["path"]))):
                f = example(rec)
                for suffix, data in (("jpg", f["image/encoded"]), ("cls", str(f["label"][0]).encode())):
                    info = tarfile.TarInfo(f"{_stem(e)}-{i:06d}.{suffix}")
                    info.size = len(data)
                    t.addfile(info, io.BytesIO(data))
        _mark(path)


def tar_path(c, e):
    return os.path.join(c.native("tar"), _stem(e) + ".tar")


# ---------------------------------------------------------------- dense rows (W13)
def dense_rows(c, e):
    recs = [example(r) for r in tfrecords(os.path.join(c.data, e["path"]))]
    return np.stack([r["x"] for r in recs]), np.array([r["label"][0] for r in recs], np.int64)


def npy(c):
    for e in c.all_entries:
        stem = os.path.join(c.native("npy"), _stem(e))
        if _done(stem):
            continue
        x, y = dense_rows(c, e)
        np.save(stem + ".x.npy", x)
        np.save(stem + ".y.npy", y)
        _mark(stem)


def npy_parts(c):
    return [os.path.join(c.native("npy"), _stem(e)) for e in c.entries]


# ---------------------------------------------------------------- CSV with a header line (W7)
CSV_HEADER = ",".join([f"f{i}" for i in range(10)] + [f"i{i}" for i in range(10)]) + "\n"


def csv_with_header(c):
    import shutil
    for e, path in zip(c.all_entries, csv_files(c, c.all_entries)):
        if _done(path):
            continue
        with open(os.path.join(c.data, e["path"]), "rb") as src, open(path, "wb") as dst:
            dst.write(CSV_HEADER.encode())
            shutil.copyfileobj(src, dst, 1 << 20)
        _mark(path)


def csv_files(c, entries=None):
    return [os.path.join(c.native("csv"), _stem(e) + ".csv") for e in entries or c.entries]
