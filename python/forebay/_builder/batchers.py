# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""A method for each batcher."""
from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence, Union

from forebay._arguments import remainder_of
from forebay.pipeline import P, PipelineBase


class Batchers(PipelineBase):
    """A method for each batcher."""

    __slots__ = ()

    def batch(self: P, size: int, *, size_function: Optional[str] = None,
              remainder: Literal["keep", "drop", "pad", "repeat"] = "keep",
              pad: Union[bool, Sequence[Mapping[str, Any]]] = False, seq_idx: bool = False, epoch_end: bool = False,
              require_equal: bool = False, drop_remainder: Optional[bool] = None) -> P:
        """Cuts the stream into batches of one size.

        size              Rows of a batch.
        size_function     Name of a function that the program binds. It is asked with the number of each batch,
                          from 0 on, and answers with its rows, from 0 to `size`.
        remainder         What becomes of a last batch that is not full: keep it short, drop it, pad it with
                          empty rows, or repeat its own records, from its first one on.
        pad               false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of
                          {tensor, shape, value}.
        seq_idx           Number the sequences of each pass as they come: `seq_idx` of a batch has the number of
                          each row.
        epoch_end         The last batch of each epoch gets one empty row more, whose `seq_idx` is the number of
                          sequences of the epoch; an epoch without a batch gets a batch of that row alone. Needs
                          hard epochs, or a single one.
        require_equal     Refuse rows of unequal shape instead of delivering them ragged.
        drop_remainder    TensorFlow's option: true is `remainder="drop"`, false "keep".
        """
        return self._then("batch", {"size": size, "size_function": size_function, "remainder": remainder_of(remainder, drop_remainder), "pad": pad,
                                   "seq_idx": seq_idx, "epoch_end": epoch_end, "require_equal": require_equal},
                                   remainder="keep", pad=False, seq_idx=False, epoch_end=False, require_equal=False)

    def frames(self: P, keys: Sequence[str] = [], *, batch_size: Optional[Union[int, Mapping[str, int]]] = None,
               packed_batch_size: Optional[Union[int, Mapping[str, int]]] = None, max_seqs: Optional[int] = None,
               max_pad_size: Optional[Union[int, Mapping[str, int]]] = None,
               max_seq_length: Optional[Union[int, Mapping[str, int]]] = None,
               min_seq_length: Optional[Union[int, Mapping[str, int]]] = None, max_total_num_seqs: Optional[int] = None,
               seq_drop: float = 0.0, weight: Optional[str] = None, mean_weight: float = 1.0, pruning: float = 0.0,
               recurrent: bool = True, seq_idx: bool = False, epoch_end: bool = False,
               pad: Union[bool, Sequence[Mapping[str, Any]]] = True) -> P:
        """Cuts batches whose size in frames is limited.

        keys                  Tensors whose frames count; empty: all whose first size is unknown.
        batch_size            Frames of a batch with its padding at most, longest row times rows: a number for
                              all keys, or one by key. A sequence that is longer is a batch of its own.
        packed_batch_size     Frames of a batch without its padding at most.
        max_seqs              Sequences of a batch at most.
        max_pad_size          Frames of padding of a batch at most.
        max_seq_length        Sequences that have more frames are left out.
        min_seq_length        Sequences that have fewer frames are left out.
        max_total_num_seqs    Sequences of a pass at most; those that are left out for another reason do not
                              count. Windows of a record that follow each other are one sequence.
        seq_drop              Probability that a sequence, or a window, is left out; drawn anew in each pass.
        weight                Tensor with the weight of each sequence, of shape []; see `pruning`.
        mean_weight           Mean of the weights.
        pruning               A sequence stays when weight * (1 + pruning) is not below a number drawn between 0
                              and mean_weight * pruning; 0: all stay.
        recurrent             false: a batch is one row of `batch_size` frames, with one sequence after the
                              other; what does not fit goes on in the next batch.
        seq_idx               Number the sequences of each pass as they come: `seq_idx` of a batch has the
                              number of each row.
        epoch_end             The last batch of each epoch gets one empty row more, whose `seq_idx` is the
                              number of sequences of the epoch; an epoch without a batch gets a batch of that
                              row alone. Needs hard epochs, or a single one.
        pad                   false; true: pad the unknown dims of every tensor to the batch's maximum; or a
                              list of {tensor, shape, value}.
        """
        return self._then("frames", {"keys": keys, "batch_size": batch_size, "packed_batch_size": packed_batch_size,
                                    "max_seqs": max_seqs, "max_pad_size": max_pad_size,
                                    "max_seq_length": max_seq_length, "min_seq_length": min_seq_length,
                                    "max_total_num_seqs": max_total_num_seqs, "seq_drop": seq_drop, "weight": weight,
                                    "mean_weight": mean_weight, "pruning": pruning, "recurrent": recurrent,
                                    "seq_idx": seq_idx, "epoch_end": epoch_end, "pad": pad}, keys=[], seq_drop=0.0,
                                    mean_weight=1.0, pruning=0.0, recurrent=True, seq_idx=False, epoch_end=False,
                                    pad=True)

    def buckets(self: P, key: str, boundaries: Sequence[int], sizes: Sequence[int], *,
                longer: Literal["fail", "drop", "bucket"] = "fail", remainder: Literal["keep", "drop"] = "keep",
                random_bucket: float = 0.0, seq_idx: bool = False, epoch_end: bool = False,
                pad: Union[bool, Sequence[Mapping[str, Any]]] = True, drop_remainder: Optional[bool] = None) -> P:
        """Cuts batches of sequences of similar length.

        key               Tensor whose first size is the length of a sequence.
        boundaries        The largest length of each bucket, ascending. A sequence goes into the first bucket
                          that it fits.
        sizes             Rows of a batch: a list of one number for all buckets, or of one for each.
        longer            What becomes of sequences beyond the last boundary: fail, drop them, or bucket: they
                          have one of their own.
        remainder         What becomes of buckets that are not full at the end (of each epoch, where epochs are
                          hard): keep, drop.
        random_bucket     Probability that a sequence goes into a random one of the buckets that it fits, in
                          place of the first.
        seq_idx           Number the sequences of each pass as they come: `seq_idx` of a batch has the number of
                          each row.
        epoch_end         The last batch of each epoch gets one empty row more, whose `seq_idx` is the number of
                          sequences of the epoch; an epoch without a batch gets a batch of that row alone. Needs
                          hard epochs, or a single one.
        pad               false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of
                          {tensor, shape, value}.
        drop_remainder    TensorFlow's option: true is `remainder="drop"`, false "keep".
        """
        return self._then("buckets", {"key": key, "boundaries": boundaries, "sizes": sizes, "longer": longer,
                                     "remainder": remainder_of(remainder, drop_remainder), "random_bucket": random_bucket, "seq_idx": seq_idx,
                                     "epoch_end": epoch_end, "pad": pad}, longer="fail", remainder="keep",
                                     random_bucket=0.0, seq_idx=False, epoch_end=False, pad=True)

    def token_budget(self: P, tokens: int, *, keys: Sequence[str] = [], max_rows: Optional[int] = None,
                     longer: Literal["fail", "drop"] = "fail", seq_idx: bool = False, epoch_end: bool = False,
                     pad: Union[bool, Sequence[Mapping[str, Any]]] = True) -> P:
        """Cuts batches whose longest row times their rows never exceeds a budget.

        tokens       Longest row times rows at most; an empty row counts as 1.
        keys         Tensors of which the longest counts; empty: all whose first size is unknown.
        max_rows     Rows of a batch at most.
        longer       What becomes of a sequence that exceeds `tokens` alone: fail, or drop: it is left out.
        seq_idx      Number the sequences of each pass as they come: `seq_idx` of a batch has the number of each
                     row.
        epoch_end    The last batch of each epoch gets one empty row more, whose `seq_idx` is the number of
                     sequences of the epoch; an epoch without a batch gets a batch of that row alone. Needs hard
                     epochs, or a single one.
        pad          false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of
                     {tensor, shape, value}.
        """
        return self._then("token_budget", {"tokens": tokens, "keys": keys, "max_rows": max_rows, "longer": longer,
                                          "seq_idx": seq_idx, "epoch_end": epoch_end, "pad": pad}, keys=[],
                                          longer="fail", seq_idx=False, epoch_end=False, pad=True)

    def packed(self: P, length: int, rows: int, *, keys: Sequence[str] = [], fit: Literal["first", "best"] = "first",
               gap: int = 0, align: int = 1, longer: Literal["fail", "drop", "split"] = "fail",
               remainder: Literal["keep", "drop", "pad"] = "keep", segment_ids: Optional[str] = None,
               positions: Optional[str] = None, cu_seqlens: Optional[str] = None, seq_idx: bool = False,
               epoch_end: bool = False, pad: Union[bool, Sequence[Mapping[str, Any]]] = True,
               drop_remainder: Optional[bool] = None) -> P:
        """Batches whose rows have one length and hold several sequences each.

        length            Frames of a row.
        rows              Rows of a batch.
        keys              Tensors to pack, equally long; empty: all whose first size is unknown.
        fit               Which row of the batch gets a sequence: the first one that has room, or best: the one
                          with the least room.
        gap               Frames of padding between two sequences of a row at least.
        align             Sequences begin at multiples of this number of frames.
        longer            What becomes of a sequence that is longer than a row: fail, drop, or split: pieces
                          that fill rows.
        remainder         What becomes of a last batch that has fewer rows: keep, drop, or pad: it is filled up
                          with empty rows.
        segment_ids       Name of a tensor: for each frame the number of its segment in the row, from 1; 0 is
                          padding.
        positions         Name of a tensor: for each frame its place in its segment, from 0; 0 in padding, too.
        cu_seqlens        Name of a tensor: for each row the frames at which its segments begin, and the end of
                          the last one; filled up with `length`.
        seq_idx           Number the sequences of each pass as they come: `seq_idx` of a batch has the number of
                          each row.
        epoch_end         The last batch of each epoch gets one empty row more, whose `seq_idx` is the number of
                          sequences of the epoch; an epoch without a batch gets a batch of that row alone. Needs
                          hard epochs, or a single one.
        pad               true, or a list of {tensor, shape, value}: values to pad with.
        drop_remainder    TensorFlow's option: true is `remainder="drop"`, false "keep".
        """
        return self._then("packed", {"length": length, "rows": rows, "keys": keys, "fit": fit, "gap": gap,
                                    "align": align, "longer": longer, "remainder": remainder_of(remainder, drop_remainder),
                                    "segment_ids": segment_ids, "positions": positions, "cu_seqlens": cu_seqlens,
                                    "seq_idx": seq_idx, "epoch_end": epoch_end, "pad": pad}, keys=[], fit="first",
                                    gap=0, align=1, longer="fail", remainder="keep", seq_idx=False, epoch_end=False,
                                    pad=True)

    def stateful(self: P, batch_size: int, *, states: Mapping[str, Mapping[str, Any]] = {},
                 remainder: Literal["pad", "drop"] = "pad", pad: Union[bool, Sequence[Mapping[str, Any]]] = True,
                 drop_remainder: Optional[bool] = None) -> P:
        """Batches of the segments of `unroll`, in which each row follows a sequence to its end.

        batch_size        Rows of a batch.
        states            States that the program saves for each sequence, by name: {dtype, shape, initial}.
        remainder         What becomes of the last sequences, when there are fewer than rows: pad with empty
                          rows in the places of the others, or drop.
        pad               false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of
                          {tensor, shape, value}.
        drop_remainder    TensorFlow's option: true is `remainder="drop"`, false "keep".
        """
        return self._then("stateful", {"batch_size": batch_size, "states": states, "remainder": remainder_of(remainder, drop_remainder), "pad": pad},
                                      states={}, remainder="pad", pad=True)

    def batch_ends(self: P, keys: Sequence[str], *, require_equal: bool = False,
                   pad: Union[bool, Sequence[Mapping[str, Any]]] = False) -> P:
        """Cuts batches where the rows say so.

        keys             Tensors of shape [], boolean or integer: not 0 where a batch ends. Several must agree.
        require_equal    Rows of unequal shape are an error instead of being delivered ragged.
        pad              false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of
                         {tensor, shape, value}.
        """
        return self._then("batch_ends", {"keys": keys, "require_equal": require_equal, "pad": pad}, require_equal=False,
                                        pad=False)
