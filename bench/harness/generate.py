#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seeded generator of the benchmark data (bench/README.md, section "Workloads").

    python generate.py DIR [--scale 1.0] [--only W1,W2] [--seed 1]

Needs numpy; Pillow for W4.  CRC32C comes from the `crc32c` or `google_crc32c` package when there is one and
from a vectorised numpy table otherwise.  Writes DIR/manifest.json with, for every file, rows, bytes and the
expected checksum of its rows, so that a contestant's output is verified without a second implementation.
"""
import argparse
import gzip
import io
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness.checksum import Checksum, Dense, Ragged  # noqa: E402
from harness.examples import example, feature, flatten, msg, Piece, varints, vint, write_tfrecord  # noqa: E402


# ---------------------------------------------------------------- workloads
class Out:
    def __init__(self, root, scale, seed):
        self.root, self.scale, self.seed = root, scale, seed
        self.manifest = {"seed": seed, "scale": scale, "workloads": {}, "left_out": {}}

    def rng(self, *key):
        return np.random.default_rng([self.seed, *key])

    def n(self, full, parts=1):
        """rows per part"""
        return max(1, int(full * self.scale) // parts)

    def dir(self, name):
        path = os.path.join(self.root, name)
        os.makedirs(path, exist_ok=True)
        return path

    def add(self, workload, files, tensors, **extra):
        self.manifest["workloads"][workload] = {"tensors": tensors, "files": files, **extra}

    def entry(self, path, check, **extra):
        full = os.path.join(self.root, path)
        size = os.path.getsize(full)
        return {"path": path, "rows": check["rows"], "bytes": size, "checksum": check, **extra}


def w1(o):
    files = []
    o.dir("W1")
    n = o.n(800_000, 8)
    for part in range(8):
        g = o.rng(1, part)
        x = g.standard_normal((n, 64), dtype=np.float32)
        label = g.integers(0, 1000, n)
        pieces = example(n, [feature(n, "x", 2, [Piece.fixed(x.view(np.uint8))]),
                             feature(n, "label", 3, [Piece.varint(label)])])
        path = f"W1/part-{part:05d}.tfrecord"
        write_tfrecord(os.path.join(o.root, path), *flatten(pieces))
        files.append(o.entry(path, Checksum().add([Dense("x", x), Dense("label", label)]).result()))
    o.add("W1", files, ["x f32[64]", "label i64"])
    o.add("W12", files, ["x f32[64]", "label i64"], alias="W1", shuffle_buffer=int(100_000 * o.scale))
    half = files[:4]
    o.add("W13", half, ["x f32[64]", "label i64"], alias="W1")


W2_FLOATS = [f"I{i}" for i in range(1, 14)]
W2_INTS = [f"C{i}" for i in range(1, 27)]


def w2(o):
    files = []
    o.dir("W2")
    n = o.n(160_000, 8)
    for part in range(8):
        g = o.rng(2, part)
        f = np.log1p(g.exponential(100.0, (n, 13))).astype(np.float32)
        top = (10.0 ** np.linspace(0.6, 6.5, 26)).astype(np.int64)  # cardinalities 4 .. 3 million
        c = np.minimum((g.pareto(0.7, (n, 26)) * 3).astype(np.int64), top[None, :])
        label = g.integers(0, 2, n)
        feats = [feature(n, k, 2, [Piece.fixed(np.ascontiguousarray(f[:, i:i + 1]).view(np.uint8))])
                 for i, k in enumerate(W2_FLOATS)]
        feats += [feature(n, k, 3, [Piece.varint(c[:, i])]) for i, k in enumerate(W2_INTS)]
        feats.append(feature(n, "label", 3, [Piece.varint(label)]))
        order = g.permutation(len(feats))  # a map has no order: every file has its own
        path = f"W2/part-{part:05d}.tfrecord"
        write_tfrecord(os.path.join(o.root, path), *flatten(example(n, [feats[i] for i in order])))
        files.append(o.entry(path, Checksum().add(
            [Dense("floats", f), Dense("ints", c), Dense("label", label)]).result()))
    o.add("W2", files, ["I1..I13 f32", "C1..C26 i64", "label i64"])


def w3(o):
    for name, total, kind in (("W3a", 40_000, 0), ("W3b", 40_000, 1), ("W3c", 16_000, 2)):
        files = []
        o.dir(name)
        n = o.n(total, 8)
        for part in range(8):
            g = o.rng(3, kind, part)
            if kind == 0:
                ids = g.integers(0, 1000, (n, 512))
            elif kind == 1:  # Zipf-like over a vocabulary of 128 k: 1 to 3 bytes mixed
                ids = np.exp(g.random((n, 512)) * np.log(128_000.0)).astype(np.int64) - 1
            else:
                ids = g.integers(0, 1 << 62, (n, 512))
            mat, size = varints(ids.reshape(-1))
            flat = mat[np.arange(mat.shape[1])[None, :] < size[:, None]]
            ends = np.cumsum(size.reshape(n, 512).sum(axis=1))
            out, lens, start = [], [], 0
            for end in ends.tolist():
                body = msg(0x0A, msg(0x0A, msg(0x0A, b"ids") + msg(0x12, msg(0x1A, msg(0x0A, flat[start:end].tobytes())))))
                out.append(body)
                lens.append(len(body))
                start = end
            path = f"{name}/part-{part:05d}.tfrecord"
            write_tfrecord(os.path.join(o.root, path), np.frombuffer(b"".join(out), np.uint8), np.array(lens))
            files.append(o.entry(path, Checksum().add([Dense("ids", ids)]).result()))
        o.add(name, files, ["ids i64[512]"])


def w4(o):
    from PIL import Image
    o.dir("W4")
    g = o.rng(4)
    side = 2048  # one large 1/f canvas; every image is a crop of it
    fy, fx = np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None, :]
    amp = 1.0 / np.maximum(np.hypot(fy, fx), 1.0 / side) ** 1.5
    planes = []
    for _ in range(3):
        z = np.fft.irfft2(amp * np.exp(2j * np.pi * g.random((side, side // 2 + 1))), (side, side))
        planes.append(z / z.std())
    base = planes[0]
    canvas = np.stack([np.clip(128 + 52 * base + 14 * p, 0, 255) for p in planes], axis=2).astype(np.uint8)
    n = o.n(2000, 4)
    files_a, files_b = [], []
    for part in range(4):
        g = o.rng(4, part)
        records, ca, cb, means = [], Checksum(), Checksum(), 0.0
        for i in range(n):
            y, x = int(g.integers(0, side - 375)), int(g.integers(0, side - 500))
            img = canvas[y:y + 375, x:x + 500]
            if i & 1:
                img = img[:, ::-1]
            buf = io.BytesIO()
            Image.fromarray(np.ascontiguousarray(img)).save(buf, "JPEG", quality=90)
            data, label = buf.getvalue(), np.array([g.integers(0, 1000)])
            records.append((data, int(label[0])))
            raw = np.frombuffer(data, np.uint8)
            ca.add([Dense("image/encoded", raw[None, :]), Dense("label", label)])
            decoded = np.asarray(Image.open(io.BytesIO(data)))
            means += float(decoded.mean())
            cb.add([Dense("label", label)])
        body = [msg(0x0A, msg(0x0A, msg(0x0A, b"image/encoded") + msg(0x12, msg(0x0A, msg(0x0A, d))))
                    + msg(0x0A, msg(0x0A, b"label") + msg(0x12, msg(0x1A, msg(0x0A, vint(y))))))
                for d, y in records]
        path = f"W4/part-{part:05d}.tfrecord"
        write_tfrecord(os.path.join(o.root, path), np.frombuffer(b"".join(body), np.uint8),
                       np.array([len(b) for b in body]))
        files_a.append(o.entry(path, ca.result()))
        cb = cb.result()
        files_b.append(o.entry(path, cb, mean_pixel=means / n))
    note = {"alias": "W4"}
    o.add("W4a", files_a, ["image/encoded u8[var]", "label i64"], **note)
    o.add("W4b", files_b, ["image u8[375,500,3] (not hashed)", "label i64"], **note)
    o.add("W4c", files_b, ["image u8[224,224,3] (not hashed)", "label i64"], **note)


def w5(o):
    files = []
    o.dir("W5")
    n = o.n(400, 8)
    for part in range(8):
        g = o.rng(5, part)
        out, lens, check = [], [], Checksum()
        for _ in range(n):
            t = int(np.clip(g.normal(900, 300), 200, 1600))
            mel = g.standard_normal((t, 80), dtype=np.float32)
            labels = g.integers(0, 5000, max(1, t // 16))
            frames = np.empty((t, 329), np.uint8)
            frames[:, :9] = np.frombuffer(b"\x0a\xc6\x02\x12\xc3\x02\x0a\xc0\x02", np.uint8)
            frames[:, 9:] = mel.view(np.uint8)
            mat, size = varints(labels)
            packed = mat[np.arange(mat.shape[1])[None, :] < size[:, None]].tobytes()
            context = msg(0x0A, msg(0x0A, msg(0x0A, b"labels") + msg(0x12, msg(0x1A, msg(0x0A, packed)))))
            lists = msg(0x12, msg(0x0A, msg(0x0A, b"mel") + msg(0x12, frames.tobytes())))
            out.append(context + lists)
            lens.append(len(out[-1]))
            check.add([Dense("mel", mel.reshape(1, -1)), Dense("labels", labels[None, :])])
        path = f"W5/part-{part:05d}.tfrecord"
        write_tfrecord(os.path.join(o.root, path), np.frombuffer(b"".join(out), np.uint8), np.array(lens))
        files.append(o.entry(path, check.result()))
    o.add("W5", files, ["mel f32[T,80]", "labels i64[L]"])


def w6(o):
    for name, source, parts in (("W6", "W1", 4), ("W6b", "W2", 8)):
        o.dir(name)
        src = o.manifest["workloads"][source]["files"][:parts]

        def pack(f, name=name):
            path = f"{name}/" + os.path.basename(f["path"]) + ".gz"
            with open(os.path.join(o.root, f["path"]), "rb") as r, \
                    open(os.path.join(o.root, path), "wb") as raw, \
                    gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as w:
                while chunk := r.read(1 << 20):
                    w.write(chunk)
            return o.entry(path, f["checksum"], raw_bytes=f["bytes"])

        with ThreadPoolExecutor(2) as pool:
            o.add(name, list(pool.map(pack, src)), o.manifest["workloads"][source]["tensors"], gzip=True)


def w7(o):
    files = []
    o.dir("W7")
    n = o.n(800_000, 8)
    for part in range(8):
        g = o.rng(7, part)
        # six significant digits, 0..6 of them after the point: '%.6g' prints them exactly
        mant = g.integers(-999_999, 1_000_000, (n, 10))
        mant[mant == 0] = 1
        deci = g.integers(0, 7, (n, 10))
        f64 = mant / 10.0 ** deci
        ints = (g.pareto(0.6, (n, 10)) * 10).clip(0, 2 ** 40).astype(np.int64) * g.choice([1, 1, 1, -1], (n, 10))
        fmt = ",".join(["%.6g"] * 10 + ["%d"] * 10) + "\n"
        path = f"W7/part-{part:05d}.csv"
        with open(os.path.join(o.root, path), "w") as w:
            for at in range(0, n, 10_000):
                a, b = f64[at:at + 10_000].tolist(), ints[at:at + 10_000].tolist()
                w.write("".join([fmt % (*p, *q) for p, q in zip(a, b)]))
        files.append(o.entry(path, Checksum().add(
            [Dense("floats", f64.astype(np.float32)), Dense("ints", ints)]).result()))
    o.add("W7", files, ["f0..f9 f32", "i0..i9 i64"])


def w8(o):
    files = []
    o.dir("W8")
    n = o.n(50_000, 5)
    for part in range(5):
        g = o.rng(8, part)
        data = g.integers(0, 256, (n, 3073), dtype=np.uint8)
        data[:, 0] %= 10
        path = f"W8/part-{part:05d}.bin"
        data.tofile(os.path.join(o.root, path))
        files.append(o.entry(path, Checksum().add([Dense("image", data[:, 1:]), Dense("label", data[:, 0])]).result()))
    o.add("W8", files, ["image u8[3,32,32]", "label u8"], record_bytes=3073)


def w9(o):
    files = []
    o.dir("W9")
    n = o.n(1000, 4)
    for part in range(4):
        g = o.rng(9, part)
        length = 64 + 32 * g.integers(0, 30, n)  # 64 .. 992: windows of 64, step 32 leave no rest
        total = int(length.sum())
        x = g.standard_normal((total, 40), dtype=np.float32)
        y = g.integers(0, 5000, total).astype(np.int32)
        stem = f"W9/part-{part:05d}"
        x.tofile(os.path.join(o.root, stem + ".x.f32"))
        y.tofile(os.path.join(o.root, stem + ".y.i32"))
        length.astype(np.int64).tofile(os.path.join(o.root, stem + ".len.i64"))
        starts = np.concatenate([[0], np.cumsum(length)[:-1]])
        at = np.concatenate([s + np.arange(0, t - 63, 32) for s, t in zip(starts.tolist(), length.tolist())])
        idx = at[:, None] + np.arange(64)[None, :]
        check = Checksum().add([Dense("x", x[idx]), Dense("y", y[idx])]).result()
        files.append({"path": stem, "rows": check["rows"], "bytes": total * 164, "sequences": n, "checksum": check})
    o.add("W9", files, ["x f32[64,40]", "y i32[64]"], window=64, step=32, in_memory=True)


def w10(o):
    files = []
    o.dir("W10")
    n = o.n(50_000, 4)
    for part in range(4):
        g = o.rng(10, part)
        length = np.clip(np.exp(g.normal(5.0, 0.9, n)), 10, 2000).astype(np.int64)
        ids = g.integers(1, 32_000, int(length.sum()))
        stem = f"W10/part-{part:05d}"
        ids.tofile(os.path.join(o.root, stem + ".ids.i64"))
        length.tofile(os.path.join(o.root, stem + ".len.i64"))
        check = Checksum()
        for a in range(0, n, 1000):
            lo, hi = length[:a].sum(), length[:a + 1000].sum()
            check.add([Ragged("ids", ids[lo:hi], length[a:a + 1000])])
        files.append({"path": stem, "rows": n, "bytes": int(ids.nbytes), "checksum": check.result()})
    o.add("W10", files, ["ids i64[T]"], tokens_per_batch=16384, in_memory=True)


IMAGES = ["W4a", "W4b", "W4c"]
ALL = [("W1", w1), ("W2", w2), ("W3", w3), ("W4", w4), ("W5", w5), ("W6", w6), ("W7", w7), ("W8", w8),
       ("W9", w9), ("W10", w10)]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("dir")
    ap.add_argument("--scale", type=float, default=1.0, help="1.0 is about 1.4 GB, 0.05 the quick size")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--only", default="", help="comma separated subset, e.g. W1,W7 (W6 needs W1 and W2)")
    args = ap.parse_args()
    os.makedirs(args.dir, exist_ok=True)
    out = Out(args.dir, args.scale, args.seed)
    wanted = set(filter(None, args.only.split(",")))
    old = os.path.join(args.dir, "manifest.json")
    if wanted and os.path.exists(old):
        with open(old) as f:
            out.manifest = json.load(f)
    for name, make in ALL:
        if wanted and name not in wanted:
            continue
        t = time.monotonic()
        try:
            make(out)
        except ImportError as problem:  # of Pillow
            out.manifest.setdefault("left_out", {}).update({w: f"its data were not made: {problem}" for w in IMAGES})
            print(f"{name}: left out: {problem}", flush=True)
            continue
        print(f"{name}: {time.monotonic() - t:.1f} s", flush=True)
    with open(old, "w") as f:
        json.dump(out.manifest, f, indent=1)
    total = 0
    for base, _, names in os.walk(args.dir):
        total += sum(os.path.getsize(os.path.join(base, x)) for x in names)
    print(f"total {total / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
