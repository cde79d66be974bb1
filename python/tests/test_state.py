# SPDX-License-Identifier: Apache-2.0
"""States that do not fit are refused with what differs, and change nothing; the command that saves, loads and prints them."""
from __future__ import annotations

import copy
import json
import os
import random
import re

import pytest
import streams
from streams import digest, digests, examples, resumed, write_parts
from command import forebay

import forebay as fb


def refusal(pipe, state):
    """Why the state is refused; and that the loader is then what it was, before the first batch and in the middle."""
    unbroken, loader = digests(pipe.load()), pipe.load()
    for taken in range(2):
        before = loader.state_dict()
        with pytest.raises(fb.StateError) as caught:
            loader.load_state_dict(state)
        assert loader.state_dict() == before
        assert digest(next(loader)) == unbroken[taken]
    assert digests(loader) == unbroken[2:]
    assert caught.value.code == "state"
    return f"{caught.value.detail}: {caught.value}"


@pytest.fixture
def state(pipe):
    loader = pipe.load()
    for _ in range(30):
        next(loader)
    return loader.state_dict()


def test_of_another_plan_what_differs_is_named(parts, pipe, state):
    def differs(other):
        start, names = refusal(other, state).split("; what differs: ")
        assert start == "failed_precondition: the state belongs to another plan"
        return names

    base = examples(parts)
    assert differs(pipe.seed(6)) == "seed"
    assert differs(pipe.epoch_boundary("hard")) == "epoch_boundary"
    assert differs(base.shuffle(buffer=41).batch(12).epochs(3).seed(5)) == "steps/0 (shuffle)"
    assert differs(base.shuffle(buffer=40).batch(6).epochs(3).seed(5)) == "steps/1 (batch)"
    assert differs(fb.tfrecord(parts).example({"id": fb.feature("int64")}).shuffle(buffer=40).batch(12).epochs(3)
                   .seed(5)) == "decode"
    assert "on_corrupt" in differs(with_members(pipe, on_corrupt="skip_record"))


def with_members(pipe, **members):
    return type(pipe)({**pipe.to_dict(), **members})


def test_of_other_files_is_refused(tmp_path):
    paths = write_parts(tmp_path, [40, 40], [None, None])
    pipe = examples(paths).batch(8)
    state = pipe.load().state_dict()
    size = sum(map(os.path.getsize, paths))
    fb.write_records(paths[1], fb.read_records(paths[1])[:-1])
    now = sum(map(os.path.getsize, paths))
    changed = os.path.getsize(paths[1])
    assert refusal(pipe, state) == ("failed_precondition: the files have changed since the state was saved: 'part-1.tfrecord' "
                                    f"has {changed} bytes, it had {changed + size - now}; then 2 files with {size} bytes, now 2 "
                                    f"files with {now} bytes; a restart would give other records")
    write_parts(tmp_path, [39, 41], [None, None])
    both = refusal(pipe, state)
    assert "'part-0.tfrecord' has" in both and "'part-1.tfrecord' has" in both
    assert "'more' is new" in refusal(examples([*paths, write_more(tmp_path)]).batch(8), state)
    assert "'part-1.tfrecord' is not there any more" in refusal(examples(paths[:1]).batch(8), state)


def write_more(folder):
    fb.write_records(folder / "more", [streams.example(0)] * 9)
    return str(folder / "more")


def test_the_same_files_in_another_folder_are_the_same_plan(tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    pipes = []
    for folder in folders:
        folder.mkdir()
        write_parts(folder)
        document = {**examples(["part-?.tfrecord"]).shuffle(buffer=20).batch(12).to_dict(), "epochs": 2}
        (folder / "doc.json").write_text(json.dumps(document))
        pipes.append(folder / "doc.json")
    loader = fb.load(pipes[0])
    for _ in range(7):
        next(loader)
    moved = fb.load(pipes[1])
    moved.load_state_dict(loader.state_dict())
    assert [batch["id"].tolist() for batch in moved] == [batch["id"].tolist() for batch in loader]


def changed(state, path, value):
    state = copy.deepcopy(state)
    *folders, name = path.split("/")
    place = state
    for folder in folders:
        place = place[folder]
    if value is None:
        del place[name]
    else:
        place[name] = value
    return state


EDITED = "data_loss: corrupt state: its checksum is wrong; it was edited or not written whole"


@pytest.mark.parametrize("path, value, message", [
    ("version", 5, "failed_precondition: the state has version 5, this Forebay knows version 4; use the Forebay"),
    ("version", 3, "failed_precondition: the state has version 3, this Forebay knows version 4; let the Forebay"),
    ("version", None, "invalid_argument: this is no state of a Forebay pipeline: it has no member"),
    ("version", "1", "data_loss: corrupt state: 'version' must be an integer, found a string"),
    ("sections/combine", {"taken": 3}, EDITED), ("sections/order", None, EDITED), ("sections", {}, EDITED),
    ("data/each", [["a"]], "data_loss: corrupt state: an entry of 'each' must be a name and a size"),
    ("data/groups", [], "data_loss: corrupt state: 'groups' must have 16 entries, found 0"),
    ("sections/order/next", 31, EDITED), ("sections/order/epoch", 0, EDITED), ("data/files", 4, EDITED), ("check", "00000000", EDITED),
    ("plan/seed", "0000000000000000", EDITED), ("plan/seed", None, EDITED), ("plan/seed", 7, "data_loss: corrupt state: 'seed' must be a string, found an integer"),
    ("plan/more", "0000000000000000", EDITED), ("data/digest", "", "data_loss: corrupt state: a digest of 'data' must have 16 digits"), ("sections/order/next", 2**62, EDITED),
    ("sections/order/next", -1, "data_loss: corrupt state: 'next' must not be negative, found -1"),
    ("sections/order/next", 30.0, "data_loss: corrupt state: 'next' must be an integer, found a float"),
    ("sections/order/next", True, "data_loss: corrupt state: 'next' must be an integer, found a boolean"),
    ("sections/order/next", 2**64, "data_loss: corrupt state: 'next' must be an integer"),
    ("sections/order/batch", None, EDITED), ("sections/order/more", 3, EDITED),
    ("sections/order", [1, 2], "data_loss: corrupt state: 'order' must be an object"),
    ("data", None, "data_loss: corrupt state: 'data' must be an object, found nothing"),
    ("plan", "x", "data_loss: corrupt state: 'plan' must be an object"),
    ("check", 7, "data_loss: corrupt state: 'check' must be a string"),
    ("more", float("nan"), "data_loss: corrupt state: line 1:"),
    ("more", "\ud800", "data_loss: corrupt state: line 1:"),
])
def test_an_edited_state_is_refused(pipe, state, path, value, message):
    assert refusal(pipe, changed(state, path, value)).startswith(message)


@pytest.mark.parametrize("what", [None, 3, 1.5, "text", b"bytes", [], ["version"], {}, {"version": b"x"},
                                  {"a": {1, 2}}, {"version": None}])
def test_what_is_no_state_is_refused(pipe, what):
    assert "state" in refusal(pipe, what)


@pytest.mark.parametrize("depth", [65, 900, 100_000])
def test_a_deeply_nested_state_is_refused(pipe, state, depth):
    nested = {}
    for _ in range(depth):
        nested = {"a": nested}
    assert "state" in refusal(pipe, {**state, "sections": nested})


def test_a_huge_state_is_refused_by_its_size(pipe, state):
    assert refusal(pipe, {**state, "more": "x" * (64 << 20)}).startswith("data_loss: this is no state: it has 67")


def test_a_run_whose_order_depends_on_timing_has_no_state(pipe):
    loader = pipe.deterministic(False).load()
    for _ in range(2):
        with pytest.raises(fb.StateError, match="deterministic"):
            loader.state_dict()
        next(loader)


def test_a_closed_loader_still_says_where_it_stood_but_does_not_start_again(pipe):
    unbroken = digests(pipe.load())
    with pipe.load() as loader:
        next(loader)
    state = loader.state_dict()
    assert digests(resumed(pipe, state)) == unbroken[1:]
    with pytest.raises(fb.Cancelled):
        loader.load_state_dict(state)


# ---------------------------------------------------------------- the command

@pytest.fixture
def data(tmp_path):
    write_parts(tmp_path)
    document = {**examples(["part-?.tfrecord"]).shuffle(buffer=40).batch(12).epochs(3).seed(5).to_dict()}
    (tmp_path / "doc.json").write_text(json.dumps(document))
    return tmp_path


def orders_of(*arguments):
    done = forebay("run", *arguments, "--digest", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_run_goes_on_where_another_run_stopped(data):
    document, saved = data / "doc.json", data / "state.json"
    unbroken = orders_of(document)
    pieces = [orders_of(document, "--batches", 9, "--save-state", saved)]
    for threads in (1, 4):
        pieces.append(orders_of(document, "--batches", 13, "--resume", saved, "--save-state", saved, "--threads", threads))
    with fb.load(document) as loader:
        loader.load_state_dict(json.loads(saved.read_text()))
        assert loader.state_dict() == json.loads(saved.read_text())
        batches = [digest(batch) for batch in loader]
    assert batches == digests(fb.load(document))[35:]
    pieces.append(orders_of(document, "--resume", saved, "--save-state", saved))
    assert [piece["batches"] for piece in pieces] == [9, 13, 13, unbroken["batches"] - 35]
    for name, sums in unbroken["tensors"].items():
        assert sum(int(piece["tensors"][name]["hash"], 16) for piece in pieces) % 2**64 == int(sums["hash"], 16), name
    assert orders_of(document, "--resume", saved)["rows"] == 0, "the end is a place, too"


def test_state_prints_what_the_file_says(data):
    saved = data / "state.json"
    orders_of(data / "doc.json", "--batches", 30, "--save-state", saved)
    kept = json.loads(saved.read_text())
    done = forebay("state", saved)
    lines = done.stdout.splitlines()
    order = kept["sections"]["order"]
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(rf"next batch: 30, at \d\d?\.\d % of epoch {order['epoch']}", lines[0])
    assert lines[1] == f"epoch to replay: {order['epoch']}, from batch {order['batch']}"
    assert lines[2] == f"files: 5 with {kept['data']['bytes']} bytes" and len(lines) == 4 + len(kept["plan"])
    assert json.loads(forebay("state", saved, "--json").stdout) == kept


def test_a_state_of_python_is_one_for_the_command(data):
    loader, saved = fb.load(data / "doc.json"), data / "python.json"
    for _ in range(11):
        next(loader)
    saved.write_text(json.dumps(loader.state_dict()))
    assert forebay("state", saved).stdout.startswith("next batch: 11, at ")
    assert orders_of(data / "doc.json", "--resume", saved)["batches"] == len(list(loader))


@pytest.mark.parametrize("content, code, words", [
    (None, 4, ["No such file"]), ("", 2, ["corrupt state"]), ("{", 2, ["corrupt state"]), ("{}", 2, ["no state"]),
    ("[" * 1_000_000, 2, ["deeper than 64"]), ('{"a":' * 1_000_000, 2, ["deeper than 64"]),
    (" " * (16 << 20) + "{}", 2, ["at most 16777216"]), ("\0", 2, ["corrupt state"])])
def test_files_that_hold_no_state_are_refused(data, content, code, words):
    saved = data / "none.json"
    if content is not None:
        saved.write_text(content)
    for done in (forebay("state", saved), forebay("run", data / "doc.json", "--resume", saved)):
        assert (done.returncode, done.stdout) == (code, "")
        assert all(word in done.stderr for word in [*words, "none.json"]), done.stderr[:500]


def test_a_file_of_a_gibibyte_is_refused_at_once(data):
    with open(data / "huge.json", "wb") as file:
        file.truncate(1 << 30)
    done = forebay("state", data / "huge.json")
    assert done.returncode == 2 and "at most 16777216" in done.stderr


def test_every_cut_and_every_flipped_bit_of_a_saved_state_is_refused(data):
    saved, generator = data / "state.json", random.Random(6)
    orders_of(data / "doc.json", "--batches", 30, "--save-state", saved)
    text, loader = saved.read_bytes(), fb.load(data / "doc.json")
    kept = json.loads(text)
    refused = 0
    for at in range(len(text.rstrip())):
        for corrupt in (text[:at], text[:at] + bytes([text[at] ^ 1 << generator.randrange(8)]) + text[at + 1:]):
            try:
                state = json.loads(corrupt)
            except ValueError:
                continue
            if state == kept:  # white space
                continue
            with pytest.raises(fb.StateError):
                loader.load_state_dict(state)
            refused += 1
    assert refused > 200
    saved.write_bytes(text[:len(text) // 2])
    assert forebay("run", data / "doc.json", "--resume", saved).returncode == 2


def test_a_state_of_another_plan_ends_with_code_2_and_says_what_differs(data):
    saved = data / "state.json"
    orders_of(data / "doc.json", "--batches", 3, "--save-state", saved)
    document = json.loads((data / "doc.json").read_text())
    (data / "other.json").write_text(json.dumps({**document, "seed": 6}))
    done = forebay("run", data / "other.json", "--resume", saved)
    assert done.returncode == 2 and "what differs: seed" in done.stderr and "state.json" in done.stderr
    (data / "loose.json").write_text(json.dumps({**document, "deterministic": False}))
    done = forebay("run", data / "loose.json", "--save-state", data / "loose.state")
    assert done.returncode == 2 and "deterministic" in done.stderr and not (data / "loose.state").exists()
