# SPDX-License-Identifier: Apache-2.0
"""`forebay convert IN… OUT`, which the command starts as a program of Python unless it copies records."""
from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Optional, Sequence

from forebay._conversion.convert import FORMATS, convert
from forebay._conversion.pipelines import of_document
from forebay.errors import EXIT_CODES, Error

__all__ = ["main"]


def main(arguments: Optional[Sequence[str]] = None) -> int:
    asked = _parser().parse_args(arguments)
    if asked.document is None and len(asked.paths) < 2:
        return _failed(asked.json, "config", "invalid_argument", "convert: name the inputs, and the output at the end")
    if asked.document is not None and len(asked.paths) > 1:
        return _failed(asked.json, "config", "invalid_argument", "convert: --document names the inputs; give only the output beside it")
    index, _, count = asked.shard.partition("/")
    try:
        shard = int(index), int(count)
    except ValueError:
        return _failed(asked.json, "config", "invalid_argument", f"--shard: must be I/N, found '{asked.shard}'")
    shows = not asked.json and sys.stderr.isatty()
    try:
        inputs = asked.paths[:-1] if asked.document is None else of_document(asked.document)
        files = convert(inputs, asked.paths[-1], from_=asked.from_, to=asked.to, files=asked.files,
                        file_size=asked.file_size, shuffle=asked.shuffle, seed=asked.seed, select=asked.select or None,
                        drop=asked.drop or None, lists=asked.lists or None, compression=asked.compression, input_compression=asked.input_compression,
                        narrow=asked.narrow, shard=shard, index=not asked.no_index, threads=asked.threads,
                        existing="resume" if asked.resume else "replace" if asked.force else "refuse",
                        progress=_show if shows else None)
    except Error as problem:
        return _failed(asked.json, problem.code, problem.detail, str(problem))
    except KeyboardInterrupt:
        return _failed(asked.json, "cancelled", "none", "interrupted; complete files stay, and --resume goes on")
    finally:
        if shows:
            sys.stderr.write("\r\033[K")
    if asked.json:
        rows = [{"file": file.path, "rows": file.rows, "made": file.made} for file in files]
        print(json.dumps({"ok": True, "files": rows}, indent=2))
        return 0
    for file in files:
        print(f"{file.path}: {file.rows} rows{'' if file.made else ', complete before'}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="forebay convert", description="Writes data sets anew: other formats, files, order, "
                                     "compression.")
    parser.add_argument("paths", nargs="+", metavar="IN… OUT", help="files, patterns and folders, and the output: its name says the format")
    parser.add_argument("--document", help="instead of inputs: the rows of this pipeline document, before its batch")
    parser.add_argument("--from", dest="from_", choices=FORMATS, help="format of the inputs, if their names do not say it")
    parser.add_argument("--to", choices=FORMATS, help="format of the output, if its name does not say it")
    parser.add_argument("--input-compression", default="auto")
    parser.add_argument("--compression", help="of the output; left out: as its name says")
    parser.add_argument("--files", type=int, help="number of output files")
    parser.add_argument("--file-size", help="instead: about so much content in each file, such as 256MiB")
    parser.add_argument("--shuffle", action="store_true", help="write in the order of a global shuffle")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--select", action="append", help="write only this feature; may be repeated")
    parser.add_argument("--drop", action="append", help="leave this feature out; may be repeated")
    parser.add_argument("--lists", action="append", help="tensor that is a list of frames of SequenceExamples; may be repeated")
    parser.add_argument("--narrow", action="store_true", help="round float64 to float32 where the output has no float64")
    parser.add_argument("--shard", default="0/1", help="I/N: make only the files I, I + N, …")
    parser.add_argument("--resume", action="store_true", help="go on with the same conversion; complete files stay")
    parser.add_argument("--force", action="store_true", help="remove output files that are there")
    parser.add_argument("--no-index", action="store_true", help="do not store the indexes of the output")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _show(rows: int, of_rows: int) -> None:
    sys.stderr.write(f"\r\033[K{100 * rows // max(of_rows, 1):3} %  {rows} of {of_rows} rows")
    sys.stderr.flush()


def _failed(as_json: bool, code: str, detail: Any, message: str) -> int:
    if as_json:
        print(json.dumps({"ok": False, "faults": [{"code": code, "detail": detail, "message": message}]}, indent=2))
    kind = "" if code == "cancelled" else "error: "
    print(f"forebay: {kind}{message}", file=sys.stderr)
    return EXIT_CODES.get(code, 1)
