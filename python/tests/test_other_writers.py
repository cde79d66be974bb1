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


def gif(frames: int) -> bytes:
    """A GIF of one pixel and a palette of two colours, whose frames alternate."""
    out = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + bytes([255, 0, 0, 0, 0, 255])
    for frame in range(frames):
        # LZW of two bits a code: clear (4), the pixel, end (5).
        out += b"," + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02" + (4 | frame % 2 << 3 | 5 << 6).to_bytes(2, "little") + b"\0"
    return out + b";"


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_gif_without_its_last_byte_has_all_frames(frames: int) -> None:
    whole = gif(frames)
    pixels = fb.decode_image(whole, frames="all")
    assert pixels.ravel().tolist() == [[255, 0, 0], [0, 0, 255], [255, 0, 0]][:frames] or pixels.shape[0] == frames
    assert (fb.decode_image(whole[:-1], frames="all") == pixels).all()
    with pytest.raises(fb.DataError, match="ends early"):
        fb.decode_image(whole[:-3], frames="all")


@pytest.mark.parametrize("descr, dtype", [("'f4'", "<f4"), ("u'<i8'", "<i8"), ("'u1'", "u1"), ('"<f8"', "<f8")])
def test_npy_headers_of_other_writers_are_read(tmp_path: pathlib.Path, descr: str, dtype: str) -> None:
    values = np.arange(6).astype(dtype).reshape(3, 2)
    for key in ("'descr'", "u'descr'", '"descr"'):
        header = f"{{{key}: {descr}, 'fortran_order': False, 'shape': (3, 2), }}".ljust(117) + "\n"
        path = tmp_path / "a.npy"
        path.write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + values.tobytes())
        assert (np.load(path) == values).all()
        found = next(fb.npy({"x": path}).batch(3).load())["x"]
        assert found.dtype == values.dtype and (found == values).all()


def test_a_byte_order_mark_before_a_vocabulary_is_no_part_of_it(tmp_path: pathlib.Path) -> None:
    (tmp_path / "words.txt").write_bytes(b"\xef\xbb\xbf[PAD]\nb\n")
    (tmp_path / "t.txt").write_text("[PAD]\nb\n[PAD]\n")
    pipe = fb.lines(tmp_path / "t.txt").record("t").lookup("t", file=str(tmp_path / "words.txt")).batch(3)
    assert next(pipe.load())["t"].tolist() == [0, 1, 0]


@pytest.mark.parametrize("header", [True, False])
def test_csv_whose_lines_end_with_cr_alone_says_so(tmp_path: pathlib.Path, header: bool) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\r1,2\r3,4\r")
    columns = {"a": {"dtype": "string"}, "b": {"dtype": "string"}}
    with pytest.raises(fb.Error, match=r"end with CR alone.*tr '\\r' '\\n'") as found:
        list(fb.csv(tmp_path / "a.csv", header=header).csv(columns).batch(2).load())
    assert "\r" not in str(found.value)


@pytest.mark.parametrize("bits", [5, 8, 12, 16, 20, 24, 28, 32])
@pytest.mark.parametrize("channels", [1, 2])
def test_wav_of_any_bits_up_to_32_is_read(bits: int, channels: int) -> None:
    """Samples of 12 bits lie in the upper 12 of 16; those of up to 8 have no sign."""
    width = (bits + 7) // 8
    values = np.linspace(-0.9, 0.9, 40 * channels).reshape(40, channels)
    whole = np.round(values * 2**(8 * width - 1)).astype(np.int64)
    whole = whole >> (8 * width - bits) << (8 * width - bits)
    stored = whole + 128 if width == 1 else whole
    data = b"".join(int(value).to_bytes(width, "little", signed=width > 1) for value in stored.ravel())
    form = struct.pack("<HHIIHH", 1, channels, 8000, 8000 * channels * width, channels * width, bits)
    content = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data
    samples, rate = fb.decode_audio(b"RIFF" + struct.pack("<I", len(content)) + content)
    assert rate == 8000 and samples.shape == (40, channels)
    assert np.abs(samples - whole / 2**(8 * width - 1)).max() < 1e-6


@pytest.mark.parametrize("bits", [36, 45, 53, 64])
def test_wav_of_more_bits_is_refused_and_the_file_is_not_blamed(bits: int) -> None:
    width = (bits + 7) // 8
    form = struct.pack("<HHIIHH", 1, 1, 8000, 8000 * width, width, bits)
    content = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", 10 * width) + bytes(10 * width)
    with pytest.raises(fb.DataError, match=f"WAV of {bits} bits a sample is not read; up to 32 are: convert it") as found:
        fb.decode_audio(b"RIFF" + struct.pack("<I", len(content)) + content)
    assert "intact" not in str(found.value)


def test_wav_of_big_endian_numbers_and_flac_of_12_bits_are_refused_by_name() -> None:
    with pytest.raises(fb.DataError, match=r"WAV of big-endian numbers \(RIFX\) is not read; convert it"):
        fb.decode_audio(b"RIFX\0\0\0\x24WAVE")
    info = struct.pack(">HH", 4096, 4096) + bytes(6) + (8000 << 44 | 0 << 41 | 11 << 36 | 100).to_bytes(8, "big") + bytes(16)
    with pytest.raises(fb.DataError, match="FLAC of 12 bits a sample is not read; 8, 16 and 24 are: convert it"):
        fb.decode_audio(b"fLaC\x80\0\0\x22" + info)
