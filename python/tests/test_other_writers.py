# SPDX-License-Identifier: Apache-2.0
"""Files as programs of others write them, which no standard has in all points."""
from __future__ import annotations

import gzip
import io
import pathlib
import struct
import tarfile
import wave

import numpy as np
import pytest

import forebay as fb


@pytest.mark.parametrize("zeros", [1, 3, 4, 509, 20_000])
@pytest.mark.parametrize("policy", ["fail", "skip_record"])
def test_gzip_is_filled_up_with_zeros_as_tape_writers_do(tmp_path: pathlib.Path, zeros: int, policy: str) -> None:
    first, second = gzip.compress(b"one\ntwo\n"), gzip.compress(b"three\n")
    path = tmp_path / "t.gz"
    for content, lines in ((first + bytes(zeros), [b"one", b"two"]), (first + second + bytes(zeros), [b"one", b"two", b"three"])):
        path.write_bytes(content)
        assert gzip.decompress(content).split() == lines
        for threads in (1, 4):
            pipe = fb.lines(path).record("t").batch(10).on_corrupt(policy)
            assert [line for batch in pipe.load(threads=threads) for line in batch["t"].tolist()] == lines
    path.write_bytes(first + bytes(zeros) + b"x")
    with pytest.raises(fb.DataError, match="trailing bytes after the end of the gzip data"):
        list(fb.lines(path).record("t").batch(10).load())


def test_companions_of_macos_in_archives_are_passed_over(tmp_path: pathlib.Path) -> None:
    with tarfile.open(tmp_path / "mac.tar", "w") as tar:
        for name in ("._a.txt", "a.txt", "d/._a.txt", "d/", "._b.txt", "b.txt", "._b.cls", "b.cls", "._c"):
            member = tarfile.TarInfo(name)
            if name.endswith("/"):
                member.type = tarfile.DIRTYPE
            content = name.encode()
            member.size = 0 if name.endswith("/") else len(content)
            tar.addfile(member, io.BytesIO(content))
    pipe = fb.tar(tmp_path / "mac.tar").tar({"t": "txt", "c": "cls"}, allow_missing=True)
    batch = next(pipe.batch(10).load())
    assert batch["t"].tolist() == [b"a.txt", b"b.txt"] and batch["c"].tolist() == [b"", b"b.cls"]


@pytest.mark.parametrize("size", [0xFFFFFFFF, 0x7FFFF000])
@pytest.mark.parametrize("channels, bits", [(1, 16), (2, 16), (2, 24), (1, 8)])
def test_wav_of_a_pipe_goes_to_the_end_of_the_file(size: int, channels: int, bits: int) -> None:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels), file.setsampwidth(bits // 8), file.setframerate(8000)
        file.writeframes(np.arange(channels * bits // 8 * 500, dtype="u1").tobytes())
    whole = out.getvalue()
    samples = fb.decode_audio(whole)[0]
    place = whole.index(b"data") + 4
    piped = bytearray(whole)
    piped[4:8] = piped[place:place + 4] = struct.pack("<I", size)
    assert (fb.decode_audio(bytes(piped))[0] == samples).all()
    assert (fb.decode_audio(bytes(piped[:-1]))[0] == samples[:499]).all(), "a frame that is cut is none"
    piped[place:place + 4] = struct.pack("<I", len(whole) - place - 4 + 100)
    with pytest.raises(fb.DataError, match="the chunk 'data' has"):
        fb.decode_audio(bytes(piped))
