# SPDX-License-Identifier: Apache-2.0
"""Stages behind stages for which the engine first makes rows (docs/composition.md): what they give, what they cost a restart, and how they fail."""
from __future__ import annotations

import pathlib
import threading
import time
from typing import Any, Iterator

import numpy as np
import pytest

import forebay as fb

FEATURES = {"id": fb.fixed("int64", []), "x": fb.var_len("int64")}
RAGGED = {"id": fb.fixed("int64", []), "x": fb.var_len("int64")}


def write(path: pathlib.Path, first: int, count: int) -> str:
    fb.write_records(path, [fb.encode_example({"id": [first + i], "x": list(range(i % 5 + 1))}) for i in range(count)])
    return str(path)


@pytest.fixture()
def files(tmp_path: pathlib.Path) -> "tuple[str, str]":
    return write(tmp_path / "a.tfrecord", 0, 90), write(tmp_path / "b.tfrecord", 1000, 70)


def read(file: str) -> fb.Pipeline:
    return fb.tfrecord(file).example(FEATURES)


def ids(batches: Any) -> "list[list[int]]":
    return [np.asarray(batch["id"]).tolist() for batch in batches]


def flat(batches: Any) -> "list[int]":
    return [i for batch in ids(batches) for i in batch]


def spoil(file: str, record: int) -> None:
    """Changes a byte of a record."""
    content = bytearray(pathlib.Path(file).read_bytes())
    at = 0
    for _ in range(record):
        at += 16 + int.from_bytes(content[at:at + 8], "little")
    content[at + 14] ^= 0x55
    pathlib.Path(file).write_bytes(content)


def test_a_filter_behind_a_mixture_keeps_the_order_of_the_mixture(files: "tuple[str, str]") -> None:
    mixed = fb.mix([read(files[0]), read(files[1])], until="all")
    wanted = [i for i in flat(mixed.batch(8).load()) if i % 3]
    for threads in (1, 4):
        assert flat(mixed.filter("id % 3 != 0").batch(8).load(threads=threads)) == wanted


def test_windows_behind_windows_are_cut_of_them(files: "tuple[str, str]") -> None:
    x = fb.Ragged(np.arange(10), np.array([0, 7, 10]))
    loader = fb.arrays({"x": x}).chunk(4, keys=["x"]).chunk(3, keys=["x"]).batch(8).load()
    assert [row.tolist() for batch in loader for row in batch["x"]] == [[0, 1, 2], [3], [4, 5, 6], [7, 8, 9]]


@pytest.mark.parametrize("size", [1, 3, 7])
def test_all_batches_before_a_corrupt_record_come_first(files: "tuple[str, str]", size: int) -> None:
    spoil(files[0], 70)   # among the rows of the second block that is made
    pipe = fb.concat([read(files[0]), read(files[1])]).filter("id >= 0").batch(size)
    for threads in (1, 4):
        got: "list[int]" = []
        with pytest.raises(fb.DataError, match="record 70") as caught:
            for batch in pipe.load(threads=threads):
                got += np.asarray(batch["id"]).tolist()
        assert got == list(range(70 // size * size))
        assert caught.value.file == files[0]


def test_skipped_records_and_bytes_are_counted(files: "tuple[str, str]") -> None:
    spoil(files[0], 70)
    loader = fb.concat([read(files[0]), read(files[1])]).on_corrupt("skip_record").filter("id >= 0").batch(8).load()
    assert len(flat(loader)) == 159
    stats = loader.stats()
    assert stats.skipped_records == 1
    assert stats.bytes_read == sum(pathlib.Path(file).stat().st_size for file in files)
    assert "record 70" in str(stats.skipped[0])


def test_a_record_that_is_skipped_before_an_error_is_counted_once(files: "tuple[str, str]") -> None:
    for record in (3, 70):
        spoil(files[0], record)
    whole = fb.concat([read(files[0]), read(files[1])]).on_corrupt({"policy": "skip_record", "max_count": 1})
    found = []
    for pipe in (whole, whole.filter("id >= 0")):
        loader = pipe.batch(1).load()
        got: "list[int]" = []
        with pytest.raises(fb.DataError, match="max_count"):
            for batch in loader:
                got += np.asarray(batch["id"]).tolist()
        stats = loader.stats()
        found.append((got, stats.skipped_records, list(map(str, stats.skipped))))
    assert found[0] == found[1]


PAIRED: "dict[str, Any]" = {
    "nothing": lambda p: p, "global": lambda p: p.shuffle("global"), "filter": lambda p: p.filter("id % 3 != 0"),
    "sorted": lambda p: p.sorted("id", descending=True), "windows": lambda p: p.chunk(2, keys=["x"]),
    "function": lambda p: p.map(lambda row: row, per="row").filter("id % 3 != 0")}


def beside(files: "tuple[str, str]", stages: Any = lambda p: p, until: Any = None) -> fb.Pipeline:
    """Row i of both files; the ids are 1000 apart."""
    other = write(pathlib.Path(files[1]).parent / "beside.tfrecord", 1000, 90)
    return fb.zip([stages(read(files[0])), stages(read(other)).rename("id", "id2").rename("x", "x2")], until=until)


@pytest.mark.parametrize("stages", PAIRED)
@pytest.mark.parametrize("until", [None, "first"])
def test_a_row_that_is_bad_in_one_branch_of_a_zip_leaves_both(files: "tuple[str, str]", stages: str, until: Any) -> None:
    for record in (3, 70):
        spoil(files[0], record)
    pipe = PAIRED[stages](beside(files, until=until).on_corrupt("skip_row")).batch(8, pad=True)
    loader = pipe.load(threads=1)
    batches = list(loader)
    rows = [(a, b) for batch in batches for a, b in zip(batch["id"].tolist()[:batch.valid_rows], batch["id2"].tolist()[:batch.valid_rows])]
    assert all(b == a + 1000 for a, b in rows)
    assert not {3, 70}.intersection(a for a, _ in rows)
    assert set(range(90)) - {3, 70} == {a for a, _ in rows} or stages in ("filter", "function")
    assert loader.stats().skipped_records == 2
    for at in range(len(batches)):
        other = pipe.load(threads=4)
        other.load_state_dict(loader.state_dict(after=batches[at]))
        assert ids(other) == ids(batches[at + 1:])


@pytest.mark.parametrize("stages, words", [
    (lambda p: p.chunk(2, keys=["x"]), "put the windows, orders and combinations of the branches behind `zip`"),
    (lambda p: fb.concat([p, p]), "put the windows, orders and combinations of the branches behind `zip`"),
    (lambda p: p.map(lambda row: row, per="row"), "put `map` behind the `zip`"),
])
@pytest.mark.parametrize("policy", ["skip_row", "skip_record", "skip_file"])
def test_branches_of_a_zip_whose_rows_are_made_do_not_skip(files: "tuple[str, str]", stages: Any, words: str, policy: str) -> None:
    spoil(files[0], 3)
    with pytest.raises(fb.ConfigError, match="beside rows that they do not belong to") as caught:
        beside(files, stages, "first").on_corrupt(policy).batch(8, pad=True).load()
    assert words in str(caught.value)
    with pytest.raises(fb.DataError, match="record 3"):
        list(beside(files, stages, "first").batch(8, pad=True).load())


def test_what_is_skipped_before_a_function_is_counted(files: "tuple[str, str]") -> None:
    spoil(files[0], 3)
    loader = read(files[0]).on_corrupt("skip_record").map(lambda row: row, per="row").filter("id >= 0").batch(8).load()
    assert len(flat(loader)) == 89
    assert loader.stats().skipped_records == 1
    assert "record 3" in loader.stats().skipped[0]


def test_windows_of_segments_have_no_padding() -> None:
    x = fb.arrays({"x": fb.Ragged(np.arange(1, 11), np.array([0, 7, 10]))})
    cut = [row.tolist() for batch in x.unroll(4, keys=["x"]).chunk(3, keys=["x"]).batch(8).load() for row in batch["x"]]
    assert cut == [[1, 2, 3], [4], [5, 6, 7], [8, 9, 10]]
    padded = next(x.unroll(4, keys=["x"], pad=True).chunk(3, keys=["x"]).batch(8, pad=True).load())
    assert padded["x"].tolist() == [[1, 2, 3], [4, 0, 0], [5, 6, 7], [0, 0, 0], [8, 9, 10], [0, 0, 0]]
    wide = x.unroll(4, keys=["x"]).context(["x"], window=3).batch(8).load()
    assert next(wide)["x"].tolist() == [[0, 1, 2, 3, 4, 5], [4, 5, 6, 7, 0, 0], [0, 8, 9, 10, 0, 0]]


def test_a_tensor_may_have_the_name_of_a_stage() -> None:
    rows = fb.arrays({"unroll": fb.Ragged(np.arange(1, 6), np.array([0, 3, 5]))})
    other = fb.arrays({"unroll": fb.Ragged(np.arange(11, 15), np.array([0, 4]))}, name="other")
    pipe = fb.concat([rows, other.unroll(3, keys=["unroll"])]).chunk(2, keys=["unroll"]).batch(9)
    assert [row.tolist() for batch in pipe.load() for row in batch["unroll"]] == [[1, 2], [3], [4, 5], [11, 12], [13], [14]]


@pytest.mark.parametrize("wider", [lambda p: p.context(["x"], window=3), lambda p: p.stack(["x"], window=3),
                                   lambda p: p.context(["x"], window=3).stack(["x"], window=2)])
def test_windows_are_widened_in_the_branches_of_their_combination(files: "tuple[str, str]", wider: Any) -> None:
    def rows(pipe: fb.Pipeline) -> "list[Any]":
        return [batch["x"].tolist() for batch in pipe.filter("id % 3 != 0").batch(8, pad=True).load()]
    first, second = (read(file).chunk(2, keys=["x"]) for file in files)
    assert rows(wider(fb.concat([first, second]))) == rows(fb.concat([wider(first), wider(second)]))
    nested = wider(fb.concat([fb.concat([first]), second]))
    assert rows(nested) == rows(fb.concat([wider(first), wider(second)]))
    with pytest.raises(fb.ConfigError, match="/steps/0"):
        wider(fb.concat([first.shuffle(5), second])).batch(8, pad=True).load()


@pytest.mark.parametrize("until", ["first", "all", 37])
@pytest.mark.parametrize("boundary", ["straddle", "hard"])
def test_passes_that_go_on_restart_at_every_batch(files: "tuple[str, str]", until: Any, boundary: str) -> None:
    pipe = fb.mix([read(files[0]), read(files[1])], until=until, repeat=until != "first")
    pipe = pipe.filter("id % 5 != 0").shuffle(9).batch(16).epochs(3).epoch_boundary(boundary)
    whole = ids(pipe.load(threads=1))
    loader = pipe.load(threads=4)
    for at, batch in enumerate(loader):
        assert np.asarray(batch["id"]).tolist() == whole[at]
        other = pipe.load(threads=1)
        other.load_state_dict(loader.state_dict())
        assert ids(other) == whole[at + 1:]


def test_a_state_knows_the_files_and_the_stages_of_all_stretches(files: "tuple[str, str]") -> None:
    def pipe(modulus: int = 3) -> fb.Pipeline:
        return fb.concat([read(files[0]), read(files[1])]).filter(f"id % {modulus} != 0").chunk(2, keys=["x"]).batch(8)
    loader = pipe().load()
    next(loader)
    state = loader.state_dict()
    with pytest.raises(fb.StateError, match="steps/0"):
        pipe(4).load().load_state_dict(state)
    with open(files[1], "ab") as file:
        file.write(b"more")
    with pytest.raises(fb.StateError, match=r"b\.tfrecord"):
        pipe().load().load_state_dict(state)


def test_rows_by_number_are_held_within_the_budget_or_refused(files: "tuple[str, str]") -> None:
    shuffled = fb.concat([read(files[0]), read(files[1])]).shuffle("global").batch(8)
    rows = flat(shuffled.load())
    assert sorted(rows) == sorted([*range(90), *range(1000, 1070)]) and rows != sorted(rows)
    assert flat(shuffled.epochs(2).load())[160:] != rows
    large = [fb.arrays({"id": np.arange(300), "x": np.zeros((300, 2000))}, name=name) for name in "ab"]
    assert len(flat(fb.concat(large).shuffle("global").batch(8).load(memory="64MiB"))) == 600
    with pytest.raises(fb.DataError, match="hold .* bytes, but the memory budget is"):
        flat(fb.concat(large).shuffle("global").batch(8).load(memory="4MiB"))


def test_closing_ends_all_threads(files: "tuple[str, str]") -> None:
    before = threading.active_count()
    tasks = len(list(pathlib.Path("/proc/self/task").iterdir()))
    loader = fb.mix([read(files[0]), read(files[1])], until="all", repeat=True).filter("id >= 0").chunk(1, keys=["x"]).batch(4).epochs(None).load(threads=3)
    for _ in range(5):
        next(loader)
    since = time.monotonic()
    loader.close()
    assert time.monotonic() - since < 20
    assert threading.active_count() == before
    assert len(list(pathlib.Path("/proc/self/task").iterdir())) <= tasks


def test_the_plan_says_where_rows_are_made(files: "tuple[str, str]") -> None:
    text = str(fb.concat([read(files[0]), read(files[1])]).seed(7).filter("id >= 0").batch(4).plan())
    assert "made      rows, in their order, for the stages below" in text
    assert "seed 7" in text


@pytest.mark.parametrize("wrong, message", [
    (lambda pipe: pipe.filter("nosuch > 0").batch(4), "there is no tensor 'nosuch'"),
    (lambda pipe: pipe.filter("id > 0").chunk(0, keys=["x"]).batch(4), "/steps/1/chunk/size"),
    (lambda pipe: pipe.filter("id > 0").batch(4).chunk(2, keys=["x"]), "must come before 'batch'"),
])
def test_faults_name_their_step(files: "tuple[str, str]", wrong: Any, message: str) -> None:
    with pytest.raises(fb.ConfigError, match=message):
        wrong(fb.concat([read(files[0]), read(files[1])])).load()


def test_rows_that_belong_together_are_not_moved_apart(files: "tuple[str, str]") -> None:
    left, right = read(files[0]), read(files[0]).rename("id", "id2").rename("x", "x2")
    cut = [left.shuffle(5).chunk(2, keys=["x"]), right.chunk(2, keys=["x2"])]
    with pytest.raises(fb.ConfigError, match="same orders"):
        fb.zip(cut).batch(4).plan()
    both = fb.zip([left.chunk(2, keys=["x"]), right.chunk(2, keys=["x2"])]).batch(4)
    assert all(np.array_equal(batch["id"], batch["id2"]) for batch in both.load())


def test_combinations_nest_and_have_their_own_draws(files: "tuple[str, str]") -> None:
    def mixed() -> fb.Pipeline:
        return fb.mix([read(files[0]), read(files[1])], until="all")
    nested = fb.concat([mixed(), mixed()]).batch(10)
    rows = flat(nested.load())
    assert sorted(rows[:160]) == sorted(rows[160:]) and rows[:160] != rows[160:]


# Functions of the program before the batch.

def tenfold(row: "dict[str, Any]") -> "dict[str, Any]":
    return {"id": row["id"] * 10, "x": np.concatenate([row["x"], [99]])}


@pytest.mark.parametrize("workers, inside", [(0, "threads"), (2, "threads"), (2, "processes")])
def test_stages_look_at_what_a_function_made(files: "tuple[str, str]", workers: int, inside: Any) -> None:
    pipe = read(files[0]).map(tenfold, per="row", workers=workers, inside=inside).filter("length(x) > 3").batch(8)
    assert flat(pipe.load()) == [i * 10 for i in range(90) if i % 5 + 2 > 3]


def test_a_function_before_the_batch_draws_what_it_draws_behind_it(files: "tuple[str, str]") -> None:
    def noisy(row: "dict[str, Any]", rng: Any) -> "dict[str, Any]":
        return {"id": row["id"], "noise": rng.random()}
    before = read(files[0]).shuffle(20).map(noisy, per="row").batch(8).epochs(2).load()
    behind = read(files[0]).shuffle(20).batch(8).map(noisy, per="row").epochs(2).load()
    rows = [[(int(i), float(n)) for batch in loader for i, n in zip(batch["id"], batch["noise"])] for loader in (before, behind)]
    assert rows[0] == rows[1] and len(set(rows[0])) == 180


def test_functions_before_the_batch_restart_at_every_batch(files: "tuple[str, str]") -> None:
    pipe = fb.mix([read(files[0]).map(tenfold, per="row"), read(files[1])], until="all").shuffle(9).batch(16).epochs(2)
    whole = ids(pipe.load())
    loader = pipe.load()
    for at, _ in enumerate(loader):
        other = pipe.load(threads=1)
        other.load_state_dict(loader.state_dict())
        assert ids(other) == whole[at + 1:]


def test_what_a_function_raises_comes_after_the_rows_before_it(files: "tuple[str, str]") -> None:
    failure = ValueError("row 70 is bad")

    def picky(row: "dict[str, Any]") -> "dict[str, Any]":
        if row["id"] == 70:
            raise failure
        return {"id": row["id"]}
    got: "list[int]" = []
    with pytest.raises(ValueError) as caught:
        for batch in read(files[0]).map(picky, per="row", output={"id": fb.fixed("int64", [])}).filter("id >= 0").batch(4).load():
            got += np.asarray(batch["id"]).tolist()
    assert caught.value is failure
    assert got == list(range(64))   # those of the batches of 64 rows that functions get


def test_columns_are_those_of_the_first_rows_or_stated(files: "tuple[str, str]") -> None:
    def growing(row: "dict[str, Any]") -> "dict[str, Any]":
        return {"y": np.zeros((2 if row["id"] < 50 else 3, 4), "float32")}
    loader = read(files[0]).map(growing, per="row").batch(8).load()
    with pytest.raises(ValueError, match="output"):
        list(loader)
    with pytest.raises(fb.ConfigError, match=r"'y' with rows of float64 of shape \[2, 1\] and \[2, 2\]; say output= in map"):
        read(files[0]).map(lambda row: {"y": np.zeros((2, 1 + row["id"]))}, per="row").batch(8).load()
    stated = read(files[0]).map(growing, per="row", output={"y": fb.fixed_len_sequence("float32", [4], as_="ragged")}).batch(90)
    assert [len(row) for batch in stated.load() for row in batch["y"]] == [2] * 50 + [3] * 40


def test_rows_that_are_given_once_are_asked_for_once() -> None:
    def rows() -> "Iterator[dict[str, Any]]":
        for i in range(10):
            yield {"id": i}
    pipe = fb.python(rows(), {"id": fb.fixed("int64", [])}).map(lambda row: {"id": row["id"] + 1}, per="row").filter("id % 2 == 0").batch(3)
    assert "feed" in str(pipe.plan())
    assert flat(pipe.load()) == [2, 4, 6, 8, 10]


def test_items_of_a_sequence_are_looked_at_by_stages() -> None:
    items = [{"id": np.int64(i), "x": np.arange(i % 4 + 1)} for i in range(20)]
    pipe = fb.python(items, output=RAGGED)
    assert flat(pipe.filter("id % 3 == 0").batch(4).load()) == [i for i in range(20) if i % 3 == 0]
    ordered = pipe.shuffle("global").filter("length(x) > 1")
    assert sorted(flat(ordered.batch(4).load())) == [i for i in range(20) if i % 4]
    joined = fb.concat([pipe, pipe.filter("id < 2")]).batch(4)
    assert flat(joined.load()) == [*range(20), 0, 1]


def test_a_function_of_batches_has_no_stage_for_rows_behind_it(files: "tuple[str, str]") -> None:
    with pytest.raises(fb.ConfigError, match='per="row"'):
        read(files[0]).batch(4).map(lambda batch: batch).filter("id > 0")
    shuffled = read(files[0]).batch(4).map(lambda batch: {"id": batch["id"] + 1}).shuffle_batches(3)
    assert sorted(flat(shuffled.load())) == list(range(1, 91))


def test_the_budget_and_the_threads_are_shared(files: "tuple[str, str]") -> None:
    pipe = fb.concat([read(files[0]).map(tenfold, per="row"), read(files[1]).map(tenfold, per="row")]).filter("id > 0").batch(8)
    loader = pipe.load(memory="30MiB", threads=2)
    assert len(flat(loader)) == 159
    assert loader.stats().memory_limit == 10 << 20
    with pytest.raises(fb.ConfigError, match="memory"):
        pipe.load(memory="30 rows")
