# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""A method for each order."""
from __future__ import annotations

from typing import Literal, Optional, Sequence, Union

from forebay._paths import Path, path_or_none
from forebay.pipeline import P, PipelineBase, given


class Orders(PipelineBase):
    """A method for each order."""

    __slots__ = ()

    def shuffle(self: P, buffer: Union[int, Literal["global"], None] = None, *, global_: bool = False) -> P:
        """Puts the elements of a pass into a random order; before `interleave`, the files.

        buffer    Each element is drawn from a buffer of so many that is kept full; 1 keeps the order.
        global_   An exact permutation of all records of all files, in constant memory, by their indexes;
                  instead of `interleave`.
        """
        return self._then("shuffle", {"buffer": buffer, "global": global_}, **{"global": False})

    def interleave(self: P, cycle: int = 1, *, block: int = 1, sloppy: bool = False) -> P:
        """Opens `cycle` files at a time and takes `block` records from each in turn.

        cycle     Files open at a time.
        block     Records taken from a file before the next one's turn.
        sloppy    May pass over a file whose next record is not there yet; acts only with `deterministic:
                  false`.
        """
        return self._then("interleave", {"cycle": cycle, "block": block, "sloppy": sloppy}, cycle=1, block=1,
                                        sloppy=False)

    def repeat(self: P, count: Optional[int] = None) -> P:
        """Goes through everything before it several times, newly shuffled each time.

        count    Passes; null: for ever.
        """
        return self._then("repeat", {"count": count})

    def take(self: P, count: int) -> P:
        """Ends after the first `count` rows of a pass; `take_files` counts files.

        count    Rows to keep.
        """
        return self._then("take", {"count": count})

    def take_files(self: P, count: int) -> P:
        """Ends after the first `count` files of a pass. Stands before `interleave`, or any other order that
        opens files.

        count    Files to keep.
        """
        return self._then("take_files", {"count": count})

    def take_while(self: P, where: str, *, early: bool = False) -> P:
        """Ends the pass before the first record for which a condition does not hold.

        where    Condition, for example `step < 1000`; docs/expressions.md has the grammar.
        early    Allows a condition over the output of an expensive step such as `decode_image`, which then runs
                 when the record is read, and again for its row.
        """
        return self._then("take_while", {"where": where, "early": early}, early=False)

    def skip(self: P, count: int) -> P:
        """Leaves out the first `count` rows of a pass; `skip_files` counts files.

        count    Rows to leave out.
        """
        return self._then("skip", {"count": count})

    def skip_files(self: P, count: int) -> P:
        """Leaves out the first `count` files of a pass. Stands before `interleave`, or any other order that
        opens files.

        count    Files to leave out.
        """
        return self._then("skip_files", {"count": count})

    def filter(self: P, where: str, *, early: bool = False) -> P:
        """Keeps the records for which a condition over their tensors holds; comes after `interleave`.

        where    Condition, for example `label >= 0 and length(tokens) < 4096`; docs/expressions.md has the
                 grammar.
        early    Allows a condition over the output of an expensive step such as `decode_image`, which then runs
                 when the record is read, and again for its row.
        """
        return self._then("filter", {"where": where, "early": early}, early=False)

    def sorted(self: P, by: str, *, descending: bool = False) -> P:
        """Puts all records of all files in the order of an integer, by their indexes; instead of `interleave`.

        by            The integer, for example `length(tokens)`; docs/expressions.md has the grammar.
        descending    The largest numbers come first. Equal ones stay in the order of the files.
        """
        return self._then("sorted", {"by": by, "descending": descending}, descending=False)

    def reorder(self: P, bind: str, *, of: Literal["records", "files"] = "records") -> P:
        """Gives the records of all files, or the files, in the order that a function of the program says for
        each epoch.

        bind    Name of the function that the program binds. It is asked with (epoch, how many there are), and
                answers with the numbers of those to give, from 0 on, in any order and any number of times.
        of      What the numbers name: records, by the indexes of the files; or files, which are read one after
                the other.
        """
        return self._then("reorder", {"bind": bind, "of": of}, of="records")

    def random_sample(self: P, size: Optional[int] = None, *, buffer: Optional[int] = None) -> P:
        """Draws records with replacement: a record may come several times in a pass, or never.

        size      Draws of a pass; null: as many as there are records.
        buffer    Draws from a buffer of so many elements, through which the stream goes; null: from all
                  records, by their indexes, instead of `interleave`.
        """
        return self._then("random_sample", {"size": size, "buffer": buffer})

    def sequence_order(self: P, mode: str = "default", *, first_modes: Sequence[str] = [],
                       every_n: Optional[int] = None, keep_tail: bool = False, bins: Optional[int] = None,
                       bin_size: Optional[int] = None, nth: Optional[int] = None, by: Optional[str] = None,
                       tag: Optional[str] = None, seq_order_seq_lens_file: Optional[Path] = None,
                       unique_seq_tags: bool = False, seq_list_filter_file: Optional[Path] = None,
                       partition_epoch: int = 1, repeat_epoch: int = 1, num_shards: int = 1, shard_index: int = 0,
                       fixed_random_seed: Optional[int] = None, random_seed_offset: int = 0,
                       rng: Literal["forebay", "numpy_legacy"] = "forebay") -> P:
        """Gives the sequences of all files in an order by their lengths and tags, as RETURNN does; instead of
        `interleave`.

        mode                       `default`, `default_every_n`, `reverse`, `sorted`, `sorted_reverse`,
                                   `random`, `random_sample`, `laplace`, `sort_bin_shuffle` or
                                   `sort_bin_shuffle_x2`; also with its numbers, as `laplace:.1000:2`.
        first_modes                Modes of the first passes, one each, with their numbers; later passes have
                                   `mode`.
        every_n                    K of `default_every_n`: so many stretches of the data take turns.
        keep_tail                  The sequences that `default_every_n` leaves out, because their number is no
                                   multiple of K, come last.
        bins                       Bins of `laplace` and `sort_bin_shuffle`; null: 2.
        bin_size                   Sequences of a bin, instead of `bins`; there are at least 2 bins.
        nth                        Full orders, one after the other, with the same random numbers; null: 1.
        by                         The length of a sequence, for modes that sort: an integer, for example
                                   `length(tokens)`.
        tag                        The name of a sequence: a string, for example the tensor `tag`.
        seq_order_seq_lens_file    File of lengths by tag, instead of `by`: a JSON object of tags and numbers.
        unique_seq_tags            Of the sequences with the same tag only the first one in the full order
                                   stays.
        seq_list_filter_file       File with a tag on each line: only these sequences stay, after all other
                                   options. A pass without any is an error.
        partition_epoch            A full order is given in so many passes, a part in each.
        repeat_epoch               A pass gives its order so often.
        num_shards                 A pass is dealt to so many processes, a stretch of the order to each.
        shard_index                Which of these stretches this plan gives, from 0.
        fixed_random_seed          Every pass has the random numbers of this seed; null: each full order has its
                                   own.
        random_seed_offset         Added to the seed of a full order.
        rng                        Where random numbers come from: the document's seed, or NumPy's RandomState,
                                   for the orders of RETURNN.
        """
        return self._then("sequence_order", {"mode": mode, "first_modes": first_modes, "every_n": every_n,
                                            "keep_tail": keep_tail, "bins": bins, "bin_size": bin_size, "nth": nth,
                                            "by": by, "tag": tag,
                                            "seq_order_seq_lens_file": path_or_none(seq_order_seq_lens_file, "seq_order_seq_lens_file"),
                                            "unique_seq_tags": unique_seq_tags,
                                            "seq_list_filter_file": path_or_none(seq_list_filter_file, "seq_list_filter_file"),
                                            "partition_epoch": partition_epoch, "repeat_epoch": repeat_epoch,
                                            "num_shards": num_shards, "shard_index": shard_index,
                                            "fixed_random_seed": fixed_random_seed,
                                            "random_seed_offset": random_seed_offset, "rng": rng}, mode="default",
                                            first_modes=[], keep_tail=False, unique_seq_tags=False, partition_epoch=1,
                                            repeat_epoch=1, num_shards=1, shard_index=0, random_seed_offset=0,
                                            rng="forebay")

    def laplace(self: P, buffer: int, by: str) -> P:
        """Sorts buffers of the stream by an integer, up and down in turn; comes after `interleave`.

        buffer    Elements that are sorted together. The last ones may be fewer.
        by        The integer, for example `length(tokens)`; after window steps it may be the length of a
                  window.
        """
        return self._then("laplace", {"buffer": buffer, "by": by})

    def shuffle_batches(self: P, buffer: int) -> P:
        """Puts blocks of batches into a random order; rows stay in their batches.

        buffer    Batches of a block: so many are cut, shuffled and delivered before the next block. 1 keeps the
                  order.
        """
        return self._then("shuffle_batches", {"buffer": buffer})

    def batch_slice(self: P, start: int = 0, *, stop: Optional[int] = None, step: int = 1, index: Optional[int] = None,
                    count: Optional[int] = None) -> P:
        """Delivers some of the batches by their number; the others are cut and not made.

        start    Number of the first batch that is delivered.
        stop     Batches from this number on are left out; null: none.
        step     Delivers every so many-th batch.
        index    With `count`, instead of the others: batches index, index + count, ….
        count    See `index`: the slices 0 to count - 1 have each batch once.
        """
        return self._then("batch_slice", {"start": start, "stop": stop, "step": step, "index": index, "count": count},
                                         start=0, step=1)
