# SPDX-License-Identifier: Apache-2.0
"""What is said while a batch does not come."""
from __future__ import annotations

import json
import pathlib
import re
import warnings

import pytest
from conftest import counts_document, write_counts
from command import forebay

import forebay as fb

NOTICE = (r"batch 0 has been waited for \d+\.\d s\. worker 1 (decides|decodes|reads|rests).* for \d+\.\d s.*\. "
          r"\d+ batches are being made, \d+ tickets wait, the order is (open|being decided|decided); [\d.]+ of [\d.]+ MiB are in use")


@pytest.fixture
def one_large_batch(tmp_path: pathlib.Path) -> dict[str, object]:
    path = write_counts(tmp_path, 2000, compression="gzip")
    document = counts_document(path, 800_000, threads=1)
    document["source"]["tfrecord"]["files"] = [path] * 400
    return document


def test_a_slow_batch_warns_who_is_at_what(one_large_batch: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREBAY_STALL_SECONDS", "0.01")
    with fb.load(one_large_batch) as loader, pytest.warns(RuntimeWarning) as warned:
        assert len(next(loader)["y"]) == 800_000
        assert loader.stats().waiting == ""
    assert re.fullmatch(NOTICE, str(warned[0].message))


def test_a_run_without_stalls_says_nothing(one_large_batch: dict[str, object]) -> None:
    with fb.load(one_large_batch) as loader, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(next(loader)["y"]) == 800_000


def test_the_command_says_it_on_standard_error(one_large_batch: dict[str, object], tmp_path: pathlib.Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREBAY_STALL_SECONDS", "0.01")
    document = tmp_path / "document.json"
    document.write_text(json.dumps(one_large_batch))
    done = forebay("run", document)
    assert done.returncode == 0
    assert re.fullmatch("forebay: " + NOTICE, done.stderr.splitlines()[0])
    assert "800000 rows, 1 batches" in done.stdout
