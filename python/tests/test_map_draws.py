# SPDX-License-Identifier: Apache-2.0
"""Draws inside `map`: by seed and row alone, also where a library draws."""
from __future__ import annotations

import os
import pathlib
import random
import subprocess
import sys
import time
from typing import Any

import map_functions
import numpy as np
import pytest

import forebay as fb

KINDS = [(0, "threads"), (2, "processes")]


def source() -> fb.Source:
    return fb.arrays({"id": np.arange(23)})


def draws_of(pipeline: Any, workers: int, inside: Any, shard: Any = None) -> dict[tuple[int, int], list[list[float]]]:
    """By epoch and record, what was drawn for each of its occurrences, in their order."""
    out: dict[tuple[int, int], list[list[float]]] = {}
    with pipeline.map(map_functions.library_draws, per="row", workers=workers, inside=inside).load(shard=shard) as loader:
        for row, (number, draws) in enumerate(one for batch in loader
                                              for one in zip(batch["id"].tolist()[:batch.valid_rows], batch["draws"].tolist())):
            out.setdefault((row // 23 if shard is None else 0, number), []).append(draws)
    return out


def test_draws_depend_on_seed_and_row_alone_whatever_workers_and_batches() -> None:
    seen = [draws_of(source().batch(size).epochs(2).seed(3), *kind) for size in (4, 7, 23) for kind in KINDS]
    flat = [number for rows in seen[0].values() for row in rows for number in row]
    assert len(seen[0]) == 46 and len(set(flat)) == len(flat) == 138
    assert all(one == seen[0] for one in seen)
    other = [number for rows in draws_of(source().batch(4).epochs(2).seed(4), 0, "threads").values() for row in rows
             for number in row]
    assert not set(flat) & set(other)


@pytest.mark.parametrize("workers, inside", KINDS)
def test_a_record_that_comes_again_in_an_epoch_has_draws_of_its_own(workers: int, inside: Any) -> None:
    drawn = draws_of(source().sequence_order("random_sample").batch(5, remainder="drop").seed(1), workers, inside)
    assert max(map(len, drawn.values())) > 1
    flat = [tuple(draws) for rows in drawn.values() for draws in rows]
    assert len(set(flat)) == len(flat)


def test_shards_draw_what_the_whole_run_draws() -> None:
    pipeline = source().shuffle(buffer=9).batch(6, remainder="pad").seed(3)
    parts = [draws_of(pipeline, 0, "threads", (index, 3)) for index in range(3)]
    whole = draws_of(pipeline, 0, "threads")
    assert {number: rows for part in parts for (_, number), rows in part.items()} == {
        number: rows for (_, number), rows in whole.items()}


WINDOWS = [".chunk(3, keys=['x'])", ".chunk(2, keys=['x'], step=1)", ".stack(['x'], window=2)", ".continuous(3, 4, keys=['x'], stride=3, tail='keep')",
           ".unroll(3, keys=['x'])", ".chunk(3, keys=['x']).random_sample(40, buffer=4)", ".chunk(3, keys=['x']).shuffle(5).repeat(2)"]


def windows(stages: str) -> fb.Pipeline:
    lengths = [n % 7 + 1 for n in range(23)]
    splits = np.cumsum([0, *lengths])
    rows = fb.arrays({"id": np.arange(23), "x": fb.Ragged(np.arange(splits[-1]), splits)})
    return eval(f"rows{stages}", {"rows": rows}).epochs(2).seed(3)  # type: ignore[no-any-return]


@pytest.mark.parametrize("stages", WINDOWS)
def test_each_window_draws_for_itself_in_any_batch_and_after_a_restart(stages: str) -> None:
    def draws(batches: Any) -> "list[list[tuple[float, ...]]]":
        return [[tuple(row) for row in batch["draws"].tolist()[:batch.valid_rows]] for batch in batches]

    def pipe(size: int) -> Any:
        return windows(stages).batch(size, pad=True).map(library_draws_of_a_window, per="row")
    whole = draws(pipe(4).load(threads=1))
    flat = [row for batch in whole for row in batch]
    assert len(set(flat)) == len(flat) > 40
    assert [row for batch in draws(pipe(7).load(threads=4)) for row in batch] == flat
    with pipe(4).load(threads=2) as loader:
        for done in range(len(whole)):
            state = loader.state_dict()
            if done % 4 == 0:
                with pipe(4).load(threads=1) as again:
                    again.load_state_dict(state)
                    assert draws(again) == whole[done:], done
            next(loader)


def library_draws_of_a_window(row: Any, rng: np.random.Generator) -> dict[str, Any]:
    return {"draws": [random.random(), np.random.rand(), rng.random()]}


@pytest.mark.parametrize("batcher", [".token_budget(12, keys=['x'])", ".packed(8, 3, keys=['x'])", ".buckets('x', [3], [4, 2], longer='bucket')",
                                     ".unroll(2, keys=['x']).stateful(4)", ".frames(['x'], batch_size=9)"])
@pytest.mark.parametrize("orders", ["", ".repeat(2)"])
def test_rows_of_batchers_of_sequences_draw_the_same_in_shards_and_after_a_restart(batcher: str, orders: str) -> None:
    def draws(batches: Any) -> "list[list[list[float]]]":
        return [batch["draws"].tolist()[:batch.valid_rows] if "draws" in batch else [] for batch in batches]   # no row, no tensor
    pipe = windows(orders + batcher).map(library_draws_of_a_window, per="row")
    whole = draws(pipe.load(threads=1))
    assert draws(pipe.load(threads=4)) == whole and len(whole) > 5
    with pipe.load(threads=2) as loader:
        for done in range(len(whole)):
            state = loader.state_dict()
            if done % 4 == 0:
                with pipe.load(threads=1) as again:
                    again.load_state_dict(state)
                    assert draws(again) == whole[done:], done
            next(loader)
    for index in range(2):
        shard = {"index": index, "count": 2, "by": "row"}
        assert draws(pipe.load(threads=1, shard=shard)) == draws(pipe.load(threads=4, shard=shard))


def test_the_program_has_its_own_generators_back() -> None:
    random.seed(1), np.random.seed(1)
    expected = [random.random(), random.random(), np.random.rand(), np.random.rand()]
    random.seed(1), np.random.seed(1)
    found = [random.random(), 0.0, np.random.rand(), 0.0]
    draws_of(source().batch(4), 0, "threads")
    found[1], found[3] = random.random(), np.random.rand()
    assert found == expected


def test_a_function_of_a_batch_draws_by_its_first_row() -> None:
    def draws(batch: Any, rng: np.random.Generator) -> dict[str, Any]:
        return {"draws": np.array([[random.random(), np.random.rand(), rng.random()]] * batch.rows)}
    runs = [[batch["draws"].tolist() for batch in source().batch(4).epochs(2).seed(3).map(draws).load()] for _ in range(2)]
    assert runs[0] == runs[1] and len({batch[0][0] for batch in runs[0]}) == 12


def lines_told(folder: pathlib.Path) -> str:
    """By `program.py` of the folder, on standard error."""
    return subprocess.run([sys.executable, folder / "program.py"], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}).stderr


def test_draws_on_threads_from_what_threads_share_are_told_once(tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text("import forebay as fb, numpy as np, map_functions\n"
                                         "for name in ('library_draws', 'one_draw'):\n"
                                         "    pipe = fb.arrays({'id': np.arange(90)}).batch(3)\n"
                                         "    list(pipe.map(getattr(map_functions, name), per='row', workers=2).load())\n")
    told = lines_told(tmp_path)
    assert told == ("forebay: map: numpy.random and random gave random numbers in every call of library_draws; threads "
                    "share that generator, so two runs of one seed differ. Draw from `rng`, or say workers=1, "
                    "inside=\"processes\", where it is seeded\n")


def test_functions_on_threads_beside_the_loop_leave_the_generators_of_the_program_alone() -> None:
    def slow(row: Any) -> dict[str, Any]:
        time.sleep(0.0002)
        return {"id": row["id"]}

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        made = source().map(slow, per="row").shuffle(buffer=4).batch(3).epochs(2).seed(3)
        runs = [[batch["draws"].tolist() for batch in made.map(map_functions.library_draws, per="row").load()] for _ in range(10)]
        assert all(run == runs[0] for run in runs)
        random.seed(1)
        expected = [random.random() for _ in range(500)]
        random.seed(1)
        with made.load() as loader:
            found = []
            for _ in loader:
                found += [random.random() for _ in range(20)]
        assert found == expected[:len(found)] and len(found) == 320
    finally:
        sys.setswitchinterval(interval)


def test_a_plan_leaves_the_generators_of_the_program_alone() -> None:
    random.seed(1), np.random.seed(1)
    expected = random.random(), np.random.rand()
    random.seed(1), np.random.seed(1)
    source().map(map_functions.library_draws, per="row").shuffle(buffer=4).batch(3).plan()
    assert (random.random(), np.random.rand()) == expected


def test_draws_of_a_function_on_a_thread_beside_the_loop_are_told_once(tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text("import forebay as fb, numpy as np, map_functions\n"
                                         "pipe = fb.arrays({'id': np.arange(900)}).map(map_functions.library_draws, per='row')\n"
                                         "pipe = pipe.shuffle(buffer=4).batch(3)\n"
                                         "list(pipe.map(map_functions.library_draws, per='row').load())\n")
    told = lines_told(tmp_path)
    assert told.count("gave random numbers in every call of library_draws") == 1


@pytest.mark.parametrize("workers, inside", KINDS)
def test_torch_is_seeded_where_it_is_loaded(workers: int, inside: Any, tmp_path: pathlib.Path) -> None:
    """A module `torch` with the one generator that is asked for; tests of frameworks take the real one."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("from torch import random\n")
    (tmp_path / "torch" / "random.py").write_text(
        "class Generator:\n    seed = 0\n    def manual_seed(self, seed): self.seed = seed\n"
        "    def get_state(self): return self.seed\n    def set_state(self, state): self.seed = state\n"
        "default_generator = Generator()\n")
    (tmp_path / "drawing.py").write_text("import torch\n"
                                         "def draw(row): return {'seed': torch.random.default_generator.seed}\n")
    (tmp_path / "program.py").write_text("import forebay as fb, numpy as np, drawing\n"
                                         "pipe = fb.arrays({'id': np.arange(6)}).batch(3)\n"
                                         f"loader = pipe.map(drawing.draw, per='row', workers={workers}, inside='{inside}').load()\n"
                                         "print(*[int(seed) for batch in loader for seed in batch['seed']],\n"
                                         "      drawing.torch.random.default_generator.seed)\n")
    runs = [subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, check=True, cwd=tmp_path,
                           env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}).stdout.split()
            for _ in range(2)]
    assert runs[0] == runs[1] and len(set(runs[0])) == 7 and runs[0][6] == "0"
