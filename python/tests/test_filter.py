# SPDX-License-Identifier: Apache-2.0
"""The order `filter`: whole streams against plain Python, restarts, shards, corrupt records, faults, and filters that keep nothing."""
from __future__ import annotations

import itertools
import pathlib
import threading
import time
from typing import Callable

import numpy as np
import pytest
from streams import SIZES, digests, examples, resumed, rows_of, write_parts
from test_interrupts import delay_of_interrupt

import forebay as fb

RECORDS = sum(SIZES)
CONDITIONS: dict[str, Callable[[int], bool]] = {
    "id >= 100": lambda i: i >= 100,
    "length(tokens) >= 2 and not startswith(name, 'nnnn')": lambda i: i % 4 >= 2 and i % 5 < 4,
    "id in [3, 200, 305] or id // 7 % 3 == 1": lambda i: i in (3, 200, 305) or i // 7 % 3 == 1,
    "length(name) * 2 == length(tokens) + 1": lambda i: i % 5 * 2 == i % 4 + 1,
    "true": lambda i: True, "id < 0": lambda i: False}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path / "cache"))


def ids(loader) -> list[int]:
    return [int(i) for batch in loader for i in batch["id"]]


def kept(order, where: str) -> list[int]:
    return [i for i in order if CONDITIONS[where](i)]


# ---------------------------------------------------------------- whole streams

@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("where", CONDITIONS)
def test_the_rows_are_those_of_plain_python(parts, where, threads):
    wanted = kept(range(RECORDS), where)
    for size in (1, 7, 400):
        batches = [b["id"].tolist() for b in examples(parts).filter(where).batch(size).load(threads=threads)]
        assert batches == [wanted[i:i + size] for i in range(0, len(wanted), size)]
    for batch in examples(parts).filter(where).batch(9).load(threads=threads):
        assert batch["x"].tolist() == [[i / 2, i / 4] for i in batch["id"].tolist()]
        assert batch["tokens"].to_list() == [[i] * (i % 4) for i in batch["id"].tolist()]


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("where", CONDITIONS)
def test_after_an_order_it_keeps_the_order(parts, where, threads):
    for before in (lambda p: p.interleave(3, block=2), lambda p: p.shuffle(40), lambda p: p.shuffle(global_=True),
                   lambda p: p.interleave(2).shuffle(20).repeat(2), lambda p: p.skip(50).take(200)):
        order = ids(before(examples(parts)).batch(11).epochs(2).seed(3).load(threads=2))
        pipe = before(examples(parts)).filter(where).batch(11).epochs(2).seed(3)
        assert ids(pipe.load(threads=threads)) == kept(order, where)


@pytest.mark.parametrize("threads", [1, 8])
def test_a_shuffle_after_it_sees_only_what_is_left(tmp_path, parts, threads):
    where = "id in [3, 200, 305] or id // 7 % 3 == 1"
    some = [pathlib.Path(p) for p in write_parts(tmp_path, [1], [None])]
    fb.write_records(some[0], [record for part in parts for i, record in enumerate(fb.read_records(part))
                               if CONDITIONS[where](fb.decode_example(record)["id"][0])])
    wanted = ids(examples([str(some[0])]).filter("true").shuffle(25).take(60).batch(8).epochs(3).load())
    got = ids(examples(parts).filter(where).shuffle(25).take(60).batch(8).epochs(3).load(threads=threads))
    assert got == wanted and len(got) == 180


def test_it_sees_the_tensors_at_its_place(parts):
    pipe = (examples(parts).rename("tokens", to="words").slice("x", "[0]").cast("x", "int64")
            .filter("x % 2 == 1 and length(words) > 1").slice("words", "[:1]").select(["id", "x", "words"]).batch(5))
    assert ids(pipe.load(threads=2)) == [i for i in range(RECORDS) if i // 2 % 2 == 1 and i % 4 > 1]
    with pytest.raises(fb.ConfigError, match="'tokens': there is no tensor 'tokens'"):
        examples(parts).rename("tokens", to="words").filter("length(tokens) > 1").batch(5).plan()
    later = examples(parts).filter("length(tokens) > 1").select(["id"]).batch(5)  # the ticket decodes `id` only
    assert ids(later.load()) == [i for i in range(RECORDS) if i % 4 > 1]


def test_two_filters_are_one_with_and(parts):
    pipe = examples(parts).filter("id % 2 == 0").shuffle(30).filter("length(tokens) > 0").batch(6)
    both = examples(parts).filter("id % 2 == 0").shuffle(30).batch(6)
    assert ids(pipe.load(threads=2)) == [i for i in ids(both.load()) if i % 4 > 0]


def test_the_plan_shows_the_early_work_and_knows_no_length(parts):
    plan = examples(parts).filter("length(tokens) > 3").batch(5).plan()
    assert "early     decode tokens int32 [?]\nearly     filter length(tokens) > 3\n" in str(plan)
    assert "early" not in str(examples(parts).batch(5).plan())
    with pytest.raises(TypeError, match=r"plan\.count\(\)"):
        len(examples(parts).filter("length(tokens) > 3").batch(5).load())


def test_progress_counts_the_records_that_the_filter_has_judged(parts):
    loader = examples(parts).shuffle(global_=True).repeat(2).filter("id % 3 == 0").batch(10).epochs(2).load()
    seen = [loader.complete_frac for _ in loader]
    assert seen == pytest.approx([(i + 1) / len(seen) for i in range(len(seen))], abs=0.1)
    loader = examples(parts).interleave(5).filter("id % 3 == 0").batch(10).load()
    seen = [loader.complete_frac for _ in loader]
    assert seen == sorted(seen) and seen[-1] == 1


# ---------------------------------------------------------------- restarts and shards

ORDERS = {"file order": lambda p: p.filter("length(tokens) > 1"),
          "before a shuffle": lambda p: p.interleave(3).filter("id % 3 != 1").shuffle(40),
          "after a shuffle": lambda p: p.shuffle(40).filter("id % 3 != 1"),
          "after a global shuffle": lambda p: p.shuffle(global_=True).filter("length(tokens) > 1")}


@pytest.mark.parametrize("order", ORDERS)
def test_a_restart_at_every_batch_is_exact(parts, order):
    for indexed in (False, True):
        pipe = ORDERS[order](examples(parts)).batch(13, remainder="drop").epochs(2).seed(1)
        loader = pipe.load(threads=2)
        states, seen = [loader.state_dict()], []
        for batch in loader:
            seen.append(digests([batch])[0])
            states.append(loader.state_dict())
        assert len(seen) > 10
        for number, state in enumerate(states):
            assert digests(resumed(pipe, state, threads=1 + number % 3)) == seen[number:]
        if not indexed:
            fb.index_files(parts)  # a restart then names skipped records by the index, where it can


@pytest.mark.parametrize("order", ORDERS)
def test_row_shards_together_have_the_rows_of_the_whole(parts, order):
    pipe = ORDERS[order](examples(parts)).batch(12, remainder="drop").epochs(2)
    whole = [rows_of(batch) for batch in pipe.load()]
    for ranks in (2, 3):
        shards = [[rows_of(b) for b in pipe.load(shard=(rank, ranks), threads=1 + rank)] for rank in range(ranks)]
        assert [sum(pieces, []) for pieces in zip(*shards, strict=True)] == whole


def test_shards_by_file_have_as_many_batches_where_the_attributes_do_not_tell_how_many_are_kept(parts):
    pipe = examples(parts).take(100).filter("id > 3").batch(12, remainder="drop")
    batches = [[batch["id"].tolist() for batch in pipe.load(shard={"index": rank, "count": 2, "by": "file"})] for rank in range(2)]
    assert len(batches[0]) == len(batches[1]) > 0
    document = {**pipe.to_dict(), "shard": {"index": 1, "count": 2, "by": "file"}}
    assert [batch["id"].tolist() for batch in type(pipe)(document).load()] == batches[1]


# ---------------------------------------------------------------- corrupt and malformed records

def spoil(path: str, record: int, sizes: list[int]) -> None:
    """Flips a bit in the payload of one record."""
    data = bytearray(pathlib.Path(path).read_bytes())
    data[sum(16 + size for size in sizes[:record]) + 12 + sizes[record] // 2] ^= 4
    pathlib.Path(path).write_bytes(data)


@pytest.fixture
def spoiled(tmp_path) -> list[str]:
    """Four files of 50 records; in the second one, record 20 has a wrong checksum and record 30 no id."""
    paths = write_parts(tmp_path, [50] * 4, [None, None, "gzip", None])
    records = fb.read_records(paths[1])
    records[30] = fb.encode_example({"x": [1.0, 2.0], "name": b"", "tokens": np.zeros(2, np.int64)})
    fb.write_records(paths[1], records)
    spoil(paths[1], 20, [len(r) for r in records])
    return paths


def until_error(loader) -> tuple[list[int], str]:
    out: list[int] = []
    try:
        for batch in loader:
            out += batch["id"].tolist()
    except fb.Error as error:
        return out, str(error)
    return out, ""


@pytest.mark.parametrize("threads", [1, 8])
def test_fail_delivers_the_records_before_and_tells_the_same_fault_as_a_ticket(spoiled, threads):
    plain, fault = until_error(examples(spoiled).batch(1).load(threads=threads))
    assert plain == [*range(70)] and "record 20, byte" in fault and "payload checksum" in fault
    for where in ("id >= 0", "length(tokens) < 10"):
        assert until_error(examples(spoiled).filter(where).batch(1).load(threads=threads)) == (plain, fault)
    records = fb.read_records(spoiled[0])
    records[20] = fb.encode_example({"x": [1.0, 2.0]})  # malformed: it has no id
    fb.write_records(spoiled[1], records)
    plain, fault = until_error(examples(spoiled).batch(1).load(threads=threads))
    assert "record 20, byte" in fault and "feature 'id'" in fault
    assert until_error(examples(spoiled).filter("id >= 0").batch(1).load(threads=threads)) == (plain, fault)


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("order", [lambda p: p, lambda p: p.interleave(3), lambda p: p.shuffle(global_=True)])
def test_skip_policies_decide_before_the_filter(spoiled, order, threads):
    where, condition = "length(tokens) > 1 and id != 71", lambda i: i % 4 > 1 and i != 71
    for policy, bad in (("skip_record", {70, 80}), ("skip_file", set(range(70, 100)))):
        good = [i for i in range(200) if i not in bad]
        pipe = order(examples(spoiled)).filter(where).batch(6).on_corrupt(policy)
        loader = pipe.load(threads=threads)
        assert sorted(ids(loader)) == [i for i in good if condition(i)]
        stats = loader.stats()
        assert (stats.skipped_records, stats.skipped_files) == ((2, 0) if policy == "skip_record" else (0, 1))


def test_a_record_without_a_value_is_a_fault_with_both_places_or_is_skipped(parts):
    pipe = examples(parts).filter("100 // (id - 63) < 50").batch(1)
    seen, fault = until_error(pipe.load(threads=2))
    assert seen == [*range(63)]
    assert "part-2.tfrecord, record 3, byte" in fault and "filter: character 5, '//': the divisor is zero" in fault
    assert ids(pipe.on_corrupt("skip_record").load()) == [i for i in range(RECORDS) if i not in (63, 64, 65)]


# ---------------------------------------------------------------- filters that keep nothing

@pytest.mark.parametrize("order", [lambda p: p.filter("id < 0"), lambda p: p.shuffle(9).filter("id < 0").shuffle(9),
                                   lambda p: p.shuffle(global_=True).filter("id < 0")])
def test_a_filter_that_keeps_nothing_gives_an_empty_run_or_an_error_if_it_is_endless(parts, order):
    pipe = order(examples(parts)).batch(4)
    assert ids(pipe.epochs(40).load(threads=2)) == []
    never = "16 passes one after the other had no record for which 'id < 0' holds"
    for endless in (pipe.epochs(None), order(examples(parts)).repeat().batch(4),
                    type(pipe)({**pipe.epochs(None).to_dict(), "epoch_boundary": "hard"})):
        loader = endless.load(threads=2)
        for _ in range(2):
            with pytest.raises(fb.DataError, match=never):
                next(loader)


def test_a_filter_that_keeps_less_than_a_batch_is_an_error_of_an_endless_run(parts):
    pipe = examples(parts).filter("id == 3").batch(4, remainder="drop").epochs(None)
    assert next(pipe.load())["id"].tolist() == [3] * 4  # of four epochs
    with pytest.raises(fb.DataError, match="fewer records than a batch"):
        next(type(pipe)({**pipe.to_dict(), "epoch_boundary": "hard"}).load())


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> str:
    """400,000 records, 20 MB."""
    path = tmp_path_factory.mktemp("large") / "large.tfrecord"
    fb.write_records(path, [fb.encode_example({"id": i, "tokens": [1] * 10}) for i in range(4000)])
    path.write_bytes(path.read_bytes() * 100)
    return str(path)


def idle(path: str, order) -> fb.Pipeline:
    pipe = fb.tfrecord([path]).example({"id": fb.fixed("int64"), "tokens": fb.var_len("int64")})
    return order(pipe).filter("length(tokens) < 10 or id < 0").batch(4).epochs(5000)


@pytest.mark.own_process
@pytest.mark.parametrize("order", [lambda p: p, lambda p: p.shuffle(global_=True)])
@pytest.mark.parametrize("threads", [1, 4])
def test_ctrl_c_and_close_end_a_filter_that_keeps_nothing(large, order, threads):
    assert delay_of_interrupt(lambda: next(idle(large, order).load(threads=threads)), 0.3) < 2
    loader = idle(large, order).load(threads=threads)
    closer = threading.Timer(0.3, loader.close)
    closer.start()
    with pytest.raises((fb.Cancelled, StopIteration)):
        next(loader)
    begun = time.process_time()
    closer.join()
    loader.close()
    assert time.process_time() - begun < 2


# ---------------------------------------------------------------- faults of the document

def test_faults_of_the_expression_have_both_places(parts, tmp_path):
    path = tmp_path / "job.json"
    text = ('{"source": {"tfrecord": {"files": ["%s"]}},\n "decode": {"example": {"features": {"label": {"dtype": "int64", '
            '"shape": []}}}},\n "steps": [{"filter": {"where": "%s"}}, {"batch": {"size": 4}}]}')
    for where, fault in {
            "lable >= 0": r"character 1, 'lable': there is no tensor 'lable'; did you mean 'label'\? defined here: label$",
            "label >= ": r"character 10 \(the end\): a tensor, a number, a string or a '\(' is wanted here$",
            "label + 1": "the expression is an integer, but a condition, such as label >= 0, is wanted$",
            "label == 'a'": "character 7, '==': an integer and a string cannot be compared$"}.items():
        path.write_text(text % (parts[0], where))
        with pytest.raises(fb.ConfigError, match=r"job.json:3:33, /steps/0/filter/where: " + fault):
            fb.load(path)
    with pytest.raises(fb.ConfigError, match="^/steps/1/laplace: 'laplace' looks into records and must come after "
                                             "'interleave', which opens the files$"):
        examples(parts).shuffle(3).laplace(5, "id").interleave(2).batch(3).plan()
    with pytest.raises(fb.ConfigError, match="^/steps/1/filter: 'filter' orders records and must come before 'batch'"):
        examples(parts).batch(3).filter("id > 3").plan()


def test_a_tensor_with_a_fault_gives_no_second_fault(parts):
    with pytest.raises(fb.ConfigError) as caught:
        examples(parts).slice("x", "[9]").filter("x > 3 and id > 2").batch(3).plan()
    assert "/steps/0/slice" in str(caught.value) and "filter" not in str(caught.value)


def test_every_combination_gives_the_same_stream_for_all_threads(parts):
    for shuffled, where in itertools.product(("shuffle", "interleave"), ("id % 5 > 1", "length(name) > 2")):
        pipe = getattr(examples(parts), shuffled)(4).filter(where).shuffle(30).batch(10).epochs(2)
        streams = [digests(pipe.load(threads=threads, prefetch=ahead)) for threads, ahead in ((1, 1), (2, 4), (8, 2))]
        assert streams[0] == streams[1] == streams[2] and len(streams[0]) > 10
