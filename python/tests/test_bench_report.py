# SPDX-License-Identifier: Apache-2.0
"""The table of `make bench`: what took no part is named, with its reason, and packages that cannot be installed stop no other."""
from __future__ import annotations

import importlib
import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

BENCH = pathlib.Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module


def entry(name: str, **more: Any) -> "dict[str, Any]":
    return {"contestant": name, "rows_per_s": 2e6, "cpu_s_per_gb": 0.5, "check": "exact", "rounds": [1.0], "fraction_of_floor": 0.25,
            "best_peer": "rival", "ratio_to_best_peer": 4.0, "ratio_95": [3.0, 5.0], **more}


def numbers_of(*runs: "dict[str, Any]") -> "dict[str, Any]":
    return {"machine": {"cpu": "C", "cpus": 2, "ram_gb": 8.0}, "scale": 0.05, "rounds": 7, "started": "then", "runs": list(runs),
            "floors_built_with": ["-DHAVE_ISAL"], "no_floors": "", "no_data": {"W4a": "no Pillow"}, "not_listed": {}}


def test_a_table_names_everything_that_is_not_in_it(bench: Any) -> None:
    table = bench("report").table(numbers_of(
        {"workload": "W1", "threads": 1, "valid": True, "results": [entry("forebay", rounds=[1.0, 2.0]), entry("rival")],
         "failed": {"slow": "exit 1: no module | x\nmore"}},
        {"workload": "W4b", "threads": 2, "valid": False, "results": [entry("forebay", fraction_of_floor=None), entry("rival")],
         "failed": {"slow": "exit 1: no module | x"}}), {"package": "No matching distribution"})
    lines = table.splitlines()
    assert "| W1 | 1 | 2 M | 1 | rival | 2 M | 4.00 [3.00, 5.00] | 25 % | 0.50 | exact |" in lines
    assert "| W4b * | 2 | 2 M | 1 | rival | 2 M | 4.00 | – | 0.50 | exact |" in lines
    assert [line for line in lines if line.startswith("*")] == [
        "* W4a: no Pillow", "* slow (W1, W4b): exit 1: no module / x", "* package: No matching distribution"]
    assert "Without a floor: W4b. The floors were built with ISAL." in lines


def test_a_failure_of_forebay_itself_is_named_and_is_the_exit_status(tmp_path: pathlib.Path) -> None:
    (tmp_path / "numbers.json").write_text(json.dumps(numbers_of(
        {"workload": "W1", "threads": 1, "valid": True, "results": [entry("rival")], "failed": {"forebay": "exit 3: boom"}})))
    (tmp_path / "latest.svg").write_text("of another run")
    done = subprocess.run([sys.executable, BENCH / "report.py", tmp_path / "numbers.json", tmp_path], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "* forebay (W1): exit 3: boom" in (tmp_path / "latest.md").read_text()
    assert not (tmp_path / "latest.svg").exists()


def test_a_package_that_cannot_be_installed_stops_no_other(bench: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = bench("rivals_environment")
    asked: "list[tuple[str, ...]]" = []

    def pip(python: str, *arguments: str, seconds: float = 0) -> "tuple[int, str, str]":
        asked.append(arguments)
        if arguments[0] == "freeze":
            return 0, "a==1\n-e somewhere\n", ""
        return (1, "", "no version fits") if arguments[-1] == "bad" else (0, "", "")
    monkeypatch.setattr(environment, "run", pip)
    monkeypatch.setattr(environment, "WANTED", tmp_path / "wanted")
    (tmp_path / "wanted").write_text("# of the test\na\nbad\nb\n")
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/python").touch()
    assert environment.install(tmp_path / "env") == environment.install(tmp_path / "env") == str(tmp_path / "env/bin/python")
    assert environment.not_installed(tmp_path / "env") == {"bad": "no version fits"}
    assert [arguments[-1] for arguments in asked if arguments[0] == "install"] == ["a", "bad", "bad", "b"]
    assert ("install", "--prefer-binary", "a", "bad") in asked
    assert (tmp_path / "env/constraints.txt").read_text() == "a==1\n"


def test_the_picture_of_the_readme_shows_the_table_of_results() -> None:
    done = subprocess.run([sys.executable, BENCH / "speed_picture.py", "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
