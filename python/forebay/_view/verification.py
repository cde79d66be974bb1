# SPDX-License-Identifier: Apache-2.0
"""Verifies the files of the plan, when the page asks: one thread in the background, which the page can stop."""
from __future__ import annotations

import threading
from typing import Any, Optional

from forebay import _core
from forebay.corruption import FileReport, report_of
from forebay.errors import Error
from forebay.loader import Plan

__all__ = ["Verification"]

SHOWN = 500           # places in one answer, at most
MAX_TEXT = 1000       # characters of a reason or a path


class Verification:
    """Reads every byte of the files of `plan`. Any thread may call it; `start` begins anew, `stop` waits for the end."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lock = threading.Lock()
        self._thread: Optional[threading.Thread] = None
        self._stopped = threading.Event()
        self._state: dict[str, Any] = {"state": "not begun"}

    def start(self) -> None:
        """Does nothing while one is running."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._stopped.clear()
            self._state = {"state": "running", "fraction": 0.0, "files": 0, "records": 0, "bytes": 0, "corrupt_records": 0,
                           "unreadable_ranges": 0, "corrupt_bytes": 0, "seen": 0, "places": [], "error": ""}
            self._thread = threading.Thread(target=self._run, name="forebay verify", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        thread = self._thread
        if thread is not None:
            thread.join()

    def state(self) -> dict[str, Any]:
        with self._lock:
            return {**self._state, "places": list(self._state.get("places", []))}

    def _run(self) -> None:
        end, error = "done", ""
        try:
            _core.verify_plan(self._plan, 1, self._add, self._progress)
        except Error as problem:
            end, error = ("stopped", "") if self._stopped.is_set() else ("failed", str(problem)[:4000])
        with self._lock:
            self._state.update(state=end, error=error)

    def _progress(self, fraction: float, records: int, bytes_read: int, corrupts: int) -> bool:
        with self._lock:
            self._state.update(fraction=fraction, seen=corrupts)
        return not self._stopped.is_set()

    def _add(self, found: tuple[Any, ...]) -> None:
        report = report_of(found)
        with self._lock:
            state = self._state
            state["files"] += 1
            for name in ("records", "bytes", "corrupt_records", "unreadable_ranges", "corrupt_bytes"):
                state[name] += getattr(report, name)
            state["places"] += _places(report)[:max(0, SHOWN - len(state["places"]))]


def _places(report: FileReport) -> list[dict[str, Any]]:
    file = report.file[:MAX_TEXT]
    out: list[dict[str, Any]] = [
        {"file": file, "what": place.what, "record": place.record, "byte": place.offset, "bytes": place.bytes,
         "reason": place.reason[:MAX_TEXT]} for place in report.places]
    if report.error is not None:
        out.append({"file": file, "what": "file", "record": None, "byte": None, "bytes": None, "reason": report.error[:MAX_TEXT]})
    return out
