# SPDX-License-Identifier: Apache-2.0
"""Every place of an epoch, saved and resumed under torch's DataLoader and torchdata's StatefulDataLoader (make test-frameworks)."""
from __future__ import annotations

import pathlib
from typing import Any

import pytest

import forebay as fb

try:
    from torchdata.stateful_dataloader import StatefulDataLoader
except ImportError:
    pytest.skip("torchdata is not installed: make test-frameworks", allow_module_level=True)

from dataset_cases import batches_of, epochs_of, ids, pipe

WORKERS = (0, 1, 2, 3, 4)


def stateful(data: Any, workers: int, **options: Any) -> Any:
    if workers:
        options["multiprocessing_context"] = "fork"
    return StatefulDataLoader(data, batch_size=None, num_workers=workers, collate_fn=fb.torch.as_it_is, **options)


@pytest.fixture(params=["hard", "straddle"])
def pipeline(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> fb.Pipeline:
    return pipe(tmp_path).epoch_boundary(request.param)


@pytest.mark.parametrize("options", [{}, {"snapshot_every_n_steps": 4}, {"persistent_workers": True}])
@pytest.mark.parametrize("workers", WORKERS)
def test_a_stateful_data_loader_goes_on_behind_every_batch(pipeline: fb.Pipeline, workers: int, options: "dict[str, Any]") -> None:
    if workers == 0:
        options = {name: value for name, value in options.items() if name != "persistent_workers"}
    expected = epochs_of(pipeline, 3)
    loader = stateful(fb.torch.dataset(pipeline), workers, **options)
    states, found = [loader.state_dict()], []
    for batch in loader:
        found.append(batch["id"].tolist())
        states.append(loader.state_dict())
    assert found == expected[0]
    states.append(loader.state_dict())    # of a loop that has ended
    for done, state in enumerate(states):
        again = stateful(fb.torch.dataset(pipeline), workers, **options)
        again.load_state_dict(state)
        rest = expected[0][done:] if done < len(states) - 1 else expected[1]
        assert ids(again) == rest, (done, workers)
        if done % 5 == 0 or done > len(states) - 4:
            assert ids(again) == expected[1 if rest is not expected[1] else 2], (done, workers)


def test_a_state_goes_on_in_the_same_loader(pipeline: fb.Pipeline) -> None:
    expected = epochs_of(pipeline, 3)
    loader = stateful(fb.torch.dataset(pipeline), 2)
    for _, batch in zip(range(5), loader):
        state = loader.state_dict()
    assert len(ids(loader)) > 0               # the next epoch
    loader.load_state_dict(state)
    assert ids(loader) == expected[0][5:] and ids(loader) == expected[1]


def test_other_numbers_of_workers_are_refused_there_and_work_by_the_state_of_the_data_set(pipeline: fb.Pipeline) -> None:
    expected = epochs_of(pipeline, 2)
    data = fb.torch.dataset(pipeline)
    loader = stateful(data, 2)
    for _, batch in zip(range(5), loader):
        state, own = loader.state_dict(), data.state_dict(after=batch)
    other = stateful(fb.torch.dataset(pipeline), 3)
    other.load_state_dict(state)
    with pytest.raises(fb.StateError, match="go on with num_workers=2, or take data.state_dict\\(after=batch\\)"):
        next(iter(other))
    data = fb.torch.dataset(pipeline)
    data.load_state_dict(own)
    assert ids(stateful(data, 3)) == expected[0][5:]


@pytest.mark.parametrize("workers", WORKERS)
def test_a_data_loader_goes_on_behind_every_batch(pipeline: fb.Pipeline, workers: int) -> None:
    expected = epochs_of(pipeline, 2)
    data = fb.torch.dataset(pipeline)
    states = [data.state_dict(after=batch) for batch in batches_of(data, (workers + 2) % 5)]
    for done, state in enumerate(states, 1):
        again = fb.torch.dataset(pipeline)
        again.load_state_dict(state)
        rest = expected[0][done:]
        assert ids(batches_of(again, workers)) == (rest or expected[1]), (done, workers)
