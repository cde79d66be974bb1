# SPDX-License-Identifier: Apache-2.0
"""A fleet grows while a trainer waits, and shrinks while nobody takes what it makes."""
from __future__ import annotations

from forebay.ray._scaling import Report, Scaling


def after(rule: Scaling, seconds: int, workers: int, stall: float, full: float, start: int = 0) -> "list[int]":
    """The number of workers at each change within so many seconds, with two trainers, of which the second never waits."""
    changes = []
    for second in range(start, start + seconds):
        rule.heard("a", Report(stall * second, full), float(second))
        rule.heard("b", Report(0.0, max(full, 0.5)), float(second))
        wanted = rule.wanted(workers, float(second))
        if wanted != workers:
            workers = wanted
            changes.append(workers)
    return changes


def test_a_trainer_that_waits_gets_more() -> None:
    assert after(Scaling(2, 20), 200, 8, 0.05, 0.0) == [10, 13, 17, 20]
    assert after(Scaling(2, 20), 200, 8, 0.01, 0.0) == []


def test_full_windows_need_fewer() -> None:
    assert after(Scaling(2, 20), 500, 8, 0.0, 0.95) == [6, 4, 3, 2]
    assert after(Scaling(2, 20), 500, 8, 0.0, 0.85) == []


def test_three_periods_in_a_row() -> None:
    rule = Scaling(1, 9)
    assert after(rule, 22, 4, 0.5, 0.0) == []
    assert after(rule, 11, 4, 0.0, 0.0, 22) == []
    assert after(rule, 22, 4, 0.5, 0.0, 33) == []
    assert after(rule, 11, 4, 0.5, 0.0, 55) == [5]


def test_a_number_stays() -> None:
    assert after(Scaling(4, 4), 300, 4, 0.5, 0.0) == []
    assert after(Scaling(4, 4), 300, 4, 0.0, 1.0) == []
