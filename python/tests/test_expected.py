# SPDX-License-Identifier: Apache-2.0
"""Documents over real data give the digests that the original systems give (tests/expected)."""
from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import ROOT
from digest import Digest

import forebay as fb

CASES = sorted((ROOT / "tests/expected").glob("*/expected.json"))


def test_there_are_expected_digests():
    assert len(CASES) == 5


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_stream_has_the_expected_digest(case, threads):
    digest = Digest()
    document = next(path for path in (case.parent / "loader.json", case.parent / "pipeline.json") if path.exists())
    with fb.load(document, threads=threads) as loader:
        for batch in loader:
            digest.add(dict(batch))
    expected, found = json.loads(case.read_text()), digest.result()
    for tensor in (*expected["tensors"].values(), *found["tensors"].values()):
        tensor["sum"] = float(np.float32(tensor["sum"]))
    assert found == expected
