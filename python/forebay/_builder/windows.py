# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""A method for each window step."""
from __future__ import annotations

from typing import Literal, Mapping, Optional, Sequence, Union

from forebay.pipeline import P, PipelineBase, given


class Windows(PipelineBase):
    """A method for each window step."""

    __slots__ = ()

    def continuous(self: P, min_window: int, max_window: int, *, keys: Sequence[str] = [], stride: Optional[int] = None,
                   min_stride: Optional[int] = None, max_stride: Optional[int] = None,
                   window_draw: Literal["per_window", "per_file"] = "per_window",
                   tail: Literal["drop", "keep_if_min", "keep"] = "drop", number: Optional[str] = None,
                   start: Optional[str] = None) -> P:
        """Cuts windows out of the records of a part, joined along their first axis.

        keys           Tensors to cut; empty: all whose first size is unknown.
        min_window     Least length of a window, in frames.
        max_window     Greatest length of a window; drawn uniformly.
        stride         Frames from window to window; null: the window's length.
        min_stride     Instead of `stride`: drawn uniformly, from this on.
        max_stride     Greatest stride.
        window_draw    Draw for each window, or once for each file and pass.
        tail           What becomes of frames at the end that do not fill a window.
        number         Makes an int64 tensor of this name: the number of the window, in its record or, for
                       windows that join records, in its file; -1 in an empty row.
        start          Makes an int64 tensor of this name: the first frame of the window in its first record,
                       which padding is not; -1 in an empty row.
        """
        return self._then("continuous", {"keys": keys, "min_window": min_window, "max_window": max_window,
                                        "stride": stride, "min_stride": min_stride, "max_stride": max_stride,
                                        "window_draw": window_draw, "tail": tail, "number": number, "start": start},
                                        keys=[], window_draw="per_window", tail="drop")

    def discrete(self: P, min_window: int, max_window: int, *, keys: Sequence[str] = [],
                 window_draw: Literal["per_window", "per_file"] = "per_window",
                 tail: Literal["drop", "keep_if_min", "keep"] = "drop", splits: Optional[str] = None,
                 number: Optional[str] = None, start: Optional[str] = None) -> P:
        """Makes windows of whole records of a part, joined along their first axis.

        keys           Tensors to join; empty: all whose first size is unknown.
        min_window     Least number of records of a window.
        max_window     Greatest number of records; drawn uniformly.
        window_draw    Draw for each window, or once for each file and pass.
        tail           What becomes of records at the end that do not fill a window.
        splits         Makes an int32 tensor of this name: the frame of the first key at which each record of
                       the window begins, and the end of the last one.
        number         Makes an int64 tensor of this name: the number of the window, in its record or, for
                       windows that join records, in its file; -1 in an empty row.
        start          Makes an int64 tensor of this name: the first frame of the window in its first record,
                       which padding is not; -1 in an empty row.
        """
        return self._then("discrete", {"keys": keys, "min_window": min_window, "max_window": max_window,
                                      "window_draw": window_draw, "tail": tail, "splits": splits, "number": number,
                                      "start": start}, keys=[], window_draw="per_window", tail="drop")

    def chunk(self: P, size: Union[int, Mapping[str, int]], *, keys: Sequence[str] = [],
              step: Optional[Union[int, Mapping[str, int]]] = None,
              min_size: Optional[Union[int, Mapping[str, int]]] = None, drop_short: bool = False,
              drop_covered_tail: bool = False, rule: Literal["forebay", "returnn", "returnn_pipe"] = "forebay",
              variance: float = 0.0, number: Optional[str] = None, start: Optional[str] = None) -> P:
        """Cuts sequences into chunks of one size, every `step` frames.

        keys                 Tensors to cut; empty: all whose first size is unknown.
        size                 Frames of a chunk: a number, or one for each key.
        step                 Frames from chunk to chunk; null: `size`. A key with step 0 is given whole in every
                             chunk.
        min_size             A tail with fewer frames is dropped.
        drop_short           Drop a sequence shorter than `min_size` instead of keeping it whole.
        drop_covered_tail    Drop chunks all of whose frames the chunk before has, too.
        rule                 `returnn` and `returnn_pipe` decide about tails and keys of unequal length as
                             RETURNN does.
        variance             Shortens sizes and steps of each sequence by a random factor from 1 - variance to
                             1.
        number               Makes an int64 tensor of this name: the number of the window, in its record or, for
                             windows that join records, in its file; -1 in an empty row.
        start                Makes an int64 tensor of this name: the first frame of the window in its first
                             record, which padding is not; -1 in an empty row.
        """
        return self._then("chunk", {"keys": keys, "size": size, "step": step, "min_size": min_size,
                                   "drop_short": drop_short, "drop_covered_tail": drop_covered_tail, "rule": rule,
                                   "variance": variance, "number": number, "start": start}, keys=[], drop_short=False,
                                   drop_covered_tail=False, rule="forebay", variance=0.0)

    def chunk_function(self: P, bind: str, *, keys: Sequence[str] = [], number: Optional[str] = None,
                       start: Optional[str] = None) -> P:
        """Cuts sequences where a function of the program says.

        bind      Name of the function that the program binds: (epoch, file, record, frames) → first frame and
                  end of each chunk.
        keys      Tensors to cut, all of the same length in a record; empty: all whose first size is unknown.
        number    Makes an int64 tensor of this name: the number of the window, in its record or, for windows
                  that join records, in its file; -1 in an empty row.
        start     Makes an int64 tensor of this name: the first frame of the window in its first record, which
                  padding is not; -1 in an empty row.
        """
        return self._then("chunk_function", {"bind": bind, "keys": keys, "number": number, "start": start}, keys=[])

    def context(self: P, keys: Sequence[str] = [], *, window: Optional[Union[int, Mapping[str, int]]] = None,
                left: Optional[Mapping[str, int]] = None, right: Optional[Mapping[str, int]] = None,
                number: Optional[str] = None, start: Optional[str] = None) -> P:
        """Widens windows by the frames around them, and by padding where the sequence ends.

        keys      Tensors with a time axis, if no window step comes before; empty: all whose first size is
                  unknown.
        window    Total width, the frame itself included; an even one has one frame more on the right. A number
                  is for `data`, else for the first key.
        left      Instead of `window`: frames before, by key.
        right     Frames after, by key.
        number    Makes an int64 tensor of this name: the number of the window, in its record or, for windows
                  that join records, in its file; -1 in an empty row.
        start     Makes an int64 tensor of this name: the first frame of the window in its first record, which
                  padding is not; -1 in an empty row.
        """
        return self._then("context", {"keys": keys, "window": window, "left": left, "right": right, "number": number,
                                     "start": start}, keys=[])

    def stack(self: P, keys: Sequence[str] = [], *, window: Optional[Union[int, Mapping[str, int]]] = None,
              left: Optional[Mapping[str, int]] = None, right: Optional[Mapping[str, int]] = None,
              number: Optional[str] = None, start: Optional[str] = None) -> P:
        """Puts the frames around each frame beside it; those outside the sequence are padding.

        keys      Tensors with a time axis, if no window step comes before; empty: all whose first size is
                  unknown.
        window    Frames side by side, the frame itself included; of an even number one more comes after it. A
                  number is for `data`, else for the first key.
        left      Instead of `window`: frames before, by key.
        right     Frames after, by key.
        number    Makes an int64 tensor of this name: the number of the window, in its record or, for windows
                  that join records, in its file; -1 in an empty row.
        start     Makes an int64 tensor of this name: the first frame of the window in its first record, which
                  padding is not; -1 in an empty row.
        """
        return self._then("stack", {"keys": keys, "window": window, "left": left, "right": right, "number": number,
                                   "start": start}, keys=[])

    def unbatch(self: P, keys: Sequence[str] = [], *, number: Optional[str] = None, start: Optional[str] = None) -> P:
        """Makes a row of each frame of a record; the first axis is left out of the rows.

        keys      Tensors to divide, all of the same length in a record; empty: all whose first size is unknown.
                  Each row gets the other tensors entirely.
        number    Makes an int64 tensor of this name: the number of the window, in its record or, for windows
                  that join records, in its file; -1 in an empty row.
        start     Makes an int64 tensor of this name: the first frame of the window in its first record, which
                  padding is not; -1 in an empty row.
        """
        return self._then("unbatch", {"keys": keys, "number": number, "start": start}, keys=[])

    def unroll(self: P, num_unroll: int, *, keys: Sequence[str] = [], pad: Optional[bool] = None,
               number: Optional[str] = None, start: Optional[str] = None) -> P:
        """Cuts sequences into segments of one size, the last one padded, for state that follows them.

        num_unroll    Frames of a segment.
        keys          Tensors to cut, equally long; empty: all whose first size is unknown.
        pad           Whether the last segment of a sequence is padded, else it has the frames that are left;
                      left out: padded, unless windows are cut of the segments.
        number        Makes an int64 tensor of this name: the number of the window, in its record or, for
                      windows that join records, in its file; -1 in an empty row.
        start         Makes an int64 tensor of this name: the first frame of the window in its first record,
                      which padding is not; -1 in an empty row.
        """
        return self._then("unroll", {"num_unroll": num_unroll, "keys": keys, "pad": pad, "number": number,
                                    "start": start}, keys=[])
