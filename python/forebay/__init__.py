# SPDX-License-Identifier: Apache-2.0
"""Forebay: the input pipeline of a training job. Record files in, batches of tensors out.

    import forebay as fb
    with fb.load("train.json", threads=2) as loader:
        for batch in loader:
            step(batch["x"], batch["y"])
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay import _interpreter as _interpreter  # first: it refuses where the rest cannot work
from forebay import _pytrees as _pytrees
from forebay._core import version as __version__
from forebay.tables import ArrowFiles, arrow, arrow_file, parquet, present
from forebay.builder import *  # noqa: F403
from forebay.builder import __all__ as _builder_names
from forebay.checkpoint import atomic_file
from forebay.combine import concat, join, mix, round_robin
from forebay.combine import zip as zip  # not in __all__: `import *` must not hide the function of Python
from forebay.decoding import decode, decode_csv, decode_json_example, decode_raw
from forebay.errors import Cancelled, ConfigError, DataError, EndOfData, Error, IoError, StateError
from forebay.features import *  # noqa: F403
from forebay.features import __all__ as _feature_names
from forebay.loader import Batch, Epoch, Epochs, Loader, Plan, Schema, Stats, TensorSpec, load
from forebay.mapped import MappedBatch, TupleBatch
from forebay.records import (IndexReport, RecordWriter, SequenceExample, decode_example, decode_sequence_example, encode_example,
                             encode_sequence_example, index_files, read_records, write_records)
from forebay.rows import Feed, Producer, arrays, feed, python
from forebay.switch import Switch, switch
from forebay.values import Fraction, Ragged, Sparse, complete_frac

__all__ = ["ArrowFiles", "Batch", "BatchSet", "Cancelled", "ConfigError", "ConvertedFile", "Coordinator", "CorruptPlace",
           "DataError", "EndOfData", "Epoch", "Epochs", "Error", "Feed", "FileReport", "Fraction", "GsFiles", "HttpFiles", "IndexReport",
           "Inspection", "IoError", "Loader", "MappedBatch", "Plan", "Producer", "Queue", "QueueRunner", "QueueStats", "Ragged", "Reader",
           "ReaderCounters", "RecordWriter", "S3Files", "SaverSizes", "Schema", "SegmentBatch", "SequenceExample", "Sparse", "StateError",
           "StateSaver", "Stats", "Switch", "TensorSpec", "TupleBatch", "__version__", "add_file_system", "arrays", "arrow", "arrow_file",
           "atomic_file", "complete_frac", "concat", "convert", "decode", "decode_audio", "decode_csv", "decode_example",
           "decode_image", "decode_json_example", "decode_raw", "decode_sequence_example", "encode_example",
           "encode_sequence_example", "explain", "feed", "index_files", "inspect", "join", "json_lines", "json_schema", "load", "log_mel",
           "mfcc", "mix", "parquet", "present", "python", "read_records", "round_robin", "start_queue_runners",
           "switch", "tensorboard", "verify", "verify_replicas", "write_records", *_builder_names, *_feature_names]

if TYPE_CHECKING:
    import numpy as _np
    from forebay import jax, returnn, slim, text, tf, tf1, torch
    from forebay._conversion.convert import ConvertedFile, convert
    from forebay._file_systems import add_file_system
    from forebay._json_lines import json_lines
    from forebay._tensorboard import tensorboard
    from forebay._web_files import GsFiles, HttpFiles, S3Files
    from forebay.audio import decode_audio, log_mel, mfcc
    from forebay.batch_set import BatchSet
    from forebay.coordinator import Coordinator, QueueRunner, start_queue_runners
    from forebay.corruption import CorruptPlace, FileReport, verify
    from forebay.images import decode_image
    from forebay.inspection import Inspection, inspect
    from forebay.queue import Queue, QueueStats
    from forebay.reader import Reader, ReaderCounters
    from forebay.replicas import verify_replicas
    from forebay.state_saver import SaverSizes, SegmentBatch, StateSaver
    from forebay.reference import explain, json_schema
    bfloat16: "_np.dtype[Any]"
else:
    # What many programs do not use is imported when it is asked for, so that `import forebay` is short: module -> names.
    _MODULES = {
        "_conversion.convert": ("ConvertedFile", "convert"),
        "_file_systems": ("add_file_system",),
        "_json_lines": ("json_lines",),
        "_tensorboard": ("tensorboard",),
        "_web_files": ("GsFiles", "HttpFiles", "S3Files"),
        "audio": ("decode_audio", "log_mel", "mfcc"),
        "batch_set": ("BatchSet",),
        "coordinator": ("Coordinator", "QueueRunner", "start_queue_runners"),
        "corruption": ("CorruptPlace", "FileReport", "verify"),
        "images": ("decode_image",),
        "inspection": ("Inspection", "inspect"),
        "queue": ("Queue", "QueueStats"),
        "reader": ("Reader", "ReaderCounters"),
        "reference": ("explain", "json_schema"),
        "replicas": ("verify_replicas",),
        "state_saver": ("SaverSizes", "SegmentBatch", "StateSaver"),
    }
    _LATER = {name: module for module, names in _MODULES.items() for name in names}
    _SUBMODULES = {"jax", "returnn", "slim", "text", "tf", "tf1", "torch"}  # frameworks among them
    _PACKAGES = {"jax": "jax", "tf": "tensorflow", "torch": "torch"}

    def __getattr__(name):
        import importlib
        if name in _LATER:
            found = getattr(importlib.import_module(f"forebay.{_LATER[name]}"), name)
        elif name == "bfloat16":
            # NumPy's bfloat16 where the package ml_dtypes is installed; without it such tensors are their bits as uint16.
            import numpy as np
            from forebay.values import bfloat16_type
            found = bfloat16_type() or np.dtype(np.uint16)
        elif name in _SUBMODULES:
            try:
                return importlib.import_module(f"forebay.{name}")
            except ImportError as missing:
                raise AttributeError(f"module 'forebay' has no attribute {name!r}: {missing}") from missing
        else:
            if name.startswith("_"):
                raise AttributeError(f"module 'forebay' has no attribute {name!r}")
            from forebay._habits import MODULE, unknown
            unknown("module 'forebay'", name, MODULE, __all__)
        globals()[name] = found
        return found

    def _tell_of_habits():
        import forebay.builder as builder
        from forebay import _core, _habits, combine, loader, records, rows, tables
        for module in (builder, combine, loader, records, rows, tables):
            _habits.tell_functions(module, module.__all__, globals())
        for kind in (builder.Pipeline, builder.Source):
            _habits.tell_methods(kind)
        _habits.tell_attributes(_core.Batch, "a Batch", _habits.BATCH)
        _habits.tell_attributes(Loader, "a Loader", _habits.LOADER)

    _tell_of_habits()
    del _tell_of_habits

    # `help` and `inspect` get every name that `dir` gives, so those of packages that are not installed are left out.
    def __dir__():
        from importlib.util import find_spec
        later = {name for name in _SUBMODULES if name not in _PACKAGES or find_spec(_PACKAGES[name])}
        return sorted({*__all__, "bfloat16", *later, *(name for name in globals() if name.startswith("__"))})
