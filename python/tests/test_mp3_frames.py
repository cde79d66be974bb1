# SPDX-License-Identifier: Apache-2.0
"""MP3 files made of frames of silence: every version, layer, rate and mode, with and without a frame that tells the number of frames."""
from __future__ import annotations

import itertools
import pathlib
import subprocess
import sys

import pytest

import forebay as fb

#: Hz by the bits of the version, 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5.
RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}
#: kbit/s of rates 5, 8 and 9 by version 1 or later, and layer.
KBITS = {(1, 1): {5: 160, 8: 256, 9: 288}, (1, 2): {5: 80, 8: 128, 9: 160}, (1, 3): {5: 64, 8: 112, 9: 128},
         (2, 1): {5: 80, 8: 128, 9: 144}, (2, 2): {5: 40, 8: 64, 9: 80}, (2, 3): {5: 40, 8: 64, 9: 80}}
COUNT = 40    # frames of a file
ID3 = b"ID3\4\0\0\0\3\6\x10" + bytes(3 * 128 * 128 + 6 * 128 + 16)     # 50 kB


def frame(version: int, layer: int, rate: int, bits: int, mode: int, padding: int = 0) -> bytes:
    hertz, kbits = RATES[version][rate], KBITS[1 if version == 3 else 2, layer][bits]
    if layer == 1:
        size = (12000 * kbits // hertz + padding) * 4
    else:
        size = (72000 if layer == 3 and version != 3 else 144000) * kbits // hertz + padding
    header = 0xFFE10000 | version << 19 | (4 - layer) << 17 | bits << 12 | rate << 10 | padding << 9 | mode << 6
    return header.to_bytes(4, "big").ljust(size, b"\0")


def samples_of(version: int, layer: int) -> int:
    return 384 if layer == 1 else 576 if layer == 3 and version != 3 else 1152


def telling(version: int, rate: int, mode: int, count: int) -> bytes:
    """A frame with a header of Xing."""
    place = 4 + ({True: 17, False: 32} if version == 3 else {True: 9, False: 17})[mode == 3]
    out = bytearray(frame(version, 3, rate, 9, mode))
    out[place:place + 12] = b"Info\0\0\0\1" + count.to_bytes(4, "big")
    return bytes(out)


@pytest.mark.parametrize("version", RATES)
@pytest.mark.parametrize("layer", [1, 2, 3])
@pytest.mark.parametrize("kind", ["constant", "variable", "padded"])
def test_every_sample_of_every_frame_comes(version: int, layer: int, kind: str) -> None:
    for rate, mode, tag in itertools.product(range(3), range(4), (b"", ID3)):
        bits = [8, 9] if kind == "variable" else [8]
        frames = [frame(version, layer, rate, bits[i * len(bits) // COUNT], mode, i % 2 if kind == "padded" else 0) for i in range(COUNT)]
        samples, hertz = fb.decode_audio(tag + b"".join(frames))
        assert samples.shape == (COUNT * samples_of(version, layer), 1 if mode == 3 else 2), (rate, mode, len(tag))
        assert hertz == RATES[version][rate]


@pytest.mark.parametrize("version", RATES)
def test_the_number_that_the_first_frame_tells_counts(version: int) -> None:
    for rate, mode in itertools.product(range(3), range(4)):
        body = b"".join(frame(version, 3, rate, 8 + i % 2, mode) for i in range(COUNT))
        whole = fb.decode_audio(telling(version, rate, mode, COUNT) + body)[0]
        # mpg123 leaves out the delay of its decoder where a header of Xing is there.
        assert COUNT * samples_of(version, 3) - 529 <= len(whole) <= COUNT * samples_of(version, 3), (rate, mode)
        with pytest.raises(fb.DataError, match="the audio ends after .* samples that its header tells"):
            fb.decode_audio(telling(version, rate, mode, 2 * COUNT) + body)


def test_a_first_frame_of_another_rate_does_not_say_how_long_the_file_is() -> None:
    loud_then_quiet = frame(3, 3, 0, 9, 3) * 100 + frame(3, 3, 0, 5, 3) * 100
    assert len(fb.decode_audio(loud_then_quiet)[0]) == 200 * 1152
    quiet_then_loud = frame(3, 3, 0, 5, 3) * 100 + frame(3, 3, 0, 9, 3) * 100
    assert len(fb.decode_audio(quiet_then_loud)[0]) == 200 * 1152
    part = fb.decode_audio(quiet_then_loud, start=200_000, length=40_000)[0]
    assert len(part) == 200 * 1152 - 200_000


@pytest.mark.parametrize("tail", [b"TAG" + bytes(125), bytes(1000), b"APETAGEX" + bytes(40)])
def test_what_follows_the_last_frame_adds_nothing(tail: bytes) -> None:
    assert len(fb.decode_audio(frame(3, 3, 0, 9, 3) * COUNT + tail)[0]) == COUNT * 1152
    assert len(fb.decode_audio(bytes(1000) + frame(3, 3, 0, 9, 3) * COUNT)[0]) == COUNT * 1152


def test_the_tags_of_mp3_before_other_files_are_passed_over() -> None:
    import io
    import wave
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(8000), file.writeframes(bytes(200))
    assert fb.decode_audio(ID3 + out.getvalue())[0].shape == (100, 1)


def test_nothing_is_written_to_standard_error_about_bad_frames(tmp_path: pathlib.Path) -> None:
    """libmpg123 would write lines of its own."""
    data = bytearray(telling(3, 0, 3, 7 * COUNT) + frame(3, 3, 0, 9, 3) * COUNT)
    for place in range(5000, len(data), 97):
        data[place] ^= 0xFF
    (tmp_path / "bad.mp3").write_bytes(data)
    program = "import forebay as fb, sys\ntry: fb.decode_audio(open(sys.argv[1], 'rb').read())\nexcept fb.DataError: pass"
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "bad.mp3")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
