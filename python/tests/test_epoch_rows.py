# SPDX-License-Identifier: Apache-2.0
"""fb.python over data sets with epochs of their own: init_seq_order, is_less_than_num_seqs, get_data, get_tag."""
from __future__ import annotations

import threading
import time
from typing import Any, Optional

import numpy as np
import pytest

import forebay as fb

LENGTHS = [5, 1, 4, 2, 3, 6, 2]


class Speech:
    """Seven sequences, in another order in each epoch; how many there are is known at the end only."""

    def __init__(self, fails_at: Optional[tuple[int, int]] = None) -> None:
        self.epochs: list[int] = []
        self.finished = 0
        self.loaded: list[int] = []
        self.fails_at = fails_at
        self.failure = KeyError("the tape is torn")

    def init_seq_order(self, epoch: int) -> None:
        self.epochs.append(epoch)
        self.order = np.random.RandomState(epoch).permutation(len(LENGTHS))

    def is_less_than_num_seqs(self, i: int) -> bool:
        if self.fails_at == (self.epochs[-1], i):
            raise self.failure
        return i < len(self.order)

    def load_seqs(self, start: int, end: int) -> None:
        self.loaded = list(range(start, end))

    def get_data_keys(self) -> list[str]:
        return ["data", "classes"]

    def get_data(self, i: int, key: str) -> Any:
        assert self.loaded == [i], "a sequence is loaded before it is asked for"
        number = int(self.order[i])
        frames = np.arange(LENGTHS[number], dtype=np.float32)
        return np.stack([frames, frames + 100 * number], axis=1) if key == "data" else frames.astype(np.int32) + number

    def get_tag(self, i: int) -> str:
        return f"seq-{self.order[i]}"

    def finish_epoch(self) -> None:
        self.finished += 1


def tags(batch: fb.Batch) -> list[str]:
    return [tag.decode() for tag in batch["seq_tag"].tolist()[:batch.valid_rows]]


def orders(epochs: int) -> list[list[str]]:
    return [[f"seq-{n}" for n in np.random.RandomState(epoch).permutation(len(LENGTHS))] for epoch in range(1, epochs + 1)]


def batches(size: int = 2, epochs: Optional[int] = 3, data: Optional[Speech] = None) -> fb.Pipeline:
    return fb.python(data or Speech()).batch(size=size, remainder="keep", pad=True).epochs(epochs)


def seen(loader: Any) -> list[tuple[int, list[str], Any, Any]]:
    return [(batch.epoch, tags(batch), batch["data"].tolist(), batch["classes"].tolist()) for batch in loader]


def test_every_epoch_has_the_sequences_in_the_order_of_the_data_set() -> None:
    for threads in (1, 4):
        data = Speech()
        with batches(data=data).epoch_boundary("hard").load(threads=threads) as loader:
            got: list[list[str]] = [[], [], []]
            for batch in loader:
                got[batch.epoch] += tags(batch)
                numbers = [int(tag[4:]) for tag in tags(batch)]
                assert batch.lengths["classes"].tolist() == [LENGTHS[number] for number in numbers]
                for row, number in enumerate(numbers):
                    assert batch["data"][row, :LENGTHS[number], 1].tolist() == [100 * number + i for i in range(LENGTHS[number])]
        assert got == orders(3)
        assert data.epochs == [1, 1, 2, 3], "the columns are those of the first sequence, then come the epochs"
        assert data.finished == 3


@pytest.mark.parametrize("boundary", ["straddle", "hard"])
def test_a_restart_at_every_batch_is_exact(boundary: str) -> None:
    def pipe() -> fb.Pipeline:
        return (fb.python(Speech()).shuffle(buffer=3).batch(size=2, remainder="keep", pad=True).epochs(2).seed(3)
                .epoch_boundary(boundary))

    with pipe().load(threads=1) as loader:
        states = [loader.state_dict()]
        whole = []
        for batch in loader:
            whole += seen([batch])
            states.append(loader.state_dict())
    with pipe().load(threads=2) as other:
        for at, state in enumerate(states):
            other.load_state_dict(state)
            assert seen(other) == whole[at:]
        other.begin_anew()
        assert seen(other) == whole


OTHERS = {"data": np.zeros((3, 2, 2), np.float32), "classes": np.zeros((3, 2), np.int32), "seq_tag": ["a", "b", "c"]}
STAGES = {
    "filter": lambda pipe: pipe.filter("length(classes) > 1").batch(size=2, pad=True),
    "frames": lambda pipe: pipe.shuffle(buffer=3).frames(["data", "classes"], batch_size=9, max_seqs=3).shuffle_batches(2),
    "buckets": lambda pipe: pipe.buckets("classes", [3, 6], [2, 2]),
    "chunk": lambda pipe: pipe.chunk(size=2, step=1, keys=["data", "classes"]).shuffle(buffer=4).batch(size=3, pad=True),
    "stateful": lambda pipe: pipe.unroll(2, keys=["data", "classes"]).stateful(2),
    "mix": lambda pipe: fb.mix([pipe.shuffle(buffer=2), fb.arrays(OTHERS)], until=6, repeat=True).batch(size=2, pad=True),
}


@pytest.mark.parametrize("stages", list(STAGES))
def test_every_stage_of_a_stream_restarts_over_a_data_set_at_every_batch(stages: str) -> None:
    def pipe() -> fb.Pipeline:
        return STAGES[stages](fb.python(Speech())).epochs(2).seed(1)

    with pipe().load(threads=1) as loader:
        states = [loader.state_dict()]
        whole = []
        for batch in loader:
            whole += seen([batch])
            states.append(loader.state_dict())
    assert len(whole) > 5
    with pipe().load(threads=2) as other:
        for at, state in enumerate(states):
            other.load_state_dict(state)
            assert seen(other) == whole[at:]


def test_shards_by_element_deal_the_sequences_of_an_epoch() -> None:
    dealt = []
    for rank in range(2):
        shard = {"index": rank, "count": 2, "by": "element"}
        with fb.python(Speech()).batch(size=2, remainder="drop", pad=True).load(shard=shard) as loader:
            dealt.append([tag for batch in loader for tag in tags(batch)])
    order = orders(1)[0]
    assert dealt == [order[0:6:2], order[1:6:2]]


def test_epochs_may_be_left_early_and_have_no_end() -> None:
    data = Speech()
    with batches(size=1, epochs=None, data=data).epoch_boundary("hard").load(prefetch=1) as loader:
        firsts = []
        for epoch in loader.epochs():
            firsts += tags(next(epoch))
            if epoch.number == 4:
                break
    assert firsts == [order[0] for order in orders(5)]
    assert data.finished == len(data.epochs) - 1, "every epoch that was begun is finished"


def test_windows_and_batches_of_frames_work_over_sequences() -> None:
    pipe = fb.python(Speech()).chunk(size=2, step=2, keys=["data", "classes"]).batch(size=4, remainder="keep", pad=True)
    with pipe.load() as loader:
        frames: dict[str, list[int]] = {}
        for batch in loader:
            for row, tag in enumerate(tags(batch)):
                frames.setdefault(tag, []).extend(batch["classes"][row, :batch.lengths["classes"][row]].tolist())
    assert list(frames) == orders(1)[0]
    assert frames == {f"seq-{n}": [n + i for i in range(length)] for n, length in enumerate(LENGTHS)}


def test_an_exception_is_raised_as_the_same_object_after_the_sequences_before_it() -> None:
    data = Speech(fails_at=(2, 3))
    with batches(size=1, data=data).load() as loader:
        got = []
        for _ in range(10):
            got += tags(next(loader))
        assert got == orders(2)[0] + orders(2)[1][:3]
        state = loader.state_dict()
        for _ in range(2):
            with pytest.raises(KeyError) as raised:
                next(loader)
            assert raised.value is data.failure
        data.fails_at = None
        loader.load_state_dict(state)
        assert [tag for batch in loader for tag in tags(batch)] == orders(3)[1][3:] + orders(3)[2]


@pytest.mark.parametrize("step, words", [
    (lambda pipe: pipe.shuffle(global_=True), "cannot be reached in any order; give 'shuffle' a buffer"),
    (lambda pipe: pipe.reorder("f").bind({"f": lambda epoch, n: range(n)}), "cannot be reached in any order; give 'reorder'"),
    (lambda pipe: pipe.sorted(by="length(classes)"), "cannot be reached in any order; sort those of a buffer instead, with 'laplace'"),
])
def test_orders_that_need_a_count_are_refused_by_name(step: Any, words: str) -> None:
    with pytest.raises(fb.ConfigError, match=words):
        step(fb.python(Speech())).batch(size=1).load()


def test_columns_may_be_given_and_count_the_sequences() -> None:
    columns = {"classes": fb.var_len("int64"), "seq_idx": fb.fixed("int64")}
    pipe = fb.python(Speech(), columns, first_epoch=7).batch(size=7, pad=True)
    (batch,) = pipe.load()
    order = np.random.RandomState(7).permutation(len(LENGTHS))
    assert batch["seq_idx"].tolist() == list(range(7)) and batch["classes"].dtype == np.int64
    assert batch["classes"][:, 0].tolist() == order.tolist()


def test_a_document_binds_a_data_set() -> None:
    document = {"source": {"feed": {"bind": "speech"}}, "steps": [{"batch": {"size": 7, "pad": True}}], "epochs": 2}
    with fb.load(document, bind={"speech": Speech()}) as loader:
        assert [tags(batch) for batch in loader] == orders(2)


def test_a_data_set_is_read_by_one_branch_at_a_time() -> None:
    one = fb.python(Speech())
    with fb.round_robin([one, one]).batch(size=1, pad=True).load() as loader:
        with pytest.raises(fb.Error, match="one pass at a time; give each branch and each run a data set of its own"):
            list(loader)


def test_what_is_no_data_set_is_refused() -> None:
    class Untagged(Speech):
        get_tag = None  # type: ignore[assignment]

    class Unnamed(Speech):
        get_data_keys = None  # type: ignore[assignment]

    class Empty(Speech):
        def is_less_than_num_seqs(self, i: int) -> bool:
            return False

    for data, columns, words in ((Untagged(), {"seq_tag": fb.fixed("string")}, "has no method get_tag"),
                                 (Unnamed(), None, "has no method get_data_keys; give columns"),
                                 (Empty(), None, "has no sequence, so its columns are not known")):
        with pytest.raises(fb.ConfigError, match=words):
            fb.python(data, columns).batch(size=1).load()
    with pytest.raises(TypeError, match="first_epoch: must be an integer"):
        fb.python(Speech(), first_epoch="1")  # type: ignore[arg-type]
    assert list(fb.python(Empty(), {"data": fb.fixed("float32", [None, 2])}).batch(size=1, pad=True).load()) == []


def test_a_sequence_that_does_not_fit_its_column_is_the_failure_of_the_loader() -> None:
    with fb.python(Speech(), {"data": fb.fixed("float32", [2, 2])}).batch(size=1).load() as loader:
        with pytest.raises(fb.ConfigError, match=r"column 'data' is float32\[\d,2\], expected float32\[2,2\]"):
            list(loader)


def test_closing_ends_the_thread_also_while_the_data_set_waits() -> None:
    going = threading.Event()

    class Slow(Speech):
        def is_less_than_num_seqs(self, i: int) -> bool:
            return i < 2 or (going.wait(1.0) and False)

    with fb.python(Slow(), name="slow").batch(size=1, pad=True).load() as loader:
        next(loader)
        threading.Timer(0.1, going.set).start()
        began = time.monotonic()
    assert time.monotonic() - began < 10
    assert not any(thread.name == "forebay slow" for thread in threading.enumerate())
