# SPDX-License-Identifier: Apache-2.0
"""`StateSaver`: batches of segments of long sequences, with the states that follow each sequence."""
from __future__ import annotations

import math
from typing import Any, Iterator, Mapping, NamedTuple, NoReturn, Optional, Union

import numpy as np

from forebay import _core
from forebay._arguments import integer_of, wrong_type
from forebay._core import SegmentBatch
from forebay.errors import Cancelled, ConfigError
from forebay.features import Feature
from forebay.rows import _NUMBERS, _array, _converted, _strings
from forebay.values import unknown_name

__all__ = ["SaverSizes", "SegmentBatch", "StateSaver"]

#: (dtype, shape of a frame or of the whole tensor, initial value or None)
_Declared = tuple[str, tuple[int, ...], Any]


class SaverSizes(NamedTuple):
    """Segments and examples of a state saver at one moment."""

    ready_segments: int         # can be taken now
    ready_batches: int          # whole batches of `batch_size` among them
    waiting_segments: int       # come after segments that are not taken or not saved yet
    live_examples: int          # their last segment is not taken yet
    undelivered_segments: int   # no batch has them: dropped by `close(cancel=True)`, or left when `take` found the end


class Tensors(dict[str, Any]):
    """Arrays by name. An unknown name is a KeyError that has the names there are."""

    def __init__(self, kind: str, arrays: Mapping[str, Any]) -> None:
        super().__init__(arrays)
        self._kind = kind

    def __missing__(self, name: object) -> NoReturn:
        raise KeyError(unknown_name(name, list(self), self._kind))


class StateSaver:
    """Cuts sequences into segments of `num_unroll` frames, makes batches of them, and keeps the states of a recurrent network
    between the segments of each sequence. It is the SequenceQueueingStateSaver of TensorFlow as an object.

        saver = fb.StateSaver(batch_size=2, num_unroll=3, sequences={"x": fb.fixed("float32", [40])},
                              initial_states={"h": np.zeros(512, np.float32)}, allow_small_batch=True, pad=True)
        saver.insert("a", {"x": frames})                  # in any thread; more examples …
        saver.close()                                     # no more examples
        for batch in saver:                               # in any thread
            h, y = model(batch.state("h"), batch.sequences["x"])
            batch.save_state("h", h)

    batch_size            rows of a batch, where `take` names no other number
    num_unroll            frames of a segment
    sequences             `fb.fixed(dtype, shape of a frame)` by name, in any number from 1 on
    initial_states        by name, from 1 on: an array, the value at the beginning of each example, or
                          `fb.fixed(dtype, shape)`, which is 0, False or b"" there; `insert` may give an example its own
    context               `fb.fixed(dtype, shape)` by name: tensors that every segment of an example has
    capacity              examples that may be live; `insert` waits while they are. None: no limit
    allow_small_batch     after `close`, batches may have fewer rows; without it, what does not fill a batch is left
    pad                   pad sequences with 0, False or b"" to whole segments; `length` is the number of frames unless given
    make_keys_unique      append 12 digits, the number of the example, to each key
    sticky_rows           an example stays in its row until it is done; `reset` of a batch says where examples begin. Batches
                          have `batch_size` rows, the last ones empty rows among them, and one batch is out at a time
    save_timeout          seconds after which `take` raises StateError when it waits for states that were not saved. None: never

    An example is live from `insert` until its last segment is taken. A batch has the ready segments of the oldest examples, so
    its rows are of different examples. After all states of a batch are saved, the next segments of its examples are ready.

    Any number of threads may use it; they wait without the interpreter's lock, and Ctrl-C ends a wait. There is no restart.
    Raises ConfigError with every fault of the arguments.
    """

    __slots__ = ("_saver", "_sequences", "_context", "_states")

    def __init__(self, batch_size: int, num_unroll: int, sequences: Mapping[str, Feature],
                 initial_states: Mapping[str, Any], context: Optional[Mapping[str, Feature]] = None, *,
                 capacity: Optional[int] = None, allow_small_batch: bool = False, pad: bool = False,
                 make_keys_unique: bool = False, sticky_rows: bool = False, save_timeout: Optional[float] = 30.0) -> None:
        self._sequences = _declared("sequences", sequences)
        self._context = _declared("context", {} if context is None else context)
        self._states = _declared("initial_states", initial_states, initial=True)
        self._saver = _core.make_state_saver(
            integer_of("batch_size", batch_size, "an integer"), integer_of("num_unroll", num_unroll, "an integer"),
            _specs(self._sequences), _specs(self._context), _specs(self._states),
            None if capacity is None else integer_of("capacity", capacity), bool(allow_small_batch), bool(pad),
            bool(make_keys_unique), bool(sticky_rows), max(0, _milliseconds("save_timeout", save_timeout)))

    @classmethod
    def padded(cls, batch_size: int, num_unroll: int, sequences: Mapping[str, Feature], initial_states: Mapping[str, Any],
               context: Optional[Mapping[str, Feature]] = None, *, capacity: Optional[int] = 1000,
               allow_small_batch: bool = True, pad: bool = True, make_keys_unique: bool = False, sticky_rows: bool = False,
               save_timeout: Optional[float] = 30.0) -> "StateSaver":
        """A state saver with the defaults of TensorFlow's `batch_sequences_with_states`: it pads, has a capacity, and its last
        batches may be small. Its `num_threads` is not needed: threads of the program insert."""
        return cls(batch_size, num_unroll, sequences, initial_states, context, capacity=capacity,
                   allow_small_batch=allow_small_batch, pad=pad, make_keys_unique=make_keys_unique, sticky_rows=sticky_rows,
                   save_timeout=save_timeout)

    def insert(self, key: Union[str, bytes], sequences: Mapping[str, Any], length: Optional[int] = None,
               context: Optional[Mapping[str, Any]] = None, initial_states: Optional[Mapping[str, Any]] = None, *,
               epoch: int = 0, copy: bool = True, timeout: Optional[float] = None) -> None:
        """Adds an example. Waits while `capacity` examples are live.

        key               no live example of the same epoch has it
        sequences         every declared name: an array [frames, …]. All have the same number of frames, a multiple of
                          `num_unroll` and not 0, or with `pad` any number from 1 on
        length            frames that count, at most the (padded) frames; may be left out with `pad`
        context           every declared name: an array of the declared shape
        initial_states    declared names: the value at the beginning of this example
        epoch             a number that the example and its batches have: the same key may be live in two epochs
        copy              False: arrays of numbers are shared, and must not change until the last segment was taken
        timeout           seconds to wait; None: no limit

        Raises ConfigError for values that do not fit and for a key that is live, TypeError for arguments of another type,
        Cancelled after `close`, TimeoutError when there was no room; the example was not added then.
        """
        given = _given(f"sequences of example {key!r}", sequences, self._sequences)
        beside = _given(f"context of example {key!r}", {} if context is None else context, self._context)
        states: "list[object]" = []
        if initial_states is not None:
            states = self._initial(key, initial_states)
        self._saver.insert(_key(key), None if length is None else integer_of("length", length, "an integer"), given, beside,
                           states, integer_of("epoch", epoch, "an integer"), bool(copy), _milliseconds("timeout", timeout))

    def _initial(self, key: Union[str, bytes], given: Mapping[str, Any]) -> "list[object]":
        what = f"initial_states of example {key!r}"
        if not isinstance(given, Mapping):
            raise wrong_type(what, "a dict of arrays by name", given)
        whole = {name: _zeros(*spec[:2]) if spec[2] is None else spec[2] for name, spec in self._states.items()}
        return _given(what, {**whole, **given}, self._states)

    def take(self, size: Optional[int] = None, *, timeout: Optional[float] = None) -> Optional[SegmentBatch]:
        """A batch of `size` segments (None: `batch_size`; 0: a batch without rows), or None at the end. Waits until so many
        segments are ready.

        After `close` it waits only while that many can become ready; then it is the end, or, with `allow_small_batch`, a
        batch of those that are ready. A call that raises has taken nothing.

        Raises TimeoutError when there was no batch for `timeout` seconds (0 asks without waiting; None: no limit), StateError
        that names the examples when it waited `save_timeout` for states that were not saved, and ConfigError for a size below
        0 or one that never comes.
        """
        return self._saver.take(None if size is None else integer_of("size", size, "an integer or None"),
                                _milliseconds("timeout", timeout))

    def __iter__(self) -> Iterator[SegmentBatch]:
        """Batches until the end."""
        while (batch := self._saver.take(None, -1)) is not None:
            yield batch

    def close(self, cancel: bool = False) -> None:
        """No new examples come; those that are live go to their ends. `cancel`: segments that are not ready are dropped, and
        nothing can be saved any more. Raises Cancelled when it is closed already, unless `cancel` comes after a plain close."""
        self._saver.close(bool(cancel))

    @property
    def closed(self) -> bool:
        """Whether no new examples are taken."""
        return self._saver.closed

    @property
    def sizes(self) -> SaverSizes:
        """Segments and examples at this moment."""
        return SaverSizes(*self._saver.sizes)

    def __enter__(self) -> "StateSaver":
        return self

    def __exit__(self, kind: Any, problem: Optional[BaseException], trace: Any) -> None:
        """Closes; after an exception it also cancels, so that no thread waits for ever."""
        if problem is not None or not self.closed:
            try:
                self.close(cancel=problem is not None)
            except Cancelled:
                pass


def _refused(text: str) -> ConfigError:
    return ConfigError(text, code="config", detail="invalid_argument")


def _milliseconds(name: str, seconds: Optional[float]) -> int:
    """-1 for None."""
    if seconds is None:
        return -1
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float, np.integer, np.floating)):
        raise wrong_type(name, "seconds, or None", seconds)
    if math.isnan(seconds) or seconds < 0:
        raise _refused(f"{name}: must be 0 seconds or more, found {seconds}")
    return -1 if seconds > 1e9 else math.ceil(seconds * 1000)


def _key(key: Union[str, bytes]) -> bytes:
    if isinstance(key, str):
        return key.encode("utf-8", "surrogateescape")
    if not isinstance(key, bytes):
        raise wrong_type("key", "str or bytes", key)
    return key


def _zeros(dtype: str, shape: "tuple[int, ...]") -> Any:
    if dtype == "string":
        return np.full(shape, b"", dtype=object)
    return np.zeros(shape, np.uint16 if dtype == "bfloat16" else dtype)


def _declared(what: str, tensors: Any, initial: bool = False) -> "dict[str, _Declared]":
    if not isinstance(tensors, Mapping):
        raise wrong_type(what, "a dict by name", tensors)
    out: "dict[str, _Declared]" = {}
    for name, feature in sorted(tensors.items(), key=lambda item: str(item[0])):
        if not isinstance(name, str):
            raise wrong_type(f"a name in {what}", "a str", name)
        if isinstance(feature, Mapping):
            out[name] = _feature(f"{what}['{name}']", feature)
        elif initial and feature is not None:
            out[name] = _value(f"{what}['{name}']", feature)
        else:
            raise wrong_type(f"{what}['{name}']", "fb.fixed(dtype, shape)" + (" or an array" if initial else ""), feature)
    return out


def _feature(what: str, feature: Mapping[str, Any]) -> _Declared:
    known = {"kind", "dtype", "shape", "default"}
    if feature.get("kind", "fixed_len") != "fixed_len" or "dtype" not in feature or set(feature) - known:
        raise _refused(f"{what}: allowed is fb.fixed(dtype, shape), found {dict(feature)}")
    dtype, shape = feature["dtype"], feature.get("shape", ())
    if dtype not in (*_NUMBERS, "string"):
        raise _refused(f"{what}: dtype {dtype!r}; allowed are {', '.join(sorted(_NUMBERS))} and string")
    if isinstance(shape, (str, bytes)) or not hasattr(shape, "__iter__"):
        raise _refused(f"{what}: shape {shape!r}; allowed is a list of sizes")
    sizes = tuple(shape)
    if any(size is None or isinstance(size, bool) or not hasattr(size, "__index__") for size in sizes):
        raise _refused(f"{what}: shape {list(sizes)}; all sizes must be known integers")
    return dtype, tuple(integer_of(what, size) for size in sizes), feature.get("default")


def _value(what: str, value: Any) -> _Declared:
    array = _array(what, value)
    dtype = "string" if array.dtype.kind in "SUO" else array.dtype.name
    if dtype not in (*_NUMBERS, "string"):
        raise _refused(f"{what}: dtype {array.dtype}; allowed are {', '.join(sorted(_NUMBERS))} and strings")
    return dtype, array.shape, array


def _specs(tensors: "Mapping[str, _Declared]") -> "list[tuple[object, ...]]":
    out: "list[tuple[object, ...]]" = []
    for name, (dtype, shape, value) in tensors.items():
        if value is not None and np.ndim(value) < len(shape):   # the default of a feature: one value for all elements
            value = np.broadcast_to(_array(name, value), shape)
        try:
            out.append((name, dtype, shape, None if value is None else _tensor(name, value, dtype)))
        except ConfigError as problem:
            raise _refused(f"initial_states: {problem}") from None
    return out


def _given(what: str, values: Any, declared: "Mapping[str, _Declared]") -> "list[object]":
    """The values as the core takes them, in the order of the declarations."""
    if not isinstance(values, Mapping):
        raise wrong_type(what, "a dict of arrays by name", values)
    if values.keys() != declared.keys():
        raise _refused(f"{what}: found {sorted(map(str, values))}, expected {sorted(declared)}")
    try:
        return [_tensor(name, values[name], spec[0]) for name, spec in declared.items()]
    except ConfigError as problem:
        raise _refused(f"{what}: {problem}") from None


def _tensor(name: str, value: Any, dtype: str) -> object:
    if type(value) is np.ndarray and value.dtype.kind not in "SUO" and value.dtype.name == dtype:
        return value
    array = _array(name, value)
    if dtype == "bfloat16" and array.dtype == np.uint16:
        return array
    if (dtype == "string") != (array.dtype.kind in "SUO"):
        raise _refused(f"array '{name}': values of type {array.dtype} do not fit {dtype}")
    return _texts(name, array) if dtype == "string" else _converted(name, array, dtype)


def _texts(name: str, values: Any) -> "tuple[object, ...]":
    """Strings as the core takes them: bytes, byte splits, shape."""
    array = _array(name, values)
    if array.dtype.kind not in "SUO":
        raise _refused(f"array '{name}': values of type {array.dtype} do not fit string")
    return _strings(name, array)[2:]
