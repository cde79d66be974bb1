# SPDX-License-Identifier: Apache-2.0
"""The data layer of TF-Slim over decoders as functions: descriptions of data sets, item handlers, providers. docs/slim.md."""
from __future__ import annotations

from forebay.slim.boxes import BoundingBox, BoundingBoxSequence, KeypointsSequence, NumBoxesSequence
from forebay.slim.dataset import Dataset
from forebay.slim.decoders import DataDecoder, TFExampleDecoder, TFSequenceExampleDecoder
from forebay.slim.handlers import BackupHandler, ItemHandler, ItemHandlerCallback, LookupTensor, SparseTensor, Tensor
from forebay.slim.image import Image
from forebay.slim.pipelines import pipeline
from forebay.slim.providers import DataProvider, DatasetDataProvider
from forebay.slim.queues import NestedQueueRunnerError, PrefetchQueue, QueueRunners, prefetch_queue
from forebay.slim.reading import ParallelReader, Record, get_data_files, parallel_read, single_pass_read

__all__ = ["BackupHandler", "BoundingBox", "BoundingBoxSequence", "DataDecoder", "DataProvider", "Dataset",
           "DatasetDataProvider", "Image", "ItemHandler", "ItemHandlerCallback", "KeypointsSequence", "LookupTensor",
           "NestedQueueRunnerError", "NumBoxesSequence", "ParallelReader", "PrefetchQueue", "QueueRunners", "Record",
           "SparseTensor", "TFExampleDecoder", "TFSequenceExampleDecoder", "Tensor", "get_data_files", "parallel_read",
           "pipeline", "prefetch_queue", "single_pass_read"]
