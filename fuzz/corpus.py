# SPDX-License-Identifier: Apache-2.0
"""Makes the seeds of the fuzz targets: small valid inputs, and the classic broken ones. Deterministic, no library needed."""
from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

from corpus_files import json_examples, json_objects, lists, replies, sounds, vocabularies


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def frame(record: bytes) -> bytes:
    length = struct.pack("<Q", len(record))
    return length + masked(length) + record + masked(record)


def lone_header(length: int) -> bytes:
    """A frame's header with a valid checksum and nothing after it."""
    text = struct.pack("<Q", length)
    return text + masked(text)


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number: int, body: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(body)) + body


def entry(key: bytes, feature: bytes, swapped: bool = False) -> bytes:
    parts = [field(1, key), field(2, feature)]
    return field(1, b"".join(parts[::-1] if swapped else parts))


def ints(*values: int) -> bytes:
    return field(3, field(1, b"".join(varint(v) for v in values)))


def loose_ints(*values: int) -> bytes:
    return field(3, b"".join(varint(8) + varint(v) for v in values))


def floats(*values: float) -> bytes:
    return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))


def texts(*values: bytes) -> bytes:
    return field(1, b"".join(field(1, v) for v in values))


def example(*entries: bytes) -> bytes:
    return field(1, b"".join(entries))


def examples() -> dict[str, bytes]:
    full = [entry(b"x", floats(1, 2, 3)), entry(b"label", ints(7)), entry(b"ids", ints(1, 300, -1, 1 << 40)),
            entry(b"name", texts(b"a", b"")), entry(b"raw", texts(b"\x00\x01\xff\xfe")), entry(b"ix", ints(3, 0)),
            entry(b"val", floats(0.5, -0.5)), entry(b"steps", floats(1, 2, 3, 4)), entry(b"half", floats(65504.0)),
            entry(b"parts", ints(2, 1)), entry(b"pieces", ints(4, 5, 6)), entry(b"names", texts(b"c", b"", b"dd"))]
    return {
        "full": example(*full),
        "reversed": example(*full[::-1]),
        "loose": example(entry(b"x", floats(1, 2, 3)), entry(b"label", loose_ints(7)), entry(b"ids", loose_ints(1, -2, 3))),
        "swapped": example(entry(b"x", floats(1, 2, 3), swapped=True), entry(b"label", ints(7), swapped=True)),
        "twice": example(entry(b"label", ints(1)), entry(b"label", ints(2)), entry(b"x", floats(1, 2, 3))),
        "joined": example(entry(b"label", ints(1))) + example(entry(b"x", floats(1, 2, 3))),
        "unknown": field(9, b"abc") + example(entry(b"x", floats(1, 2, 3)), entry(b"label", ints(1))) + b"\x58\x01",
        "no kind": example(entry(b"x", b""), entry(b"label", ints(0))),
        "group": b"\x4b\x0a\x01a\x4c" + example(entry(b"label", ints(5))),
        "deep groups": b"\x4b" * 300,
        "long varint": b"\x0a" + b"\xff" * 11,
        "past the end": b"\x0a\x7f\x0a",
        "odd floats": example(entry(b"x", field(2, field(1, b"\0" * 11)))),
        "empty": b"",
    }


def sequence(context: bytes, *lists: bytes) -> bytes:
    return field(1, context) + field(2, b"".join(lists))


def steps(key: bytes, *features: bytes) -> bytes:
    return field(1, field(1, key) + field(2, b"".join(field(1, feature) for feature in features)))


def sequences() -> dict[str, bytes]:
    label = entry(b"label", ints(7))
    full = [steps(b"x", floats(1, 2), floats(3, 4)), steps(b"half", floats(65504.0)), steps(b"i", ints(1), ints(-1), ints(300)),
            steps(b"j", ints(1, 2, 3)), steps(b"s", texts(b"a"), texts(b"")), steps(b"t", texts(b"a", b"bc")),
            steps(b"r", texts(b"\x00\x01\xff\xfe")), steps(b"vf", floats(1), b"", floats(2, 3)), steps(b"vi", ints(), ints(4, 5)),
            steps(b"vs", texts(b"a", b"b"), texts()), steps(b"v", ints(4, 5, 6)), steps(b"n", ints(2, 1))]
    return {
        "sequence full": sequence(label + entry(b"names", texts(b"c", b"dd")), *full),
        "sequence reversed": field(2, b"".join(full[::-1])) + field(1, label),
        "sequence loose": sequence(label, steps(b"i", loose_ints(1), ints(2)), steps(b"vi", loose_ints(1, 2))),
        "sequence twice": sequence(label, steps(b"i", ints(1)), steps(b"i", ints(2), ints(3))),
        "sequence counts": sequence(label, steps(b"x", floats(1, 2), floats(3)), steps(b"j", ints(1, 2))),
        "sequence kinds": sequence(label, steps(b"i", ints(1), floats(2))),
        "sequence long": sequence(label, steps(b"s", *[texts(b"z" * 130)] * 3), steps(b"vf", floats(*range(40)))),
        "sequence cut": sequence(label, *full)[:-9],
    }


def tfrecords() -> dict[str, bytes]:
    records = [b"", b"a", b"hello", bytes(range(200)), *list(examples().values())[:4]]
    whole = b"".join(frame(r) for r in records)
    out = {"whole": whole, "one": frame(b"x"), "empty": b"", "cut": whole[:-3], "trailing": whole + b"\0" * 7}
    for length in (1 << 32, 1 << 40, 1 << 63, (1 << 64) - 16, (1 << 64) - 4, (1 << 64) - 1):
        out[f"length {length:x}"] = frame(b"good") + lone_header(length)
    # The first byte chooses the window that the scan sees at once.
    return {f"{name} {window}": bytes([window]) + data for name, data in out.items() for window in (0, 9)}


def corrupt() -> dict[str, bytes]:
    """Plans for fuzz/resync_fuzz.cc: two bytes for windows and blocks, then a kind, a number and perhaps a payload."""
    def piece(kind: int, number: int, payload: bytes = b"") -> bytes:
        return struct.pack("<BH", kind, number) + payload

    good, bad = piece(0, 5, b"hello"), piece(4, 5, b"hello")
    plans = {"good": good * 3, "bad": good + bad + good, "lone header": good + piece(5, 40) + good * 2, "junk": piece(6, 9, b"x" * 9) + good,
             "lost byte": bad + piece(7, 1) + good * 2, "cut": good * 2 + piece(7, 3), "candidates": piece(5, 200) * 9 + good * 9}
    out = {f"{name} {window}": bytes([window, 30]) + plan for name, plan in plans.items() for window in (0, 16, 254)}
    whole = frame(b"outer" + frame(b"in") * 2) + frame(b"next")
    return out | {f"raw {i}": bytes([15, 0]) + whole[:i] + b"?" + whole[i + 1:] for i in range(0, len(whole), 7)}


def packed() -> dict[str, bytes]:
    text = b"forebay " * 200 + bytes(range(256))
    member, stream = gzip.compress(text, 6, mtime=0), zlib.compress(text)
    raw = {"gzip": member, "members": member + gzip.compress(b"", mtime=0) + member, "junk": member + b"junk", "zlib": stream,
           "cut": member[:-9], "bad crc": member[:-8] + b"\0\0\0\0" + member[-4:], "bad size": member[:-4] + b"\1\0\0\0",
           "stored": gzip.compress(text, 0, mtime=0), "zlib cut": stream[:-2], "bomb": zlib.compress(bytes(1 << 20), 9),
           "named": b"\x1f\x8b\x08\x18" + b"\0" * 6 + b"name\0comment\0" + member[10:]}
    stored_frame = b"\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello"
    frames = {"zstd": stored_frame, "frames": stored_frame + b"\x50\x2a\x4d\x18\3\0\0\0abc" + stored_frame,
              "zstd cut": stored_frame[:-2], "zstd size": b"\x28\xb5\x2f\xfd\x20\5\1\0\0",
              "zstd window": b"\x28\xb5\x2f\xfd\0\x90" + bytes(20),
              "zstd zeros": b"\x28\xb5\x2f\xfd\0\x58" + (3 | 100_000 << 3).to_bytes(3, "little") + b"\0"}
    return {name: bytes([name in ("zlib", "zlib cut", "bomb")]) + data for name, data in raw.items()} | \
        {name: b"\2" + data for name, data in frames.items()} | \
        {f"bzip2 {name}": b"\4" + data for name, data in streams(bz2.compress(text)).items()} | \
        {f"xz {name}": b"\5" + data for name, data in streams(lzma.compress(text)).items()}


def streams(one: bytes) -> dict[str, bytes]:
    return {"one": one, "two": one + one, "cut": one[:-3], "junk": one + b"junk", "padded": one + bytes(8)}


def archives() -> dict[str, bytes]:
    """For fuzz/tar_fuzz.cc: a byte that says how large windows are, and an archive."""
    members = [("a.txt", b"one"), ("a.b.c", b"2" * 700), ("dir/b.txt", b""), ("x" * 150 + ".txt", b"long")]
    out = {}
    for name, kind in (("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w", format=kind) as archive:
            for path, content in members[:3 if kind == tarfile.USTAR_FORMAT else 4]:
                member = tarfile.TarInfo(path)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
        out |= {f"{name} {window}": bytes([window]) + file.getvalue() for window in (0, 60)}
    return out


def array_files() -> dict[str, bytes]:
    """For fuzz/npy_fuzz.cc: a byte that says npy, IDX or npz, and a file."""
    def npy(header: str, data: bytes = b"", version: int = 1) -> bytes:
        size = struct.pack("<H" if version == 1 else "<I", len(header))
        return b"\x93NUMPY" + bytes([version, 0]) + size + header.encode() + data
    plain = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", bytes(8))
    headers = {"plain": plain, "fortran": npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", bytes(12), 2),
               "objects": npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"\x80\4."),
               "large": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999, 9999999999), }")}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, method in (("x.npy", zipfile.ZIP_DEFLATED), ("y.npy", zipfile.ZIP_STORED)):
            file.writestr(zipfile.ZipInfo(name), plain, method)
    idx = b"\0\0\x08\2" + struct.pack(">II", 2, 3) + bytes(6)
    return {name: b"\0" + data for name, data in headers.items()} | {"idx": b"\1" + idx, "npz": b"\2" + archive.getvalue()}


def text_files() -> dict[str, bytes]:
    """For fuzz/lines_fuzz.cc: a byte that says how large windows are, and a text."""
    return {"ends": b"\5a\r\n\nb\rc\n\r\nlast", "long": b"\x20" + b"x" * 199 + b"\n" + b"y" * 300, "cut": b"\1one\ntwo\r"}


def manifests() -> dict[str, bytes]:
    features = [{"name": "x", "dtype": "float32", "shape": [3], "deserialize_type": "float"},
                {"name": "label", "dtype": "int64", "shape": [], "deserialize_type": "int"},
                {"name": "raw", "dtype": "int16", "shape": [2], "deserialize_type": "raw",
                 "deserialize_args": {"endian": "little", "len": 1}},
                {"name": "name", "dtype": "string", "shape": [], "deserialize_type": "string"}]
    good = {"compression": None, "allow_var_len": False, "features": features}
    return {"good": json.dumps(good, indent=1).encode(), "gzip": json.dumps(good | {"compression": "GZIP"}).encode(),
            "sequence": json.dumps(good | {"allow_var_len": True, "features": [f | {"var_len": False} for f in features]}).encode(),
            "unknown key": json.dumps(good | {"compresion": "gzip"}).encode(), "not an object": b"[]",
            "bad dtype": json.dumps(good).replace("float32", "flaot32").encode(), "comment": b"// hello\n" + json.dumps(good).encode()}


def documents(root: Path) -> dict[str, bytes]:
    loader = {"type": "independent", "args": {
        "dataset": {"type": "list", "args": {"list_file": "a", "manifest_file": "b"}}, "target_batch_size": 4,
        "drop_remainder": False, "epochs": 1, "num_read_buffer_bytes": 0, "num_prefetch": 1,
        "primary_features": [{"from_name": "x", "to_name": "x"}]}}
    steps = [{"slice": {"tensor": "x", "slice": "[0:2]"}}, {"cast": {"tensor": "x", "dtype": "float64"}},
             {"shuffle": {"buffer": 10}}, {"take": {"count": 5}}, {"interleave": {"cycle": 2}},
             {"batch": {"size": 4, "remainder": "pad", "pad": True}}]
    pipeline = {"source": {"tfrecord": {"files": ["none.tfrecord"], "compression": "auto"}},
                "decode": {"example": {"features": {"x": {"dtype": "float32", "shape": [3], "default": 1.5},
                                                    "y": {"dtype": "string", "shape": [-1]}}}},
                "steps": steps, "epochs": 2, "seed": 7, "epoch_boundary": "hard", "deterministic": False, "on_corrupt": "fail"}
    return {"loader": json.dumps(loader).encode(), "pipeline": json.dumps(pipeline, indent=1).encode(), "empty": b"{}",
            "deep": b"[" * 80, "numbers": b"[1, -0.0, 1e308, 1e999, 18446744073709551616, 0.1]",
            "text": rb'{"a\u0000b": "\ud83d\ude00 // no comment", "a": "\ud800"} // comment',
            "example": (root / "examples/02_pipeline_document.json").read_bytes(),
            "taxi": (root / "examples/taxi/loader.json").read_bytes()}


def slices() -> dict[str, bytes]:
    texts = ["[0]", "[-1]", "[1:3]", "[:,0]", "[3,:,4:,:-2,1:4]", "[::2]", "[::-1]", "[ 1 , 2 ]", "[]", "[a]", "[...]", "[1:2:3:4]",
             "[1,]", "[::0]", "[9223372036854775807:-9223372036854775808]", "[99999999999999999999]", "3", "["]
    return {f"slice {i}": text.encode() for i, text in enumerate(texts)}


def expressions() -> dict[str, bytes]:
    """Texts for fuzz/expression_fuzz.cc, over its tensors i, u, r, b, s, v, w."""
    texts = ["i >= 0 and length(v) < 4096", "not b or s in ['a', \"b\\x41\"]", "`i` // 2 % 3 == -1", "i not in [1, -2, 3.5]", "present(w)",
             "startswith(s, 'ab')", "1 - - 2 * (r + 1e3) / u", "-9223372036854775808 // -1 == i", "i % 0 > 1", "length(s) == 0",
             "lable >= 0", "a < b < c", "i = 1", "s + 1", "((((i))))", "i in []", "'", "`", "1e999", "99999999999999999999", "not " * 70 + "b",
             " + ".join(["i"] * 300), ""]
    return {f"expression {i}": text.encode() for i, text in enumerate(texts)}


def stored_index(records: list[tuple[int, int]], size: int, content: int, points: list[tuple[int, int, int, int, int]] = (), packed: int = 0,
                 signature: bytes = b"tfrecord max_record_bytes=1073741824") -> bytes:
    """An index as docs/formats/index.md has it; points are (compressed, uncompressed, window size, at, bit)."""
    windows = [p[2] for p in points]
    body = signature + bytes(-len(signature) % 8) + b"".join(struct.pack("<Q", o) for o, _ in records)
    body += b"".join(struct.pack("<I", n) for _, n in records)
    body += b"".join(struct.pack("<QQQIBBxx", c, u, sum(windows[:i]), w, at, bit) for i, (c, u, w, at, bit) in enumerate(points))
    body += b"w" * sum(windows)
    head = struct.pack("<8sIIQQqQQQQQQBB6x", b"\x89FBINDX\n", 1, 0xFFFFFFFE, 100 + len(body), size, 5, 6, 7, content, len(records),
                       len(points), sum(windows), packed, len(signature))
    return head + body + struct.pack("<I", crc32c(head + body))


def indexes() -> dict[str, bytes]:
    records = [(12, 3), (31, 0), (47, 9)]
    points = [(0, 0, 0, 0, 0), (20, 30, 30, 1, 3), (40, 50, 0, 0, 0)]
    good = {"plain": stored_index(records, 60, 60), "gzip": stored_index(records, 45, 60, points, 1), "zlib": stored_index(records, 45, 60, points, 2),
            "empty": stored_index([], 0, 0), "overlap": stored_index([(12, 30), (31, 0)], 60, 60), "late": stored_index(records, 45, 60, points[1:], 1)}
    return {f"{name} {fixed}": bytes([fixed]) + data for name, data in good.items() for fixed in (0, 1)}


def attributes() -> dict[str, bytes]:
    """Columns as docs/formats/index.md has them, with 1 to 64 bits a value."""
    return {f"{bits} bits": struct.pack("<QII", 11, bits, 0) + bytes(range(max(1, (11 * bits + 7) // 8)))
            for bits in (1, 8, 16, 32, 64)}


def states() -> dict[str, bytes]:
    """Texts (first byte even) as docs/formats/state.md has them, and positions (odd) followed by edits."""
    order = {"epoch": 2, "batch": 117, "pulled": 3, "next": 160, "from": 2, "begun": 1, "cut_short": 0, "done": 420000}
    data = {"files": 1, "bytes": 0, "digest": "5f1c5f1c5f1c5f1c"}
    good = {"version": 3, "plan": {"source": "90ab", "seed": "77e0"}, "data": data | {"each": [["part", 0]]},
            "sections": {"order": order}, "check": "0a1b2c3d"}
    groups = data | {"groups": [[1, 5, "5f1c5f1c5f1c5f1c"]] * 16}
    texts = {"good": good, "newer": good | {"version": 4}, "older": {"forebay_state": 2}, "more": good | {"more": 1}, "list": [good],
             "empty": {}, "negative": good | {"sections": {"order": order | {"next": -1}}}, "groups": good | {"data": groups},
             "section": good | {"sections": {"order": order, "combine": {"taken": 3}}}, "shards": good | {"plan": {"shards by file": "3"}}}
    out = {name: b"\0" + json.dumps(state).encode() for name, state in texts.items()}
    for name, position in {"begin": (0, 0, 0, 0, 0, 0, 0, 0), "middle": (2, 117, 3, 160, 2, 1, 0, 420000), "end": (3, 500, 0, 500, 2, 1, 11, 0),
                           "backwards": (0, 5, 0, 4, 0, 0, 0, 0), "huge": (2**31, 2**62, 2**62, 2**62, 2**40, 9, 2**62, 2**20)}.items():
        for mode in (1, 3):
            out[f"{name} {mode}"] = bytes([mode]) + struct.pack("<8q", *position) + struct.pack("<HB", 60, 0x31)
    return out


GRAY_JPEG = base64.b64decode(
    "/9j/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/wAALCAABAAIBAR"
    "EA/8QAFAABAAAAAAAAAAAAAAAAAAAACP/EABsQAAAHAQAAAAAAAAAAAAAAAAACBAYHN3W0/9oACAEBAAA/AEdC9OsTBQc5B//Z")
PROGRESSIVE_JPEG = base64.b64decode(
    "/9j/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6/+b9//j/2wBDASstLTw1PH"
    "ZBQXb4pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj/wgARCAASABQDASIAAhEBAxEB/8QAGAAB"
    "AAMBAAAAAAAAAAAAAAAAAAECAwT/xAAUAQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIQAxAAAAGLRQzbiKh0A//EABsQAAICAwEAAAAAAAAAAA"
    "AAAAARAQIDEiIx/9oACAEBAAEFAscGSOUPWr2lFynp/8QAFBEBAAAAAAAAAAAAAAAAAAAAIP/aAAgBAwEBPwEf/8QAFBEBAAAAAAAAAAAAAAAA"
    "AAAAIP/aAAgBAgEBPwEf/8QAGBAAAgMAAAAAAAAAAAAAAAAAARAAYYH/2gAIAQEABj8CmsUg/wD/xAAaEAACAwEBAAAAAAAAAAAAAAABEAAxQR"
    "Eh/9oACAEBAAE/IWA9x01ByMBKzev/2gAMAwEAAgADAAAAEHPHfP/EABYRAQEBAAAAAAAAAAAAAAAAABABQf/aAAgBAwEBPxAuH//EABQRAQAA"
    "AAAAAAAAAAAAAAAAACD/2gAIAQIBAT8QH//EAB8QAAIBBAIDAAAAAAAAAAAAAAABESExQXFRYaGx8P/aAAgBAQABPxCuyi+WZe9kFHEnfIxTMd"
    "Vy6Sy97POZ7Bl7P//Z")


def png(color: int, bits: int, rows: bytes, more: bytes = b"", interlaced: int = 0) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    header = struct.pack(">IIBBBBB", 4, 2, bits, color, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def other_images() -> dict[str, bytes]:
    """A small file of each format beside JPEG."""
    colors = struct.pack(">I", 6) + b"PLTE\1\2\3\4\5\6"
    colors += struct.pack(">I", zlib.crc32(colors[4:]))
    info = struct.pack("<IiiHHIIIIII", 40, 4, 2, 1, 8, 1, 0, 0, 0, 2, 0)
    frame = b"!\xf9\4\5\0\0\1\0,\0\0\0\0\2\0\2\0\0\2\3\x44\x34\5\0"
    vp8l = b"\x2f\0\0\0\0\x07\x10\xfd\x8f\xfe\x07\x22\xa2\xff\1\0"
    return {"gray": png(0, 8, b"\0abcd\1efgh"), "wide": png(2, 16, (b"\0" + bytes(24)) * 2), "palette": png(3, 1, b"\0\x50\0\xa0", colors),
            "interlaced": png(6, 8, bytes(64), b"", 1),
            "gif": b"GIF89a\2\0\2\0\x81\0\0" + bytes(range(12)) + frame + frame + b";",
            "bmp runs": b"BM" + struct.pack("<IHHI", 80, 0, 0, 62) + info + bytes(8) + b"\4\1\0\0\0\4\0\1\1\0\0\1",
            "bmp": b"BM" + struct.pack("<IHHI", 78, 0, 0, 54) + struct.pack("<IiiHHIIIIII", 40, 4, -2, 1, 24, 0, 0, 0, 0, 0, 0) + bytes(24),
            "webp": b"RIFF" + struct.pack("<I", 12 + len(vp8l)) + b"WEBPVP8L" + struct.pack("<I", len(vp8l)) + vp8l}


def images() -> dict[str, bytes]:
    """For fuzz/decode_image_fuzz.cc: a byte of options and an image; turned ones have EXIF data."""
    tiff = b"II*\0" + struct.pack("<IHHHIH", 8, 1, 0x0112, 3, 1, 6) + bytes(6)
    exif = b"\xff\xe1" + struct.pack(">H", len(tiff) + 8) + b"Exif\0\0" + tiff
    files = {"gray": GRAY_JPEG, "progressive": PROGRESSIVE_JPEG, "turned": PROGRESSIVE_JPEG[:2] + exif + PROGRESSIVE_JPEG[2:],
             "cut": PROGRESSIVE_JPEG[:300], "empty": b"", **other_images()}
    return {f"{name} {options}": bytes([options]) + data for name, data in files.items() for options in (0, 2, 15, 21, 30, 32)}


def separated() -> dict[str, bytes]:
    """For fuzz/csv_fuzz.cc: a byte for the windows, and rows of a float, an integer and a text."""
    texts = {"plain": b"1.5,2,a\n-0.25,-7,b\r\n", "quotes": b'1,2,"a\nb"\n,"3","c ""d"""\n', "stray": b'1,2,a"b\n3,4,"c"d\n5,6,"e',
             "numbers": b"1e5,9223372036854775807,x\n0x1p3, 4 ,y\nnan,,NA\n16777217.5,1,z\n", "blank": b"\n\r\n,,\n\r", "mark": b"\xef\xbb\xbf1,2,3"}
    return {f"{name} {window}": bytes([window]) + text for name, text in texts.items() for window in (0, 7, 80)}


def write(folder: Path, root: Path) -> None:
    """Writes every target's seeds under `folder`, one sub-folder for each."""
    sets = {"tfrecord": tfrecords(), "resync": corrupt(), "inflate": packed(), "example": examples() | sequences(), "inspect": examples() | sequences(), "manifest": manifests(),
            "document": documents(root), "slice": slices(), "expression": expressions(), "index": indexes(),
            "attribute": attributes(), "state": states(), "decode_image": images(),
            "tar": archives(), "npy": array_files(), "lines": text_files(), "csv": separated(),
            "decode_audio": sounds(), "json": json_objects(), "json_example": json_examples(), "vocabulary": vocabularies(),
            "reply": replies(), "list": lists()}
    for target, seeds in sets.items():
        (folder / target).mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (folder / target / name.replace(" ", "_")).write_bytes(data)
