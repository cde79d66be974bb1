# SPDX-License-Identifier: Apache-2.0
"""The real command on real files: its answers, its exit codes, and what it does when it is interrupted."""

import json
import subprocess

import pytest
from command import COMMAND, ROOT, forebay, interrupt_while_reading, start

import forebay as fb


@pytest.fixture
def data(tmp_path):
    """Ten records in a file, and a document that reads them."""
    fb.write_records(tmp_path / "data.tfrecord", [fb.encode_example({"id": [i], "x": [i / 2]}) for i in range(10)])
    document = {
        "source": {"tfrecord": {"files": ["data.tfrecord"]}},
        "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []}}}},
        "steps": [{"batch": {"size": 4}}],
    }
    (tmp_path / "doc.json").write_text(json.dumps(document, indent=1))
    return tmp_path


def edit(data, change):
    document = json.loads((data / "doc.json").read_text())
    change(document)
    (data / "doc.json").write_text(json.dumps(document, indent=1))
    return data / "doc.json"


def test_run_counts_rows_and_batches_and_names_the_bottleneck(data):
    done = forebay("run", data / "doc.json", "--json")
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["rows"], summary["batches"], summary["ended"]) == (0, 10, 3, True)
    assert "bottleneck" in summary["bottleneck"]


def test_run_stops_after_the_asked_number_of_batches(data):
    assert json.loads(forebay("run", data / "doc.json", "--json", "--batches", 2).stdout)["rows"] == 8


def test_a_typo_is_refused_with_its_place_and_the_nearest_name(data):
    path = edit(data, lambda d: d["steps"].__setitem__(0, {"batch": {"siez": 4}}))
    done = forebay("run", path)
    assert done.returncode == 2
    assert "doc.json:" in done.stderr and "/steps/0/batch" in done.stderr
    assert "siez" in done.stderr and "'size'" in done.stderr


def test_check_lists_all_faults_at_once(data):
    def change(document):
        document["epoch"] = 2
        document["decode"]["example"]["features"]["id"]["dtype"] = "int63"
        document["steps"][0]["batch"]["size"] = 0

    done = forebay("check", edit(data, change), "--json")
    faults = json.loads(done.stdout)["faults"]
    pointers = {fault["pointer"] for fault in faults}
    assert done.returncode == 2
    assert {"/epoch", "/decode/example/features/id/dtype", "/steps/0/batch/size"} <= pointers
    assert all(fault["line"] > 0 for fault in faults)


def test_check_accepts_a_good_document(data):
    assert forebay("check", data / "doc.json").returncode == 0


def test_a_corrupt_file_ends_with_code_3_and_names_the_record(data):
    path = data / "data.tfrecord"
    corrupt = bytearray(path.read_bytes())
    corrupt[-6] ^= 1
    path.write_bytes(corrupt)
    done = forebay("run", data / "doc.json")
    assert done.returncode == 3
    assert "data.tfrecord" in done.stderr and "record 9" in done.stderr


def test_a_missing_file_ends_with_code_4(data):
    (data / "data.tfrecord").unlink()
    done = forebay("run", data / "doc.json")
    assert done.returncode == 4
    assert "data.tfrecord" in done.stderr


def test_an_interrupt_ends_with_code_130_within_half_a_second(data):
    path = edit(data, lambda d: d.__setitem__("epochs", None))
    code, _, errors, took = interrupt_while_reading(start("run", path), data / "data.tfrecord")
    assert code == 130
    assert took < 5
    assert len(errors.strip().splitlines()) == 1


def test_head_shows_rows_of_a_document_and_of_a_file(data):
    assert "id" in forebay("head", data / "doc.json").stdout
    assert "x" in forebay("head", data / "data.tfrecord").stdout


def test_head_shows_nothing_behind_the_values_when_partitions_do_not_fit(data):
    fb.write_records(data / "data.tfrecord", [fb.encode_example({"v": [1, 2], "p": [-5, 1, 1 << 40]})])
    ragged = {"kind": "ragged", "dtype": "int64", "partitions": [["row_limits", "p"]], "validate": False,
              "row_splits_dtype": "int64"}
    path = edit(data, lambda d: d["decode"]["example"].update(features={"v": ragged}))
    assert json.loads(forebay("head", path, "--json").stdout)[0]["values"]["v"] == [[], [1], [2]]


def test_explain_names_every_option_of_a_plugin(data):
    text = forebay("explain", "shuffle").stdout
    assert "buffer" in text and "from a buffer of so many" in text


def test_explain_schema_is_a_json_schema_of_both_documents():
    schema = json.loads(forebay("explain", "--schema").stdout)
    assert "json-schema.org" in schema["$schema"]
    assert all(key in json.dumps(schema) for key in ("secondary_features", "epoch_boundary", "interleave"))


def test_schema_infers_a_manifest_that_loads(data):
    manifest = json.loads(forebay("schema", "--manifest", data / "data.tfrecord").stdout)
    features = {feature["name"]: (feature["dtype"], feature["shape"]) for feature in manifest["features"]}
    assert features == {"id": ("int64", []), "x": ("float32", [])} or features == {"id": ("int64", [1]), "x": ("float32", [1])}


def test_explain_lowered_prints_a_document_that_gives_the_same_digest(tmp_path):
    loader = ROOT / "examples" / "taxi" / "loader.json"
    (tmp_path / "lowered.json").write_text(forebay("explain", loader, "--lowered", cwd=tmp_path).stdout)
    digests = [forebay("run", path, "--digest", "--json", cwd=tmp_path).stdout for path in (loader, "lowered.json")]
    assert digests[0] == digests[1] != ""


def piped(data, *arguments):
    """The command in the folder of the data, whose standard input is a pipe with the document."""
    return forebay(*arguments, cwd=data, input=(data / "doc.json").read_text())


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
@pytest.mark.parametrize("verb", ["run --digest", "check", "explain", "explain --lowered", "head", "bench --seconds 0.1 --json"])
def test_a_document_may_come_from_standard_input(data, verb, name):
    done, expected = piped(data, *verb.split(), name), forebay(*verb.split(), "doc.json", cwd=data)
    assert done.returncode == expected.returncode == 0, done.stderr
    if "bench" not in verb:
        assert done.stdout.replace("/dev/stdin", "doc.json") == expected.stdout


def test_a_document_may_be_made_by_a_process_of_the_shell(data):
    done = subprocess.run(["bash", "-c", f"{COMMAND} run --digest <(sleep 0.1; cat doc.json)"], cwd=data, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, forebay("run", "--digest", "doc.json", cwd=data).stdout), done.stderr


def test_a_fault_of_a_document_in_a_pipe_has_its_line(data):
    edit(data, lambda document: document.update(epoch=3))
    done = piped(data, "check", "-")
    assert done.returncode == 2 and "/dev/stdin:" in done.stderr and "unexpected option 'epoch'; did you mean 'epochs'?" in done.stderr
    nothing = forebay("run", "-", cwd=data, stdin=subprocess.DEVNULL)
    assert (nothing.returncode, nothing.stderr) == (4, "forebay: error: /dev/stdin: cannot read the document: it is not a file or a pipe\n")


def test_digests_alone_are_on_standard_output(data):
    first, second = (forebay("run", "doc.json", "--digest", cwd=data) for _ in range(2))
    assert first.stdout == second.stdout and "rows/s" not in first.stdout and "rows/s" in first.stderr


def test_head_shows_two_hundred_features_of_a_record_and_says_how_many_there_are(tmp_path):
    fb.write_records(tmp_path / "wide.tfrecord", [fb.encode_example({f"f{number:04}": number for number in range(1000)})])
    lines = forebay("head", tmp_path / "wide.tfrecord").stdout.splitlines()
    assert (len(lines), lines[-1]) == (202, "  … and 800 more; --json shows all")
    assert len(json.loads(forebay("head", tmp_path / "wide.tfrecord", "--json").stdout)[0]["values"]) == 1000
