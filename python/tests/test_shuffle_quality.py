# SPDX-License-Identifier: Apache-2.0
"""`forebay explain DOC --shuffle` against the same statistics of orders that numpy makes."""
from __future__ import annotations

import json

import numpy as np
import pytest
from command import forebay, interrupt_while_reading, start

import forebay as fb

SIZES = [300, 120, 480, 0, 600, 240, 360, 60]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of `SIZES` records."""
    path = tmp_path_factory.mktemp("shuffle_quality")
    for file, size in enumerate(SIZES):
        compression = "gzip" if file % 2 else None
        fb.write_records(path / f"{file}.tfrecord", [fb.encode_example({"id": [i]}) for i in range(size)], compression)
    return path


def document(folder, steps, **members):
    doc = {"source": {"tfrecord": {"files": [f"{file}.tfrecord" for file in range(len(SIZES))], "compression": "auto"}},
           "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []}}}},
           "steps": [*steps, {"batch": {"size": 64}}], **members}
    path = folder / "doc.json"
    path.write_text(json.dumps(doc))
    return path


def measured(folder, steps, **members):
    done = forebay("explain", document(folder, steps, **members), "--shuffle", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def statistics(ordinals, files):
    """Displacement and lag-1 correlation, as the header defines them."""
    n = len(ordinals)
    return np.abs(np.arange(n) - ordinals).mean() / n, np.corrcoef(files[:-1], files[1:])[0, 1]


def buffer_shuffle(n, buffer, generator):
    held, out, nxt = list(range(min(n, buffer))), [], min(n, buffer)
    while held:
        pick = generator.integers(len(held))
        out.append(held[pick])
        if nxt < n:
            held[pick] = nxt
            nxt += 1
        else:
            held[pick] = held[-1]
            held.pop()
    return np.array(out)


FILES = np.repeat(np.arange(len(SIZES)), SIZES)


def test_file_order_is_not_displaced_and_correlates_as_numpy_says(folder):
    found = measured(folder, [])
    assert (found["rows"], found["files"], found["displacement"], found["of_uniform"]) == (sum(SIZES), len(SIZES), 0, 0)
    assert found["file_correlation"] == pytest.approx(statistics(np.arange(sum(SIZES)), FILES)[1], abs=1e-12)


def test_interleaved_files_have_the_numbers_of_that_order(folder):
    found = measured(folder, [{"interleave": {"cycle": 8}}])
    starts = np.cumsum([0, *SIZES[:-1]])
    order = [(row, file) for row in range(max(SIZES)) for file in range(len(SIZES)) if row < SIZES[file]]
    ordinals = np.array([starts[file] + row for row, file in order])
    displacement, correlation = statistics(ordinals, np.array([file for _, file in order]))
    assert found["displacement"] == pytest.approx(displacement, abs=1e-12)
    assert found["file_correlation"] == pytest.approx(correlation, abs=1e-12)


@pytest.mark.parametrize("buffer", [50, 700, 5000])
def test_a_buffer_is_as_good_as_numpy_simulates_it(folder, buffer):
    generator = np.random.default_rng(buffer)
    n = sum(SIZES)
    simulated = []
    for _ in range(40):
        order = buffer_shuffle(n, buffer, generator)
        simulated.append(statistics(order, FILES[order]))
    found = [measured(folder, [{"shuffle": {"buffer": buffer}}], seed=seed) for seed in range(8)]
    ours = np.array([(each["displacement"], each["file_correlation"]) for each in found])
    spread = np.std(simulated, axis=0, ddof=1) * np.sqrt(1 / 40 + 1 / 8)
    assert (np.abs(ours.mean(axis=0) - np.mean(simulated, axis=0)) < 4 * spread).all()
    if buffer > n:  # a uniform shuffle
        assert ours[:, 0].mean() == pytest.approx(1 / 3, rel=0.03)
        assert found[0]["of_uniform"] == pytest.approx(found[0]["displacement"] * 3, rel=1e-6)


def test_only_the_first_epoch_counts(folder):
    shuffle = [{"shuffle": {"buffer": 700}}]
    assert measured(folder, shuffle, epochs=None) == measured(folder, shuffle, epochs=3) == measured(folder, shuffle)


def test_one_file_has_no_correlation_and_the_text_says_so(folder):
    path = document(folder, [])
    doc = json.loads(path.read_text())
    doc["source"]["tfrecord"]["files"] = ["0.tfrecord"]
    path.write_text(json.dumps(doc))
    done = forebay("explain", path, "--shuffle")
    assert (done.returncode, done.stdout.splitlines()) == (0, [
        "first epoch: 300 rows of 1 files",
        "  mean displacement  0.0000 of the rows: 0.0 % of what a uniform shuffle has (0.3333)",
        "  file correlation   none: all rows come from one file"])


def test_a_corrupt_file_is_named(folder, tmp_path):
    whole = (folder / "0.tfrecord").read_bytes()
    (tmp_path / "cut.tfrecord").write_bytes(whole[:-3])
    path = document(folder, [])
    doc = json.loads(path.read_text())
    doc["source"]["tfrecord"]["files"] = [str(tmp_path / "cut.tfrecord")]
    path.write_text(json.dumps(doc))
    done = forebay("explain", path, "--shuffle")
    assert done.returncode == 3 and "cut.tfrecord" in done.stderr


def test_it_needs_a_document():
    assert forebay("explain", "--shuffle").returncode == 2


def test_an_interrupt_ends_it_at_once(folder, tmp_path):
    # 100 MB, fifty times: that takes seconds to inflate.
    fb.write_records(tmp_path / "big.gz", [bytes(1 << 20)] * 100, "gzip")
    path = document(folder, [])
    doc = json.loads(path.read_text())
    doc["source"]["tfrecord"]["files"] = [str(tmp_path / "big.gz")] * 50
    path.write_text(json.dumps(doc))
    code, out, errors, took = interrupt_while_reading(start("explain", path, "--shuffle"), tmp_path / "big.gz")
    assert (code, out) == (130, "") and "interrupted" in errors
    assert took < 5
