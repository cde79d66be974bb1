# SPDX-License-Identifier: Apache-2.0
"""What users of other libraries type first, and what it is here: the cures in AttributeErrors and TypeErrors.

The names are those of torch, tf.data, WebDataset, Hugging Face datasets, Ray and pandas; docs/migrate has whole tables.
"""
from __future__ import annotations

import functools
from types import FunctionType
from typing import Any, Callable, Iterable, Mapping, NoReturn, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_TFRECORD = "fb.tfrecord(files).example({name: fb.fixed(dtype, shape)})"
_ARRAYS = 'fb.arrays({"x": x, "y": y})'
_MIX = "fb.mix([a, b], weights=[0.3, 0.7])"
_TABLE = "fb.arrow(table)"
_TAR = 'fb.tar(files).tar({"image": "jpg"})'
_FOLDER = 'fb.whole_file("data/*/*.jpg", label_from="folder").record("image").decode_image("image", resize=[224, 224])'
_TORCH = "DataLoader(fb.torch.dataset(pipeline), batch_size=None), or the loader itself: for batch in pipeline.load()"
_WORKERS = "`load(threads=N)` has the engine's threads; `map(fn, workers=N)` those of functions of your own"
_PREFETCH = "batches are always made ahead; `load(prefetch=N)` holds N of them ready"
_EPOCHS = "`epochs(n)` says how many passes; `epochs(None)` is for ever"
_BATCH_FN = "`map(fn)` after `batch` calls a function with every batch, `map(fn, per=\"row\")` with every row"
_SHARD = 'pipeline.load(shard=(rank, ranks)), or shard="auto" under a launcher'
_TAKE = "`take(n)` keeps the first n rows, and `skip(n)` leaves them out"
_SCHEMA = "pipeline.plan().columns before a run, and loader.schema, have names, dtypes and shapes"
_COUNT = "pipeline.plan().batches is the number of batches, len(loader) that of a run"
_NUMPY = "the arrays of a batch are NumPy arrays already: batch[name]"
_LENGTHS = '`buckets("x", [10, 20], [32, 16])`, `token_budget` and `sorted("length(x)")` make batches by length'
_PAD = "batch(n, pad=True); the true sizes are in batch.lengths"
_SPLIT = '`filter("n % 10 != 0")` over a column, or take(n) and skip(n), which count rows'

#: Attributes of the module.
MODULE: "dict[str, str]" = {
    "TFRecordDataset": _TFRECORD, "TextLineDataset": 'fb.lines(files).record("text")',
    "FixedLengthRecordDataset": "fb.fixed_length(files, record_bytes=N)", "TFRecordReader": _TFRECORD,
    "TFRecordWriter": "fb.RecordWriter(path), or fb.write_records(path, records)", "TFRecordOptions": "compression= of fb.tfrecord",
    "Dataset": f"{_TFRECORD}, {_ARRAYS} and so on are the sources", "IterableDataset": "fb.python(iterable)",
    "from_tensor_slices": _ARRAYS, "from_tensors": _ARRAYS, "from_generator": "fb.python(iterable), or fb.python(open=function)",
    "TensorDataset": _ARRAYS, "data": f"{_TFRECORD}, {_ARRAYS} and so on are the sources", "Sampler": "the orders: shuffle, sorted, reorder",
    "AUTOTUNE": _WORKERS, "DataLoader": _TORCH, "RandomSampler": 'pipeline.shuffle("global")', "DistributedSampler": _SHARD,
    "ConcatDataset": "fb.concat([a, b])", "ChainDataset": "fb.concat([a, b])", "Subset": _TAKE, "random_split": _SPLIT,
    "ImageFolder": _FOLDER, "DatasetFolder": _FOLDER, "image_dataset_from_directory": _FOLDER, "MNIST": 'fb.idx({"image": "train-images.gz"})',
    "CIFAR10": "fb.cifar(files)", "CIFAR100": "fb.cifar(files, classes=100)", "WebDataset": _TAR, "WebLoader": "pipeline.load()",
    "ShardWriter": 'fb.convert(inputs, "out.tar", files=8)', "TarWriter": 'fb.convert(inputs, "out.tar")',
    "ResampledShards": "fb.tar(files) with `random_sample()`, which draws with replacement", "tarfile_to_samples": _TAR,
    "load_dataset": f"{_TABLE} of a Hugging Face data set, fb.parquet(files), fb.json_lines(files), fb.csv(files)",
    "load_from_disk": f"{_TABLE}, or fb.arrow_file(files)", "interleave_datasets": _MIX, "concatenate_datasets": "fb.concat([a, b])",
    "sample_from_datasets": _MIX, "choose_from_datasets": "fb.round_robin([a, b])", "RandomMix": _MIX, "RoundRobin": "fb.round_robin([a, b])",
    "from_dict": _ARRAYS, "from_pandas": _TABLE, "from_polars": _TABLE, "from_arrow": _TABLE, "DataFrame": _TABLE,
    "read_csv": "fb.csv(files, header=True).csv({column: {\"dtype\": \"float32\"}})", "read_parquet": "fb.parquet(files)",
    "read_json": "fb.json_lines(files, fields)", "read_table": "fb.parquet(files)", "read_feather": "fb.arrow_file(files)",
    "read_tfrecords": _TFRECORD, "read_images": _FOLDER, "read_text": 'fb.lines(files).record("text")', "read_numpy": 'fb.npy({"x": files})',
    "read_binary_files": "fb.whole_file(files)", "read_webdataset": _TAR, "jsonl": "fb.json_lines(files, fields)",
    "json": "fb.json_lines(files, fields)", "ndjson": "fb.json_lines(files, fields)", "text": 'fb.lines(files).record("text")',
    "range": '{"n": np.arange(n)} in fb.arrays', "wds": _TAR, "pickle": "nothing is unpickled; fb.python(iterable) takes objects",
    "FixedLenFeature": "fb.fixed(dtype, shape)", "VarLenFeature": "fb.var_len(dtype)", "parse_example": ".example({name: fb.fixed(…)})",
    "parse_single_example": ".example({name: fb.fixed(…)})", "decode_jpeg": "fb.decode_image(data)", "decode_png": "fb.decode_image(data)",
    "decode_wav": "fb.decode_audio(data)", "MapDataPipe": "fb.python(sequence)", "IterDataPipe": "fb.python(iterable)", "StatefulDataLoader": "loader.state_dict() and load_state_dict",
}

#: Attributes of a pipeline.
PIPELINE: "dict[str, str]" = {
    "cache": "fb.BatchSet keeps batches, and what filters and orders need of each record is stored beside the data by itself",
    "padded_batch": _PAD, "ragged_batch": "batch(n): rows of different lengths are ragged by themselves", "dense_to_ragged_batch": "batch(n)",
    "bucket_by_sequence_length": _LENGTHS, "window": "chunk, discrete and continuous cut windows of sequences (docs/windows.md)",
    "flat_map": "unbatch, chunk and decode make several rows of one; " + _BATCH_FN, "enumerate": "batch.number, and batch.origins of each row",
    "concatenate": "fb.concat([a, b])", "chain": "fb.concat([a, b])", "zip": "fb.zip([a, b])", "options": "each option is one of a method, or of load",
    "with_options": "each option is one of a method, or of load", "as_numpy_iterator": f"pipeline.load(); {_NUMPY}",
    "reduce": "a loop: for batch in pipeline.load()", "scan": "stateful and unroll carry states (docs/stateful.md)", "snapshot": "fb.convert(inputs, out)",
    "save": "pipeline.to_json(), and fb.convert for data", "cardinality": _COUNT, "element_spec": _SCHEMA, "features": _SCHEMA, "column_names": _SCHEMA,
    "from_tensor_slices": _ARRAYS, "from_generator": "fb.python(iterable)", "list_files": 'patterns: fb.tfrecord("data/*.tfrecord")',
    "apply": "call the methods of the pipeline one after the other", "unique": "filter, on a column that tells", "rejection_resample": "random_sample()",
    "ignore_errors": 'on_corrupt("skip_record"), or "skip_row"', "make_one_shot_iterator": "pipeline.load()", "numpy": _NUMPY,
    "batched": "batch(n)", "unbatched": "unbatch()", "with_epoch": _EPOCHS, "with_length": _COUNT, "to_tuple": "targets and inputs, or batch[name]",
    "map_dict": _BATCH_FN, "map_tuple": _BATCH_FN, "compose": "call the methods of the pipeline one after the other", "resampled": "random_sample()",
    "shardshuffle": "shuffle_files", "split_by_node": _SHARD, "split_by_worker": _SHARD, "slices": _TAKE, "decode_images": "decode_image",
    "to_pandas": "batch.to_arrow().to_pandas() of each batch", "to_arrow": "batch.to_arrow() of each batch", "to_list": "a loop over pipeline.load()",
    "to_iterable_dataset": "pipeline.load()", "train_test_split": _SPLIT, "remove_columns": "select(names), with those that stay", "select_columns": "select(names)",
    "rename_column": 'rename("x", to="y")', "rename_columns": 'rename("x", to="y"), once for each', "cast_column": 'cast("x", "int64")',
    "set_format": "fb.torch.to(batch, device); " + _NUMPY, "with_format": "fb.torch.to(batch, device); " + _NUMPY, "with_transform": _BATCH_FN,
    "set_transform": _BATCH_FN, "sort": 'sorted("length(x)")', "class_encode_column": "lookup(tensor, tokens=[names])", "add_column": _BATCH_FN,
    "push_to_hub": "fb.convert(inputs, out)", "to_parquet": 'fb.convert(inputs, "out.parquet")', "to_csv": 'fb.convert(inputs, "out.csv")',
    "random_shuffle": 'shuffle("global")', "iter_batches": "batch(n).load()", "iter_rows": "batch(1).load()", "iter_torch_batches": _TORCH,
    "map_batches": _BATCH_FN, "map_groups": _LENGTHS, "write_parquet": 'fb.convert(inputs, "out.parquet")', "write_tfrecords": "fb.convert, fb.RecordWriter",
    "repartition": "fb.convert(inputs, out, files=N)", "limit": _TAKE, "head": "take(n), or `forebay head` on the command line", "union": "fb.concat([a, b])",
    "collate": _BATCH_FN, "collate_fn": _BATCH_FN, "sharding_filter": _SHARD, "pin_memory": "load(pin_memory=True)", "num_workers": _WORKERS,
    "to": "fb.torch.to(batch, device)", "cuda": "fb.torch.to(batch, device)", "dataset": "the pipeline is the data set, and the loader its batches",
    "groupby": _LENGTHS, "drop_duplicates": "filter, on a column that tells", "dropna": "nulls= of the source, or filter", "fillna": "nulls= of the source",
    "astype": 'cast("x", "int64")', "columns": _SCHEMA, "dtypes": _SCHEMA, "shape": _SCHEMA, "iloc": _TAKE, "sample": "random_sample()", 
    "state_dict": "the loader has it: pipeline.load().state_dict()", "stats": "the loader has it: pipeline.load().stats()", "schema": _SCHEMA,
    "tokenize": "split_text, lookup and byte_ids; " + _BATCH_FN, "to_dense": "batch(n, pad=True)", "fixed_batch": 'batch(n, remainder="drop")',
}

#: Attributes of a batch and of a loader.
BATCH: "dict[str, str]" = {
    "to": "fb.torch.to(batch, device)", "cuda": "fb.torch.to(batch, device)", "numpy": _NUMPY, "shape": "batch.rows, and batch[name].shape",
    "size": "batch.rows, and batch[name].size", "tensors": "batch[name], or dict(batch)", "columns": "list(batch)", "features": "list(batch)",
    "data": "batch[name]", "pin_memory": "load(pin_memory=True)", "labels": 'batch["labels"], if there is such a tensor; batch.targets',
}
LOADER: "dict[str, str]" = {
    "dataset": "the pipeline is the data set: pipeline.plan()", "batch_size": "`batch` of the pipeline; batch.rows of a batch", "sampler": "the orders",
    "num_workers": "load(threads=N)", "batch": "batch is a method of the pipeline, before load", "shuffle": "shuffle is a method of the pipeline, before load",
    "map": "map is a method of the pipeline, before load", "set_epoch": "every epoch has an order of its own by itself", "reset": "pipeline.load() again",
    "features": "loader.schema", "columns": "loader.schema", "element_spec": "loader.schema", "batch_sampler": "the orders",
}

#: Options of any function or method.
OPTIONS: "dict[str, str]" = {
    "drop_last": 'remainder="drop"', "batch_size": "`size`, the first argument of batch: batch(32)", "num_workers": _WORKERS, "num_parallel_calls": _WORKERS,
    "num_parallel_reads": "`interleave(n)` reads n files in turns", "num_threads": "load(threads=N)", "worker_init_fn": "rng of map",
    "reshuffle_each_iteration": "every epoch is shuffled anew by itself", "buffer_size": "`buffer`: shuffle(buffer=1000)", "seed": "seed is a method: pipeline.seed(7)",
    "cycle_length": "interleave(n), whose first argument says how many files are open", "block_length": "interleave has `block`",
    "deterministic": "deterministic is a method: pipeline.deterministic(False)", "collate_fn": _BATCH_FN, "shuffle": 'shuffle is a method, before batch: shuffle("global")',
    "prefetch_factor": _PREFETCH, "persistent_workers": "the engine's threads live as long as the loader", "sampler": "the orders: shuffle, sorted, reorder",
    "batch_sampler": _LENGTHS, "timeout": "a warning says what every thread does when a batch does not come (FOREBAY_STALL_SECONDS)", "generator": "pipeline.seed(7)",
    "multiprocessing_context": 'map(fn, workers=N, inside="processes")', "drop_remainder": 'remainder="drop"', "pad_to": "pad=True", "padded_shapes": _PAD,
    "padding_values": "pad=[{\"tensor\": \"x\", \"value\": 0}]", "compression_type": "`compression`", "sep": "`delimiter`: csv(files, delimiter=\";\")", "delim": "`delimiter`",
    "field_delim": "`delimiter`", "usecols": ".csv({column: {\"dtype\": …}}) names the columns that are read", "dtype": ".csv({column: {\"dtype\": …}}) says the types",
    "dtypes": ".csv({column: {\"dtype\": …}}) says the types", "column_names": "names", "nrows": _TAKE, "skiprows": "skip_header_lines", "chunksize": "batch(n)",
    "encoding": "text stays bytes; decode it in your program", "na_values": "`default` of a column", "index_col": "`select` names the tensors that are delivered",
    "split": _SPLIT, "streaming": "data are always read as the run goes on", "cache_dir": 'cache=(folder, size) keeps parts of files of other machines; index_dir= is for indexes', "epochs": _EPOCHS, "resampled": "random_sample()",
    "handler": 'on_corrupt("skip_record")', "shardshuffle": "shuffle_files", "nodesplitter": _SHARD, "rank": _SHARD, "world_size": _SHARD, "num_replicas": _SHARD,
    "num_shards": _SHARD, "index": _SHARD, "batched": _BATCH_FN, "remove_columns": "select(names), with those that stay", "num_proc": _WORKERS, "concurrency": _WORKERS, "output_signature": "`output`",
    "output_types": "`output`", "output_shapes": "`output`", "image_size": "resize=[224, 224]", "target_size": "resize=[224, 224]", "size": "`resize` for images: resize=[224, 224]",
    "class_names": "`classes`", "labels": 'label_from="folder"', "sr": "`sample_rate`", "orient": "fields", "lines": "fb.json_lines reads one object a line",
    "probabilities": "`weights`", "stopping_strategy": "`until`", "stop_on_empty_dataset": "`until`",
}


def unknown(owner: str, name: str, cures: Mapping[str, str], names: Iterable[str]) -> NoReturn:
    """Raises AttributeError: the cure, if one is known, else the nearest name."""
    import difflib
    message = f"{owner} has no attribute {name!r}"
    near = difflib.get_close_matches(name, [each for each in names if not each.startswith("_")], 1)
    if name in cures:
        message += f"; here it is: {cures[name]}"
    elif near:
        message += f"; did you mean {near[0]!r}?"
    raise AttributeError(message)


def told(owner: str, function: F) -> F:
    """The function, whose TypeErrors about its arguments say what it takes, and what an option of another library is here."""
    name = f"{owner}{function.__name__}"

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except TypeError as problem:
            trace = problem.__traceback__
            if trace is None or trace.tb_next is not None:  # raised by the function, not by the call
                raise
            import re
            message = re.sub(rf"^[\w.]*\b{function.__name__}\(\)", f"{name}()", str(problem))
        raise TypeError(f"{message}{_cure(function, message)}") from None
    return call  # type: ignore[return-value]


def _cure(function: Callable[..., Any], message: str) -> str:
    import difflib
    import inspect
    import re
    takes = [each for each in inspect.signature(function).parameters if each != "self"]
    found = re.search(r"got an unexpected keyword argument '(\w+)'", message)
    if found is None:
        return f"; it takes ({', '.join(takes)})"
    if found[1] in OPTIONS:
        return f"; here it is: {OPTIONS[found[1]]}"
    near = difflib.get_close_matches(found[1], takes, 1)
    return f"; did you mean {near[0]!r}? It takes {', '.join(takes)}" if near else f"; it takes {', '.join(takes)}"


def tell_methods(kind: type) -> None:
    """Has all public methods of a class tell of wrong arguments."""
    for base in kind.__mro__:
        for name, function in list(vars(base).items()):
            if isinstance(function, FunctionType) and not name.startswith("_") and base.__module__.startswith("forebay"):
                setattr(base, name, told(f"{kind.__name__}.", function))


def tell_attributes(kind: type, owner: str, cures: Mapping[str, str]) -> None:
    """Has a class tell of unknown attributes."""
    def unknown_attribute(self: Any, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        if hasattr(kind, "keys") and name in self:
            raise AttributeError(f"{owner} has no attribute {name!r}; here it is: batch[{name!r}]")
        unknown(owner, name, cures, dir(kind))
    kind.__getattr__ = unknown_attribute  # type: ignore[attr-defined]


def tell_functions(module: Any, names: Iterable[str], *others: "dict[str, Any]") -> None:
    """Has functions of a module tell of wrong arguments, there and in the other name spaces that have them."""
    for name in names:
        function = vars(module).get(name)
        if not isinstance(function, FunctionType):
            continue
        better = told("fb.", function)
        for space in (vars(module), *others):
            if space.get(name) is function:
                space[name] = better
