# SPDX-License-Identifier: Apache-2.0
"""Text steps with files, and tokenizers in `map`."""
from __future__ import annotations

import hashlib
import json
import os
import pathlib
import sys
import tempfile
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb

SENTENCES = ["the cat sat on the mat", "a cat and a dog", "", "dogs sit on mats", "naïve café — ünïcode", "zzz qqq"]


def texts(values: list[Any]) -> Any:
    out = np.empty(len(values), object)
    out[:] = [value if isinstance(value, bytes) else value.encode() for value in values]
    return out


def rows(pipe: Any, size: int = 1000) -> list[Any]:
    with pipe.batch(size=size, remainder="keep").load(threads=1) as loader:
        return [batch["t"].to_list() if isinstance(batch["t"], fb.Ragged) else batch["t"].tolist() for batch in loader]


@pytest.fixture(scope="module", params=["bpe", "wordpiece"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A small tokenizer with tokens around each text."""
    bpe = request.param == "bpe"
    model = tokenizers.models.BPE(unk_token="[UNK]") if bpe else tokenizers.models.WordPiece(unk_token="[UNK]")
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.BpeTrainer if bpe else tokenizers.trainers.WordPieceTrainer
    made.train_from_iterator(SENTENCES[:4], trainer(vocab_size=80, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False))
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    made.enable_padding(length=50)
    path = tmp_path_factory.mktemp(request.param) / "tokenizer.json"
    made.save(str(path))
    return path


def test_tokens_are_those_of_the_package(trained: pathlib.Path) -> None:
    plain = tokenizers.Tokenizer.from_file(str(trained))
    plain.no_padding()
    expected = [plain.encode(text).ids for text in SENTENCES]
    step = fb.text.tokenizer(trained, "t", out="ids")
    assert step.digest == hashlib.sha256(trained.read_bytes()).hexdigest()
    pipe = fb.arrays({"t": texts(SENTENCES)}).batch(size=4, remainder="pad")
    for workers in (0, 2):
        with pipe.map(step, inside="threads", workers=workers, output={"t": fb.fixed("string"), "ids": fb.var_len("int64")}
                      ).load(threads=1) as loader:
            batches = list(loader)
        assert [batch["ids"].to_list() for batch in batches] == [expected[:4], expected[4:] + [[], []]]
        assert batches[0]["t"].tolist() == [text.encode() for text in SENTENCES[:4]]


def test_options_of_a_tokenizer(trained: pathlib.Path) -> None:
    plain = tokenizers.Tokenizer.from_file(str(trained))
    plain.no_padding()
    bare = [plain.encode(text, add_special_tokens=False).ids for text in SENTENCES]
    made = fb.text.tokenizer(str(trained), "t", special_tokens=False, dtype="int32", pad=-1)({"t": texts(SENTENCES)})["t"]
    assert made.dtype == np.int32
    assert [row[row >= 0].tolist() for row in made] == bare
    short = fb.text.tokenizer(trained, "t", max_length=3)({"t": texts(SENTENCES)})["t"].to_list()
    assert short == [[1, *ids[:1], 2] for ids in bare]
    with pytest.raises(fb.DataError, match="t, row 1: byte 1 of the string, 0xff, is no UTF-8"):
        fb.text.tokenizer(trained, "t")({"t": texts(["ok", b"a\xffb"])})
    assert (fb.text.tokenizer(trained, "t", invalid="replace")({"t": texts([b"a\xffb"])})["t"].to_list()
            == [plain.encode("a\ufffdb").ids])


def test_a_wrong_tokenizer_is_refused_by_name(trained: pathlib.Path, tmp_path: pathlib.Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"version": "1.0", "model": {"type": "BPE"')
    with pytest.raises(fb.ConfigError, match="broken.json' is no tokenizer.json"):
        fb.text.tokenizer(broken, "t")
    with pytest.raises(fb.IoError, match="gone.json' cannot be read: No such file"):
        fb.text.tokenizer(tmp_path / "gone.json", "t")
    with pytest.raises(fb.ConfigError, match="digest: .* it is another tokenizer"):
        fb.text.tokenizer(trained, "t", digest="0" * 64)
    with pytest.raises(fb.ConfigError, match="max_length: must be an integer from 2 to 2147483647, found 1"):
        fb.text.tokenizer(trained, "t", max_length=1)
    with pytest.raises(fb.ConfigError, match="dtype: must be 'int64' or 'int32', found 'float32'"):
        fb.text.tokenizer(trained, "t", dtype="float32")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="x: must be a tensor with one string for each row"):
        fb.text.tokenizer(trained, "x")({"t": texts(["a"])})
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match="pip install tokenizers"):
        fb.text.tokenizer(trained, "t")


@settings(max_examples=2000 if os.environ.get("FOREBAY_LONG_TESTS") else 150, deadline=None)
@given(st.data())
def test_a_corrupt_tokenizer_is_an_error_or_gives_numbers(trained: pathlib.Path, data: st.DataObject) -> None:
    """Changed, cut and doubled parts of a real file, and other values in the places of its own."""
    content = trained.read_bytes()
    if data.draw(st.booleans()):
        at, size = data.draw(st.integers(0, len(content))), data.draw(st.integers(0, 40))
        content = content[:at] + data.draw(st.binary(max_size=8) | st.just(content[at:at + size] * 2)) + content[at + size:]
    else:
        document = json.loads(content)
        place: Any = document
        while isinstance(place, (dict, list)) and place:
            holder, key = place, data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            place = place[key]
            if data.draw(st.integers(0, 3)) == 0:
                break
        holder[key] = data.draw(st.sampled_from([None, -1, 2**32, 2**63, "", "a", [], {}, [[0]], 1e308, True]))
        content = json.dumps(document).encode()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "changed.json"
        file.write_bytes(content)
        try:
            made = fb.text.tokenizer(file, "t")
        except fb.ConfigError as error:
            assert "changed.json' is no tokenizer.json: " in str(error)
            return
        try:
            rows = made({"t": texts(["the cat sat", ""])})["t"].to_list()
        except fb.DataError as error:
            assert "t: " in str(error)
            return
    assert len(rows) == 2 and all(isinstance(number, int) for row in rows for number in row)


@pytest.mark.parametrize("special, message", [("/dev/zero", "not a regular file"), ("pipe", "not a regular file"), ("", "not a regular file")])
def test_a_tokenizer_is_a_regular_file(tmp_path: pathlib.Path, special: str, message: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(fb.IoError, match=message):
        fb.text.tokenizer(tmp_path / special, "t")


def test_a_vocabulary_file_is_part_of_the_plan(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("[UNK]\nthe\r\ncat\nsat")
    pipe = fb.arrays({"t": texts(SENTENCES[:2])}).split_text("t").lookup("t", file=str(file), unknown="id", unknown_id=0)
    assert rows(pipe) == [[[1, 2, 3, 0, 1, 0], [0, 2, 0, 0, 0]]]
    with pipe.batch(size=1).load(threads=1) as loader:
        next(loader)
        state = loader.state_dict()
    file.write_text("[UNK]\ncat\nthe")
    with pytest.raises(fb.StateError, match="file of lookup"):
        with pipe.batch(size=1).load(threads=1) as loader:
            loader.load_state_dict(state)
            next(loader)


@pytest.mark.parametrize("content, message", [
    (b"a\nb\na\n", "words.txt:3:1: 'a' is in line 3 for the second time .first in line 1."),
    (b"", "names no token"), (None, "words.txt")])
def test_a_wrong_vocabulary_file_is_refused(tmp_path: pathlib.Path, content: Any, message: str) -> None:
    file = tmp_path / "words.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(fb.Error, match=message):
        rows(fb.arrays({"t": texts(["a"])}).lookup("t", file=str(file)))


def test_text_steps_equal_plain_python() -> None:
    rng = np.random.default_rng(4)
    lines = [rng.choice(list(b"ab ,\t\xc3\xa9"), int(n)).astype(np.uint8).tobytes() for n in rng.integers(0, 30, 200)]
    source = fb.arrays({"t": texts(lines)})
    assert rows(source.split_text("t"))[0] == [line.split() for line in lines]
    assert rows(source.split_text("t", separator=","))[0] == [line.split(b",") for line in lines]
    assert rows(source.byte_ids("t"))[0] == [list(line) for line in lines]
    assert rows(source.check_utf8("t", invalid="replace"))[0] == [line.decode("utf-8", "replace").encode() for line in lines]
    tokens = [line.split() for line in lines]
    assert rows(source.split_text("t").ngrams("t", min=1, max=3))[0] == [
        [b" ".join(row[i:i + n]) for n in (1, 2, 3) for i in range(len(row) - n + 1)] for row in tokens]
