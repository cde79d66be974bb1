# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""A method for each batcher."""
from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence, Union

from forebay.pipeline import P, PipelineBase


class Batchers(PipelineBase):
    """A method for each batcher."""

    __slots__ = ()

    def batch(self: P, size: int, *, size_function: Optional[str] = None,
              remainder: Literal["keep", "drop", "pad", "repeat"] = "keep",
              pad: Union[bool, Sequence[Mapping[str, Any]]] = False, require_equal: bool = False) -> P:
        """Cuts the stream into batches of one size.

        size             Rows of a batch.
        size_function    Name of a function that the program binds. It is asked with the number of each batch,
                         from 0 on, and answers with its rows, from 0 to `size`.
        remainder        What becomes of a last batch that is not full: keep it short, drop it, pad it with
                         empty rows, or repeat its own records, from its first one on.
        pad              false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of
                         {tensor, shape, value}.
        require_equal    Refuse rows of unequal shape instead of delivering them ragged.
        """
        return self._then("batch", {"size": size, "size_function": size_function, "remainder": remainder, "pad": pad,
                                   "require_equal": require_equal}, remainder="keep", pad=False, require_equal=False)

    def frames(self: P, keys: Sequence[str] = [], *, batch_size: Optional[Union[int, Mapping[str, int]]] = None,
               packed_batch_size: Optional[Union[int, Mapping[str, int]]] = None, max_seqs: Optional[int] = None,
               max_pad_size: Optional[Union[int, Mapping[str, int]]] = None,
               max_seq_length: Optional[Union[int, Mapping[str, int]]] = None,
               min_seq_length: Optional[Union[int, Mapping[str, int]]] = None, max_total_num_seqs: Optional[int] = None,
               pad: Union[bool, Sequence[Mapping[str, Any]]] = True) -> P:
        """Cuts batches whose size in frames is limited.

        keys                  Tensors whose frames count; empty: all whose first size is unknown.
        batch_size            Frames of a batch with its padding at most, longest row times rows: a number for
                              all keys, or one by key. A sequence that is longer is a batch of its own.
        packed_batch_size     Frames of a batch without its padding at most.
        max_seqs              Rows of a batch at most.
        max_pad_size          Frames of padding of a batch at most.
        max_seq_length        Sequences that have more frames are left out.
        min_seq_length        Sequences that have fewer frames are left out.
        max_total_num_seqs    Sequences of a pass at most; those that are left out by their length do not count.
        pad                   false; true: pad the unknown dims of every tensor to the batch's maximum; or a
                              list of {tensor, shape, value}.
        """
        return self._then("frames", {"keys": keys, "batch_size": batch_size, "packed_batch_size": packed_batch_size,
                                    "max_seqs": max_seqs, "max_pad_size": max_pad_size,
                                    "max_seq_length": max_seq_length, "min_seq_length": min_seq_length,
                                    "max_total_num_seqs": max_total_num_seqs, "pad": pad}, keys=[], pad=True)

    def buckets(self: P, key: str, boundaries: Sequence[int], sizes: Sequence[int], *,
                longer: Literal["drop", "bucket"] = "drop", remainder: Literal["keep", "drop"] = "keep",
                pad: Union[bool, Sequence[Mapping[str, Any]]] = True) -> P:
        """Cuts batches of sequences of similar length.

        key           Tensor whose first size is the length of a sequence.
        boundaries    The largest length of each bucket, ascending. A sequence goes into the first bucket that
                      it fits.
        sizes         Rows of a batch: a list of one number for all buckets, or of one for each.
        longer        What becomes of sequences beyond the last boundary: drop them, or bucket: they have one of
                      their own.
        remainder     What becomes of buckets that are not full at the end (of each epoch, where epochs are
                      hard): keep, drop.
        pad           false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of
                      {tensor, shape, value}.
        """
        return self._then("buckets", {"key": key, "boundaries": boundaries, "sizes": sizes, "longer": longer,
                                     "remainder": remainder, "pad": pad}, longer="drop", remainder="keep", pad=True)

    def stateful(self: P, batch_size: int, *, states: Mapping[str, Mapping[str, Any]] = {},
                 remainder: Literal["pad", "drop"] = "pad", pad: Union[bool, Sequence[Mapping[str, Any]]] = True) -> P:
        """Batches of the segments of `unroll`, in which each row follows a sequence to its end.

        batch_size    Rows of a batch.
        states        States that the program saves for each sequence, by name: {dtype, shape, initial}.
        remainder     What becomes of the last sequences, when there are fewer than rows: pad with empty rows in
                      the places of the others, or drop.
        pad           false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of
                      {tensor, shape, value}.
        """
        return self._then("stateful", {"batch_size": batch_size, "states": states, "remainder": remainder, "pad": pad},
                                      states={}, remainder="pad", pad=True)
