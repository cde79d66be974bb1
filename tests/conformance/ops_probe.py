# SPDX-License-Identifier: Apache-2.0
"""Parts that have no door in Python: asked through the `forebay_probe` program, one JSON line a question."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import compare

Vector = dict[str, Any]
_ROOT = Path(__file__).resolve().parents[2]
_running: list[subprocess.Popen[str]] = []


def _start() -> subprocess.Popen[str]:
    path = os.environ.get("FOREBAY_PROBE", str(_ROOT / "build/release/forebay_probe"))
    return subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")


def ask(**question: Any) -> dict[str, Any]:
    if not _running:
        _running.append(_start())
    probe = _running[0]
    assert probe.stdin and probe.stdout
    probe.stdin.write(json.dumps(question) + "\n")
    probe.stdin.flush()
    line = probe.stdout.readline()
    if not line:
        _running.clear()
        return {"died": probe.wait()}
    return json.loads(line)


def _check(vector: Vector, answer: dict[str, Any], key: str) -> list[str]:
    expect = vector["expect"]
    if "died" in answer:
        return [f"the probe ended with {answer['died']}"]
    if "error" in expect:
        error = Exception(answer["error"]) if "error" in answer else None
        difference = compare.error_difference(expect["mentions"], error)
        return [difference] if difference else []
    if "error" in answer:
        return [f"error: {compare.short(answer['error'], 200)}"]
    want = expect["ok"]
    same = answer.get(key) == want[key] and _kinds(answer[key]) == _kinds(want[key])
    return [] if same else [f"{compare.short(answer, 200)}, expected {want}"]


def _kinds(value: Any) -> Any:
    """3 and 3.0 and true are equal in Python, but not the same."""
    if isinstance(value, list):
        return [_kinds(item) for item in value]
    return {key: _kinds(item) for key, item in value.items()} if isinstance(value, dict) else type(value).__name__


def parse_slice(vector: Vector, folder: Path) -> list[str]:
    return _check(vector, ask(op="parse_slice", slice=vector["args"]["slice"]), "items")


def type_rule(vector: Vector, folder: Path) -> list[str]:
    answer = ask(op="type_rule", type=vector["args"]["type"], value=vector["input"]["value"])
    want = vector["expect"]["ok"]
    if answer.get("accepted") != want["accepted"]:
        return [f"{compare.short(answer, 200)}, expected {want}"]
    return _check(vector, answer, "value") if want["accepted"] else []


def _read(vector: Vector, folder: Path, op: str, key: str) -> list[str]:
    path = folder / vector["input"]["file_name"]
    path.write_text(vector["input"]["text"], encoding="utf-8", newline="")
    return _check(vector, ask(op=op, path=str(path)), key)


def read_config(vector: Vector, folder: Path) -> list[str]:
    return _read(vector, folder, "read_config", "object")


def read_manifest(vector: Vector, folder: Path) -> list[str]:
    return _read(vector, folder, "read_manifest", "accepted")


def crc32c(vector: Vector, folder: Path) -> list[str]:
    answer = ask(op="crc32c", hex=base64.b64decode(vector["input"]["data_b64"]).hex())
    want = vector["expect"]["ok"]
    return [] if answer == want else [f"{answer}, expected {want}"]
