# SPDX-License-Identifier: Apache-2.0
"""What the command says of wrong arguments, of files that are no documents, and of terminals it cannot draw on."""

import json
import os
import pty
import subprocess

import pytest
from command import COMMAND, forebay, interrupt_while_reading, start

import forebay as fb


@pytest.fixture
def data(tmp_path):
    fb.write_records(tmp_path / "data.tfrecord", [fb.encode_example({"id": [i]}) for i in range(10)])
    document = {
        "source": {"tfrecord": {"files": ["data.tfrecord"]}},
        "decode": {"example": {"features": {"id": {"dtype": "int64"}}}},
        "steps": [{"batch": {"size": 4}}],
    }
    (tmp_path / "doc.json").write_text(json.dumps(document))
    return tmp_path


@pytest.mark.parametrize("option", ["--resume", "--save-state", "--memory", "--shard", "--shard-by"])
def test_an_empty_value_is_refused_and_never_taken_for_none(data, option):
    done = forebay("run", data / "doc.json", option, "")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{option}: must not be empty" in done.stderr


def test_an_empty_output_of_a_repair_is_refused(data):
    done = forebay("verify", data / "data.tfrecord", "--repair", "")
    assert done.returncode == 2 and "--repair: must not be empty" in done.stderr


@pytest.mark.parametrize(("arguments", "words"), [
    ([], "no verb is given; verbs: run, head, check"),
    (["chekc", "doc.json"], "there is no verb 'chekc'; did you mean 'check'?"),
    (["run", "doc.json", "--thread", "2"], "`forebay run` has no option '--thread'; did you mean '--threads'?"),
    (["check", "doc.json", "other.json"], "'other.json' is one argument too many: `forebay check` takes DOC"),
    (["run", "doc.json", "--threads", "abc"], "--threads: must be an integer from 0 to 1024; found 'abc'"),
    (["run", "doc.json", "--batches", "-1"], "--batches: must be an integer of 0 or more; found '-1'"),
    (["bench", "doc.json", "--seconds", "0"], "--seconds: must be a number above 0; found '0'"),
    (["explain", "--lowered", "slice"], "'slice' is a plug-in; --lowered takes a document"),
])
def test_wrong_arguments_are_named_with_what_there_is(data, arguments, words):
    done = forebay(*arguments, cwd=data)
    assert done.returncode == 2 and words in done.stderr
    assert len(done.stderr) < 1000


def test_a_usage_error_is_json_where_json_is_asked_for(data):
    done = forebay("run", data / "doc.json", "--thread", "2", "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["ok"], len(answer["faults"])) == (2, False, 1)
    assert "--threads" in answer["faults"][0]["message"]


def test_help_calls_a_document_doc(data):
    assert "DOC REQUIRED" in forebay("run", "--help").stdout


def test_head_of_a_file_without_records_says_no_rows(tmp_path):
    (tmp_path / "empty.tfrecord").write_bytes(b"")
    done = forebay("head", tmp_path / "empty.tfrecord")
    assert (done.returncode, done.stdout, done.stderr) == (0, "no rows\n", "")


def test_head_shows_the_records_before_a_fault(data):
    path = data / "data.tfrecord"
    corrupt = bytearray(path.read_bytes())
    corrupt[2 * len(corrupt) // 10 + 14] ^= 1
    path.write_bytes(corrupt)
    done = forebay("head", path)
    assert done.returncode == 3
    assert [line for line in done.stdout.splitlines() if "int64[1]" in line] == ["  id  int64[1]  [0]", "  id  int64[1]  [1]"]
    assert "record 2" in done.stderr


@pytest.mark.parametrize("name", ["back\\slash.tfrecord", "st*r.tfrecord", "b[1]\\.tfrecord"])
def test_a_file_of_any_name_can_be_shown(tmp_path, name):
    fb.write_records(tmp_path / name, [fb.encode_example({"id": [7]})])
    assert "[7]" in forebay("head", tmp_path / name).stdout
    assert forebay("schema", tmp_path / name).returncode == 0


def test_a_record_file_in_the_place_of_a_document_is_sent_to_head(data):
    done = forebay("run", data / "data.tfrecord")
    assert done.returncode == 2 and "`forebay head`" in done.stderr


def test_patterns_pass_over_the_folder_of_the_indexes(data):
    assert forebay("index", data / "data.tfrecord").returncode == 0
    assert (data / ".forebay" / "index-v1").exists()
    (data / "in").mkdir()
    fb.write_records(data / "in" / "index-of-a-book", [b"one"])
    done = forebay("verify", data / "*" / "index*", "--json")
    assert [file["file"] for file in json.loads(done.stdout)["files"]] == [str(data / "in" / "index-of-a-book")]


def test_check_finds_a_missing_file_a_folder_and_a_pattern_without_matches(data):
    document = json.loads((data / "doc.json").read_text())
    document["source"]["tfrecord"]["files"] = ["data.tfrecord", "none.tfrecord", ".", "*.x"]
    (data / "doc.json").write_text(json.dumps(document, indent=1))
    done = forebay("check", data / "doc.json", "--json")
    faults = json.loads(done.stdout)["faults"]
    assert done.returncode == 2
    assert [(f["file"], f["pointer"], f["line"], f["code"]) for f in faults] == [
        (str(data / "doc.json"), f"/source/tfrecord/files/{number}", 5 + number, code)
        for number, code in ((1, "io"), (2, "io"), (3, "config"))]


def test_a_missing_file_alone_ends_a_check_with_code_4(data):
    (data / "data.tfrecord").unlink()
    assert forebay("check", data / "doc.json").returncode == 4


def test_lowered_documents_work_anywhere(data, tmp_path_factory):
    lowered = forebay("explain", "--lowered", "doc.json", cwd=data).stdout
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "lowered.json"
    elsewhere.write_text(lowered)
    digests = [forebay("run", path, "--digest", "--json", cwd=elsewhere.parent).stdout for path in (data / "doc.json", elsewhere)]
    assert digests[0] == digests[1] != ""


def test_schema_stops_at_once_when_it_is_interrupted(tmp_path):
    record = fb.encode_example({"x": list(range(50))})
    fb.write_records(tmp_path / "some.tfrecord", [record] * 100_000)
    (tmp_path / "long.tfrecord").write_bytes((tmp_path / "some.tfrecord").read_bytes() * 20)  # seconds of work
    code, out, errors, _ = interrupt_while_reading(
        start("schema", tmp_path / "long.tfrecord", "--records", 10_000_000), tmp_path / "long.tfrecord")
    assert (code, out) == (130, "")
    assert "interrupted after" in errors


def on_terminal(arguments, terminal, columns):
    """What the command writes to a terminal of that kind and width."""
    leader, follower = pty.openpty()
    subprocess.run(["stty", "cols", str(columns), "rows", "24"], stdin=follower, check=True)
    process = subprocess.Popen([COMMAND, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=follower,
                               env={**os.environ, "TERM": terminal})
    os.close(follower)
    written = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        written += piece
    process.wait(timeout=60)
    os.close(leader)
    return written.decode()


def test_progress_is_as_wide_as_the_terminal_and_draws_nothing_on_a_dumb_one(data):
    document = json.loads((data / "doc.json").read_text())
    document["epochs"] = None
    (data / "doc.json").write_text(json.dumps(document))
    arguments = ["run", data / "doc.json", "--batches", 20000]
    lines = on_terminal(arguments, "xterm", 24).replace("\x1b[K", "").split("\r")
    assert any("rows" in line for line in lines)
    assert max(len(line.rstrip("\n")) for line in lines) <= 24
    assert not any("%" in line for line in lines)
    assert on_terminal(arguments, "dumb", 80) == ""


@pytest.mark.parametrize(("part", "words"), [
    ("feature", ["kind", "fixed_len_sequence", "default"]), ("independent", ["target_batch_size", "num_mix_files"]),
    ("pipeline", ["epoch_boundary"]), ("manifest", ["allow_var_len"]),
])
def test_explain_knows_the_parts_of_documents(part, words):
    text = forebay("explain", part).stdout
    assert [word for word in words if word not in text] == []


def test_the_schema_refuses_unknown_keys_in_pad():
    text = forebay("explain", "--schema").stdout
    pad = next(s for s in json.loads(text)["anyOf"][1]["properties"]["steps"]["items"]["oneOf"]
               if "batch" in s["properties"])["properties"]["batch"]["properties"]["pad"]
    entry = next(choice for choice in pad["anyOf"] if choice["type"] == "array")["items"]
    assert entry["additionalProperties"] is False and set(entry["properties"]) == {"tensor", "shape", "value"}
