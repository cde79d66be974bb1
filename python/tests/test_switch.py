# SPDX-License-Identifier: Apache-2.0
"""fb.switch: several pipelines and one consumer."""
from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import Any, Iterator, Optional

import numpy as np
import pytest

import forebay as fb

WARM = [True, False, {"train"}]


def numbers(first: int, count: int, size: int) -> fb.Pipeline:
    return fb.arrays({"n": np.arange(first, first + count)}).batch(size=size, remainder="keep")


def train() -> fb.Pipeline:
    return fb.arrays({"n": np.arange(20)}).shuffle(buffer=6).batch(size=3, remainder="keep").epochs(2).seed(7)


def pair(keep_warm: Any = True, **options: Any) -> fb.Switch:
    return fb.switch({"train": train(), "eval": numbers(100, 9, 4)}, keep_warm=keep_warm, threads=1, **options)


def taken(batch: fb.Batch) -> list[int]:
    out: list[int] = batch["n"].tolist()
    return out


def everything(pipe: fb.Pipeline) -> list[list[int]]:
    with pipe.load(threads=1) as loader:
        return [taken(batch) for batch in loader]


# What a consumer does: "." takes a batch, "t" and "e" switch, "E" switches to a new pass of "eval".
SCRIPT = "..e.t...e..t.E...t......"


def follow(data: fb.Switch, script: str) -> list[tuple[str, Optional[list[int]]]]:
    out: list[tuple[str, Optional[list[int]]]] = []
    for act in script:
        if act == ".":
            batch = next(data, None)
            out.append((data.current, None if batch is None else taken(batch)))
        else:
            data.switch_to("train" if act == "t" else "eval", anew=act == "E")
    return out


def expected(script: str) -> list[tuple[str, Optional[list[int]]]]:
    """The same in plain Python: two lists, and a place in each."""
    streams, at, current, out = {"train": everything(train()), "eval": everything(numbers(100, 9, 4))}, {}, "train", []
    for act in script:
        if act == ".":
            place = at.setdefault(current, 0)
            out.append((current, streams[current][place] if place < len(streams[current]) else None))
            at[current] = place + 1
        else:
            current = "train" if act == "t" else "eval"
            at[current] = 0 if act == "E" else at.get(current, 0)
    return out


@pytest.mark.parametrize("keep_warm", WARM)
def test_switching_at_any_time_loses_nothing_and_mixes_nothing(keep_warm: Any) -> None:
    with pair(keep_warm) as data:
        assert follow(data, SCRIPT) == expected(SCRIPT)


@pytest.mark.parametrize("keep_warm", WARM)
def test_a_restart_at_every_batch_and_at_every_switch_goes_on_exactly(keep_warm: Any) -> None:
    whole = expected(SCRIPT)
    with pair(keep_warm) as data, pair(False) as other:
        for at in range(len(SCRIPT) + 1):
            state = json.loads(json.dumps(data.state_dict()))
            assert state["current"] == data.current and sorted(state["loaders"]) == ["eval", "train"]
            other.load_state_dict(state)
            done = SCRIPT[:at].count(".")
            assert follow(other, SCRIPT[at:]) == whole[done:]
            assert follow(data, SCRIPT[at:at + 1]) == whole[done:SCRIPT[:at + 1].count(".")]


def test_a_state_of_a_cold_switch_fits_a_warm_one_and_other_threads() -> None:
    with pair(False) as data, fb.switch({"train": train(), "eval": numbers(100, 9, 4)}, threads=3) as other:
        follow(data, "..e.")
        other.load_state_dict(data.state_dict())
        assert other.current == "eval"
        assert follow(other, "..t.......") == follow(data, "..t.......")


def test_the_state_names_the_last_batch_that_the_loop_got_and_not_those_ahead() -> None:
    with pair() as data, train().load() as alone:
        for _ in range(4):
            assert taken(next(data)) == taken(next(alone))
        assert data.have_more_data()
        assert data.state_dict()["loaders"]["train"] == alone.state_dict()


@pytest.mark.parametrize("keep_warm", [True, False])
def test_have_more_data_and_have_reached_end_tell_the_end_exactly(keep_warm: bool) -> None:
    with pair(keep_warm) as data:
        data.switch_to("eval")
        seen = []
        while data.have_more_data():
            seen.append((taken(next(data)), data.have_reached_end()))
        assert seen == [([100, 101, 102, 103], False), ([104, 105, 106, 107], False), ([108], False)]
        assert data.have_reached_end() and next(data, None) is None
        data.switch_to("train")
        assert not data.have_reached_end() and data.have_more_data()
        data.switch_to("eval")
        assert data.have_reached_end() and data.complete_frac() == 1.0 and not data.have_more_data()
        data.switch_to("eval", anew=True)
        assert not data.have_reached_end() and data.have_more_data()
        assert len(list(data)) == 3 and data.have_reached_end()
        data.loader.begin_anew()
        assert not data.have_reached_end() and data.complete_frac() == 1e-10


def test_more_data_is_waited_for_and_none_is_told_only_when_the_producer_has_ended() -> None:
    rows = fb.Feed({"n": fb.fixed("int64")})
    with fb.switch({"live": fb.feed(rows).batch(size=1), "eval": numbers(0, 1, 1)}) as data:
        threading.Timer(0.05, lambda: (rows.put({"n": 5}), rows.close())).start()
        assert data.have_more_data() and taken(next(data)) == [5]
        assert not data.have_more_data() and data.have_reached_end()


def test_an_error_arrives_where_its_batch_would_be_and_only_there() -> None:
    failure = KeyError("the microphone is gone")

    def rows() -> Iterator[dict[str, Any]]:
        yield {"n": 1}
        raise failure

    with fb.switch({"live": fb.python(rows(), {"n": fb.fixed("int64")}).batch(size=1), "eval": numbers(0, 2, 1)}) as data:
        assert taken(next(data)) == [1]
        data.switch_to("eval")
        assert taken(next(data)) == [0]
        data.switch_to("live")
        for look in (data.have_more_data, data.__next__, data.have_more_data):
            with pytest.raises(KeyError) as raised:
                look()
            assert raised.value is failure
        assert not data.have_reached_end()
        data.switch_to("eval")
        assert [taken(batch) for batch in data] == [[1]]


def test_the_share_that_is_done_follows_the_formulas() -> None:
    with fb.switch({"known": numbers(0, 4, 1), "unknown": numbers(0, 4, 1).epochs(None)}) as data:
        assert data.complete_frac() == 1e-10
        assert [(next(data), data.complete_frac())[1] for _ in range(4)] == [0.25, 0.5, 0.75, 1.0]
        data.switch_to("unknown")
        assert data.complete_frac() == 1e-10 and data.complete_frac(only_if_known=True) is None
        shares = [(next(data), data.complete_frac())[1] for _ in range(101)]
        assert (shares[0], shares[1], shares[100]) == (1e-10, 0.00980198019801981, 0.09000000000000002)
        assert shares == sorted(shares)
        again = data.state_dict()
        assert data.complete_frac() == shares[-1]
        data.load_state_dict(again)
        assert data.complete_frac() == shares[-1]


def test_the_share_is_one_at_an_end_that_was_not_known_before() -> None:
    pipe = fb.python({"n": i} for i in range(3)).batch(size=1)
    with fb.switch({"live": pipe}) as data:
        assert len(list(data)) == 3 and data.complete_frac() == 1.0


def test_a_loader_that_is_not_kept_warm_has_no_threads_while_another_is_used() -> None:
    def threads() -> int:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))

    before = threads()
    with fb.switch({"a": numbers(0, 9, 1), "b": numbers(9, 9, 1)}, keep_warm={"a"}, threads=3) as data:
        next(data)
        data.switch_to("b")
        next(data)
        assert threads() == before + 6
        data.switch_to("a")
        assert threads() == before + 3
        assert taken(next(data)) == [1]
        data.switch_to("b")
        assert taken(next(data)) == [10]
    assert threads() == before


def test_rows_that_cannot_be_read_again_must_be_kept_warm() -> None:
    def live() -> fb.Pipeline:
        return fb.python(iter([{"n": 1}, {"n": 2}]), {"n": fb.fixed("int64")}).batch(size=1)

    with fb.switch({"live": live(), "eval": numbers(0, 1, 1)}, keep_warm=False) as data:
        assert taken(next(data)) == [1]
        with pytest.raises(fb.StateError, match="loader 'live': .*cannot be read again.*; keep it warm"):
            data.switch_to("eval")
        assert data.current == "live" and taken(next(data)) == [2]
    with fb.switch({"live": live(), "eval": numbers(0, 1, 1)}) as data:
        next(data)
        with pytest.raises(fb.StateError, match="loader 'live': .*cannot be read again"):
            data.switch_to("live", anew=True)
        with pytest.raises(fb.StateError, match="loader 'live': .*cannot be read again"):
            data.state_dict()
        assert taken(next(data)) == [2]


def test_a_state_that_fits_only_one_of_the_loaders_changes_nothing() -> None:
    with pair() as data, fb.switch({"train": train(), "eval": numbers(100, 9, 3)}) as other:
        follow(data, "..e.t")
        follow(other, "...e.")
        for wrong, words in (({**data.state_dict(), "loaders": other.state_dict()["loaders"]}, "loader 'eval': .*batch"),
                             ({"current": "train", "loaders": {"train": {}}}, r"the state has the loaders \['train'\]"),
                             ({**data.state_dict(), "current": "evl"}, "no loader 'evl', did you mean 'eval'"),
                             ({"current": "train"}, "this is no state of a switch"),
                             (data.state_dict()["loaders"]["train"], "this is no state of a switch")):
            with pytest.raises(fb.StateError, match=words):
                data.load_state_dict(wrong)
        assert follow(data, ".e..t.") == expected("..e.t.e..t.")[3:]


def test_arguments_that_are_wrong_are_named() -> None:
    with pytest.raises(fb.ConfigError, match="pipelines: a switch needs a pipeline"):
        fb.switch({})
    with pytest.raises(TypeError, match="pipelines: must be a dict of pipelines or documents by name"):
        fb.switch([train()])  # type: ignore[arg-type]
    with pytest.raises(fb.ConfigError, match="keep_warm: no pipeline 'trian', did you mean 'train'"):
        pair({"trian"})
    with pytest.raises(TypeError, match="keep_warm: must be True, False, or the names"):
        pair("train")
    with pytest.raises(fb.ConfigError, match="'size'"):
        fb.switch({"train": train(), "eval": {"source": {"arrays": {"bind": "x"}}, "steps": [{"batch": {}}]}},
                  bind={"x": {"n": np.arange(3)}})
    with train().load() as loader, pytest.raises(TypeError, match=r"pipelines\['train'\]: must be a pipeline or a document"):
        fb.switch({"train": loader})  # type: ignore[dict-item]
    with pair() as data:
        with pytest.raises(fb.ConfigError, match="switch_to: no pipeline 'evl', did you mean 'eval'"):
            data.switch_to("evl")
        with pytest.raises(TypeError, match="a Switch cannot be pickled"):
            __import__("pickle").dumps(data)
        assert (data.current, data.names) == ("train", ["train", "eval"])


@pytest.mark.parametrize("keep_warm", [True, False])
def test_close_stops_from_any_state(keep_warm: bool) -> None:
    rows = fb.Feed({"n": fb.fixed("int64")})
    pipes = {"live": fb.feed(rows).batch(size=1), "eval": numbers(0, 9, 1)}
    for script in ("", ".", ".e", "e.", "e.t"):
        data = pair(keep_warm)
        follow(data, script)
        data.close()
        data.close()
        with pytest.raises(fb.Cancelled):
            next(data)
        with pytest.raises(fb.Cancelled):
            data.switch_to("eval")
    data = fb.switch(pipes)
    rows.put({"n": 1})
    assert taken(next(data)) == [1]
    closer = threading.Timer(0.05, data.close)
    closer.start()
    began = time.monotonic()
    with pytest.raises(fb.Cancelled):
        next(data)
    closer.join()
    assert time.monotonic() - began < 10 and rows.closed


def test_ctrl_c_loses_no_batch() -> None:
    program = """
import os, signal, threading
import numpy as np
import forebay as fb
rows = fb.Feed({"n": fb.fixed("int64")})
data = fb.switch({"live": fb.feed(rows).batch(size=1), "eval": fb.arrays({"n": np.arange(3)}).batch(size=1)})
for wait in (lambda: next(data), data.have_more_data):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        wait()
    except KeyboardInterrupt:
        print("interrupted")
data.switch_to("eval")
print(next(data)["n"].tolist())
data.switch_to("live")
rows.put({"n": 7})
print(next(data)["n"].tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("interrupted\ninterrupted\n[0]\n[7]\n", "")


def test_map_runs_for_the_loader_that_has_it_and_no_result_is_lost() -> None:
    doubled = numbers(0, 6, 1).map(lambda batch: {"n": batch["n"] * 2}, workers=2)
    with fb.switch({"a": doubled, "b": numbers(50, 4, 1)}, keep_warm=False, threads=1) as data:
        got = []
        for name in "aabababaa":
            data.switch_to(name)
            got += taken(next(data))
        assert got == [0, 2, 50, 4, 51, 6, 52, 8, 10]


def test_train_shuffles_sequences_through_a_buffer_and_eval_keeps_their_order() -> None:
    sequences = fb.arrays({"n": np.arange(40)})
    with fb.switch({"train": sequences.shuffle(buffer=10).batch(size=5).seed(3), "eval": sequences.batch(size=5)}) as data:
        got = [n for batch in data for n in taken(batch)]
        assert sorted(got) == list(range(40)) and got != sorted(got)
        assert all(place >= n - 9 for place, n in enumerate(got)), "nothing comes before its buffer has it"
        data.switch_to("eval")
        assert [n for batch in data for n in taken(batch)] == list(range(40))


def test_a_loader_begins_anew_as_often_as_it_is_asked_also_with_states_of_sequences() -> None:
    pipe = fb.arrays({"x": np.arange(20.0).reshape(4, 5)}).unroll(2, keys=["x"]).stateful(
        2, states={"sum": {"dtype": "float64"}})
    with pipe.load() as loader:
        runs = []
        for _ in range(3):
            sums = []
            for batch in loader:
                sums.append((batch.state("sum") + batch["x"].sum(axis=1)).tolist())
                batch.save_state("sum", np.array(sums[-1]))
            runs.append(sums)
            loader.begin_anew()
        assert runs[0] == runs[1] == runs[2] and len(runs[0]) == 6
    rows = fb.Feed({"n": fb.fixed("int64")})
    with fb.feed(rows).batch(size=1).load() as live, pytest.raises(fb.StateError, match="cannot be read again"):
        live.begin_anew()
