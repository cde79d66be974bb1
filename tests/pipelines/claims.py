# SPDX-License-Identifier: Apache-2.0
"""What must hold of every pipeline that a plan accepts."""
from __future__ import annotations

import collections
import hashlib
import itertools
import pathlib
import random
import re
import shutil
from typing import Any, Iterator, NamedTuple, Optional

import numpy as np
import data
from pipelines import Case, case

import forebay as fb

MOST = 40     # batches of a run that are compared


class Refused(Exception):
    """The plan refuses the pipeline, with a reason."""


class Stream(NamedTuple):
    batches: "list[Any]"
    end: str                  # the error that it ends with, or ""

    def rest(self, done: int) -> "tuple[list[str], str]":
        return [digest(batch) for batch in self.batches[done:]], self.end


def arrays_of(batch: Any) -> "Iterator[tuple[str, Any]]":
    for name, value in sorted(batch.items()):
        if isinstance(value, fb.Ragged):
            for level, array in enumerate([value.values, *value.nested_row_splits]):
                yield f"{name}/{level}", np.asarray(array)
        elif hasattr(value, "dtype"):
            yield name, value
        elif value is not None:
            yield name, np.frombuffer(repr(value).encode(), "uint8")


def digest(batch: Any) -> str:
    """Of every byte of every tensor, of lengths, and of the place of every row."""
    place = [batch.number, batch.epoch, batch.rows, batch.valid_rows]
    sums = hashlib.blake2b(repr((place, batch.record_keys)).encode(), digest_size=12)
    for name, array in itertools.chain(arrays_of(batch), ((f"length {name}", value) for name, value in sorted(batch.lengths.items()))):
        sums.update(f"{name} {array.dtype} {array.shape}".encode())
        sums.update(repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes())
    return sums.hexdigest()


def run(loader: Any) -> Stream:
    batches: "list[Any]" = []
    try:
        batches += itertools.islice(loader, MOST)
    except fb.DataError as error:
        return Stream(batches, str(error))
    except fb.ConfigError as error:   # of a function's stage, which begins with the first batch
        if batches:
            raise
        raise Refused(str(error)) from error
    return Stream(batches, "")


def make(code: str) -> Any:
    """The pipeline, planned. What Python refuses is refused by the plan of a document."""
    try:
        pipe = eval(code, {"fb": fb, "data": data})
        pipe.plan()
    except (fb.ConfigError, fb.DataError) as error:   # a function before the batch is given the first rows, to know its columns
        assert len(str(error)) > 30, f"the plan says only {error}"
        raise Refused(str(error)) from error
    return pipe


def load(pipe: Any, **options: Any) -> Any:
    """Runs of several threads keep parts of files of other machines on the disk, which has room for some of them."""
    cache = ("kept", 8 << 16) if options.get("threads", 1) > 1 else None
    try:
        return pipe.load(cache=cache, **options)
    except (fb.ConfigError, fb.DataError) as error:
        assert len(str(error)) > 30, f"the plan says only {error}"
        raise Refused(str(error)) from error


def resumed(pipe: Any, state: Any, **options: Any) -> Stream:
    with load(pipe, **options) as loader:
        loader.load_state_dict(state)
        return run(loader)


def same(found: "tuple[list[str], str]", wanted: "tuple[list[str], str]", what: str) -> None:
    assert found[1] == wanted[1], f"{what}: ends with {found[1] or 'no error'!r}, not with {wanted[1] or 'no error'!r}"
    if found[0] != wanted[0]:
        at = next((i for i, (a, b) in enumerate(zip(found[0], wanted[0])) if a != b), min(len(found[0]), len(wanted[0])))
        raise AssertionError(f"{what}: {len(found[0])} and {len(wanted[0])} batches, the first other one is {at}")


def check_threads(pipe: Any, whole: Stream) -> None:
    with load(pipe, threads=4) as loader:
        same(run(loader).rest(0), whole.rest(0), "4 threads")


def check_restarts(pipe: Any, whole: Stream, rng: random.Random) -> None:
    """States of one run, resumed with other numbers of threads; and a chain, which is saved and resumed again and again."""
    places = sorted(rng.sample(range(len(whole.batches) + 1), min(3, len(whole.batches) + 1)))
    states = {}
    with load(pipe, threads=rng.choice([1, 4])) as loader:
        for done in range(max(places) + 1):
            states[done] = loader.state_dict()
            if done < max(places):
                next(loader)
    long = len(whole.batches) == MOST            # what comes behind these batches was not read
    for done in places:
        rest = resumed(pipe, states[done], threads=rng.choice([1, 2, 4]))
        found = (rest.rest(0)[0][:MOST - done], "") if long else rest.rest(0)
        same(found, whole.rest(done) if not long else (whole.rest(done)[0], ""), f"a restart after batch {done}")
    state, done = states[places[0]], places[0]
    for _ in range(3):
        step = rng.randint(0, 2)
        with load(pipe, threads=rng.choice([1, 3])) as loader:
            loader.load_state_dict(state)
            found = [digest(batch) for batch in itertools.islice(loader, min(step, len(whole.batches) - done))]
            same((found, ""), (whole.rest(done)[0][:len(found)], ""), f"a chain at batch {done}")
            state, done = loader.state_dict(), done + len(found)


def with_other_weights(code: str) -> Optional[str]:
    """The pipeline with other weights of its outermost mixture, or another end of its passes; None: it has none."""
    if not code.startswith("fb.mix(["):
        return None
    depth, end = 0, len("fb.mix")
    for end in range(end, len(code)):
        depth += (code[end] in "([") - (code[end] in ")]")
        if depth == 1 and code[end] == "]":
            break
    options = code[end + 1:]
    for old, new in ((", weights=[2, 1],", ", weights=[1, 7],"), (", weights=[(0, [2, 1]), (1, [1, 3])],", ", weights=[(0, [1, 7]), (2, [3, 1])],"),
                     (", weights=[(0, [2, 1]), (1, [1, 0])],", ", weights=[(0, [0, 1]), (2, [3, 1])],")):
        if options.startswith(old):
            return code[:end + 1] + new + options[len(old):]
    until = re.match(r", until=(\d+), repeat=True", options)
    return f"{code[:end + 1]}, weights=[3, 1], until={int(until[1]) + 5}, repeat=True{options[until.end():]}" if until else None


def check_changed(pipe: Any, whole: Stream, drawn: Case, epochs: int, rng: random.Random) -> None:
    """A run that goes on with other weights is the same for any number of threads and restarts, and has the same rows."""
    code = with_other_weights(drawn.code)
    if code is None or whole.end or len(whole.batches) == MOST:
        return
    done = rng.randint(0, len(whole.batches))
    with load(pipe, threads=rng.choice([1, 4])) as loader:
        before = list(itertools.islice(loader, done)) if done else []
        state = loader.state_dict()
    other = make(code)

    def accepting(threads: int) -> Stream:
        with load(other, threads=threads) as loader:
            loader.load_state_dict(state, accept=["weights", "until"])
            return run(loader)

    try:
        changed = accepting(1)
    except fb.StateError as error:   # a function makes the rows of the mixture: a run of its own
        assert ".map(" in code and "what differs: source" in str(error), str(error)
        return
    same(accepting(4).rest(0), changed.rest(0), f"other weights from batch {done} on, 4 threads")
    if len(changed.batches) == MOST:         # what comes behind these batches was not read
        return
    check_rows(Stream(before + changed.batches, changed.end), drawn, epochs)
    with load(other, threads=2) as loader:
        loader.load_state_dict(state, accept=["weights", "until"])
        more = rng.randint(0, len(changed.batches))
        found = [digest(batch) for batch in itertools.islice(loader, more)] if more else []
        same((found, ""), (changed.rest(0)[0][:more], ""), "other weights, again")
        later = loader.state_dict()
        if not changed.end and len(before) + len(changed.batches) < MOST:
            loader.begin_anew()
            same(run(loader).rest(0), ([digest(batch) for batch in before] + changed.rest(0)[0], ""), "the changed run from its beginning")
    same(resumed(other, later, threads=3).rest(0), changed.rest(more), f"a restart {more} batches after other weights from batch {done} on")


def check_seek(pipe: Any, whole: Stream, rng: random.Random) -> None:
    """From any place to the batch with any number, forwards and back."""
    if whole.end or not whole.batches:      # budgets of bad rows count anew from the place of a seek
        return
    with load(pipe, threads=rng.choice([1, 4])) as loader:
        run_up = rng.randint(0, min(3, len(whole.batches)))
        for _ in range(run_up):
            next(loader)
        for _ in range(2):
            done = rng.randint(0, len(whole.batches) - 1)
            try:
                loader.seek(whole.batches[done].number)
            except fb.StateError:           # timing or the program decides: told by the tests of `seek`
                return
            found = [digest(batch) for batch in itertools.islice(loader, min(rng.randint(1, MOST), len(whole.batches) - done))]
            same((found, ""), (whole.rest(done)[0][:len(found)], ""), f"a seek to batch {whole.batches[done].number}")


def check_length(pipe: Any, whole: Stream) -> None:
    """What is told of the number of batches is so."""
    if whole.end or len(whole.batches) == MOST:
        return
    with load(pipe, threads=2) as loader:
        try:
            told = len(loader)
        except TypeError:       # it is not known without decoding
            return
        assert told == len(whole.batches), f"{told} batches are told, and {len(whole.batches)} come"


def rows_of(batches: "list[Any]") -> "list[Any]":
    """Of each row that is not empty its key, or the origins of its spans, and its `id`."""
    rows = []
    for batch in batches:
        keys = batch.record_keys
        if batch.spans is not None:   # a row has a key for each of them
            keys = [[span.origin for span in spans] for spans in batch.spans]
        ids = np.asarray(batch["id"]).reshape(-1).tolist() if "id" in batch else [None] * batch.rows
        rows += [(key, i) for key, i in zip(keys, ids) if key]
    return rows


def named(row: "tuple[Any, Any]") -> str:
    """Rows that are made are numbered anew in each shard by file: they are told by their `id`."""
    return str(row[1] if "rows of '" in str(row[0]) else row)


def check_shards(pipe: Any, whole: Stream, drawn: Case, rng: random.Random) -> None:
    """Each shard is the same for any number of threads and restarts; together they are the run, where that is so."""
    by, count = rng.choice(["row", "batch", "element", "file"]), rng.choice([2, 3])
    shares = []
    for index in range(count):
        shard = {"index": index, "count": count, "by": by}
        with load(pipe, threads=1, shard=shard) as loader:
            share = run(loader)
        with load(pipe, threads=4, shard=shard) as loader:
            same(run(loader).rest(0), share.rest(0), f"shard {shard} with 4 threads")
        shares.append(share)
        done = rng.randint(0, len(share.batches))
        if len(share.batches) < MOST:
            with load(pipe, threads=2, shard=shard) as loader:
                for _ in range(done):
                    next(loader)
                state = loader.state_dict()
            same(resumed(pipe, state, threads=1, shard=shard).rest(0), share.rest(done), f"shard {shard} after batch {done}")
    if whole.end or any(share.end for share in shares) or len(whole.batches) == MOST or not drawn.shards:
        return
    if by == "batch":
        dealt = [batch for row in itertools.zip_longest(*[share.batches for share in shares]) for batch in row if batch is not None]
        assert rows_of(dealt) == rows_of(whole.batches), f"{count} shards by batch are other rows"
    elif by == "row":
        for number, batch in enumerate(whole.batches):
            found = rows_of([share.batches[number] for share in shares])
            wanted = rows_of([batch])
            assert found[:len(wanted)] == wanted or sorted(map(str, found)) == sorted(map(str, wanted)), \
                f"{count} shards by row have other rows in batch {number}"
    elif drawn.whole and "shuffle_batches" not in drawn.code:
        found, wanted = (collections.Counter(map(named, rows_of(batches))) for batches in (sum((s.batches for s in shares), []), whole.batches))
        assert not found - wanted, f"{count} shards by {by} have rows that the run has not, or has less often: {found - wanted}"
        if by == "element" and any(batcher in drawn.code for batcher in (".token_budget(", ".buckets(", ".packed(")):
            assert not wanted - found, f"{count} shards by element lack rows: {wanted - found}"


def check_rows(whole: Stream, drawn: Case, epochs: int) -> None:
    """The rows are those of the sources, and what is in a row belongs together."""
    for batch in whole.batches:
        for name in drawn.paired:
            if name not in batch or "id" not in batch:
                continue
            ids = np.asarray(batch["id"]).reshape(-1)
            for row, values in enumerate(batch[name][i] for i in range(batch.valid_rows)):
                flat = np.asarray(values).reshape(-1)
                wrong = flat[(flat != 0) & ((flat - 1) // 100 != ids[row])]
                assert not wrong.size, f"batch {batch.number}, row {row}: id {ids[row]} stands beside {wrong.tolist()}"
        if "id" in batch and "id2" in batch:
            a, b = (np.asarray(batch[name]).reshape(-1)[:batch.valid_rows].tolist() for name in ("id", "id2"))
            assert a == b, f"batch {batch.number}: rows of two branches are {a} and {b}"
    if drawn.whole and not whole.end and len(whole.batches) < MOST and whole.batches and "id" in whole.batches[0]:
        found = collections.Counter(i for _, i in rows_of(whole.batches))
        sets = [rows for name, rows in data.ROWS.items() if f'("{name}"' in drawn.code]
        wanted = collections.Counter({row: epochs for rows in sets for row in rows})
        assert found == wanted, f"rows that lack or are too many: {wanted - found} and {found - wanted}"


def copied(clean: pathlib.Path, folder: str) -> None:
    """The data in a folder of its own. No links: making one changes the times of a file, which a run would notice."""
    shutil.copytree(clean, folder, copy_function=shutil.copyfile, dirs_exist_ok=True)


def check_other_runs(drawn: Case, seed: int, whole: Stream, clean: pathlib.Path, rng: random.Random) -> None:
    """What another pipeline over the same files leaves behind changes nothing."""
    for other in (case(seed + 1_000_000_007 * i) for i in range(1, 40)):
        if set(other.sources) & set(drawn.sources):
            break
    else:
        return
    shutil.rmtree(".", ignore_errors=True)
    copied(clean, ".")
    try:
        run(load(make(other.code), threads=2))
    except Refused:
        return
    same(run(load(make(drawn.code), threads=2)).rest(0), whole.rest(0), f"after {other.code}")


def check(seed: int, clean: pathlib.Path) -> None:
    """Raises Refused, or AssertionError. The present folder is a copy of `clean`."""
    drawn, rng = case(seed), random.Random(~seed)
    pipe = make(drawn.code)
    mapped = ".map(" in drawn.code
    with load(pipe, threads=1) as loader:
        whole = run(loader)
    epochs = int(drawn.code.split(".epochs(")[1].split(")")[0])
    check_rows(whole, drawn, epochs)
    for path in pathlib.Path().glob("killed-*"):
        path.unlink()
    check_threads(pipe, whole)
    check_restarts(pipe, whole, rng)
    check_changed(pipe, whole, drawn, epochs, random.Random(seed ^ 0x77656967))
    check_seek(pipe, whole, rng)
    check_length(pipe, whole)
    if rng.random() < .5:
        try:
            check_shards(pipe, whole, drawn, rng)
        except Refused:
            pass
    if rng.random() < .25 and not mapped:
        check_other_runs(drawn, seed, whole, clean, rng)
