# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the compiled module; do not edit.
"""The compiled part of forebay; use the names of the package."""

from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView
)
from typing import Any, NoReturn, overload


version: str = '0.1.0'

def decode_audio(data: bytes, options: dict[str, Any]) -> tuple[Any, int]: ...

def log_mel(samples: Any, options: dict[str, Any]) -> Any: ...

def mfcc(samples: Any, options: dict[str, Any]) -> Any: ...

class Batch(Mapping[str, Any]):
    """
    One batch: a mapping from the names of tensors to arrays, in schema order.

    Arrays share the batch's memory, may be written to, and stay valid when batch and loader are gone.
    """

    def __init__(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        """
        A batch of values only, of any kind: a mapping, or (name, value) pairs. `rows`, `epoch`, `lengths` and so on raise AttributeError.
        """

    def __getitem__(self, name: str) -> Any:
        """
        The tensor of that name. The same object every time.

        Fixed shape or padded: an ndarray [rows, …]; strings: an object ndarray of bytes; else Ragged or Sparse.
        Raises KeyError, which names the nearest tensor there is.
        """

    def get(self, name: str, default: Any = None) -> Any:
        """The tensor of that name, or `default`."""

    def __contains__(self, name: object) -> bool: ...

    def __iter__(self) -> Iterator[str]: ...

    def __len__(self) -> int: ...

    def items(self) -> ItemsView[str, Any]:
        """(name, tensor) in schema order."""

    def values(self) -> ValuesView[Any]:
        """The tensors in schema order."""

    def keys(self) -> KeysView[str]:
        """The names of the tensors in schema order."""

    def state(self, name: str) -> Any:
        """
        The state of the sequence of each row, an ndarray [rows, …] of its own: the initial value where a sequence begins and for empty rows, else what `save_state` of the batch before has saved.

        Gathered now, so a batch that was read ahead may be asked later. Raises StateError, which names the sequences, when a state was not saved yet, and KeyError for a name that `stateful` does not declare.
        """

    def save_state(self, name: str, values: Any) -> None:
        """
        Saves a copy of the states after this batch: an array [rows, …] of the declared dtype and shape, on the CPU.

        The values of empty rows, and of sequences that end with this batch, are left out. `state_dict` stands after the last batch of which every state was saved.
        """

    @property
    def state_names(self) -> list[str]:
        """The states that `stateful` declares."""

    @property
    def seq_idx(self) -> Any:
        """
        The number of each row's sequence in its pass, int64 [rows]; -1 for an empty row. None unless the batcher has `seq_idx` or `epoch_end`.
        """

    @property
    def epoch_end(self) -> bool:
        """
        Whether the last row is the empty one that the batcher's `epoch_end` adds; its `seq_idx` is the number of sequences of the epoch.
        """

    @property
    def complete_frac(self) -> Any:
        """The done part of the epoch after this batch: Fraction(value, exact)."""

    @property
    def frames(self) -> dict[str, int]:
        """
        The frames of all rows of each tensor that has a first axis, without padding.
        """

    @property
    def rows(self) -> int:
        """Length of the batch axis."""

    @property
    def valid_rows(self) -> int:
        """
        Rows that came from records. The others fill up a last batch, or stand at the end for rows that skip_row took out; where rows are made of spans, they may be anywhere.
        """

    @property
    def mask(self) -> Any:
        """
        Which rows came from records: bool [rows]. A loss or a metric leaves the others out.
        """

    @property
    def epoch(self) -> int:
        """Pass of the first row that is not empty, from 0."""

    @property
    def number(self) -> int:
        """Ordinal of the batch in the run, from 0."""

    @property
    def ends_epoch(self) -> bool | None:
        """
        Whether it is the last batch of its epoch; None unless `epoch_boundary` is "hard".
        """

    def __reduce__(self) -> tuple[Any, ...]:
        """
        A batch that comes back from `pickle` keeps values, lengths, epoch, number, valid rows and position.
        """

    def to_arrow(self, utf8: Sequence[str] = ()) -> Any:
        """
        The batch as a pyarrow.RecordBatch, without a copy of numbers and strings; needs pyarrow.

        utf8: string tensors that become text; the others are binary. Other libraries take the batch itself, by __arrow_c_array__ and __arrow_c_stream__. Raises ConfigError for types that Arrow does not have.
        """

    def __arrow_c_schema__(self) -> object: ...

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """
        Capsules of schema and array. The schema is the batch's own, also where another one is requested.
        """

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule of a stream with one record batch."""

    def raw(self, name: str) -> tuple[Any, Any]:
        """
        (offsets, bytes) of a string tensor without a copy: int64 [elements + 1] and uint8, both read-only.

        Element i, in row-major order, is bytes[offsets[i]:offsets[i + 1]]. Raises TypeError for other dtypes.
        """

    @property
    def inputs(self) -> dict[str, Any]:
        """The document's inputs by name."""

    @property
    def targets(self) -> dict[str, Any]:
        """The document's targets by name."""

    @property
    def lengths(self) -> dict[str, Any]:
        """
        True sizes before padding, of the tensors that vary: int64 [rows], or [rows, unknown dims].
        """

    @property
    def origins(self) -> list[tuple[Any, ...]]:
        """
        (file, ordinal of the record, byte offset) of each valid row; of rows of `zip` a tuple of these, one for each branch.

        Where rows are made of spans, one Origin for each span: such a tuple, with `window`, `start` and `row`.
        """

    @property
    def spans(self) -> list[list[Any]] | None:
        """
        The spans of each row, as Span(origin, start, length, at); an empty row has none. None where rows are whole records.
        """

    @property
    def skipped(self) -> list[tuple[tuple[str, int, int], str]]:
        """
        Origin and error of each row that `on_corrupt: skip_row` took out; as many rows at the end of the batch are padding.
        """

    @property
    def branch(self) -> list[int]:
        """
        The branch of a combination that gave each valid row; 0 with one source, and of `zip`.
        """

    @property
    def record_keys(self) -> list[str]:
        """
        The key of each origin's record: "path:offset", or as its format says (lines: "path:line"). The same list every time.
        """

    def __repr__(self) -> str: ...

def batch_of(names: list[str], values: list[Any], lengths: dict[str, Any], inputs: list[str], targets: list[str], rows: int, valid_rows: int, epoch: int, number: int, ends_epoch: bool | None, position: str, mask: Any = None) -> Batch:
    """A batch that was pickled, from its parts."""

def position_of(batch: Batch) -> str:
    """The position after a batch, as JSON text."""

class OutputFile:
    """A file that is there only when it is complete."""

    def __init__(self, path: str, compression: str) -> None: ...

    def write(self, data: bytes) -> int: ...

    def finish(self, check: Any) -> None:
        """
        Gives the file its path, unless check(path of the complete file) raises.
        """

class ExampleFile:
    """A TFRecord file of Examples, or of records as they are."""

    def __init__(self, path: str, compression: str, level: int | None = None) -> None: ...

    def flush(self) -> None: ...

    def write(self, batch: Batch) -> None:
        """Writes the rows of a batch as Examples."""

    def write_record(self, record: bytes) -> None: ...

    def write_sequences(self, batch: Batch, lists: list[str]) -> None:
        """Writes the rows of a batch as SequenceExamples."""

    def finish(self, check: Any) -> None: ...

class RowDigest:
    """A digest of rows, however they are cut into batches."""

    def __init__(self) -> None: ...

    def add(self, batch: Batch) -> None: ...

    @property
    def rows(self) -> int: ...

    @property
    def text(self) -> str: ...

def convert_records(inputs: list[str], out: str, options: dict[str, Any]) -> list[tuple[str, int, bool]]:
    """Files as (path, records, made now)."""

def begin_conversion(out: str, files: int, index: int, count: int, existing: str, inputs: list[str], what: str) -> list[int]:
    """The numbers of the files that are to be made."""

def features_of_examples(paths: list[str], compression: str, threads: int) -> tuple[int, list[tuple[str, str, int, int, int, bool]], list[tuple[str, str, int, int, int, bool]]]:
    """
    Records, features as (name, kind, records, min, max, text), and lists as (name, kind, frames, min, max, text).
    """

def output_file(out: str, number: int, files: int) -> str: ...

def file_format(path: str) -> str: ...

def compression_by_name(path: str) -> str: ...

def bytes_of_size(size: int | str) -> int: ...

def expand_files(patterns: list[str]) -> list[str]: ...

class DecodeFunction:
    """A decoder that was bound to its options."""

    def __call__(self, records: list[bytes]) -> dict[str, Any]: ...

def decode_function(kind: str, options: dict[str, Any], memory: int | str) -> DecodeFunction: ...

def decode_json_example(text: bytes) -> bytes: ...

class FileJob:
    """A request to a file system of the program. It is answered once."""

    @property
    def kind(self) -> str:
        """find, read or list"""

    @property
    def path(self) -> str: ...

    @property
    def wanted(self) -> bool: ...

    @property
    def size(self) -> int: ...

    @property
    def version(self) -> int: ...

    @property
    def begin(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def deep(self) -> bool: ...

    def found(self, size: int, version: int) -> None: ...

    def bytes(self, buffer: bytes | bytearray | memoryview) -> None: ...

    def listed(self, files: list[tuple[str, int | None, int]]) -> None:
        """
        Path, size in bytes and version; without a size, the list does not tell the version.
        """

    def fail(self, kind: str, what: str) -> None:
        """kind: not_found, denied, changed, or io for anything else."""

class QueuedFiles:
    """The queue of the requests to one file system of the program."""

    def __init__(self, lists: bool) -> None: ...

    def take(self) -> FileJob | None:
        """Waits. None: no more come."""

    @property
    def needs_thread(self) -> bool: ...

    def close(self) -> None: ...

def gs_files(*, allow_http: bool, connections: int, deadline: int, headers: list[str], ca_file: str, library: str, endpoint: str, project: str, anonymous: bool, token: object, other_token: object) -> WebFiles: ...

@overload
def add_file_system(scheme: str, files: QueuedFiles) -> None: ...

@overload
def add_file_system(scheme: str, files: WebFiles) -> None: ...

class WebFiles:
    """Files that the compiled part reads by itself."""

def http_files(*, allow_http: bool, connections: int, deadline: int, headers: list[str], ca_file: str, library: str) -> WebFiles: ...

def s3_files(*, allow_http: bool, connections: int, deadline: int, headers: list[str], ca_file: str, library: str, endpoint: str, region: str, profile: str, anonymous: bool, requester_pays: bool, credentials: object, other_credentials: object) -> WebFiles: ...

def stop_http() -> None:
    """
    Ends the threads that read http, https, s3 and gs. Functions that find credentials are left before.
    """

def find_version(path: str) -> tuple[int, int]:
    """Size in bytes and version of a file of another machine."""

def read_range(path: str, size: int, version: int, begin: int, end: int) -> bytes:
    """The bytes of that version from `begin` to before `end`."""

def find_file_system(path: str) -> bool:
    """
    False: a local path. Raises ConfigError for a scheme that nothing reads.
    """

def address_of(path: str) -> str: ...

class Function:
    """A function of the program, which runs ask."""

    def __init__(self) -> None: ...

    def next(self) -> list[int] | None:
        """
        The next question. None: there was none for a short time. Raises Cancelled after close.
        """

    def answer(self, question: list[int], values: bytes) -> None:
        """The values as the bytes of 64-bit integers."""

    def fail(self, question: list[int], what: str) -> None: ...

    def close(self) -> None: ...

class Queue:
    """The compiled part of forebay.Queue."""

    def enqueue(self, element: list[object], copy: bool, timeout: int) -> bool:
        """
        Tensors are arrays of numbers, or (bytes, byte splits, shape) of strings. The timeout is in ms; -1: for ever. False: the time was over.
        """

    def enqueue_many(self, rows: list[object], copy: bool, timeout: int) -> int:
        """How many rows went in."""

    def dequeue(self, timeout: int) -> list[Any] | int | None:
        """
        Arrays. A number: the end, with so many elements left. None: the time was over.
        """

    def dequeue_many(self, count: int, up_to: bool, timeout: int) -> list[Any] | int | None: ...

    def close(self, cancel: bool) -> None: ...

    @property
    def sizes(self) -> tuple[int, int, int, int, int, bool, float, float]: ...

def make_queue(kind: str, name: str, components: list[tuple[str, str, tuple[int | None, ...] | None]], capacity: int, min_after_dequeue: int, seed: int | None) -> Queue:
    """Components are (name, dtype, shape or None)."""

class Reader:
    """The compiled part of forebay.Reader. One thread at a time may call it."""

    @property
    def needs_work(self) -> bool: ...

    def start(self, work: str) -> None: ...

    def read(self, count: int) -> list[tuple[str, bytes]]:
        """Keys and values; none: a file is needed."""

    def reset(self) -> None: ...

    def state(self) -> str: ...

    def restore(self, state: str) -> None: ...

    @property
    def counters(self) -> tuple[int, int, int, int]: ...

def make_reader(kind: str, options: str, on_corrupt: str, skip_missing: bool) -> Reader:
    """The options are JSON text."""

class Rows:
    """Rows of arrays, which a document names."""

def array_rows(columns: list[tuple[object, ...]], name: str) -> Rows:
    """
    Columns as (name, dtype, array, swapped) or (name, "string", bytes, byte splits, shape), then row splits where rows have different lengths.
    """

class Producer:
    """A handle of a producer of a feed."""

    def close(self) -> None: ...

class Feed:
    """Rows that a program gives to a run."""

    def put(self, columns: list[tuple[object, ...]]) -> bool:
        """False: there was no room for a short time."""

    def close(self) -> None: ...

    def fail(self, what: str) -> None: ...

    def rows(self, name: str) -> Rows: ...

    def producer(self) -> Producer: ...

    @property
    def waiting(self) -> int: ...

    @property
    def closed(self) -> bool: ...

class RowPasses:
    """Rows that a program gives anew for each pass of a run."""

    def next(self) -> tuple[int, int, Feed] | None:
        """
        The epoch of the pass that a run has begun, its first row, and the feed for its rows. None: there was none for a short time. Raises Cancelled after close.
        """

    def close(self) -> None: ...

    def rows(self, name: str, seeks: bool = False, exact: bool = True, collects: bool = False) -> Rows: ...

def make_passes(columns: list[tuple[str, str, tuple[int | None, ...]]], capacity: int) -> RowPasses: ...

def make_feed(columns: list[tuple[str, str, tuple[int | None, ...]]], capacity: int) -> Feed: ...

class Table:
    """A table that a document names."""

class StreamedTable:
    """A table whose rows a thread reads for the runs."""

    def rows(self) -> Table: ...

    def next(self) -> tuple[int, int, int, int, int, bool] | None:
        """
        The part that a run waits for: id, source, part, epoch, first row, and whether the run has left it. None: there was none for a short time. Raises Cancelled after close.
        """

    def fields(self, source: int) -> list[str]:
        """The columns that a source reads."""

    def put(self, id: int, source: int, schema: object, array: object) -> None:
        """
        A record batch with the source's fields, as the capsules of __arrow_c_array__.
        """

    def pull(self, id: int, source: int) -> None:
        """Reads the next batch of the stream."""

    def end(self, id: int) -> None: ...

    def fail(self, id: int, what: str) -> None: ...

    def close(self) -> None: ...

def arrow_table(stream: object, name: str) -> Table:
    """
    A table in memory, of a capsule of __arrow_c_stream__, which is read to its end.
    """

def arrow_stream(stream: object, name: str) -> StreamedTable:
    """A stream of record batches that is read once."""

def arrow_parts(schema: object, parts: list[tuple[str, int | None]]) -> StreamedTable:
    """
    Parts as (name, rows) whose batches have this schema, a capsule of __arrow_c_schema__.
    """

class Plan:
    """The checked, immutable description of a run; printable."""

    @property
    def batches(self) -> int | None:
        """
        Number of batches of the whole run, from the indexes of its files, which are made if they are missing. None of an endless run, and where counting needs decoding: `count` does that.
        """

    @property
    def steps_per_epoch(self) -> int | None:
        """The same of the first epoch, also of an endless run."""

    def count(self, per_epoch: bool = False, threads: int = 0) -> int:
        """
        Number of batches of the whole run, or of the first epoch. Decodes what it must, on several threads; what is stored about the files is used, and stored for the next time. An endless run has no number: TypeError.
        """

    @property
    def epochs(self) -> int | None:
        """Passes over the data; None: for ever."""

    @property
    def hash(self) -> int:
        """Hash of everything that decides the stream's content and order."""

    @property
    def stream(self) -> int:
        """
        The same without the paths of the data: equal in processes that share a stream, wherever their files lie.
        """

    @property
    def lowered(self) -> str:
        """The pipeline document it stands for, as JSON text, paths resolved."""

    @property
    def columns(self) -> list[tuple[str, str, tuple[int | None, ...], str, str, tuple[bytes, ...]]]:
        """
        (name, dtype, shape of a row, delivery, logical type, categories) of every tensor.
        """

    @property
    def stages(self) -> list[dict[str, str | int | None]]:
        """
        What the text of the plan says, a dict for each line: where (the first word of the line), plugin (None: the engine does it), text, branch (the number of the branch of the innermost combination around it, or None), and step (its place in Stats.steps, or None).
        """

    def __reduce__(self) -> NoReturn: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

class Stats:
    """
    Counters of a run; printed, they end in a sentence that names the bottleneck.
    """

    @property
    def batches(self) -> int:
        """Delivered."""

    @property
    def rows(self) -> int:
        """Delivered."""

    @property
    def records(self) -> int:
        """Found in the files."""

    @property
    def bytes_read(self) -> int:
        """From files."""

    @property
    def ordered_rows(self) -> int:
        """Of the batches whose order is decided."""

    @property
    def decoded_rows(self) -> int:
        """Made by tickets; their batches may be waiting."""

    @property
    def row_bytes(self) -> int:
        """
        Of a shard by row, element or batch: bytes of the records of its own rows.
        """

    @property
    def read_amplification(self) -> float | None:
        """bytes_read / row_bytes of such a shard; None where it is not known."""

    @property
    def shard_reading(self) -> str:
        """
        How such a shard reads its files, in words: its own records only, or whole files, and why.
        """

    @property
    def shard_files(self) -> tuple[int, int]:
        """
        Of such a shard: files of which it reads its own records only, and files that it reads whole.
        """

    @property
    def skipped_records(self) -> int:
        """Corrupt or malformed records that on_corrupt skipped."""

    @property
    def skipped_ranges(self) -> int:
        """Ranges of bytes in which no record could be found."""

    @property
    def skipped_files(self) -> int:
        """Files given up at their first corruption."""

    @property
    def skipped_bytes(self) -> int:
        """Of all three."""

    @property
    def skipped(self) -> list[str]:
        """Where and why, the first 16 of them."""

    @property
    def seconds(self) -> float:
        """Since the first batch was asked for."""

    @property
    def scan_seconds(self) -> float:
        """Worker time finding records, decompression included."""

    @property
    def order_seconds(self) -> float:
        """Worker time deciding the order."""

    @property
    def decode_seconds(self) -> float:
        """Worker time decoding and transforming."""

    @property
    def steps(self) -> list[tuple[str, float]]:
        """
        Of decode_seconds: each step that a ticket or a finished batch goes through and its seconds, in the order of the plan.
        """

    @property
    def idle_seconds(self) -> float:
        """Worker time with enough batches ready."""

    @property
    def consumer_wait_seconds(self) -> float:
        """Time in which the consumer waited or helped."""

    @property
    def ready_fill(self) -> float:
        """Mean share of the prefetch depth that was ready."""

    @property
    def waiting_seconds(self) -> float:
        """
        How long the consumer has waited for the next batch; 0 when it does not wait.
        """

    @property
    def waiting(self) -> str:
        """
        What each thread does meanwhile, in words; empty when the consumer does not wait.
        """

    @property
    def memory_used(self) -> int:
        """Bytes charged to the budget now."""

    @property
    def memory_limit(self) -> int:
        """The budget in bytes."""

    @property
    def memory_pinned(self) -> int:
        """Bytes that are page-locked now (pin_memory), also to be used again."""

    @property
    def scan_memory(self) -> int:
        """Of memory_used: blocks of files, indexes, rows that the program gives."""

    @property
    def order_memory(self) -> int:
        """Of memory_used: what orders, windows and batchers keep."""

    @property
    def decode_memory(self) -> int:
        """
        Of memory_used: tickets and batches, those that the program holds, too.
        """

    @property
    def threads(self) -> int:
        """Workers."""

    @property
    def frames(self) -> int:
        """
        Delivered in padded tensors, along their first axis, without the padding.
        """

    @property
    def padded_frames(self) -> int:
        """And with it."""

    @property
    def queues(self) -> dict[str, tuple[int, int]]:
        """
        How full each queue and buffer is, as (held, capacity): finished batches, the buffers of orders when the last batch was decided, feeds.
        """

    @property
    def requests_in_flight(self) -> int:
        """Requests to file systems, now."""

    @property
    def requests_waiting(self) -> int:
        """Requests that wait for their turn, now."""

    @property
    def requests(self) -> dict[str, float]:
        """
        Requests for files of other machines: finds (for versions), reads (for ranges), bytes_used, bytes_cached (from the cache); and of http, https and s3: bytes_fetched, tries without success (refused, failed, broken, stalled), hedges, hedges_won, throttled_seconds.
        """

    @property
    def branches(self) -> list[dict[str, int]]:
        """
        Of a combination, for each branch: rows, records, bytes_read, skipped_records, skipped_ranges, skipped_files, skipped_bytes.
        """

    def with_skips(self, other: Stats) -> Stats:
        """
        The same, and what another run has skipped that makes rows for this one.
        """

    @property
    def bottleneck(self) -> str:
        """The stage that limits the run, in one sentence."""

    def prometheus(self) -> str:
        """All numbers in the text format of Prometheus."""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

def usual_resources() -> tuple[int, int]:
    """(threads, bytes of memory) of a run that leaves them out."""

class RunEpochs:
    """A loop over the epochs of a run."""

    def next(self) -> int:
        """The number of the next epoch; StopIteration after the last one."""

    def advance(self, number: int, taken: bool) -> Batch:
        """
        As Run.advance, within the epoch of that number; StopIteration at its end.
        """

class Run:
    """A running plan."""

    def next(self) -> Batch:
        """The next batch; StopIteration at the end."""

    def advance(self, taken: bool) -> Batch:
        """
        The next batch, which stays the next one until it is taken; StopIteration at the end. `taken`: take the one of the last call first.
        """

    def take(self) -> None:
        """Counts the batch of the last `advance` as given."""

    def epochs(self) -> RunEpochs:
        """A loop over the epochs from here on."""

    @property
    def ended(self) -> bool:
        """Whether the consumer has been told the end of the run."""

    def close(self) -> None: ...

    def state(self) -> str:
        """The state after the last batch that was taken, as JSON text."""

    def state_at(self, position: str) -> str:
        """The state at a position, as JSON text."""

    def position(self) -> str:
        """Where the run stands, as JSON text; no file is asked."""

    def restore(self, state: str, accept: Sequence[str] = ()) -> str: ...

    def begin_anew(self) -> None:
        """Goes back to the beginning."""

    def seek(self, number: int) -> None:
        """Goes to a batch by its number."""

    @property
    def plan(self) -> Plan: ...

    @property
    def shard(self) -> tuple[int, int, str]:
        """(index, count, by) of the shard of this run."""

    @property
    def length(self) -> int | None:
        """
        Batches of the whole run of this shard; None: not known before reading.
        """

    @property
    def known(self) -> int | None:
        """
        Batches of the whole run of all shards; None: not known before reading.
        """

    def count(self, epochs: int | None) -> int | None:
        """
        Batches of the whole run of this shard, or of its first epochs, counted if necessary; None: an endless run, or counting needs decoding.
        """

    def own(self, batches: int) -> int:
        """How many of the first batches of all shards are those of this one."""

    @property
    def stats(self) -> Stats: ...

    @property
    def complete_frac(self) -> float: ...

def plan_path(path: str, bindings: dict[str, Rows | Table | Function]) -> Plan: ...

def plan_document(document: object, folder: str, bindings: dict[str, Rows | Table | Function]) -> Plan: ...

def memory_bytes(memory: int | str) -> int:
    """The bytes of a budget, as `load` takes it."""

def start(plan: Plan, threads: int, memory: int | str, prefetch: int, shard: object | None, index_dir: str, pinned: PinnedMemory | None, row_identities: bool, requests: int, cache_dir: str, cache_size: int | str) -> Run: ...

class SegmentBatch:
    """
    Segments of several examples, one in each row, by ascending insertion index. Made by `StateSaver.take`.

    Save every state, once: when the batch is gone before that, its examples cannot go on. Arrays may be written to, and stay valid when batch and saver are gone.
    """

    @property
    def rows(self) -> int:
        """Rows of the batch; 0 where 0 segments were asked for."""

    def __len__(self) -> int: ...

    @property
    def sequences(self) -> dict[str, Any]:
        """
        By name: an ndarray [rows, num_unroll, …] of the declared dtype; strings are objects of bytes. Padding is 0, False or b"".
        """

    @property
    def context(self) -> dict[str, Any]:
        """
        By name: an ndarray [rows, …]; every segment of an example has the same.
        """

    def state(self, name: str) -> Any:
        """
        The state before these segments, an ndarray [rows, …] of the declared dtype: what was saved after the segment before, or the initial value. Raises KeyError for a name that was not declared.
        """

    def save_state(self, name: str, values: Any) -> None:
        """
        Saves a copy of the state after these segments: an array [rows, …] of the declared dtype and shape. When all states are saved, the next segments are ready. Values of last segments are left out.

        Raises KeyError for a name that was not declared, ConfigError for another dtype or shape, StateError for a state that was saved before, Cancelled after `close(cancel=True)`.
        """

    @property
    def key(self) -> list[str]:
        """
        "00001_of_00003:key" of each row. Bytes that are not UTF-8 come as os.fsdecode has them.
        """

    @property
    def next_key(self) -> list[str]:
        """The key of the next segment of each row; "STOP:key" after the last."""

    @property
    def sequence(self) -> Any:
        """
        Number of each segment in its example, from 0: int32 [rows]; -1 of an empty row.
        """

    @property
    def sequence_count(self) -> Any:
        """Segments of each example: int32 [rows]."""

    @property
    def length(self) -> Any:
        """Frames of each segment that count, 0 … num_unroll: int32 [rows]."""

    @property
    def total_length(self) -> Any:
        """Frames of each example that count: int32 [rows]."""

    @property
    def insertion_index(self) -> Any:
        """
        Number of each example in the order of insertion, from -2**63: int64 [rows].
        """

    @property
    def epoch(self) -> Any:
        """The epoch given to `insert`: int64 [rows]."""

    @property
    def reset(self) -> Any:
        """Whether a row begins an example, or is empty: bool [rows]."""

class StateSaver:
    """The compiled part of forebay.StateSaver."""

    def insert(self, key: bytes, length: int | None, sequences: list[object], context: list[object], states: list[object], epoch: int, copy: bool, timeout: int) -> None:
        """
        Tensors are arrays of numbers, or (bytes, byte splits, shape) of strings. The timeout is in ms; -1: for ever.
        """

    def take(self, size: int | None, timeout: int) -> SegmentBatch | None:
        """None: the end."""

    def close(self, cancel: bool) -> None: ...

    @property
    def closed(self) -> bool: ...

    @property
    def sizes(self) -> tuple[int, int, int, int, int]: ...

def make_state_saver(batch_size: int, num_unroll: int, sequences: list[tuple[object, ...]], context: list[tuple[object, ...]], states: list[tuple[object, ...]], capacity: int | None, allow_small_batch: bool, pad: bool, make_keys_unique: bool, sticky_rows: bool, save_timeout: int) -> StateSaver:
    """Tensors are (name, dtype, shape, initial value or None)."""

class StagedTensors:
    """Tensors on their way to a device."""

    def tensors(self, gpu: int) -> list[Any]:
        """Objects with __dlpack__; gpu: the number of the GPU, -1 on the host."""

    def wait(self, stream: int) -> None:
        """Work that is put into the stream from now on begins after the copies."""

    @property
    def ready(self) -> bool:
        """The copies are complete."""

class Staging:
    """Brings tensors to a device."""

    def begin(self, arrays: list[Any]) -> StagedTensors:
        """Begins to copy arrays of numbers."""

    @property
    def device(self) -> str: ...

class PinnedMemory:
    """Page-locked memory for the batches of runs."""

def cuda_pinned_memory(gpu: int, library: str) -> PinnedMemory:
    """
    gpu: its number; -1: the current one of this thread. library: the CUDA runtime; empty: the usual one.
    """

class ReceivedBytes:
    """Bytes in memory of ReceivedMemory."""

    @property
    def array(self) -> Any:
        """uint8 [size], over that memory."""

    @property
    def checksum(self) -> int:
        """CRC-32C."""

class ReceivedMemory:
    """Memory for batches of other processes, which is used again."""

    def __init__(self, keep: int, pinned: PinnedMemory | None) -> None: ...

    def copy(self, data: bytes | memoryview | Any) -> ReceivedBytes:
        """A copy of the bytes of an object with a contiguous buffer."""

    @property
    def pinned(self) -> int:
        """Bytes that are page-locked now."""

def own_memory(batch: Batch, parts: Sequence[ReceivedBytes]) -> None:
    """
    Arrays of a batch that was pickled lie in these parts: record_stream of the batch is theirs, too.
    """

def record_stream(batch: Batch, gpu: int, stream: int) -> None:
    """
    The memory of the batch is not used again before the work that was put into the stream so far is done.
    """

def make_staging(gpu: int, library: str) -> Staging:
    """
    gpu: its number; -1: the host. library: the CUDA runtime; empty: the usual one.
    """

def read_records(path: str, compression: str) -> list[bytes]: ...

def write_records(path: str, records: list[bytes], compression: str) -> None: ...

def crc32c(data: bytes | memoryview) -> int:
    """CRC-32C of the bytes of an object with a contiguous buffer."""

def index_files(paths: list[str] | Plan, compression: str, force: bool, index_dir: str, publish: str) -> list[tuple[str, str, bool, int, int, int]]: ...

def index_plan(plan: Plan, part: int, parts: int, only_check: bool, index_dir: str) -> list[tuple[str, bool]]:
    """
    Makes the indexes that a run of the plan needs, of every `parts`th file from file `part` on, and says which files have a good one then.
    """

def encode_example(features: dict[str, Any]) -> bytes: ...

def decode_example(message: bytes) -> dict[str, Any]: ...

def encode_sequence_example(context: dict[str, Any], lists: dict[str, list[Any]]) -> bytes: ...

def decode_sequence_example(message: bytes) -> tuple[dict[str, Any], dict[str, list[Any]]]: ...

def decode_image(data: bytes, options: dict[str, Any], seed: int) -> Any: ...

def image_format(data: bytes) -> str: ...

class Inspection:
    """What was found in files, or in the batches of a plan."""

    @property
    def report(self) -> str:
        """JSON text."""

    @property
    def document(self) -> str:
        """JSON text; null for a plan."""

    @property
    def python(self) -> str: ...

    def text(self, stats: bool) -> str: ...

    def markdown(self, stats: bool) -> str: ...

def inspect(paths: list[str], source: str, options: dict[str, Any], records: int | None, threads: int) -> Inspection: ...

class BatchInspector:
    """Counts the values of batches."""

    def __init__(self, plan: Plan) -> None: ...

    def add(self, batch: Batch, rows: int) -> int:
        """Returns the number of rows that were added."""

    def result(self, what: str, sample: bool) -> Inspection: ...

def inspect_schema(plan: Plan) -> Inspection: ...

def find_source(paths: list[str], source: str) -> tuple[str, list[str]]: ...

def verify(paths: list[str], compression: str, threads: int) -> list[tuple[Any, ...]]: ...

def verify_plan(plan: Plan, threads: int, report: Callable[[tuple[Any, ...]], None], progress: Callable[[float, int, int, int], bool]) -> None: ...

def bytes_of(memory: int | str) -> int:
    """
    A number of bytes, or text such as "1GiB". Raises ConfigError for anything else.
    """

def complete_frac(seq_idx: int, sequences: int | None) -> tuple[float, bool]:
    """The done part of an epoch, and whether it is exact."""

def plugin_reference() -> str:
    """JSON text: every plug-in with its options."""

def document_reference() -> str:
    """
    JSON text: every plug-in, part of documents and kind of feature with its options.
    """

def feature_reference() -> str:
    """JSON text: the kinds of features with their options."""

def document_schema() -> str:
    """JSON text: JSON Schema of the documents."""
