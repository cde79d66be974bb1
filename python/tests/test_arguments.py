# SPDX-License-Identifier: Apache-2.0
"""Arguments of the wrong type or size are refused in words, by name."""
from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from conftest import counts_document, write_counts

import forebay as fb


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_counts(tmp_path_factory.mktemp("data"), 8)


LOAD = [
    ({"threads": "2"}, TypeError, "threads: must be an integer or None; found '2' (str)"),
    ({"threads": 2.0}, TypeError, "threads: must be an integer or None; found 2.0 (float)"),
    ({"threads": True}, TypeError, "threads: must be an integer or None; found True (bool)"),
    ({"threads": -1}, fb.ConfigError, "threads: must be an integer from 0 to 1024, found -1"),
    ({"threads": 10**30}, fb.ConfigError, f"threads: must be an integer of 64 bits, found {10**30}"),
    ({"prefetch": "a"}, TypeError, "prefetch: must be an integer or None; found 'a' (str)"),
    ({"prefetch": -1}, fb.ConfigError, "prefetch: must be an integer from 0 to 1000000, found -1"),
    ({"memory": 1.5}, TypeError, 'memory: must be bytes, as 1073741824 or "1GiB", or None; found 1.5 (float)'),
    ({"memory": "1gb"}, fb.ConfigError,
     "memory: the value must be a number of bytes, as 1073741824 or \"1GiB\"; found '1gb'"),
    ({"shard": {"index": 0, "count": 2, "by": "fil"}}, fb.ConfigError,
     "/shard/by: 'by' must be one of: row, file, element, batch; found 'fil'; did you mean 'file'?"),
    ({"shard": 5}, fb.ConfigError,
     "shard: the value must be [index, count] with index from 0 to count - 1, \"index/count\", \"auto\" or "
     "{\"index\": …, \"count\": …, \"by\": …}, or a list of one of these and one by batch; found 5"),
]


@pytest.mark.parametrize("arguments, kind, message", LOAD)
def test_load_names_the_argument(path: str, arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        fb.load(counts_document(path), **arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize("document", [None, 5, [1], b"document.json"])
def test_a_document_is_a_path_or_a_dict(document: Any) -> None:
    with pytest.raises(TypeError, match="^doc: must be the path of a document, or a document as a dict; found "):
        fb.load(document)


@pytest.mark.parametrize("document_threads, threads, workers", [(3, None, 3), (3, 0, 3), (3, 2, 2), (3, np.int64(2), 2)])
def test_threads_left_out_or_0_are_those_of_the_document(path: str, document_threads: int, threads: Any, workers: int) -> None:
    with fb.load(counts_document(path, threads=document_threads), threads=threads) as loader:
        assert loader.stats().threads == workers


def test_0_is_the_default_everywhere(path: str) -> None:
    with fb.load(counts_document(path)) as usual, fb.load(counts_document(path), threads=0, memory=0, prefetch=0) as zero:
        assert (zero.stats().threads, zero.stats().memory_limit) == (usual.stats().threads, usual.stats().memory_limit)
    assert fb.verify(path, threads=0) == fb.verify(path)


CALLS = [
    (lambda path: fb.verify(path, threads=-1), fb.ConfigError, "threads: must be an integer from 0 to 1024, found -1"),
    (lambda path: fb.verify(path, threads="1"), TypeError, "threads: must be an integer or None; found '1' (str)"),
    (lambda path: fb.verify(path, compression=5), TypeError, 'compression: must be a str, as "gzip", or None; found 5 (int)'),
    (lambda path: fb.verify(5), TypeError, "paths: must be a str or a pathlib.Path, or a list of them; found 5 (int)"),
    (lambda path: fb.index_files([path, None]), TypeError, "paths[1]: must be a str or a pathlib.Path; found None (NoneType)"),
    (lambda path: fb.tfrecord(b"a"), TypeError, "files: must be a str or a pathlib.Path, or a list of them; found b'a' (bytes)"),
    (lambda path: fb.read_records(None), TypeError, "path: must be a str or a pathlib.Path; found None (NoneType)"),
    (lambda path: fb.read_records(path, ""), fb.ConfigError,
     'compression must be "none", "gzip", "zlib", "zstd", "bzip2", "xz" or "auto", found ""'),
    (lambda path: fb.write_records(path, b"abc"), TypeError,
     "records: must be a list or another iterable of bytes-like objects; found b'abc' (bytes)"),
    (lambda path: fb.write_records(path, [b"a", "b"]), TypeError,
     "records[1]: must be bytes, or another bytes-like object; found 'b' (str)"),
    (lambda path: fb.feature("float32", 5), TypeError, "shape: must be a list of sizes, [] for a single number; found 5 (int)"),
]


@pytest.mark.parametrize("call, kind, message", CALLS)
def test_a_function_names_the_argument(path: str, call: Any, kind: type[Exception], message: str) -> None:
    before = pathlib.Path(path).read_bytes()
    with pytest.raises(kind) as caught:
        call(path)
    assert (str(caught.value), pathlib.Path(path).read_bytes()) == (message, before)


def test_a_state_is_a_dict_and_json_text_is_told_so(path: str) -> None:
    with fb.load(counts_document(path)) as loader:
        with pytest.raises(fb.StateError, match="state: must be the dict that state_dict gave; json.loads makes it of JSON text;"):
            loader.load_state_dict(json.dumps(loader.state_dict()))
        with pytest.raises(fb.StateError, match=r"state: must be the dict that state_dict gave; found 5 \(int\)$"):
            loader.load_state_dict(5)


def test_a_function_where_none_can_be_is_told_the_form_that_works() -> None:
    pipe = fb.arrays({"y": np.arange(3)})
    with pytest.raises(TypeError, match=r"filter: where cannot be a function, found '<lambda>'; give the condition as text, filter\(\"y > 0\"\)"):
        pipe.filter(lambda row: row["y"] > 0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sorted: by cannot be a function"):
        pipe.sorted(len)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="repeat: must be True or False, for all branches or as a list with one for each; found None"):
        fb.mix([pipe, pipe], repeat=None)  # type: ignore[arg-type]
