# SPDX-License-Identifier: Apache-2.0
"""Rows that a program holds or gives: arrays, feeds and iterables as sources."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable, Iterable, Literal, Mapping, Optional, Sequence, Union, cast

import numpy as np

from forebay import _core
from forebay._arguments import integer_of, wrong_type
from forebay._structure import Tree, flat, is_feature_part, is_nested, merged, tree_of
from forebay.builder import Pipeline
from forebay.errors import ConfigError
from forebay.features import Feature
from forebay.values import Ragged

if TYPE_CHECKING:
    from forebay._map.step import MapStep
    from forebay._pump import Pump

    Bound = Union[_core.Rows, _core.Table, _core.Function]

__all__ = ["Feed", "Producer", "arrays", "feed", "python"]

_NUMBERS = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
            "float32", "float64", "complex64", "complex128"}


def arrays(columns: Any, name: str = "arrays") -> Pipeline:
    """A pipeline over arrays of equal length: row i of every batch tensor is `columns[tensor][i]` for one i.

    columns    NumPy arrays, or what np.asarray takes: the first axis counts the rows. Numbers of any stride, alignment and
               byte order are read where they lie; nothing is copied before a batch is made, so they must not change while a
               loader reads them. Strings (dtype S, U or object, of bytes or str; str as UTF-8) are copied once. Rows of
               different lengths: `fb.Ragged(values, row_splits)`, where row i is values[row_splits[i]:row_splits[i + 1]].
               They may lie in dicts and tuples, also as a whole: batches have the same structure (docs/rows.md).
    name       stands for a file name in record keys, origins and errors

    The rows can be shuffled, also globally (`.shuffle(global_=True)`), sharded and restarted like records of files.
    A document names such arrays as {"source": {"arrays": {"bind": NAME}}} and takes them from
    `forebay.load(document, bind={NAME: columns})`. Raises ConfigError with every fault.
    """
    if not isinstance(name, str):
        raise wrong_type("name", 'a name; several arrays go into one dict, fb.arrays({"x": x, "y": y})', name)
    return Pipeline({"source": {"arrays": {"bind": name}}, "steps": []}, (), {name: columns})


class Feed:
    """Rows that a program gives to a loader while it runs: a bounded queue, for any number of producer threads.

        rows = fb.Feed({"x": fb.fixed("float32", [3]), "ids": fb.var_len("int64")})
        loader = fb.feed(rows).shuffle(buffer=1000).batch(size=32).load()
        rows.put({"x": [1, 2, 3], "ids": [7, 8]})          # in other threads: rows.put, rows.put_rows
        rows.close()                                       # the loader ends after the rows that wait

    columns    the tensors by name: `fb.fixed` and `fb.var_len` (delivered as fb.Ragged; `.batch(pad=True)` pads). They may lie
               in dicts and tuples: rows and batches then have the same structure
    capacity   rows that may wait; `put` waits while they are there

    One loader reads a feed, once: it has one epoch and no state, and its rows cannot be shuffled globally. When the loader
    ends or is closed, the feed is closed: `put` then raises Cancelled. As a context manager it closes at the end of the
    block; an exception in the block ends the loader's iteration with a DataError instead, after the rows before it.
    """

    __slots__ = ("_feed", "_specs", "_tree")

    _feed: _core.Feed
    _specs: "dict[str, tuple[str, tuple[Optional[int], ...]]]"
    _tree: Tree

    def __init__(self, columns: Any, capacity: int = 1024) -> None:
        self._tree = tree_of_columns(columns)
        self._specs = column_specs(columns)
        self._feed = _core.make_feed([(name, *spec) for name, spec in self._specs.items()], integer_of("capacity", capacity))

    @classmethod
    def _of(cls, feed: _core.Feed, specs: "dict[str, tuple[str, tuple[Optional[int], ...]]]", tree: Tree) -> "Feed":
        """A feed that exists already, its columns, and the structure of its rows."""
        out = cls.__new__(cls)
        out._feed, out._specs, out._tree = feed, specs, tree
        return out

    def put(self, row: Any) -> None:
        """Gives one row: a value for every column. Waits while the feed is full; Ctrl-C interrupts it, and then the row was
        not taken. Raises ConfigError for values that do not fit, Cancelled when the feed is closed."""
        self._put({name: _one(name, value) for name, value in self._items(row)})

    def put_rows(self, rows: Any) -> None:
        """Gives several rows at once: arrays whose first axis counts the rows, or fb.Ragged."""
        self._put({name: value if isinstance(value, Ragged) else _array(name, value) for name, value in self._items(rows)})

    put_many = put_rows

    def producer(self) -> "Producer":
        """A handle for a producer. Once a feed has given one, a loader that waits for a row while no handle is open, and
        nobody has closed the feed, raises a DataError instead of waiting for ever."""
        return Producer(self, self._feed.producer())

    def fail(self, what: str) -> None:
        """The loader raises a DataError with these words, after the rows that wait. No more rows are taken."""
        self._feed.fail(what)

    def _items(self, row: Any) -> "list[tuple[str, Any]]":
        if isinstance(self._tree, dict) and not isinstance(row, Mapping):
            raise wrong_type("row", "a dict of values by column", row)
        return list(flat(self._tree, row, "a row").items())

    def _put(self, arrays: "dict[str, Any]") -> None:
        columns = [_column(name, _converted(name, array, self._specs[name][0])) for name, array in arrays.items()]
        while not self._feed.put(columns):
            pass

    def close(self) -> None:
        """No more rows come. May be called any number of times."""
        self._feed.close()

    @property
    def closed(self) -> bool:
        """Whether no more rows are taken."""
        return self._feed.closed

    def __len__(self) -> int:
        """Rows that wait for the loader."""
        return self._feed.waiting

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> "Feed":
        return self

    def __exit__(self, kind: Any, problem: Optional[BaseException], trace: Any) -> None:
        if problem is None:
            self._feed.close()
        else:
            self._feed.fail(f"the producer failed: {type(problem).__name__}: {problem}")


class Producer:
    """A handle of a producer of a feed (Feed.producer); open until `close`, the end of its block, or its own end. An exception
    in the block ends the loader's iteration with a DataError."""

    __slots__ = ("_feed", "_handle")

    def __init__(self, feed: Feed, handle: _core.Producer) -> None:
        self._feed = feed
        self._handle = handle

    def put(self, row: Any) -> None:
        """Feed.put."""
        self._feed.put(row)

    def put_many(self, rows: Any) -> None:
        """Feed.put_rows."""
        self._feed.put_rows(rows)

    def close(self) -> None:
        """This producer gives no more rows. May be called any number of times."""
        self._handle.close()

    def __enter__(self) -> "Producer":
        return self

    def __exit__(self, kind: Any, problem: Optional[BaseException], trace: Any) -> None:
        if problem is not None:
            self._feed.fail(f"the producer failed: {type(problem).__name__}: {problem}")
        self.close()


def feed(rows: Feed, name: str = "feed") -> Pipeline:
    """A pipeline over the rows that a program gives to a feed.

    rows    the feed; a document names it as {"source": {"feed": {"bind": NAME}}} and takes it from `load(…, bind={NAME: rows})`
    name    stands for a file name in record keys, origins and errors
    """
    if not isinstance(rows, Feed):
        raise wrong_type("rows", "a forebay.Feed", rows)
    return Pipeline({"source": {"feed": {"bind": name}}, "steps": []}, (), {name: rows})


def python(rows: Any = None, columns: Any = None, *, capacity: int = 1024,
           workers: int = 0, inside: Literal["threads", "processes"] = "threads", name: str = "python",
           first_epoch: int = 1, open: Optional[Callable[[int, int], Iterable[Any]]] = None, output: Any = None) -> Pipeline:
    """A pipeline over Python objects: each row is a dict of values by column, or a tuple of values. Their values may be dicts
    and tuples again. Batches have the structure of the rows (docs/rows.md).

    rows       A sequence (it has len() and items by number): the engine orders the numbers of the items, so that they can be
               shuffled globally, sharded and restarted exactly; an item is looked up when its batch is delivered. Steps see
               the column `index` only, and what they make of it is dropped.
               An object with the epoch protocol (docs/switching.md): init_seq_order(epoch), is_less_than_num_seqs(i),
               get_data(i, key) and, if it has tags, get_tag(i). A thread asks it for the sequences of each epoch, one after
               the other, in the order that it gives them. Any number of epochs, and exact restarts, when the same epoch
               has the same sequences again; orders by index and global shuffles are refused.
               Any other iterable: a thread goes through it, without states: once an epoch, or once at all when it is an
               iterator. An exception that it raises is raised by the loader, the same object, after the rows before it.
    columns    of an iterable or a data set: `fb.fixed` and `fb.var_len` by name; left out: columns as in the first row, which
               is then asked for when the pipeline is planned. Of a data set the first axis of an array is time, and
               `seq_tag` and `seq_idx` may be columns, too
    capacity   of an iterable or a data set: rows that wait ahead
    workers    of a sequence: workers that look items up ahead; see `map`
    inside     of a sequence: "threads" or "processes"
    name       stands for a file name in record keys, origins and errors
    first_epoch   of a data set: what init_seq_order gets for epoch 0
    open       instead of `rows`: a function open(epoch, start) that returns the rows of an epoch (from 0) as an iterable,
               from row `start` on. It must give the same rows for the same epoch: then any number of epochs and exact
               restarts work, and a restart does not ask for the rows before the last batch, unless an order goes through
               them several times (repeat)
    output     of a sequence: what the items are, as `output` of `map` states it. Items of different lengths need it: they are a
               Ragged with `fb.var_len(dtype)`, and padded with `fb.fixed_len_sequence(dtype, shape of a step)`
    """
    from forebay._epoch_rows import EpochRows, OpenedRows, first_epoch_of, has_epochs
    from forebay._pump import Items, Rows
    if (rows is None) == (open is None):
        raise ConfigError("give either rows or open", code="config", detail="invalid_argument")
    is_sequence = (hasattr(rows, "__len__") and hasattr(rows, "__getitem__") and not isinstance(rows, (Mapping, Iterator))
                   and not has_epochs(rows))
    if output is not None and not is_sequence:
        raise ConfigError("output: only a sequence has it; `columns` states the columns of an iterable, of a data set and of `open`",
                          code="config", detail="invalid_argument")
    if open is not None:
        if not callable(open):
            raise wrong_type("open", "a function open(epoch, start)", open)
        opened = OpenedRows(open, columns, capacity, exact=True)
        return Pipeline({"source": {"feed": {"bind": name}}, "steps": []}, (), {name: opened})
    if is_sequence:
        if columns is not None:
            raise ConfigError("columns: the items of a sequence say their columns themselves, and `output` states them: "
                              "output={name: fb.var_len(dtype)}", code="config", detail="invalid_argument")
        items = Items(cast("Sequence[Mapping[str, Any]]", rows), workers, inside, output)
        return Pipeline({"source": {"arrays": {"bind": name}}, "steps": []}, (), {name: items})
    if has_epochs(rows):
        epochs = EpochRows(rows, columns, capacity, first_epoch_of(first_epoch))
        return Pipeline({"source": {"feed": {"bind": name}}, "steps": []}, (), {name: epochs})
    if isinstance(rows, Mapping) or not hasattr(rows, "__iter__"):
        raise wrong_type("rows", "an iterable or a sequence of dicts (fb.arrays takes a dict of arrays)", rows)
    once = isinstance(rows, Iterator)
    again: "Union[Rows, OpenedRows]" = (Rows(rows, columns, capacity) if once else
                                        OpenedRows(lambda epoch, start: rows, columns, capacity, exact=False))
    return Pipeline({"source": {"feed": {"bind": name}}, "steps": []}, (), {name: again})


def bound_objects(bind: Mapping[str, Any], document: Mapping[str, Any]) -> "tuple[dict[str, Bound], list[Pump], tuple[MapStep, ...], Tree]":
    """The objects of `bind` as the core takes them, the threads that their runs need, the functions of `map` that come
    first, and the structure of the rows; None: they are dicts of tensors. `document` names them."""
    from forebay._epoch_rows import EpochRows, OpenedRows, has_epochs
    from forebay._map.rows import MadeRows
    from forebay._pump import AnswerPump, Items, Rows
    from forebay.tables import bound_table, is_table
    rows: "dict[str, Bound]" = {}
    pumps: "list[Pump]" = []
    steps: "list[MapStep]" = []
    trees: "list[Tree]" = []
    for name, value in bind.items():
        if not isinstance(value, EpochRows) and has_epochs(value):
            value = EpochRows(value, None)
        if isinstance(value, (Rows, EpochRows, OpenedRows, MadeRows)):
            row_pump = value.pump(str(name), document) if isinstance(value, MadeRows) else value.pump(str(name))
            pumps.append(row_pump)
            rows[name] = row_pump.bound
            trees.append(row_pump.tree)
        elif is_table(value):
            rows[name], reader = bound_table(value, str(name))
            if reader is not None:
                pumps.append(reader)
        elif callable(value) and not isinstance(value, (Mapping, Feed, Items)):
            answers = AnswerPump(value, str(name))
            pumps.append(answers)
            rows[name] = answers.bound
        elif isinstance(value, Feed):
            rows[name] = value._feed.rows(str(name))
            trees.append(value._tree)
        elif isinstance(value, Items):
            steps.append(value.step())
            rows[name] = _core.array_rows(_columns(name, value.columns()), str(name))
        else:
            if not isinstance(value, (Mapping, tuple)):
                raise ConfigError(f"bind['{name}'] must be a dict of arrays, found {type(value).__name__}",
                                  code="config", detail="invalid_argument")
            trees.append(tree_of(value, f"bind['{name}']"))
            rows[name] = _core.array_rows(_columns(name, flat(trees[-1], value, f"bind['{name}']")), str(name))
    tree = merged(trees) if any(map(is_nested, trees)) else None
    return rows, pumps, tuple(steps), tree


def tree_of_columns(columns: Any) -> Tree:
    """The structure of the rows of a feed with such columns."""
    if not isinstance(columns, (Mapping, tuple)):
        raise wrong_type("columns", "a dict of fb.fixed and fb.var_len by name", columns)
    return tree_of(columns, "columns", is_feature_part)


def column_specs(columns: Any) -> "dict[str, tuple[str, tuple[Optional[int], ...]]]":
    """(dtype, shape of a row) of the columns of a feed, by name."""
    tensors = flat(tree_of_columns(columns), columns, "columns")
    return {name: _spec(name, feature) for name, feature in tensors.items()}


def _spec(name: str, feature: Any) -> "tuple[str, tuple[Optional[int], ...]]":
    """(dtype, shape of a row) of a column of a feed."""
    if not isinstance(feature, Mapping) or "dtype" not in feature:
        raise wrong_type(f"columns['{name}']", "fb.fixed(…) or fb.var_len(…)", feature)
    kind, known = feature.get("kind", "fixed_len"), {"kind", "dtype", "shape"}
    if kind not in ("fixed_len", "var_len") or set(feature) - known:
        raise ConfigError(f"columns['{name}']: a feed takes fb.fixed(dtype, shape) and fb.var_len(dtype), found {dict(feature)}",
                          code="config", detail="invalid_argument")
    if feature["dtype"] not in (*_NUMBERS, "string"):
        raise ConfigError(f"columns['{name}']: a feed takes elements of type {', '.join(sorted(_NUMBERS))} and string, found "
                          f"{feature['dtype']!r}", code="config", detail="invalid_argument")
    return feature["dtype"], (None,) if kind == "var_len" else tuple(_size(name, size) for size in feature.get("shape", ()))


def _size(name: str, size: Any) -> Optional[int]:
    """A size of a row's shape; None, or -1 as in a document: rows differ."""
    if size == -1:
        return None
    if size is None or (isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**63):
        return size
    raise wrong_type(f"columns['{name}'].shape", "sizes from 0 on, or None where rows differ", size)


def _one(name: str, value: Any) -> "np.ndarray[Any, Any]":
    return _array(name, value)[None]


def _array(name: str, value: Any) -> "np.ndarray[Any, Any]":
    try:
        array = np.asarray(value)
        # An array of NumPy's strings loses zero bytes at the end of each.
        return array if array.dtype.kind not in "SU" or hasattr(value, "dtype") else np.asarray(value, dtype=object)
    except ValueError as problem:
        raise _refused(name, f"it is no array: {problem}") from None


def _converted(name: str, array: Any, dtype: str) -> Any:
    """The array in the column's type. No value may change."""
    if isinstance(array, Ragged):
        return Ragged(_converted(name, array.values, dtype), array.nested_row_splits)
    if dtype == "string" or array.dtype.name == dtype or array.dtype.kind in "SUOV":
        return array
    if dtype != "bfloat16" and (array.size == 0 or np.can_cast(array.dtype, dtype, "same_kind")):
        out: "np.ndarray[Any, Any]" = array.astype(dtype)
        if out.dtype.kind not in "iu" or np.array_equal(out, array):
            return out
    raise _refused(name, f"values of type {array.dtype} do not fit {dtype}")


def _columns(name: str, value: Any) -> "list[tuple[object, ...]]":
    if not isinstance(value, Mapping):
        raise ConfigError(f"bind['{name}'] must be a dict of arrays, found {type(value).__name__}", code="config",
                          detail="invalid_argument")
    return [_column(str(column), array) for column, array in value.items()]


def _column(name: str, value: Any) -> "tuple[object, ...]":
    if isinstance(value, Ragged):
        if len(value.nested_row_splits) > 1:
            raise _refused(name, f"{len(value.nested_row_splits)} levels of row splits; rows of different lengths have one")
        splits = value.row_splits
        if splits.ndim != 1 or splits.dtype.kind not in "iu":
            raise _refused(name, f"row splits are one axis of integers, found {splits.dtype} of shape {list(splits.shape)}")
        return *_column(name, np.ascontiguousarray(value.values)), np.ascontiguousarray(splits, np.int64)
    array = _array(name, value)
    if array.dtype.kind in "SUO":
        return _strings(name, array)
    if array.dtype.name not in _NUMBERS:
        raise _refused(name, f"elements of type {array.dtype} cannot be delivered; allowed are {', '.join(sorted(_NUMBERS))} "
                             "and strings (an array of times becomes numbers by .view('int64'))")
    swapped = not array.dtype.isnative
    if array.dtype.name == "bfloat16":
        return name, "bfloat16", array.view(np.uint16), swapped
    return name, array.dtype.name, array, swapped


def _strings(name: str, array: "np.ndarray[Any, Any]") -> "tuple[object, ...]":
    texts = [text.encode() if isinstance(text, str) else text for text in array.reshape(-1).tolist()]
    for number, text in enumerate(texts):
        if not isinstance(text, (bytes, bytearray)):
            raise _refused(name, f"element {number} is {type(text).__name__}; elements of an object array are bytes or str")
    splits = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=splits[1:])
    return name, "string", b"".join(texts), splits, array.shape


def _refused(name: str, what: str) -> ConfigError:
    return ConfigError(f"array '{name}': {what}", code="config", detail="invalid_argument")
