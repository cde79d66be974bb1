# SPDX-License-Identifier: Apache-2.0
"""The console script `forebay` of the package, and `python -m forebay`, do what the compiled command does: every verb, every exit code."""

import os
import re
import subprocess
import sys

import pytest
from command import COMMAND, interrupt_while_reading

import forebay as fb

SCRIPT = os.environ.get("FOREBAY_SCRIPT")   # the console script of an installed wheel; otherwise its module
CONSOLE = [os.path.abspath(SCRIPT)] if SCRIPT else [sys.executable, "-m", "forebay_command"]
DOCUMENT = """{"source": {"tfrecord": {"files": ["data.tfrecord"]}}, "epochs": %s,
 "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []}}}}, "steps": [{"batch": {"size": 4}}]}"""
# Arguments, and the exit code. The files are those of the fixture.
CASES = [
    ("run doc.json --digest --json", 0), ("run doc.json --save-state saved.json", 0), ("state state.json", 0), ("head doc.json", 0),
    ("check doc.json", 0), ("explain batch", 0), ("schema data.tfrecord", 0), ("index data.tfrecord --force", 0), ("verify data.tfrecord", 0),
    ("bench doc.json --help", 0), ("run", 2), ("rum doc.json", 2), ("check doc.json --jsno", 2), ("", 2), ("verify corrupt.tfrecord", 3),
    ("head nowhere.tfrecord", 4), ("--version", 0),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("console")
    fb.write_records(path / "data.tfrecord", [fb.encode_example({"id": [i]}) for i in range(10)])
    whole = (path / "data.tfrecord").read_bytes()
    (path / "corrupt.tfrecord").write_bytes(whole[:20] + bytes([whole[20] ^ 1]) + whole[21:])
    (path / "doc.json").write_text(DOCUMENT % 1)
    (path / "endless.json").write_text(DOCUMENT % "null")
    subprocess.run([COMMAND, "run", "doc.json", "--save-state", "state.json"], check=True, capture_output=True, cwd=path)
    return path


def answer(command, arguments, folder):
    """Exit code, output and errors; numbers such as rates differ from run to run, and so does what they say."""
    done = subprocess.run([*command, *arguments.split()], capture_output=True, text=True, timeout=60, cwd=folder)
    varies = r'bottleneck.*|"seconds".*|[\d.]+ (?:rows|batches|bytes|[kMG]i?B)/s.*'
    return done.returncode, re.sub(r"[\d.]+", "0", re.sub(varies, "", done.stdout)), done.stderr


def verbs():
    listed = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z]+) ", listed.split("Subcommands:")[1], re.M)


@pytest.mark.parametrize("arguments, code", CASES)
def test_the_console_script_answers_as_the_command_does(arguments, code, folder):
    expected = answer([COMMAND], arguments, folder)
    assert expected[0] == code
    assert answer(CONSOLE, arguments, folder) == expected


def test_every_verb_is_there(folder):
    assert {"run", "head", "view"} <= set(verbs())
    for verb in set(verbs()) - {"view"}:
        assert answer(CONSOLE, f"{verb} --help", folder) == answer([COMMAND], f"{verb} --help", folder)


def test_python_dash_m_forebay_is_the_same(folder):
    assert answer([sys.executable, "-m", "forebay"], "check nowhere.json", folder) == answer([COMMAND], "check nowhere.json", folder)


def test_view_is_a_program_of_python(folder):
    code, out, _ = answer(CONSOLE, "view --help", folder)
    assert code == 0 and "--vocabulary" in out


def test_an_interrupt_ends_the_script_with_code_130_and_one_line(folder):
    process = subprocess.Popen([*CONSOLE, "run", folder / "endless.json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    code, _, errors, took = interrupt_while_reading(process, folder / "data.tfrecord")
    assert (code, len(errors.strip().splitlines())) == (130, 1)
    assert took < 5


def test_arguments_that_are_no_utf8_arrive_byte_for_byte(folder):
    path = os.path.join(os.fsencode(folder), b"\xff.tfrecord")
    with open(path, "wb") as out, open(folder / "data.tfrecord", "rb") as whole:
        out.write(whole.read())
    assert subprocess.run([*CONSOLE, "verify", path], capture_output=True, timeout=60).returncode == 0
