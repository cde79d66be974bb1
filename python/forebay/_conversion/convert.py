# SPDX-License-Identifier: Apache-2.0
"""Divides the rows of a conversion among its files, and makes several files at once."""
from __future__ import annotations

import json
import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Callable, Literal, Mapping, NamedTuple, Optional, Sequence, Union, cast

from forebay import _core
from forebay._arguments import integer_of, memory_of, names_of, wrong_type
from forebay._paths import Path, Paths, path_of, paths_of
from forebay.errors import Cancelled, ConfigError, DataError, IoError

if TYPE_CHECKING:
    from forebay._conversion.inputs import Input
    from forebay.pipeline import PipelineBase
    from forebay._conversion.outputs import Output

__all__ = ["ConvertedFile", "convert"]

Format = Literal["tfrecord", "parquet", "arrow", "tar", "csv", "npy", "npz"]
FORMATS = ("tfrecord", "parquet", "arrow", "tar", "csv", "npy", "npz")
ENDINGS = ".tfrecord, .parquet, .arrow, .tar, .csv, .npy, .npz"
MAX_BATCH = 1 << 17


class ConvertedFile(NamedTuple):
    """A file of a conversion."""

    path: str
    rows: int
    made: bool  #: By this call; False: it was complete.


def convert(inputs: "Union[Paths, PipelineBase]", out: Path, *, from_: Optional[Format] = None, to: Optional[Format] = None,
            files: Optional[int] = None, file_size: Union[int, str, None] = None, shuffle: bool = False, seed: int = 0,
            select: Union[str, Sequence[str], None] = None, drop: Union[str, Sequence[str], None] = None,
            lists: Union[str, Sequence[str], None] = None, compression: Optional[str] = None, input_compression: str = "auto",
            narrow: bool = False, nulls: Optional[Mapping[str, Any]] = None, types: Optional[Mapping[str, str]] = None,
            shard: "tuple[int, int]" = (0, 1), existing: Literal["refuse", "resume", "replace"] = "refuse", index: bool = True,
            threads: int = 0, progress: Optional[Callable[[int, int], object]] = None) -> "list[ConvertedFile]":
    """Writes the rows of files to other files: of another format, other sizes, in another order, compressed otherwise.

    inputs             paths and patterns of one format; their order is the order of the rows. Or a folder of such files, or of
                       pictures or clips, which become rows of `content` and, in several folders, `label`. Or a pipeline before
                       its batch: what its steps make is computed once and stored
    out                path of the output: "out/train.parquet". Of several files, "out/train-00002-of-00008.parquet"
    from_, to          "tfrecord", "parquet", "arrow", "tar", "csv", "npy" or "npz"; left out: as the names say
    files              number of output files; their numbers of rows differ by 1 at most. Left out: 1
    file_size          instead: about as much content in each file, as bytes or "256MiB"
    shuffle, seed      write in the order of a global shuffle. Parquet and Arrow files are read into memory for that. A pipeline then
                       draws with this seed, too
    select, drop       names of features that are written, or left out
    lists              names of tensors whose rows are lists of frames: a TFRecord file then has SequenceExamples, and these are
                       their lists. Left out: as in SequenceExamples that are read, or in tables that were made of them
    compression        of the output; left out: as its name says (Parquet: snappy)
    input_compression  of TFRecord, CSV and tar files
    narrow             round float64 to float32 where the output has no float64
    nulls              by column of Parquet and Arrow files, the value of its nulls. Other nulls of single values stay nulls in
                       Parquet and Arrow files, and are an error elsewhere
    types              of CSV columns: {"price": "float64"}; left out: what fits the first 1,000 rows
    shard              (index, count): make the files index, index + count, … only
    existing           files that are there are an error; or "resume": go on with the same conversion, whose complete files
                       stay; or "replace": remove them first
    index              store the indexes of TFRecord files that are made
    progress           called as progress(rows, of_rows)

    TFRecord files that become TFRecord files, with all their features, are copied record by record and not parsed. Every file
    depends on inputs, options and its number only. It is read back and compared before it gets its name. Returns the files of
    the shard. Raises ConfigError, DataError for inputs that are corrupt, StateError for a "resume" of another conversion,
    IoError.
    """
    path = path_of(out, "out")
    rows, names, source = _inputs_of(inputs, from_)
    target = to or _core.file_format(path)
    if not target:
        raise _refused(f"out: the ending of '{path}' is that of no format that can be written; endings are {ENDINGS}, or say to= (--to)")
    for name in (*(() if rows is not None else (source,)), target):
        if name not in FORMATS:
            raise _refused(f"the format must be one of {', '.join(FORMATS)}, found '{name}'")
    if existing not in ("refuse", "resume", "replace"):
        raise _refused(f"existing: must be refuse, resume or replace, found '{existing}'")
    if files is not None and file_size is not None:
        raise _refused("files and file_size exclude each other")
    run = _Run(names, rows, path, source, target, 1 if files is None else integer_of("files", files), _bytes_of(file_size), shuffle, seed,
               _shard_of(shard), existing, integer_of("threads", threads), index, progress)
    for name, given, has in (("types", types, ("csv",)), ("nulls", nulls, ("parquet", "arrow"))):
        if given and source not in has:
            raise _refused(f"{name}: is for {' and '.join(has)} inputs, found '{source}'")
    wanted = _wanted(select, drop)
    if source == target == "tfrecord" and select is None and drop is None and lists is None:
        return run.copy(compression or _core.compression_by_name(path), input_compression)
    return run.convert(wanted, None if lists is None else names_of("lists", lists), compression, input_compression, narrow, nulls,
                       types or {},
                       {"select": select, "drop": drop, "narrow": narrow, "nulls": nulls, "types": types})


def _shard_of(shard: Any) -> "tuple[int, int]":
    if not isinstance(shard, Sequence) or isinstance(shard, str) or len(shard) != 2:
        raise wrong_type("shard", "a pair: its index, and how many there are", shard)
    return integer_of("shard", shard[0]), integer_of("shard", shard[1])


def _refused(message: str) -> Any:
    from forebay._conversion.inputs import refused
    return refused(message)


def _inputs_of(inputs: Any, from_: Optional[str]) -> "tuple[Optional[PipelineBase], list[str], str]":
    """A pipeline or None, the files, and their format, or that of the pipeline."""
    from forebay._conversion import pipelines
    from forebay.pipeline import PipelineBase
    if isinstance(inputs, PipelineBase):
        if from_ is not None:
            raise _refused("from_: is for files; the inputs are a pipeline")
        return inputs, pipelines.files_of(inputs.to_dict()), "pipeline"
    paths = paths_of(inputs, "inputs")
    if from_ is None and pipelines.folders_in(paths):
        kind, found = _core.find_source(paths, "")
        if kind in FORMATS:
            return None, found, kind
        if kind == "arrow_file":
            return None, found, "arrow"
        proposed = pipelines.proposed(paths)
        if proposed is None:
            raise _refused(f"inputs: the files of the folder are '{kind}', which needs options; give a pipeline that reads them, "
                           "convert(pipeline, out); `forebay schema` proposes one")
        return proposed, found, "pipeline"
    names = _core.expand_files(paths)
    try:
        return None, names, from_ or _format_of(names)
    except ConfigError:
        proposed = pipelines.proposed(names)
        if proposed is None:
            raise
        return proposed, names, "pipeline"


def _format_of(names: "list[str]") -> str:
    found = {_core.file_format(name) or _format_by_content(name) for name in names}
    if len(found) > 1:
        raise _refused(f"inputs: all must have one format, found {', '.join(sorted(found))}")
    return found.pop() if found else "tfrecord"


def _format_by_content(name: str) -> str:
    """The format of a file whose ending is that of none: TFRecord, if its first record is intact."""
    from forebay import builder
    try:
        list(builder.tfrecord(name).record().take(1).batch(1).load(threads=1))
    except DataError:
        raise _refused(f"inputs: '{name}' has the ending of no format that convert reads, and is no TFRecord file; endings are "
                       f"{ENDINGS}, or say from_= (--from)") from None
    return "tfrecord"


def _bytes_of(size: Union[int, str, None]) -> int:
    if size is None:
        return 0
    number = int(_core.bytes_of_size(memory_of(size)))
    if number < 1:
        raise _refused("file_size: must be 1 byte or more")
    return number


def _wanted(select: Union[str, Sequence[str], None], drop: Union[str, Sequence[str], None]) -> "_Names":
    if select is not None and drop is not None:
        raise _refused("select and drop exclude each other")
    return _Names(None if select is None else names_of("select", select), [] if drop is None else names_of("drop", drop))


class _Names:
    """Which features are written. Remembers those that it was asked for, so that a name that is none is found."""

    def __init__(self, select: "Optional[list[str]]", drop: "list[str]") -> None:
        self._select, self._drop = select, drop
        self._seen: "set[str]" = set()

    def __call__(self, name: str) -> bool:
        self._seen.add(name)
        return name in self._select if self._select is not None else name not in self._drop

    def asked_for(self, name: str) -> bool:
        return self._select is not None and name in self._select

    def check(self) -> None:
        for name in [*(self._select or []), *self._drop]:
            self.check_name("drop" if name in self._drop else "select", name)

    def check_name(self, argument: str, name: str) -> None:
        from forebay.values import unknown_name
        if name not in self._seen:
            raise _refused(f"{argument}: {unknown_name(name, sorted(self._seen))}")


class _Run:
    """One call."""

    def __init__(self, inputs: "list[str]", rows: "Optional[PipelineBase]", out: str, source: str, target: str, files: int,
                 file_bytes: int, shuffle: bool, seed: int, shard: "tuple[int, int]", existing: str, threads: int, index: bool,
                 progress: Optional[Callable[[int, int], object]]) -> None:
        self._inputs, self._out, self._source, self._target = inputs, out, source, target
        self._rows = rows  # None: those of the files
        self._files, self._file_bytes = files, file_bytes
        self._seed = seed if shuffle else None
        self._shard, self._existing, self._threads, self._index = shard, existing, threads, index
        self._progress = progress
        self._lock = threading.Lock()
        self._stopped = False
        self._done = self._all = 0

    def copy(self, compression: str, input_compression: str) -> "list[ConvertedFile]":
        """TFRecord files to TFRecord files, record by record."""
        options = {"input_compression": input_compression, "compression": compression, "files": self._files,
                   "file_bytes": self._file_bytes, "shuffle": self._seed is not None, "seed": self._seed or 0,
                   "index": self._shard[0], "count": self._shard[1], "existing": self._existing, "threads": self._threads,
                   "store_index": self._index, "progress": self._progress}
        return [ConvertedFile(*file) for file in _core.convert_records(self._inputs, self._out, options)]

    def convert(self, wanted: "_Names", lists: "Optional[list[str]]", compression: Optional[str], input_compression: str,
                narrow: bool, nulls: Optional[Mapping[str, Any]], types: Mapping[str, str],
                note: "dict[str, Any]") -> "list[ConvertedFile]":
        source = self._open(self._inputs, wanted, input_compression, nulls, types)
        wanted.check()
        for argument, names in (("types", types), ("lists", lists or ())):
            for name in names:
                wanted.check_name(argument, name)
        frames = source.lists if lists is None else frozenset(lists)
        if compression is None:
            compression = "snappy" if self._target == "parquet" else _core.compression_by_name(self._out)
        if not frames <= source.schema.keys():
            raise _refused(f"lists: '{min(frames - source.schema.keys())}' is not written")
        if self._target in ("parquet", "arrow") and self._source not in ("tfrecord", "parquet", "arrow"):
            from forebay._conversion.arrow_columns import utf8_tensors
            source.text = utf8_tensors(source, self._threads)
        output = _output_class(self._target, frames)(source.schema, compression, source.text, narrow, frames)
        rows = source.rows
        files = self._files if self._file_bytes == 0 else max(1, -(-source.bytes // self._file_bytes))
        if self._rows is not None:
            note = {**note, "pipeline": f"{cast(Any, self._rows).batch(size=1).plan().hash:016x}"}
        note = {**note, "records": rows, "from": self._source, "to": self._target, "compression": output.compression,
                "files": files, "lists": sorted(frames) or None,
                **({} if self._seed is None else {"seed": self._seed}), **_versions(self._target)}
        what = json.dumps({key: value for key, value in note.items() if value is not None and value is not False})
        missing = _core.begin_conversion(self._out, files, *self._shard, self._existing, self._inputs, what)
        ranges = {number: (rows * number // files, rows * (number + 1) // files)
                  for number in range(self._shard[0], files, self._shard[1])}
        self._all = sum(ranges[number][1] - ranges[number][0] for number in missing)
        size = max(1, min(MAX_BATCH, output.batch_bytes * max(rows, 1) // max(source.bytes, 1)))
        self._make_all(missing, lambda number, threads: self._make(
            source, output, _core.output_file(self._out, number, files), *ranges[number], size, threads))
        done = [ConvertedFile(_core.output_file(self._out, number, files), end - first, number in set(missing))
                for number, (first, end) in ranges.items()]
        if self._target == "tfrecord" and self._index and done:
            _core.index_files([file.path for file in done], output.compression, False, "", "")
        return done

    def _open(self, paths: "list[str]", wanted: "_Names", compression: str, nulls: Optional[Mapping[str, Any]],
              types: Mapping[str, str]) -> "Input":
        from forebay._conversion import inputs
        if self._rows is not None:
            from forebay._conversion.pipelines import PipelineRows
            return PipelineRows(self._rows, paths, wanted, self._seed)
        if self._source == "tfrecord":
            return inputs.Examples(paths, wanted, compression, self._threads)
        if self._source in ("parquet", "arrow"):
            return inputs.ArrowTables(paths, wanted, self._source, nulls, self._target in ("parquet", "arrow"))
        if self._source == "csv":
            return inputs.Csv(paths, wanted, compression, types)
        if self._source == "tar":
            return inputs.TarMembers(paths, wanted, compression, wanted.asked_for("__key__"))
        return inputs.NumpyArrays(paths, wanted, self._source)

    def _make_all(self, missing: "list[int]", make: Callable[[int, int], None]) -> None:
        threads = self._threads or _core.usual_resources()[0]
        at_once = max(1, min(len(missing), threads))
        with ThreadPoolExecutor(at_once) as pool:
            jobs = [pool.submit(make, number, max(1, threads // at_once)) for number in missing]
            try:
                pending = set(jobs)
                while pending:
                    done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
                    if any(job.exception() is not None for job in done):
                        break
                    if self._progress is not None:
                        self._progress(self._done, self._all)
            finally:  # after a failure, and after Ctrl-C
                self._stopped = True
                for job in jobs:
                    job.cancel()
        failures = [job.exception() for job in jobs if not job.cancelled()]
        for kind in (Exception, BaseException):  # those that stopped because of another one's failure come last
            for failure in failures:
                if failure is not None and isinstance(failure, kind) and not isinstance(failure, Cancelled):
                    raise failure

    def _make(self, source: "Input", output: "Output", path: str, first: int, end: int, size: int, threads: int) -> None:
        digest = _core.RowDigest()
        if self._stopped:
            raise Cancelled("interrupted", code="cancelled", detail="none")
        writer = output.open(path, first)
        try:
            if end > first:
                pipe = output.prepared(source.pipe(first, end - first, self._seed))
                for batch in self._batches(pipe.batch(size=size), threads):
                    digest.add(batch)
                    writer.write(batch)
                    with self._lock:
                        self._done += batch.rows
            if digest.rows != end - first:
                raise DataError(f"{path}: {digest.rows} rows came of {end - first}; were the inputs changed?", code="data",
                                detail="failed_precondition")
            writer.finish(lambda unnamed: self._compare(output, path, unnamed, digest, size, threads))
        finally:
            writer.close()

    def _batches(self, pipe: Any, threads: int) -> Any:
        with pipe.load(threads=threads, prefetch=2) as loader:
            for batch in loader:
                if self._stopped:
                    raise Cancelled("interrupted", code="cancelled", detail="none")
                yield batch

    def _compare(self, output: "Output", path: str, unnamed: str, written: Any, size: int, threads: int) -> None:
        """Reads a file that was written. A difference is a fault of the disk, the memory or this program."""
        found = _core.RowDigest()
        if written.rows > 0:
            for batch in self._batches(output.read(unnamed).batch(size=size), threads):
                found.add(batch)
        if found.text != written.text:
            raise IoError(f"{path}: the file that was written reads back as something else: {found.text}, and not "
                          f"{written.text}", code="io", detail="data_loss")


def _versions(target: str) -> "dict[str, str]":
    """The packages whose version the bytes of the output depend on."""
    if target not in ("parquet", "arrow"):
        return {}
    from forebay._arrow_files import pyarrow_module
    return {"pyarrow": pyarrow_module("pyarrow").__version__}


def _output_class(target: str, lists: "frozenset[str]") -> "type[Output]":
    from forebay._conversion import outputs
    if target == "tfrecord" and lists:
        from forebay._conversion import sequences
        return sequences.SequenceExamples
    if target in ("parquet", "arrow"):
        from forebay._conversion import arrow_outputs
        return arrow_outputs.ArrowFiles if target == "parquet" else arrow_outputs.Ipc
    return {"tfrecord": outputs.Examples, "csv": outputs.Csv, "tar": outputs.Tar, "npz": outputs.Numpy,
            "npy": outputs.Npy}[target]
