#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TFRecord files to Parquet and back: `fb.convert` against tf.data with pyarrow.

    bench/convert_round_trip.py [--bytes 1000000000] [--rounds 1] [--python PYTHON] [--out FILE]

Each direction of each system is a process of its own, which does nothing else; they run in turns. Processor time (user and system) of
the process is what is compared. `--python` has tensorflow and pyarrow. Both results must have the rows of the input, by the digest of
rows (`RowDigest`). Forebay also reads back what it writes and compares it; the rival does not.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

FLOATS, FILES, ROW_GROUP = 64, 4, 32768


def make_inputs(folder: pathlib.Path, size: int) -> None:
    """Files of Examples of about 410 bytes: 64 floats, a label, a name, and up to 59 token ids."""
    import numpy as np
    import forebay as fb
    random = np.random.default_rng(0)
    base = [fb.encode_example({"x": random.random(FLOATS, dtype=np.float32), "label": int(random.integers(1000)), "name": f"row-{row}",
                               "tokens": random.integers(0, 50_000, int(random.integers(1, 60)))}) for row in range(10_000)]
    times = max(1, round(size / FILES / sum(len(record) + 16 for record in base)))
    for number in range(FILES):
        fb.write_records(folder / f"in-{number}.tfrecord", base * times)


def digest(pattern: str) -> "tuple[int, str]":
    import forebay as fb
    rows = fb._core.RowDigest()
    pipe = fb.tfrecord(pattern).example({"x": fb.fixed("float32", [FLOATS]), "label": fb.fixed("int64", []),
                                         "name": fb.fixed("string", []), "tokens": fb.var_len("int64")})
    for batch in pipe.batch(size=8192).load():
        rows.add(batch)
    return rows.rows, rows.text


def forebay_there(folder: pathlib.Path) -> None:
    import forebay as fb
    fb.convert(folder / "in-*.tfrecord", folder / "forebay" / "a.parquet", files=FILES)


def forebay_back(folder: pathlib.Path) -> None:
    import forebay as fb
    fb.convert(folder / "forebay" / "a-*.parquet", folder / "forebay" / "a.tfrecord", files=FILES)


def rival_there(folder: pathlib.Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    import tensorflow as tf
    (folder / "rival").mkdir()
    features = {"x": tf.io.FixedLenFeature([FLOATS], tf.float32), "label": tf.io.FixedLenFeature([], tf.int64),
                "name": tf.io.FixedLenFeature([], tf.string), "tokens": tf.io.RaggedFeature(tf.int64)}
    for number in range(FILES):
        rows = tf.data.TFRecordDataset(str(folder / f"in-{number}.tfrecord"))
        rows = rows.batch(ROW_GROUP).map(lambda batch: tf.io.parse_example(batch, features), tf.data.AUTOTUNE).prefetch(1)
        writer = None
        for batch in rows:
            tokens = batch["tokens"]
            table = pa.table({
                "label": batch["label"].numpy(), "name": pa.array(batch["name"].numpy(), pa.binary()),
                "tokens": pa.LargeListArray.from_arrays(tokens.row_splits.numpy(), tokens.values.numpy()),
                "x": pa.FixedSizeListArray.from_arrays(batch["x"].numpy().reshape(-1), FLOATS)})
            writer = writer or pq.ParquetWriter(folder / "rival" / f"a-{number}.parquet", table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()


def rival_back(folder: pathlib.Path) -> None:
    import pyarrow.parquet as pq
    import tensorflow as tf
    Feature, Floats, Ints, Bytes = tf.train.Feature, tf.train.FloatList, tf.train.Int64List, tf.train.BytesList
    for number in range(FILES):
        with tf.io.TFRecordWriter(str(folder / "rival" / f"a-{number}.tfrecord")) as writer:
            for batch in pq.ParquetFile(folder / "rival" / f"a-{number}.parquet").iter_batches(8192):
                floats = batch["x"].flatten().to_numpy().reshape(-1, FLOATS)
                splits, ids = batch["tokens"].offsets.to_numpy(), batch["tokens"].values.to_numpy()
                labels, names = batch["label"].to_pylist(), batch["name"].to_pylist()
                for row in range(batch.num_rows):
                    example = tf.train.Example(features=tf.train.Features(feature={
                        "x": Feature(float_list=Floats(value=floats[row])),
                        "label": Feature(int64_list=Ints(value=[labels[row]])),
                        "name": Feature(bytes_list=Bytes(value=[names[row]])),
                        "tokens": Feature(int64_list=Ints(value=ids[splits[row]:splits[row + 1]]))}))
                    writer.write(example.SerializeToString())


WORK = {function.__name__: function for function in (forebay_there, forebay_back, rival_there, rival_back)}


def seconds_of(python: str, work: str, folder: pathlib.Path) -> float:
    """Processor time of a process, without that of its imports."""
    done = subprocess.run([python, __file__, "--work", work, "--folder", str(folder)], stdout=subprocess.PIPE, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


def work(name: str, folder: pathlib.Path) -> None:
    if name.startswith("rival"):
        import tensorflow  # noqa: F401
    import forebay  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    def used() -> float:
        now = resource.getrusage(resource.RUSAGE_SELF)
        return now.ru_utime + now.ru_stime

    before = used()
    WORK[name](folder)
    print(json.dumps({"seconds": used() - before}))


def compare(asked: argparse.Namespace, folder: pathlib.Path) -> "list[str]":
    make_inputs(folder, asked.bytes)
    size = sum(path.stat().st_size for path in folder.glob("in-*"))
    rows, expected = digest(str(folder / "in-*.tfrecord"))
    best: "dict[str, float]" = {}
    for _ in range(asked.rounds):
        for system in ("forebay", "rival"):
            shutil.rmtree(folder / system, ignore_errors=True)
            for way in ("there", "back"):
                name = f"{system}_{way}"
                best[name] = min(best.get(name, 1e9), seconds_of(asked.python, name, folder))
            if digest(str(folder / system / "a-*.tfrecord")) != (rows, expected):
                raise SystemExit(f"{system}: the rows that came back are not those of the input")
    lines = [f"{size / 1e9:.2f} GB of TFRecord, {rows} rows; seconds of processor time, best of {asked.rounds}", "",
             "| | TFRecord to Parquet | Parquet to TFRecord | both |", "| --- | --- | --- | --- |"]
    both = {}
    for system, title in (("forebay", "Forebay, read back and compared"), ("rival", "tf.data and pyarrow")):
        there, back = best[f"{system}_there"], best[f"{system}_back"]
        both[system] = there + back
        lines.append(f"| {title} | {there:.1f} | {back:.1f} | {there + back:.1f} |")
    ratios = [best[f"rival_{way}"] / best[f"forebay_{way}"] for way in ("there", "back")]
    lines.append(f"| ratio | {ratios[0]:.1f} | {ratios[1]:.1f} | {both['rival'] / both['forebay']:.1f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=10 ** 9)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--work", choices=sorted(WORK), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        work(asked.work, asked.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(compare(asked, pathlib.Path(folder))) + "\n"
    print(text, end="")
    if asked.out:
        asked.out.write_text(text)


if __name__ == "__main__":
    main()
