# SPDX-License-Identifier: Apache-2.0
"""Images of five formats, compared with Pillow, as a training loop reads them."""
from __future__ import annotations

import io
import pathlib
import warnings

import numpy as np
import pytest
from conftest import DATA
from PIL import Image, ImageOps

import forebay as fb

IMAGES = DATA / "images"
METHODS = {"antialias_bilinear": Image.Resampling.BILINEAR, "antialias_bicubic": Image.Resampling.BICUBIC,
           "nearest": Image.Resampling.NEAREST, "area": Image.Resampling.BOX}


def by_pillow(data: bytes) -> np.ndarray:
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    return np.asarray(image.convert("RGB"))


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def photograph(height: int, width: int, seed: int = 1) -> Image.Image:
    """Blurred blobs of color with edges and a little noise: what a camera gives, as a decoder sees it."""
    noise = np.random.default_rng(seed)
    blobs = Image.fromarray(noise.integers(0, 256, (7, 9, 3), np.uint8)).resize((width, height), Image.Resampling.BICUBIC)
    pixels = np.asarray(blobs).astype(int) + noise.normal(0, 4, (height, width, 3)).round().astype(int)
    pixels[height // 3:height // 2, width // 4:width // 2] //= 3
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def turned(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif.tobytes()


def many_images(folder: pathlib.Path) -> list[pathlib.Path]:
    """Files of each format in the forms that encoders write, of sizes that are and are not multiples of a block."""
    files = {}
    for number, (height, width) in enumerate([(480, 640), (333, 517), (8, 8), (1, 1), (17, 301)]):
        image = photograph(height, width, number)
        palette = image.quantize(200)
        for subsampling in (0, 1, 2):
            for progressive in (False, True):
                files[f"{number}-{subsampling}-{progressive}.jpg"] = encoded(
                    image, "JPEG", subsampling=subsampling, progressive=progressive, quality=(40, 75, 90, 95, 100)[number])
        files |= {f"{number}-gray.jpg": encoded(image.convert("L"), "JPEG"),
                  f"{number}-restarts.jpg": encoded(image, "JPEG", restart_marker_blocks=3),
                  f"{number}.png": encoded(image, "PNG"), f"{number}-gray.png": encoded(image.convert("L"), "PNG"),
                  f"{number}-palette.png": encoded(palette, "PNG"), f"{number}.bmp": encoded(image, "BMP"),
                  f"{number}-palette.bmp": encoded(palette, "BMP"), f"{number}.gif": encoded(palette, "GIF"),
                  f"{number}-lossless.webp": encoded(image, "WEBP", lossless=True), f"{number}.webp": encoded(image, "WEBP", quality=80)}
    files |= {f"turned-{orientation}.jpg": encoded(photograph(40, 61), "JPEG", exif=turned(orientation)) for orientation in range(1, 9)}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files] + [IMAGES / "rotated.jpg", *sorted((IMAGES / "broken").iterdir())]


def test_the_orientation_is_found_behind_fill_bytes_and_a_name_that_is_there_twice() -> None:
    plain = encoded(photograph(8, 16), "JPEG", exif=turned(6))
    segment = plain.index(b"\xff\xe1")
    length = int.from_bytes(plain[segment + 2:segment + 4], "big")
    twice = plain[:segment + 2] + (length + 6).to_bytes(2, "big") + b"Exif\0\0" + plain[segment + 4:]
    for data in (plain, plain[:segment] + b"\xff\xff" + plain[segment:], plain[:segment] + b"ab" + plain[segment:], twice):
        assert fb.decode_image(data).shape == (16, 8, 3)


def test_every_image_is_what_pillow_reads(tmp_path: pathlib.Path) -> None:
    """Equal to the last bit: both decode JPEG with the accurate integer DCT of libjpeg-turbo."""
    files = many_images(tmp_path)
    assert len(files) == 5 * 16 + 8 + 1 + 8
    pipe = fb.whole_file(files).record("data").decode_image("data", out="image")
    with pipe.select(["image"]).batch(size=1, pad=True).load(threads=2) as loader:
        for path, batch in zip(files, loader, strict=True):
            wanted = by_pillow(path.read_bytes())
            assert np.array_equal(batch["image"][0], wanted), path
            assert np.array_equal(fb.decode_image(path.read_bytes()), wanted), path


@pytest.mark.parametrize("method", METHODS)
def test_resize_is_that_of_pillow_within_one_level(method: str) -> None:
    image = photograph(296, 640)
    data = encoded(image, "PNG", compress_level=1)
    # Nearest: sizes whose steps a float holds exactly, because Pillow adds steps up. Area: whole numbers of pixels.
    sizes = {"nearest": ((256, 256), (64, 512), (16, 8)), "area": ((74, 160), (37, 128), (296, 80))}
    for height, width in sizes.get(method, ((224, 224), (100, 333), (17, 5), (401, 700))):
        wanted = np.asarray(image.resize((width, height), METHODS[method])).astype(int)
        found = fb.decode_image(data, resize=[height, width], method=method)
        assert np.abs(found - wanted).max() <= (0 if method == "nearest" else 1), (height, width)


def test_animations_are_those_of_pillow(tmp_path: pathlib.Path) -> None:
    noise = np.random.default_rng(1)
    frames = [Image.fromarray(noise.integers(0, 255, (20, 30, 3), np.uint8)) for _ in range(3)]
    for kind, options in (("GIF", {}), ("WEBP", {"lossless": True})):
        data = encoded(frames[0], kind, save_all=True, append_images=frames[1:], **options)
        wanted = []
        with Image.open(io.BytesIO(data)) as animation:
            for number in range(animation.n_frames):
                animation.seek(number)
                wanted.append(np.asarray(animation.convert("RGB")))
        assert np.array_equal(fb.decode_image(data, frames="all"), np.stack(wanted)), kind
        assert np.array_equal(fb.decode_image(data), wanted[0]), kind


def test_pngs_of_16_bits_and_palettes_keep_their_values() -> None:
    values = np.arange(0, 65536, 257, np.uint16).reshape(16, 16)
    data = encoded(Image.fromarray(values), "PNG")
    assert np.array_equal(fb.decode_image(data, channels=1, dtype="uint16")[..., 0], values)
    assert np.array_equal(fb.decode_image(data, channels=0, dtype=np.float32)[..., 0], values.astype(np.float32))
    image = photograph(427, 640).quantize(16)
    assert np.array_equal(fb.decode_image(encoded(image, "PNG", bits=4)), np.asarray(image.convert("RGB")))
    assert np.array_equal(fb.decode_image(encoded(image, "BMP")), np.asarray(image.convert("RGB")))


def test_a_wrong_format_is_a_warning_and_the_bytes_decide() -> None:
    data = encoded(Image.new("RGB", (2, 1), (1, 2, 3)), "PNG")
    with pytest.warns(UserWarning, match="format is 'jpg', but the bytes are png"):
        assert fb.decode_image(data, format="jpg").tolist() == [[[1, 2, 3], [1, 2, 3]]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fb.decode_image(memoryview(data), format="PNG")
    for bad, found in ((b"", "no bytes"), (b"<html>", "HTML"), (b"<svg/>", "SVG"), (data[:40], "not an intact PNG")):
        with pytest.raises(fb.DataError, match=found):
            fb.decode_image(bad, format="png")
    with pytest.raises(fb.ConfigError, match="channels.*must be 0, 1, 3 or 4; found 2"):
        fb.decode_image(data, channels=2)


@pytest.fixture
def some_bad(tmp_path: pathlib.Path) -> list[str]:
    """Eight small images of all formats; those of odd number are cut short."""
    noise = np.random.default_rng(2)
    paths = []
    for number, kind in enumerate(["PNG", "GIF", "BMP", "WEBP", "JPEG", "PNG", "BMP", "GIF"]):
        data = encoded(Image.fromarray(noise.integers(0, 255, (40, 50, 3), np.uint8)), kind)
        path = tmp_path / f"{number}.{kind.lower()}"
        path.write_bytes(data[:len(data) // 2] if number % 2 else data)
        paths.append(str(path))
    return paths


def test_bad_files_are_named_and_skipped(some_bad: list[str]) -> None:
    pipe = fb.whole_file(some_bad).record("data").decode_image("data", out="image", resize=[8, 8]).select(["image"]).batch(size=8)
    with pytest.raises(fb.DataError, match=r"1\.gif.*not an intact GIF"):
        list(pipe.load(threads=1))
    (batch,) = pipe.on_corrupt("skip_row").load(threads=2)
    assert batch.valid_rows == 4
    assert [origin[0] for origin, _ in batch.skipped] == some_bad[1::2]


def test_images_that_fail_late_count_in_the_budget(tmp_path: pathlib.Path) -> None:
    """The last bytes of a file are missing, so its header and most of its pixels are decoded before the fault."""
    noise = Image.fromarray(np.random.default_rng(2).integers(0, 255, (40, 50, 3), np.uint8))
    paths = []
    for number, kind in enumerate(["GIF", "PNG", "BMP", "WEBP", "GIF", "BMP", "WEBP", "JPEG"]):
        paths.append(tmp_path / f"{number}.{kind.lower()}")
        data = encoded(noise, kind)
        paths[-1].write_bytes(data if kind in ("PNG", "JPEG") else data[:-40])
    pipe = fb.whole_file(paths).record("data").decode_image("data", out="image", resize=[8, 8]).select(["image"]).batch(size=4)
    for threads in (1, 4):
        with pipe.on_corrupt("skip_row", max_count=6).load(threads=threads) as loader:
            assert [[pathlib.Path(origin[0]).name for origin, _ in batch.skipped] for batch in loader] == [
                ["0.gif", "2.bmp", "3.webp"], ["4.gif", "5.bmp", "6.webp"]]
            assert (loader.stats().skipped_records, loader.stats().rows) == (6, 8)
        for budget in ({"max_count": 5}, {"max_consecutive": 4}):
            loader = pipe.on_corrupt("skip_row", **budget).load(threads=threads)
            assert next(loader).valid_rows == 1
            with pytest.raises(fb.DataError, match=r"6\.webp.*not an intact WebP|5\.bmp.*not an intact BMP"):
                next(loader)


def test_jpegs_that_are_not_decoded_say_why_and_name_their_file(tmp_path: pathlib.Path) -> None:
    whole = encoded(Image.fromarray(np.random.default_rng(1).integers(0, 255, (24, 32, 3), np.uint8)), "JPEG")
    frame, tables, codes = whole.index(b"\xff\xc0"), whole.index(b"\xff\xdb"), whole.index(b"\xff\xc4")
    cases = {"12-bits": (whole[:frame + 4] + bytes([12]) + whole[frame + 5:], "it has 12 bits a sample, and 8 are decoded; convert it"),
             "lossless": (whole[:frame + 1] + b"\xc3" + whole[frame + 2:], "SOF type 0xc3; convert it"),
             "arithmetic": (whole[:frame + 1] + b"\xcb" + whole[frame + 2:], "SOF type 0xcb; convert it"),
             "table": (whole[:tables + 20], "not an intact JPEG: Premature end"),
             "length": (whole[:codes + 2] + b"\0\0" + whole[codes + 4:], "not an intact JPEG: Bogus marker length"),
             "codes": (whole[:codes + 2] + b"\xff\xff" + whole[codes + 4:], "not an intact JPEG: Bogus Huffman table"),
             "scan": (whole[:whole.index(b"\xff\xda") + 5], "not an intact JPEG: Premature end")}
    for path in sorted((IMAGES / "broken").iterdir()):
        kind = "JPEG" if path.suffix == ".jpg" else "BMP"
        data = path.read_bytes()
        cases[path.name] = (data[:len(data) * 2 // 3], f"not an intact {kind}")
    for name, (data, message) in cases.items():
        (tmp_path / name).write_bytes(data)
        pipe = fb.whole_file([tmp_path / name]).record("data").decode_image("data").batch(size=1, pad=True)
        with pytest.raises(fb.DataError) as caught:
            next(pipe.load(threads=1))
        assert caught.value.file == str(tmp_path / name) and message in str(caught.value), str(caught.value)


def test_the_step_tells_of_the_first_image_of_another_format(tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    image = Image.new("RGB", (2, 1), (1, 2, 3))
    kinds = ["PNG", "BMP", "PNG", "BMP", "GIF"]
    for number, kind in enumerate(kinds):
        (tmp_path / f"{number}").write_bytes(encoded(image, kind))
    pipe = fb.whole_file(str(tmp_path / "*")).record("data").decode_image("data", format="png").batch(size=1, pad=True)
    with pipe.load(threads=1) as loader:
        assert [batch["data"][0, 0, 0].tolist() for batch in loader] == [[1, 2, 3]] * 5
    told = [line for line in capfd.readouterr().err.splitlines() if "format" in line]
    assert len(told) == 2 and "decode_image" in told[0], told
    assert f"`format` is PNG, and the bytes of 'data' are BMP; they are decoded as that (first: {tmp_path}/1)" in told[0], told
    assert "are GIF" in told[1]
    with pytest.raises(fb.ConfigError, match="format.*jpeg.*png"):
        fb.whole_file("*").record("data").decode_image("data", format="tiff").batch(size=1).plan()


def jittered(folder: pathlib.Path, threads: int, state: object = None) -> list[tuple[object, bytes]]:
    for i in range(6):
        image = Image.fromarray(np.random.default_rng(i).integers(0, 255, (30, 40, 3), np.uint8))
        (folder / f"{i}.png").write_bytes(encoded(image, "PNG"))
    pipe = fb.whole_file(str(folder / "*.png")).record("data").decode_image(
        "data", out="image", region={"random_resized": {}}, resize=[8, 8], flip="random").color_jitter(
            "image", brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1).select(["image"]).batch(size=2)
    out = []
    with pipe.epochs(2).seed(3).load(threads=threads) as loader:
        if state is not None:
            loader.load_state_dict(state)
        for batch in loader:
            out.append((loader.state_dict(), batch["image"].tobytes()))
    return out


def test_random_changes_go_on_after_a_restart_at_any_batch(tmp_path: pathlib.Path) -> None:
    once = jittered(tmp_path, 1)
    pixels = [each for _, each in once]
    assert [each for _, each in jittered(tmp_path, 8)] == pixels
    assert len(set(pixels)) == 6  # the second epoch draws anew
    for number, (state, _) in enumerate(once):
        assert [each for _, each in jittered(tmp_path, 8, state)] == pixels[number + 1:]


def test_color_jitter_is_what_its_page_says() -> None:
    """The factors of a row are found again from a gray, a colored and a white pixel."""
    row = np.array([[[100, 100, 100], [200, 100, 50], [0, 0, 0]]], np.float32)
    pipe = fb.arrays({"x": np.stack([row] * 50)})
    for batch in pipe.color_jitter("x", brightness=0.5).batch(size=50).seed(1).load(threads=1):
        factors = batch["x"][:, 0, 0, 0] / 100
        assert factors.min() < 0.7 and factors.max() > 1.3
        assert np.allclose(batch["x"], np.minimum(row * factors[:, None, None, None], 255), atol=1e-3)
    gray = row @ np.array([0.299, 0.587, 0.114], np.float32)
    for batch in pipe.color_jitter("x", saturation=0.5).batch(size=50).seed(1).load(threads=1):
        factor = ((batch["x"] - gray[..., None]) / (row - gray[..., None] + 1e-9))[:, 0, 1, :]
        assert np.allclose(factor, factor[:, :1], atol=1e-3) and factor.min() < 0.7 and factor.max() > 1.3
    for batch in pipe.color_jitter("x", hue=0.5).batch(size=50).seed(1).load(threads=1):
        assert np.allclose(batch["x"].max(-1), row.max(-1), atol=1e-3) and np.allclose(batch["x"].min(-1), row.min(-1), atol=1e-3)
        assert len(np.unique(np.round(batch["x"][:, 0, 1], 3), axis=0)) == 50
