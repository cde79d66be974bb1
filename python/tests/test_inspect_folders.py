# SPDX-License-Identifier: Apache-2.0
"""inspect of folders of pictures and clips."""
from __future__ import annotations

import pathlib

import forebay as fb

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples/digits"
PNG = b"\x89PNG\r\n\x1a\n"


def tree(folder: pathlib.Path, *names: str) -> pathlib.Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(PNG)
    return folder


def test_a_folder_of_several_endings_is_a_pattern_for_each(tmp_path: pathlib.Path) -> None:
    found = fb.inspect(tree(tmp_path, "cat/1.png", "cat/2.png", "dog/1.PNG", "dog/deep/2.JPEG"))
    assert found.document is not None
    assert found.document["source"]["whole_file"]["files"] == [f"{tmp_path}/**/*{ending}" for ending in (".JPEG", ".PNG", ".png")]
    assert found.records == 4


def test_pictures_and_clips_come_with_the_step_that_decodes_them(tmp_path: pathlib.Path) -> None:
    pictures = fb.inspect(tree(tmp_path / "pictures", "cat/1.png", "dog/2.png"))
    assert 'note: content: .decode_image("content", resize=[224, 224]) makes arrays of one size of it' in str(pictures)
    assert 'note: content: .decode_audio("content", mono=True) makes samples of it' in str(fb.inspect(DIGITS))
    fb.write_records(tmp_path / "a", [fb.encode_example({"image": [PNG]}), fb.encode_example({"image": [b"none"]})])
    assert "decode_image" not in str(fb.inspect(tmp_path / "a"))
