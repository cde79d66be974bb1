# SPDX-License-Identifier: Apache-2.0
"""What test_torch_dataset.py runs in a process of its own, which has torch. Each case gets a folder of its own."""
from __future__ import annotations

import pathlib
import pickle
import sys
import warnings
from typing import Any

if len(sys.argv) > 1 and sys.argv[1] not in sys.path:  # stays: workers that are spawned need it, too
    sys.path.append(sys.argv[1])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a torch built for another numpy says so
    import torch
    from torch.utils.data import DataLoader

from streams import examples, write_parts

import forebay as fb


def records(folder: pathlib.Path) -> fb.Pipeline:
    if not (folder / "part-0.tfrecord").exists():
        write_parts(folder)
    return fb.tfrecord(folder / "part-*.tfrecord").example({"id": fb.fixed("int64"), "x": fb.fixed("float32", [2])})


def pipe(folder: pathlib.Path) -> fb.Pipeline:
    return records(folder).shuffle(buffer=40).batch(12).seed(5)


def epochs(pipeline: fb.Pipeline, count: int, **options: Any) -> list[list[list[int]]]:
    with pipeline.epochs(count).epoch_boundary().load(**options) as loader:
        return [[batch["id"].tolist() for batch in epoch] for epoch in loader.epochs()]


def batches_of(data: Any, workers: int = 0, **options: Any) -> Any:
    if workers and "multiprocessing_context" not in options:
        options["multiprocessing_context"] = "fork"
    return DataLoader(data, batch_size=None, num_workers=workers, collate_fn=fb.torch.as_it_is, **options)


def ids(batches: Any) -> list[list[int]]:
    return [batch["id"].tolist() for batch in batches]


def every_iter_is_the_next_epoch(folder: pathlib.Path) -> None:
    expected = epochs(pipe(folder), 4)
    data = fb.torch.dataset(pipe(folder))
    assert len(data) == len(expected[0])
    assert [ids(data), ids(data)] == expected[:2]
    next(iter(data))
    assert ids(data) == expected[3]
    data.set_epoch(1)
    assert [ids(data), ids(data)] == expected[1:3]


def a_loader_and_a_pipeline_say_what_a_data_loader_takes(folder: pathlib.Path) -> None:
    for data in (pipe(folder), pipe(folder).load()):
        try:
            next(iter(DataLoader(data, batch_size=None)))
            raise AssertionError("a DataLoader over a " + type(data).__name__)
        except TypeError as problem:
            assert "takes forebay.torch.dataset(pipeline), with batch_size=None" in str(problem), problem


def a_data_loader_that_makes_batches_of_batches_is_refused(folder: pathlib.Path) -> None:
    for options in ({}, {"batch_size": 8}, {"batch_size": 2, "num_workers": 1, "multiprocessing_context": "fork"}):
        try:
            next(iter(DataLoader(fb.torch.dataset(pipe(folder)), **options)))  # type: ignore[arg-type]
            raise AssertionError(options)
        except TypeError as problem:
            assert "give it batch_size=None, and say the size in the pipeline" in str(problem), problem


def workers_give_the_stream_of_none(folder: pathlib.Path) -> None:
    expected = epochs(pipe(folder), 3)
    for options in ({}, {"multiprocessing_context": "spawn"}, {"persistent_workers": True}):
        batches = batches_of(fb.torch.dataset(pipe(folder)), 2, **options)
        assert len(batches) == len(expected[0])
        assert [ids(batches), ids(batches), ids(batches)] == expected, options
    data = fb.torch.dataset(pipe(folder))
    loop = iter(data)   # is alive while the workers are made
    assert next(loop)["id"].tolist() == expected[0][0] and ids(batches_of(data, 1, multiprocessing_context="spawn")) == expected[1]
    assert ids(loop) == expected[0][1:]


def workers_stand_beside_row_shards(folder: pathlib.Path) -> None:
    for rank in range(2):
        shard = (rank, 2)
        batches = batches_of(fb.torch.dataset(pipe(folder), shard=shard), 3)
        assert [ids(batches), ids(batches)] == epochs(pipe(folder), 2, shard=shard)


def a_state_after_any_batch_goes_on_with_other_workers(folder: pathlib.Path) -> None:
    expected = epochs(pipe(folder), 2)
    data = fb.torch.dataset(pipe(folder))
    states = [data.state_dict(after=batch) for batch in batches_of(data, 2)]
    for done, workers in ((1, 0), (7, 3), (len(states), 2)):
        again = fb.torch.dataset(pipe(folder))
        again.load_state_dict(states[done - 1])
        batches = batches_of(again, workers)
        rest = expected[0][done:]
        assert ids(batches) == (rest or expected[1]), done
        if rest:
            assert ids(batches) == expected[1]
    kept = fb.torch.dataset(pipe(folder))
    kept.load_state_dict(states[4])
    kept.set_epoch(0)
    assert ids(kept) == expected[0][5:]
    kept.load_state_dict(states[4])
    kept.set_epoch(1)
    assert ids(kept) == expected[1]


def a_state_near_the_end_of_an_epoch_goes_on_with_any_workers(folder: pathlib.Path) -> None:
    """Also near the end of an epoch, where the rest has fewer batches than there are workers; and the whole epoch after it."""
    for pipeline in (pipe(folder), pipe(folder).epoch_boundary("straddle")):
        expected = epochs_of(pipeline, 3)
        data = fb.torch.dataset(pipeline)
        states = [data.state_dict(after=batch) for batch in batches_of(data, 2)]
        assert len(states) == len(expected[0])
        near = len(states) - 5
        for done, state in enumerate(states, 1):
            for workers in (0, 1, 2, 3, 4) if done > near else (0, 3) if done % 5 == 0 else ():   # test_stateful_data_loader.py has all
                again = fb.torch.dataset(pipeline)
                again.load_state_dict(state)
                batches = batches_of(again, workers)
                at = 0 if expected[0][done:] else 1
                assert ids(batches) == (expected[0][done:] or expected[1]), (done, workers)
                if done > near:
                    assert ids(batches) == expected[at + 1], (done, workers)


def epochs_of(pipeline: fb.Pipeline, count: int) -> list[list[list[int]]]:
    """As the data set goes through them, without workers."""
    data = fb.torch.dataset(pipeline)
    return [ids(data) for _ in range(count)]


def workers_do_not_say_where_the_training_is(folder: pathlib.Path) -> None:
    data = fb.torch.dataset(pipe(folder))
    batches = batches_of(data, 2)
    loop = iter(batches)
    batch = next(loop)
    for call, words in ((data.state_dict, "give it, state_dict(after=batch)"),):
        try:
            call()
            raise AssertionError("the state of the next epoch, in the middle of one")
        except fb.StateError as error:
            assert words in str(error), error
    state = data.state_dict(after=batch)
    expected = epochs_of(pipe(folder), 1)[0]
    again = fb.torch.dataset(pipe(folder))
    again.load_state_dict(state)
    assert again.state_dict() == state and ids(again) == expected[1:]


class AsksInWorkers(torch.utils.data.IterableDataset):
    """Asks each worker for its state, and gives it one, as torchdata's StatefulDataLoader does: at the beginning of the loop and
    behind each batch. Gives (worker, batch, state)."""

    def __init__(self, data: Any, states: "dict[int, Any]") -> None:
        self.data, self.states = data, states

    def __iter__(self) -> Any:
        worker = torch.utils.data.get_worker_info().id
        if worker in self.states:
            self.data.load_state_dict(self.states[worker])
        loop = iter(self.data)
        yield worker, None, self.data.state_dict()
        for batch in loop:
            yield worker, batch, self.data.state_dict()
        yield worker, None, self.data.state_dict()


def workers_go_on_by_their_own_states(folder: pathlib.Path) -> None:
    for pipeline in (pipe(folder), pipe(folder).epoch_boundary("straddle")):
        expected = epochs_of(pipeline, 3)
        for workers in (1, 3):
            found = list(batches_of(AsksInWorkers(fb.torch.dataset(pipeline), {}), workers))
            numbered = {batch.number: batch["id"].tolist() for _, batch, _ in found if batch is not None}
            assert [numbered[number] for number in sorted(numbered)] == expected[0]
            for done in (0, 2, 11, len(expected[0])):
                states: "dict[int, Any]" = {}
                for worker, batch, state in found:
                    if worker not in states or (batch.number < done if batch is not None else done == len(expected[0])):
                        states[worker] = state
                again = fb.torch.dataset(pipeline)
                rest = {batch.number: batch["id"].tolist() for _, batch, _ in batches_of(AsksInWorkers(again, states), workers)
                        if batch is not None}
                assert [rest[number] for number in sorted(rest)] == expected[0][done:], (workers, done)
                try:
                    again.state_dict()
                    raise AssertionError("the state of the next epoch, where workers are in the middle of one")
                except fb.StateError as error:
                    assert "StatefulDataLoader, whose own state_dict() knows" in str(error), error
                assert ids(batches_of(again, workers)) == expected[1], (workers, done)


def a_state_of_a_worker_is_not_that_of_another(folder: pathlib.Path) -> None:
    data = fb.torch.dataset(pipe(folder))
    states = {worker: state for worker, _, state in batches_of(AsksInWorkers(data, {}), 2)}
    for workers, given, words in ((3, states, "the state is of worker 0 of 2, and this is worker 0 of 3; go on with num_workers=2"),
                                  (2, {0: states[1]}, "the state is of worker 1 of 2, and this is worker 0 of 2"),
                                  (2, {0: {}}, "the state has no")):
        try:
            list(batches_of(AsksInWorkers(fb.torch.dataset(pipe(folder)), given), workers))
            raise AssertionError(words)
        except fb.StateError as error:
            assert words in str(error) or words == "the state has no", error
    try:
        data.load_state_dict(states[1])
        raise AssertionError("a state of one worker is not that of the loop")
    except fb.StateError as error:
        assert "this is the state of worker 1 of 2 of a DataLoader, not that of the loop" in str(error), error


def workers_take_a_state_of_the_whole_loop(folder: pathlib.Path) -> None:
    expected = epochs_of(pipe(folder), 2)
    data = fb.torch.dataset(pipe(folder))
    state = [data.state_dict(after=batch) for batch, _ in zip(batches_of(data, 2), range(7))][-1]
    again = fb.torch.dataset(pipe(folder))
    rest = {batch.number: batch["id"].tolist() for _, batch, _ in batches_of(AsksInWorkers(again, {0: state, 1: state, 2: state}), 3)
            if batch is not None}
    assert [rest[number] for number in sorted(rest)] == expected[0][7:] and ids(batches_of(again, 2)) == expected[1]


def a_state_goes_on_with_other_weights(folder: pathlib.Path) -> None:
    def mixed(*weights: int) -> fb.Pipeline:
        return fb.mix([records(folder / name) for name in "ab"], weights=weights, until="all").batch(12).epochs(2).epoch_boundary()

    for name in "ab":
        (folder / name).mkdir(exist_ok=True)
    with mixed(1, 1).load() as loader:
        for _ in range(4):
            next(loader)
        state = loader.state_dict()
    with mixed(1, 9).load() as loader:
        loader.load_state_dict(state, accept=["weights"])
        whole = [batch["id"].tolist() for batch in next(loader.epochs())]
    for workers in (0, 2):
        data = fb.torch.dataset(mixed(1, 9))
        data.load_state_dict(state, accept=["weights"])
        assert [batch["id"].tolist() for batch in batches_of(data, workers)] == whole, workers


def a_state_without_a_batch_is_the_place_of_this_process(folder: pathlib.Path) -> None:
    expected = epochs(pipe(folder), 1)[0]
    data = fb.torch.dataset(pipe(folder))
    again = fb.torch.dataset(pipe(folder))
    again.load_state_dict(data.state_dict())
    assert ids(again) == expected
    for position in ({}, {"epoch": 1}):
        if position:
            data.set_epoch(1)
            again.load_state_dict(data.state_dict())
            assert ids(again) == epochs(pipe(folder), 2)[1]
        loop = iter(data)
        again.load_state_dict(data.state_dict())   # of a loop that has begun and taken nothing
        assert ids(again) == (epochs(pipe(folder), 2)[1] if position else expected)
    data.set_epoch(0)
    loop = iter(data)
    next(loop), next(loop)
    again.load_state_dict(data.state_dict())
    assert ids(again) == expected[2:]


def filters_and_straddling_epochs_count_their_batches_on_the_way(folder: pathlib.Path) -> None:
    filtered = pipe(folder).seed(6)
    filtered = fb.tfrecord(folder / "part-*.tfrecord").example({"id": fb.fixed("int64")}).filter("id % 3 == 1").batch(5)
    data = fb.torch.dataset(filtered)
    data.set_epoch(2)
    assert ids(batches_of(data, 2)) == epochs(filtered, 3)[2]
    straddling = pipe(folder).epoch_boundary("straddle")
    with straddling.epochs(None).load() as loader:
        whole = [[batch["id"].tolist() for batch in epoch] for epoch, _ in zip(loader.epochs(), range(3))]
    batches = batches_of(fb.torch.dataset(straddling), 2)
    assert [ids(batches), ids(batches), ids(batches)] == whole


def a_batch_keeps_lengths_epoch_and_mask(folder: pathlib.Path) -> None:
    write_parts(folder)
    padded = examples(sorted(map(str, folder.glob("*.tfrecord")))).batch(12, pad=True, remainder="pad")
    last = list(fb.torch.dataset(padded))[-1]
    assert (last.epoch, last.rows, last.valid_rows) == (0, 12, 306 % 12 or 12)
    assert last.mask.tolist() == [row < last.valid_rows for row in range(12)]
    assert torch.equal(last.lengths["tokens"][:last.valid_rows], (last["id"][:last.valid_rows] % 4))
    for other in (pickle.loads(pickle.dumps(last)), last.to("cpu")):
        assert type(other) is fb.torch.TensorBatch and torch.equal(other["x"], last["x"])
        assert other.mask.tolist() == last.mask.tolist() and other._position() == last._position()
    rebuilt = type(last)({name: value for name, value in last.items()})
    assert dict(rebuilt).keys() == last.keys()


def a_pickled_data_set_never_writes_to_a_file_of_others(folder: pathlib.Path) -> None:
    data = fb.torch.dataset(pipe(folder))
    data.set_epoch(1)
    text, again = pickle.dumps(data), pickle.loads(pickle.dumps(data))
    del data
    other = folder / "other"
    other.write_bytes(b"precious")
    files = [open(other, "r+b") for _ in range(50)]   # one of them gets the number of the memory
    fresh = pickle.loads(text)
    expected = epochs(pipe(folder), 2)
    assert (ids(again), ids(fresh)) == (expected[1], expected[0])   # what nobody remembers begins with the first epoch
    assert other.read_bytes() == b"precious" and len(files) == 50


def a_batch_without_its_place_is_refused(folder: pathlib.Path) -> None:
    data = fb.torch.dataset(pipe(folder))
    batch = next(iter(data))
    try:
        data.state_dict(after=type(batch)(dict(batch)))
    except TypeError as problem:
        assert "collate_fn=fb.torch.as_it_is" in str(problem)
    else:
        raise AssertionError("a batch of values only has no state")


def batches_are_trees_of_torch(folder: pathlib.Path) -> None:
    from torch.utils import _pytree
    batch = next(pipe(folder).load())
    leaves, spec = _pytree.tree_flatten(batch)
    back = _pytree.tree_unflatten([leaf + 1 for leaf in leaves], spec)
    assert type(back) is fb.Batch and back["id"].tolist() == (batch["id"] + 1).tolist()
    assert type(_pytree.tree_map(lambda leaf: leaf, fb.torch.to(batch))) is not None


def a_training_that_stops_anywhere_goes_on_with_the_same_losses(folder: pathlib.Path) -> None:
    """Two epochs with two workers, in one go and from a checkpoint in the middle of an epoch."""
    def train(start: Any, steps: int) -> tuple[list[float], Any]:
        torch.manual_seed(1)
        model = torch.nn.Linear(2, 1)
        data = fb.torch.dataset(pipe(folder))
        checkpoint = {"model": model.state_dict(), "epoch": 0}
        if start is not None:
            model.load_state_dict(start["model"])
            data.load_state_dict(start["data"])
        losses: list[float] = []
        for _ in range(start["epoch"] if start else 0, 2):
            for batch in batches_of(data, 2):
                loss = ((model(batch["x"] / 100) - batch["id"].unsqueeze(1) / 100) ** 2)[batch.mask].mean()
                model.zero_grad()
                loss.backward()
                with torch.no_grad():
                    for weight in model.parameters():
                        weight -= 0.01 * weight.grad
                losses.append(loss.item())
                if len(losses) == steps:
                    values = {name: value.clone() for name, value in model.state_dict().items()}
                    return losses, {"model": values, "data": data.state_dict(after=batch), "epoch": batch.epoch}
        return losses, checkpoint

    whole, _ = train(None, 10_000)
    for steps in (9, len(whole) // 2 + 4):
        first, checkpoint = train(None, steps)
        rest, _ = train(checkpoint, 10_000)
        assert first + rest == whole, steps
