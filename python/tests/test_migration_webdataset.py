# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/migrate/webdataset.md: every row runs, and every argument and stage of WebDataset has one."""
from __future__ import annotations

import io
import json
import pathlib
import tarfile
from typing import Any

import numpy as np
import pytest
from migration import check, names_of, rows, show, without_row
from test_slim import png

import forebay as fb

PAGE = "webdataset.md"

# Arguments, stages and functions of WebDataset 1.0.
NAMES = """urls handler mode resampled repeat shardshuffle cache_size cache_dir url_to_name detshuffle nodesplitter workersplitter
select_files rename_files empty_check verbose seed
batched unbatched listed unlisted log_keys shuffle map decode map_dict select to_tuple map_tuple slice rename rsample rename_keys
extract_keys xdecode mcached lmdb_cached with_epoch with_length compose append
DataPipeline FluidWrapper WebLoader MockDataset info associate transform_with getfirst pipelinefilter Cached LMDBCached
reraise_exception ignore_and_continue warn_and_continue ignore_and_stop warn_and_stop RandomMix RoundRobin MultiShardSample
ResampledShards SimpleShardList DirectoryShardList non_empty shardspec single_node_only split_by_node split_by_worker
tarfile_samples tarfile_to_samples ShardWriter TarWriter gopen gopen_schemes Continue Decoder handle_extension imagehandler
torch_audio torch_video torch_loads pytorch_weights_only gzfilter""".split()


def write_tar(path: pathlib.Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def make(folder: pathlib.Path) -> dict[str, Any]:
    """The files and names that the page speaks of."""
    write_tar(folder / "s-0.tar", {"a.txt": b"x", "a.cls": b"0", "b.txt": b"y", "b.cls": b"1"})
    write_tar(folder / "s-1.tar", {"c.txt": b"z", "c.cls": b"2"})
    write_tar(folder / "mixed.tar", {"a.txt": b"x", "b.txt": b"y", "a.cls": b"0"})
    write_tar(folder / "p.tar", {"p.png": png(np.array([[[7], [9]]], np.uint8))})
    numeric = {"csv": {"columns": {"label": {"dtype": "int64"}}}}
    return {"fb": fb, "np": np, "json": json, "show": show, "numeric": numeric,
            "texts": fb.tar("s-*.tar").tar({"text": "txt"}),
            "shards": fb.tar("s-*.tar").tar({"text": "txt", "label": "cls"}).select(["text", "label"]),
            "labels": fb.tar("s-*.tar").tar({"label": "cls"}).decode("label", numeric).select(["label"])}


names = names_of(make)


@pytest.mark.parametrize(("call", "gives"), rows(PAGE))
def test_a_row_gives_what_the_table_says(call: str, gives: str, names: dict[str, Any]) -> None:
    check(call, gives, names)


def test_every_name_has_a_row() -> None:
    assert without_row(PAGE, NAMES) == []
