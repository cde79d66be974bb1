# SPDX-License-Identifier: Apache-2.0
"""The tables of the pages in docs/migrate: their rows, and what runs one of them."""
from __future__ import annotations

import ast
import builtins
import pathlib
import re
from typing import Any, Callable, Iterator, Mapping

import numpy as np
import pytest

import forebay as fb

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def page(name: str) -> str:
    return (DOCS / "migrate" / name).read_text()


def rows(name: str) -> list[tuple[str, str]]:
    """(call, what it gives) of every row of the tables of a page: their last two cells."""
    lines = page(name).splitlines()
    heads = {number - 1 for number, line in enumerate(lines) if line.startswith("| ---")}
    bodies = [line for number, line in enumerate(lines)
              if line.startswith("|") and number not in heads and number - 1 not in heads]
    cells = [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in bodies]
    return [(row[-2], row[-1]) for row in cells]


def named(name: str) -> str:
    """The first cells of all rows of a page: the names of the other system."""
    return "\n".join(line.split("|")[1] for line in page(name).splitlines() if line.startswith("|"))


def without_row(name: str, words: list[str]) -> list[str]:
    """The names that no row of a page has in its first cell."""
    text = named(name)
    return [word for word in words if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is None]


def plain(value: Any) -> Any:
    """Arrays as lists, so that literals of Python say what comes."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, fb.Ragged):
        return value.to_list()
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value)) if type(value) in (list, tuple) else tuple(map(plain, value))
    return value


def show(pipe: fb.Pipeline, tensor: str = "", **run: Any) -> list[Any]:
    """The batches of a pipeline: the values of a tensor, or of the only one; else dicts of all."""
    with pipe.load(**{"threads": 1, **run}) as loader:
        batches = [plain(dict(batch)) for batch in loader]
    if tensor:
        return [batch[tensor] for batch in batches]
    return [next(iter(batch.values())) if len(batch) == 1 else batch for batch in batches]


def names_of(make: Callable[[pathlib.Path], dict[str, Any]]) -> Any:
    """A fixture of a module: what `make` gives for a new folder, which is the working directory meanwhile."""
    @pytest.fixture(scope="module")
    def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
        folder = tmp_path_factory.mktemp("page")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            yield make(folder)
    return names


def usual() -> dict[str, Any]:
    """Names that rows of several pages use."""
    return {"fb": fb, "np": np, "show": show, "items": [{"n": number} for number in range(6)],
            "numbers": fb.arrays({"n": np.arange(6)}), "words": fb.arrays({"w": fb.Ragged(np.arange(1, 7), [0, 1, 3, 6])}, name="words")}


def check(call: str, gives: str, names: Mapping[str, Any]) -> None:
    """A row holds: its call gives the value of the last cell, a literal of Python, or raises the error of that name."""
    error = getattr(fb, gives.removeprefix("fb."), None) or getattr(builtins, gives, None)
    if isinstance(error, type) and issubclass(error, Exception):
        with pytest.raises(error):
            eval(call, dict(names))  # noqa: S307 (a row of our own page)
    else:
        assert plain(eval(call, dict(names))) == ast.literal_eval(gives)  # noqa: S307 (a row of our own page)
