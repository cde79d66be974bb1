# SPDX-License-Identifier: Apache-2.0
"""Seeds of the fuzz targets of sounds, examples as JSON text and vocabulary files; corpus.py writes them."""
from __future__ import annotations

import base64
import json
import struct
import zlib

# A sine of 50 samples as FLAC, and one of 200 samples as Ogg Vorbis, compressed by zlib.
FLAC = base64.b64decode(
    "ZkxhQwAAACIQABAAAAA1AAA1AfQA8AAAADJ28kZ5BEFLUt/zy5AtGGRyhAAAKCAAAAByZWZlcmVuY2UgbGliRkxBQyAxLjQuMyAyMDIzMDYyMwAAAAD/+GQI"
    "ADF0GAAAB6EO9BWvATCyjjjxJog0gtikb7TZVKqk3WV177nT3FGCDjxB5xJjVMA/cg==")
VORBIS = zlib.decompress(base64.b64decode(
    "eNq1Vn1QU9kVv0GUAJGJbKQRcZsoWfNAWEJBDR1nIIhLXgDxRTQkY9tNyGJIQCWEGbXMUAmobHSz+JJFiw4feRkTSBZSkx3jlrVqIkYmQyMJVvxsKyBRuzPt"
    "1s7Yme19QXftTP/tm3n3nXN+95x7zrnnnnd31teLQRx48/yjEBGT31sv835BeZ/SeqBZrtKSAkrxT5dmjG5e+p6l7CQ1wbuaFPjN3fzzzGTp928f97IlGwUQ"
    "kqgO7s/d2VzP0qjke2JSlpCVn5efl7clr4DFxZR1OoWqqZ5V1tSqaj7Q1KhsakFIk6nwLasq3bm9DNsGVbVNdZ+oNErK8iXLqYLSPXAWBdAwBpuzRowqqCYM"
    "Q5avU1TLPlqnmObvYNfRxSeEa4ijO7NMEnRiFSZBytaJK8RCE2aGlIIhLmeLIzzlgJYh6hImcjSVzpY00cJZhZm3Y50iKEXPKyI8OA/DhANaZtEnnDpG0Q7f"
    "gvzXeUWmQQF3/OZD7FlOZ7es+/cz6eJojp4pUv2B+rH2hTt8H23wMRUGnt/3ZzH32JSxhvQTFMdTYj4nAXCtmla2q50EileAdsAoO8S4eSjjo57M23GxKcWA"
    "3Bvu6Sfcng3Cnrpas7LWbD1svnjZ/uFrZ27U+WLRm6LvGokHEwAwu9jHHwonjWKj8AOkZpJPHfguhf+UURfC/L1yw66gUUzjLed1TSGd9OkqPkFbTy0tP18X"
    "ZIm2LTyWz2+lp7vWgxNwNUOJge03amnoCnbzaeEEa3uQj5zHK1Cu45JZmJhjiqyf78Or0A+IS2nYbQseEWQvByB+K3wl1M6uESoYBIDeYcTKkRu4vIp3HMdO"
    "IzeN2CTf19ts4C2wdk/yJjL05YiPqa3iz7HqaFlzGXpaPrmHKfBNEwyws+Pat1JAR6bqHKEa3K86xz1ivWgf5NrtTw9bn5212o8M2uxWu9dpszs1hy+oSPQC"
    "YrdDVm23R7vtDbetw/c8z+ye5wFX0xXXyOwFe8Bj87qa7M7GKy5N1Llp1vvXw/bFs9boEeszrz16z7Xodb2AbLc9e9YaDbiiAY8j4HKqITo4fM8JdV8ESN2R"
    "19boomcx4HUGXC9nPc7XLkfylQWvxxlwOoddI1FXTtSjmRXc+vvu8M8qZ76ruKOrmXE3hnWNMsgW7ttrLgvrlGGTbp9OKXsF0cq9JuWdGmWtSfmgVbn3izI4"
    "ucbcBtFfftH44JWydqbtjk4nMyln9yprXyn3veqs/artgbhGtmXf3pnKmXCbbKbtY0/jo59AtuZPkc4as+5RpE3Zqzuf54UOeZ5H7Zui486oPy/qzRvxNv7b"
    "6Ui+Phz1j0Hh/fHPGmbHv1308L72NmVcGV37zYvX/jGbvfG3zuGoNTvq1UTHD0S9hwyQtW967V0MkOy30fEPaUPRRW/Wbe/oPdeXt725tCvOtdcbZq+9vOc9"
    "OOnKpX31t+ybXyaXhj2dT8K6oeFZ/4Hk66EtreMAtFMSYJW/Fyh+u8Ur2NTVCnqWn6WnY0lsy27eCrYiBfVn4HRUyMZDEKiDJZhxho7ut+FTKJcgqlHRAB7B"
    "GnKs01LawCUGqnLgIWkD4pnGNNBU/rwFanCJS3tQFaKtQP39lhRBFmEJoUKHMii81T8U4pfbLCFMaHNXo2poCkXHiBDa6PClo6ocS0gKgWms0eGWboCLG0pu"
    "9Z3BUKENrjHXh6cUZZ3t6EERm6kHG+k9EyrhcjoMqJBw96DZS6Y6ManaEe7FRIV4DzTlg2s43Oni7MLOaiwZnhjornuPuiHHUy1QD1jSRFk8d5oCLs6EgCVV"
    "hth8abJTDrdELCo098g1jvBdNIcfkarRnEgIMzjcvbKKyz6JeiUnZgp6hTp8EamDXDxrzNQjJTWkhkI8JEcQtxHVQFMyTaHVLNeMhSXYpzy/RCtyh3HppxAQ"
    "ZRf6meqmwqcYAFfbl4Hi9kRl/5TRBIoZAPyKpjCU7Gc0T/KRU1iQv5GjTRFQEWWwhMomgnwqcWmanzCA4wIEIRgyLoeISDcB0H+VAlhXV1Se9FGSVtYmgu2Q"
    "9XN9TL2fRTA7pphDDLjZBBOaIhiKYMkEUxssQdZAaiNHTxcgBBy4BA57UFIGbHyaKVySAR1aTVlySE7jdbFasCJklb4C3Uh8nipNRpRmtJvjn5SedNy4W57o"
    "6Izkqzn+kHyH44ZEngXAc+jQ86sCbkEdBxgTQDHpQZBfT5fD9sguoPJg54HV10fGthoCCWx9kD8Pi1Ew36elC6gDHXAg8BAMWo+hz1gxJ1tIAMdg9846CAB1"
    "dFed9tjn/bBdx4HDsMR5KEwWsQPxsywMGRkw1uCQ0wRwnySwuomI/DnLMi01uFshkOOXlpKAOkgCI4UzJDB3/ygJaIOXAbi/PAGMLltbtnkjMzHrbRDQsMLA"
    "P47LDbz5vlKU5+/VBhE/zCV/ngSg6yQAWRLgx6j5/g4jSU2VLJAsld0CZTD2/xXEEzIIHEMRAg4Xh95QcWzirez/PZj+WwRYj5ISwPcJa+slwqLsjJW5ZB7o"
    "8FfBvM7UG8hkd/GoREsVKuQUGkq4hDYVanVMSRvgqcfQNXpcnsw24dIk2BPUiM2NY1zEly5CbUQkfz7T0iMVOTy9/ATCEpE2OHx0ATrmjmDqMR382zvcEWlj"
    "jgWXqnP8EbmGQ5ilahs8bhU2d5pMRMpEDt9dOTxV6cngcdNB0F4+eqjLZPndtT8+jqWSTQHx+ShMPFlHbKybB/eBpLajvLklmR5uFVlWsKKMsWokZVgRlFWj"
    "iWT88zEZSSWyl44HjA5Sb7LD+UFG/EjhP1KpsVqNTV6yElPjkuUcoxI5PySa/U7KQfsyslNvWMgcCqzXFDy5towOyKtIXAX4DeXYsV3UOP0qauzeRwX/AqA8"
    "qf3Eif1ztBR6KiONmZ7xPmt9JnjniY/dFeMn3rkrklfOE/9s1cUx3hsUn+r5eiAO0NoD30TXALCNmKacu3Ny19G/qEEBaH/oVXABtxL8BzUrWiw="))


def wav(format: int, channels: int, bits: int, data: bytes, claimed: int | None = None) -> bytes:
    block = channels * bits // 8
    header = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, format, channels, 16000, 16000 * block % 2**32, block % 2**16, bits)
    body = header + b"LIST" + struct.pack("<I", 3) + b"abc\0" + b"data" + struct.pack("<I", len(data) if claimed is None else claimed) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def sounds() -> dict[str, bytes]:
    """For fuzz/decode_audio_fuzz.cc: a byte of options and a file."""
    samples = struct.pack("<40h", *range(-20000, 20000, 1000))
    frame = b"\xff\xfb\x90\x00" + bytes(413)   # of layer 3: silence
    files = {"pcm16": wav(1, 2, 16, samples), "pcm24": wav(1, 1, 24, samples[:78]), "pcm8": wav(1, 1, 8, samples), "float": wav(3, 1, 32, samples),
             "claims": wav(1, 1, 16, samples, 2**32 - 1), "cut": wav(1, 1, 24, samples)[:-5], "bits": wav(1, 1, 63, samples),
             "channels": wav(1, 65535, 16, samples), "flac": FLAC, "flac cut": FLAC[:-9], "vorbis": VORBIS, "vorbis cut": VORBIS[:900],
             "mp3": frame * 3, "id3": b"ID3\4\0\0\0\0\0\3abc" + frame * 2, "empty": b""}
    return {f"{name} {options}": bytes([options]) + data for name, data in files.items() for options in (0, 1, 14, 24, 35)}


def json_objects() -> dict[str, bytes]:
    return {"whole": b"""{"n": 1, "f": -1.5e3, "ok": true, "s": "caf\\u00e9 \\ud83d\\ude00", "box": [[1, 2], [3, 4]], "list": [0.5, null, NaN],
                          "pairs": [[1, 2], [-3, 4]], "u": {"words": ["a", "b"]}, "m": [{"c": "x", "i": 1}, {"i": 2, "r": {}}], "more": [{}]}""",
            "nulls": b'{"n": 2.0, "f": null, "u": null, "m": null, "list": null, "pairs": [], "box": null}',
            "wrong": b'{"n": "1"}', "cut": b'{"n": 1, "list": [1', "twice": b'{"n": 1, "n": 1}', "deep": b'{"m": [[' + b"[" * 200}


def json_examples() -> dict[str, bytes]:
    def message(**features: object) -> bytes:
        return json.dumps({"features": {"feature": features}}).encode()

    name = {"bytesList": {"value": [base64.b64encode(b"caf\xc3\xa9").decode()]}}
    full = message(x={"floatList": {"value": [1.5, "NaN"]}}, label={"int64List": {"value": ["-7"]}}, name=name,
                   ids={"int64_list": {"value": [1, 2.0, "3"]}}, names={"bytes_list": {"value": ["", "YQ=="]}})
    return {"full": full, "empty": b"{}", "null": message(x=None, label={"int64List": None}), "cut": full[:-20],
            "twice": b'{"features": {"feature": {"label": {"int64List": {"value": [1]}}, "label": {"int64List": {"value": [2]}}}}}',
            "range": message(label={"int64List": {"value": ["9223372036854775808"]}}), "unknown": b'{"features": {}, "other": [1, {"a": []}]}',
            "base64": message(name={"bytesList": {"value": ["a"]}}), "deep": b'{"features": ' + b"[" * 200, "escape": b'{"\\u0066eatures": {}}'}


def vocabularies() -> dict[str, bytes]:
    return {"words": b"the\na\nof\n", "no end": b"one\r\ntwo", "twice": b"a\nb\na\n", "empty": b"", "blank": b"\n", "blanks": b"\n\n",
            "bytes": b"\xff\0\n\xfe", "long": b"x" * 300 + b"\n" + b"\n".join(b"%d" % i for i in range(200))}


def replies() -> dict[str, bytes]:
    """Heads of answers of http."""
    return {"range": b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-9/100\r\nContent-Length: 10\r\nETag: \"a\"\r\n\r\n",
            "again": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Slow Down\r\nRetry-After: 3\r\nx-amz-bucket-region: eu-1\r\n\r\n",
            "twice": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n", "ranges": b"bytes 0-9/100\nbytes */7\nbytes 5-1/9\nbytes 0-0/*\n"}


def lists() -> dict[str, bytes]:
    """Lists and refusals of object stores, and credentials of services."""
    keys = b"".join(b"<Contents><Key>a%%2Fb+%d</Key><Size>%d</Size></Contents>" % (i, i) for i in range(3))
    return {"page": b'<?xml version="1.0"?><ListBucketResult xmlns="x"><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>'
                    + keys + b"</ListBucketResult>", "error": b"<Error><Code>NoSuchKey</Code><Message>no &amp; none</Message><Region>eu</Region></Error>",
            "type": b"<!DOCTYPE x [<!ENTITY a 'aa'>]><ListBucketResult>&a;</ListBucketResult>", "deep": b"<a>" * 20,
            "keys": b'{"AccessKeyId": "A", "SecretAccessKey": "b", "Token": "c", "Expiration": "2026-11-26T12:34:56Z"}'}
