# SPDX-License-Identifier: Apache-2.0
"""Forebay: the input pipeline of a training job. Record files in, batches of tensors out.

    import forebay as fb
    with fb.load("train.json", threads=2) as loader:
        for batch in loader:
            step(batch["x"], batch["y"])
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay import _pytrees as _pytrees
from forebay._core import version as __version__
from forebay.tables import ArrowFiles, arrow, arrow_file, parquet, present
from forebay.audio import decode_audio, log_mel, mfcc
from forebay.batch_set import BatchSet
from forebay.builder import *  # noqa: F403
from forebay.builder import __all__ as _builder_names
from forebay.checkpoint import atomic_file
from forebay.combine import concat, join, mix, round_robin
from forebay.combine import zip as zip  # not in __all__: `import *` must not hide the function of Python
from forebay.coordinator import Coordinator, QueueRunner, start_queue_runners
from forebay.corruption import CorruptPlace, FileReport, verify
from forebay.decoding import decode, decode_csv, decode_json_example, decode_raw
from forebay.errors import Cancelled, ConfigError, DataError, EndOfData, Error, IoError, StateError
from forebay.features import *  # noqa: F403
from forebay.features import __all__ as _feature_names
from forebay.images import decode_image
from forebay.inspection import Inspection, inspect
from forebay.loader import Batch, Epoch, Epochs, Loader, Plan, Schema, Stats, TensorSpec, load
from forebay.mapped import MappedBatch, TupleBatch
from forebay.queue import Queue, QueueStats
from forebay.reader import Reader, ReaderCounters
from forebay.records import (IndexReport, SequenceExample, decode_example, decode_sequence_example, encode_example,
                             encode_sequence_example, index_files, read_records, write_records)
from forebay.replicas import verify_replicas
from forebay.rows import Feed, Producer, arrays, feed, python
from forebay.state_saver import SaverSizes, SegmentBatch, StateSaver
from forebay.switch import Switch, switch
from forebay.values import Fraction, Ragged, Sparse, complete_frac

__all__ = ["ArrowFiles", "Batch", "BatchSet", "Cancelled", "ConfigError", "ConvertedFile", "Coordinator", "CorruptPlace",
           "DataError", "EndOfData", "Epoch", "Epochs", "Error", "Feed", "FileReport", "Fraction", "IndexReport", "Inspection",
           "IoError", "Loader", "MappedBatch", "Plan", "Producer", "Queue", "QueueRunner", "QueueStats", "Ragged", "Reader",
           "ReaderCounters", "SaverSizes", "Schema", "SegmentBatch", "SequenceExample", "Sparse", "StateError",
           "StateSaver", "Stats", "Switch", "TensorSpec", "TupleBatch", "__version__", "arrays", "arrow", "arrow_file",
           "atomic_file", "complete_frac", "concat", "convert", "decode", "decode_audio", "decode_csv", "decode_example",
           "decode_image", "decode_json_example", "decode_raw", "decode_sequence_example", "encode_example",
           "encode_sequence_example", "explain", "feed", "index_files", "inspect", "join", "json_schema", "load", "log_mel",
           "mfcc", "mix", "parquet", "present", "python", "read_records", "round_robin", "start_queue_runners",
           "switch", "tensorboard", "verify", "verify_replicas", "write_records", *_builder_names, *_feature_names]

if TYPE_CHECKING:
    import numpy as _np
    from forebay import jax, returnn, slim, text, tf, tf1, torch
    from forebay._conversion.convert import ConvertedFile, convert
    from forebay._tensorboard import tensorboard
    from forebay.reference import explain, json_schema
    bfloat16: "_np.dtype[Any]"
else:
    _LATER = {"ConvertedFile", "bfloat16", "convert", "explain", "jax", "json_schema", "returnn", "slim", "tensorboard", "text",
              "tf", "tf1", "torch"}

    # What is rarely needed is imported when it is asked for; frameworks only then.
    def __getattr__(name):
        import importlib
        if name not in _LATER:
            raise AttributeError(f"module 'forebay' has no attribute {name!r}")
        if name in ("explain", "json_schema"):
            return getattr(importlib.import_module("forebay.reference"), name)
        if name == "tensorboard":
            return importlib.import_module("forebay._tensorboard").tensorboard
        if name in ("ConvertedFile", "convert"):
            return getattr(importlib.import_module("forebay._conversion.convert"), name)
        if name == "bfloat16":
            # NumPy's bfloat16 where the package ml_dtypes is installed; without it such tensors are their bits as uint16.
            import numpy as np
            from forebay.values import bfloat16_type
            return bfloat16_type() or np.dtype(np.uint16)
        try:
            return importlib.import_module(f"forebay.{name}")
        except ImportError as missing:
            raise AttributeError(f"module 'forebay' has no attribute {name!r}: {missing}") from missing

    # `help` and `inspect` get every name that `dir` gives, so those of packages that are not installed are left out.
    def __dir__():
        from importlib.util import find_spec
        packages = {"jax": "jax", "tf": "tensorflow", "torch": "torch"}
        later = {name for name in _LATER if name not in packages or find_spec(packages[name])}
        return sorted({*__all__, *later, *(name for name in globals() if name.startswith("__"))})
