# SPDX-License-Identifier: Apache-2.0
"""TFRecord files of Examples, made column by column with numpy."""
import numpy as np

try:
    from crc32c import crc32c as _crc
except ImportError:
    try:
        from google_crc32c import value as _value

        def _crc(b):
            return _value(bytes(b))
    except ImportError:
        _crc = None


# ---------------------------------------------------------------- CRC32C and TFRecord framing
def _table():
    t = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        t = np.where(t & 1, (t >> 1) ^ np.uint32(0x82F63B78), t >> 1).astype(np.uint32)
    return t


TABLE = _table()


def crc_rows(buf, starts, lengths):
    """CRC32C of many slices of one byte array."""
    if _crc is not None:
        mv = memoryview(buf)
        return np.array([_crc(mv[s:s + n]) for s, n in zip(starts.tolist(), lengths.tolist())], np.uint32)
    crc = np.full(len(starts), 0xFFFFFFFF, np.uint32)
    order = np.argsort(-lengths, kind="stable")
    s, n, c = starts[order], lengths[order], crc[order]
    live = len(n)
    for j in range(int(n[0]) if len(n) else 0):
        while live and n[live - 1] <= j:
            live -= 1
        c[:live] = TABLE[(c[:live] ^ buf[s[:live] + j]) & 0xFF] ^ (c[:live] >> np.uint32(8))
    crc[order] = ~c
    return crc


def masked(crc):
    return (((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(0xA282EAD8)).astype(np.uint32)


def write_tfrecord(path, payload, lengths):
    """`payload`: all records back to back (uint8); `lengths`: bytes of every record."""
    lengths = lengths.astype(np.int64)
    n = len(lengths)
    src = np.concatenate([[0], np.cumsum(lengths)])
    dst = np.concatenate([[0], np.cumsum(lengths + 16)])
    out = np.zeros(dst[-1], np.uint8)
    head = np.zeros((n, 12), np.uint8)
    head[:, :8] = lengths.astype("<u8").view(np.uint8).reshape(n, 8)
    uniq, inv = np.unique(lengths, return_inverse=True)
    ub = uniq.astype("<u8").view(np.uint8)
    ucrc = masked(crc_rows(ub, np.arange(len(uniq)) * 8, np.full(len(uniq), 8)))
    head[:, 8:] = ucrc[inv].astype("<u4").view(np.uint8).reshape(n, 4)
    tail = masked(crc_rows(payload, src[:-1], lengths)).astype("<u4").view(np.uint8).reshape(n, 4)
    idx = dst[:-1]
    for k in range(12):
        out[idx + k] = head[:, k]
    for k in range(4):
        out[dst[1:] - 4 + k] = tail[:, k]
    mask = np.ones(dst[-1], bool)
    for k in range(12):
        mask[idx + k] = False
    for k in range(4):
        mask[dst[1:] - 4 + k] = False
    out[mask] = payload
    out.tofile(path)


# ---------------------------------------------------------------- vectorised protobuf pieces
def varints(values):
    """Varint bytes of every value: (n, 10) uint8 matrix trimmed to the widest, and the byte counts."""
    v = np.asarray(values).astype(np.uint64)
    size = np.ones(len(v), np.int64)
    t = v >> np.uint64(7)
    while t.any():
        size += t > 0
        t >>= np.uint64(7)
    w = int(size.max()) if len(v) else 1
    mat = np.empty((len(v), w), np.uint8)
    for j in range(w):
        b = (v >> np.uint64(7 * j)) & np.uint64(0x7F)
        mat[:, j] = b.astype(np.uint8) | np.where(j + 1 < size, 0x80, 0).astype(np.uint8)
    return mat, size


class Piece:
    """A per-row byte string: matrix (n, w) of which the first size[i] bytes of row i count."""

    def __init__(self, mat, size):
        self.mat, self.size = mat, size

    @staticmethod
    def const(n, data):
        row = np.frombuffer(data, np.uint8)
        return Piece(np.broadcast_to(row, (n, len(row))), np.full(n, len(row), np.int64))

    @staticmethod
    def fixed(mat):
        return Piece(mat, np.full(len(mat), mat.shape[1], np.int64))

    @staticmethod
    def varint(values):
        return Piece(*varints(values))


def message(n, tag, pieces):
    """tag + length prefix + pieces."""
    size = sum(p.size for p in pieces)
    return [Piece.const(n, bytes([tag])), Piece.varint(size)] + pieces


def flatten(pieces):
    n = len(pieces[0].size)
    width = sum(p.mat.shape[1] for p in pieces)
    mat = np.empty((n, width), np.uint8)
    mask = np.empty((n, width), bool)
    at = 0
    for p in pieces:
        w = p.mat.shape[1]
        mat[:, at:at + w] = p.mat
        mask[:, at:at + w] = np.arange(w)[None, :] < p.size[:, None]
        at += w
    return mat[mask], sum(p.size for p in pieces)


def feature(n, key, kind, body):
    """One map entry of tf.train.Features; kind 1 bytes, 2 float, 3 int64; body: the packed/bytes value."""
    lst = message(n, 0x0A, body)
    value = message(n, (kind << 3) | 2, lst)
    return message(n, 0x0A, message(n, 0x0A, [Piece.const(n, key.encode())]) + message(n, 0x12, value))


def example(n, features):
    return message(n, 0x0A, [p for f in features for p in f])


def vint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def msg(tag, body):
    return bytes([tag]) + vint(len(body)) + body
