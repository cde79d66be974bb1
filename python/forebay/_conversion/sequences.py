# SPDX-License-Identifier: Apache-2.0
"""TFRecord files of SequenceExamples as outputs of a conversion."""
from __future__ import annotations

from typing import Any

from forebay import _core
from forebay import builder
from forebay._conversion.inputs import MAX_BYTES
from forebay._conversion.outputs import Examples, Writer
from forebay.builder import Pipeline
from forebay.loader import Batch
from forebay.schema import TensorSpec


class SequenceExamples(Examples):
    """TFRecord files of tf.train.SequenceExample."""

    way_out = "write Parquet or Arrow files"

    def holds(self, name: str, spec: TensorSpec) -> bool:
        if name not in self.lists:
            return super().holds(name, spec)
        frame = spec.shape[1:]
        return spec.shape != () and (None not in frame or (frame == (None,) and spec.shape[0] is None))

    def kinds(self, name: str) -> str:
        if name not in self.lists:
            return super().kinds(name)
        return "a list of frames (lists) is a list of values or of arrays of one shape, or a list of lists"

    def open(self, path: str, first: int) -> Writer:
        return _SequenceWriter(_core.ExampleFile(path, self.compression), sorted(self.lists))

    def read(self, path: str) -> Pipeline:
        features = {name: feature for name, feature in self.features().items() if name not in self.lists}
        lists = {name: self._list_of(spec) for name, spec in self.schema.items() if name in self.lists}
        return builder.tfrecord([path], compression=self.compression,  # type: ignore[arg-type]
                                max_decompressed_bytes=MAX_BYTES).sequence_example(features, lists=lists)

    def _list_of(self, spec: TensorSpec) -> "dict[str, Any]":
        dtype = self.stored(spec)
        if None in spec.shape[1:]:
            return {"kind": "var_len", "dtype": dtype}
        return {"kind": "fixed_len_sequence", "dtype": dtype, "shape": list(spec.shape[1:]), "allow_missing": True,
                "as": "ragged" if spec.shape[0] is None else "equal"}


class _SequenceWriter(Writer):
    def __init__(self, file: Any, lists: "list[str]") -> None:
        super().__init__(file)
        self._lists = lists

    def write(self, batch: Batch) -> None:
        self._file.write_sequences(batch, self._lists)
