# SPDX-License-Identifier: Apache-2.0
"""The global shuffle: an exact permutation, as good as a uniform one, whatever the files are and wherever their indexes."""
from __future__ import annotations

import json
import lzma
import pathlib
import re
import stat

import numpy as np
import pytest
from conftest import run_python
from streams import digests, examples, write_parts
from test_shuffle_quality import SIZES, measured, statistics
from test_shuffle_quality import folder as quality_files  # noqa: F401, a fixture

import forebay as fb

PACKINGS = {"plain": [None] * 6, "gzip": ["gzip"] * 6, "zlib": ["zlib"] * 6, "zstd": ["zstd"] * 6,
            "mixed": ["gzip", None, "zlib", None, "zstd", "zlib"]}
COUNTS = [37, 0, 120, 1, 0, 55]
RECORDS = sum(COUNTS)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / "cache"))


def shuffled(paths, batch=10, **members):
    pipe = examples(paths).shuffle(global_=True).batch(batch)
    return type(pipe)({**pipe.to_dict(), **members})


def epochs_of(loader):
    """The ids of each epoch; batches do not hold records of two."""
    out = {}
    for batch in loader:
        out.setdefault(batch.epoch, []).extend(batch["id"].tolist())
    return list(out.values())


def ids_of(loader):
    return np.concatenate([batch["id"] for batch in loader]).tolist()


# ---------------------------------------------------------------- a permutation

@pytest.mark.parametrize("packing", PACKINGS)
def test_every_epoch_is_a_permutation_and_another_one(tmp_path, packing):
    paths = write_parts(tmp_path, COUNTS, PACKINGS[packing])
    for seed in range(3):
        epochs = epochs_of(shuffled(paths, epochs=6, seed=seed, epoch_boundary="hard").load())
        assert [sorted(epoch) for epoch in epochs] == [list(range(RECORDS))] * 6
        assert len({tuple(epoch) for epoch in epochs}) == 6


def test_the_order_depends_on_the_seed_and_not_on_packing_knobs_or_boundary(tmp_path):
    orders = {}
    for name, packings in PACKINGS.items():
        (tmp_path / name).mkdir()
        paths = write_parts(tmp_path / name, COUNTS, packings)
        for seed in range(4):
            orders.setdefault(seed, []).append(ids_of(shuffled(paths, epochs=3, seed=seed).load()))
        for threads, prefetch, memory in ((1, 1, "16MiB"), (2, 9, None), (8, 1, "1GiB"), (16, None, "64MiB")):
            orders[3].append(ids_of(shuffled(paths, epochs=3, seed=3).load(threads, memory, prefetch)))
        orders[3].append(ids_of(shuffled(paths, 17, epochs=3, seed=3, epoch_boundary="hard").load()))
    assert all(order == same[0] for same in orders.values() for order in same)
    assert len({tuple(same[0]) for same in orders.values()}) == 4


def test_rows_are_those_of_their_origin(tmp_path):
    paths = write_parts(tmp_path, COUNTS, PACKINGS["mixed"])
    firsts = dict(zip(paths, np.cumsum([0, *COUNTS[:-1]]).tolist()))
    for batch in shuffled(paths, epochs=2).load():
        assert [firsts[file] + record for file, record, _ in batch.origins] == batch["id"].tolist()
        assert [len(name) for name in batch["name"]] == (batch["id"] % 5).tolist()
        assert batch["tokens"].to_list() == [[i] * (i % 4) for i in batch["id"].tolist()]


@pytest.mark.parametrize("counts", [[0], [0, 0, 0], [1], [0, 1, 0], [2], [0, 0, 3]])
def test_few_records_and_none(tmp_path, counts):
    paths = write_parts(tmp_path, counts, (PACKINGS["mixed"])[:len(counts)])
    loader = shuffled(paths, epochs=5, epoch_boundary="hard").load()
    assert [sorted(epoch) for epoch in epochs_of(loader)] == [list(range(sum(counts)))] * (5 if sum(counts) else 0)
    assert next(loader, None) is None


def test_a_file_that_is_listed_twice_is_delivered_twice(tmp_path):
    paths = write_parts(tmp_path, [30, 20], [None, "gzip"])
    assert sorted(ids_of(shuffled([*paths, *paths]).load())) == sorted([*range(50), *range(50)])


# ---------------------------------------------------------------- as good as uniform

# Seeds are fixed, so a test passes always or never; a uniform shuffle is over this once in 16,000 statistics.
MOST_DEVIATIONS = 4


def deviations(chi_square, freedom):
    """How many standard deviations the statistic is from what is expected (Wilson and Hilferty 1931)."""
    spread = 2 / (9 * freedom)
    return (np.cbrt(chi_square / freedom) - (1 - spread)) / np.sqrt(spread)


def evenness(orders):
    """Deviations of three statistics of many orders of n elements, which are 0 ± 1 for uniform ones.

    position   how often each element is at each position: n·n counts, whose rows and columns have fixed sums, so the
               statistic times (n - 1) / n has (n - 1)² degrees of freedom
    step       how often the next element is d further, modulo n: n - 1 counts
    moved      mean displacement, whose expectation is (n² - 1) / 3n
    """
    orders = np.asarray(orders)
    many, n = orders.shape
    counts = np.zeros((n, n))
    for position in range(n):
        counts[position] = np.bincount(orders[:, position], minlength=n)
    position = ((counts - many / n) ** 2).sum() / (many / n) * (n - 1) / n
    steps = np.bincount(((orders[:, 1:] - orders[:, :-1]) % n).ravel(), minlength=n)[1:]
    step = ((steps - steps.mean()) ** 2).sum() / steps.mean()
    moved = np.abs(orders - np.arange(n)).mean(axis=1)
    return np.array([deviations(position, (n - 1) ** 2), deviations(step, n - 2),
                     (moved.mean() - (n * n - 1) / (3 * n)) / (moved.std(ddof=1) / np.sqrt(many))])


def numpy_orders(many, n, seed):
    generator = np.random.default_rng(seed)
    return [generator.permutation(n) for _ in range(many)]


def test_the_yardstick_finds_numpy_good_and_a_buffer_bad(tmp_path):
    assert all((np.abs(evenness(numpy_orders(4000, 40, seed))) < MOST_DEVIATIONS).all() for seed in range(5))
    paths = write_parts(tmp_path, [40], [None])
    pipe = examples(paths).shuffle(buffer=30).batch(40).epochs(2000)
    assert (np.abs(evenness([batch["id"] for batch in pipe.load()]))[[0, 2]] > 4 * MOST_DEVIATIONS).all()


@pytest.mark.parametrize("counts", [[40], [13, 0, 20, 7], [1, 58, 2], [3, 4]])
def test_over_many_epochs_positions_are_uniform(tmp_path, counts):
    paths, n = write_parts(tmp_path, counts, [None] * len(counts)), sum(counts)
    orders = [batch["id"] for batch in shuffled(paths, n, epochs=4000, seed=11).load()]
    found, reference = evenness(orders), evenness(numpy_orders(4000, n, 11))
    assert (np.abs(found) < MOST_DEVIATIONS).all(), (found, reference)
    assert (np.abs(found - reference) < MOST_DEVIATIONS * np.sqrt(2)).all()


def test_over_many_seeds_positions_are_uniform(tmp_path):
    paths = write_parts(tmp_path, [12, 0, 8], [None, "gzip", "zlib"])
    orders = [next(shuffled(paths, 20, seed=seed).load(threads=1))["id"] for seed in range(1000)]
    assert (np.abs(evenness(orders)) < MOST_DEVIATIONS).all(), evenness(orders)


def test_epochs_and_neighbouring_seeds_do_not_resemble_each_other(tmp_path):
    paths = write_parts(tmp_path, [500], [None])
    orders = [batch["id"] for seed in range(4) for batch in shuffled(paths, 500, epochs=10, seed=seed).load()]
    # A correlation of two independent orders of n elements has a deviation of 1 / sqrt(n - 1).
    found = np.corrcoef(np.asarray(orders))[np.triu_indices(40, 1)] * np.sqrt(499)
    assert np.abs(found).max() < 4.5 and found.std() == pytest.approx(1, abs=0.1)
    same = np.array([(a == b).sum() for i, a in enumerate(orders) for b in orders[:i]])
    assert same.mean() == pytest.approx(1, abs=4 / np.sqrt(len(same))), "one element in its place, as by chance"


def test_explain_finds_nothing_to_complain_about(quality_files):  # noqa: F811
    found = [measured(quality_files, [{"shuffle": {"global": True}}], seed=seed) for seed in range(8)]
    files, n, generator = np.repeat(np.arange(len(SIZES)), SIZES), sum(SIZES), np.random.default_rng(0)
    simulated = [statistics(order, files[order]) for order in (generator.permutation(n) for _ in range(40))]
    spread = np.std(simulated, axis=0, ddof=1) * np.sqrt(1 / 40 + 1 / 8)
    ours = np.array([(each["displacement"], each["file_correlation"]) for each in found])
    assert (np.abs(ours.mean(axis=0) - np.mean(simulated, axis=0)) < MOST_DEVIATIONS * spread).all()
    for displacement, correlation in ours:
        assert displacement == pytest.approx(1 / 3, rel=0.06) and abs(correlation) < 4.5 / np.sqrt(n)
    assert all((each["rows"], each["files"]) == (n, len(SIZES)) for each in found)


# ---------------------------------------------------------------- where indexes are

# Without capabilities a superuser may not write into a folder without the bit for it, either.
UNPRIVILEGED = """
import ctypes, json, struct, sys
import forebay as fb
assert ctypes.CDLL(None).capset(struct.pack("Ii", 0x20080522, 0), bytes(24)) == 0
try:
    open(sys.argv[1] + "/data/test", "w")
    sys.exit("the folder can be written")
except PermissionError:
    pass
loader = fb.load(sys.argv[1] + "/document.json")
print(json.dumps([batch["id"].tolist() for batch in loader]))
"""


def test_indexes_of_a_folder_that_cannot_be_written_are_in_the_cache(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    paths = write_parts(data, COUNTS, PACKINGS["mixed"])
    (tmp_path / "document.json").write_text(shuffled(paths, epochs=2).to_json())
    data.chmod(0o555)
    try:
        runs, times = [], []
        for first in (True, False):
            done = run_python(UNPRIVILEGED, str(tmp_path))
            assert done.returncode == 0
            said = f"forebay: record indexes are stored in '{tmp_path}/cache/[0-9a-f]*', which may be deleted at any time\n"
            assert re.fullmatch(said if first else "", done.stderr)
            runs.append(json.loads(done.stdout))
            stores = (tmp_path / "cache").glob("*/*")
            times.append({str(path.relative_to(tmp_path / "cache")): path.stat().st_mtime_ns for path in stores})
    finally:
        data.chmod(0o755)
    assert times[0] == times[1], "they are made once"
    assert len(times[0]) == 1 and all(re.fullmatch("[0-9a-f]{16}/index-v1", name) for name in times[0])
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    assert not (data / ".forebay").exists()
    assert runs[0] == runs[1] == [batch["id"].tolist() for batch in fb.load(tmp_path / "document.json")]


@pytest.mark.parametrize("packing", [None, "gzip", "zlib", "zstd"])
def test_a_file_that_has_grown_is_indexed_again(tmp_path, packing):
    paths = write_parts(tmp_path, [50, 40], [packing, None])
    pipe = shuffled(paths)
    loader = pipe.load()
    next(loader)
    state = loader.state_dict()
    assert sorted(ids_of(pipe.load())) == list(range(90))
    store = tmp_path / ".forebay" / "index-v1"
    before = store.read_bytes()
    fb.write_records(tmp_path / "more", fb.read_records(paths[1]), packing)
    if packing == "zlib":  # whose streams are not joined
        fb.write_records(paths[0], [*fb.read_records(paths[0]), *fb.read_records(paths[1])], packing)
    else:
        with open(paths[0], "ab") as file:
            file.write((tmp_path / "more").read_bytes())
    assert sorted(ids_of(pipe.load())) == sorted([*range(90), *range(50, 90)])
    added = store.read_bytes()[len(before):]
    assert store.read_bytes().startswith(before) and added.count(b"part-0") == 1 and b"part-1" not in added
    with pytest.raises(fb.StateError, match="files have changed"):
        pipe.load().load_state_dict(state)


@pytest.mark.parametrize("content", [b"", b"no index", "cut", "flipped"])
def test_a_corrupt_index_is_made_again(tmp_path, content):
    paths = write_parts(tmp_path, [50, 40], [None, "gzip"])
    unbroken = digests(shuffled(paths).load())
    store = tmp_path / ".forebay" / "index-v1"
    index = store.read_bytes()
    middle = len(index) // 4
    bad = {"cut": index[:middle], "flipped": index[:middle] + bytes([index[middle] ^ 1]) + index[middle + 1:]}
    store.write_bytes(content if isinstance(content, bytes) else bad[content])
    assert digests(shuffled(paths).load()) == unbroken
    assert [report.built for report in fb.index_files(paths)] == [False, False]


def test_a_corrupt_record_is_an_error_with_its_place_behind_the_good_batches(tmp_path):
    paths = write_parts(tmp_path, [50, 40], [None, None])
    unbroken = digests(shuffled(paths).load())
    data = bytearray(pathlib.Path(paths[1]).read_bytes())
    data[len(data) // 2] ^= 1
    pathlib.Path(paths[1]).write_bytes(data)
    seen = []
    with pytest.raises(fb.DataError) as caught:
        for batch in (loader := shuffled(paths).load()):
            seen.append(batch["id"].tolist())
    assert caught.value.file == paths[1] and 15 < caught.value.record < 25
    with pytest.raises(fb.DataError):
        next(loader)
    assert len(seen) < len(unbroken)


# ---------------------------------------------------------------- in its budget

BUDGET = """
import sys
from streams import digest
import forebay as fb

def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])

document, memory = sys.argv[1:]
before, digests, used = peak(), [], 0
with fb.load(document, threads=2, memory=memory) as loader:
    for batch in loader:
        digests.append(digest(batch))
        used = max(used, loader.stats().memory_used)
        assert used <= loader.stats().memory_limit, used
print(peak() - before, *digests)
"""


@pytest.mark.parametrize("records, bytes_of_one, batch", [(6000, 10_000, 25), (300, 200_000, 2)])
def test_packed_data_larger_than_the_budget_are_shuffled_within_it(tmp_path, records, bytes_of_one, batch):
    generator, paths = np.random.default_rng(1), []
    for part in range(3):  # 20 MB each
        examples_of_part = [fb.encode_example({"id": i, "payload": generator.bytes(1000) * (bytes_of_one // 1000)})
                            for i in range(part * records // 3, (part + 1) * records // 3)]
        paths.append(str(tmp_path / f"{part}.gz"))
        fb.write_records(paths[-1], examples_of_part, ["gzip", "zlib", "gzip"][part])
    pipe = fb.tfrecord(paths).example({"id": fb.feature("int64"), "payload": fb.feature("string")})
    pipe = pipe.shuffle(global_=True).batch(batch).seed(3)
    assert sorted(ids_of(pipe.load(memory="256MiB"))) == list(range(records))
    (tmp_path / "document.json").write_text(pipe.to_json())
    code = f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n" + BUDGET
    done = run_python(code, str(tmp_path / "document.json"), "16MiB")
    assert (done.returncode, done.stderr) == (0, "")
    grown, *found = done.stdout.split()
    # On top come stacks of threads, inflaters, indexes, and what malloc keeps.
    assert int(grown) < (16 + 20) * 1024, f"{grown} KiB"
    assert found == digests(pipe.load(memory="256MiB")), "the same stream"


def test_a_file_of_one_stream_is_told_with_the_way_out(tmp_path, capfd):
    text = b"".join(b"%099d\n" % number for number in range(45_000))
    one, two = lzma.compress(text, preset=0), lzma.compress(text[:len(text) // 2], preset=0) + lzma.compress(text[len(text) // 2:], preset=0)
    for name, data in (("one.xz", one), ("two.xz", two)):
        (tmp_path / name).write_bytes(data)
        for shuffle in ({"global_": True}, {"buffer": 10}):
            with fb.lines(str(tmp_path / name)).record().shuffle(**shuffle).batch(10).load(threads=1) as loader:
                next(loader)
    told = [line for line in capfd.readouterr().err.splitlines() if "xz stream" in line]
    assert len(told) == 1 and f"'{tmp_path}/one.xz' is one xz stream of 4500000 bytes" in told[0], told
    assert "compress it anew in streams of some MiB" in told[0]
