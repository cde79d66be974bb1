# SPDX-License-Identifier: Apache-2.0
"""`load_state_dict(state, accept=…)`: a mixture with other weights, or with more branches, from where the run stands."""
import collections
import json
import subprocess
import warnings

import numpy as np
import pytest

import forebay as fb
from command import COMMAND

SIZES = {0: 60, 1000: 45, 2000: 30}   # rows of the branches by their first value


def source(first):
    rows = SIZES[first]
    lengths = [1 + i % 4 for i in range(rows)]
    frames = fb.Ragged(np.repeat(np.arange(first + 1, first + rows + 1), lengths), np.cumsum([0, *lengths]))
    return fb.arrays({"frames": frames, "x": np.arange(first, first + rows)}, name=f"a{first}")


A, B, C = (source(first) for first in SIZES)

STAGES = {
    "batch": lambda pipe: pipe.batch(8, remainder="keep", pad=True),
    "shuffle": lambda pipe: pipe.shuffle(buffer=16).batch(8, remainder="keep", pad=True),
    "laplace": lambda pipe: pipe.laplace(buffer=12, by="x").batch(8, remainder="keep", pad=True),
    "shuffle_batches": lambda pipe: pipe.batch(8, remainder="keep", pad=True).shuffle_batches(buffer=3),
    "token_budget": lambda pipe: pipe.token_budget(16),
    "buckets": lambda pipe: pipe.buckets("frames", [2, 4], [4]),
    "frames": lambda pipe: pipe.frames(batch_size=20),
    "packed": lambda pipe: pipe.packed(8, 2, segment_ids="sequences"),
    "filter": lambda pipe: pipe.filter("x % 3 != 0").batch(8, remainder="keep", pad=True),
    "filter_packed": lambda pipe: pipe.filter("x % 3 != 0").packed(8, 2, segment_ids="sequences"),
    "filter_filter": lambda pipe: pipe.filter("x % 3 != 0").shuffle(buffer=5).filter("x % 5 != 0").batch(8, remainder="keep", pad=True),
    "repeat": lambda pipe: pipe.filter("x % 3 != 0").repeat(2).batch(8, remainder="keep", pad=True),
    "shuffle_all": lambda pipe: pipe.filter("x % 3 != 0").shuffle(global_=True).batch(8, remainder="keep", pad=True),
}


def pipeline(branches, weights, stage="batch", boundary="straddle", until="all", repeat=False):
    pipe = STAGES[stage](fb.mix(branches, weights=weights, until=until, repeat=repeat))
    return pipe.epochs(3).epoch_boundary(boundary)


def all_of(batch):
    """The rows of a batch; of a packed one, the sequences in it."""
    if "sequences" not in batch.keys():
        return tuple(value for value, there in zip(batch["x"].tolist(), batch.mask.tolist()) if there)
    frames = collections.Counter((batch["frames"].ravel() - 1)[batch["sequences"].ravel() > 0].tolist())
    return tuple(value for value, count in frames.items() for _ in range(count // (1 + value % 1000 % 4)))


def rest(loader, most=None):
    """The next batches: all that are left, or so many."""
    found = []
    while len(found) != most and (batch := next(loader, None)) is not None:
        found.append(all_of(batch))
    return found


def at_batch(pipe, number, **options):
    """The first batches, and the state after them."""
    with pipe.load(**options) as loader:
        return [all_of(next(loader)) for _ in range(number)], loader.state_dict()


def going_on(pipe, state, accept=(), **options):
    """The batches from the state on, and the state after five of them with what comes then."""
    with warnings.catch_warnings(), pipe.load(**options) as loader:
        warnings.simplefilter("ignore")
        loader.load_state_dict(state, accept=accept)
        first = rest(loader, 5)
        later = loader.state_dict()
        return first + rest(loader), later


@pytest.mark.parametrize("boundary", ["straddle", "hard"])
@pytest.mark.parametrize("stage", STAGES)
def test_a_mixture_goes_on_with_other_weights(stage, boundary):
    old, new = pipeline([A, B], [1, 1], stage, boundary), pipeline([A, B], [1, 9], stage, boundary)
    length = len(at_batch(old, 0)[0]) + len(rest(old.load()))
    for number in (0, 1, 3, 7, 12, 13, length // 2, length - 1, length):
        before, state = at_batch(old, number)
        after, later = going_on(new, state, ["weights"])
        kept = collections.Counter(value for batch in rest(old.load()) for value in batch)
        assert collections.Counter(value for batch in before + after for value in batch) == kept, "a row is lost or comes twice"
        assert going_on(new, state, ["weights"], threads=4)[0] == after
        assert going_on(new, later)[0] == after[5:], "a later state goes on without `accept`"
        with new.load() as loader:   # the numbers of batches are those of the run that was changed
            loader.load_state_dict(later)
            for wanted in range(0, len(before + after), 5):
                loader.seek(wanted)
                assert all_of(next(loader)) == (before + after)[wanted]
            loader.begin_anew()
            assert rest(loader) == before + after


@pytest.mark.parametrize("combine", [fb.mix, fb.round_robin, fb.concat, fb.join])
@pytest.mark.parametrize("stage", ["batch", "shuffle", "token_budget", "filter"])
def test_a_combination_goes_on_with_one_branch_more(combine, stage):
    new = C.shuffle(buffer=9)   # in each of its epochs another order
    until = {"until": "all"} if combine in (fb.mix, fb.round_robin) else {}

    def of(*branches):
        return STAGES[stage](combine(list(branches), **until)).epochs(3)

    for number in (0, 1, 6, 11):
        before, state = at_batch(of(A, B), number)
        with of(A, B, new).load() as loader, pytest.raises(fb.StateError, match=r"has 3 branches, and had 2 .*accept 'branches'"):
            loader.load_state_dict(state)
        after, later = going_on(of(A, B, new), state, ["branches"])
        counts = collections.Counter(value for batch in before + after for value in batch)
        ours = [value for value in range(2000, 2030) if stage != "filter" or value % 3]
        passes = {counts[value] for value in ours}
        assert passes <= {1, 2, 3} and len(passes) == 1, "all passes from then on have the new branch, each row once"
        assert all(count == 3 for value, count in counts.items() if value < 2000)
        assert going_on(of(A, B, new), state, ["branches"], threads=4)[0] == after
        assert going_on(of(A, B, new), later)[0] == after[5:]
        with of(A, B, new).load() as loader:
            loader.load_state_dict(later)
            loader.begin_anew()
            assert rest(loader) == before + after


def test_the_new_weights_hold_from_the_next_row_on():
    old, new = (pipeline([A, B], weights, until=2000, repeat=True) for weights in ([1, 1], [1, 99]))
    before, state = at_batch(old, 100)
    after, _ = going_on(new, state, ["weights"])
    share = [sum(value >= 1000 for batch in part for value in batch) / sum(map(len, part)) for part in (before, after[:100])]
    assert 0.4 < share[0] < 0.6 and share[1] > 0.97


def test_a_run_is_changed_several_times():
    weights = [[1, 1], [1, 5], [5, 1], [2, 3]]
    pipes = [pipeline([A, B], each, "shuffle") for each in weights]
    whole, state = at_batch(pipes[0], 4)
    for pipe in pipes[1:]:
        with pipe.load() as loader:
            loader.load_state_dict(state, accept="weights")
            whole += [all_of(next(loader)) for _ in range(4)]
            state = loader.state_dict()
    last, _ = going_on(pipes[-1], state)
    with pipes[-1].load() as loader:
        loader.load_state_dict(state)
        loader.seek(0)
        assert rest(loader) == whole + last
    assert len(json.dumps(state)) < 2048
    assert [state["sections"][f"mixture/{i}"]["options"] for i in range(3)] == [
        '{"weights":[1,1],"until":"all"}', '{"weights":[1,5],"until":"all"}', '{"weights":[5,1],"until":"all"}']


def test_a_change_behind_which_seek_went_back_is_replaced():
    first, second, third = (pipeline([A, B], weights, "shuffle") for weights in ([1, 1], [1, 9], [9, 1]))
    before, state = at_batch(first, 6)
    with second.load() as loader:
        loader.load_state_dict(state, accept=["weights"])
        for number in (0, 2, 5, 6, 9):
            loader.seek(number)
            state = loader.state_dict()
            after, later = going_on(third, state, ["weights"])
            loader.seek(0)
            whole = rest(loader, number) + after
            assert whole[:min(number, 6)] == before[:min(number, 6)]
            assert collections.Counter(sum(whole, ())) == collections.Counter(sum(rest(first.load()), ()))
            with third.load() as again:
                again.load_state_dict(later)
                assert rest(again) == after[5:]
                again.begin_anew()
                assert rest(again) == whole


@pytest.mark.parametrize("stage", ["batch", "packed", "token_budget"])
def test_all_row_shards_change_at_the_same_row(stage):
    old, new = pipeline([A, B], [1, 1], stage), pipeline([A, B], [1, 9], stage)
    _, state = at_batch(old, 5)
    whole, _ = going_on(new, state, ["weights"])
    shares = []
    for index in range(2):
        _, own = at_batch(old, 5, shard=(index, 2))
        assert own == state
        shares.append(going_on(new, own, ["weights"], shard=(index, 2), threads=1 + 3 * index)[0])
    for batch, *parts in zip(whole, *shares):
        assert collections.Counter(batch) == collections.Counter(value for part in parts for value in part)
    with new.load() as loader:
        loader.load_state_dict(state, accept=["weights"])
        changed = loader.state_dict()
    batches = [going_on(new, changed, shard={"index": index, "count": 2, "by": "batch"})[0] for index in range(2)]
    assert sorted(batches[0] + batches[1]) == sorted(whole)


def test_identities_tell_a_changed_run_from_others():
    old, new = pipeline([A, B], [1, 1]), pipeline([A, B], [1, 9])
    _, state = at_batch(old, 5)
    with new.load() as plain, new.load() as changed, new.load() as alike:
        changed.load_state_dict(state, accept=["weights"])
        alike.load_state_dict(changed.state_dict())
        assert changed.identity() == alike.identity() != plain.identity()


def shares_of_the_second(stage, **options):
    """Of the rows that come before and after other weights are accepted, those of the second branch."""
    old, new = (pipeline([A, B], weights, stage, until=2000, repeat=True) for weights in ([1, 1], [1, 99]))
    before, state = at_batch(old, 60)
    after, _ = going_on(new, state, ["weights"], **options)
    return [sum(value >= 1000 for batch in part for value in batch) / sum(map(len, part)) for part in (before, after[20:80])]   # made rows come in blocks


@pytest.mark.parametrize("stage", ["filter", "filter_packed", "filter_filter"])
def test_rows_that_are_made_change_within_the_pass(stage):
    before, after = shares_of_the_second(stage)
    assert 0.35 < before < 0.65 and after > 0.95


@pytest.mark.parametrize("order", [lambda pipe: pipe, lambda pipe: pipe.shuffle_batches(3)])
def test_no_row_is_lost_where_a_batch_of_a_branch_was_given_in_part(order):
    def mixed(weights):
        return fb.mix([order(A.select(["x"]).batch(4)), order(B.select(["x"]).batch(3))], weights=weights, until="all").batch(5, remainder="keep")

    for done in range(21):
        before, state = at_batch(mixed([2, 1]), done)
        after, _ = going_on(mixed([1, 7]), state, ["weights"])
        assert sorted(sum(before + after, ())) == [*range(60), *range(1000, 1045)]


def test_an_order_by_number_keeps_the_rows_that_it_has():
    old, new = pipeline([A, B], [1, 1], "shuffle_all"), pipeline([A, B], [1, 9], "shuffle_all")
    before, state = at_batch(old, 3)
    with new.load() as loader:
        with pytest.warns(RuntimeWarning, match="an order reaches the rows of the mixture by number, and so needs all of a pass"):
            loader.load_state_dict(state, accept=["weights"])
        unchanged = rest(old.load())
        first_pass = 40 + 30   # rows that the filter lets through
        assert sum(rest(loader), ())[:first_pass - 24] == sum(unchanged, ())[24:first_pass]


@pytest.mark.parametrize("until", ["first", "all", 37])
@pytest.mark.parametrize("stage", ["batch", "shuffle", "filter", "filter_packed"])
def test_a_branch_is_taken_out_and_comes_back(stage, until):
    """Its weight becomes 0 in the middle of a pass, and rises again in a later one: it goes on where it stood."""
    def pipe(weights):
        return pipeline([A, B.shuffle(buffer=7), C], weights, stage, until=until).epochs(12)

    before, state = at_batch(pipe([2, 2, 1]), 3)
    without, later = going_on(pipe([2, 0, 1]), state, ["weights"])
    held = 24 if stage.startswith("filter") else 8   # batches of which stages behind the mixture have had rows by then
    assert len(without) > held
    assert not any(1000 <= value < 2000 for batch in without[held:] for value in batch), "rows of a branch that was taken out"
    assert going_on(pipe([2, 0, 1]), state, ["weights"], threads=4)[0] == without
    assert going_on(pipe([2, 0, 1]), later)[0] == without[5:]
    back, last = going_on(pipe([2, 2, 1]), later, ["weights"])
    whole = before + without[:5] + back
    with pipe([2, 2, 1]).load() as loader:
        loader.load_state_dict(last)
        for wanted in range(0, len(whole), 4):
            loader.seek(wanted)
            assert all_of(next(loader)) == whole[wanted]
        loader.begin_anew()
        assert rest(loader) == whole
    of_b = [value for batch in whole for value in batch if 1000 <= value < 2000]
    rows = len([value for value in range(1000, 1045) if not stage.startswith("filter") or value % 3])
    counts = collections.Counter(of_b)
    if of_b:
        assert max(counts.values()) - min(counts.get(value, 0) for value in range(1000, 1045) if value in counts) <= 1
        assert len(of_b) < rows or len(counts) == rows, "its next epoch begins when all of its rows have come"


@pytest.mark.parametrize("combine", ["mix", "round_robin"])
@pytest.mark.parametrize("stage", ["batch", "shuffle", "filter", "filter_packed"])
def test_a_run_goes_on_with_another_until(stage, combine):
    def pipe(until, weights=(1, 1)):
        options = {"weights": list(weights)} if combine == "mix" else {}
        rows = getattr(fb, combine)([A, B.shuffle(buffer=7)], until=until, repeat=True, **options)
        return STAGES[stage](rows).epochs(4).epoch_boundary("hard")

    def rows_by_epoch(batches):
        return collections.Counter(epoch for epoch, values in batches for _ in values)

    def epochs(loader):
        return [(batch.epoch, all_of(batch)) for batch in loader]

    with pipe(50).load() as loader:
        whole = epochs(loader)
    for number in (0, 2, 5):
        before, state = at_batch(pipe(50), number)
        with pipe(200).load() as loader, pytest.raises(fb.StateError, match="ended with `until` 50 in the run that saved the state.*accept=\\['until'\\]"):
            loader.load_state_dict(state)
        with pipe(200).load(threads=1 + number % 3) as loader:
            loader.load_state_dict(state, accept=["until"])
            after = epochs(loader)
            loader.begin_anew()
            assert epochs(loader)[number:] == after, "the numbers of batches, and their rows, are those of the changed run"
            loader.load_state_dict(state, accept=["until"])
            head = [all_of(next(loader)) for _ in range(3)]
            later = loader.state_dict()
        assert head == [values for _, values in after[:3]]
        with pipe(200).load() as loader:
            loader.load_state_dict(later)
            assert epochs(loader) == after[3:]
        here = whole[number][0]   # the pass that had begun is as it was, where no stage has looked ahead
        changed = rows_by_epoch(after)
        if stage == "batch":
            assert [each for each in after if each[0] == here] == [each for each in whole[number:] if each[0] == here] or number == 0
            assert all(count == 200 for epoch, count in changed.items() if epoch > here + 1)
        assert max(changed.values()) > 100
    with pipe(50).load() as loader:   # and back, with other weights at the same time
        before, state = at_batch(pipe(200), 3)
        loader.load_state_dict(state, accept=["until"])
        again = epochs(loader)
    if combine == "mix":
        assert going_on(pipe(50, [1, 9]), state, ["until", "weights"])[0] != [values for _, values in again]
        with pipe(50, [1, 9]).load() as loader, pytest.raises(fb.StateError, match="weights of the mixture are others .* \\[1,1\\]"):
            loader.load_state_dict(state, accept=["until"])


@pytest.mark.parametrize("stage", ["batch", "filter"])
def test_weights_of_0_by_pass(stage):
    branches = [A, B.shuffle(buffer=7), C]
    pipe = pipeline(branches, [[0, [1, 1, 1]], [1, [1, 0, 1]], [2, [0, 3, 1]]], stage).epochs(4)
    whole = rest(pipe.load())
    kept = {first: [value for value in range(first, first + SIZES[first]) if stage != "filter" or value % 3] for first in SIZES}
    counts = collections.Counter(value for batch in whole for value in batch)
    assert counts == collections.Counter(kept[0] * 2 + kept[1000] * 3 + kept[2000] * 4)
    for number in range(0, len(whole) + 1):
        _, state = at_batch(pipe, number)
        assert going_on(pipe, state, threads=4)[0] == whole[number:]
        with pipe.load() as loader:
            if number < len(whole):
                loader.seek(number)
                assert all_of(next(loader)) == whole[number]
    with pipe.load() as loader:
        assert stage == "filter" or len(loader) == len(whole)


def test_what_may_not_differ():
    _, state = at_batch(pipeline([A, B], [1, 1]), 3)

    def refusal(pipe, accept=(), **options):
        with pipe.load(**options) as loader:
            before = loader.state_dict()
            with pytest.raises((fb.StateError, fb.ConfigError, TypeError)) as caught:
                loader.load_state_dict(state, accept=accept)
            assert loader.state_dict() == before
            return str(caught.value)

    other = pipeline([A, B], [1, 9])
    assert "others than those of the run that saved the state, [1,1], which stands before row 24 of pass 0" in refusal(other)
    assert "accept: must be \"weights\", \"until\" or \"branches\", found 'weight'" in refusal(other, ["weight"])
    assert "accept" in refusal(other, 3)
    assert "accept 'branches'" in refusal(pipeline([A, B, C], [1, 1, 1]), ["weights"])
    assert "branch/1" in refusal(pipeline([A, C], [1, 1]), ["weights", "branches"])
    assert "branches can be added behind the others, and are not taken out; keep them" in refusal(pipeline([A], [1]), ["weights", "branches"])
    assert "steps/0" in refusal(pipeline([A, B], [1, 9], "shuffle"), ["weights"])
    assert "load the state in a loader without a shard" in refusal(other, ["weights"], shard={"index": 0, "count": 2, "by": "batch"})
    old, other = (fb.mix([A, B], weights=weights, until="all").batch(8, remainder="drop", pad=True) for weights in ([1, 1], [1, 9]))
    dealt = {"index": 0, "count": 2, "by": "element"}
    _, state = at_batch(old, 3, shard=dealt)
    assert "shards by file or element do not agree" in refusal(other, ["weights"], shard=dealt)


def test_the_command_accepts_it(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(60))
    np.savez(tmp_path / "b.npz", x=np.arange(1000, 1045))

    def document(weights):
        branches = [{"source": {"npz": {"files": [name]}}} for name in ("a.npz", "b.npz")]
        path = tmp_path / f"{weights[1]}.json"
        path.write_text(json.dumps({"source": {"mix": {"weights": weights, "until": "all", "branches": branches}},
                                    "steps": [{"batch": {"size": 8}}]}))
        return path.name

    def run(*arguments):
        return subprocess.run([COMMAND, "run", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60)

    assert run(document([1, 1]), "--batches", "4", "--save-state", "state").returncode == 0
    refused = run(document([1, 9]), "--resume", "state")
    assert refused.returncode != 0 and "`--accept weights`" in refused.stderr
    accepted = run(document([1, 9]), "--resume", "state", "--accept", "weights", "--json")
    assert accepted.returncode == 0 and json.loads(accepted.stdout)["rows"] == 105 - 32, accepted.stderr
